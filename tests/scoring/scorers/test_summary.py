"""A score over all rows."""

import json
import math

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_evalmetrics.scoring.scorers.interface import summarise

COLUMNS = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=40)


def column(values):
    return np.array([float(value) for value in values], dtype=np.float64)


def test_a_summary_is_that_of_the_nemo_sdk(acceptance):
    path = acceptance / "nemo_sdk" / "cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["aggregate"]
    answered = [case for case in cases if case["result"] is not None]
    assert answered
    for case in answered:
        summary = msgspec.to_builtins(summarise("s", column(case["values"])))
        expected = case["result"]
        for bin_, of_sdk in zip(
            summary.pop("histogram"), expected.pop("histogram")["bins"], strict=True
        ):
            assert bin_ == pytest.approx(of_sdk, abs=1e-12)
        percentiles = expected.pop("percentiles") or {}
        assert (summary.pop("percentiles") or {}) == pytest.approx(percentiles)
        for name, value in expected.items():
            assert summary[name] == pytest.approx(value), name


def test_without_rows_there_is_a_count_of_0_and_no_mean():
    summary = summarise("s", column([]))
    assert summary.count == 0
    assert summary.nan_count == 0
    assert summary.mean is None


def test_only_missing_scores_are_counted_and_have_no_mean():
    summary = summarise("s", column(["nan", "nan"]))
    assert summary.count == 0
    assert summary.nan_count == 2
    assert summary.mean is None


@given(COLUMNS)
def test_every_number_is_counted_once(values):
    summary = summarise("s", column(values))
    finite = [value for value in values if not math.isnan(value)]
    assert summary.count == len(finite)
    assert summary.nan_count == len(values) - len(finite)
    assert sum(one.count for one in summary.histogram) == len(finite)


@given(COLUMNS)
def test_percentiles_are_those_of_numpy(values):
    finite = [value for value in values if not math.isnan(value)]
    assume(finite)
    summary = summarise("s", column(values))
    percentiles = list(summary.percentiles.values())
    expected = np.quantile(finite, np.arange(1, 11) / 10, method="weibull")
    assert percentiles == pytest.approx(expected.tolist(), abs=1e-6)
    assert percentiles == sorted(percentiles)
    assert percentiles[-1] == summary.max
