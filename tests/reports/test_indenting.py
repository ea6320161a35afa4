"""report.json says what the standard library would write, only sooner."""

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.reports.reporters import _indented

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("text", ["", 'é 😀 / \\ "x"\n', "half a pair: \ud800"])
@pytest.mark.parametrize("large", [10**30, 10**3])
def test_it_is_what_json_writes(text, large):
    value = {text: [], "b": {}, "c": text, "d": [1e-05, 1e22, -0.0, large], "f": [[], {"a": None}]}
    assert json.loads(_indented(value)) == value
    lines = json.dumps(value, indent=2).splitlines()
    assert [line.count(" ") for line in _indented(value).decode().splitlines()] == [
        line.count(" ") for line in lines
    ]


@given(st.dictionaries(st.text(), VALUES))
def test_no_number_is_lost(value):
    try:
        expected = json.dumps(value, allow_nan=False)
    except ValueError:
        with pytest.raises(ValueError, match="not JSON compliant"):
            _indented(value)
    else:
        assert json.loads(_indented(value)) == json.loads(expected)


@pytest.mark.parametrize("number", [math.nan, -math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        _indented({"a": [{"b": number}]})


def test_a_text_that_looks_like_one_is_none():
    looks = struct.pack(">d", math.nan)[:2].decode("latin-1")
    value = {"a": f"\xcb{looks}", "b": [0xCB7FF8, 0xCB7FF8 << 40]}
    assert json.loads(_indented(value)) == value
