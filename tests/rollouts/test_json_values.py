"""Values of decoded JSON: taken as a kind, found by a path, written for messages."""

import math

import pytest

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.described_objects import without_descriptions
from pytest_evalmetrics.rollouts.name_words import last_part, words_of
from pytest_evalmetrics.rollouts.otlp_attributes import is_otlp, plain_attributes
from pytest_evalmetrics.rollouts.tool_usage import usage

# -- kinds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (0.5, 0.5),
        (True, 1),
        (10**400, math.inf),
        ("1", None),
        (None, None),
        ([1], None),
    ],
)
def test_a_value_as_a_number(value, number):
    assert json_values.number(value) == number
    assert type(json_values.number(value)) is not bool


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), ("", None), (1, None), (None, None)]
)
def test_a_value_as_text(value, text):
    assert json_values.text(value) == text


@pytest.mark.parametrize(
    ("value", "is_json"),
    [
        ('{"a": 1}', True),
        (" [1]", True),
        ("{a}", False),
        ("1", False),
        ("", False),
        (1, False),
    ],
)
def test_text_that_is_json(value, is_json):
    assert json_values.is_json_text(value) is is_json


def test_a_value_as_an_object_and_as_a_list_of_objects():
    assert json_values.mapping({"a": 1}) == {"a": 1}
    assert json_values.mapping([1]) == {}
    assert json_values.objects([{"a": 1}, 2, {}]) == [{"a": 1}, {}]
    assert json_values.objects({"a": 1}) == []


@pytest.mark.parametrize(
    ("values", "total"),
    [([1, None, 2.5, "x"], 3.5), ([True, 1], 2), ([None, "x"], None), ([0], 0)],
)
def test_numbers_are_added_up(values, total):
    assert json_values.total(values) == total


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T01:00:00+01:00", 0),
        (5.5, 5.5),
        ("soon", None),
        (None, None),
        ("9999-99-99", None),
    ],
)
def test_a_time_in_seconds(time, seconds):
    assert json_values.seconds(time) == seconds


@pytest.mark.parametrize(
    ("record", "took"),
    [
        ({"a": 2, "b": {"c": 5}}, 3),
        ({"a": 2}, None),
        ({"b": {"c": 5}}, None),
        ({"a": "x", "b": {"c": 5}}, None),
    ],
)
def test_the_time_between_two_times(record, took):
    assert json_values.duration(record, "a", "b.c") == took


# -- paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "path", "value"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a.b": {"c": 1}, "a": {"b.c": 2}}, "a.b.c", 1),
        ({"a": {"b.c": 2}}, "a.b.c", 2),
        ({"a.b": {"d": 1}, "a": {"b": {"c": 2}}}, "a.b.c", 2),
        ({"a": [{"b": 1}, {"b": 2}]}, "a.1.b", 2),
        ({"a": [1, 2]}, "a.1", 2),
        ({"a": [1, 2]}, "a.2", None),
        ({"a": [1, 2]}, "a.-1", None),
        ({"a": [1, 2]}, "a.x", None),
        ([{"b": 1}], "0.b", 1),
        ({"a": 1}, "b", None),
        ({"a": 1}, "a.b", None),
        ("text", "a", None),
    ],
)
def test_a_value_at_a_path(record, path, value):
    assert json_values.lookup(record, path) == value


@pytest.mark.parametrize(
    ("record", "value"),
    [
        ({"a": 1, "b": 2}, 1),
        ({"a": None, "b": 2}, 2),
        ({"a": "", "b": 2}, 2),
        ({"a": 0, "b": 2}, 0),
        ({"a": False, "b": 2}, False),
        ({}, None),
    ],
)
def test_the_first_value_that_is_there(record, value):
    assert json_values.first(record, "a", "b") == value


# -- names of tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("two\n words", "two words"),
        ("x" * 41, "x" * 40 + "…"),
        ({"b": "ß", "a": 1}, '{"a": 1, "b": "ß"}'),
        ({"a": "x" * 40}, '{"a": "' + "x" * 33 + "…"),
    ],
)
def test_a_content_on_a_short_line(content, text):
    assert json_values.brief(content) == text


def test_names_of_several_contents_are_told_apart():
    names = json_values.distinct(["a", "a", "a", "b"], ["x", "y", "x", "z"])
    assert names == ["a [x]", "a [y]", "a [x]", "b"]


def test_names_of_one_content_stay():
    contents = [{"p": 1, "q": 2}, {"q": 2, "p": 1}]
    assert json_values.distinct(["a", "a"], contents) == ["a", "a"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("isCorrect", ("is", "correct")),
        ("is_correct-now", ("is", "correct", "now")),
        ("F1Score2", ("f1", "score2")),
        ("pass@1", ("pass", "1")),
        ("größe_id", ("größe", "id")),
        ("HTTPCode", ("httpcode",)),
        ("__", ()),
    ],
)
def test_the_words_of_a_name(name, words):
    assert words_of(name) == words


def test_the_last_part_of_a_path():
    assert last_part("a.b.c") == "c"
    assert last_part("c") == "c"


# -- objects of rows ---------------------------------------------------------------------------

ROWS = {"0": {"ok": 1}, "1": {"ok": 0}}


@pytest.mark.parametrize(
    "name",
    [
        "type",
        "kind",
        "title",
        "benchmark",
        "timestamp",
        "created",
        "accuracy",
        "samples",
    ],
)
def test_what_describes_rows_by_number_is_left_out(name):
    assert without_descriptions({name: "x", **ROWS}) == ROWS
    assert without_descriptions({f"mean_{name}": 0.5, **ROWS}) == ROWS


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"error": "x", **ROWS}, id="another name"),
        pytest.param({"type": [1], **ROWS}, id="a list"),
        pytest.param({"type": None, **ROWS}, id="null"),
        pytest.param({"type": "x", "0": {"ok": 1}}, id="one row"),
        pytest.param({"type": "x", "a": {"ok": 1}, "1": {"ok": 1}}, id="a name"),
        pytest.param({"type_of": "x", **ROWS}, id="another word"),
    ],
)
def test_other_values_beside_rows_stay(value):
    assert without_descriptions(value) == value


# -- OpenTelemetry -----------------------------------------------------------------------------


def attribute(key, **value):
    return {"key": key, "value": value}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ([attribute("a", intValue="-12")], {"a": -12}),
        ([attribute("a", stringValue="12")], {"a": "12"}),
        ([attribute("a", intValue="x")], {"a": "x"}),
        (
            [attribute("a", doubleValue=0.5), attribute("b", boolValue=True)],
            {"a": 0.5, "b": True},
        ),
        ([attribute("a", arrayValue={"values": [{"intValue": "1"}]})], {"a": [1]}),
        (
            [attribute("a", kvlistValue={"values": [attribute("b", intValue="1")]})],
            {"a": {"b": 1}},
        ),
        ([attribute("a", arrayValue={})], {"a": []}),
        ([{"key": "a", "value": 5}], {"a": 5}),
        (
            [attribute("a", intValue="1"), {"name": "x"}],
            [{"key": "a", "value": {"intValue": "1"}}, {"name": "x"}],
        ),
        ([1, "a", None], [1, "a", None]),
        ([], []),
        ({"b": [attribute("a", intValue="1")]}, {"b": {"a": 1}}),
        (None, None),
    ],
)
def test_attributes_of_opentelemetry_as_objects(value, plain):
    assert plain_attributes(value) == plain


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"resourceSpans": []}, True),
        ({"resourceLogs": []}, True),
        ({"spans": []}, False),
    ],
)
def test_a_document_of_opentelemetry(document, says):
    assert is_otlp(document) is says


# -- usage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "name"),
    [
        *(
            (key, "prompt_tokens")
            for key in ("input_tokens", "prompt_tokens", "prompt")
        ),
        *((key, "prompt_tokens") for key in ("n_input_tokens", "inputTokenCount")),
        *((key, "completion_tokens") for key in ("output_tokens", "completion_tokens")),
        *((key, "completion_tokens") for key in ("n_output_tokens", "completion")),
        ("outputTokenCount", "completion_tokens"),
        *((key, "cached_tokens") for key in ("cached_tokens", "cached_input_tokens")),
        *((key, "cached_tokens") for key in ("input_tokens_cache_read", "cached")),
        *((key, "cached_tokens") for key in ("cache_read_tokens", "n_cache_tokens")),
        *((key, "total_tokens") for key in ("total_tokens", "total")),
        *((key, "cost_usd") for key in ("cost", "cost_usd", "total_cost", "tokenCost")),
    ],
)
def test_usage_by_the_names_of_tools(key, name):
    assert usage({key: 2}, {key: 3}, {"other": 1}, None) == {name: 5}


def test_the_time_of_a_call_in_seconds_and_in_milliseconds():
    assert usage(latency_s=1.5) == {"latency_s": 1.5}
    assert usage(latency_s=1.5, latency_ms=250) == {"latency_s": 0.25}


@pytest.mark.parametrize(
    ("holder", "total"),
    [
        ({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, None),
        ({"input_tokens": 1, "total_tokens": 3}, 3),
        ({"output_tokens": 1, "total_tokens": 3}, 3),
    ],
)
def test_a_total_is_left_out_beside_its_parts(holder, total):
    assert usage(holder).get("total_tokens") == total
