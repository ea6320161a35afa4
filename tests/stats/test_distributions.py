"""Against scipy, where scipy is right; against closed forms where it is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as oracle
from stats.textbook import beta_interval

from pytest_evalmetrics.stats import StatsError, distributions

REL = 5e-12
DFS = [1, 1.5, 2, 3, 4, 7.3, 19, 30, 99, 1_000, 12_345.6, 1e5, 1e6]
TS = [0.01, 0.5, 1, 1.5, 1.7, 1.75, 2, 3, 5, 8, 15, 30, 100]
PS = [
    1e-50,
    1e-12,
    1e-6,
    0.001,
    0.005,
    0.025,
    0.05,
    0.2,
    0.25,
    0.3,
    0.45,
    0.55,
    0.8,
    0.99,
    0.999,
]
SHAPES = [
    (1, 1),
    (1, 21),
    (21, 1),
    (3.5, 2.25),
    (9, 13),
    (500, 2),
    (2e5, 3e5),
    (1, 1e6),
]


def close(value):
    return pytest.approx(value, rel=REL, abs=0)


@pytest.mark.parametrize("df", DFS)
def test_t_tails_and_quantiles(df):
    for t in TS:
        assert distributions.t_sf(t, df) == close(oracle.t.sf(t, df))
        assert distributions.t_sf(-t, df) == close(oracle.t.sf(-t, df))
    for p in PS:
        assert distributions.t_ppf(p, df) == close(oracle.t.ppf(p, df))


@given(st.floats(1e-9, 1e9))
def test_t_with_one_degree_of_freedom_is_cauchy(t):
    # scipy loses the first digits here, near 0
    assert distributions.t_sf(t, 1) == close(math.atan2(1, t) / math.pi)


@pytest.mark.parametrize(
    ("t", "df", "chance"),
    [
        (0, 5, 0.5),
        (math.inf, 5, 0.0),
        # beyond what can be squared
        (1e200, 30, 0.0),
        (-1e200, 1, 1.0),
        (math.nan, 5, math.nan),
        (1.5, math.inf, distributions.normal_sf(1.5)),
    ],
)
def test_the_tail_of_t_at_the_edges(t, df, chance):
    assert distributions.t_sf(t, df) == pytest.approx(chance, abs=0, rel=0, nan_ok=True)


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [
        (0.5, 5, 0.0),
        (0, 5, -math.inf),
        (1, 5, math.inf),
        (0.975, math.inf, distributions.normal_ppf(0.975)),
    ],
)
def test_the_quantiles_of_t_at_the_edges(p, df, t):
    assert distributions.t_ppf(p, df) == t


@pytest.mark.parametrize("shape", SHAPES)
def test_beta_quantiles(shape):
    for level in (0.001, 0.3, 0.5, 0.95, 0.999):
        low, high = beta_interval(shape[0] - 1, sum(shape) - 2, level)
        assert low == close(special.betaincinv(*shape, (1 - level) / 2))
        assert high == close(special.betaincinv(*shape, (1 + level) / 2))


@pytest.mark.parametrize("n", [1, 5, 20, 1_000, 10**6])
@pytest.mark.parametrize("p", [1e-6, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_binomial(n, p):
    for z in (-30, -10, -3, -1, 0, 1, 3, 10, 30):
        k = min(max(round(n * p + z * math.sqrt(n * p * (1 - p))), 0), n)
        assert distributions.binom_sf(k, n, p) == close(oracle.binom.sf(k - 1, n, p))


def test_binomial_at_the_edges():
    for k, p, chance in ((0, 0, 1), (3, 1, 1), (1, 0, 0), (1, 1, 1), (4, 0.5, 0)):
        assert distributions.binom_sf(k, 3, p) == chance


def test_normal():
    for z in (-30, -5, -1, 0, 1, 5, 30):
        assert distributions.normal_sf(z) == close(oracle.norm.sf(z))
    for p in (1e-300, 1e-9, 0.025, 0.5, 0.8, 1 - 1e-9, 0, 1):
        assert distributions.normal_ppf(p) == close(oracle.norm.ppf(p))


def test_what_does_not_converge_is_no_number():
    with pytest.raises(StatsError, match="did not converge"):
        distributions.binom_sf(10**14, 2 * 10**14, 0.5)


# -- logarithms of tails -----------------------------------------------------------------


@pytest.mark.parametrize("x", [-3.0, 0.0, 1.5, 20.0, 29.9, 30.1, 40.0, 1e3, 1e6])
def test_the_log_of_a_normal_tail_does_not_underflow(x):
    assert distributions.normal_log_sf(x) == close(oracle.norm.logsf(x))


@pytest.mark.parametrize("x", [-2.0, 0.5, 5.0, 36.0, 38.0, 1e3, 1e6])
def test_a_normal_quantile_is_found_by_the_log_of_its_tail(x):
    log_p = float(oracle.norm.logsf(x))
    assert distributions.normal_isf_of_log(log_p) == pytest.approx(x, rel=1e-9)


@pytest.mark.parametrize("df", [4_999, 12_345.6, 1e6])
@pytest.mark.parametrize("t", [-1.0, 2.0, 38.0, 80.0, 500.0])
def test_the_log_of_a_t_tail_does_not_underflow(t, df):
    # scipy's logsf is the log of an underflowed tail: integrate the density instead
    ratio = (df + 1) / 2
    log_scale = (
        special.gammaln(ratio) - special.gammaln(df / 2) - math.log(df * math.pi) / 2
    )
    expected = math.log(oracle.t.sf(t, df)) if t < 30 else None
    if expected is None:
        # t^-df to leading order, with its first correction
        log_density = log_scale - ratio * math.log1p(t * t / df)
        width = (df + t * t) / (df + 1) / t
        expected = log_density + math.log(width)
    assert distributions.t_log_sf(t, df) == pytest.approx(expected, rel=2e-4)


def test_a_p_value_is_never_0():
    assert distributions.p_of_log(-1e6) == 1e-300
    assert distributions.p_of_log(math.log(0.25)) == close(0.25)
    assert math.isnan(distributions.p_of_log(math.nan))


@pytest.mark.parametrize("k", [550, 700, 1000])
def test_the_log_of_a_binomial_tail(k):
    expected = oracle.binom.logsf(k - 1, 1000, 0.5)
    assert distributions.log_binom_sf(k, 1000, 0.5) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("k", "n", "p"), [(3, 70, 0.3), (0, 5, 0.2), (20, 20, 1.0)])
def test_the_log_of_a_binomial_tail_below_its_mean(k, n, p):
    expected = oracle.binom.logsf(k - 1, n, p)
    assert distributions.log_binom_sf(k, n, p) == pytest.approx(expected, abs=1e-12)


def test_more_successes_than_tries_have_no_chance():
    assert distributions.log_binom_sf(6, 5, 0.5) == -math.inf


def test_the_log_of_a_tail_beyond_any_number_is_far_below_0():
    assert distributions.normal_log_sf(1e100) == pytest.approx(-5e199)
    assert distributions.normal_log_sf(1e200) == -math.inf


def test_a_tail_of_nothing_is_infinitely_far():
    assert distributions.normal_isf_of_log(-math.inf) == math.inf


@pytest.mark.parametrize("x", [0.5, 50.0])
def test_with_infinite_degrees_of_freedom_the_log_of_t_is_normal(x):
    expected = oracle.norm.logsf(x)
    assert distributions.t_log_sf(x, math.inf) == pytest.approx(expected)


def test_a_t_beyond_what_can_be_squared_has_no_tail():
    assert distributions.t_log_sf(1e200, 30) == -math.inf
    assert math.isnan(distributions.t_log_sf(math.nan, math.inf))


@pytest.mark.parametrize("df", [3, 30])
def test_the_log_of_a_t_tail_that_is_a_number_is_its_log(df):
    for x in (-5.0, 0.0, 4.0, 1e6):
        expected = math.log(oracle.t.sf(x, df))
        assert distributions.t_log_sf(x, df) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("halvings", "digits"), [(10, 1e-3), (42, 1e-12)])
def test_a_falling_function_is_as_near_as_so_many_halvings_would_be(halvings, digits):
    found = distributions.falls_to(lambda x: -x, -0.3, 0.0, 1.0, halvings)
    assert 0.3 <= found <= 0.3 + digits


def test_a_goal_beyond_the_ends_is_the_nearer_end():
    assert distributions.falls_to(lambda x: -x, 1.0, 0.0, 1.0) < 1e-12
    assert distributions.falls_to(lambda x: -x, -2.0, 0.0, 1.0) == 1.0


class _Counted:
    """A function, and how often it was called."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "goal", "high", "expected"),
    [
        (distributions.normal_sf, 0.01, 10.0, oracle.norm.isf(0.01)),
        (distributions.normal_sf, 1e-8, 40.0, oracle.norm.isf(1e-8)),
        (lambda x: -(x**3), -1e-6, 1.0, 0.01),
        (lambda x: math.exp(-x), 1e-9, 100.0, 9 * math.log(10)),
    ],
)
def test_a_smooth_function_is_called_some_ten_times(function, goal, high, expected):
    counted = _Counted(function)
    found = distributions.falls_to(counted, goal, 0.0, high)
    assert found == pytest.approx(expected, rel=1e-9)
    assert counted.calls <= 16


def test_a_step_is_found_as_by_halving():
    counted = _Counted(lambda x: float(x < 0.3))
    assert distributions.falls_to(counted, 0.5, 0.0, 1.0) == pytest.approx(
        0.3, abs=1e-12
    )
    assert counted.calls == 42


def test_an_infinite_value_is_above_any_goal():
    found = distributions.falls_to(
        lambda x: math.inf if x < 0.3 else 0.0, 0.5, 0.0, 1.0
    )
    assert found == pytest.approx(0.3, abs=1e-12)


def test_a_kink_takes_no_more_than_twice_as_many_calls_as_halvings():
    counted = _Counted(lambda x: -(max(0.0, x - 0.3) ** 9))
    assert distributions.falls_to(counted, -1e-30, 0.0, 1.0) > 0.3
    assert counted.calls <= 84


def test_what_does_not_converge_names_its_arguments():
    with pytest.raises(StatsError) as refused:
        distributions.binom_sf(10**14, 2 * 10**14, 0.5)
    assert str(refused.value) == (
        "the incomplete beta function did not converge at x=0.5, "
        "a=100000000000001, b=100000000000000"
    )
