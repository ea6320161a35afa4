"""The public API for metrics, scorers, loaders, gate rules, reporters and engines.

Each name is imported on first use, so that importing this module costs nothing.
"""
# ruff: noqa: PLC0414 - `as` says to type checkers that a name is exported

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_evalmetrics.chat.asking import ask as ask
    from pytest_evalmetrics.chat.asking import side_by_side as side_by_side
    from pytest_evalmetrics.chat.models import ChatModel as ChatModel
    from pytest_evalmetrics.chat.models import chat_model as chat_model
    from pytest_evalmetrics.chat.prompts import Message as Message
    from pytest_evalmetrics.chat.prompts import compile_prompt as compile_prompt
    from pytest_evalmetrics.chat.prompts import compile_templates as compile_templates
    from pytest_evalmetrics.chat.replies import Reply as Reply
    from pytest_evalmetrics.chat.replies import json_in as json_in
    from pytest_evalmetrics.chat.replies import verdict_in as verdict_in
    from pytest_evalmetrics.chat.row_calls import Calls as Calls
    from pytest_evalmetrics.chat.row_calls import Exchange as Exchange
    from pytest_evalmetrics.engines.local import Engine as Engine
    from pytest_evalmetrics.engines.local import Workload as Workload
    from pytest_evalmetrics.engines.local import score_here as score_here
    from pytest_evalmetrics.errors import ConfigError as ConfigError
    from pytest_evalmetrics.errors import DataError as DataError
    from pytest_evalmetrics.errors import EngineError as EngineError
    from pytest_evalmetrics.errors import EvalMetricsError as EvalMetricsError
    from pytest_evalmetrics.errors import GateFailed as GateFailed
    from pytest_evalmetrics.errors import MetricError as MetricError
    from pytest_evalmetrics.errors import RegistryError as RegistryError
    from pytest_evalmetrics.errors import RowError as RowError
    from pytest_evalmetrics.errors import did_you_mean as did_you_mean
    from pytest_evalmetrics.gates.rules import Change as Change
    from pytest_evalmetrics.gates.rules import GateRule as GateRule
    from pytest_evalmetrics.metrics.metric import Metric as Metric
    from pytest_evalmetrics.metrics.metric import MetricOptions as MetricOptions
    from pytest_evalmetrics.model.estimates import Estimate as Estimate
    from pytest_evalmetrics.model.results import AgentResult as AgentResult
    from pytest_evalmetrics.model.results import BenchmarkResult as BenchmarkResult
    from pytest_evalmetrics.model.results import Check as Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable as RolloutTable
    from pytest_evalmetrics.model.rollout_table import Row as Row
    from pytest_evalmetrics.model.rollout_table import TaskId as TaskId
    from pytest_evalmetrics.model.rollout_table import TaskRewards as TaskRewards
    from pytest_evalmetrics.model.rollout_table import TaskRows as TaskRows
    from pytest_evalmetrics.model.rollout_table import content_hash as content_hash
    from pytest_evalmetrics.model.rollout_table import question_of as question_of
    from pytest_evalmetrics.model.verdicts import Verdict as Verdict
    from pytest_evalmetrics.registry import register_gate_rule as register_gate_rule
    from pytest_evalmetrics.registry import register_loader as register_loader
    from pytest_evalmetrics.registry import register_metric as register_metric
    from pytest_evalmetrics.registry import register_reporter as register_reporter
    from pytest_evalmetrics.registry import register_scorer as register_scorer
    from pytest_evalmetrics.reports.reporters import Reporter as Reporter
    from pytest_evalmetrics.rollouts.documents import Document as Document
    from pytest_evalmetrics.rollouts.documents import rows_of as rows_of
    from pytest_evalmetrics.rollouts.loader import Chunk as Chunk
    from pytest_evalmetrics.rollouts.loader import Failure as Failure
    from pytest_evalmetrics.rollouts.loader import Loader as Loader
    from pytest_evalmetrics.rollouts.loader import LoaderFactory as LoaderFactory
    from pytest_evalmetrics.rollouts.loader import NotFinite as NotFinite
    from pytest_evalmetrics.rollouts.loader import Request as Request
    from pytest_evalmetrics.rollouts.loader import RowLoader as RowLoader
    from pytest_evalmetrics.rollouts.loader import TextLoader as TextLoader
    from pytest_evalmetrics.rollouts.not_judged import RolloutError as RolloutError
    from pytest_evalmetrics.rollouts.source import RolloutFile as RolloutFile
    from pytest_evalmetrics.rollouts.source import Source as Source
    from pytest_evalmetrics.rollouts.source import SourceRow as SourceRow
    from pytest_evalmetrics.rollouts.source import open_source as open_source
    from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder as ChunkBuilder
    from pytest_evalmetrics.rollouts.tool_loader import Rollout as Rollout
    from pytest_evalmetrics.rollouts.tool_loader import ToolLoader as ToolLoader
    from pytest_evalmetrics.scorers.interface import AsyncScorer as AsyncScorer
    from pytest_evalmetrics.scorers.interface import Explained as Explained
    from pytest_evalmetrics.scorers.interface import Scorer as Scorer
    from pytest_evalmetrics.spec import BenchmarkSpec as BenchmarkSpec
    from pytest_evalmetrics.spec import FieldMap as FieldMap
    from pytest_evalmetrics.transport import CallError as CallError
    from pytest_evalmetrics.transport import Endpoint as Endpoint
    from pytest_evalmetrics.transport import Terms as Terms
    from pytest_evalmetrics.transport import needs_extra as needs_extra

_HOMES = {
    name: module
    for module, names in {
        "chat.asking": "ask side_by_side",
        "chat.models": "ChatModel chat_model",
        "chat.prompts": "Message compile_prompt compile_templates",
        "chat.replies": "Reply json_in verdict_in",
        "chat.row_calls": "Calls Exchange",
        "model.rollout_table": "RolloutTable Row TaskId TaskRewards TaskRows content_hash "
        "question_of",
        "engines.local": "Engine Workload score_here",
        "errors": "did_you_mean ConfigError DataError EngineError EvalMetricsError "
        "GateFailed MetricError RegistryError RowError",
        "gates.rules": "Change GateRule",
        "metrics.metric": "Metric MetricOptions",
        "registry": "register_gate_rule register_loader register_metric register_reporter "
        "register_scorer",
        "reports.reporters": "Reporter",
        "model.estimates": "Estimate",
        "model.results": "AgentResult BenchmarkResult Check",
        "model.verdicts": "Verdict",
        "rollouts.documents": "Document rows_of",
        "rollouts.loader": "Chunk Failure Loader LoaderFactory NotFinite Request RowLoader "
        "TextLoader",
        "rollouts.not_judged": "RolloutError",
        "rollouts.source": "RolloutFile Source SourceRow open_source",
        "rollouts.tool_loader": "ChunkBuilder Rollout ToolLoader",
        "scorers.interface": "AsyncScorer Explained Scorer",
        "spec": "BenchmarkSpec FieldMap",
        "transport": "CallError Endpoint Terms needs_extra",
    }.items()
    for name in names.split()
}


if not TYPE_CHECKING:  # type checkers go by `as`, and would want a literal here
    __all__ = sorted(_HOMES)  # noqa: PLE0605 - the same


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"pytest_evalmetrics.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
