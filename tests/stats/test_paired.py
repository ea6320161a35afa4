"""Against scipy's t tests, and regressions with clustered errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.regression.linear_model import OLS

from pytest_evalmetrics.stats import (
    StatsError,
    paired_differences,
    paired_t,
    se_paired_from_corr,
    welch,
)

RNG = np.random.default_rng(3)
A = RNG.binomial(4, 0.7, 50) / 4
B = RNG.binomial(4, 0.6, 50) / 4
SIDES = ["two-sided", "greater", "less"]


@pytest.mark.parametrize("side", SIDES)
def test_the_paired_t_test(side: str) -> None:
    found = paired_t(A - B, alternative=side, level=0.9)
    theirs = oracle.ttest_rel(A, B, alternative=side)
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-10)
    assert (found.df, found.n, found.units) == (49, 50, 50)
    ends = oracle.ttest_rel(A, B).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-10)


@pytest.mark.parametrize("side", SIDES)
def test_the_clustered_test(side: str) -> None:
    groups = np.arange(50) // 5
    fit = OLS(A - B, np.ones(50)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    found = paired_t(A - B, clusters=groups, alternative=side)
    assert found.statistic == pytest.approx(fit.tvalues[0], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-9)
    if side == "two-sided":
        assert found.p == pytest.approx(fit.pvalues[0], rel=1e-9)
    else:
        t = fit.tvalues[0] if side == "greater" else -fit.tvalues[0]
        assert found.p == pytest.approx(oracle.t.sf(t, 9), rel=1e-9)
    assert (found.df, found.n, found.units) == (pytest.approx(9), 50, 10)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("size", [5, 50])
def test_welch(side: str, size: int) -> None:
    found = welch(A[:size], B, alternative=side)
    theirs = oracle.ttest_ind(A[:size], B, equal_var=False, alternative=side)
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert found.df == pytest.approx(theirs.df, rel=1e-12)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-10)
    ends = oracle.ttest_ind(A[:size], B, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=20))
def test_the_two_sides_add_up(d: list[float]) -> None:
    up, down = (paired_t(d, alternative=side).p for side in ("greater", "less"))
    both = paired_t(d).p
    assert both == pytest.approx(min(1, 2 * min(up, down)), rel=1e-9)
    if paired_t(d).se > 0:
        assert up + down == pytest.approx(1, rel=1e-9)


def test_a_drop_of_every_task_alike_is_seen() -> None:
    # 200 tasks from 0.9 to 0.6: no spread, and yet no doubt
    found = paired_t(np.full(200, 0.9) - np.full(200, 0.6), alternative="greater")
    assert found.p == 0.5**200
    assert found.statistic == math.inf
    assert found.se == 0
    assert math.isnan(found.low)


def test_two_tasks_alike_are_no_proof() -> None:
    assert paired_t([0.3, 0.3], alternative="greater").p == 0.25
    assert paired_t([0.3, 0.3]).p == 0.5
    assert paired_t([0.3, 0.3], alternative="less").p == 1
    assert paired_t([-0.3, -0.3], alternative="less").p == 0.25
    assert paired_t([0.5, -0.1, -0.1, 0.5], clusters=[0, 0, 1, 1], alternative="greater").p == 0.25
    assert welch([1, 1], [0, 0], alternative="greater").p == pytest.approx(1 / 6)
    assert welch([1, 1], [0, 0]).p == pytest.approx(2 / 6)


@pytest.mark.parametrize("side", SIDES)
def test_no_difference_is_no_evidence(side: str) -> None:
    assert paired_t([0.0] * 30, alternative=side).p == 1
    assert welch([1, 1], [1, 1, 1], alternative=side).p == 1


def test_too_few_give_nan() -> None:
    for found in (
        paired_t([]),
        paired_t([0.5]),
        paired_t([0.5, 0.2], clusters=["a", "a"]),
        welch([1.0], [0.2, 0.4]),
        welch([], [0.2, 0.4]),
    ):
        assert math.isnan(found.p)
        assert math.isnan(found.low)


def test_differences_by_rounding_are_none() -> None:
    before = [np.mean([0.1, 0.2, 0.3]), 0.5, 1e9]
    after = [np.mean([0.3, 0.2, 0.1]), 0.25, 1e9 + 1]
    assert before[0] != after[0]
    assert paired_differences(before, after).tolist() == [0, 0.25, -1]


def test_the_error_of_a_difference_from_the_correlation() -> None:
    r = np.corrcoef(A, B)[0, 1]
    found = se_paired_from_corr(oracle.sem(A), oracle.sem(B), r)
    assert found == pytest.approx(oracle.sem(A - B), rel=1e-12)
    assert se_paired_from_corr(0.1, 0.1, 1) == 0


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: paired_t([0.1, math.nan]),
        lambda: paired_t([0.1, 0.2], alternative="worse"),
        lambda: paired_t([0.1, 0.2], level=95),
        lambda: paired_differences([1], [1, 2]),
        lambda: welch([1, math.inf], [1, 2]),
        lambda: se_paired_from_corr(0.1, 0.1, 2),
    ):
        with pytest.raises(StatsError):
            call()
