"""Whether an agent keeps to its topics: the formula, the calls, what is no input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_process import TERMS, judged, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.judge_scorers import TopicAdherence, TopicAdherenceSpec, adherence

if TYPE_CHECKING:
    from pathlib import Path

    from judge_process import JudgeProcess


def scorer(judge_server: JudgeProcess, mode: Any = "f1", query: str = "") -> TopicAdherence:
    spec = TopicAdherenceSpec(
        type="topic_adherence", metric_mode=mode, judge_model=judge_server.model(query)
    )
    return TopicAdherence(spec, TERMS)


def conversation(topics: str, refused: str = "none") -> list[dict[str, Any]]:
    said = f"[[topics: {topics}]] [[refused: {refused}]]"
    return [{"type": "human", "content": said}, {"type": "ai", "content": "Well."}]


@pytest.mark.parametrize(
    ("mode", "expected"), [("precision", 2 / 3), ("recall", 2 / 3), ("f1", 2 / 3)]
)
def test_the_three_modes(judge_server: JudgeProcess, mode: str, expected: float) -> None:
    made = scorer(judge_server, mode)
    assert made.scores == (f"topic_adherence(mode={mode})",)
    # health and food answered on topic, cars answered off topic, sport refused on topic
    found = row(
        user_input=conversation("health, food, cars, sport, tax", "sport, tax"),
        reference_topics=["health", "food", "sport"],
    )
    explained = judged(made, found)
    assert explained.scores == pytest.approx(expected, abs=1e-9)
    assert "cars: answered, off topic" in explained.reason
    assert "sport: refused, on topic" in explained.reason
    assert judge_server.posts == 5 + 2


def test_the_same_from_the_journal(judge_server: JudgeProcess, tmp_path: Path) -> None:
    made = scorer(judge_server, query="bad=first&takes=json_object")
    found = row(user_input=conversation("a, b, c", "b"), reference_topics=["a", "b"])
    first = judged(made, found, tmp_path / "j")
    posts = judge_server.posts
    assert posts == 2 * 5 + 1
    assert judged(made, found, tmp_path / "j") == first
    assert judge_server.posts == posts


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"reference_topics": ["a"]}, "no-user_input"),
        ({"user_input": "[[topics: a]]"}, "no-reference_topics"),
        ({"user_input": "[[topics: a]]", "reference_topics": []}, "no-reference_topics"),
        ({"user_input": "[[topics: a]]", "reference_topics": "a"}, "bad-reference_topics"),
        ({"user_input": "[[topics: a]]", "reference_topics": [1]}, "bad-reference_topics"),
        ({"user_input": [], "reference_topics": ["a"]}, "bad-user_input"),
        ({"user_input": [{"type": "alien"}], "reference_topics": ["a"]}, "bad-user_input"),
        ({"user_input": 3, "reference_topics": ["a"]}, "bad-user_input"),
    ],
)
def test_a_row_that_can_not_be_judged_costs_nothing(
    judge_server: JudgeProcess, item: dict[str, Any], kind: str
) -> None:
    with pytest.raises(RowError) as raised:
        judged(scorer(judge_server), row(**item))
    assert raised.value.kind == kind
    assert judge_server.posts == 0


def test_no_topics_are_no_score(judge_server: JudgeProcess) -> None:
    found = row(user_input="hello", reference_topics=["a"])
    with pytest.raises(RowError) as raised:
        judged(scorer(judge_server), found)
    assert raised.value.kind == "no-topics"
    assert judge_server.posts == 1


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_adherence_is_a_share(pairs: list[tuple[bool, bool]]) -> None:
    answered, on_topic = ([p[0] for p in pairs], [p[1] for p in pairs])
    precision, recall, f1 = (
        adherence(answered, on_topic, mode) for mode in ("precision", "recall", "f1")
    )
    assert 0 <= f1 <= 1
    assert min(precision, recall) - 1e-9 <= f1 <= max(precision, recall) + 1e-9
    if all(on_topic) and all(answered):
        assert f1 == pytest.approx(1)
    if not any(on_topic):
        assert precision == recall == f1 == 0
