"""Against scipy's t tests, statsmodels' robust regressions, and the noncentral t."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import astuple
from scipy import stats as oracle
from stats import textbook
from statsmodels.regression.linear_model import OLS, WLS

from pytest_evalmetrics import stats as means
from pytest_evalmetrics.stats import (
    mde_factor,
    mean_test,
    paired_differences,
    paired_t,
    winsorised_t,
)

RNG = np.random.default_rng(20)
X = RNG.normal(0.4, 0.3, 60)
GROUPS = RNG.integers(0, 11, 60)
values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def test_the_standard_error_and_interval_of_a_mean():
    assert means.mean_se(X).se == pytest.approx(oracle.sem(X), rel=1e-12)
    low, high = oracle.t.interval(0.9, 59, np.mean(X), oracle.sem(X))
    assert means.t_interval(means.mean_se(X), 0.9) == pytest.approx(
        (low, high), rel=1e-11
    )


def test_clustered_against_cluster_robust_regression():
    fit = OLS(X, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": GROUPS})
    for groups in (GROUPS, [f"g{g}" for g in GROUPS]):
        assert textbook.clustered_se(X, groups) == pytest.approx(fit.bse[0], rel=1e-12)
    # rollouts copied within a cluster add nothing, and clusters of one task are no clusters
    for x, times in ((X, 1), (X, 4), (X[:2], 1)):
        clustered = textbook.clustered_se(
            np.repeat(x, times), np.repeat(np.arange(len(x)), times)
        )
        assert clustered == pytest.approx(means.mean_se(x).se, rel=1e-9)


def cr2(x, codes, icc):
    """Standard error and degrees of freedom by matrices: Imbens and Kolesar 2016, equation 14."""
    n = len(x)
    residual_maker = np.eye(n) - np.ones((n, n)) / n
    omega = np.where(codes[:, None] == codes, icc, 0.0) + np.eye(n) * (1 - icc)
    rows = []
    for cluster in np.unique(codes):
        mine = codes == cluster
        values, vectors = np.linalg.eigh(residual_maker[np.ix_(mine, mine)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        rows.append(np.ones(mine.sum()) @ root @ residual_maker[mine] / n)
    g = np.array(rows)
    roots = np.linalg.eigvalsh(g @ omega @ g.T)
    return np.linalg.norm(g @ x), roots.sum() ** 2 / (roots**2).sum()


@pytest.mark.parametrize(
    "sizes", [[5, 3, 8], [100, 10, 10, 10, 10], [4] * 10, [231, 75, 44, 3]]
)
def test_clusters_of_unequal_size_leave_fewer_degrees_of_freedom(sizes):
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=len(codes)) + rng.normal(size=len(sizes))[codes]
    rest = x - x.mean()
    sums = np.bincount(codes, weights=rest)
    icc = (sums @ sums - rest @ rest) / sum(m * (m - 1) for m in sizes) / x.var(ddof=1)
    result = means.mean_se(x, codes)
    assert (result.se, result.df) == pytest.approx(
        cr2(x, codes, min(max(icc, 0), 1)), rel=1e-9
    )
    assert result.df <= len(sizes) - 1 + 1e-9
    half = oracle.t.ppf(0.975, result.df) * result.se
    low, high = means.t_interval(result, 0.95)
    assert (low, high) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_pooled_mean_against_weighted_regression(clustered):
    counts = RNG.integers(1, 9, 60)
    sums = RNG.binomial(counts, 0.3).astype(float)
    fit = WLS(sums / counts, np.ones(60), weights=counts).fit(
        cov_type="cluster", cov_kwds={"groups": GROUPS if clustered else np.arange(60)}
    )
    result = means.ratio_mean(sums, counts, GROUPS if clustered else None)
    assert result.mean == pytest.approx(sums.sum() / counts.sum(), rel=1e-13)
    assert result.se == pytest.approx(fit.bse[0], rel=1e-12)
    assert result.units == (len(set(GROUPS)) if clustered else 60)
    equal = means.ratio_mean(4 * X, np.full(60, 4))
    assert astuple(equal) == pytest.approx(astuple(means.mean_se(X)), rel=1e-12)


def test_undefined_estimates_are_nan():
    one, alike = means.mean_se([0.5]), means.mean_se([1.0] * 40)
    one_cluster = means.mean_se([1, 0, 1], ["a", "a", "a"])
    assert math.isnan(means.mean_se([]).mean)
    assert np.isnan(
        [means.mean_se([0.5]).se, one_cluster.se, means.ratio_mean([1], [2]).se]
    ).all()
    assert np.isnan(
        [means.t_interval(result, 0.95) for result in (one, alike, one_cluster)]
    ).all()
    for result in (
        paired_t([]),
        paired_t([0.5]),
        paired_t([0.5, 0.2], clusters=["a", "a"]),
    ):
        assert np.isnan([result.p, result.low]).all()


def test_rounding_is_no_spread():
    # 0.9 - 0.6 in two ways: they differ in the last digit
    x = [0.9 - 0.6, 0.8 - 0.5, 0.7 - 0.4, 0.3]
    assert len(set(x)) > 1
    assert means.mean_se(x).se == 0
    assert (
        textbook.clustered_se([0.5, -0.1, -0.1, 0.5, 0.3, 0.1], [0, 0, 1, 1, 2, 2]) == 0
    )
    assert means.ratio_mean([0.1 * 3, 0.3, 0.6], [1, 1, 2]).se == 0
    before = [np.mean([0.1, 0.2, 0.3]), 0.5, 1e9]
    after = [np.mean([0.3, 0.2, 0.1]), 0.25, 1e9 + 1]
    assert before[0] != after[0]
    assert paired_differences(before, after).tolist() == [0, 0.25, -1]


PAIRED = np.random.default_rng(3)
A = PAIRED.binomial(4, 0.7, 50) / 4
B = PAIRED.binomial(4, 0.6, 50) / 4
SIDES = ["two-sided", "greater"]


@pytest.mark.parametrize("side", SIDES)
def test_the_paired_t_test(side):
    result = paired_t(A - B, alternative=side, level=0.9)
    theirs = oracle.ttest_rel(A, B, alternative=side)
    assert result.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert result.p == pytest.approx(theirs.pvalue, rel=1e-10)
    assert (result.df, result.units) == (49, 50)
    ends = oracle.ttest_rel(A, B).confidence_interval(0.9)
    assert (result.low, result.high) == pytest.approx(tuple(ends), rel=1e-10)


@pytest.mark.parametrize("side", SIDES)
def test_the_clustered_test(side):
    groups = np.arange(50) // 5
    fit = OLS(A - B, np.ones(50)).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, use_t=True
    )
    result = paired_t(A - B, clusters=groups, alternative=side)
    assert result.statistic == pytest.approx(fit.tvalues[0], rel=1e-12)
    assert (result.low, result.high) == pytest.approx(
        tuple(fit.conf_int()[0]), rel=1e-9
    )
    p_of_side = {
        "two-sided": fit.pvalues[0],
        "greater": oracle.t.sf(fit.tvalues[0], 9),
    }
    assert result.p == pytest.approx(p_of_side[side], rel=1e-9)
    assert (result.df, result.units) == (pytest.approx(9), 10)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=20))
def test_the_two_sides_add_up(d):
    up, down = (paired_t(each, alternative="greater").p for each in (d, np.negative(d)))
    both = paired_t(d).p
    assert both == pytest.approx(min(1, 2 * min(up, down)), rel=1e-9)
    if paired_t(d).se > 0:
        assert up + down == pytest.approx(1, rel=1e-9)


def test_a_drop_of_every_task_alike_is_seen_in_many_tasks():
    # 200 tasks from 0.9 to 0.6: no spread, and yet no doubt
    result = paired_t(np.full(200, 0.9) - np.full(200, 0.6), alternative="greater")
    assert (result.p, result.statistic, result.se) == (0.5**200, math.inf, 0)
    assert math.isnan(result.low)
    for side, p, other in (("greater", 0.25, 1), ("two-sided", 0.5, 0.5)):
        assert paired_t([0.3, 0.3], alternative=side).p == p
        assert paired_t([-0.3, -0.3], alternative=side).p == other
        assert (
            paired_t([0.0] * 30, alternative=side).p == 1
        )  # no difference is no evidence
    assert (
        paired_t([0.5, -0.1, -0.1, 0.5], clusters=[0, 0, 1, 1], alternative="greater").p
        == 0.25
    )


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("df", [9, 49, 199, 4_999])
def test_the_detectable_difference_is_detected(df, alpha):
    critical = oracle.t.isf(alpha, df)
    assert oracle.nct.sf(critical, df, mde_factor(df, alpha)) == pytest.approx(
        0.8, abs=0.02
    )
    assert math.isnan(mde_factor(0, alpha))


# -- without outliers --------------------------------------------------------------------


def with_largest_t(values):
    """The mean and error of min(d, c) whose t is largest, over a fine grid of c."""
    ends = np.linspace(np.quantile(values, 0.1), values.max(), 20_001)
    clipped = np.minimum(values, ends[:, None])
    errors = clipped.std(axis=1, ddof=1) / np.sqrt(len(values))
    means = clipped.mean(axis=1)
    at = (means / errors).argmax()
    return means[at], errors[at]


@pytest.mark.parametrize("seed", range(8))
def test_the_winsorised_t_is_the_largest_of_all_milder_differences(seed):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0.3, 1, 40) - rng.lognormal(-1, 1, 40)
    mean, error = with_largest_t(values)
    test = winsorised_t(values)
    assert test.statistic == pytest.approx(mean / error, rel=1e-3)
    low, _ = oracle.t.interval(0.95, 39, mean, error)
    assert test.low == pytest.approx(low, rel=1e-3)


@pytest.mark.parametrize("clustered", [False, True])
def test_one_extreme_difference_does_not_hide_the_others(clustered):
    rng = np.random.default_rng(0)
    values = rng.normal(0.3, 0.5, 200)
    clusters = np.arange(200) // 2 if clustered else None
    with_hang = values.copy()
    with_hang[0] = 600.0
    assert mean_test(with_hang, clusters, 0.95).p > 0.1
    assert winsorised_t(with_hang, clusters).p < 1e-10


def test_the_mean_of_losses_is_proven_by_their_signs_where_one_hides_the_others():
    test = mean_test([*[1.0] * 29, 600.0], None, 0.95)
    assert test.name == "sign test"
    assert test.p == pytest.approx(2.0**-30)
    assert test.low == 0


@given(
    st.lists(st.floats(-10, 10), min_size=20, max_size=40),
    st.integers(0, 19),
    st.floats(0, 1e6),
)
def test_a_larger_difference_never_makes_p_larger(values, at, more):
    before = winsorised_t(values)
    assume(before.p < 0.5)
    after = winsorised_t([*values[:at], values[at] + more, *values[at + 1 :]])
    assert after.p <= before.p * (1 + 1e-6)


@pytest.mark.parametrize("sd", [0.5, 2.0])
def test_unchanged_lognormal_differences_seldom_have_a_small_p(sd):
    rng = np.random.default_rng(1)
    sides = rng.lognormal(0, sd, (2, 2_000, 30))
    red = sum(winsorised_t(d).p < 0.01 for d in sides[0] - sides[1])
    assert red <= oracle.binom(2_000, 0.013).ppf(0.999)
