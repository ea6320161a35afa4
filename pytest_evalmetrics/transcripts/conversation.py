"""Collect turns: drafts that parts are added to, and the calls that results answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.transcripts.failures import failure_in_text
from pytest_evalmetrics.transcripts.turns import Image, Role, ToolCall, ToolResult, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

_thought = re.compile(
    r"\s*<(?P<tag>think|thinking|\|think_start\|)>(?P<thought>.*?)"
    r"(?:</(?:think|thinking)>|<\|think_end\|>)\s*(?P<rest>.*)\Z",
    re.DOTALL,
).match
_CLOSED: Final = "</think>"


class ResultDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result before its call is known."""

    id: str = ""
    name: str = ""
    text: str = ""
    error: str = ""
    images: tuple[Image, ...] = ()


class Draft:
    """A message that its parts are added to.

    Attributes
    ----------
    role
        Who speaks.
    texts, reasoning
        Parts that are joined by line breaks.
    calls
        The calls in this message.
    results
        Results of tools in this message, each of which becomes a turn of its own.
    is_item
        Whether it is put together from items, as those of the Responses API.
    """

    def __init__(self, role: Role, *, is_item: bool = False) -> None:
        self.role: Role = role
        self.texts: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[ToolCall] = []
        self.results: list[ResultDraft] = []
        self.images: list[Image] = []
        self.stop_reason = ""
        self.is_item = is_item

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return not (self.texts or self.reasoning or self.calls or self.images)

    def turn(self, calls: Sequence[ToolCall]) -> Turn:
        """Make the turn, with the calls as they are numbered."""
        text = "\n".join(self.texts)
        reasoning = "\n".join(self.reasoning)
        if self.role == "assistant" and not reasoning:
            reasoning, text = _without_thought(text)
        return Turn(
            role=self.role,
            text=text,
            reasoning=reasoning,
            calls=tuple(calls),
            images=tuple(self.images),
            stop_reason=self.stop_reason,
        )


class Conversation:
    """The turns so far, and the calls that wait for a result.

    Attributes
    ----------
    turns
        In the order in which they were said.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        # a call's id -> its turn, and its place there
        self._places: dict[str, tuple[int, int]] = {}
        # ids of calls without a result, in their order
        self._waiting: dict[str, str] = {}
        self._calls = 0

    @property
    def is_answered(self) -> bool:
        """Whether the model has spoken."""
        return any(turn.role == "assistant" for turn in self.turns)

    def add(self, draft: Draft) -> None:
        """Add a message. A user's results of tools come before what the user says."""
        is_reply = draft.role == "assistant"
        if not is_reply:
            self._add_results(draft)
        has_only_results = draft.is_empty and bool(draft.results)
        is_empty_item = draft.is_empty and draft.is_item
        if not has_only_results and not is_empty_item and draft.role != "tool":
            calls = self._numbered(draft.calls)
            self.turns.append(draft.turn(calls))
        if is_reply:
            self._add_results(draft)

    def add_turn(self, turn: Turn) -> None:
        """Add a turn as another conversation has it."""
        self.turns.append(turn)

    def add_result(self, result: ResultDraft) -> None:
        """Add a turn of a tool, and connect it with its call."""
        call_id = self._answered(result)
        name = result.name or self._waiting.get(call_id, "")
        error = result.error or failure_in_text(result.text)
        place = self._places.get(call_id)
        if place is not None:
            turn = self.turns[place[0]]
            name = turn.calls[place[1]].name
            if error:
                self._mark_failed(place, error)
        self._waiting.pop(call_id, None)
        self.turns.append(
            Turn(
                role="tool",
                text=result.text,
                result=ToolResult(call_id, name, error),
                images=result.images,
            )
        )

    def end(self, reason: str) -> None:
        """Set the reason why the last message ended, where that is not known yet."""
        for at in range(len(self.turns) - 1, -1, -1):
            turn = self.turns[at]
            if turn.role == "assistant":
                if reason and not turn.stop_reason:
                    self.turns[at] = structs.replace(turn, stop_reason=reason)
                return

    def knows(self, call_id: str) -> bool:
        """Check whether a call has this id."""
        return call_id in self._places

    def _add_results(self, draft: Draft) -> None:
        for result in draft.results:
            self.add_result(result)

    def _numbered(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Give an id to calls without one, and wait for their results."""
        numbered: list[ToolCall] = []
        for place, call in enumerate(calls):
            self._calls += 1
            named = call
            if not call.id:
                named = structs.replace(call, id=f"call_{self._calls}")
            self._places[named.id] = (len(self.turns), place)
            self._waiting[named.id] = named.name
            numbered.append(named)
        return numbered

    def _answered(self, result: ResultDraft) -> str:
        """Find the id of the call that a result answers; empty without one."""
        if result.id in self._places:
            return result.id
        for call_id, name in self._waiting.items():
            if not result.name or result.name == name:
                return call_id
        return result.id

    def _mark_failed(self, place: tuple[int, int], error: str) -> None:
        at, number = place
        turn = self.turns[at]
        calls = list(turn.calls)
        calls[number] = structs.replace(calls[number], error=error)
        self.turns[at] = structs.replace(turn, calls=tuple(calls))


def _without_thought(text: str) -> tuple[str, str]:
    """Split reasoning that stands in tags before an answer from the answer."""
    if "<" not in text:
        return "", text
    match = _thought(text)
    if match is not None:
        return match["thought"].strip(), match["rest"]
    # a template may have opened the tag in the prompt
    thought, closed, answer = text.partition(_CLOSED)
    if closed and "<think>" not in thought:
        return thought.strip(), answer.lstrip()
    return "", text
