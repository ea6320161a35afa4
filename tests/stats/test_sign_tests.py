"""Against full enumeration of the signs, scipy's Wilcoxon, McNemar at K = 1, and statsmodels."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle
from stats.textbook import mcnemar_exact

from pytest_evalmetrics.stats import LEAST_P, StatsError, sign_test, signflip_exact
from pytest_evalmetrics.stats.basics import lattice_step

SIDES = ["two-sided", "greater"]
small = st.lists(st.integers(-6, 6), min_size=1, max_size=9)


def enumerated(values, side):
    """Return p and mid-p over all signs, in whole numbers."""
    size = {"two-sided": abs, "greater": lambda t: t}[side]
    signs = itertools.product((1, -1), repeat=len(values))
    sums = [
        size(sum(s * v for s, v in zip(sign, values, strict=True))) for sign in signs
    ]
    seen = size(sum(values))
    beyond, at = sum(t > seen for t in sums), sum(t == seen for t in sums)
    return (beyond + at) / len(sums), (beyond + at / 2) / len(sums)


@settings(max_examples=40)
@given(small, st.sampled_from([1, 3, 4, 7, 16]), st.sampled_from(SIDES))
def test_against_every_sign(steps, k, side):
    result = signflip_exact([step / k for step in steps], alternative=side)
    assert (result.p, result.mid_p) == enumerated(steps, side)


@given(st.integers(0, 16), st.integers(0, 16), st.integers(0, 5))
def test_at_one_rollout_it_is_mcnemar(b, c, same):
    d = [1.0] * b + [-1.0] * c + [0.0] * same
    for side in SIDES:
        theirs = mcnemar_exact(b, c, alternative=side)
        assert signflip_exact(d, alternative=side).p == pytest.approx(theirs, rel=1e-9)


@given(st.lists(st.integers(-64, 64), min_size=1, max_size=15), st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter_and_the_mirrored_give_the_same(steps, unit):
    d = np.array(steps) * unit
    assert signflip_exact(d).p == signflip_exact(-d).p == signflip_exact(steps).p


def test_all_alike_none_at_all_and_those_that_rounding_moves():
    assert signflip_exact([0.25] * 12, alternative="greater").p == 0.5**12
    nothing = signflip_exact([0.0] * 12, alternative="greater")
    assert (nothing.p, nothing.mid_p) == (1, 0.5)
    assert signflip_exact([]).p == 1
    for refused in ([0.5, math.nan], np.arange(1, 34)):  # too many to enumerate
        with pytest.raises(StatsError):
            signflip_exact(refused)
    thirds = np.array([1 / 3 - 1, 2 / 3 - 1 / 3, 1 - 1 / 3, 0.1 + 0.2 - 0.3])
    result = signflip_exact(thirds)
    assert (result.p, result.mid_p) == enumerated([-2, 1, 2], "two-sided")


@pytest.mark.parametrize(
    ("d", "step"),
    [
        ([0.5, -0.25, 0], 0.25),
        ([1 / 3, 0.5], 1 / 6),
        ([7, 21, -35], 7),
        ([1_234, 5_678], 2),
        ([0.1, 0.25, -0.3], 0.05),
        ([6 * math.pi, 8 * math.pi], 2 * math.pi),
        ([0.7], 0.7),
        ([], None),
        ([0, 0], None),
        ([math.pi, math.e, 1.0], None),
        ([1e-9, 1.0], None),
        ([1 / 9_973, 1 / 9_967, 1 / 9_949], None),
    ],
)
def test_the_lattice_step(d, step):
    assert lattice_step(d) == (None if step is None else pytest.approx(step, rel=1e-9))


# -- the sign test -----------------------------------------------------------------------


def test_the_sign_test_counts_the_units_that_moved():
    worse_and_better = [0.1] * 9 + [-5.0] * 2 + [0.0] * 4
    expected = oracle.binomtest(9, 11, alternative="greater").pvalue
    assert sign_test(worse_and_better).p == pytest.approx(expected, rel=1e-9)


def test_the_sign_test_of_clusters_counts_their_sums():
    worse = sign_test([1.0, 1.0, -3.0, 2.0, 1.0], np.array([0, 0, 0, 1, 2]))
    assert worse.p == pytest.approx(oracle.binom.sf(1, 3, 0.5))


def test_the_sign_test_of_nothing_that_moved_shows_nothing():
    assert sign_test([0.0] * 5).p == 1


def test_the_sign_test_of_very_many_tasks_keeps_the_log_of_p():
    result = sign_test([1.0] * 5_000)
    assert result.p == LEAST_P
    assert result.log_tail == pytest.approx(-5_000 * math.log(2))


def test_the_sign_test_names_itself_and_its_units():
    result = sign_test([0.1] * 9 + [-5.0] * 2 + [0.0] * 4)
    assert (result.name, result.units) == ("sign test", 11)
    assert math.isnan(result.log_tail)


def test_the_test_of_all_signs_names_itself():
    assert signflip_exact([1.0, 2.0]).name == "exact sign flip"
