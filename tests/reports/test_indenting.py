"""report.json is indented as the standard library does it, only sooner."""

from __future__ import annotations

import json

import pytest

from pytest_evalmetrics.reports.artifacts import _indented


@pytest.mark.parametrize("text", ["", 'é 😀 / \\ "x"\n', "half a pair: \ud800"])
def test_it_is_what_json_writes(text: str) -> None:
    value = {text: [], "b": {}, "c": text, "d": [1e-05, 1e22, -0.0, 10**30], "f": [[], {"a": None}]}
    assert _indented(value) == json.dumps(value, indent=2)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _indented({"a": float("nan")})
