"""A judge: a model, the questions it is asked, and the reading of its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pytest_evalmetrics.chat import ask, chat_model, json_in
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.row_reading import shown
from pytest_evalmetrics.spec.field_types import STRICT, Name, doc, refuse
from pytest_evalmetrics.spec.model_keys import ModelSpec
from pytest_evalmetrics.spec.scorer_keys import NamedScores
from pytest_evalmetrics.spec.sources import RolloutsField

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from pytest_evalmetrics.chat import Calls, ChatModel, Message, Reply
    from pytest_evalmetrics.scorers.interface import Terms

_T = TypeVar("_T")
_WORDS = {"true": True, "false": False} | {str(number): number for number in range(-9, 101)}


@dataclass(frozen=True, kw_only=True)
class JudgeModelSpec:
    """``judge: {model: ...}``, the longer form of ``judge_model``."""

    __pydantic_config__ = STRICT

    model: Annotated[ModelSpec, doc("the model that judges")]


@dataclass(frozen=True, kw_only=True)
class JudgeCheckSpec:
    """Rows labelled by people, for comparison with the judge."""

    __pydantic_config__ = STRICT

    rows: Annotated[RolloutsField, doc("the labelled rows: the same columns, and the label")]
    label: Annotated[Name, doc("the column with a person's score, or rubric label")]
    score: Annotated[
        Name | None, doc("which score it is a label of; default the scorer's first")
    ] = None


JudgeCheck = Annotated[JudgeCheckSpec | None, doc("compare the judge with people's labels")]


@dataclass(frozen=True, kw_only=True)
class JudgeKeys(NamedScores):
    """The judge of a scorer with a fixed prompt."""

    judge_model: Annotated[ModelSpec | None, doc("the model that judges")] = None
    judge: Annotated[JudgeModelSpec | None, doc("{model: ...}, in place of judge_model")] = None
    judge_check: JudgeCheck = None

    def __post_init__(self) -> None:
        """Require one judge, written in one way."""
        if (self.judge_model is None) == (self.judge is None):
            raise refuse(
                "judge_model is missing: {url, name, api_key_secret}"
                if self.judge is None
                else "judge_model and judge say the same: write one of them"
            )

    @property
    def model(self) -> ModelSpec:
        """The model that judges."""
        if self.judge is not None:
            return self.judge.model
        if self.judge_model is None:  # no benchmark file with neither is ever accepted
            raise ValueError("there is no judge")
        return self.judge_model


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that judges."""

    model: ChatModel
    kind: str  # the scorer's type
    # of the built-in prompts, or of RAGAS: after a change all questions are asked anew
    versions: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""  # a digest of the user's own prompt, for the report

    def ask(
        self,
        calls: Calls,
        question: str | Sequence[Message],
        read: Callable[[Reply], _T],
        schema: Mapping[str, Any] | None = None,
    ) -> Coroutine[Any, Any, _T]:
        """Ask one question, see `chat.ask`; a text is a message of the user."""
        messages: Sequence[Message] = (
            [{"role": "user", "content": question}] if isinstance(question, str) else question
        )
        kind, versions = f"{self.kind}/1", self.versions
        return ask(
            calls, self.model, messages, kind=kind, read=read, schema=schema, versions=versions
        )


def judge_of(spec: ModelSpec, terms: Terms, kind: str, version: str = "") -> Judge:
    """Make the judge of a scorer."""
    versions = {"prompts": version} if version else {}
    return Judge(chat_model(spec, terms, terms.judging), kind, versions)


def field_of(reply: Reply, key: str, kind: type[_T], what: str) -> _T:
    """Read one field of the JSON object that a judge answered."""
    answer = json_in(reply)
    if not isinstance(answer, dict) or key not in answer:
        raise RowError("no-score", f"the judge's answer has no {key!r}: {shown(answer)}")
    value = answer[key]
    # 1.0 and "1" can mean 1 alone, and "true" true
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, str) and kind in (int, bool):
        value = _WORDS.get(value.strip().lower(), value)
    if type(value) is not kind:
        raise unusable(key, answer[key], what)
    return value


def choice_of(reply: Reply, key: str, allowed: Sequence[int], what: str) -> tuple[int, str]:
    """Read one of some whole numbers, and the reasoning."""
    value = field_of(reply, key, int, what)
    if value not in allowed:
        raise unusable(key, value, what)
    return value, reasoning_of(reply)


def reasoning_of(reply: Reply) -> str:
    """Return the reasoning in a judge's JSON object, on one line; empty where there is none."""
    answer = json_in(reply)
    reasoning = answer.get("reasoning") if isinstance(answer, dict) else None
    return " ".join(reasoning.split()) if isinstance(reasoning, str) else ""


def unusable(key: str, value: Any, what: str) -> RowError:
    """Make the error of a field that holds something else than was asked for."""
    return RowError("bad-answer", f"the judge's {key!r} is {shown(value)}, expected {what}")


# JSON Schemas of answers, in the strict form: closed objects, all of whose keys are required.

TEXT: dict[str, Any] = {"type": "string"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}


def choice(*values: int | str) -> dict[str, Any]:
    """Return the schema of one of some values, all of one type."""
    kind = "integer" if isinstance(values[0], int) else "string"
    return {"type": kind, "enum": list(values)}


def array(of: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


def closed(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object; a model writes its keys in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
