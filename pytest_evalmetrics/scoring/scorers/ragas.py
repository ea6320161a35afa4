"""``ragas``: a metric of RAGAS by the package itself, its questions sent by our transport."""

from __future__ import annotations

import inspect
import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, Literal, NoReturn

from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    RowError,
    did_you_mean,
)
from pytest_evalmetrics.json_types import JsonValue, object_of
from pytest_evalmetrics.model.notes import Note
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.models import chat_model
from pytest_evalmetrics.scoring.chat.replies import Reply, verdict_in
from pytest_evalmetrics.scoring.chat.row_calls import Calls
from pytest_evalmetrics.scoring.scorers.judge import (
    Judge,
    JudgeCheck,
    JudgedScores,
    JudgeRepeats,
)
from pytest_evalmetrics.scoring.scorers.row_reading import column_of, response_in
from pytest_evalmetrics.scoring.scorers.scorer import About, Explained
from pytest_evalmetrics.scoring.transport import Terms, needs_extra
from pytest_evalmetrics.spec.field_types import Name
from pytest_evalmetrics.spec.model_keys import ModelSpec
from pytest_evalmetrics.spec.scorer_keys import NamedScores
from pytest_evalmetrics.spec.validation import doc

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class RagasSpec(JudgedScores, NamedScores):
    """Run a metric of ``ragas.metrics.collections``."""

    type: Annotated[Literal["ragas"], doc("a metric of RAGAS, by the package itself")]
    better = None
    limits = (None, None)
    metric: Annotated[Name, doc("the class: Faithfulness")]
    arguments: Annotated[
        dict[Name, object], doc("of the metric's constructor, but its llm")
    ] = field(default_factory=dict)
    judge_model: Annotated[
        ModelSpec | None, doc("the judge, if the metric needs one")
    ] = None
    judge_check: JudgeCheck = None
    judge_repeats: JudgeRepeats = 1

    @property
    def own_names(self) -> tuple[str, ...]:
        """The metric's name in snake case."""
        return (_WORDS.sub("_", self.metric).lower(),)

    def make(self, terms: Terms) -> RagasScorer:
        """Make the scorer of one judgement."""
        return RagasScorer(self, terms)


class RagasScorer:
    """A metric of RAGAS, and the judge that it asks."""

    # it has no remarks, and its score means a number
    notes: tuple[Note, ...] = ()
    about: Mapping[str, About] = MappingProxyType({})

    def __init__(self, spec: RagasSpec, terms: Terms) -> None:
        os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before it is imported
        with needs_extra("ragas", "the scorer ragas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collections = import_module("ragas.metrics.collections")
            self._messages = import_module("ragas.messages")
            self._base = import_module("ragas.llms.base").InstructorBaseRagasLLM
            version = str(import_module("ragas").__version__)
        self.judges: tuple[Judge, ...] = ()
        self._metric = _metric(collections, spec.metric)
        self._arguments = spec.arguments
        wanted = inspect.signature(self._metric.__init__).parameters
        embeddings = wanted.get("embeddings")
        if embeddings is not None and embeddings.default is inspect.Parameter.empty:
            raise DataError(
                f"{spec.metric} of RAGAS needs embeddings: only judges are asked"
            )
        if "llm" in wanted:
            if spec.judge_model is None:
                raise DataError(
                    f"the metric {spec.metric} of RAGAS asks a judge",
                    hint="write judge_model: {url, name, api_key_secret}",
                )
            model = chat_model(spec.judge_model, terms, terms.judging)
            self.judges = (Judge(model, "ragas", {"ragas": version}),)
        try:
            metric = self._made(None, [])
        except (TypeError, ValueError) as error:
            raise DataError(
                f"the metric {spec.metric} of RAGAS can't be made of its arguments: {error}"
            ) from None
        self._columns = inspect.signature(metric.ascore).parameters

    def _made(self, calls: Any, errors: list[EvalMetricsError]) -> Any:
        """Create the metric for one row; its judge is called through `calls`."""
        llm = {}
        if self.judges:
            llm = {"llm": _llm(self._base, self.judges[0], calls, errors)}
        return self._metric(**self._arguments, **llm)

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        errors: list[EvalMetricsError] = []
        columns: dict[str, object] = {}
        for name, parameter in self._columns.items():
            is_needed = parameter.default is inspect.Parameter.empty
            if is_needed or row.item.get(name) is not None:
                columns[name] = self._column(row, name)
        try:
            result = await self._made(calls, errors).ascore(**columns)
        except Exception:
            if not errors:
                raise
        if errors:  # RAGAS may have turned the first one into NaN
            raise errors[0]
        value = float(result.value)
        if not math.isfinite(value):
            raise RowError("not-finite", f"RAGAS gave {value} and no reason")
        return Explained(value, str(result.reason or ""))

    def _column(self, row: Row, name: str) -> object:
        if name == "response":
            return response_in(row)
        value = column_of(row, name)
        if name == "user_input" and isinstance(value, list):
            return [self._message(message) for message in value]
        if name == "reference_tool_calls" and isinstance(value, list):
            return [self._messages.ToolCall(**call) for call in value]
        return value

    def _message(self, message: Mapping[str, Any]) -> object:
        kind = message.get("type") or message.get("role")
        text = message.get("content") or ""
        if kind in ("human", "user"):
            return self._messages.HumanMessage(content=text)
        if kind == "tool":
            return self._messages.ToolMessage(content=text)
        if kind not in ("ai", "assistant"):
            raise RowError("bad-user_input", f"RAGAS knows no message of {kind!r}")
        calls = [
            self._messages.ToolCall(**call) for call in message.get("tool_calls") or ()
        ]
        return self._messages.AIMessage(content=text, tool_calls=calls)


def _metric(collections: ModuleType, name: str) -> Any:
    metrics = {one.lower(): one for one in collections.__all__ if one != "BaseMetric"}
    match = metrics.get(name.lower().replace("_", ""))
    if match is None:
        names = did_you_mean(name, metrics.values(), what="its metrics")
        raise DataError(f"RAGAS has no metric {name!r}; {names}")
    return getattr(collections, match)


def _llm(
    base: type, judge: Judge, calls: Calls, errors: list[EvalMetricsError]
) -> object:
    """Make an LLM of RAGAS that asks our judge, and keeps the errors of its answers."""

    async def agenerate(_self: object, prompt: str, response_model: Any) -> object:
        if errors:  # a row that failed costs nothing more
            raise errors[0]

        def read(answer: JsonValue) -> object:
            try:
                return response_model.model_validate(answer)
            except ValueError as error:
                reason = " ".join(str(error).split())[:200]
                raise RowError(
                    "bad-answer", f"the judge's answer is none: {reason}"
                ) from None

        def verdict(reply: Reply) -> object:
            return verdict_in(reply, read)

        try:
            schema = object_of(_strict(response_model.model_json_schema()))
            return await judge.ask(calls, prompt, verdict, schema)
        except EvalMetricsError as error:
            errors.append(error)
            raise

    def generate(*_: object) -> NoReturn:
        raise RowError(
            "not-async", "this metric of RAGAS asks its judge in a way that blocks"
        )

    return type(
        "JournaledLLM", (base,), {"agenerate": agenerate, "generate": generate}
    )()


def _strict(schema: JsonValue) -> JsonValue:
    """Close every object of a JSON Schema, and require all its keys."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(item) for key, item in schema.items() if key != "default"}
    if "properties" in strict and strict.get("type") == "object":
        strict["required"] = list(object_of(strict["properties"]))
        strict["additionalProperties"] = False
    return strict
