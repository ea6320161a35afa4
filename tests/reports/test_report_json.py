"""report.json says what the standard library would write, only sooner; and its schema."""

import json
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports.report_schema import report_schema

from pytest_evalmetrics.reports.reporters import as_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize("text", ["", 'é 😀 / \\ "x"\n', "half a pair: \ud800"])
@pytest.mark.parametrize("large", [10**30, 10**3])
def test_it_is_what_json_writes(text, large):
    value = {
        text: [],
        "b": {},
        "c": text,
        "d": [1e-05, 1e22, -0.0, large],
        "f": [[], {"a": None}],
    }
    assert json.loads(as_json(value)) == value
    lines = json.dumps(value, indent=2).splitlines()
    assert [line.count(" ") for line in as_json(value).decode().splitlines()] == [
        line.count(" ") for line in lines
    ]


@settings(max_examples=25)
@given(st.dictionaries(st.text(), VALUES))
def test_no_number_is_lost(value):
    try:
        expected = json.dumps(value, allow_nan=False)
    except ValueError:
        with pytest.raises(ValueError, match="not JSON compliant"):
            as_json(value)
    else:
        assert json.loads(as_json(value)) == json.loads(expected)


def test_the_shipped_schema_is_the_one_that_the_types_give():
    shipped = files("pytest_evalmetrics.schemas") / "report.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == report_schema()
