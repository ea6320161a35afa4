"""What an evaluation takes of the user's code, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.baselines import Document
    from pytest_evalmetrics.data import RowScores
    from pytest_evalmetrics.results import BenchmarkResult

__all__ = ["Evaluated", "Hooks"]


class Hooks(msgspec.Struct, frozen=True):
    """What the user's code has a say in; None where nobody implements it."""

    # ``(agent, tasks) -> further metrics``, one mapping per implementation
    compute_metrics: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any] | None]] | None = (
        None
    )
    source: str = ""  # the hash of what computes metrics
    # ``(agent, agent_metrics) -> the headline ones``
    key_metrics: Callable[[str, Mapping[str, Any]], Any] | None = None


class Evaluated(msgspec.Struct, frozen=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult  # the verdict and everything it rests on
    # by agent and task: the scores of each rollout that gated metrics rest on
    task_scores: dict[str, Any]
    baseline: Document | None  # the document to record; None where a number may be missing or wrong
    row_scores: RowScores | None = None  # what scorers gave to each row; None without scorers
    kept_rows: bytes | None = None  # the baseline's rows, compressed; None where it keeps none
    # by agent: its tasks before and after, for the page that people look at; none of a
    # benchmark that passes and is not to be shown in detail
    pictures: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
