from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from pytest_evalmetrics.stats import StatsError, benjamini_hochberg, holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=25)  # the oracle is slow
@given(p_values)
def test_against_statsmodels(p: list[float]) -> None:
    for ours, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        theirs = multipletests(p, method=method)[1]
        np.testing.assert_allclose(ours(p), theirs, rtol=1e-12, atol=1e-300)


@given(p_values)
def test_adjusting_never_helps_and_keeps_the_order(p: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p)
        assert (adjusted >= np.array(p) * (1 - 1e-15)).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    assert (holm(p) >= benjamini_hochberg(p) * (1 - 1e-15)).all()


def test_one_alone_stays_as_it_is() -> None:
    assert holm([0.03]).tolist() == benjamini_hochberg([0.03]).tolist() == [0.03]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("bad", [[0.5, np.nan], [1.1], [-0.1], [[0.5]]])
def test_what_is_no_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(StatsError):
        holm(bad)
