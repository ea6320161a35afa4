"""A score over all rows."""

import json
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.scoring.scorers.interface import summarise


def test_the_cases_of_the_nemo_sdk(acceptance):
    cases = json.loads(
        (acceptance / "nemo_sdk" / "cases.json").read_text(encoding="utf-8")
    )
    assert cases["aggregate"]
    for case in cases["aggregate"]:
        values = np.array([float(v) for v in case["values"]])
        summary = msgspec.to_builtins(summarise("s", values))
        of_judges = [
            summary.pop(k)
            for k in ("rubric_distribution", "mode_category", "agreement")
        ]
        assert not any(of_judges)
        expected = case["result"]
        if expected is None:  # no rows: there is nothing, here a count of 0
            assert (summary["count"], summary["nan_count"], summary["mean"]) == (
                0,
                0,
                None,
            )
            continue
        bins = expected.pop("histogram")["bins"]
        percentiles = expected.pop("percentiles")
        assert list(summary.pop("histogram")) == [
            pytest.approx(b, abs=1e-12) for b in bins
        ]
        assert summary.pop("percentiles") == (
            percentiles and pytest.approx(percentiles)
        )
        assert summary == {
            k: pytest.approx(v) if isinstance(v, float) else v
            for k, v in expected.items()
        }


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=40))
def test_what_holds_for_any_column(values):
    summary = summarise("s", np.array(values, dtype=np.float64))
    finite = [v for v in values if not math.isnan(v)]
    assert summary.count == len(finite)
    assert summary.nan_count == len(values) - len(finite)
    assert sum(b.count for b in summary.histogram) == len(finite)
    if not finite:
        assert summary.mean is None
        return
    assert summary.percentiles is not None
    ordered = list(summary.percentiles.values())
    assert ordered == sorted(ordered)
    assert ordered[-1] == summary.max == max(finite)
    expected = np.quantile(
        finite, np.arange(1, 11) / 10, method="weibull"
    )  # the same by numpy
    assert ordered == pytest.approx(expected.tolist(), abs=1e-6)
