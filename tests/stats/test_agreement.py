"""Agreement of raters, against other people's code and worked examples."""

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from pytest_evalmetrics.stats import StatsError, cohen_kappa, krippendorff_alpha

NAN = math.nan
# Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section C
BOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def test_the_worked_example():
    assert krippendorff_alpha(BOOK, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(BOOK, "interval") == pytest.approx(0.849, abs=5e-4)


_RATING = st.sampled_from([0.0, 0.5, 1.0, 2.0, NAN])


@settings(max_examples=40)
@given(
    st.integers(2, 4).flatmap(
        lambda raters: st.lists(
            st.lists(_RATING, min_size=raters, max_size=raters), min_size=1, max_size=12
        )
    ),
    st.sampled_from(["nominal", "interval"]),
)
def test_alpha_is_that_of_krippendorff(units, level):
    ratings = np.array(units).T
    agreement = krippendorff_alpha(ratings, level)
    paired = [u[~np.isnan(u)] for u in ratings.T if (~np.isnan(u)).sum() > 1]
    pooled = np.concatenate(paired) if paired else np.array([])
    if len(set(pooled.tolist())) < 2:
        assert math.isnan(agreement)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = krippendorff.alpha(
            reliability_data=ratings, level_of_measurement=level
        )
    assert agreement == pytest.approx(expected, abs=1e-9)


_PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30
)


@settings(max_examples=40)
@given(_PAIRS)
def test_kappa_is_that_of_statsmodels(pairs):
    a, b = (np.array(x) for x in zip(*pairs, strict=True))
    table = np.zeros((4, 4))
    np.add.at(table, (a, b), 1)
    for weights, theirs in (("none", None), ("quadratic", "quadratic")):
        agreement = cohen_kappa(a, b, weights)  # type: ignore[arg-type]
        if len(set(a) | set(b)) == 1:
            assert math.isnan(agreement)
            continue
        with np.errstate(all="ignore"):
            expected = cohens_kappa(table, wt=theirs, return_results=False)
        assert agreement == pytest.approx(expected, abs=1e-9)


def test_kappas_by_hand():
    # 20 of 50 yes by both, 15 no by both: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4
    a = [1] * 20 + [1] * 5 + [0] * 10 + [0] * 15
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)
    with pytest.raises(StatsError):
        cohen_kappa([NAN], [1])
    # a rater who always says the same: not a hair below 0, which may be a threshold
    for n, right in ((10, 8), (7, 3), (49, 1)):
        assert cohen_kappa([4.0] * n, [4.0] * right + [2.0] * (n - right)) == 0
