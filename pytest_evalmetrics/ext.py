"""The public API for metrics, scorers, loaders, gate rules, reporters and engines.

Each name is imported on first use, so that importing this module costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_evalmetrics.chat.asking import (
        ChatModel,
        Message,
        Reply,
        ask,
        chat_model,
        compile_prompt,
        compile_templates,
        json_in,
        side_by_side,
    )
    from pytest_evalmetrics.chat.row_calls import Calls, Exchange
    from pytest_evalmetrics.data import RolloutTable, Row, TaskId, TaskRewards, TaskRows
    from pytest_evalmetrics.data.content import content_hash, question_of
    from pytest_evalmetrics.engines.local import Engine, Workload
    from pytest_evalmetrics.errors import (
        ConfigError,
        DataError,
        EngineError,
        EvalMetricsError,
        GateFailed,
        MetricError,
        RegistryError,
        RowError,
        did_you_mean,
    )
    from pytest_evalmetrics.gates.decisions import Change, GateRule
    from pytest_evalmetrics.metrics.metric import Metric, MetricOptions
    from pytest_evalmetrics.registry import (
        register_gate_rule,
        register_loader,
        register_metric,
        register_reporter,
        register_scorer,
    )
    from pytest_evalmetrics.reports.reporters import Reporter
    from pytest_evalmetrics.results import AgentResult, BenchmarkResult, Check, Estimate, Verdict
    from pytest_evalmetrics.rollouts.files import RolloutFile
    from pytest_evalmetrics.rollouts.loader import (
        Chunk,
        Failure,
        Loader,
        LoaderFactory,
        NotFinite,
        Request,
        RowLoader,
        TextLoader,
    )
    from pytest_evalmetrics.rollouts.source import Source, SourceRow, open_source
    from pytest_evalmetrics.scorers.interface import AsyncScorer, Explained, Scorer
    from pytest_evalmetrics.spec import BenchmarkSpec, FieldMap
    from pytest_evalmetrics.transport import CallError, Endpoint, Terms, needs_extra

__all__ = [
    "AgentResult",
    "AsyncScorer",
    "BenchmarkResult",
    "BenchmarkSpec",
    "CallError",
    "Calls",
    "Change",
    "ChatModel",
    "Check",
    "Chunk",
    "ConfigError",
    "DataError",
    "Endpoint",
    "Engine",
    "EngineError",
    "Estimate",
    "EvalMetricsError",
    "Exchange",
    "Explained",
    "Failure",
    "FieldMap",
    "GateFailed",
    "GateRule",
    "Loader",
    "LoaderFactory",
    "Message",
    "Metric",
    "MetricError",
    "MetricOptions",
    "NotFinite",
    "RegistryError",
    "Reply",
    "Reporter",
    "Request",
    "RolloutFile",
    "RolloutTable",
    "Row",
    "RowError",
    "RowLoader",
    "Scorer",
    "Source",
    "SourceRow",
    "TaskId",
    "TaskRewards",
    "TaskRows",
    "Terms",
    "TextLoader",
    "Verdict",
    "Workload",
    "ask",
    "chat_model",
    "compile_prompt",
    "compile_templates",
    "content_hash",
    "did_you_mean",
    "json_in",
    "needs_extra",
    "open_source",
    "question_of",
    "register_gate_rule",
    "register_loader",
    "register_metric",
    "register_reporter",
    "register_scorer",
    "side_by_side",
]

_HOMES = {
    name: module
    for module, names in {
        "chat.asking": "ChatModel Message Reply ask chat_model compile_prompt compile_templates "
        "json_in side_by_side",
        "chat.row_calls": "Calls Exchange",
        "data": "RolloutTable Row TaskId TaskRewards TaskRows",
        "data.content": "content_hash question_of",
        "engines.local": "Engine Workload",
        "errors": "did_you_mean ConfigError DataError EngineError EvalMetricsError "
        "GateFailed MetricError RegistryError RowError",
        "gates.decisions": "Change GateRule",
        "metrics.metric": "Metric MetricOptions",
        "registry": "register_gate_rule register_loader register_metric register_reporter "
        "register_scorer",
        "reports.reporters": "Reporter",
        "results": "AgentResult BenchmarkResult Check Estimate Verdict",
        "rollouts.files": "RolloutFile",
        "rollouts.loader": "Chunk Failure Loader LoaderFactory NotFinite Request RowLoader "
        "TextLoader",
        "rollouts.source": "Source SourceRow open_source",
        "scorers.interface": "AsyncScorer Explained Scorer",
        "spec": "BenchmarkSpec FieldMap",
        "transport": "CallError Endpoint Terms needs_extra",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"pytest_evalmetrics.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
