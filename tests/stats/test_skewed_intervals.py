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


# -- a rate near an end, by its formula --------------------------------------------------


def exact(rate, tries):
    """Clopper and Pearson's interval of a share of so many tries."""
    passed = rate * tries
    low = scipy_stats.beta.ppf(0.025, passed, tries - passed + 1)
    return low, scipy_stats.beta.ppf(0.975, passed + 1, tries - passed)


def t_quantile(df):
    return scipy_stats.t.ppf(0.975, df)


def kurtosis_of(errors):
    return np.mean(errors**4) / np.mean(errors**2) ** 2


def test_a_rate_has_as_many_tries_as_its_error_shows_and_fewer_for_its_kurtosis():
    values = np.array([1.0] * 37 + [0.25, 0.5, 0.75])
    mean = mean_se(values)
    errors = values - values.mean()
    df = min(39, 2 * 40 / (kurtosis_of(errors) - 1))
    tries = mean.mean * (1 - mean.mean) / mean.se**2
    tries *= (t_quantile(39) / t_quantile(df)) ** 2
    assert tries > 40
    interval = skewed_rate_interval(mean, errors, None, 0.95)
    assert interval == pytest.approx(exact(mean.mean, tries))


def test_a_rate_has_at_least_as_many_tries_as_tasks():
    mean = MeanSE(mean=0.95, se=0.2, df=39, units=40)
    errors = np.array([1.0, -1.0] * 20)
    interval = skewed_rate_interval(mean, errors, None, 0.95)
    assert interval == pytest.approx(exact(0.95, 40))


def test_errors_without_kurtosis_leave_the_degrees_of_freedom():
    mean = MeanSE(mean=0.5, se=0.02, df=19, units=20)
    errors = np.array([0.1, -0.1] * 10)
    interval = skewed_rate_interval(mean, errors, None, 0.95)
    assert interval == pytest.approx(exact(0.5, 0.25 / 0.02**2))


def test_no_errors_at_all_leave_the_degrees_of_freedom():
    mean = MeanSE(mean=0.5, se=0.02, df=19, units=20)
    interval = skewed_rate_interval(mean, np.zeros(20), None, 0.95)
    assert interval == pytest.approx(exact(0.5, 0.25 / 0.02**2))


# ten clusters of ten tasks, whose errors are alike
ERRORS = np.repeat([0.1, -0.1] * 5, 10)
TENS = np.repeat(np.arange(10), 10)


@pytest.mark.parametrize(
    ("rate", "share"),
    [(0.5, 1.0), (0.25, 1.0), (0.75, 1.0), (0.76, 0.5), (0.24, 0.5)],
)
def test_few_clusters_of_a_rate_near_an_end_have_half_of_their_tries(rate, share):
    mean = MeanSE(mean=rate, se=0.06, df=9, units=10)
    tries = rate * (1 - rate) / 0.06**2 * (t_quantile(99) / t_quantile(9)) ** 2
    assert 20 < tries < 100
    interval = skewed_rate_interval(mean, ERRORS, TENS, 0.95)
    assert interval == pytest.approx(exact(rate, share * tries))


def test_clusters_have_no_more_tries_than_tasks():
    mean = MeanSE(mean=0.5, se=0.01, df=9, units=10)
    interval = skewed_rate_interval(mean, ERRORS, TENS, 0.95)
    assert interval == pytest.approx(exact(0.5, 100))


def test_twenty_clusters_show_how_skewed_they_are():
    errors = np.repeat([0.1, -0.1] * 10, 5)
    mean = MeanSE(mean=0.8, se=0.06, df=19, units=20)
    tries = 0.16 / 0.06**2 * (t_quantile(99) / t_quantile(19)) ** 2
    interval = skewed_rate_interval(mean, errors, np.repeat(np.arange(20), 5), 0.95)
    assert interval == pytest.approx(exact(0.8, tries))


@pytest.mark.parametrize(("rate", "end"), [(1.2, 1.0), (-0.2, 0.0)])
def test_a_rate_is_within_its_range(rate, end):
    mean = MeanSE(mean=rate, se=0.06, df=19, units=20)
    errors = np.array([0.1, -0.1] * 10)
    low, high = skewed_rate_interval(mean, errors, None, 0.95)
    assert end in (low, high)
    assert 0 <= low < high <= 1


# -- a mean, by its formulas -------------------------------------------------------------


def test_a_mean_without_an_error_has_no_interval():
    low, high = mean_interval(np.ones(20))
    assert np.isnan(low)
    assert np.isnan(high)


def test_a_long_tail_of_small_values_moves_the_lower_end_alone():
    values = np.append(np.random.default_rng(6).exponential(size=29), 0.0)
    low, high = mean_interval(values)
    mirrored_low, mirrored_high = mean_interval(-values)
    assert (mirrored_low, mirrored_high) == pytest.approx((-high, -low))


def test_the_skew_of_clusters_is_that_of_their_sums():
    rng = np.random.default_rng(6)
    values = np.append(rng.exponential(size=29), 0.0)
    copies = np.repeat(values, 3)
    clusters = np.repeat(np.arange(30), 3)
    mean = mean_se(copies, clusters)
    interval = skewed_mean_interval(
        mean, copies - mean.mean, 0.95, clusters=clusters, values=copies
    )
    assert interval == pytest.approx(mean_interval(values), rel=1e-6)


# logarithms whose skew is within 1.5 standard errors of 0
LOGS = np.random.default_rng(6).normal(size=15)


def students_or_halls(values):
    """The interval where nothing says that the values are lognormal."""
    mean = mean_se(values)
    return skewed_mean_interval(mean, values - mean.mean, 0.95)


def with_log_sd(sd):
    return np.exp(LOGS * sd / LOGS.std(ddof=1))


@pytest.mark.parametrize("sd", [0.5, 1.49])
def test_the_upper_end_of_lognormal_values_is_coxs_where_it_is_farther(sd):
    values = with_log_sd(sd)
    logs = np.log(values)
    variance = logs.var(ddof=1)
    error = np.sqrt(variance / 15 + variance**2 / 28)
    cox = np.exp(logs.mean() + variance / 2 + scipy_stats.t.ppf(0.975, 14) * error)
    low, high = mean_interval(values)
    assert high == pytest.approx(cox)
    assert high > 1.01 * students_or_halls(values)[1]
    assert low == students_or_halls(values)[0]


def test_logarithms_that_vary_too_much_say_nothing_of_the_mean():
    values = with_log_sd(1.51)
    assert mean_interval(values) == students_or_halls(values)


def test_logarithms_that_are_skewed_to_the_left_say_nothing_of_the_mean():
    values = np.append(with_log_sd(0.5), [1e-3, 9.0])
    assert mean_interval(values) == students_or_halls(values)


def test_clusters_say_nothing_of_the_logarithms_of_tasks():
    values = with_log_sd(1.0)
    clusters = np.arange(15)
    mean = mean_se(values, clusters)
    interval = skewed_mean_interval(
        mean, values - mean.mean, 0.95, clusters=clusters, values=values
    )
    assert interval == pytest.approx(students_or_halls(values))


def test_a_lognormal_end_beyond_the_largest_number_is_left_to_hall():
    values = with_log_sd(1.0)
    errors = values - values.mean()
    huge = MeanSE(mean=1e304, se=1e303, df=14, units=15)
    with_logs = skewed_mean_interval(huge, errors, 0.95, values=values * 1e304)
    assert with_logs == skewed_mean_interval(huge, errors, 0.95)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_interval_of_a_mean_is_the_same_in_any_unit(unit):
    values = np.append(np.random.default_rng(6).exponential(size=29), 0.0)
    low, high = mean_interval(values)
    assert mean_interval(values * unit) == pytest.approx((low * unit, high * unit))


def test_the_shift_by_skew_is_johnsons():
    values = np.random.default_rng(2).exponential(size=40)
    skew = scipy_stats.skew(values)
    expected = skew * (1 + 2 * 2.5**2) / (6 * np.sqrt(40))
    assert shift_of_skew(values, 2.5) == pytest.approx(expected)
