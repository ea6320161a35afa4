"""What a benchmark's evaluation comes to: plain frozen values, ready for every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = [
    "AgentResult",
    "BenchmarkResult",
    "Bin",
    "Check",
    "Estimate",
    "Interval",
    "Power",
    "RowFailure",
    "ScoreSummary",
    "ScorerFailures",
    "Verdict",
    "worst",
]


class Verdict(StrEnum):
    """What a gate says."""

    PASS = "PASS"  # noqa: S105 - a verdict
    WARN = "WARN"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"

    @property
    def fails(self) -> bool:
        """Whether the build is red: what can't be judged fails too."""
        return self in (Verdict.FAIL, Verdict.INCONCLUSIVE)


_SEVERITY = {v: i for i, v in enumerate(Verdict)}


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the most severe verdict; PASS where there is none."""
    return max(verdicts, key=_SEVERITY.__getitem__, default=Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes
    ----------
    low, high
        Its ends, in the metric's unit.
    level
        Its confidence, such as 0.95.
    method
        How it was computed: ``wilson``, ``t``, ``clustered t``, ``bootstrap``.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric's value and how sure it is.

    Attributes
    ----------
    name
        The metric as it is written in the YAML: ``pass@1``, ``mean/output_tokens``.
    value
        The number.
    tasks, rollouts
        What it was computed over.
    interval
        None where it can't be had, with the `reason`.
    by_hook
        Whether a hook computed it: then nothing is known of its tasks.
    """

    name: str
    value: float
    tasks: int
    rollouts: int
    interval: Interval | None = None
    reason: str = ""
    by_hook: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was asserted, with its evidence.

    Attributes
    ----------
    gate
        ``expect``, ``threshold`` or ``baseline``.
    name
        What is checked: a metric, or ``tasks``, ``rollouts``, ``missing``.
    agent
        Whose numbers, where a benchmark holds several agents; else empty.
    verdict
        What came out.
    value
        What was found.
    bound
        What was asked for, as text: ``>= 0.7``.
    reason
        Why it did not hold, or what a reader should know.
    hint
        The way out.
    estimate
        The estimate that was judged, where it is a metric.
    line
        The line of the benchmark file that asks for it.
    evidence
        Further numbers, as builtins: of a comparison its test, p, n, flips.
    """

    gate: str
    name: str
    verdict: Verdict
    agent: str = ""
    value: float | None = None
    bound: str = ""
    reason: str = ""
    hint: str = ""
    estimate: Estimate | None = None
    line: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a histogram: how many values from the lower bound on, below the upper one."""

    lower_bound: float
    upper_bound: float
    count: int


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What a scorer gave, over all rows; None where nothing can be said.

    Attributes
    ----------
    name
        The score.
    count, nan_count
        Rows with it and without.
    sum, mean, min, max, median
        Over the rows with it.
    std_dev, variance
        Divided by n.
    sample_std_dev, sample_variance
        Divided by n - 1.
    percentiles
        ``p10`` ... ``p100``.
    histogram
        Ten bars of equal width; the last one holds its upper bound too.
    """

    name: str
    count: int
    nan_count: int
    sum: float | None = None
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    std_dev: float | None = None
    variance: float | None = None
    sample_std_dev: float | None = None
    sample_variance: float | None = None
    percentiles: Mapping[str, float] | None = None
    histogram: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFailure:
    """One row that a scorer could not score.

    Attributes
    ----------
    index
        Its position in the files, from 0.
    row
        ``file:line``.
    kind, reason, hint
        A word to group by, what happened, and the way out.
    """

    index: int
    row: str
    kind: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ScorerFailures:
    """The rows that one scorer could not score.

    Attributes
    ----------
    scorer
        Its type.
    scores
        What they lack.
    count
        How many there are.
    kinds
        How many of each kind, the most frequent first.
    first
        The first of them, in the order of the files, at most 20.
    """

    scorer: str
    scores: tuple[str, ...]
    count: int
    kinds: Mapping[str, int]
    first: tuple[RowFailure, ...]


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What was computed for one agent of a benchmark.

    Attributes
    ----------
    agent
        Its name.
    tasks, rollouts, missing
        What was found; missing counts absent rollouts and rollouts without a reward.
    estimates
        The listed metrics and the key metrics, by name.
    key_metrics
        The headline ones, by name, in order.
    aggregate
        NeMo Gym's entry for this agent: agent_ref, agent_metrics, key_metrics,
        group_level_metrics.
    scores
        What the scorers gave, summed up over all rows.
    """

    agent: str
    tasks: int
    rollouts: int
    missing: int
    estimates: Mapping[str, Estimate]
    key_metrics: Mapping[str, float]
    aggregate: Mapping[str, Any]
    scores: tuple[ScoreSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """The verdict on one benchmark and everything it rests on.

    Attributes
    ----------
    id
        The pytest item: ``benchmarks/math.bench.yaml::math``.
    name, description, file, line
        The benchmark and where it stands.
    agents
        One result per agent.
    checks
        Every check, in the order of the gates.
    notes
        What a reader should know and no check says, such as completeness being unchecked.
    sources
        The files that were read, as builtins (path, rows, size).
    xfail
        Whether the benchmark file says that it is known to fail.
    recorded
        Of a new baseline: its ``file``, and ``metrics``, each [old or None, new].
    failed_rows
        What the scorers could not score, by scorer; one that scored every row is not there.
    """

    id: str
    name: str
    description: str
    file: str
    line: int
    agents: tuple[AgentResult, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    xfail: bool = False
    recorded: Mapping[str, Any] = field(default_factory=dict)
    failed_rows: tuple[ScorerFailures, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The most severe of its checks."""
        return worst([c.verdict for c in self.checks])


@dataclass(frozen=True, slots=True)
class Power:
    """What one gated metric can see.

    Attributes
    ----------
    agent, metric
        Whose, and which; the metric is empty where nothing is known of the benchmark.
    tasks, rollouts
        n and K.
    mde
        The smallest drop seen with 80 % power; NaN where it can't be told.
    max_drop
        The drop that matters to the gate.
    needed
        Rollouts per task, on both sides, that see `max_drop`; None where no number up to
        1,024 does, or none is asked for.
    source
        What it rests on: the baseline, the rollouts, or an assumption.
    reason
        Why it can't be told.
    """

    agent: str
    metric: str
    tasks: int
    rollouts: int
    mde: float
    max_drop: float
    needed: int | None
    source: str
    reason: str = ""
