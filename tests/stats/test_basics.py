from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from pytest_evalmetrics.stats import StatsError, basics


def test_a_vector_says_what_is_wrong_with_it():
    with pytest.raises(StatsError, match=r"d holds 2 values that are not finite.*nan, at index 1"):
        basics.vector([0.0, math.nan, math.inf], "d")
    with pytest.raises(StatsError, match="2 dimensions"):
        basics.vector([[1.0]])
    with pytest.raises(StatsError, match="no number"):
        basics.vector(["a"])
    assert basics.vector([True, False]).tolist() == [1.0, 0.0]
    assert issubclass(StatsError, ValueError)


@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], np.array(["b", "a", "b"]), np.array([7, -2, 7]), ("x", None, "x")]
)
def test_clusters_are_numbered(labels):
    codes, count = basics.cluster_codes(labels, 3)
    assert count == 2
    assert codes[0] == codes[2] != codes[1]
    assert set(codes.tolist()) == {0, 1}


def test_clusters_that_do_not_fit_are_refused():
    with pytest.raises(StatsError, match="2 cluster labels for 3 observations"):
        basics.cluster_codes(["a", "b"], 3)
    with pytest.raises(StatsError, match="2 cluster labels for 3 observations"):
        basics.cluster_codes(np.array([1, 2]), 3)
    with pytest.raises(StatsError, match="unhashable"):
        basics.cluster_codes(np.array([["a"], ["b"]]), 2)
    with pytest.raises(StatsError, match="NaN"):
        basics.cluster_codes([1.0, math.nan], 2)


def test_scalars():
    assert basics.integer(3.0, "k") == 3
    assert basics.integer(np.int64(3), "k") == 3
    for bad in (2.5, -1, math.nan, math.inf):
        with pytest.raises(StatsError, match=r"k is .* whole number from 0"):
            basics.integer(bad, "k")
    for bad in (0, 1, 95, math.nan):
        with pytest.raises(StatsError, match="level is"):
            basics.fraction(bad, "level")
    with pytest.raises(StatsError, match=r"'bigger'.*two-sided"):
        basics.alternative_of("bigger")


def test_scipy_is_not_needed():
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['statsmodels'] = None\n"
        "from pytest_evalmetrics import stats\n"
        "print(stats.paired_t([0.5, 0.25, 0.0], alternative='greater').p)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(run.stdout) < 1
