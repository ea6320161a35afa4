"""Scores in what a judge said, as the NeMo Evaluator SDK finds them, and where we differ."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.scorers.offline import entry

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply, Row
from pytest_evalmetrics.scoring.scorers.judge import refuse_other_words

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


# -- what a judge's answer must not be ------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "taken"),
    [
        (r"SCORE: (\d)", "SCORE: 10", "1"),
        (r"SCORE: (\d)", "SCORE: 3.5", "3"),
        (r"SCORE: (\d)", "SCORE: 3,5", "3"),
        (r"SCORE: (\d)", "SCORE: 3-4", "3"),
        (r"SCORE: (\d)", "SCORE: 3 to 4", "3"),
        (r"SCORE: (\d)", "SCORE: 3 %", "3"),
        (r"SCORE: (\d)", "SCORE: 3e2", "3"),
        (r"SCORE: -(\d)", "SCORE: -3", "3"),
        (r"SCORE: 1(\d)", "SCORE: 13", "3"),
        (r"SCORE: 1\.(\d)", "SCORE: 1.3", "3"),
    ],
)
def test_a_part_of_a_number_is_no_score(pattern, text, taken):
    with pytest.raises(RowError, match=f"takes {taken} out of") as raised:
        spec(pattern=pattern).read(Reply(text))
    assert raised.value.kind == "no-score"
    assert "takes a whole number" in raised.value.hint


@pytest.mark.parametrize(
    "text", ["SCORE: 3", "SCORE: 3.", "SCORE: 3/5", "SCORE: 3, fine", "SCORE: 3 points"]
)
def test_a_whole_number_is_a_score(text):
    assert spec(pattern=SCORE).read(Reply(text)) == 3


def test_a_pattern_that_matches_from_the_beginning_says_how_to_search():
    with pytest.raises(RowError, match="method: search looks anywhere"):
        spec(pattern=SCORE).read(Reply("so SCORE: 3"))
    with pytest.raises(RowError) as raised:
        spec(pattern=SCORE, method="search").read(Reply("so"))
    assert "looks anywhere" not in raised.value.message


@pytest.mark.parametrize(
    "answer",
    [
        '{"quality": 4, "id": 7}',
        '{"verdict": {"quality": 4, "id": 7}}',
        '{"quality": 4, "rows": [{"quality": 4, "id": 7}]}',
    ],
)
def test_an_answer_that_repeats_the_row_is_no_verdict(answer):
    judged = Row(0, "a", "t", 0, {"quality": 4, "id": 7}, {})
    score = spec("quality", parser={"json_path": "$..quality"})
    with pytest.raises(RowError, match="repeated the row"):
        spec("quality").read(Reply(answer.replace("verdict", "quality")), judged)
    assert score.read(Reply('{"quality": 4}'), judged) == 4


@pytest.mark.parametrize("answer", ['{"quality": 4}', '{"quality": 4, "id": 8}'])
def test_an_answer_that_only_agrees_with_the_row_is_a_verdict(answer):
    judged = Row(0, "a", "t", 0, {"quality": 4, "id": 7}, {})
    assert spec("quality").read(Reply(answer), judged) == 4


def test_an_answer_that_repeats_what_was_generated_is_no_verdict():
    judged = Row(0, "a", "t", 0, {}, {"quality": 4, "id": 7})
    with pytest.raises(RowError) as raised:
        spec("quality").read(Reply('{"quality": 4, "id": 7}'), judged)
    assert raised.value.kind == "echo"


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("json range", '{"quality": 4} so quality: 2'),
        ("json rubric", '{"tone": "good"} so the tone is bad'),
    ],
)
def test_words_that_say_another_score_are_a_contradiction(parser, text):
    with pytest.raises(RowError) as raised:
        PARSERS[parser].read(Reply(text))
    assert raised.value.kind == "disagree"


@pytest.mark.parametrize(
    ("parser", "text", "value"),
    [
        ("json range", '{"quality": 4} so quality: 4.0', 4),
        ("json range", '{"quality": 4} so quality is fine', 4),
        ("json rubric", '{"tone": "good"} so the tone is good', 1),
        ("json rubric", '{"tone": "good"} so the tone is warm', 1),
    ],
)
def test_words_that_say_the_same_or_no_score_change_nothing(parser, text, value):
    assert PARSERS[parser].read(Reply(text)) == value


@pytest.mark.parametrize(
    ("said", "value", "refused"),
    [
        ("right: true", False, True),
        ("right: True", True, False),
        ("right: yes", False, False),
        ("right: 1", None, False),
    ],
)
def test_a_word_is_compared_with_a_value_of_its_kind(said, value, refused):
    reply = Reply(f"{{}} {said}")
    if refused:
        with pytest.raises(RowError, match="it is not clear which counts"):
            refuse_other_words(reply, "right", value)
    else:
        refuse_other_words(reply, "right", value)


def test_the_facts_of_a_score_are_its_range_or_that_of_its_rubric():
    ranged = spec(minimum=1, maximum=5, direction="lower").facts
    assert (ranged.direction, ranged.low, ranged.high) == ("lower", 1, 5)
    levels = PARSERS["json rubric"]
    assert (levels.facts.low, levels.facts.high) == (0, 1)
    assert levels.about.labels == (("good", 1), ("bad", 0))


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": "a"}, "no group that holds the score"),
        ({"pattern": "(a)", "group": 2}, "no group 2"),
        ({"pattern": "(a)", "group": "n"}, "no group 'n'"),
        ({"json_path": "$["}, r"\$\["),
    ],
)
def test_parsers_that_find_nothing_are_refused(parser, message):
    with pytest.raises(ValueError, match=message):
        spec(parser=parser)
