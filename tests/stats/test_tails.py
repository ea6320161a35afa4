"""Against scipy, where scipy is right; against closed forms where it is not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as oracle

from pytest_evalmetrics.stats import StatsError, tails

REL = 5e-12
DFS = [1, 1.5, 2, 3, 4, 7.3, 19, 30, 99, 1_000, 12_345.6, 1e5, 1e6]
TS = [0.01, 0.5, 1, 1.5, 1.7, 1.75, 2, 3, 5, 8, 15, 30, 100]
PS = [1e-50, 1e-12, 1e-6, 0.001, 0.005, 0.025, 0.05, 0.2, 0.25, 0.3, 0.45, 0.55, 0.8, 0.99, 0.999]
SHAPES = [
    (0.5, 0.5),
    (1, 1),
    (1, 21),
    (21, 1),
    (3.5, 2.25),
    (9, 13),
    (500, 2),
    (2e5, 3e5),
    (1, 1e6),
]


def close(value: float) -> object:
    return pytest.approx(value, rel=REL, abs=0)


@pytest.mark.parametrize("df", DFS)
def test_t_tails(df: float) -> None:
    for t in TS:
        assert tails.t_sf(t, df) == close(oracle.t.sf(t, df))
        assert tails.t_cdf(t, df) == close(oracle.t.cdf(t, df))
        assert tails.t_sf(-t, df) == close(oracle.t.sf(-t, df))


@pytest.mark.parametrize("df", DFS)
def test_t_quantiles(df: float) -> None:
    for p in PS:
        assert tails.t_ppf(p, df) == close(oracle.t.ppf(p, df))


@given(st.floats(1e-9, 1e9))
def test_t_with_one_degree_of_freedom_is_cauchy(t: float) -> None:
    # scipy loses the first digits here, near 0
    assert tails.t_sf(t, 1) == close(math.atan2(1, t) / math.pi)


def test_t_beyond_what_can_be_squared() -> None:
    assert tails.t_sf(1e200, 1) == close(1 / (math.pi * 1e200))
    assert tails.t_sf(1e200, 30) == 0.0
    assert tails.t_ppf(1e-200, 1) == close(-1 / (math.pi * 1e-200))


def test_t_at_the_edges() -> None:
    assert tails.t_sf(0, 5) == 0.5
    assert tails.t_ppf(0.5, 5) == 0.0
    assert tails.t_ppf(0, 5) == -math.inf
    assert tails.t_ppf(1, 5) == math.inf
    assert tails.t_sf(math.inf, 5) == 0.0
    assert tails.t_cdf(math.inf, 5) == 1.0
    assert math.isnan(tails.t_sf(math.nan, 5))
    assert tails.t_sf(1.5, math.inf) == tails.normal_sf(1.5)
    assert tails.t_ppf(0.975, math.inf) == tails.normal_ppf(0.975)


@given(st.floats(1e-12, 1 - 1e-12), st.floats(1, 1e6))
def test_the_t_quantile_inverts_the_distribution(p: float, df: float) -> None:
    assert tails.t_cdf(tails.t_ppf(p, df), df) == close(p)


@pytest.mark.parametrize("shape", SHAPES)
def test_beta_tails(shape: tuple[float, float]) -> None:
    a, b = shape
    mean, sd = oracle.beta.mean(a, b), oracle.beta.std(a, b)
    for z in (-8, -3, -1, -0.1, 0, 0.1, 1, 3, 8):
        x = min(max(mean + z * sd, mean / 50), 1 - (1 - mean) / 50)
        assert tails.beta_cdf(x, a, b) == close(special.betainc(a, b, x))
        assert tails.beta_sf(x, a, b) == close(special.betaincc(a, b, x))


@pytest.mark.parametrize("shape", SHAPES)
def test_beta_quantiles(shape: tuple[float, float]) -> None:
    for p in (1e-12, 0.001, 0.025, 0.3, 0.5, 0.7, 0.975, 0.999):
        assert tails.beta_ppf(p, *shape) == close(special.betaincinv(*shape, p))


@given(st.floats(1e-9, 1 - 1e-9), st.floats(1, 1e5), st.floats(1, 1e5))
def test_the_beta_quantile_inverts_the_distribution(p: float, a: float, b: float) -> None:
    x = tails.beta_ppf(p, a, b)
    # a quantile near 1 is no finer than the floats there
    grain = abs(oracle.beta.pdf(x, a, b)) * 4e-16
    assert tails.beta_cdf(x, a, b) == pytest.approx(p, rel=1e-9, abs=grain)


def test_beta_at_the_edges() -> None:
    assert [tails.beta_cdf(x, 2, 3) for x in (-1, 0, 1, 2)] == [0, 0, 1, 1]
    assert [tails.beta_ppf(p, 2, 3) for p in (0, 1)] == [0, 1]


@pytest.mark.parametrize("n", [1, 5, 20, 1_000, 10**6])
@pytest.mark.parametrize("p", [1e-6, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_binomial(n: int, p: float) -> None:
    for z in (-30, -10, -3, -1, 0, 1, 3, 10, 30):
        k = min(max(round(n * p + z * math.sqrt(n * p * (1 - p))), 0), n)
        assert tails.binom_pmf(k, n, p) == close(oracle.binom.pmf(k, n, p))
        assert tails.binom_sf(k, n, p) == close(oracle.binom.sf(k - 1, n, p))
        assert tails.binom_cdf(k, n, p) == close(oracle.binom.cdf(k, n, p))


def test_binomial_at_the_edges() -> None:
    assert tails.binom_pmf(0, 0, 0.5) == 1.0
    assert tails.binom_pmf(-1, 3, 0.5) == tails.binom_pmf(4, 3, 0.5) == 0.0
    assert [tails.binom_pmf(k, 3, p) for k, p in ((0, 0), (3, 1), (1, 0), (1, 1))] == [1, 1, 0, 0]
    assert [tails.binom_pmf(k, 3, p) for k, p in ((0, 1), (3, 0))] == [0, 0]
    assert tails.binom_sf(4, 3, 0.5) == tails.binom_cdf(-1, 3, 0.5) == 0.0


@pytest.mark.parametrize("z", [-30, -5, -1, 0, 1, 5, 30])
def test_normal(z: float) -> None:
    assert tails.normal_cdf(z) == close(oracle.norm.cdf(z))
    assert tails.normal_sf(z) == close(oracle.norm.sf(z))


@pytest.mark.parametrize("p", [1e-300, 1e-9, 0.025, 0.5, 0.8, 1 - 1e-9, 0, 1])
def test_normal_quantiles(p: float) -> None:
    assert tails.normal_ppf(p) == close(oracle.norm.ppf(p))


@pytest.mark.parametrize("x", [0, 1e-9, 0.1, 1, 3.84, 20, 700])
def test_chi_squared(x: float) -> None:
    assert tails.chi2_1_sf(x) == close(oracle.chi2.sf(x, 1))


def test_what_does_not_converge_is_no_number() -> None:
    with pytest.raises(StatsError, match="did not converge"):
        tails.beta_cdf(0.5, 1e14, 1e14)


def test_what_is_no_probability_is_refused() -> None:
    for call in (
        lambda: tails.normal_ppf(1.5),
        lambda: tails.t_ppf(math.nan, 3),
        lambda: tails.beta_ppf(-0.1, 1, 1),
        lambda: tails.binom_sf(1, 2, 2.0),
        lambda: tails.t_sf(1, 0),
        lambda: tails.t_ppf(0.9, math.nan),
        lambda: tails.beta_cdf(0.5, 0, 1),
        lambda: tails.beta_sf(0.5, 1, -1),
        lambda: tails.beta_ppf(0.5, 0, 1),
    ):
        with pytest.raises(StatsError):
            call()
