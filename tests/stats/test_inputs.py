from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_evalmetrics.stats import inputs
from pytest_evalmetrics.stats.inputs import StatsError


def test_a_vector_says_what_is_wrong_with_it() -> None:
    with pytest.raises(StatsError, match=r"d holds 2 values that are not finite.*nan, at index 1"):
        inputs.vector([0.0, math.nan, math.inf], "d")
    with pytest.raises(StatsError, match="2 dimensions"):
        inputs.vector([[1.0]])
    with pytest.raises(StatsError, match="no number"):
        inputs.vector(["a"])
    assert inputs.vector([True, False]).tolist() == [1.0, 0.0]
    assert issubclass(StatsError, ValueError)


@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], np.array(["b", "a", "b"]), np.array([7, -2, 7]), ("x", None, "x")]
)
def test_clusters_are_numbered(labels: object) -> None:
    codes, count = inputs.cluster_codes(labels, 3)
    assert count == 2
    assert codes[0] == codes[2] != codes[1]
    assert set(codes.tolist()) == {0, 1}


def test_clusters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StatsError, match="2 cluster labels for 3 observations"):
        inputs.cluster_codes(["a", "b"], 3)
    with pytest.raises(StatsError, match="2 cluster labels for 3 observations"):
        inputs.cluster_codes(np.array([1, 2]), 3)
    with pytest.raises(StatsError, match="unhashable"):
        inputs.cluster_codes(np.array([["a"], ["b"]]), 2)
    with pytest.raises(StatsError, match="NaN"):
        inputs.cluster_codes([1.0, math.nan], 2)


def test_scalars() -> None:
    assert inputs.integer(3.0, "k") == 3
    assert inputs.integer(np.int64(3), "k") == 3
    for bad in (2.5, -1, math.nan, math.inf):
        with pytest.raises(StatsError, match=r"k is .* whole number from 0"):
            inputs.integer(bad, "k")
    for bad in (0, 1, 95, math.nan):
        with pytest.raises(StatsError, match="level is"):
            inputs.fraction(bad, "level")
    with pytest.raises(StatsError, match=r"'bigger'.*two-sided"):
        inputs.alternative_of("bigger")
