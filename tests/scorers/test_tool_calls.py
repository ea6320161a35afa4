"""Tool calls in all the forms in which they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.row_reading import ToolCall, made_calls, wanted_calls

CALL = ToolCall("sum", {"x": 1})
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "written",
    [
        {"name": "sum", "args": {"x": 1}},
        {"name": "sum", "args": '{"x": 1}'},
        {"name": "sum", "arguments": {"x": 1}},
        {"type": "tool_call", "id": "1", "name": "sum", "args": {"x": 1}},
        {"function": {"name": "sum", "arguments": {"x": 1}}},
        {"id": "1", "type": "function", "function": {"name": "sum", "arguments": '{"x": 1}'}},
        {"type": "function_call", "name": "sum", "arguments": '{"x":1}', "call_id": "c"},
    ],
)
def test_every_form_of_a_call(written: Any) -> None:
    assert made_calls([written], "calls") == [CALL]
    assert wanted_calls([written], "reference") == [CALL]
    assert wanted_calls(json.dumps([written]), "reference") == [CALL]


@pytest.mark.parametrize("none", [{}, {"arguments": None}])
def test_a_model_may_leave_arguments_out(none: Any) -> None:
    assert made_calls([{"function": {"name": "now", **none}}], "calls") == [ToolCall("now", {})]


def test_a_call_may_lack_its_name() -> None:
    assert made_calls([{"function": {"arguments": "{}"}}], "calls") == [ToolCall(None, {})]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "no JSON: "),
        ('{"x": ', "no JSON: "),
        ("{'x': 1}", "no JSON: "),
        ('{"x": NaN}', "no JSON: NaN is no JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[1]", "no JSON object"),
        ('"{}"', "no JSON object"),
        ("null", "no JSON object"),
        ([1], "no JSON object"),
        (7, "no JSON object"),
    ],
)
def test_arguments_that_are_none_are_the_models_fault(arguments: Any, said: str) -> None:
    written = {"function": {"name": "sum", "arguments": arguments}}
    (call,) = made_calls([written], "calls")
    assert call.args is None
    assert call.fault.startswith("the arguments of 'sum' are ")
    assert said in call.fault
    assert len(call.fault) < 400
    with pytest.raises(RowError, match=r"reference\[0\]: the arguments of 'sum' are") as raised:
        wanted_calls([written], "reference")
    assert raised.value.kind == "bad-reference"


@pytest.mark.parametrize(
    "written", [None, "sum", 1, [], {}, {"not_function": {}}, {"function": None}, {"name": 7}]
)
def test_what_is_no_call_is_a_failed_row(written: Any) -> None:
    with pytest.raises(RowError, match=r"calls\[1\] is .*, expected a tool call") as raised:
        made_calls([{"name": "a"}, written], "calls")
    assert raised.value.kind == "bad-call"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (None, "the list is null, expected a list of tool calls"),
        ({"name": "a", "args": {}}, "expected a list of tool calls"),
        ("a(1)", "is text that is no JSON"),
        ("{}", "the list is {}, expected a list"),
        ([{"function": {"name": "a"}}], r"the list\[0\] is .*, expected a call with name and arg"),
        ([{"args": {}}], r"the list\[0\] is .*, expected a call with name and arguments"),
    ],
)
def test_a_reference_is_whole(reference: Any, said: str) -> None:
    with pytest.raises(RowError, match=said) as raised:
        wanted_calls(reference, "the list")
    assert raised.value.kind == "bad-reference"


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_arguments_as_text_are_those_as_an_object(args: dict[str, Any]) -> None:
    text = json.dumps(args)
    (as_object,), (as_text,) = (
        made_calls([{"name": "a", "args": found}], "calls") for found in (args, text)
    )
    assert as_text == as_object
