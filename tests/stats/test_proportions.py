"""Against scipy's binomial test and its intervals."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as oracle

from pytest_evalmetrics.stats import StatsError, beta_interval, binom_p, clopper_pearson, wilson

SHARES = [(0, 1), (0, 12), (3, 10), (10, 10), (20, 100), (199, 200), (7, 100_000), (500_000, 10**6)]
SIDES = ["two-sided", "greater", "less"]
shares = st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("share", SHARES)
def test_intervals_against_scipy(share: tuple[int, int], side: str) -> None:
    test = oracle.binomtest(*share, alternative=side)
    both = ((wilson, "wilson"), (clopper_pearson, "exact"))
    for level, (ours, method) in itertools.product([0.8, 0.95, 0.99], both):
        theirs = test.proportion_ci(level, method)
        found = ours(*share, level, side)
        assert found == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", [*SHARES, (0, 0), (2.5, 7), (0.2, 3.6)])
def test_the_beta_interval_holds_the_middle_of_the_posterior(share: tuple[float, float]) -> None:
    k, n = share
    low, high = beta_interval(k, n, 0.9)
    assert special.betainc(1 + k, 1 + n - k, low) == pytest.approx(0.05, rel=1e-7)
    assert special.betaincc(1 + k, 1 + n - k, high) == pytest.approx(0.05, rel=1e-7)
    assert beta_interval(k, n, 0.9, "greater") == (pytest.approx(beta_interval(k, n, 0.8)[0]), 1)
    assert beta_interval(k, n, 0.9, "less") == (0, pytest.approx(beta_interval(k, n, 0.8)[1]))


@given(shares, st.floats(0.01, 0.999))
def test_wilson_stays_within_the_unit_interval_and_around_the_share(
    share: tuple[int, int], level: float
) -> None:
    low, high = wilson(*share, level)
    assert 0 <= low <= share[0] / share[1] <= high <= 1
    assert low < high


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.floats(0, n - 0.01), st.just(n))))
def test_wilson_grows_with_the_successes(share: tuple[float, int]) -> None:
    k, n = share
    more = wilson(k + 0.01, n)
    less = wilson(k, n)
    assert less.low <= more.low
    assert less.high <= more.high


@given(shares)
def test_wilson_mirrors_failures(share: tuple[int, int]) -> None:
    k, n = share
    low, high = wilson(n - k, n)
    assert wilson(k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(shares)
def test_at_the_ends_of_the_exact_interval_the_share_has_its_tail(share: tuple[int, int]) -> None:
    k, n = share
    low, high = clopper_pearson(k, n)
    if k:
        assert oracle.binom.sf(k - 1, n, low) == pytest.approx(0.025, rel=1e-7)
    if k < n:
        assert oracle.binom.cdf(k, n, high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("share", [*SHARES, (3, 15), (7, 14), (9, 14)])
def test_the_binomial_test_against_scipy(share: tuple[int, int], side: str) -> None:
    for p in (1e-4, 0.1, 0.5, 0.75, 1.0):
        theirs = oracle.binomtest(*share, p, side).pvalue
        assert binom_p(*share, p, side) == pytest.approx(theirs, rel=1e-9, abs=1e-300)


def test_nothing_tried_tells_nothing() -> None:
    for interval in (wilson, clopper_pearson):
        assert all(math.isnan(end) for end in interval(0, 0))


def test_wrong_arguments_are_refused() -> None:
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
    ):
        with pytest.raises(StatsError):
            call()
