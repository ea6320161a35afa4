"""Against the noncentral t, simulated rollouts, and the formulas' inverses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.stats import (
    StatsError,
    VarianceComponents,
    clopper_pearson,
    mde,
    mde_from_se,
    required_n,
    variance_components,
    variance_ratio_uniform,
    zero_flip_bound,
)


@pytest.mark.parametrize("side", ["greater", "two-sided"])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("df", [9, 49, 199, 4_999])
def test_the_detectable_difference_is_detected(df: int, alpha: float, side: str) -> None:
    found = mde_from_se(1.0, df, alpha=alpha, alternative=side)
    critical = oracle.t.isf(alpha if side == "greater" else alpha / 2, df)
    assert oracle.nct.sf(critical, df, found) == pytest.approx(0.8, abs=0.02)
    assert mde_from_se(0.25, df, alpha=alpha, alternative=side) == pytest.approx(found / 4)


def test_without_a_standard_error_nothing_is_known() -> None:
    assert math.isnan(mde_from_se(math.nan, 5))
    assert math.isnan(mde_from_se(0.1, 0))


@given(st.floats(0.001, 0.5), st.floats(0.01, 1), st.floats(0, 1), st.integers(1, 64))
def test_tasks_needed_invert_the_detectable_difference(
    delta: float, omega2: float, s2: float, k: int
) -> None:
    n = required_n(delta, omega2, s2, s2, ka=k, kb=k)
    assert mde(n, omega2, s2, s2, ka=k, kb=k) <= delta * (1 + 1e-12)
    if n > 1:
        assert mde(n - 1, omega2, s2, s2, ka=k, kb=k) >= delta * (1 - 1e-12)


def test_one_sided_and_infinite_degrees_of_freedom() -> None:
    expected = (oracle.norm.isf(0.01) + oracle.norm.ppf(0.9)) * math.sqrt(0.5 / 200)
    assert mde(200, 0.5, alpha=0.01, power=0.9, alternative="greater") == pytest.approx(expected)
    assert mde_from_se(math.sqrt(0.5 / 200), power=0.9) == pytest.approx(expected)


def test_components_are_found_again() -> None:
    rng = np.random.default_rng(1)
    n, k_b, k_c = 20_000, 4, 3
    drop = rng.normal(0.1, 0.2, n)
    before = rng.normal(0.0, 0.5, (n, k_b))
    after = rng.normal(0.0, 0.3, (n, k_c)) - drop[:, None]
    d = before.mean(1) - after.mean(1)
    found = variance_components(d, before.var(1, ddof=1), k_b, after.var(1, ddof=1), k_c)
    assert found.omega2 == pytest.approx(0.04, rel=0.08)
    assert found.sigma2_b == pytest.approx(0.25, rel=0.03)
    assert found.sigma2_c == pytest.approx(0.09, rel=0.03)
    # the same rollouts again: what was measured
    se = d.std(ddof=1) / math.sqrt(n)
    assert found.se(k_b, k_c) == pytest.approx(se, rel=1e-12)
    assert found.mde(k_b, k_c) == pytest.approx(mde_from_se(se, n - 1), rel=1e-12)
    assert found.mde(16, 16) < found.mde(4, 4) < found.mde(1, 1)


def test_unequal_rollouts_use_what_is_known() -> None:
    d = [0.5, -0.5, 0.25, 0.0]
    found = variance_components(d, [0.2, math.nan, 0.4, 0.3], [2, 1, 4, 2], [0.1] * 4, 2)
    assert found.sigma2_b == pytest.approx(0.3)
    noise = 0.3 * (1 / 2 + 1 + 1 / 4 + 1 / 2) / 4 + 0.1 / 2
    assert found.omega2 == max(0.0, np.var(d, ddof=1) - noise)


def test_a_variance_is_never_under_zero() -> None:
    found = variance_components([0.1, -0.1, 0.0], [0.25] * 3, 2, [0.25] * 3, 2)
    assert found == VarianceComponents(0.0, 0.25, 0.25, 3)


def test_one_rollout_tells_nothing_of_the_components() -> None:
    found = variance_components([0.1, 1.0], [math.nan] * 2, 1, [0.25] * 2, 2)
    assert math.isnan(found.omega2)
    assert math.isnan(found.mde(4, 4))


def test_the_uniform_ratio_against_simulation() -> None:
    p = np.random.default_rng(2).random(200_000)
    draws = np.random.default_rng(3).binomial(6, p) / 6
    once = np.random.default_rng(4).binomial(1, p)
    assert draws.var() / once.var() == pytest.approx(variance_ratio_uniform(6), rel=0.01)
    assert variance_ratio_uniform(1) == 1


@pytest.mark.parametrize("n", [1, 20, 10_000])
def test_no_flips_still_have_an_upper_bound(n: int) -> None:
    bound = zero_flip_bound(n, 0.05)
    assert bound == pytest.approx(clopper_pearson(0, n, 0.95, "less").high, rel=1e-9)
    assert (1 - bound) ** n == pytest.approx(0.05, rel=1e-9)


def test_no_tasks_have_no_bound() -> None:
    assert zero_flip_bound(0) == 1


def test_wrong_arguments_are_refused() -> None:
    components = VarianceComponents(0.1, 0.1, 0.1, 10)
    for call in (
        lambda: mde(0, 0.1),
        lambda: mde(10, -0.1),
        lambda: mde(10, 0.1, 0.1, ka=0),
        lambda: mde(10, 0.1, alpha=5),
        lambda: mde(10, 0.1, power=80),
        lambda: mde_from_se(0.1, power=1),
        lambda: mde_from_se(0.1, alternative="up"),
        lambda: required_n(0, 0.1),
        lambda: required_n(math.nan, 0.1),
        lambda: variance_ratio_uniform(0),
        lambda: zero_flip_bound(10, 0),
        lambda: components.mde(0, 4),
        lambda: variance_components([0.1, 0.2], [0.1], 2, [0.1, 0.1], 2),
        lambda: variance_components([0.1, 0.2], [0.1, 0.1], 0, [0.1, 0.1], 2),
    ):
        with pytest.raises(StatsError):
            call()
