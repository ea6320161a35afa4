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
    """A model that judges.

    Attributes
    ----------
    model
        Who is asked.
    kind
        What asks: the scorer's type.
    versions
        Of the prompts that are ours: a new one asks anew.
    prompt
        What tells a user's own prompt from an earlier one, for the report.
    """

    model: ChatModel
    kind: str
    versions: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""

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
    """A scorer that asks one judge, with prompts of ours.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        On what terms the judge is called.
    kind
        What asks, for the journal.
    version
        Of the prompts: a new one asks anew.

    Raises
    ------
    SecretError
        The key is not in the environment.
    """

    def __init__(self, spec: _Judged, terms: Terms, kind: str, version: str) -> None:
        self.scores = spec.score_names
        self._judge = judge_of(spec.model, terms, kind, version)
        self.judges = (self._judge,)


def judge_of(spec: ModelSpec, terms: Terms, kind: str, version: str = "") -> Judge:
    """Make the judge of a scorer.

    Parameters
    ----------
    spec
        The model.
    terms
        On what terms it is called; where ``params:`` speak of the judges, they hold.
    kind
        The scorer's type.
    version
        Of its prompts, where they are ours.

    Raises
    ------
    SecretError
        The key is not in the environment.
    """
    versions = {"prompts": version} if version else {}
    return Judge(chat_model(spec, terms, terms.judging), kind, versions)


def field_of(reply: Reply, key: str, kind: type[_T], what: str) -> _T:
    """Read one field of the JSON object that a judge answered.

    Parameters
    ----------
    reply
        What it said.
    key
        The field.
    kind
        Its type; a bool is no int.
    what
        What was expected, for messages: ``0, 2 or 4``.

    Raises
    ------
    RowError
        There is no such object or field, or it is of another type.
    """
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
