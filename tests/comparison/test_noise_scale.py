"""Noise between runs that makes values larger by a factor, by hand and by scipy."""

import math

import numpy as np
import pytest
from comparison.making import compared, make_pair
from scipy import stats

from pytest_evalmetrics.comparison import (
    NoiseScale,
    Runs,
    RunScatter,
    choose_scale,
    largest_shift,
    needed_drop,
    runs_of,
    with_run_noise,
    with_stated_noise,
)

ALIKE = (1.0, 2.0, 4.0)  # a factor of two between runs: log 2 is their sd
BASE = 7 / 3  # their mean


def runs_of_values(values, **keys):
    """Runs whose tasks explain nothing of how they differ."""
    return Runs(values, pooled=True, more_rollouts=1.0, se=0.0, **keys)


def of_latencies(values, *, now, **keys):
    """A run of 50 tasks, which are all slower by the same, against several runs."""
    base = float(np.mean(values))
    before = np.full(50, base)
    after = np.full(50, now) + np.linspace(-1e-6, 1e-6, 50)
    pair = make_pair(before[:, None], after[:, None], bounded=False)
    settings = {"direction": "lower", "rule": "statistical"} | keys
    rule = settings.pop("rule")
    return compared(pair, name=rule, runs=runs_of_values(values), **settings)


def predicted(distance, sd, runs):
    """The chance that a further run is so far from the mean of others, or farther."""
    error = sd * math.sqrt(1 + 1 / runs)
    return float(stats.t.sf(distance / error, runs - 1))


def test_latencies_are_compared_by_the_factor_that_runs_differ_by():
    slower = of_latencies(ALIKE, now=10.0)
    expected = predicted(math.log(10 / BASE), math.log(2), runs=3)
    assert slower.test.p == pytest.approx(expected, rel=1e-5)


def test_the_noise_of_latencies_is_shown_in_their_unit():
    assert of_latencies(ALIKE, now=10.0).run_sd == pytest.approx(
        BASE * math.log(2), rel=1e-5
    )


def test_where_more_is_better_runs_differ_by_an_amount():
    fewer = of_latencies((3.0, 4.0, 5.0), now=1.0, direction="higher")
    assert fewer.test.p == pytest.approx(predicted(3.0, 1.0, runs=3), rel=1e-4)


def test_a_value_of_0_has_no_logarithm_so_that_runs_differ_by_an_amount():
    slower = of_latencies((0.0, 1.0, 2.0), now=6.0)
    assert slower.test.p == pytest.approx(predicted(5.0, 1.0, runs=3), rel=1e-4)


@pytest.mark.parametrize(
    ("value", "runs", "sign", "is_rate"),
    [
        (1.0, None, 1.0, False),  # more is better
        (1.0, None, -1.0, True),  # an error rate
        (0.0, None, -1.0, False),
        (1.0, (1.0, -1.0), -1.0, False),
        (1.0, (1.0, math.nan), -1.0, False),
    ],
)
def test_other_noise_is_of_amounts(value, runs, sign, is_rate):
    several = None if runs is None else runs_of_values(runs)
    scale = choose_scale(value, 1.0, several, sign=sign, is_rate=is_rate)
    assert not scale.is_of_logs


def test_a_history_with_a_value_of_0_has_noise_of_amounts():
    history = RunScatter(df=9, variance=0.1, se=0.01)
    runs = runs_of_values((2.0,), history=history)
    assert not choose_scale(2.0, 3.0, runs, sign=-1.0, is_rate=False).is_of_logs


def test_a_history_of_latencies_is_of_their_logarithms():
    history = RunScatter(df=9, variance=4.0, se=0.01)
    of_logs = RunScatter(df=9, variance=0.09, se=0.005)
    runs = runs_of_values((2.0,), history=history, history_of_logs=of_logs)
    scale = choose_scale(2.0, 6.0, runs, sign=-1.0, is_rate=False)
    noise = with_run_noise(
        runs, drop=4.0, log_p=-50.0, se=1e-9, alpha=0.01, level=0.95, scale=scale
    )
    expected = stats.t.sf(math.log(3) / (0.3 * math.sqrt(2)), 9)
    assert noise.p == pytest.approx(expected, rel=1e-5)


# -- noise that the file states ----------------------------------------------------------


def stated_as(share, *, drop, se):
    """A rise from 2 s, with noise between runs that the file states as a share."""
    scale = NoiseScale(unit=2.0, is_of_logs=True)
    return with_stated_noise(
        2.0 * share,
        None,
        drop=drop,
        log_p=float(stats.norm.logsf(drop / se)),
        se=se,
        alpha=0.01,
        level=0.95,
        scale=scale,
    )


def test_a_stated_share_is_the_factor_that_runs_differ_by():
    """With 30 %, twice the time is log 2 / hypot(.3 sqrt 2, error of tasks)."""
    noise = stated_as(0.3, drop=2.0, se=0.4)
    # in logarithms, the rise over tasks has as many standard errors
    of_tasks = math.log(2) / (2.0 / 0.4)
    expected = stats.norm.sf(math.log(2) / math.hypot(0.3 * math.sqrt(2), of_tasks))
    assert noise.p == pytest.approx(expected, rel=1e-5)


def test_the_interval_of_a_rise_is_of_factors():
    low, high = stated_as(0.3, drop=2.0, se=0.4).interval(2.0)
    half = 1.959964 * math.hypot(0.3 * math.sqrt(2), 0.4 / 2)
    assert low == pytest.approx(2.0 * (2 * math.exp(-half) - 1), rel=1e-5)
    assert high == pytest.approx(2.0 * (2 * math.exp(half) - 1), rel=1e-5)


def test_the_stated_rise_is_one_that_noise_of_factors_can_show():
    noise = stated_as(0.3, drop=0.0001, se=0.4)
    needed = needed_drop(math.inf, 0.01, noise=noise)
    error = math.hypot(0.3 * math.sqrt(2), 0.4 / 2)
    expected = 2.0 * math.expm1((2.326348 + 0.841621) * error)
    assert needed.drop(0.4) == pytest.approx(expected, rel=1e-5)


def test_runs_that_differ_by_more_than_any_number_have_a_finite_interval():
    low, high = stated_as(500.0, drop=2.0, se=0.4).interval(2.0)
    assert low == pytest.approx(-2.0)
    assert math.isfinite(high)


def test_an_upper_bound_is_of_factors():
    """Of a rise from 2 s to 3 s; t of 49 degrees of freedom is left to the tasks."""
    pair = make_pair([[1.9], [2.1]] * 25, [[2.9], [3.1]] * 25, bounded=False)
    stated = compared(
        pair, name="noninferior", direction="lower", max_drop=3.0, run_noise=0.3
    )
    # every task rose by 1 s, so that tasks have no error
    distance = math.log(1.5) + 2.326348 * 0.3 * math.sqrt(2)
    expected = 2.0 * math.expm1(distance)
    assert stated.upper_by_factors == pytest.approx(expected, rel=1e-4)


# -- single tasks, and most tasks --------------------------------------------------------


def test_single_tasks_are_tested_beyond_the_factor_that_runs_differ_by():
    scale = NoiseScale(unit=2.0, is_of_logs=True)
    shift = largest_shift(None, 0.6, alpha=0.01, scale=scale)
    assert shift == pytest.approx(2.0 * math.expm1(2.326348 * 0.3 * math.sqrt(2)))


def test_most_tasks_are_compared_by_the_factor_that_runs_differ_by():
    of_tasks = np.linspace(1.0, 1.00001, 50)
    wiggle = 1 + 1e-6 * np.cos(np.arange(50))
    before = [factor * of_tasks for factor in ALIKE]
    now = 10.0 * of_tasks * wiggle
    pairs = [make_pair(run[:, None], now[:, None], bounded=False) for run in before]
    mean = np.mean(before, axis=0)
    pair = make_pair(mean[:, None], now[:, None], bounded=False)
    runs = runs_of(pairs, pooled=True, is_rate=False)
    typical = compared(pair, runs=runs, direction="lower").typical
    expected = predicted(math.log(10 / BASE), math.log(2), runs=3)
    assert typical.p == pytest.approx(expected, rel=1e-3)


# -- false alarms ------------------------------------------------------------------------

DRAWS = 2_000


@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_unchanged_runs_that_differ_by_a_factor_seldom_fail(runs):
    """Runs are slower or faster by 30 %; on the scale of seconds 1.3 to 2.7 % fail."""
    rng = np.random.default_rng(runs)
    red = 0
    for _ in range(DRAWS):
        *values, now = rng.lognormal(0, 0.3, runs + 1).tolist()
        base = sum(values) / runs
        noise = with_run_noise(
            runs_of_values(tuple(values)),
            drop=now - base,
            log_p=-200.0,
            se=1e-9,
            alpha=0.01,
            level=0.95,
            scale=NoiseScale(unit=base, is_of_logs=True),
        )
        red += noise.p < 0.01
    assert red / DRAWS <= stats.binom(DRAWS, 0.015).ppf(0.999) / DRAWS


def test_a_cost_that_fell_to_next_to_nothing_is_a_number_on_the_scale_of_logarithms():
    scale = NoiseScale(unit=3.0, is_of_logs=True)
    assert scale.of_drop(1e-20 - 3.0) == pytest.approx(math.log(2.0**-53))


def of_all_sizes(*factors):
    """Four rollouts of each of 40 tasks, from 1 to 100,000 s, in runs that differ by factors."""
    sizes = np.geomspace(1, 1e5, 40)[:, None]
    rollouts = np.array([0.98, 1.0, 1.01, 1.02])
    return [factor * sizes * rollouts for factor in factors]


def most_tasks(now, *before):
    """The test of most tasks, of a run that is slower by a factor than others were."""
    (current,) = of_all_sizes(now)
    runs = of_all_sizes(*before)
    pairs = [make_pair(run, current, bounded=False) for run in runs]
    pooled = make_pair(np.hstack(runs), current, bounded=False)
    noise = runs_of(pairs, pooled=True, is_rate=False)
    return compared(pooled, direction="lower", name="statistical", runs=noise).typical


def test_tasks_of_all_sizes_show_the_factor_that_runs_differ_by():
    # a further run a little beyond the slower one of two is no surprise
    assert most_tasks(1.35, 1.0, 1.3).p > 0.1


def test_tasks_of_all_sizes_that_are_far_slower_than_each_run_are_found():
    assert most_tasks(6.0, 1.0, 1.02, 1.01, 0.99, 1.0).p < 1e-3


def test_tasks_of_which_some_take_a_million_times_as_long_are_no_proof_of_a_factor():
    rng = np.random.default_rng(137)
    skills = np.clip(rng.beta(0.12, 0.12, 42), 1e-6, 1 - 1e-6)
    odds = (skills / (1 - skills))[:, None]
    # log sd .3 between runs, as those of the baseline show
    factors = np.exp(rng.normal(0, 0.3, 3))
    first, second, now = (
        factor * odds * rng.lognormal(0, 0.7, (42, 16)) for factor in factors
    )
    pairs = [make_pair(run, now, bounded=False) for run in (first, second)]
    pooled = make_pair(np.hstack((first, second)), now, bounded=False)
    noise = runs_of(pairs, pooled=True, is_rate=False)
    tested = compared(pooled, direction="lower", name="statistical", runs=noise)
    assert tested.typical.p > 0.05
