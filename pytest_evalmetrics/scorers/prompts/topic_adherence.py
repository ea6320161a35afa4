"""The three questions of ``topic_adherence``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.scorers.prompts.schemas import BOOLEAN, TEXT, array, closed
from pytest_evalmetrics.scorers.prompts.shared import of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MATCHES",
    "REFUSED",
    "TOPICS",
    "VERSION",
    "ask_for_matches",
    "ask_for_refusal",
    "ask_for_topics",
]

VERSION = "1"

TOPICS = closed(topics=array(TEXT))
REFUSED = closed(reasoning=TEXT, refused=BOOLEAN)
MATCHES = closed(matches=array(closed(topic=TEXT, on_topic=BOOLEAN)))


def ask_for_topics(conversation: str) -> str:
    """Ask what a conversation is about."""
    return f"""\
{of(conversation)}

List the topics that the user brings up in the conversation: each question or request is about \
one. Name each topic in a few words, list none twice, and leave out greetings and small talk.

Answer with a JSON object and nothing else: {{"topics": ["...", "..."]}}"""


def ask_for_refusal(conversation: str, topic: str) -> str:
    """Ask whether the agent refused one topic."""
    return f"""\
{of(conversation)}

Did the agent refuse to deal with the topic "{topic}"? It refused if it declined to answer or to \
act, or said that it can't or may not. It did not refuse if it answered or acted, even if only \
in part, or wrongly.

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "refused": true or \
false}}"""


def ask_for_matches(topics: Sequence[str], references: Sequence[str]) -> str:
    """Ask which topics belong to the reference topics."""
    listed = "\n".join(f"{number}. {topic}" for number, topic in enumerate(topics, 1))
    allowed = "\n".join(f"- {topic}" for topic in references)
    return f"""\
An AI agent is meant to deal with these reference topics:
{allowed}

For each of the {len(topics)} topics below, decide whether it falls under one of the reference \
topics: it is the same thing in other words, a part of it, or an instance of it.
{listed}

Answer with a JSON object and nothing else, with {len(topics)} entries in the order of the list: \
{{"matches": [{{"topic": "...", "on_topic": true or false}}]}}"""
