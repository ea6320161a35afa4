"""Intervals of skewed estimates: how often each end misses the truth."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pytest_evalmetrics.stats import (
    bootstrap_interval,
    mean_se,
    paired_score_upper,
    shift_of_skew,
    skewed_mean_interval,
    skewed_rate_interval,
    t_interval,
)
from pytest_evalmetrics.stats.means import MeanSE

RUNS = 400
MOST_MISSED = 0.035 + 3 * (0.035 * 0.965 / RUNS) ** 0.5  # on each side


def rate_interval(values, clusters):
    """The interval that a rate has: the wider of t and of the skewed one."""
    mean = mean_se(values, clusters)
    if not mean.se > 0:
        return 0.0, 1.0
    low, high = t_interval(mean, 0.95)
    exact_low, exact_high = skewed_rate_interval(
        mean, values - mean.mean, clusters, 0.95
    )
    return min(low, exact_low), max(high, exact_high)


def missed_shares(intervals, truth):
    """The shares of intervals above and below the truth."""
    lows, highs = np.array(intervals).T
    return (lows > truth).mean(), (highs < truth).mean()


# clusters, tasks of each, correlation within them, rollouts, rate
CLUSTERED = [
    (5, 10, 0.3, 1, 0.8),
    (10, 20, 0.1, 1, 0.9),
    (20, 5, 0.3, 4, 0.9),
    (50, 4, 0.2, 2, 0.95),
]


@pytest.mark.parametrize(("count", "size", "icc", "k", "rate"), CLUSTERED)
def test_a_rate_of_clusters_near_one_misses_as_seldom_as_it_says(
    count, size, icc, k, rate
):
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(count), size)
    shape = 1 / icc - 1
    intervals = []
    for _ in range(RUNS):
        chance = rng.beta(rate * shape, (1 - rate) * shape, count)[clusters]
        passed = rng.random((len(clusters), k)) < chance[:, None]
        intervals.append(rate_interval(passed.mean(axis=1), clusters))
    assert max(missed_shares(intervals, rate)) <= MOST_MISSED


@pytest.mark.parametrize(
    ("tasks", "k", "rate"), [(200, 8, 0.99), (50, 8, 0.95), (100, 4, 0.02)]
)
def test_a_rate_near_an_end_misses_as_seldom_as_it_says(tasks, k, rate):
    rng = np.random.default_rng(2)
    intervals = [
        rate_interval((rng.random((tasks, k)) < rate).mean(axis=1), None)
        for _ in range(RUNS)
    ]
    assert max(missed_shares(intervals, rate)) <= MOST_MISSED


def mean_interval(values):
    mean = mean_se(values)
    return skewed_mean_interval(mean, values - mean.mean, 0.95, values=values)


@pytest.mark.parametrize("tasks", [20, 50])
@pytest.mark.parametrize("log_sd", [0.5, 1.0])
def test_a_mean_of_lognormal_values_misses_as_seldom_as_it_says(tasks, log_sd):
    rng = np.random.default_rng(4)
    intervals = [mean_interval(rng.lognormal(0, log_sd, tasks)) for _ in range(RUNS)]
    assert max(missed_shares(intervals, np.exp(log_sd**2 / 2))) <= MOST_MISSED


def test_normal_values_lose_little_by_the_interval_of_skewed_ones():
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(RUNS):
        values = rng.normal(10, 2, 20)
        low, high = mean_interval(values)
        t_low, t_high = t_interval(mean_se(values), 0.95)
        ratios.append((high - low) / (t_high - t_low))
    assert np.median(ratios) < 1.08


def test_the_end_towards_the_tail_solves_halls_equation():
    # a value of 0 leaves no logarithms, so that Hall's end stands alone
    values = np.append(np.random.default_rng(6).exponential(size=29), 0.0)
    n = len(values)
    _, high = mean_interval(values)
    skew = scipy_stats.skew(values, bias=False)
    kurtosis = scipy_stats.kurtosis(values, fisher=False)
    quantile = scipy_stats.t.ppf(0.975, min(n - 1, 2 * n / (kurtosis - 1)))
    w = (values.mean() - high) / values.std(ddof=1)
    transformed = w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n)
    assert transformed == pytest.approx(-quantile / np.sqrt(n))


def test_the_upper_end_of_values_that_may_be_lognormal_is_at_least_coxs():
    # the quantiles of a normal distribution: logarithms without any skew
    logs = scipy_stats.norm.ppf((np.arange(15) + 0.5) / 15)
    _, high = mean_interval(np.exp(logs))
    variance = logs.var(ddof=1)
    error = np.sqrt(variance / 15 + variance**2 / 28)
    cox = np.exp(logs.mean() + variance / 2 + scipy_stats.t.ppf(0.975, 14) * error)
    assert high >= cox * (1 - 1e-12)


def test_few_tasks_and_symmetric_ones_have_students_interval():
    for values in (np.array([0.0] * 8 + [9.0]), np.arange(20.0)):
        assert mean_interval(values) == t_interval(mean_se(values), 0.95)


def test_huge_values_have_an_interval():
    values = np.random.default_rng(7).lognormal(0, 1, 30) * 1e150
    low, high = mean_interval(values)
    assert 0 < low < high < 1e152


def harmonic(weights, values):
    """A smooth metric that is no mean; weights of shape (choices, tasks)."""
    return weights.sum(axis=1) / (weights @ (1 / (0.1 + values)))


@pytest.mark.parametrize("tasks", [10, 20, 50])
def test_a_metric_of_ones_own_misses_as_seldom_as_it_says(tasks):
    rng = np.random.default_rng(3)

    def drawn(count):
        return (rng.random((count, 4)) < rng.beta(0.4, 0.4, count)[:, None]).mean(
            axis=1
        )

    truth = harmonic(np.ones((1, 400_000)), drawn(400_000))[0]
    without_each = np.ones((tasks, tasks)) - np.eye(tasks)
    intervals = []
    for _ in range(RUNS):
        values = drawn(tasks)
        weights = rng.multinomial(tasks, np.full(tasks, 1 / tasks), 499).astype(float)
        intervals.append(
            bootstrap_interval(
                harmonic(weights, values),
                harmonic(np.ones((1, tasks)), values)[0],
                harmonic(without_each, values),
                0.95,
            )
        )
    assert max(missed_shares(intervals, truth)) <= MOST_MISSED


def test_a_bootstrap_interval_stays_within_the_bootstrap_values():
    draws = np.linspace(0.8, 1.0, 999)
    left_out = np.array([0.5, 0.99, 1.0])
    low, high = bootstrap_interval(draws, 0.95, left_out, 0.95)
    assert low >= 0.8
    assert high <= 1.0


def test_a_mean_moves_only_towards_its_rare_values():
    rare = np.array([0.0] * 49 + [1.0])
    assert shift_of_skew(rare, 2.0) > 0
    assert shift_of_skew(-rare, 2.0) == 0
    assert shift_of_skew(np.ones(5), 2.0) == 0


def test_the_upper_end_of_a_drop_of_single_passes_grows_with_the_losses():
    ends = [paired_score_upper(losses, 2, 50, 0.01) for losses in range(10)]
    assert ends == sorted(ends)


@pytest.mark.parametrize("size", [1e-90, 1e-160, 1e-300])
def test_tiny_shares_have_the_interval_of_a_rate_that_is_0(size):
    rewards = np.array([0.0, 1.0, 2.0, 1.0] * 10) * size
    mean = MeanSE(mean=float(rewards.mean()), se=size / 9, df=39, units=40)
    low, high = skewed_rate_interval(mean, rewards - rewards.mean(), None, 0.95)
    assert low == 0
    assert 0 < high < 0.1


def test_the_skew_of_tiny_values_is_that_of_large_ones():
    values = np.array([0.0] * 19 + [1.0])
    assert shift_of_skew(values * 1e-130, 2.0) == pytest.approx(
        shift_of_skew(values, 2.0)
    )
