"""The results of benchmarks: frozen values for gates and reports."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Literal

import msgspec

from pytest_evalmetrics.model.behaviour import BehaviourFacts
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.bounds import Bound
from pytest_evalmetrics.model.changes import RunChange
from pytest_evalmetrics.model.comparison import ComparisonFacts, LookFacts
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.history import HistoryRun
from pytest_evalmetrics.model.notes import Note
from pytest_evalmetrics.model.reasons import Reason
from pytest_evalmetrics.model.scores import (
    JudgeCheck,
    JudgeUse,
    ScorerFailures,
    ScoreSummary,
)
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict, worst


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One assertion with the facts that it rests on."""

    gate: Gate
    name: str  # a metric, or tasks, rollouts, missing
    verdict: Verdict
    agent: str = ""  # if a benchmark has several
    value: float | None = None  # found, in the metric's unit
    # what is required; in JSON `bound` is its text
    bound: Bound | None = msgspec.field(default=None, name="required")
    # why it did not hold, the cause first; or remarks
    reasons: tuple[Reason, ...] = ()
    estimate: Estimate | None = None  # of a metric
    line: int | None = None  # of the benchmark file
    comparison: ComparisonFacts | None = None  # of a baseline gate
    look: LookFacts | None = None  # of a run that may stop early
    # how a change of it is accepted; None where nothing is compared
    acceptance: Acceptance | None = None
    # passes because the run records a new baseline, whatever the comparison shows
    accepted: bool = False
    # of a check that would fail: it is shown, and fails nothing
    tier: Tier = Tier.REQUIRED


class PowerSource(StrEnum):
    """The numbers that a plan of the power is made of."""

    BASELINE = "baseline"
    BASELINE_AND_ROLLOUTS = "baseline and rollouts"
    ROLLOUTS = "rollouts"
    ASSUMPTION = "an even spread of pass rates"
    NOTHING = "nothing"


class PowerGap(StrEnum):
    """Why rollouts do not show the smallest drop that a gate detects."""

    NO_MEAN = auto()  # the metric is no mean over tasks
    NO_NUMBER = auto()  # no rollout has one
    ONE_ROLLOUT = auto()  # of each task, which does not show how much a task varies
    ONE_RUN = auto()  # which does not show how the tasks of a cluster vary
    ALL_ALIKE = auto()  # the rollouts of each task
    FEW_VARY = auto()  # too few tasks pass, or too few fail
    # too few tasks, whose rollouts prove a loss of everything alone
    ONLY_COLLAPSE = auto()


class PowerError(msgspec.Struct, frozen=True):
    """An error that kept a gate from being planned."""

    words: str  # of the error


class Power(msgspec.Struct, frozen=True):
    """The smallest drop that the gate of one metric can detect."""

    agent: str
    metric: str  # empty if the benchmark is unknown
    tasks: int
    rollouts: int  # of each task
    mde: float  # the smallest drop detected with 80 % power; NaN if unknown
    max_drop: float  # the drop that matters to the gate
    # rollouts per task, on both sides, that detect max_drop; None for more than 1,024, and where
    # two runs of one rollout each show the drop alone
    needed: int | None
    source: PowerSource
    # why `mde` is unknown
    unknown: PowerGap | FewUnits | PowerError | None = None
    # of one rollout of each task: as if all variation between tasks were one between runs, which
    # is the most that it can be
    is_worst: bool = False


class StopForecast(msgspec.Struct, frozen=True):
    """After how many rollouts of each task a gate is expected to be sure."""

    most: int
    unchanged: float  # if nothing changed
    dropped: float  # at a drop that is detected with 80 % power


# -- texts of rollouts -------------------------------------------------------------------------


class Attempt(msgspec.Struct, frozen=True):
    """One attempt at a task, with its texts."""

    sample: int
    reward: float | None  # None if it is missing
    text: str = ""  # the answer
    reason: str = ""  # of a judge


class Flip(msgspec.Struct, frozen=True):
    """A task that changed, with the answers of both sides; long texts are truncated."""

    agent: str
    task: str
    prompt: str
    reference: str
    before: tuple[Attempt, ...]
    now: tuple[Attempt, ...]


# -- benchmarks ----------------------------------------------------------------------------


class AgentResult(msgspec.Struct, frozen=True):
    """The numbers of one agent of a benchmark."""

    agent: str
    tasks: int
    rollouts: int
    missing: int  # absent rollouts, and rollouts without a reward
    estimates: Mapping[str, Estimate]  # of listed and key metrics, by name
    key_metrics: Mapping[str, float]  # in order
    # NeMo Gym's entry of this agent; a file of its own, and in no report
    aggregate: Mapping[str, object] = msgspec.field(default_factory=dict)
    scores: tuple[ScoreSummary, ...] = ()
    # whether ids of tasks are names, or positions in a data set
    task_ids: Literal["names", "positions"] = "names"


class SourceSummary(msgspec.Struct, frozen=True):
    """A file that rollouts were read from."""

    path: str
    rows: int
    size: int  # bytes


class RecordedBaseline(msgspec.Struct, frozen=True):
    """A baseline that a run recorded."""

    file: str
    written: bool  # whether its bytes changed
    # each metric's value before and now; None where there is none
    metrics: Mapping[str, tuple[float | None, float | None]]


class StaleBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """A committed baseline that is older than the run's limit."""

    file: str
    recorded: str  # the time in UTC
    days: int  # its age
    limit: int  # in days
    reason: str = ""  # why it was recorded
    by: str = ""  # who committed it; empty if unknown


class BenchmarkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one benchmark, with its evidence."""

    id: str  # the pytest item: benchmarks/math.bench.yaml::math
    name: str
    description: str
    file: str
    line: int
    agents: tuple[AgentResult, ...]
    checks: tuple[Check, ...]  # in the order of the gates
    # remarks that belong to no check; report.json has their texts as `notes`
    notes: tuple[Note, ...] = msgspec.field(default=(), name="note_facts")
    # differences from the baseline beside the numbers; report.json has their texts as
    # `changes`
    changes: tuple[RunChange, ...] = msgspec.field(default=(), name="change_facts")
    # what measures it, as the baseline keeps it
    ruler: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    sources: tuple[SourceSummary, ...] = ()
    xfail: bool = False  # expected to fail
    recorded: RecordedBaseline | None = None
    failed_rows: tuple[ScorerFailures, ...] = ()  # of scorers that failed for a row
    partial: bool = False  # rows were left out on purpose: never a baseline
    stale: StaleBaseline | None = None  # its baseline, where it is too old
    judges: tuple[JudgeUse, ...] = ()
    judge_checks: tuple[JudgeCheck, ...] = ()
    flips: tuple[Flip, ...] = ()  # the tasks that changed most, if it does not pass
    # what the tasks of failing agents that got worse have in common, the surest first
    separators: tuple[Separator, ...] = ()
    # what each agent does, where the benchmark asks for it
    behaviour: tuple[BehaviourFacts, ...] = ()
    # changes that evalmetrics-accepted.yaml accepts: honoured in this run, or before
    accepted_levels: tuple[str, ...] = ()

    @property
    def fails_advisory(self) -> bool:
        """Whether an advisory gate would fail."""
        return any(check.tier is Tier.ADVISORY for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """The most severe of its checks."""
        return worst(check.verdict for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether no gate fails; a warning passes."""
        return not self.verdict.fails

    def __bool__(self) -> bool:
        return self.passed

    def value(self, metric: str, agent: str = "") -> float:
        """Return the value of a listed, gated or key metric, as written in the benchmark.

        `agent` may be left out if there is only one. KeyError names what there is.
        """
        matches = [result for result in self.agents if agent in ("", result.agent)]
        if len(matches) != 1:
            names = ", ".join(repr(result.agent) for result in self.agents)
            raise KeyError(f"which agent? there is {names or 'none'}")
        estimates = matches[0].estimates
        if metric not in estimates:
            names = ", ".join(sorted(estimates))
            raise KeyError(f"there is no metric {metric!r}: there is {names}")
        return estimates[metric].value


# -- runs ------------------------------------------------------------------------------------


class SkippedItem(msgspec.Struct, frozen=True):
    """A benchmark that a mark or its file skips."""

    id: str  # the pytest item
    reason: str


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    benchmarks: tuple[BenchmarkResult, ...]  # by id
    not_evaluated: tuple[str, ...] = ()  # items that were collected and never judged
    skipped: tuple[SkippedItem, ...] = ()
    deselected: tuple[str, ...] = ()  # by the run's selection (-k, -m, ...)
    # of each benchmark the last runs, the oldest first and this one last
    history: Mapping[str, tuple[HistoryRun, ...]] = msgspec.field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The worst of what is not expected to fail; INCONCLUSIVE if a result lacks."""
        verdicts = [result.verdict for result in self.benchmarks if not result.xfail]
        if self.not_evaluated:
            verdicts.append(Verdict.INCONCLUSIVE)
        return worst(verdicts)
