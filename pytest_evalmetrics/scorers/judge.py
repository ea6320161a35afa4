"""A judge: a model, the questions it is asked, and the reading of its answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from pytest_evalmetrics.chat.asking import ask, chat_model, json_in, side_by_side
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import spaced
from pytest_evalmetrics.records import record
from pytest_evalmetrics.scorers.interface import Explained
from pytest_evalmetrics.scorers.row_reading import shown
from pytest_evalmetrics.scorers.score_summary import About
from pytest_evalmetrics.spec.field_types import Name, doc, keys, refuse
from pytest_evalmetrics.spec.model_keys import ModelSpec
from pytest_evalmetrics.spec.scorer_keys import NamedScores
from pytest_evalmetrics.spec.sources import RolloutsField

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from pytest_evalmetrics.chat.asking import ChatModel, Message, Reply
    from pytest_evalmetrics.chat.row_calls import Calls
    from pytest_evalmetrics.data import Row
    from pytest_evalmetrics.transport import Terms

_T = TypeVar("_T")
_WORDS = {"true": True, "false": False} | {str(number): number for number in range(-9, 101)}


@keys
class JudgeModelSpec:
    """``judge: {model: ...}``, the longer form of ``judge_model``."""

    model: Annotated[ModelSpec, doc("the model that judges")]


@keys
class JudgeCheckSpec:
    """Rows labelled by people, for comparison with the judge."""

    rows: Annotated[RolloutsField, doc("the labelled rows: the same columns, and the label")]
    label: Annotated[Name, doc("the column with a person's score, or rubric label")]
    score: Annotated[
        Name | None, doc("which score it is a label of; default the scorer's first")
    ] = None


JudgeCheck = Annotated[JudgeCheckSpec | None, doc("compare the judge with people's labels")]
JudgeRepeats = Annotated[
    int, Field(ge=1, le=100, description="how often each row is judged; the scores are the mean")
]


def repeat_columns(names: Sequence[str], repeats: int) -> dict[str, tuple[str, ...]]:
    """Name the scores of each single judgement, by score; empty where there is only one."""
    numbers = range(1, repeats + 1) if repeats > 1 else ()
    return {name: tuple(f"{name}@{number}" for number in numbers) for name in names}


class JudgedScores:
    """Scores, each followed by its columns of the single judges or judgements."""

    columns: ClassVar[Any]  # score -> these columns; empty where there is one judgement alone

    @property
    def score_names(self) -> tuple[str, ...]:
        """Each score, followed by its columns."""
        return tuple(name for score, each in self.columns.items() for name in (score, *each))

    @property
    def judges_own(self) -> tuple[str, ...]:
        """The columns of all scores: no reward unless named as one."""
        return tuple(name for each in self.columns.values() for name in each)


class Repeatable(JudgedScores, NamedScores):
    """A scorer that may judge each row several times."""

    judge_repeats: int

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """See `JudgedScores`."""
        return repeat_columns(super(JudgedScores, self).score_names, self.judge_repeats)


@keys
class JudgeKeys(Repeatable):
    """The judge of a scorer with a fixed prompt."""

    judge_model: Annotated[ModelSpec | None, doc("the model that judges")] = None
    judge: Annotated[JudgeModelSpec | None, doc("{model: ...}, in place of judge_model")] = None
    judge_check: JudgeCheck = None
    judge_repeats: JudgeRepeats = 1

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
        model = self.judge.model if self.judge else self.judge_model
        assert model is not None  # noqa: S101 - no benchmark file with neither is ever accepted
        return model


@record
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
        """Ask one question, see `chat.asking.ask`; a text is a message of the user."""
        if isinstance(question, str):
            question = [{"role": "user", "content": question}]
        kind, versions = f"{self.kind}/1", self.versions
        return ask(
            calls, self.model, question, kind=kind, read=read, schema=schema, versions=versions
        )

    def ask_fields(
        self, calls: Calls, question: str, schema: Mapping[str, Any], *, count: int | None = None
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        """Ask for a JSON object, and read what its schema names, see `fields_of`."""
        return self.ask(calls, question, lambda reply: fields_of(reply, schema, count), schema)


def judge_of(spec: ModelSpec, terms: Terms, kind: str, version: str = "") -> Judge:
    """Make the judge of a scorer."""
    versions = {"prompts": version} if version else {}
    return Judge(chat_model(spec, terms, terms.judging), kind, versions)


def majority(values: Sequence[float]) -> float:
    """Return the value that most judges give."""
    counted = Counter(values).most_common(2)
    if len(counted) > 1 and counted[0][1] == counted[1][1]:
        raise RowError("no-majority", f"no majority: the judges say {spaced(list(values))}")
    return counted[0][0]


class RepeatedJudge:
    """Asks a judge about each row several times, which also shows its agreement with itself."""

    def __init__(self, target: Any, spec: Any) -> None:
        self.scores: tuple[str, ...] = spec.score_names
        self.judges, self.notes = target.judges, getattr(target, "notes", ())
        self.repeats: int = spec.judge_repeats
        self.about: Mapping[str, About] = getattr(target, "about", {}) or {
            name: About((), columns) for name, columns in spec.columns.items()
        }
        self._target, self._columns = target, spec.columns
        self._combine = majority if getattr(spec, "combine", "mean") == "majority" else fmean

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        each = calls.repeated(self.repeats)
        answers = await side_by_side([self._target.score(row, one) for one in each])
        calls.from_journal = all(one.from_journal for one in each)
        scores: dict[str, float] = {}
        for name, columns in self._columns.items():
            values = [a.scores[name] if isinstance(a.scores, dict) else a.scores for a in answers]
            scores |= {name: self._combine(values), **dict(zip(columns, values, strict=True))}
        reasons = (f"{number}: {a.reason}" for number, a in enumerate(answers, 1) if a.reason)
        return Explained(scores, "; ".join(reasons))


def fields_of(reply: Reply, schema: Mapping[str, Any], count: int | None = None) -> dict[str, Any]:
    """Read the fields of the JSON object that a judge answered; `count` is the length of a list.

    A reasoning is for people, and may be missing.
    """
    answer = json_in(reply)
    fields: dict[str, Any] = {}
    for key, form in schema["properties"].items():
        if key == "reasoning":
            reasoning = answer.get(key) if isinstance(answer, dict) else None
            fields[key] = " ".join(reasoning.split()) if isinstance(reasoning, str) else ""
            continue
        if not isinstance(answer, dict) or key not in answer:
            raise RowError("no-score", f"the judge's answer has no {key!r}: {shown(answer)}")
        value = fields[key] = _value(answer[key], form)
        if value is None or (count is not None and isinstance(value, list) and len(value) != count):
            what = _expected(form) + ("" if count is None else f" of {count}")
            raise RowError(
                "bad-answer", f"the judge's {key!r} is {shown(answer[key])}, expected {what}"
            )
    return fields


def _value(value: Any, form: Mapping[str, Any]) -> Any:
    """Read a value that has a form; None where it has another."""
    match form["type"]:
        case "string":
            return value.strip() or None if isinstance(value, str) else None
        case "array":
            if not isinstance(value, list):
                return None
            items = [_value(each, form["items"]) for each in value]
            return None if None in items else items
        case "object":  # of which one field matters, the last
            key, inner = list(form["properties"].items())[-1]
            return _value(value.get(key) if isinstance(value, dict) else value, inner)
    # 1.0 and "1" can mean 1 alone, and "true" true
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, str):
        value = _WORDS.get(value.strip().lower())
    kind = bool if form["type"] == "boolean" else int
    return value if type(value) is kind and value in form.get("enum", (value,)) else None


def _expected(form: Mapping[str, Any]) -> str:
    if "enum" in form:
        *most, last = map(str, form["enum"])
        return f"{', '.join(most)} or {last}"
    words = {"string": "text that is not empty", "array": "a list", "boolean": "true or false"}
    return words[form["type"]]


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
