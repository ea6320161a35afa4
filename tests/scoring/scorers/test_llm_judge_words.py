"""``llm-judge`` in this process: how a score is found, and what a person reads where none is."""

import json

import pytest
from pydantic import ValidationError
from scoring.scorers.inline_judge import MODEL, judged, prompts, said, scorer_of
from scoring.scorers.offline import entry
from scoring.transport.fakes import Client, ok

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.model.metric_facts import ScoreFacts
from pytest_evalmetrics.model.scoring_notes import UntrustedValues
from pytest_evalmetrics.scoring.scorers.scorer import About


@pytest.fixture
def client(tmp_path):
    with Client(tmp_path / "journal.log") as client:
        yield client


def keys_of(*scores, **keys):
    models = {} if "judges" in keys else {"model": MODEL}
    return {"type": "llm-judge", "scores": list(scores), **models, **keys}


def scored(client, answer, *scores, item=None, **keys):
    """Judge a row; return what is made of one answer of the judge."""
    client(said(answer))
    scorer = scorer_of(**keys_of(*scores, **keys))
    return judged(client, scorer, item or {"response": "5"})


def refused(client, answer, *scores, **keys):
    """Judge a row in vain; return the kind and the words of its error."""
    with pytest.raises(RowError) as raised:
        scored(client, answer, *scores, **keys)
    message = raised.value.message.removesuffix(" (asked twice)")
    assert message != raised.value.message
    return raised.value.kind, message


QUALITY = {"name": "quality", "minimum": 1, "maximum": 5}
FREE = {"name": "quality"}
TONE = {
    "name": "tone",
    "rubric": [
        {"label": "kind", "value": 1},
        {"label": "neutral", "value": 0.5},
        {"label": "cold", "value": 0},
    ],
}


def regex(pattern, **keys):
    parser = {"type": "regex", "pattern": pattern, **keys}
    return {"name": "quality", "parser": parser}


def by_path(path):
    return {"name": "quality", "parser": {"json_path": path}}


# -- scores in JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "answer", "value"),
    [
        (QUALITY, {"quality": 4}, 4.0),
        (QUALITY, {"quality": 1}, 1.0),
        (QUALITY, {"quality": 5.0}, 5.0),
        (FREE, {"quality": True}, 1.0),
        (FREE, {"quality": -7.5}, -7.5),
        (by_path("grade"), {"grade": 3}, 3.0),
        (by_path("$.a[1].b"), {"a": [{}, {"b": 3}]}, 3.0),
        (TONE, {"tone": "neutral"}, 0.5),
    ],
)
def test_a_score_is_found_in_the_json_of_an_answer(client, score, answer, value):
    assert scored(client, answer, score).scores == {score["name"]: value}


@pytest.mark.parametrize(
    ("score", "answer", "kind", "message"),
    [
        (
            QUALITY,
            {"grade": 4},
            "no-score",
            "the judge's answer has no 'quality': {\"grade\": 4}",
        ),
        (QUALITY, [4], "no-score", "the judge's answer has no 'quality': [4]"),
        (
            by_path("$.a"),
            {"b": 1},
            "no-score",
            "the judge's answer has no '$.a': {\"b\": 1}",
        ),
        (
            QUALITY,
            {"quality": "4"},
            "no-number",
            'the judge\'s quality is "4", expected a number',
        ),
        (
            QUALITY,
            {"quality": True},
            "no-number",
            "the judge's quality is true, expected a number",
        ),
        (
            {"name": "quality", "maximum": 5},
            {"quality": False},
            "no-number",
            "the judge's quality is false, expected a number",
        ),
        (QUALITY, {"quality": None}, "no-score", "the judge's quality is null"),
        (
            QUALITY,
            {"quality": 0},
            "out-of-range",
            "quality is 0, expected at least 1 and at most 5",
        ),
        (
            TONE,
            {"tone": "Kind"},
            "no-label",
            (
                "the judge's tone is \"Kind\", no label: did you mean 'kind'? its labels: cold, "
                "kind, neutral"
            ),
        ),
        (
            TONE,
            {"tone": 1},
            "no-label",
            "the judge's tone is 1, no label: its labels: cold, kind, neutral",
        ),
    ],
)
def test_what_is_no_score_in_json_says_why(client, score, answer, kind, message):
    assert refused(client, answer, score) == (kind, message)


def test_a_judge_that_repeats_the_row_gives_no_verdict(client):
    row = {"response": "5", "quality": 4}
    kind, message = refused(client, {"quality": 4, "response": "5"}, QUALITY, item=row)
    assert kind == "echo"
    assert message == (
        "the judge repeated the row in place of a verdict: "
        '{"quality": 4, "response": "5"}'
    )


@pytest.mark.parametrize(
    "answer",
    [{"quality": 4}, {"quality": 4, "response": "6"}, {"quality": 3, "response": "5"}],
)
def test_an_answer_that_shares_a_value_with_the_row_is_a_verdict(client, answer):
    row = {"response": "5", "quality": 4}
    assert scored(client, answer, QUALITY, item=row).scores == {
        "quality": float(answer["quality"])
    }


@pytest.mark.parametrize(
    ("text", "score", "says"),
    [
        (
            '{"quality": 4}\nquality: 3',
            QUALITY,
            '{"quality": 4.0} and "quality: 3"',
        ),
        (
            '{"tone": "kind"}\ntone: cold',
            TONE,
            '{"tone": "kind"} and "tone: cold"',
        ),
    ],
)
def test_words_that_contradict_the_json_are_no_verdict(client, text, score, says):
    kind, message = refused(client, text, score)
    assert kind == "disagree"
    assert message == f"the judge's answer says {says}: it is not clear which counts"


@pytest.mark.parametrize(
    ("text", "score", "value"),
    [
        ('{"quality": 4}\nquality: 4.0', QUALITY, 4.0),
        ('{"quality": 4}\nquality: high', QUALITY, 4.0),
        ('{"tone": "kind"}\ntone: kind', TONE, 1.0),
        ('{"tone": "kind"}\ntone: friendly', TONE, 1.0),
    ],
)
def test_words_that_say_the_same_or_nothing_are_fine(client, text, score, value):
    assert list(scored(client, text, score).scores.values()) == [value]


# -- scores in any text --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "text", "value"),
    [
        (regex(r"SCORE: (\d+)"), "SCORE: 4, as it is", 4.0),
        (regex(r"SCORE: (\d+)", method="search"), "I say SCORE: 4.", 4.0),
        (regex(r"(\w+): (\d+)", group=2), "SCORE: 4", 4.0),
        (regex(r"(?P<n>\d+)", group="n"), "4", 4.0),
        (regex(r"(-?\d+)"), "-4", -4.0),
        (regex(r"([\d.]+)"), "4.5 points", 4.5),
        ({**TONE, "parser": {"pattern": r"(\w+)"}}, "cold as ice", 0.0),
    ],
)
def test_a_score_is_found_by_a_pattern(client, score, text, value):
    assert list(scored(client, text, score).scores.values()) == [value]


@pytest.mark.parametrize(
    ("score", "text", "message"),
    [
        (
            regex(r"SCORE: (\d+)"),
            "I say SCORE: 4",
            (
                r"the judge's answer does not match 'SCORE: (\\d+)' (method: search looks "
                'anywhere): "I say SCORE: 4"'
            ),
        ),
        (
            regex(r"SCORE: (\d+)", method="search"),
            "four",
            "the judge's answer does not match 'SCORE: (\\\\d+)': \"four\"",
        ),
        (
            regex(r"a|(\d)"),
            "a",
            (
                "the judge's answer does not match 'a|(\\\\d)' (method: search looks anywhere): "
                '"a"'
            ),
        ),
    ],
)
def test_a_text_that_a_pattern_does_not_match_is_shown(client, score, text, message):
    assert refused(client, text, score) == ("no-score", message)


@pytest.mark.parametrize(
    ("pattern", "text", "number"),
    [
        (r"SCORE: (\d)", "SCORE: 10", "1"),
        (r"SCORE: (\d)", "SCORE: 3.5", "3"),
        (r"SCORE: (\d)", "SCORE: 3-4", "3"),
        (r"SCORE: (\d)", "SCORE: 3 to 4", "3"),
        (r"SCORE: (\d)", "SCORE: 3 %", "3"),
        (r"SCORE: (\d)", "SCORE: 3e2", "3"),
        (r"SCORE: -(\d)", "SCORE: -3", "3"),
        (r"SCORE: \d(\d)", "SCORE: 12", "2"),
    ],
)
def test_a_part_of_a_number_is_no_score(client, pattern, text, number):
    kind, message = refused(client, text, regex(pattern))
    assert kind == "no-score"
    assert message.startswith(f"{pattern!r} takes {number} out of ")
    assert message.endswith(", which is another number")


def test_a_part_of_a_number_is_shown_with_what_stands_around_it(client):
    with pytest.raises(RowError) as raised:
        scored(client, "I give a SCORE: 10 out of 100 points", regex(r".*SCORE: (\d)"))
    assert raised.value.message == (
        "'.*SCORE: (\\\\d)' takes 1 out of \" SCORE: 10 out of\", which is another number "
        "(asked twice)"
    )
    assert raised.value.hint == (
        r"write a pattern that takes a whole number, such as SCORE: (\d+)\b"
    )


# -- the reason ----------------------------------------------------------------------------------------


def reply(content, **message):
    return ok({"choices": [{"message": {"content": content, **message}}]})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said({"quality": 4, "reasoning": "a", "reason": "b"}), "a"),
        (said({"quality": 4, "reason": "b  c\n d", "explanation": "e"}), "b c d"),
        (said({"quality": 4, "explanation": "e", "rationale": "f"}), "e"),
        (said({"quality": 4, "rationale": "f"}), "f"),
        (said({"quality": 4}), ""),
        (reply('{"quality": 4}', reasoning="because"), "because"),
        (reply('{"quality": 4, "reason": "a"}', reasoning="because"), "a"),
    ],
)
def test_the_reason_of_a_score(client, answer, reason):
    client(answer)
    scorer = scorer_of(**keys_of(QUALITY))
    assert judged(client, scorer, {"response": "5"}).reason == reason


def test_the_reason_of_a_score_in_a_text_is_the_text(client):
    assert scored(client, "4: it\n is", regex(r"(\d)")).reason == "4: it is"


# -- what is sent --------------------------------------------------------------------------------------


def form_of(client):
    return json.loads(client.sender.bodies[0]).get("response_format")


def test_the_form_of_an_answer_is_asked_for(client):
    described = {**QUALITY, "name": "depth", "description": "how deep"}
    answer = {"quality": 4, "depth": 3, "tone": "kind"}
    scored(client, answer, QUALITY, described, TONE)
    assert form_of(client)["json_schema"]["schema"] == {
        "type": "object",
        "properties": {
            "quality": {"type": "number", "description": "from 1 to 5"},
            "depth": {"type": "number", "description": "how deep"},
            "tone": {"type": "string", "enum": ["kind", "neutral", "cold"]},
        },
        "required": ["quality", "depth", "tone"],
        "additionalProperties": False,
    }


def test_a_key_of_another_name_is_asked_for_by_it(client):
    scored(client, {"grade": 4}, by_path("grade"))
    schema = form_of(client)["json_schema"]["schema"]
    assert schema["properties"] == {"grade": {"type": "number"}}


def test_the_form_may_be_given(client):
    schema = {"type": "object", "properties": {"quality": {"type": "integer"}}}
    scored(client, {"quality": 4}, QUALITY, structured_output={"schema": schema})
    assert form_of(client)["json_schema"]["schema"] == schema


@pytest.mark.parametrize(
    ("score", "answer", "keys"),
    [
        (QUALITY, {"quality": 4}, {"structured_output": False}),
        (regex(r"(\d)"), "4", {}),
        (by_path("$.a"), {"a": 4}, {}),
    ],
)
def test_no_form_is_asked_for_where_none_is_known(client, score, answer, keys):
    scored(client, answer, score, **keys)
    assert form_of(client) is None


def test_a_prompt_of_ones_own_has_the_row_and_the_scores(client):
    prompt = (
        "{{ response }} {{ item.response }} {{ scores.quality.minimum }} "
        "{{ scores.quality.description }} {{ scores.tone.rubric[1].label }} "
        "{{ scores.tone.maximum is defined }}"
    )
    described = {**QUALITY, "description": "how good"}
    answer = {"quality": 4, "tone": "kind"}
    scored(client, answer, described, TONE, prompt_template=prompt)
    assert prompts(client) == ["5 5 1.0 how good neutral False"]


def test_values_of_a_row_that_stand_bare_in_a_prompt_are_noted():
    scorer = scorer_of(
        **keys_of(QUALITY, prompt_template="{{ response }} {{ scores }} {{ response }}")
    )
    assert scorer.notes == (UntrustedValues("llm-judge", ("response",)),)
    quoted = keys_of(QUALITY, prompt_template="{{ response | tojson }}")
    assert scorer_of(**quoted).notes == ()
    assert scorer_of(**keys_of(QUALITY)).notes == ()


def judge_of(**keys):
    (judge,) = scorer_of(**keys_of(QUALITY, **keys)).judges
    return judge


def test_a_judge_is_known_by_its_prompt():
    assert judge_of().versions == {"prompts": "2"}
    assert judge_of().prompt == ""
    own = judge_of(prompt_template="{{ response | tojson }}")
    assert own.versions == {}
    assert own.prompt == "1202e6e736aa"
    assert judge_of(prompt_template="{{ item | tojson }}").prompt != own.prompt


# -- several judges ------------------------------------------------------------------------------------


def several(*names, **keys):
    judges = [{**MODEL, "name": name} for name in names]
    return scorer_of(**keys_of(QUALITY, judges=judges, **keys))


def test_judges_of_one_name_are_numbered():
    assert several("org/judge:1", "b", "b", "b").scores == (
        "quality",
        "quality@org_judge_1",
        "quality@b",
        "quality@b_2",
        "quality@b_3",
    )


def test_several_judges_give_their_mean_and_their_reasons(client):
    client(
        said({"quality": 4, "reason": "fine"}),
        said({"quality": 1}),
        said({"quality": 1, "reason": "bad"}),
    )
    result = judged(client, several("a", "b", "c"), {"response": "5"})
    assert result.scores == {
        "quality": 2.0,
        "quality@a": 4.0,
        "quality@b": 1.0,
        "quality@c": 1.0,
    }
    assert result.reason == "a: fine; c: bad"


def test_the_majority_of_judges_decides(client):
    client(said({"quality": 4}), said({"quality": 1}), said({"quality": 1}))
    scorer = several("a", "b", "c", combine="majority")
    assert judged(client, scorer, {"response": "5"}).scores["quality"] == 1.0


def test_without_a_majority_there_is_no_score(client):
    client(said({"quality": 4}), said({"quality": 1}))
    with pytest.raises(RowError) as raised:
        judged(client, several("a", "b", combine="majority"), {"response": "5"})
    assert raised.value.kind == "no-majority"
    assert raised.value.message == "no majority: the judges say [4.0, 1.0]"


def test_repeated_judgements_are_numbered(client):
    client(said({"quality": 4, "reason": "a"}), said({"quality": 2, "reason": "b"}))
    scorer = scorer_of(**keys_of(QUALITY, judge_repeats=2))
    result = judged(client, scorer, {"response": "5"})
    assert result.scores == {"quality": 3.0, "quality@1": 4.0, "quality@2": 2.0}
    assert result.reason == "1: a; 2: b"
    assert scorer.repeats == 2
    assert len(scorer.judges) == 1


LABELS = (("kind", 1.0), ("neutral", 0.5), ("cold", 0.0))


@pytest.mark.parametrize(("combine", "labels"), [("majority", LABELS), ("mean", ())])
def test_a_mean_of_labels_is_no_label(combine, labels):
    judges = [{**MODEL, "name": name} for name in "ab"]
    scorer = scorer_of(**keys_of(TONE, judges=judges, combine=combine))
    assert scorer.about == {
        "tone": About(labels=labels, judges=("tone@a", "tone@b"), level="nominal"),
        "tone@a": About(labels=LABELS),
        "tone@b": About(labels=LABELS),
    }


def test_numbers_of_judges_differ_by_their_distance():
    assert several("a", "b").about["quality"].level == "interval"


# -- what a file may say -------------------------------------------------------------------------------


def test_a_score_has_the_range_that_the_file_gives_it():
    spec = entry(**keys_of({**QUALITY, "direction": "lower"}, TONE))
    assert spec.facts_of("quality") == ScoreFacts("lower", 1, 5)
    assert spec.facts_of("tone") == ScoreFacts(None, 0, 1)
    assert spec.facts_of("other") == ScoreFacts()


def test_the_score_of_one_judge_has_the_range_of_all():
    judges = [{**MODEL, "name": name} for name in "ab"]
    spec = entry(**keys_of(QUALITY, judges=judges))
    assert spec.facts_of("quality@b") == ScoreFacts(None, 1, 5)


@pytest.mark.parametrize(
    ("scores", "keys", "message"),
    [
        ([regex("(")], {}, "this is not a regular expression: "),
        (
            [regex(r"\d")],
            {},
            r"it has no group that holds the score, such as SCORE: (\d)",
        ),
        ([regex(r"(\d)", group=2)], {}, "the pattern has no group 2"),
        ([regex(r"(\d)", group="n")], {}, "the pattern has no group 'n'"),
        (
            [{**TONE, "minimum": 0}],
            {},
            "a rubric has labels, no minimum and maximum",
        ),
        (
            [{"name": "x", "rubric": [{"label": "a", "value": 1}] * 2}],
            {},
            "two labels of the rubric are the same: ['a', 'a']",
        ),
        (
            [
                {
                    "name": "x",
                    "rubric": [{"label": "a", "value": 1}, {"label": "b", "value": 1}],
                }
            ],
            {},
            "two values of the rubric are the same: [1.0, 1.0]",
        ),
        (
            [QUALITY],
            {"model": None},
            "model is missing: {url, name, api_key_secret}; or judges, a list of them",
        ),
        (
            [QUALITY],
            {"judge_model": MODEL},
            "model and judge_model say the same: write one of them",
        ),
        (
            [QUALITY],
            {"model": None, "judges": [MODEL, MODEL], "judge_repeats": 2},
            "judges are several models, judge_repeats asks one model: write one",
        ),
        (
            [QUALITY],
            {"structured_output": {"form": {}}},
            "structured_output has to be true, false or {schema: a JSON Schema}",
        ),
        (
            [QUALITY],
            {"structured_output": {"schema": 5}},
            "structured_output has to be true, false or {schema: a JSON Schema}",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_refused(scores, keys, message):
    whole = {"type": "llm-judge", "model": MODEL, "scores": scores, **keys}
    given = {key: value for key, value in whole.items() if value is not None}
    with pytest.raises(ValidationError) as raised:
        entry(**given)
    assert message in str(raised.value)
