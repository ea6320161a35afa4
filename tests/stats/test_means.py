"""Against statsmodels' robust regressions on a constant, which are the same formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle
from statsmodels.regression.linear_model import OLS, WLS

from pytest_evalmetrics.stats import StatsError, means

RNG = np.random.default_rng(20)
X = RNG.normal(0.4, 0.3, 60)
GROUPS = RNG.integers(0, 11, 60)
values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def test_the_standard_error_and_interval_of_a_mean() -> None:
    assert means.mean(X) == pytest.approx(np.mean(X), rel=1e-13)
    assert means.se_clt(X) == pytest.approx(oracle.sem(X), rel=1e-12)
    low, high = oracle.t.interval(0.9, 59, np.mean(X), oracle.sem(X))
    assert means.t_interval(X, 0.9) == pytest.approx((low, high), rel=1e-11)


@pytest.mark.parametrize("finite", [True, False])
def test_clustered_against_cluster_robust_regression(finite: bool) -> None:
    fit = OLS(X, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": GROUPS, "use_correction": finite}
    )
    assert means.clustered_se(X, GROUPS, finite=finite) == pytest.approx(fit.bse[0], rel=1e-12)


def satterthwaite(sizes: list[int], icc: float) -> float:
    """The degrees of freedom of CR2 by matrices: Imbens and Kolesar 2016, equation 14."""
    n, codes = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    residual_maker = np.eye(n) - np.ones((n, n)) / n
    omega = np.where(codes[:, None] == codes, icc, 0.0) + np.eye(n) * (1 - icc)
    rows = []
    for cluster in range(len(sizes)):
        mine = codes == cluster
        values, vectors = np.linalg.eigh(residual_maker[np.ix_(mine, mine)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        rows.append(np.ones(mine.sum()) @ root @ residual_maker[mine] / n)
    g = np.array(rows)
    roots = np.linalg.eigvalsh(g @ omega @ g.T)
    return float(roots.sum() ** 2 / (roots**2).sum())


@pytest.mark.parametrize("sizes", [[5, 3, 8], [100, 10, 10, 10, 10], [4] * 10, [231, 75, 44, 3]])
def test_clusters_of_unequal_size_leave_fewer_degrees_of_freedom(sizes: list[int]) -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=len(codes)) + rng.normal(size=len(sizes))[codes]
    rest = x - x.mean()
    sums = np.bincount(codes, weights=rest)
    icc = (sums @ sums - rest @ rest) / sum(m * (m - 1) for m in sizes) / x.var(ddof=1)
    found = means.mean_se(x, codes)
    assert found.df == pytest.approx(satterthwaite(sizes, min(max(icc, 0), 1)), rel=1e-9)
    assert found.df <= len(sizes) - 1 + 1e-9
    half = oracle.t.ppf(0.975, found.df) * found.se
    low, high = means.clustered_t_interval(x, codes)
    assert (low, high) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-9)


@given(values)
def test_clusters_of_one_task_are_no_clusters(x: list[float]) -> None:
    clustered = means.clustered_se(x, range(len(x)))
    assert clustered == pytest.approx(means.se_clt(x), rel=1e-9, abs=1e-9)


@given(values, st.integers(2, 4))
def test_rollouts_copied_within_a_cluster_add_nothing(x: list[float], times: int) -> None:
    clustered = means.clustered_se(np.repeat(x, times), np.repeat(np.arange(len(x)), times))
    assert clustered == pytest.approx(means.se_clt(x), rel=1e-9, abs=1e-9)


def test_clusters_may_be_named_by_anything_hashable() -> None:
    named = [("repo", int(g)) for g in GROUPS]
    assert means.clustered_se(X, named) == means.clustered_se(X, GROUPS)
    assert means.clustered_se(X, np.array([f"g{g}" for g in GROUPS])) == pytest.approx(
        means.clustered_se(X, GROUPS), rel=1e-12
    )


@pytest.mark.parametrize("clustered", [False, True])
def test_a_pooled_mean_against_weighted_regression(clustered: bool) -> None:
    counts = RNG.integers(1, 9, 60)
    sums = RNG.binomial(counts, 0.3).astype(float)
    fit = WLS(sums / counts, np.ones(60), weights=counts).fit(
        cov_type="cluster", cov_kwds={"groups": GROUPS if clustered else np.arange(60)}
    )
    found = means.ratio_mean(sums, counts, GROUPS if clustered else None)
    assert found.mean == pytest.approx(sums.sum() / counts.sum(), rel=1e-13)
    assert found.se == pytest.approx(fit.bse[0], rel=1e-12)
    assert found.units == (len(set(GROUPS)) if clustered else 60)


def test_a_pooled_mean_of_equal_counts_is_the_mean() -> None:
    found = means.ratio_mean(4 * X, np.full(60, 4))
    assert found == pytest.approx(means.mean_se(X), rel=1e-12)


def test_what_can_not_be_told_is_nan() -> None:
    assert math.isnan(means.mean([]))
    assert math.isnan(means.se_clt([0.5]))
    assert math.isnan(means.clustered_se([], []))
    assert math.isnan(means.mean_se([1, 0, 1], ["a", "a", "a"]).se)
    assert math.isnan(means.ratio_mean([], []).mean)
    assert math.isnan(means.ratio_mean([1], [2]).se)
    for bounds in (
        means.t_interval([0.5]),
        means.t_interval([1.0] * 40),
        means.clustered_t_interval([1, 0, 1], ["a", "a", "a"]),
    ):
        assert math.isnan(bounds.low)
        assert math.isnan(bounds.high)


def test_rounding_is_no_spread() -> None:
    # 0.9 - 0.6 in two ways: they differ in the last digit
    x = [0.9 - 0.6, 0.8 - 0.5, 0.7 - 0.4, 0.3]
    assert len(set(x)) > 1
    assert means.se_clt(x) == 0
    assert means.clustered_se([0.5, -0.1, -0.1, 0.5, 0.3, 0.1], [0, 0, 1, 1, 2, 2]) == 0
    assert means.ratio_mean([0.1 * 3, 0.3, 0.6], [1, 1, 2]).se == 0


def test_small_formulas() -> None:
    assert means.se_bernoulli(0.25, 75) == 0.05
    assert means.design_effect(50, 0.04) == pytest.approx(2.96)
    assert means.z_interval(1, 2, 0.9) == pytest.approx(oracle.norm.interval(0.9, 1, 2))


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: means.mean([1, math.nan]),
        lambda: means.se_bernoulli(1.5, 10),
        lambda: means.se_bernoulli(0.5, 0),
        lambda: means.t_interval([1, 2], 95),
        lambda: means.z_interval(0, 1, 0),
        lambda: means.clustered_se([1, 2], [0]),
        lambda: means.ratio_mean([1, 2], [1]),
        lambda: means.ratio_mean([1, 2], [1, -1]),
    ):
        with pytest.raises(StatsError):
            call()
