"""What an evaluation is given, what its stages come to, and what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from pytest_evalmetrics.pipeline import (
    anchors,
)
from pytest_evalmetrics.pipeline.reducing import Hooks, Reduced

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.comparison import RunScatter
    from pytest_evalmetrics.gates import SingleTasks
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
    from pytest_evalmetrics.model.baseline import AgentDocument, BaselineDocument
    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.reasons import (
        JudgeShift,
    )
    from pytest_evalmetrics.model.results import BenchmarkResult, Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores
    from pytest_evalmetrics.pipeline.behaving import Observed
    from pytest_evalmetrics.pipeline.comparing import AgentComparison, ComparisonTerms
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.pipeline.measuring import KeptRows, Measurement
    from pytest_evalmetrics.pipeline.scoring import Runtime
    from pytest_evalmetrics.reports.html.picture import Picture
    from pytest_evalmetrics.scoring.door import Budget, Engine
    from pytest_evalmetrics.spec import Benchmark


class BaselineReader(Protocol):
    """Reads the committed baseline of a benchmark."""

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and how its file is called; None without one."""

    def renamed_from(self) -> str:
        """Guess a benchmark's former name; empty if there is no guess."""

    def read_rows(self) -> bytes | None:
        """Return the rows that the baseline keeps, compressed; None if there are none."""


class EvaluationInput(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, and where the run finds what it needs."""

    benchmark: Benchmark
    item_id: str  # the result's id: that of the pytest item
    file: str | None = None  # for messages; default the beginning of `item_id`
    hooks: Hooks = Hooks()
    baseline: BaselineReader | None = None  # the committed one
    # this run records a new baseline: the old one is shown, not asserted
    updates: bool = False
    gains_runs: bool = False  # its baseline is of several runs, of which this is one
    first_run: bool = False  # a missing report to compare with is no fault
    runtime: Runtime | None = None  # of the run, for a scored benchmark
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    history: Path | None = None  # of earlier runs, where the run keeps one
    engine: Engine | None = None  # where rows are read and scored, if not here
    detailed: bool = True  # its tasks are pictured even if it passes
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    # how runs of other benchmarks of the project scatter
    pooled: tuple[RunScatter, ...] = ()
    look: Look | None = None  # at a run that may stop early
    budget: Budget | None = None  # of the benchmark, that its rounds share
    # the tasks of which rollouts are drawn; None for all
    only_tasks: frozenset[str] | None = None
    # the project's policy requires it, whatever its file says
    is_required: bool = False
    # changes that a file of the repository accepts for this benchmark
    accepted: tuple[AcceptedLevel, ...] = ()


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult
    # by agent: the scores of each rollout that gated metrics rest on, and the tasks'
    # content
    documents: Mapping[str, AgentDocument] = {}
    # None if a number may be missing or wrong
    baseline: BaselineDocument | None = None
    row_scores: RowScores | None = None  # of each row; None without scorers
    # when the baseline of the comparison was recorded, and why; empty if unknown
    recorded: str = ""
    reason: str = ""
    # the baseline's rows, compressed; None if it keeps none
    kept_rows: bytes | None = None
    # by agent: its tasks before and after, for the page; none of a benchmark that
    # passes and is not shown in detail
    pictures: Mapping[str, Picture] = {}


class Stages(msgspec.Struct, frozen=True, kw_only=True):
    """What the stages of an evaluation have come to."""

    given: EvaluationInput
    gates: dict[str, object]  # as the file writes them
    rows: Rows
    loaded: Loaded
    single: SingleTasks | None  # the tasks that the benchmark names
    measurement: Measurement | None  # None where nothing is compared
    kept: KeptRows | None  # the rows that a new baseline keeps
    reduced: Reduced
    compared: Compared
    observed: Observed | None = None  # None unless the benchmark asks for behaviour

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark as its rollouts allow."""
        return self.loaded.benchmark

    @property
    def judge_shift(self) -> JudgeShift | None:
        """How far the judge is from that of the reference, on the anchors of both."""
        terms = self.compared.terms
        scored = self.rows.scored
        if terms is None or scored is None or scored.anchors is None:
            return None
        before = anchors.recorded_scores(terms.reference.provenance.anchors)
        if before is None:
            return None
        return anchors.judge_shift(before, scored.anchors)


class Compared(msgspec.Struct, frozen=True):
    """All agents beside the reference, or why there is none."""

    terms: ComparisonTerms | None = None
    agents: tuple[AgentComparison, ...] = ()
    checks: tuple[Check, ...] = ()  # of the reference
    notes: tuple[Note, ...] = ()
    # what measures otherwise and the like: what changed beside the numbers
    changes: tuple[RunChange, ...] = ()
