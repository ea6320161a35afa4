"""Forms of judges' answers: a verdict, or none; the question stays the same.

Each form of `judge_forms.json` is a message of a judge that is to score `quality` from 1 to 5,
and the score that it gives; null for no verdict, with the kind of the row's error.
"""

import json
from pathlib import Path

import pytest
from judge_process import judged, row, scorer_of

from pytest_evalmetrics.errors import RowError

FORMS = json.loads(
    (Path(__file__).parent / "judge_forms.json").read_text(encoding="utf-8")
)
QUALITY = {"name": "quality", "minimum": 1, "maximum": 5}


def scorer_for(judge_server, form):
    keys = dict(form.get("keys", {}))
    reasoning = keys.pop("reasoning", None)
    more = {"reasoning": reasoning} if reasoning else {}
    model = judge_server.entry(f"form={FORMS.index(form)}", **more)
    return scorer_of(
        **{"type": "llm-judge", "model": model, "scores": [QUALITY], **keys}
    )


def row_of(form):
    return row(**form.get("row", {"response": "Paris"}))


def named(forms):
    return [pytest.param(form, id=form["form"]) for form in forms]


VERDICTS = [form for form in FORMS if form["score"] is not None]
NO_VERDICTS = [form for form in FORMS if form["score"] is None]


@pytest.mark.parametrize("form", named(VERDICTS))
def test_a_verdict_is_read_with_one_question(judge_server, form):
    scores = judged(scorer_for(judge_server, form), row_of(form)).scores
    assert list(scores.values()) == [form["score"]]
    assert judge_server.posts == 1


@pytest.mark.parametrize("form", named(NO_VERDICTS))
def test_an_answer_that_is_no_verdict_is_asked_for_once_more(judge_server, form):
    with pytest.raises(RowError) as raised:
        judged(scorer_for(judge_server, form), row_of(form))
    assert raised.value.kind == form["kind"]
    assert "asked twice" in raised.value.message
    first, second = judge_server.bodies
    assert second == first
