"""``topic_adherence``: whether an agent answers on its topics, and on no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import json_in, side_by_side
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import column_of, conversation_of
from pytest_evalmetrics.scorers.judges import OneJudge, field_of, unusable
from pytest_evalmetrics.scorers.prompts import topic_adherence as prompts
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.scorers.reading import shown

if TYPE_CHECKING:
    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import TopicAdherenceSpec

__all__ = ["TopicAdherence", "adherence"]

_EPSILON = 1e-10


@register_scorer("topic_adherence")
class TopicAdherence(OneJudge):
    """Compares what an agent answered and refused with ``reference_topics``.

    One call finds the topics of the conversation; then, side by side, one call for each of
    them asks whether the agent refused it, and one which of them are on topic.
    """

    def __init__(self, spec: TopicAdherenceSpec, terms: Terms) -> None:
        super().__init__(spec, terms, "topic-adherence", prompts.VERSION)
        self._mode = spec.metric_mode

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        references = _references(row)
        conversation = conversation_of(row)
        topics = await self._judge.ask(
            calls, prompts.ask_for_topics(conversation), _topics, prompts.TOPICS
        )
        if not topics:
            raise RowError(
                "no-topics",
                "the judge found no topic in the conversation, so there is nothing to adhere to",
            )
        on_topic, *refused = await side_by_side(
            [
                self._judge.ask(
                    calls,
                    prompts.ask_for_matches(topics, references),
                    lambda reply: _matches(reply, len(topics)),
                    prompts.MATCHES,
                ),
                *(
                    self._judge.ask(
                        calls,
                        prompts.ask_for_refusal(conversation, topic),
                        _refused,
                        prompts.REFUSED,
                    )
                    for topic in topics
                ),
            ]
        )
        answered = [not one[0] for one in refused]
        told = "; ".join(
            f"{topic}: {'answered' if a else 'refused'}, {'on' if on else 'off'} topic"
            for topic, a, on in zip(topics, answered, on_topic, strict=True)
        )
        return Explained(adherence(answered, on_topic, self._mode), told)


def adherence(answered: list[bool], on_topic: list[bool], mode: str = "f1") -> float:
    """Give precision, recall or F1 of what was answered.

    True positives were answered and are on topic, false positives were answered and are off
    topic, false negatives were refused and are on topic; 1e-10 is added to each
    denominator. The formula of ``TopicAdherence`` in RAGAS 0.4.
    """
    pairs = list(zip(answered, on_topic, strict=True))
    hits, wrong, lost = (pairs.count(p) for p in ((True, True), (True, False), (False, True)))
    precision = hits / (hits + wrong + _EPSILON)
    recall = hits / (hits + lost + _EPSILON)
    f1 = 2 * precision * recall / (precision + recall + _EPSILON)
    return {"precision": precision, "recall": recall, "f1": f1}[mode]


def _references(row: Row) -> list[str]:
    found = column_of(row, "reference_topics")
    if not isinstance(found, list) or not all(isinstance(t, str) and t.strip() for t in found):
        raise RowError(
            "bad-reference_topics", f"reference_topics is {shown(found)}, expected a list of texts"
        )
    if not found:
        raise RowError("no-reference_topics", "reference_topics is empty: nothing is on topic then")
    return found


def _topics(reply: Reply) -> list[str]:
    found = field_of(reply, "topics", list, "a list of texts")
    if not all(isinstance(topic, str) and topic.strip() for topic in found):
        raise unusable("topics", found, "a list of texts")
    return list(dict.fromkeys(topic.strip() for topic in found))


def _refused(reply: Reply) -> list[bool]:
    return [field_of(reply, "refused", bool, "true or false")]


def _matches(reply: Reply, wanted: int) -> list[bool]:
    found = field_of(reply, "matches", list, f"a list of {wanted}")
    if len(found) != wanted:
        raise RowError(
            "bad-answer",
            f"the judge classified {many(len(found), 'topic')}, expected {wanted}: "
            f"{shown(json_in(reply))}",
        )
    return [_on_topic(each) for each in found]


def _on_topic(found: Any) -> bool:
    value = found.get("on_topic") if isinstance(found, dict) else found
    if not isinstance(value, bool):
        raise unusable("matches", found, "{topic, on_topic: true or false}")
    return value
