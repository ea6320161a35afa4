from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.stats.contingency_tables import mcnemar

from pytest_evalmetrics.stats import StatsError, mcnemar_chi2, mcnemar_exact, mcnemar_power

flips = st.integers(0, 60)
SIDES = ["two-sided", "greater", "less"]


@given(flips, flips)
def test_exact_against_the_binomial_test(b: int, c: int) -> None:
    for side in SIDES:
        theirs = oracle.binomtest(b, b + c, 0.5, side).pvalue if b + c else 1.0
        assert mcnemar_exact(b, c, alternative=side).p == pytest.approx(theirs, rel=1e-10)


@given(flips, flips)
def test_mid_p_takes_half_of_what_was_seen(b: int, c: int) -> None:
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
def test_chi_squared_against_statsmodels(pair: tuple[int, int], correction: bool) -> None:
    b, c = pair
    theirs = mcnemar([[0, b], [c, 0]], exact=False, correction=correction)
    found = mcnemar_chi2(b, c, correction=correction)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_balanced_flips_are_no_evidence() -> None:
    for b in (0, 1, 40):
        assert mcnemar_chi2(b, b).p == 1
        assert mcnemar_exact(b, b).p == 1


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_power_against_enumeration(alpha: float, side: str) -> None:
    n, gain, loss = 12, 0.35, 0.1
    expected = 0.0
    for b, c in itertools.product(range(n + 1), repeat=2):
        if 0 < b + c <= n and oracle.binomtest(b, b + c, 0.5, side).pvalue <= alpha:
            chances = [gain, loss, 1 - gain - loss]
            expected += oracle.multinomial.pmf([b, c, n - b - c], n, chances)
    found = mcnemar_power(n, gain, loss, alpha=alpha, alternative=side)
    assert found == pytest.approx(expected, rel=1e-9)


def test_power_at_the_edges() -> None:
    assert mcnemar_power(100, 0, 0) == 0
    assert mcnemar_power(0, 0.2, 0.1) == 0
    assert mcnemar_power(2_000, 0.5, 0.0) == pytest.approx(1)
    assert mcnemar_power(1_000, 0.1, 0.1) == pytest.approx(0.05, abs=0.01)


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: mcnemar_exact(-1, 2),
        lambda: mcnemar_exact(1.5, 2),
        lambda: mcnemar_exact(1, 2, alternative="more"),
        lambda: mcnemar_chi2(1, math.nan),
        lambda: mcnemar_power(10, 0.8, 0.3),
        lambda: mcnemar_power(10, -0.1, 0.3),
        lambda: mcnemar_power(10, 0.1, 0.3, alpha=0),
    ):
        with pytest.raises(StatsError):
            call()
