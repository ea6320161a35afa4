"""A judge: a model with what it is asked, and the reading of what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_evalmetrics.chat import ask, chat_model, json_in
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from pytest_evalmetrics.chat import ChatModel, Message, Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Terms
    from pytest_evalmetrics.spec import ModelSpec

__all__ = ["Judge", "OneJudge", "field_of", "judge_of", "reasoning_of", "unusable"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that judges."""

    model: ChatModel  # who is asked
    kind: str  # what asks: the scorer's type
    # of the prompts that are ours: a new one asks anew
    versions: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""  # what tells a user's own prompt from an earlier one, for the report

    def ask(
        self,
        calls: Calls,
        said: str | Sequence[Message],
        read: Callable[[Reply], _T],
        schema: Mapping[str, Any] | None = None,
    ) -> Coroutine[Any, Any, _T]:
        """Ask one question, see `chat.ask`; one text is a message of the user."""
        messages: Sequence[Message] = (
            [{"role": "user", "content": said}] if isinstance(said, str) else said
        )
        return ask(
            calls,
            self.model,
            messages,
            kind=f"{self.kind}/1",
            read=read,
            schema=schema,
            versions=self.versions,
        )


class _Judged(Protocol):
    """What a benchmark file says of a scorer that asks one judge."""

    @property
    def score_names(self) -> tuple[str, ...]: ...

    @property
    def model(self) -> ModelSpec: ...


class OneJudge:
    """A scorer that asks one judge, with prompts of ours."""

    def __init__(self, spec: _Judged, terms: Terms, kind: str, version: str) -> None:
        self.scores = spec.score_names
        self._judge = judge_of(spec.model, terms, kind, version)
        self.judges = (self._judge,)


def judge_of(spec: ModelSpec, terms: Terms, kind: str, version: str = "") -> Judge:
    """Make the judge of a scorer."""
    versions = {"prompts": version} if version else {}
    return Judge(chat_model(spec, terms, terms.judging), kind, versions)


def field_of(reply: Reply, key: str, kind: type[_T], what: str) -> _T:
    """Read one field of the JSON object that a judge answered."""
    said = json_in(reply)
    if not isinstance(said, dict) or key not in said:
        raise RowError("no-score", f"the judge's answer has no {key!r}: {shown(said)}")
    value = _meant(said[key], kind)
    if type(value) is not kind:
        raise unusable(key, said[key], what)
    return value


def reasoning_of(reply: Reply) -> str:
    """Give the reasoning in a judge's JSON object, for people; empty where there is none."""
    said = json_in(reply)
    found = said.get("reasoning") if isinstance(said, dict) else None
    return " ".join(found.split()) if isinstance(found, str) else ""


def _meant(value: Any, kind: type) -> Any:
    """Take what can mean but one thing: 1.0 and "1" for 1, "true" for true."""
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and kind in (int, bool):
        return _WORDS.get(value.strip().lower(), value)
    return value


_WORDS = {"true": True, "false": False} | {str(number): number for number in range(-9, 101)}


def unusable(key: str, value: Any, what: str) -> RowError:
    """Say that a field holds something else than was asked for."""
    return RowError("bad-answer", f"the judge's {key!r} is {shown(value)}, expected {what}")
