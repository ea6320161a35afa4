"""Shares against scipy, statsmodels, every draw of k rollouts, and exact fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle
from stats.textbook import clopper_pearson

from pytest_evalmetrics.stats import (
    max_at_k,
    newcombe_upper,
    paired_score_p,
    paired_score_upper,
    pass_m_of_n,
    quantile7,
    wilson,
    zero_flip_bound,
)
from pytest_evalmetrics.stats.proportions import clopper_pearson as exact_interval

SHARES = [
    (0, 1),
    (0, 12),
    (3, 10),
    (10, 10),
    (20, 100),
    (199, 200),
    (7, 100_000),
    (500_000, 10**6),
]
shares = st.integers(1, 5_000).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n))
)


@pytest.mark.parametrize("share", SHARES)
def test_intervals_against_scipy(share):
    both = ((wilson, "wilson"), (clopper_pearson, "exact"))
    for level, (ours, method) in itertools.product([0.8, 0.95, 0.99], both):
        theirs = oracle.binomtest(*share).proportion_ci(level, method)
        assert ours(*share, level) == pytest.approx(
            (theirs.low, theirs.high), rel=1e-9, abs=1e-12
        )


@settings(max_examples=40)
@given(shares, st.floats(0.01, 0.999))
def test_wilson_lies_around_the_share_and_mirrors_failures(share, level):
    k, n = share
    low, high = wilson(k, n, level)
    assert 0 <= low <= k / n <= high <= 1
    assert low < high
    mirrored = wilson(n - k, n, level)
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-12)


@pytest.mark.parametrize("n", [1, 20, 10_000])
def test_no_flips_still_have_an_upper_bound(n):
    bound = zero_flip_bound(n, 0.05)
    assert bound == pytest.approx(clopper_pearson(0, n, 0.9)[1], rel=1e-9)
    assert (1 - bound) ** n == pytest.approx(0.05, rel=1e-9)
    for flips in (0.25, 1, n - 0.5, n):
        high = oracle.beta.ppf(0.95, flips + 1, n - flips) if flips < n else 1.0
        assert zero_flip_bound(n, 0.05, flips) == pytest.approx(high, rel=1e-9)


def pass_at_k(n, c, k):
    return pass_m_of_n(n, c, 1, k)


def pass_hat_k(n, c, k):
    return pass_m_of_n(n, c, k, k)


counts = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


def exact_pass_at(n, c, k):
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@pytest.mark.parametrize("n", [1_025, 10_000])
@pytest.mark.parametrize("k", [1, 2, 25, 1_000])
def test_large_n(n, k):
    for c in (0, 1, 37, 990, 1_000, 1_024):
        assert pass_at_k(n, c, k) == pytest.approx(
            float(exact_pass_at(n, c, k)), rel=1e-11
        )
        all_pass = float(1 - exact_pass_at(n, n - c, k))
        assert pass_hat_k(n, c, k) == pytest.approx(all_pass, rel=1e-9, abs=1e-300)


@settings(max_examples=40)
@given(counts)
def test_both_are_correctly_rounded(count):
    n, c, k = count
    assert pass_at_k(n, c, k) == float(exact_pass_at(n, c, k))
    assert pass_hat_k(n, c, k) == float(1 - exact_pass_at(n, n - c, k))


@settings(max_examples=20)
@given(counts)
def test_the_best_of_rewards_of_0_and_1_is_whether_one_passes(count):
    n, c, k = count
    rewards = np.array([[1.0] * c + [0.0] * (n - c)])
    expected = pytest.approx([pass_at_k(n, c, k)], rel=1e-12)
    assert max_at_k(rewards, k) == expected


@settings(max_examples=20)
@given(counts)
def test_the_share_of_passes_lies_between_all_and_any(count):
    n, c, k = count
    assert 0 <= pass_hat_k(n, c, k) <= c / n <= pass_at_k(n, c, k) <= 1


@settings(max_examples=20)
@given(counts.filter(lambda count: count[2] < count[0]))
def test_more_attempts_help_any_and_hinder_all(count):
    n, c, k = count
    assert pass_at_k(n, c, k + 1) >= pass_at_k(n, c, k)
    assert pass_hat_k(n, c, k + 1) <= pass_hat_k(n, c, k)


@settings(max_examples=20)
@given(counts.filter(lambda count: count[1] < count[0]))
def test_more_passes_help_both(count):
    n, c, k = count
    assert pass_at_k(n, c + 1, k) >= pass_at_k(n, c, k)
    assert pass_hat_k(n, c + 1, k) >= pass_hat_k(n, c, k)


def test_tasks_of_unequal_sizes():
    n = np.array([20_000, 6, 20_000])
    assert pass_at_k(n, [1, 3, 20_000], 2) == pytest.approx([1e-4, 0.8, 1], rel=1e-9)


def test_max_at_k_over_tasks_and_fewer_than_k():
    rewards = np.array([[1.0, 2.0], [4.0, 3.0], [math.nan, 0.0]])
    assert max_at_k(rewards, 2) == pytest.approx([2, 4, math.nan], nan_ok=True)
    assert np.isnan(max_at_k(rewards, 3)).all()
    assert np.isnan([pass_at_k(2, 2, 3), pass_hat_k(0, 0, 1)]).all()


# -- differences of proportions ----------------------------------------------------------


def test_the_score_interval_of_paired_proportions_is_tangos_example():
    """Tango 1998, table IV: 44 pairs, b = 0 and c = 1, the 95 % limits of (b - c) / n."""
    z = 1.959964
    wanted = oracle.norm.sf(z)
    upper = next(
        margin
        for margin in np.arange(0.0005, 1, 0.0005)
        if paired_score_p(0, 1, 44, margin) < wanted
    )
    assert upper == pytest.approx(0.0608, abs=0.002)


def test_newcombes_limit_is_that_of_method_10():
    """Newcombe 1998, table II: 56/70 - 48/80, the 95 % interval is 0.0524 to 0.3339."""
    upper = newcombe_upper((56, 70), (48, 80), 0.95)
    assert upper == pytest.approx(0.3339, abs=1e-4)


@pytest.mark.parametrize(("tasks", "margin"), [(20, 0.05), (50, 0.02), (200, 0.01)])
def test_single_passes_are_seldom_equivalent_at_a_true_change_of_the_margin(
    tasks, margin
):
    rng = np.random.default_rng(0)
    chance = [0.05 + margin, 0.05, 0.9 - margin]
    worse, better, _ = rng.multinomial(tasks, chance, size=2_000).T
    found = sum(
        max(
            paired_score_p(losses, gains, tasks, margin),
            paired_score_p(gains, losses, tasks, margin),
        )
        < 0.05
        for losses, gains in zip(worse.tolist(), better.tolist(), strict=True)
    )
    assert found / 2_000 <= 0.065


def test_the_upper_end_of_a_drop_is_the_margin_that_the_score_test_rules_out():
    upper = paired_score_upper(5, 2, 50, 0.01)
    assert paired_score_p(5, 2, 50, upper) == pytest.approx(0.01, rel=1e-6)
    assert 0.06 < upper < 0.25


@pytest.mark.parametrize(("n", "margin"), [(20, 0.05), (50, 0.05), (50, 0.1)])
@pytest.mark.parametrize("gain", [0.01, 0.05, 0.2])
def test_the_upper_end_of_a_drop_is_below_the_true_one_in_one_run_of_a_hundred(
    n, margin, gain
):
    missed = 0.0
    for losses in range(n + 1):
        for gains in range(n + 1 - losses):
            counts = [losses, gains, n - losses - gains]
            chance = oracle.multinomial.pmf(
                counts, n, [margin + gain, gain, 1 - margin - 2 * gain]
            )
            if chance > 1e-8 and paired_score_p(losses, gains, n, margin) < 0.01:
                missed += chance
    assert missed <= 0.0105


@pytest.mark.parametrize("passed", [5e-324, 1e-17, 1e-300])
def test_a_sum_of_rewards_that_rounds_to_nothing_has_the_interval_of_none(passed):
    assert exact_interval(passed, 2) == exact_interval(0, 2)


@pytest.mark.parametrize("margin", [-0.1, 0.0])
def test_a_drop_of_less_than_nothing_is_certain(margin):
    assert paired_score_p(3, 1, 50, margin) == 1


@pytest.mark.parametrize("margin", [1.0, 1.5])
def test_a_drop_of_everything_or_more_is_impossible(margin):
    assert paired_score_p(3, 1, 50, margin) == 0


@pytest.mark.parametrize("n", [10, 1_100])
@pytest.mark.parametrize(("m", "k"), [(1, 5), (2, 5), (4, 5), (5, 5), (2, 3)])
def test_m_of_k_rollouts_pass_as_often_as_the_hypergeometric_says(n, m, k):
    passed = [0, 1, 4, n // 2, n - 1, n]
    expected = [oracle.hypergeom(n, count, k).sf(m - 1) for count in passed]
    sizes = np.full(len(passed), n)
    assert pass_m_of_n(sizes, passed, m, k) == pytest.approx(expected, rel=1e-9)


def test_the_score_test_is_tangos():
    """The restricted estimate by the likelihood, and the score by hand."""
    losses, gains, n, margin = 7, 3, 60, 0.2

    def log_likelihood(gain):
        rest = 1 - 2 * gain - margin
        return (
            losses * math.log(gain + margin)
            + gains * math.log(gain)
            + (n - losses - gains) * math.log(rest)
        )

    grid = np.linspace(1e-6, (1 - margin) / 2 - 1e-6, 400_001)
    gain = grid[np.argmax([log_likelihood(value) for value in grid[::40]]) * 40]
    variance = n * (2 * gain + margin - margin**2)
    z = (n * margin - losses + gains) / math.sqrt(variance)
    expected = oracle.norm.sf(z)
    assert paired_score_p(losses, gains, n, margin) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_newcombes_limit_is_of_wilsons_intervals(level):
    _, most = oracle.binomtest(56, 70).proportion_ci(level, "wilson")
    least, _ = oracle.binomtest(48, 80).proportion_ci(level, "wilson")
    expected = 0.8 - 0.6 + math.hypot(most - 0.8, 0.6 - least)
    assert newcombe_upper((56, 70), (48, 80), level) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("passed", "n"), [(0.5, 10), (9.5, 10), (2.25, 7), (999.5, 1_000)]
)
def test_a_fraction_of_passes_has_the_interval_of_the_beta_distribution(passed, n):
    low, high = exact_interval(passed, n, 0.9)
    assert low == pytest.approx(oracle.beta.ppf(0.05, passed, n - passed + 1))
    assert high == pytest.approx(oracle.beta.ppf(0.95, passed + 1, n - passed))


def test_quantiles_are_linear_between_order_statistics():
    values = [3.0, 1.0, 2.0, 10.0]
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert quantile7(values, share) == np.quantile(values, share)
