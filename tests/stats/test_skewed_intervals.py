"""Intervals of skewed estimates: how often each end misses the truth."""

import numpy as np
import pytest

from pytest_evalmetrics.stats import (
    bootstrap_interval,
    mean_se,
    paired_score_upper,
    shift_of_skew,
    skewed_rate_interval,
    t_interval,
)

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
