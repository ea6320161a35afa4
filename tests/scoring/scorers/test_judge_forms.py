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


@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_an_answer_is_a_verdict_or_none(judge_server, form):
    scorer = scorer_for(judge_server, form)
    item = form.get("row", {"response": "Paris"})
    if form["score"] is not None:
        scores = judged(scorer, row(**item)).scores
        assert list(scores.values()) == [form["score"]]
        assert judge_server.posts == 1
        return
    with pytest.raises(RowError) as raised:
        judged(scorer, row(**item))
    assert raised.value.kind == form["kind"]
    assert "asked twice" in raised.value.message
    first, second = judge_server.bodies
    assert second == first
