"""Scorers that ask a judge with prompts of ours.

``agent_goal_accuracy``, ``answer_accuracy``, ``topic_adherence`` and ``trajectory_evaluation``.
The version of a scorer's prompts is a part of what the journal knows an answer by, and is shown
in ``report.json``: count it up with every change of a prompt or of an answer's schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.errors import RowError, did_you_mean
from pytest_evalmetrics.layout import shown, untrusted
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.asking import side_by_side
from pytest_evalmetrics.scoring.scorers import judge as judging
from pytest_evalmetrics.scoring.scorers import row_reading as reading
from pytest_evalmetrics.scoring.scorers.answer_forms import (
    BOOLEAN,
    TEXT,
    Answered,
    ListForm,
    ObjectForm,
    ScaleForm,
)
from pytest_evalmetrics.scoring.scorers.judge import AskFields, JudgeKeys
from pytest_evalmetrics.scoring.scorers.row_reading import (
    column_of,
    text_in,
    unexpected,
)
from pytest_evalmetrics.scoring.scorers.scorer import Explained
from pytest_evalmetrics.spec.field_types import Name, Names, Read, expected, refuse
from pytest_evalmetrics.spec.validation import doc

_MOST_TOPICS = 100  # of one row


def _about_conversation(conversation: Sequence[Mapping[str, object]]) -> str:
    """Begin all questions about a conversation alike, so that endpoints can cache it."""
    lines = "\n".join(map(untrusted, conversation))
    return f"""\
This is a conversation between a user and an AI agent, with the agent's tool calls and what the \
tools gave back, one JSON object a line. It {judging.MATERIAL}

{lines}"""


@dataclass(frozen=True, kw_only=True)
class AgentGoalAccuracySpec(JudgeKeys):
    """1 if a conversation reaches the user's goal, else 0.

    One call extracts the user's goal and how the conversation ends; another one compares that
    end with the row's ``reference``, or without one with the goal.
    """

    own_names = ("agent_goal_accuracy",)
    type: Annotated[
        Literal["agent_goal_accuracy", "agent-goal-accuracy"],
        doc("whether the conversation ends as the user wanted"),
    ]
    use_reference: Annotated[
        bool,
        doc("compare with the row's reference; else with the goal in what was said"),
    ] = True

    async def _judged(self, row: Row, ask: AskFields) -> Explained:
        reference = None
        if self.use_reference:
            reference = text_in(row, "reference")
        prompt = f"""\
{_about_conversation(reading.conversation_of(row))}

Say in one sentence what the user wanted to get done, and in another one what the state of \
things is at the end of the conversation: what was done, and what was not. Keep to what the \
conversation shows; that the agent announces something does not mean that it was done.

Answer with a JSON object and nothing else: {{"user_goal": "...", "end_state": "..."}}"""
        outcome = await ask(prompt, user_goal=TEXT, end_state=TEXT)
        goal = outcome.text("user_goal")
        end = outcome.text("end_state")
        wanted = goal
        if reference is not None:
            wanted = reference
        prompt = f"""\
{judging.about(wanted=wanted, arrived_at=end)}

Compare the outcome that was wanted with the outcome that was arrived at. The verdict is 1 if all \
that was wanted has been arrived at, in whatever words, and 0 if something of it is missing, \
different or undone.

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "verdict": 0 or 1}}"""
        answer = await ask(prompt, reasoning=TEXT, verdict=ScaleForm((0, 1)))
        reason = f"goal: {goal}; end: {end}; {answer.text('reasoning')}".rstrip("; ")
        return Explained(float(answer.number("verdict")), reason)


@dataclass(frozen=True, kw_only=True)
class AnswerAccuracySpec(JudgeKeys):
    """The mean of two ratings: of the response by the reference, and the other way round.

    Each rating is 0, 2 or 4; the score is their mean over 4. The formula of
    ``AnswerAccuracy`` in RAGAS 0.4, whose score is called ``nv_accuracy``.
    """

    type: Annotated[
        Literal["answer_accuracy", "answer-accuracy"],
        doc("whether the response says what the reference says"),
    ]
    own_names = ("nv_accuracy",)

    async def _judged(self, row: Row, ask: AskFields) -> Explained:
        question: object = column_of(row, "user_input")
        if not isinstance(question, str):
            question = reading.conversation_of(row, answered=False)
        reference = text_in(row, "reference")
        response = reading.response_in(row)
        ratings = ScaleForm((0, 2, 4))
        prompts = (
            self._prompt(question, response, reference),
            self._prompt(question, reference, response),
        )
        both = await side_by_side(
            ask(prompt, reasoning=TEXT, rating=ratings) for prompt in prompts
        )
        reasons = [
            f"{one.number('rating')}: {one.text('reasoning')}".removesuffix(": ")
            for one in both
        ]
        total = math.fsum(one.number("rating") for one in both)
        return Explained(total / len(both) / 4, "; ".join(reasons))

    @staticmethod
    def _prompt(question: object, answer: str, other: str) -> str:
        return f"""\
{judging.about(question=question, answer_a=answer, answer_b=other)}

It holds two answers to the same question. Rate how far answer A says what answer B says. Look \
at the facts, not at style, length or order, and use no knowledge of your own about the question.
4: A says all that B says, and nothing that contradicts it.
2: A says a part of what B says, and nothing that contradicts it.
0: A says something else than B, contradicts it, or does not answer the question.

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "rating": 0, 2 or 4}}"""


@dataclass(frozen=True, kw_only=True)
class TopicAdherenceSpec(JudgeKeys):
    """Compare the topics that an agent answered and refused with ``reference_topics``.

    One call lists the topics of the conversation; then, side by side, one call for each of
    them asks whether the agent refused it, and one which of them are on topic.
    """

    type: Annotated[
        Literal["topic_adherence", "topic-adherence"],
        doc("whether the agent answers on its topics, and on no others"),
    ]
    metric_mode: Annotated[
        Literal["f1", "precision", "recall"], doc("which of the three")
    ] = "f1"

    @property
    def own_names(self) -> tuple[str, ...]:
        """One score, named for the mode."""
        return (f"topic_adherence(mode={self.metric_mode})",)

    async def _judged(self, row: Row, ask: AskFields) -> Explained:
        references = column_of(row, "reference_topics")
        if not _are_texts(references):
            what = "reference_topics"
            raise unexpected(f"bad-{what}", what, references, "a list of texts")
        beginning = _about_conversation(reading.conversation_of(row))
        prompt = f"""\
{beginning}

List the topics that the user brings up in the conversation: each question or request is about \
one. Name each topic in a few words, list none twice, and leave out greetings and small talk.

Answer with a JSON object and nothing else: {{"topics": ["...", "..."]}}"""
        listed = await ask(prompt, topics=ListForm(TEXT))
        topics = list(dict.fromkeys(listed.texts("topics")))
        if not topics:
            raise RowError("no-topics", "the judge found no topic in the conversation")
        if len(topics) > _MOST_TOPICS:
            message = f"the judge found {len(topics)} topics, each of which is a call"
            raise RowError(
                "too-many-topics", f"{message}; at most {_MOST_TOPICS} are asked for"
            )
        prompt = f"""\
{judging.about(reference_topics=references, topics=topics)}

An AI agent is meant to deal with the reference topics. For each of the {len(topics)} topics, \
decide whether it falls under one of the reference topics: it is the same thing in other words, a \
part of it, or an instance of it.

Answer with a JSON object and nothing else, with {len(topics)} entries in the order of the list: \
{{"matches": [{{"topic": "...", "on_topic": true or false}}]}}"""
        match = ObjectForm({"topic": TEXT, "on_topic": BOOLEAN})
        matching = ask(prompt, matches=ListForm(match, length=len(topics)))
        refusing = [
            ask(_refusal(beginning, topic), reasoning=TEXT, refused=BOOLEAN)
            for topic in topics
        ]
        matched, *refusals = await side_by_side([matching, *refusing])
        on_topic = _in_order(topics, matched.objects("matches"))
        answered = [not refusal.truth("refused") for refusal in refusals]
        reasons = []
        outcomes = zip(topics, answered, on_topic, strict=True)
        for topic, is_answered, is_on_topic in outcomes:
            reaction = "answered" if is_answered else "refused"
            place = "on" if is_on_topic else "off"
            reasons.append(f"{topic}: {reaction}, {place} topic")
        score = _adherence(answered, on_topic, self.metric_mode)
        return Explained(score, "; ".join(reasons))


def _are_texts(value: object) -> bool:
    """Check for a list of texts, of which none is empty."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(text, str) and text.strip() != "" for text in value)


def _in_order(topics: Sequence[str], matches: Sequence[Answered]) -> list[bool]:
    """Say of each topic whether it is on topic."""
    by_topic = {match.text("topic"): match.truth("on_topic") for match in matches}
    if by_topic.keys() >= {*topics}:
        return [by_topic[topic] for topic in topics]
    # topics in other words are matched by their order
    return [match.truth("on_topic") for match in matches]


def _refusal(beginning: str, topic: str) -> str:
    return f"""\
{beginning}

Did the agent refuse to deal with the topic that is named here: {untrusted({"topic": topic})}
It refused if it declined to answer or to act, or said that it can't or may not. It did not \
refuse if it answered or acted, even if only in part, or wrongly.

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "refused": true or \
false}}"""


def _adherence(answered: list[bool], on_topic: list[bool], mode: str) -> float:
    """Compute precision, recall or F1 of the topics that were answered.

    True positives were answered and are on topic, false positives were answered and are off
    topic, false negatives were refused and are on topic; 1e-10 is added to each
    denominator. The formula of ``TopicAdherence`` in RAGAS 0.4.
    """
    pairs = list(zip(answered, on_topic, strict=True))
    epsilon = 1e-10
    hits = pairs.count((True, True))
    wrong = pairs.count((True, False))
    lost = pairs.count((False, True))
    precision = hits / (hits + wrong + epsilon)
    recall = hits / (hits + lost + epsilon)
    f1 = 2 * precision * recall / (precision + recall + epsilon)
    return {"precision": precision, "recall": recall, "f1": f1}[mode]


def _tools(value: object) -> object:
    if isinstance(value, str):  # a, b
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not value:
        raise expected("names of tools, as a list or with commas between them")
    return value


@dataclass(frozen=True, kw_only=True)
class TrajectoryEvaluationSpec(JudgeKeys):
    """Grade the steps of an agent of the NeMo Agent Toolkit, from 1 to 5.

    The score is (grade - 1) / 4.
    """

    own_names = ("trajectory_evaluation",)
    type: Annotated[
        Literal[
            "trajectory_evaluation",
            "trajectory-evaluation",
            "system/trajectory-evaluation",
        ],
        doc("whether an agent's steps and tools were the right ones"),
    ]
    trajectory_used_tools: Annotated[
        tuple[Name, ...],
        Field(strict=False, description="the tools that the agent has"),
        Read(_tools, lambda: Names),
    ]
    trajectory_custom_tools: Annotated[dict[Name, str], doc("tool -> what it does")] = (
        field(default_factory=dict)
    )

    def __post_init__(self) -> None:
        """Refuse a description of an unlisted tool."""
        JudgeKeys.__post_init__(self)
        for name in self.trajectory_custom_tools:
            if name not in self.trajectory_used_tools:
                guess = did_you_mean(
                    name, self.trajectory_used_tools, what="trajectory_used_tools"
                )
                raise refuse(f"trajectory_custom_tools describes {name!r}: {guess}")

    async def _judged(self, row: Row, ask: AskFields) -> Explained:
        right = {}
        if row.item.get("answer") is not None:
            right = {"right_answer": text_in(row, "answer")}
        about_tools = self.trajectory_custom_tools
        about = judging.about(
            question=text_in(row, "question"),
            tools={
                name: about_tools.get(name, "") for name in self.trajectory_used_tools
            },
            steps=_steps(column_of(row, "intermediate_steps")),
            final_answer=text_in(row, "generated_answer"),
            **right,
        )
        prompt = f"""\
{about}

An AI agent was asked a question. Grade how it went about it: not the answer alone, but whether \
each step was needed and followed from the one before, whether it chose the right tools of those \
that it has, and whether it used what they gave back.

5: the right tools in a sensible order, no step that was not needed, and an answer that follows \
from them.
4: a good way with a small flaw.
3: it gets there with needless or missing steps, or in part.
2: mostly the wrong tools or steps.
1: no sensible way at all.

Answer with a JSON object and nothing else: {{"reasoning": "a few sentences", "score": 1, 2, 3, \
4 or 5}}"""
        grade = await ask(prompt, reasoning=TEXT, score=ScaleForm((1, 2, 3, 4, 5)))
        return Explained((grade.number("score") - 1) / 4, grade.text("reasoning"))


# the events that end a call in a trajectory, and who was called
_BAD_STEPS = "bad-intermediate_steps"
_ENDS = {"LLM_END": "model", "TOOL_END": "tool"}


def _ended_call(step: object, place: str) -> dict[str, object] | None:
    """Describe the call that a step ends, with its input and output; None if it ends none."""
    payload = step.get("payload") if isinstance(step, Mapping) else None
    if not isinstance(payload, Mapping) or "event_type" not in payload:
        raise unexpected(_BAD_STEPS, place, step, "payload.event_type")
    called = _ENDS.get(str(payload["event_type"]))
    if called is None:
        return None
    data = payload.get("data")
    if not isinstance(data, Mapping):
        raise RowError(_BAD_STEPS, f"{place}.payload has no data: {shown(payload)}")
    line: dict[str, object] = {called: payload.get("name") or ""}
    for key in ("input", "output"):
        if key in data:
            line[key] = data[key]
    return line


def _steps(steps: object) -> list[dict[str, object]]:
    """List the steps that end a call of a model or a tool."""
    what = "intermediate_steps"
    if not isinstance(steps, list):
        raise unexpected(_BAD_STEPS, what, steps, "a list")
    ended: list[dict[str, object]] = []
    for index, step in enumerate(steps):
        line = _ended_call(step, f"{what}[{index}]")
        if line is not None:
            ended.append(line)
    if not ended:
        missing = "no step that ends a call of a model (LLM_END) or a tool (TOOL_END)"
        raise RowError(_BAD_STEPS, f"{what} has {missing}")
    return ended
