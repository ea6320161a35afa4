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

from pytest_evalmetrics.stats import (
    StatsError,
    beta_interval,
    binom_p,
    clopper_pearson,
    max_at_k,
    mcnemar_chi2,
    mcnemar_exact,
    mcnemar_power,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
    wilson,
    zero_flip_bound,
)

SHARES = [(0, 1), (0, 12), (3, 10), (10, 10), (20, 100), (199, 200), (7, 100_000), (500_000, 10**6)]
SIDES = ["two-sided", "greater", "less"]
shares = st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("share", SHARES)
def test_intervals_against_scipy(share, side):
    test = oracle.binomtest(*share, alternative=side)
    both = ((wilson, "wilson"), (clopper_pearson, "exact"))
    for level, (ours, method) in itertools.product([0.8, 0.95, 0.99], both):
        theirs = test.proportion_ci(level, method)
        found = ours(*share, level, side)
        assert found == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", [*SHARES, (0, 0), (2.5, 7), (0.2, 3.6)])
def test_the_beta_interval_holds_the_middle_of_the_posterior(share):
    k, n = share
    low, high = beta_interval(k, n, 0.9)
    assert special.betainc(1 + k, 1 + n - k, low) == pytest.approx(0.05, rel=1e-7)
    assert special.betaincc(1 + k, 1 + n - k, high) == pytest.approx(0.05, rel=1e-7)
    assert beta_interval(k, n, 0.9, "greater") == (pytest.approx(beta_interval(k, n, 0.8)[0]), 1)
    assert beta_interval(k, n, 0.9, "less") == (0, pytest.approx(beta_interval(k, n, 0.8)[1]))


@given(shares, st.floats(0.01, 0.999))
def test_wilson_stays_within_the_unit_interval_and_around_the_share(share, level):
    low, high = wilson(*share, level)
    assert 0 <= low <= share[0] / share[1] <= high <= 1
    assert low < high


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.floats(0, n - 0.01), st.just(n))))
def test_wilson_grows_with_the_successes(share):
    k, n = share
    more = wilson(k + 0.01, n)
    less = wilson(k, n)
    assert less.low <= more.low
    assert less.high <= more.high


@given(shares)
def test_wilson_mirrors_failures(share):
    k, n = share
    low, high = wilson(n - k, n)
    assert wilson(k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(shares)
def test_at_the_ends_of_the_exact_interval_the_share_has_its_tail(share):
    k, n = share
    low, high = clopper_pearson(k, n)
    if k:
        assert oracle.binom.sf(k - 1, n, low) == pytest.approx(0.025, rel=1e-7)
    if k < n:
        assert oracle.binom.cdf(k, n, high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("share", [*SHARES[:-1], (3, 15), (7, 14), (9, 14)])
def test_the_binomial_test_against_scipy(share, side):
    for p in (1e-4, 0.1, 0.5, 0.75, 1.0):
        theirs = oracle.binomtest(*share, p, side).pvalue
        assert binom_p(*share, p, side) == pytest.approx(theirs, rel=1e-9, abs=1e-300)


def test_nothing_tried_tells_nothing():
    for interval in (wilson, clopper_pearson):
        assert all(math.isnan(end) for end in interval(0, 0))


@pytest.mark.parametrize("n", [1, 20, 10_000])
def test_no_flips_still_have_an_upper_bound(n):
    bound = zero_flip_bound(n, 0.05)
    assert bound == pytest.approx(clopper_pearson(0, n, 0.95, "less").high, rel=1e-9)
    assert (1 - bound) ** n == pytest.approx(0.05, rel=1e-9)
    assert zero_flip_bound(0) == 1


flips = st.integers(0, 60)


@given(flips, flips)
def test_exact_against_the_binomial_test(b, c):
    for side in SIDES:
        theirs = oracle.binomtest(b, b + c, 0.5, side).pvalue if b + c else 1.0
        assert mcnemar_exact(b, c, alternative=side).p == pytest.approx(theirs, rel=1e-10)


@given(flips, flips)
def test_mid_p_takes_half_of_what_was_seen(b, c):
    n = b + c
    chance = [math.comb(n, i) / 2**n for i in range(n + 1)]
    more = mcnemar_exact(b, c, alternative="greater").mid_p
    assert more == pytest.approx(sum(chance[b + 1 :]) + chance[b] / 2, rel=1e-10)
    gap = abs(b - c)
    beyond = sum(x for i, x in enumerate(chance) if abs(2 * i - n) > gap)
    at = sum(x for i, x in enumerate(chance) if abs(2 * i - n) == gap)
    assert mcnemar_exact(b, c).mid_p == pytest.approx(beyond + at / 2, rel=1e-10)


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("pair", [(121, 59), (80, 59), (3, 0), (0, 1)])
def test_chi_squared_against_statsmodels(pair, correction):
    b, c = pair
    theirs = mcnemar([[0, b], [c, 0]], exact=False, correction=correction)
    found = mcnemar_chi2(b, c, correction=correction)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_power_against_enumeration(alpha, side):
    n, gain, loss = 12, 0.35, 0.1
    expected = 0.0
    for b, c in itertools.product(range(n + 1), repeat=2):
        if 0 < b + c <= n and oracle.binomtest(b, b + c, 0.5, side).pvalue <= alpha:
            chances = [gain, loss, 1 - gain - loss]
            expected += oracle.multinomial.pmf([b, c, n - b - c], n, chances)
    found = mcnemar_power(n, gain, loss, alpha=alpha, alternative=side)
    assert found == pytest.approx(expected, rel=1e-9)


def test_power_at_the_edges():
    assert mcnemar_power(100, 0, 0) == 0
    assert mcnemar_power(0, 0.2, 0.1) == 0
    assert mcnemar_power(300, 0.5, 0.0) == pytest.approx(1)
    assert mcnemar_power(400, 0.1, 0.1) == pytest.approx(0.05, abs=0.015)


counts = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


def exact_pass_at(n, c, k):
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@pytest.mark.parametrize(("n", "c", "k"), [(6, 3, 2), (6, 3, 3), (5, 1, 4), (7, 5, 1), (7, 7, 7)])
def test_against_every_draw(n, c, k):
    draws = list(itertools.combinations([1] * c + [0] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([max(draw) for draw in draws]), abs=1e-15)
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([min(draw) for draw in draws]), abs=1e-15)


@given(counts)
def test_correctly_rounded(count):
    n, c, k = count
    assert pass_at_k(n, c, k) == float(exact_pass_at(n, c, k))
    assert pass_hat_k(n, c, k) == float(1 - exact_pass_at(n, n - c, k))


@pytest.mark.parametrize("n", [1_025, 10_000])
@pytest.mark.parametrize("k", [1, 2, 25, 1_000])
def test_large_n(n, k):
    for c in (0, 1, 37, 990, 1_000, 1_024):
        assert pass_at_k(n, c, k) == pytest.approx(float(exact_pass_at(n, c, k)), rel=1e-11)
        all_pass = float(1 - exact_pass_at(n, n - c, k))
        assert pass_hat_k(n, c, k) == pytest.approx(all_pass, rel=1e-9, abs=1e-300)


@given(counts)
def test_more_attempts_and_more_passes_help(count):
    n, c, k = count
    here = pass_at_k(n, c, k)
    assert 0 <= pass_hat_k(n, c, k) <= c / n <= here <= 1
    if k < n:
        assert pass_at_k(n, c, k + 1) >= here
        assert pass_hat_k(n, c, k + 1) <= pass_hat_k(n, c, k)
    if c < n:
        assert pass_at_k(n, c + 1, k) >= here
        assert pass_hat_k(n, c + 1, k) >= pass_hat_k(n, c, k)


def test_many_different_counts_are_sorted_instead():
    n = np.array([5_000_000, 6, 5_000_000])
    assert pass_at_k(n, [1, 3, 5_000_000], 2) == pytest.approx([4e-7, 0.8, 1], rel=1e-9)


def test_fewer_than_k_is_undefined():
    assert math.isnan(pass_at_k(2, 2, 3))
    assert math.isnan(pass_hat_k(0, 0, 1))
    assert math.isnan(mean_pass_hat_k([4, 2], [4, 2], 3))
    assert math.isnan(mean_pass_hat_k(4, [], 3))


@pytest.mark.parametrize("rewards", [[0.1, 0.9, 0.4, 0.4, -2], [1, 0, 0], [3.5]])
def test_max_at_k_against_every_draw(rewards):
    for k in range(1, len(rewards) + 1):
        best = np.mean([max(draw) for draw in itertools.combinations(rewards, k)])
        assert max_at_k(rewards, k) == pytest.approx(best, rel=1e-12)


@given(counts)
def test_max_at_k_of_zeros_and_ones_is_pass_at_k(count):
    n, c, k = count
    assert max_at_k([1] * c + [0] * (n - c), k) == pytest.approx(pass_at_k(n, c, k), rel=1e-12)


def test_max_at_k_over_tasks():
    rewards = np.array([[1.0, 2.0], [4.0, 3.0], [math.nan, 0.0]])
    assert max_at_k(rewards, 2) == pytest.approx([2, 4, math.nan], nan_ok=True)
    assert np.isnan(max_at_k(rewards, 3)).all()


def test_wrong_arguments_are_refused():
    for call in (
        lambda: wilson(11, 10),
        lambda: wilson(-1, 10),
        lambda: wilson(math.nan, 10),
        lambda: wilson(1, math.inf),
        lambda: wilson(1, 10, 95),
        lambda: wilson(1, 10, alternative="up"),
        lambda: clopper_pearson(1.5, 10),
        lambda: beta_interval(3, 2),
        lambda: binom_p(3, 2),
        lambda: zero_flip_bound(10, 0),
        lambda: mcnemar_exact(-1, 2),
        lambda: mcnemar_exact(1.5, 2),
        lambda: mcnemar_exact(1, 2, alternative="more"),
        lambda: mcnemar_chi2(1, math.nan),
        lambda: mcnemar_power(10, 0.8, 0.3),
        lambda: mcnemar_power(10, -0.1, 0.3),
        lambda: mcnemar_power(10, 0.1, 0.3, alpha=0),
        lambda: pass_at_k(4, 5, 1),
        lambda: pass_at_k([4, 4], [1, 5], 1),
        lambda: pass_at_k(4, 0.5, 1),
        lambda: pass_at_k(4, math.nan, 1),
        lambda: pass_at_k(-1, -2, 1),
        lambda: pass_at_k(4, 2, 0),
        lambda: pass_at_k(4, 2, 1.5),
        lambda: pass_at_k("4", 2, 1),
        lambda: max_at_k(0.5, 1),
        lambda: max_at_k([0.5], 0),
    ):
        with pytest.raises(StatsError):
            call()
