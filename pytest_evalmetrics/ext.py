"""The public API for metrics, scorers, loaders, gate rules, reporters and engines.

What is offered here stays; everything else in the package may change. Importing it loads
all that it offers, so that only those who extend the package pay for it.
"""

from __future__ import annotations

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
from pytest_evalmetrics.gates.rules import Change, GateRule
from pytest_evalmetrics.metrics.metric import Metric, MetricOptions
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult, Check
from pytest_evalmetrics.model.rollout_table import (
    RolloutTable,
    Row,
    TaskId,
    TaskRewards,
    TaskRows,
    content_hash,
    question_of,
)
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.registry import (
    register_behaviour,
    register_gate_rule,
    register_loader,
    register_metric,
    register_reporter,
    register_scorer,
)
from pytest_evalmetrics.reports.reporters import Reporter
from pytest_evalmetrics.rollouts.documents import Document, rows_of
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
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    Source,
    SourceRow,
    open_source,
)
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.scoring.chat.asking import ask, side_by_side
from pytest_evalmetrics.scoring.chat.models import ChatModel, chat_model
from pytest_evalmetrics.scoring.chat.prompts import (
    Message,
    compile_prompt,
    compile_templates,
)
from pytest_evalmetrics.scoring.chat.replies import Reply, json_in, verdict_in
from pytest_evalmetrics.scoring.chat.row_calls import Calls, Exchange
from pytest_evalmetrics.scoring.engines.local import Engine, Workload, score_here
from pytest_evalmetrics.scoring.scorers.scorer import AsyncScorer, Explained, Scorer
from pytest_evalmetrics.scoring.transport import CallError, Endpoint, Terms, needs_extra
from pytest_evalmetrics.spec import BenchmarkSpec, FieldMap
from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn, turns_of

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
    "ChunkBuilder",
    "ConfigError",
    "DataError",
    "Document",
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
    "Rollout",
    "RolloutError",
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
    "ToolCall",
    "ToolLoader",
    "ToolResult",
    "Turn",
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
    "register_behaviour",
    "register_gate_rule",
    "register_loader",
    "register_metric",
    "register_reporter",
    "register_scorer",
    "rows_of",
    "score_here",
    "side_by_side",
    "turns_of",
    "verdict_in",
]
