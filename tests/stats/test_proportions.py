"""Shares against scipy, statsmodels, every draw of k rollouts, and exact fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as oracle
from statsmodels.stats.contingency_tables import mcnemar

from pytest_evalmetrics.stats import max_at_k, pass_m_of_n, wilson, zero_flip_bound
from pytest_evalmetrics.stats.textbook import (
    beta_interval,
    clopper_pearson,
    mcnemar_chi2,
    mcnemar_exact,
    mcnemar_power,
)

SHARES = [(0, 1), (0, 12), (3, 10), (10, 10), (20, 100), (199, 200), (7, 100_000), (500_000, 10**6)]
SIDES = ["two-sided", "greater"]
shares = st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("share", SHARES)
def test_intervals_against_scipy(share):
    both = ((wilson, "wilson"), (clopper_pearson, "exact"))
    for level, (ours, method) in itertools.product([0.8, 0.95, 0.99], both):
        theirs = oracle.binomtest(*share).proportion_ci(level, method)
        found = ours(*share, level)
        assert found == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", [*SHARES, (0, 0), (2.5, 7), (0.2, 3.6)])
def test_the_beta_interval_holds_the_middle_of_the_posterior(share):
    k, n = share
    low, high = beta_interval(k, n, 0.9)
    assert special.betainc(1 + k, 1 + n - k, low) == pytest.approx(0.05, rel=1e-7)
    assert special.betaincc(1 + k, 1 + n - k, high) == pytest.approx(0.05, rel=1e-7)


@given(shares, st.floats(0.01, 0.999))
def test_wilson_lies_around_the_share_and_mirrors_failures(share, level):
    k, n = share
    low, high = wilson(k, n, level)
    assert 0 <= low <= k / n <= high <= 1
    assert low < high
    mirrored = wilson(n - k, n, level)
    assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-12)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.floats(0, n - 0.01), st.just(n))))
def test_wilson_grows_with_the_successes(share):
    k, n = share
    less, more = wilson(k, n), wilson(k + 0.01, n)
    assert less.low <= more.low
    assert less.high <= more.high


@given(shares)
def test_at_the_ends_of_the_exact_interval_the_share_has_its_tail(share):
    k, n = share
    low, high = clopper_pearson(k, n)
    if k:
        assert oracle.binom.sf(k - 1, n, low) == pytest.approx(0.025, rel=1e-7)
    if k < n:
        assert oracle.binom.cdf(k, n, high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize("n", [1, 20, 10_000])
def test_no_flips_still_have_an_upper_bound(n):
    bound = zero_flip_bound(n, 0.05)
    assert bound == pytest.approx(clopper_pearson(0, n, 0.9).high, rel=1e-9)
    assert (1 - bound) ** n == pytest.approx(0.05, rel=1e-9)
    for flips in (0.25, 1, n - 0.5, n):
        high = oracle.beta.ppf(0.95, flips + 1, n - flips) if flips < n else 1.0
        assert zero_flip_bound(n, 0.05, flips) == pytest.approx(high, rel=1e-9)


flips = st.integers(0, 60)


@given(flips, flips)
def test_exact_against_the_binomial_test(b, c):
    for side in SIDES:
        theirs = oracle.binomtest(b, b + c, 0.5, side).pvalue if b + c else 1.0
        assert mcnemar_exact(b, c, alternative=side) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("pair", [(121, 59), (80, 59), (3, 0), (0, 1)])
def test_chi_squared_against_statsmodels(pair, correction):
    b, c = pair
    theirs = mcnemar([[0, b], [c, 0]], exact=False, correction=correction)
    found = mcnemar_chi2(b, c, correction=correction)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_power_against_enumeration(alpha):
    n, gain, loss = 12, 0.35, 0.1
    expected = 0.0
    for b, c in itertools.product(range(n + 1), repeat=2):
        if 0 < b + c <= n and oracle.binomtest(b, b + c).pvalue <= alpha:
            chances = [gain, loss, 1 - gain - loss]
            expected += oracle.multinomial.pmf([b, c, n - b - c], n, chances)
    found = mcnemar_power(n, gain, loss, alpha=alpha)
    assert found == pytest.approx(expected, rel=1e-9)


def test_power_at_the_edges():
    assert mcnemar_power(100, 0, 0) == 0
    assert mcnemar_power(0, 0.2, 0.1) == 0
    assert mcnemar_power(300, 0.5, 0.0) == pytest.approx(1)
    assert mcnemar_power(400, 0.1, 0.1) == pytest.approx(0.05, abs=0.015)


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
        assert pass_at_k(n, c, k) == pytest.approx(float(exact_pass_at(n, c, k)), rel=1e-11)
        all_pass = float(1 - exact_pass_at(n, n - c, k))
        assert pass_hat_k(n, c, k) == pytest.approx(all_pass, rel=1e-9, abs=1e-300)


@given(counts)
def test_correctly_rounded_and_more_attempts_and_more_passes_help(count):
    n, c, k = count
    here, all_pass = pass_at_k(n, c, k), pass_hat_k(n, c, k)
    assert here == float(exact_pass_at(n, c, k))
    assert all_pass == float(1 - exact_pass_at(n, n - c, k))
    assert max_at_k(np.array([[1.0] * c + [0.0] * (n - c)]), k) == pytest.approx([here], rel=1e-12)
    assert 0 <= all_pass <= c / n <= here <= 1
    if k < n:
        assert pass_at_k(n, c, k + 1) >= here
        assert pass_hat_k(n, c, k + 1) <= all_pass
    if c < n:
        assert pass_at_k(n, c + 1, k) >= here
        assert pass_hat_k(n, c + 1, k) >= all_pass


def test_many_different_counts_are_sorted_instead():
    n = np.array([5_000_000, 6, 5_000_000])
    assert pass_at_k(n, [1, 3, 5_000_000], 2) == pytest.approx([4e-7, 0.8, 1], rel=1e-9)


def test_max_at_k_over_tasks_and_fewer_than_k():
    rewards = np.array([[1.0, 2.0], [4.0, 3.0], [math.nan, 0.0]])
    assert max_at_k(rewards, 2) == pytest.approx([2, 4, math.nan], nan_ok=True)
    assert np.isnan(max_at_k(rewards, 3)).all()
    assert np.isnan([pass_at_k(2, 2, 3), pass_hat_k(0, 0, 1)]).all()
