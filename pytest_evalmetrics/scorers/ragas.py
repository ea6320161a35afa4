"""``ragas``: a metric of RAGAS, by the package itself, its questions asked over our transport."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import json_in
from pytest_evalmetrics.errors import DataError, EvalMetricsError, RowError, did_you_mean
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import column_of, response_in
from pytest_evalmetrics.scorers.judges import judge_of
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.judges import Judge
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import RagasSpec

__all__ = ["RagasScorer"]


@dataclass
class _Asking:
    """The calls of the row that is scored, and what went wrong with one of them."""

    calls: Calls
    error: EvalMetricsError | None = None


_ASKING: ContextVar[_Asking] = ContextVar("asking")


@register_scorer("ragas")
class RagasScorer:
    """Runs a metric of ``ragas.metrics.collections``."""

    def __init__(self, spec: RagasSpec, terms: Terms) -> None:
        os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before it is imported
        with needs_extra("ragas", "the scorer ragas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collections = import_module("ragas.metrics.collections")
            self._messages = import_module("ragas.messages")
            base = import_module("ragas.llms.base").InstructorBaseRagasLLM
            version = str(import_module("ragas").__version__)
        self.scores = spec.score_names
        self.judges: tuple[Judge, ...] = ()
        found = _metric(collections, spec.metric)
        wanted = inspect.signature(found.__init__).parameters
        arguments = dict(spec.arguments)
        if "embeddings" in wanted and wanted["embeddings"].default is inspect.Parameter.empty:
            raise DataError(f"{spec.metric} of RAGAS needs embeddings: only judges are asked")
        if "llm" in wanted:
            if spec.judge_model is None:
                raise DataError(
                    f"the metric {spec.metric} of RAGAS asks a judge",
                    hint="write judge_model: {url, name, api_key_secret}",
                )
            judge = replace(judge_of(spec.judge_model, terms, "ragas"), versions={"ragas": version})
            self.judges = (judge,)
            arguments["llm"] = _llm(base, judge)
        try:
            self._metric = found(**arguments)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"the metric {spec.metric} of RAGAS can't be made of its arguments: {error}"
            ) from None
        self._columns = inspect.signature(self._metric.ascore).parameters

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        asking = _Asking(calls)
        columns = {name: self._column(row, name) for name in self._columns if self._has(row, name)}
        token = _ASKING.set(asking)
        try:
            found = await self._metric.ascore(**columns)
        except Exception:
            if asking.error is None:
                raise
        finally:
            _ASKING.reset(token)
        if asking.error is not None:  # RAGAS may have made NaN of it, or asked on
            raise asking.error
        value = float(found.value)
        if not math.isfinite(value):
            raise RowError("not-finite", f"RAGAS gave {value} and no reason")
        return Explained(value, str(found.reason or ""))

    def _has(self, row: Row, name: str) -> bool:
        needed = self._columns[name].default is inspect.Parameter.empty
        return needed or row.item.get(name) is not None

    def _column(self, row: Row, name: str) -> Any:
        if name == "response":
            return response_in(row)
        found = column_of(row, name)
        if name == "user_input" and isinstance(found, list):
            return [self._message(message) for message in found]
        if name == "reference_tool_calls" and isinstance(found, list):
            return [self._messages.ToolCall(**call) for call in found]
        return found

    def _message(self, said: Mapping[str, Any]) -> Any:
        kind = said.get("type") or said.get("role")
        text = said.get("content") or ""
        if kind in ("human", "user"):
            return self._messages.HumanMessage(content=text)
        if kind == "tool":
            return self._messages.ToolMessage(content=text)
        if kind not in ("ai", "assistant"):
            raise RowError("bad-user_input", f"RAGAS knows no message of {kind!r}")
        calls = [self._messages.ToolCall(**call) for call in said.get("tool_calls") or ()]
        return self._messages.AIMessage(content=text, tool_calls=calls)


def _metric(collections: Any, name: str) -> Any:
    known = {one.lower(): one for one in collections.__all__ if one != "BaseMetric"}
    found = known.get(name.lower().replace("_", ""))
    if found is None:
        names = did_you_mean(name, known.values(), what="its metrics")
        raise DataError(f"RAGAS has no metric {name!r}; {names}")
    return getattr(collections, found)


def _llm(base: Any, judge: Judge) -> Any:
    """Make what RAGAS takes for its model, and what asks ours."""

    async def agenerate(_self: Any, prompt: str, response_model: Any) -> Any:
        asking = _ASKING.get()
        if asking.error is not None:  # a row that failed costs nothing more
            raise asking.error

        def read(reply: Reply) -> Any:
            said = json_in(reply)
            try:
                return response_model.model_validate(said)
            except ValueError as error:
                reason = " ".join(str(error).split())[:200]
                raise RowError("bad-answer", f"the judge's answer is none: {reason}") from None

        try:
            schema = _strict(response_model.model_json_schema())
            return await judge.ask(asking.calls, prompt, read, schema)
        except EvalMetricsError as error:
            asking.error = asking.error or error
            raise

    def generate(*_: Any) -> Any:
        raise RowError("not-async", "this metric of RAGAS asks its judge in a way that blocks")

    return type("JournaledLLM", (base,), {"agenerate": agenerate, "generate": generate})()


def _strict(schema: Any) -> Any:
    """Close every object of a JSON Schema, and require all its keys."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(item) for key, item in schema.items() if key != "default"}
    if "properties" in found and found.get("type") == "object":
        found |= {"required": list(found["properties"]), "additionalProperties": False}
    return found
