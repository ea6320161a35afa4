"""Scores in what a judge said, as the NeMo Evaluator SDK finds them, and where we differ."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.scorers.offline import entry

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply

GOOD, BAD = {"label": "good", "value": 1}, {"label": "bad", "value": 0}
SCORE = r"SCORE: (\d)"


def spec(name="s", pattern=None, method="match", **more):
    """Read one entry of a judge's `scores:`."""
    if pattern is not None:
        more["parser"] = {"type": "regex", "pattern": pattern, "method": method}
    model = {"url": "http://127.0.0.1:1/v1", "name": "m"}
    return entry(type="llm-judge", model=model, scores=[{"name": name, **more}]).scores[
        0
    ]


PARSERS = {
    "json range": spec("quality", minimum=1, maximum=5),
    "json rubric": spec("tone", rubric=[GOOD, BAD]),
    "regex search": spec(pattern=SCORE, method="search", minimum=1, maximum=5),
    "regex match": spec(pattern=SCORE, minimum=1, maximum=5),
    "regex rubric": spec(pattern=r"(\w+)", method="search", rubric=[GOOD, BAD]),
}


def test_the_cases_of_the_sdk(acceptance):
    cases = json.loads((acceptance / "nemo_sdk/cases.json").read_text(encoding="utf-8"))
    for case in cases["judge_parse"]:
        try:
            score = PARSERS[case["parser"]].read(Reply(case["text"] or ""))
        except RowError:  # what is NaN there is a row's error here
            score = math.nan
        assert score == pytest.approx(float(case["value"]), nan_ok=True), case


@pytest.mark.parametrize(
    ("parser", "text", "expected"),
    [
        ("json range", '{"quality": 4}', 4),
        ("json range", 'Well:\n```json\n{"quality": 2.5}\n```', 2.5),  # NaN there
        ("regex search", "so SCORE: 3", 3),
        ("regex match", "SCORE: 3.", 3),
        ("regex rubric", "good!", 1),
    ],
)
def test_parsed_values(parser, text, expected):
    assert PARSERS[parser].read(Reply(text)) == expected


@pytest.mark.parametrize(
    ("parser", "text", "kind"),
    [
        ("json range", '{"quality": 7}', "out-of-range"),  # kept there
        ("json range", '{"quality": 0.5}', "out-of-range"),
        ("json range", '{"quality": "4"}', "no-number"),
        ("json range", '{"quality": true}', "no-number"),  # 1 there
        ("json range", '{"quality": null}', "no-score"),
        ("json range", '{"other": 1}', "no-score"),
        ("json range", "[4]", "no-score"),
        ("json range", "four", "no-json"),
        ("json rubric", '{"tone": "Good"}', "no-label"),
        ("json rubric", '{"tone": ["good"]}', "no-label"),
        ("regex search", "SCORE: x", "no-score"),
        ("regex search", "SCORE: 9", "out-of-range"),
        ("regex match", "blah SCORE: 3", "no-score"),
        ("regex rubric", "meh", "no-label"),
    ],
)
def test_what_is_no_score(parser, text, kind):
    with pytest.raises(RowError) as raised:
        PARSERS[parser].read(Reply(text))
    assert raised.value.kind == kind


def test_a_json_path_and_a_named_group():
    deep = spec(parser={"json_path": "$.result[0].score"}).read
    assert deep(Reply('{"result": [{"score": 0.5}]}')) == 0.5
    with pytest.raises(RowError, match="has no"):
        deep(Reply('{"result": []}'))
    named = {"pattern": r"(\w+) is (?P<n>\d)", "group": "n"}
    assert spec(parser=named).read(Reply("it is 4")) == 4
    with pytest.raises(RowError):
        spec(pattern=r"a(b)?").read(Reply("a"))


@given(
    st.sampled_from(sorted(PARSERS)),
    st.text() | st.floats().map(lambda x: f'{{"quality": {x}}}'),
)
def test_any_text_is_a_score_within_its_bounds_or_refused(parser, text):
    score = PARSERS[parser]
    try:
        value = score.read(Reply(text))
    except RowError:
        return
    assert value in (0, 1) if score.rubric else 1 <= value <= 5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"minimum": 3, "maximum": 2}, "is above maximum"),
        ({"rubric": [GOOD, BAD], "minimum": 1}, "no minimum"),
        ({"rubric": [GOOD, GOOD]}, "two labels"),
        ({"rubric": [GOOD, {"label": "x", "value": 1}]}, "two values"),
    ],
)
def test_what_contradicts_itself(more, message):
    with pytest.raises(ValueError, match=message):
        spec(**more)
