"""A judge with a prompt and scores of the user's own; several of them."""

import json

import pytest
from judge_process import judged, row, scorer_of
from scoring.scorers.offline import entry

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import CallError, Row

QUALITY = {"name": "quality", "description": "how good", "minimum": 1, "maximum": 5}
TONE = {
    "name": "tone",
    "rubric": [
        {"label": "kind", "value": 1, "description": "warm"},
        {"label": "cold", "value": 0},
    ],
}
SAY = "Rate {{ item.text }}. [[say: {{ item.say }}]]"
MODEL = {"url": "http://h/v1", "name": "a"}


def make(**keys):
    options = {"type": "llm-judge", "prompt_template": SAY, "scores": [QUALITY], **keys}
    return scorer_of(**options)


def reply(**answer):
    return row(text="this", say=json.dumps(answer))


def test_messages_and_the_description_of_the_scores(judge_server):
    template = [
        {
            "role": "system",
            "content": "{% for s in scores.values() %}{{ s.name }}, {% endfor %}",
        },
        {"role": "user", "content": SAY},
    ]
    model = judge_server.entry(system_prompt="never sent")
    scorer = make(judge_model=model, prompt_template=template, scores=[QUALITY, TONE])
    judged(scorer, reply(quality=4, tone="kind"))
    messages = judge_server.bodies[0]["messages"]
    assert [m["role"] for m in messages] == ["system", "user"]
    assert messages[0]["content"] == "quality, tone, "


def test_the_default_prompt_shows_the_row_and_the_rubric(judge_server):
    scorer = make(
        model=judge_server.entry(), prompt_template=None, scores=[QUALITY, TONE]
    )
    item = {"say": '[[say: {"quality": 2, "tone": "cold"}]]'}
    judged(scorer, Row(0, "a", 0, 0, item, {"output_text": "the answer"}))
    asked = judge_server.bodies[0]["messages"][0]["content"]
    for part in (
        "the answer",
        "- quality: how good",
        "  - kind: warm",
        '"kind" or "cold"',
    ):
        assert part in asked
    assert scorer.judges[0].versions == {"prompts": "2"}


FORM = {
    "type": "object",
    "properties": {
        "quality": {"type": "number", "description": "how good"},
        "tone": {"type": "string", "enum": ["kind", "cold"]},
        "fit": {"type": "number", "description": "from 1 to 5"},
    },
    "required": ["quality", "tone", "fit"],
    "additionalProperties": False,
}
PATTERN = {"name": "quality", "parser": {"pattern": r"(\d)", "method": "search"}}
AT_PATH = {"name": "quality", "parser": {"json_path": "$.quality"}}


@pytest.mark.parametrize(
    ("more", "form"),
    [
        ({"structured_output": False}, None),
        ({"structured_output": {"schema": {"type": "object"}}}, {"type": "object"}),
        (
            {"scores": [QUALITY, TONE, {"name": "fit", "minimum": 1, "maximum": 5}]},
            FORM,
        ),
        ({"scores": [{"name": "fit"}, PATTERN]}, None),
        ({"scores": [AT_PATH]}, None),
    ],
)
def test_the_form_that_is_asked_for(judge_server, more, form):
    judged(
        make(model=judge_server.entry(), **more), reply(quality=4, tone="kind", fit=2)
    )
    asked = judge_server.bodies[0].get("response_format")
    assert (asked and asked["json_schema"]["schema"]) == form


def panel(judge_server, *queries, **more):
    judges = [
        {"url": judge_server.url(query), "name": f"org/judge {number}"}
        for number, query in enumerate(queries)
    ]
    return make(judges=judges, **more)


def test_several_judges_each_have_a_score_of_their_own(judge_server):
    scorer = panel(judge_server, "", "")
    assert scorer.scores == ("quality", "quality@org_judge_0", "quality@org_judge_1")
    assert judged(scorer, reply(quality=4)).scores == dict.fromkeys(scorer.scores, 4)
    assert [b["model"] for b in judge_server.bodies] == ["org/judge 0", "org/judge 1"]
    assert make(judges=[MODEL, MODEL]).scores == ("quality", "quality@a", "quality@a_2")


def test_one_judge_that_fails_leaves_no_score_of_the_others(judge_server):
    with pytest.raises((RowError, CallError), match=r"no JSON object.*asked twice"):
        judged(panel(judge_server, "", "bad=always"), reply(quality=4))
    assert judge_server.posts == 3


@pytest.mark.parametrize(
    ("combine", "values", "expected"),
    [
        ("mean", [1, 2, 4.5], 2.5),
        ("majority", [1, 5, 2, 3, 5], 5),
    ],
)
def test_several_scores_become_one(combine, values, expected):
    panel = make(judges=[MODEL] * 2, combine=combine).function.__self__
    assert panel._combine(values) == expected


def test_scores_without_a_majority_are_no_score():
    panel = make(judges=[MODEL] * 2, combine="majority").function.__self__
    with pytest.raises(RowError, match=r"no majority: the judges say \[1, 5\]"):
        panel._combine([1, 5])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"model": MODEL, "judge_model": MODEL},
        {"model": MODEL, "structured_output": {"f": 1}},
    ],
)
def test_what_a_judge_needs(more):
    with pytest.raises(ValueError, match=r"missing|say the same|structured_output"):
        make(**more)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"quality": 4, "reasoning": "it is\\n good"}', "it is good"),
        ('{"quality": 4, "explanation": "fine"}', "fine"),
        ('{"quality": 4, "reason": "", "rationale": "why"}', "why"),
        ('{"quality": 4}', ""),
    ],
)
def test_the_reason_is_a_key_of_the_answer(judge_server, answer, reason):
    scorer = make(model=judge_server.entry())
    assert judged(scorer, row(text="this", say=answer)).reason == reason


@pytest.mark.parametrize(
    ("more", "form"),
    [
        ({}, '{"fit": a number}'),
        ({"minimum": 1}, '{"fit": a number from 1}'),
        ({"maximum": 5}, '{"fit": a number up to 5}'),
        ({"minimum": 1, "maximum": 5}, '{"fit": a number from 1 to 5}'),
    ],
)
def test_the_default_prompt_names_the_range(judge_server, more, form):
    scorer = make(
        model=judge_server.entry(),
        prompt_template=None,
        scores=[{"name": "fit", **more}],
    )
    judged(scorer, row(say='[[say: {"fit": 2}]]'))
    asked = judge_server.bodies[0]["messages"][0]["content"]
    assert asked.endswith(form)
    assert "Judge the data by:\n- fit\n" in asked


def test_a_repeated_judgement_has_numbered_scores_and_reasons(judge_server):
    scorer = make(model=judge_server.entry(), judge_repeats=2)
    item = row(text="repeated", say='{"quality": 4, "reason": "fine"}')
    scored = judged(scorer, item)
    assert scored.scores == {"quality": 4, "quality@1": 4, "quality@2": 4}
    assert scored.reason == "1: fine; 2: fine"
    assert judge_server.posts == 2


@pytest.mark.parametrize(
    ("combine", "labels"), [("majority", (("kind", 1), ("cold", 0))), ("mean", ())]
)
def test_a_mean_of_labels_is_no_label(combine, labels):
    panel = make(judges=[MODEL] * 2, combine=combine, scores=[TONE]).function.__self__
    assert panel.about["tone"].labels == labels
    assert panel.about["tone"].judges == ("tone@a", "tone@a_2")
    assert panel.about["tone"].level == "nominal"
    assert panel.about["tone@a"].labels == (("kind", 1), ("cold", 0))


def test_facts_of_a_score_hold_for_each_judges_own():
    spec = entry(
        type="llm-judge", judges=[MODEL] * 2, prompt_template=SAY, scores=[QUALITY]
    )
    for name in ("quality", "quality@a"):
        assert (spec.facts_of(name).low, spec.facts_of(name).high) == (1, 5)
    assert spec.facts_of("other").low is None


def test_several_judges_are_not_asked_repeatedly():
    with pytest.raises(ValueError, match="judge_repeats asks one model"):
        make(judges=[MODEL] * 2, judge_repeats=2)
