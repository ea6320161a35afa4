"""Noise between runs against the posterior, integrated with scipy."""

import math

import numpy as np
import pytest
from comparison.making import compared, make_pair
from scipy import integrate, stats

from pytest_evalmetrics.comparison import (
    Runs,
    RunScatter,
    lone_run,
    runs_of,
    with_run_noise,
    with_stated_noise,
)
from pytest_evalmetrics.comparison.run_noise import unseen_noise

LEVEL = 0.95


def posterior_p(values, drop, se):
    """The chance of such a drop, averaged over the sd between runs, tau, by scipy."""
    m = len(values)
    one_run = se / np.sqrt(1 / m + 1)
    scale = 0.05
    most = 0.15
    scatter = values.var(ddof=1)

    def weight(tau):
        variance = one_run**2 + tau**2
        return float(stats.chi2.pdf((m - 1) * scatter / variance, m - 1) / variance)

    def tail(tau):
        return float(stats.norm.sf(drop / np.hypot(se, tau * np.sqrt(1 + 1 / m))))

    def over_prior(function):
        """Average over a half-Cauchy prior, by tau = scale tan(x)."""
        end = np.arctan(most / scale)

        def integrand(x):
            tau = scale * np.tan(x)
            return function(tau) * weight(tau)

        return float(integrate.quad(integrand, 0, end, limit=400)[0])

    return over_prior(tail) / over_prior(lambda _: 1.0)


def spread_values(m, times):
    return 0.7 + 0.02 * times * np.linspace(-1, 1, m) ** 3


def noise_of(values, drop, se):
    runs = Runs(tuple(values.tolist()), pooled=True, more_rollouts=1.0, is_rate=True)
    log_p = float(stats.norm.logsf(drop / se))
    return with_run_noise(runs, drop=drop, log_p=log_p, se=se, alpha=0.01, level=LEVEL)


@pytest.mark.parametrize("m", [2, 3, 5, 10])
@pytest.mark.parametrize("drop", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("times", [1, 10])  # fewer tasks: all errors are larger
def test_p_is_the_predictive_tail(m, drop, times):
    values = spread_values(m, times)
    expected = posterior_p(values, drop * times, 0.015 * times)
    noise = noise_of(values, drop * times, 0.015 * times)
    assert noise.p == pytest.approx(expected, rel=0.05)


def test_noise_between_runs_counts_where_the_p_of_tasks_is_too_small_for_a_number():
    """A hundred standard errors of tasks are two of runs."""
    values = spread_values(10, 1)
    expected = posterior_p(values, 0.03, 0.0003)
    assert expected > 0.005
    noise = noise_of(values, drop=0.03, se=0.0003)
    assert noise.p == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("m", [2, 3, 5, 10])
def test_noise_between_runs_never_makes_a_drop_surer(m):
    noise = noise_of(spread_values(m, 1), drop=0.03, se=0.015)
    assert noise.p >= stats.norm.sf(0.03 / 0.015) * 0.999


def test_the_spread_of_runs_is_what_their_tasks_do_not_explain():
    values = spread_values(5, 10)
    one_run = 0.015 / np.sqrt(1 / 5 + 1)
    expected = np.sqrt(values.var(ddof=1) - one_run**2)
    assert noise_of(values, drop=0.03, se=0.015).sd == pytest.approx(expected, rel=1e-5)


def test_noise_alone_exceeds_the_quantile_of_its_level_as_often():
    values = spread_values(5, 1)
    wider = noise_of(values, drop=0.03, se=0.015).wider
    quantile = wider * stats.norm.isf(0.01) * 0.015
    assert noise_of(values, drop=quantile, se=0.015).p == pytest.approx(0.01, rel=1e-3)


def test_noise_alone_exceeds_half_the_interval_as_often_as_its_level_leaves():
    values = spread_values(5, 1)
    half = noise_of(values, drop=0.03, se=0.015).half
    assert noise_of(values, drop=half, se=0.015).p == pytest.approx(0.025, rel=1e-3)


def test_runs_that_scatter_less_than_their_tasks_explain_have_no_spread():
    assert noise_of(spread_values(5, 0.1), drop=0.03, se=0.015).sd == 0


def test_runs_of_the_same_rollouts_change_nothing():
    runs = Runs((0.5,) * 4, pooled=True, more_rollouts=1.0, se=0.0)
    noise = with_run_noise(
        runs, drop=0.02, log_p=math.log(0.003), se=0.01, alpha=0.01, level=LEVEL
    )
    assert noise.sd == 0
    assert noise.p == 0.003
    assert noise.wider == 1
    assert math.isnan(noise.half)


@pytest.mark.parametrize("se", [0.02, math.nan])
def test_two_medians_that_tie_by_chance_do_not_show_that_runs_are_alike(se):
    runs = Runs((0.5, 0.5), pooled=False, more_rollouts=0.5, se=se, is_rate=True)
    noise = with_run_noise(
        runs, drop=0.125, log_p=math.log(1e-7), se=0.01, alpha=0.01, level=LEVEL
    )
    assert noise.p > 0.01


def test_where_tasks_explain_nothing_runs_alone_decide():
    """The prediction interval of a further value: t with m - 1 degrees of freedom."""
    values = (0.70, 0.72, 0.71, 0.74)
    runs = Runs(values, pooled=True, more_rollouts=1.0)
    noise = with_run_noise(
        runs, drop=0.1, log_p=math.log(1e-9), se=0.0, alpha=0.01, level=LEVEL
    )
    error = np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert noise.p == pytest.approx(stats.t.sf(0.1 / error, 3))
    assert noise.sd == pytest.approx(np.std(values, ddof=1))
    # the interval stays that of tasks
    assert noise.wider == 1
    assert math.isnan(noise.half)


def test_where_tasks_explain_nothing_the_stated_drop_is_that_of_the_runs():
    values = (0.70, 0.72, 0.71, 0.74)
    runs = Runs(values, pooled=True, more_rollouts=1.0)
    noise = with_run_noise(
        runs, drop=0.1, log_p=math.log(1e-9), se=0.0, alpha=0.01, level=LEVEL
    )
    error = np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert noise.beyond == pytest.approx(stats.t.isf(0.01, 3) * error, rel=1e-5)
    assert noise.short == pytest.approx(stats.norm.isf(0.2) * error, rel=1e-5)


def test_a_lone_run_has_the_error_and_the_rollouts_of_its_tasks():
    pair = make_pair(
        [[1.0] * 8, [0.5] * 8, [0.0] * 8], [[0.5] * 4, [0.5] * 4, [0.0] * 4]
    )
    lone = lone_run(pair, pool=())
    assert lone.more_rollouts == 2
    drops = [0.5, 0.0, 0.0]
    error = np.std(drops, ddof=1) / np.sqrt(3)
    assert lone.se == pytest.approx(error / np.sqrt(2))


def test_the_newest_run_alone_predicts_less_than_the_mean_of_all():
    values = tuple(spread_values(5, 1).tolist())
    mean = Runs(values, pooled=True, more_rollouts=1.0, se=0.01)
    newest = Runs(values, pooled=False, more_rollouts=1.0, se=0.01)
    assert mean.variance_factor == pytest.approx(1.2)
    assert newest.variance_factor == 2
    ps = [
        with_run_noise(
            runs, drop=0.04, log_p=math.log(0.004), se=0.015, alpha=0.01, level=LEVEL
        ).log_p
        for runs in (mean, newest)
    ]
    assert ps[0] < ps[1]


def three_runs():
    """The values of 20 tasks in three runs, which differ as a whole too."""
    shifts = np.array([[0.0], [0.3], [0.1]])
    return np.random.default_rng(0).random((3, 20)) + shifts


def pairs_of(runs):
    now = [[0.5]] * 20
    return [make_pair([[value] for value in values], now) for values in runs]


def test_the_error_of_a_run_is_what_its_tasks_do_beyond_the_run():
    """The residual of an analysis of variance of tasks and runs."""
    values = three_runs()
    run, task = np.indices(values.shape).reshape(2, -1)
    of_runs = run[:, None] == range(3)
    of_tasks = task[:, None] == range(20)
    design = np.hstack([of_runs, of_tasks]).astype(float)
    effects, _, rank, _ = np.linalg.lstsq(design, values.ravel(), rcond=None)
    residuals = values.ravel() - design @ effects
    mean_square = (residuals**2).sum() / (values.size - rank)
    runs = runs_of(pairs_of(values), pooled=True, is_rate=False)
    assert runs.se == pytest.approx(np.sqrt(mean_square / 20))


def test_the_runs_of_a_baseline_have_its_values_the_newest_last():
    values = three_runs()
    runs = runs_of(pairs_of(values), pooled=True, is_rate=False)
    assert runs.values == pytest.approx(values.mean(axis=1).tolist())
    assert runs.more_rollouts == 1


def test_a_metric_without_values_by_task_has_no_error_of_one_run():
    one = make_pair([[1.0]] * 3, [[1.0]] * 3, baseline=None, current=None)
    other = make_pair([[0.0]] * 3, [[1.0]] * 3, baseline=None, current=None)
    assert math.isnan(runs_of([one, other], pooled=False, is_rate=False).se)
    assert runs_of([one, one], pooled=False, is_rate=False).se == 0


# -- false alarms ------------------------------------------------------------------------

DRAWS = 1_000
MOST = 0.015  # of unchanged runs


def alarms(m, tau, *, is_rate, one_run=0.0046):
    """The share of unchanged runs that fail, by noise of tasks and of runs alone."""
    rng = np.random.default_rng(m)
    sd = np.hypot(one_run, tau)
    se = one_run * math.sqrt(1 + 1 / m)
    red = 0
    for _ in range(DRAWS):
        values = 0.5 + sd * rng.normal(size=m)
        drop = float(values.mean() - 0.5 - sd * rng.normal())
        if drop < 2 * se:  # no test of tasks would fail
            continue
        runs = Runs(
            tuple(values), pooled=True, more_rollouts=1.0, se=one_run, is_rate=is_rate
        )
        noise = with_run_noise(
            runs,
            drop=drop,
            log_p=float(stats.norm.logsf(drop / se)),
            se=se,
            alpha=0.01,
            level=LEVEL,
        )
        red += noise.p < 0.01
    return red / DRAWS


def most_alarms():
    return stats.binom(DRAWS, MOST).ppf(0.999) / DRAWS


@pytest.mark.parametrize("m", [2, 3, 4, 10])
@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_an_unchanged_rate_seldom_fails_however_few_runs_there_are(m, tau):
    assert alarms(m, tau, is_rate=True) <= most_alarms()


@pytest.mark.parametrize("m", [2, 3, 10])
def test_unchanged_tokens_seldom_fail_however_few_runs_there_are(m):
    assert alarms(m, 0.03, is_rate=False) <= most_alarms()


# -- noise that the file states ----------------------------------------------------------


@pytest.mark.parametrize("m", [1, 4])
def test_stated_noise_is_added_to_that_of_tasks(m):
    values = (0.7,) * m
    runs = Runs(values, pooled=True, more_rollouts=1.0) if m > 1 else None
    noise = with_stated_noise(
        0.01,
        runs,
        drop=0.05,
        log_p=float(stats.norm.logsf(0.05 / 0.015)),
        se=0.015,
        alpha=0.01,
        level=LEVEL,
    )
    sd = np.sqrt(0.015**2 + 0.01**2 * (1 + 1 / m))
    assert noise.p == pytest.approx(stats.norm.sf(0.05 / sd), rel=1e-5)
    assert noise.half == pytest.approx(stats.norm.isf(0.025) * sd, rel=1e-5)


def test_stated_noise_of_a_rate_is_in_points():
    pair = make_pair([[1.0] * 4] * 100, [[1.0] * 4] * 90 + [[0.0] * 4] * 10)
    assert compared(pair, run_noise=0.01, is_rate=True).run_sd == 0.01


def test_stated_noise_of_tokens_is_a_share_of_the_baseline():
    pair = make_pair([[500.0]] * 100, [[510.0]] * 100, bounded=False)
    stated = compared(pair, run_noise=0.02, direction="lower")
    assert stated.run_sd == pytest.approx(10.0)


def test_one_run_says_how_much_noise_would_explain_its_drop():
    """The drop is no surprise where all noise together is drop / 2.33."""
    pair = make_pair([[1.0] * 4] * 100, [[1.0] * 4] * 90 + [[0.0] * 4] * 10)
    plain = compared(pair)
    stated = compared(pair, run_noise=plain.unseen_run_sd, is_rate=True)
    assert stated.test.p == pytest.approx(0.01, rel=1e-4)


def runs_with_an_outlier():
    """Three runs of 20 latencies; in the second one a task hung."""
    draw = np.random.default_rng(3)
    values = draw.lognormal(1, 0.3, 20) + np.array([[0.0], [0.1], [-0.1]])
    values += draw.normal(0, 0.05, values.shape)
    values[1, 7] = 600.0
    return values


def test_most_tasks_of_runs_show_how_they_differ_where_one_hung():
    values = runs_with_an_outlier()
    now = values[0][:, None]
    pairs = [make_pair(run[:, None], now, bounded=False) for run in values]
    typical = runs_of(pairs, pooled=True, is_rate=False).typical
    of_all = values.mean(axis=0)
    shifts = values - of_all
    middle = stats.trim_mean(of_all, 0.1)
    assert typical.values == pytest.approx(
        [middle + stats.trim_mean(run, 0.1) for run in shifts], abs=1e-9
    )
    # Yuen's standard error: 16 of 20 values are kept, two at either end are winsorised
    winsorised = [stats.mstats.winsorize(run, limits=0.1) for run in shifts]
    errors = [float(np.sqrt(20 * run.var(ddof=1)) / 16) for run in winsorised]
    assert typical.se == pytest.approx(math.sqrt(np.square(errors).sum() / 2))


def test_runs_of_a_rate_have_no_other_differences():
    pairs = [make_pair([[1.0], [0.0]], [[1.0], [1.0]]) for _ in range(3)]
    assert runs_of(pairs, pooled=True, is_rate=True).typical is None


@pytest.mark.parametrize("is_rate", [True, False])
def test_a_lone_run_knows_whether_it_is_a_rate(is_rate):
    pair = make_pair([[1.0], [0.0]], [[1.0], [1.0]])
    assert lone_run(pair, is_rate=is_rate).is_rate is is_rate
    assert lone_run(pair).is_rate


def test_the_runs_of_a_baseline_know_whether_they_are_of_a_rate():
    pairs = [make_pair([[1.0], [0.0]], [[1.0], [1.0]])] * 2
    assert runs_of(pairs, pooled=True, is_rate=True).is_rate
    assert not runs_of(pairs, pooled=True, is_rate=False).is_rate


def test_a_lone_run_keeps_what_shows_its_noise():
    pair = make_pair([[1.0], [0.0]], [[1.0], [1.0]])
    scatter = RunScatter(df=3, variance=0.01, se=0.1)
    of_logs = RunScatter(df=3, variance=0.02, se=0.1)
    lone = lone_run(pair, history=scatter, history_of_logs=of_logs, pool=(scatter,))
    assert lone.values == (0.5,)
    assert lone.pooled
    assert (lone.history, lone.history_of_logs) == (scatter, of_logs)
    assert lone.pool == (scatter,)


# -- the drop of a lone run that noise would explain -------------------------------------


def test_the_noise_that_would_explain_a_drop_is_what_the_level_leaves_beside_tasks():
    log_p = float(stats.norm.logsf(4.0))
    needed = 0.08 / stats.norm.isf(0.01)
    expected = math.sqrt((needed**2 - 0.02**2) / 2)
    assert unseen_noise(0.08, log_p, alpha=0.01) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("drop", "p"), [(-0.08, 1e-4), (0.0, 1e-4), (0.08, 0.01)])
def test_a_drop_that_is_no_surprise_needs_no_noise_to_explain_it(drop, p):
    assert unseen_noise(drop, math.log(p), alpha=0.01) == 0
