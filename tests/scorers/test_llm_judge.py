"""A judge with a prompt and scores of the user's own; several of them."""

import json

import pytest
from judge_process import TERMS, judged, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import CallError, Row
from pytest_evalmetrics.scorers.llm_judge import JudgeScoreSpec, LlmJudge, LlmJudgeSpec, RubricSpec
from pytest_evalmetrics.spec.model_keys import ModelSpec

QUALITY = JudgeScoreSpec(name="quality", description="how good", minimum=1, maximum=5)
TONE = JudgeScoreSpec(
    name="tone",
    rubric=(
        RubricSpec(label="kind", value=1, description="warm"),
        RubricSpec(label="cold", value=0),
    ),
)
SAY = "Rate {{ item.text }}. [[say: {{ item.say }}]]"


def spec(**more):
    given = {"type": "llm-judge", "prompt_template": SAY, "scores": (QUALITY,), **more}
    return LlmJudgeSpec(**given)


def said(**answer):
    return row(text="this", say=json.dumps(answer))


def test_messages_and_what_is_said_of_the_scores(judge_server):
    template = [
        {"role": "system", "content": "{% for s in scores.values() %}{{ s.name }}, {% endfor %}"},
        {"role": "user", "content": SAY},
    ]
    model = judge_server.model(system_prompt="never sent")
    made = LlmJudge(
        spec(judge_model=model, prompt_template=template, scores=(QUALITY, TONE)), TERMS
    )
    judged(made, said(quality=4, tone="kind"))
    messages = judge_server.bodies[0]["messages"]
    assert [m["role"] for m in messages] == ["system", "user"]
    assert messages[0]["content"] == "quality, tone, "


def test_the_default_prompt_shows_the_row_and_the_rubric(judge_server):
    model = judge_server.model()
    made = LlmJudge(spec(model=model, prompt_template=None, scores=(QUALITY, TONE)), TERMS)
    item = {"say": '[[say: {"quality": 2, "tone": "cold"}]]'}
    generated = Row(0, "a", 0, 0, item, {"output_text": "the answer"})
    judged(made, generated)
    asked = judge_server.bodies[0]["messages"][0]["content"]
    for part in ("the answer", "- quality: how good", "  - kind: warm", '"kind" or "cold"'):
        assert part in asked
    assert made.judges[0].versions == {"prompts": "2"}


@pytest.mark.parametrize(
    ("structured_output", "form"),
    [(False, None), ({"schema": {"type": "object"}}, {"type": "object"})],
)
def test_the_form_that_is_asked_for(judge_server, structured_output, form):
    made = LlmJudge(spec(model=judge_server.model(), structured_output=structured_output), TERMS)
    judged(made, said(quality=4))
    asked = judge_server.bodies[0].get("response_format")
    assert (asked and asked["json_schema"]["schema"]) == form


def panel(judge_server, queries, **more):
    models = tuple(
        ModelSpec(url=judge_server.url(query), name=f"org/judge {number}")
        for number, query in enumerate(queries)
    )
    return LlmJudge(spec(judges=models, **more), TERMS)


def test_several_judges_each_have_a_score_of_their_own(judge_server):
    made = panel(judge_server, ["", "", ""])
    assert made.scores == (
        "quality",
        "quality@org_judge_0",
        "quality@org_judge_1",
        "quality@org_judge_2",
    )
    found = judged(made, said(quality=4))
    assert found.scores == dict.fromkeys(made.scores, 4)
    assert judge_server.posts == 3
    assert {b["model"] for b in judge_server.bodies} == {f"org/judge {n}" for n in range(3)}


def test_one_judge_that_fails_leaves_no_score_of_the_others(judge_server):
    made = panel(judge_server, ["", "bad=always"])
    with pytest.raises((RowError, CallError), match=r"no JSON object.*asked twice"):
        judged(made, said(quality=4))
    assert judge_server.posts == 3


def test_two_judges_of_one_name():
    models = (ModelSpec(url="http://h/v1", name="a"), ModelSpec(url="http://i/v1", name="a"))
    assert spec(judges=models).columns == {"quality": ("quality@a", "quality@a_2")}


@pytest.mark.parametrize(
    ("combine", "values", "expected"),
    [
        ("mean", [1, 2, 4.5], 2.5),
        ("majority", [5, 1, 5], 5),
        ("majority", [1, 5, 2, 3, 5], 5),
        ("majority", [1, 5], None),
    ],
)
def test_what_several_scores_come_to(combine, values, expected, judge_server):
    made = panel(judge_server, [""] * 2, combine=combine)
    if expected is None:
        with pytest.raises(RowError, match=r"no majority: the judges say \[1, 5\]"):
            made._combine(values)
    else:
        assert made._combine(values) == expected


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"model": ModelSpec(url="http://h/v1", name="a"), "judges": ()},
        {"model": ModelSpec(url="http://h/v1", name="a"), "structured_output": {"form": 1}},
    ],
)
def test_what_a_judge_needs(more):
    with pytest.raises(ValueError, match=r"missing|say the same|structured_output"):
        spec(**more)
