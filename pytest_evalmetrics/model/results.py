"""The results of benchmarks: plain frozen values for gates and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec

# -- checks and what they rest on ----------------------------------------------------------


class Verdict(StrEnum):
    """The outcome of a gate, in the order of severity."""

    PASS = "PASS"  # noqa: S105 - a verdict
    WARN = "WARN"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"

    @property
    def fails(self) -> bool:
        """Whether it fails the build: a comparison that can't be judged fails too."""
        return self in (Verdict.FAIL, Verdict.INCONCLUSIVE)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the most severe verdict; PASS for none."""
    return max(verdicts, key=list(Verdict).index, default=Verdict.PASS)


class Interval(msgspec.Struct, frozen=True):
    """A confidence interval, in the metric's unit."""

    low: float
    high: float
    level: float  # 0.95
    method: str  # wilson, t, clustered t, order statistics, bootstrap


class Estimate(msgspec.Struct, frozen=True):
    """A metric's value and its uncertainty."""

    name: str  # as in the YAML: pass@1, mean/output_tokens
    value: float
    tasks: int
    rollouts: int
    interval: Interval | None = None
    reason: str = ""  # why there is no interval
    by_hook: bool = False  # computed by a hook, from unknown tasks
    score: str = ""  # the score it reduces; empty for several, or by a hook
    missing: int = 0  # rollouts without a number for it, which are left out
    of_tasks: tuple[
        str, ...
    ] = ()  # the first ten tasks with the value, if it is that of one task


class Check(msgspec.Struct, frozen=True):
    """One assertion with its evidence."""

    gate: str  # expect, threshold, baseline, task; data: unreadable; xfail: a strict one passed
    name: str  # a metric, or tasks, rollouts, missing
    verdict: Verdict
    agent: str = ""  # if a benchmark has several
    value: float | None = None  # found
    bound: str = ""  # required, as text: ">= 0.7"
    reason: str = ""  # why it did not hold, or a remark
    hint: str = ""  # the way out
    estimate: Estimate | None = None  # of a metric
    line: int | None = None  # of the benchmark file
    evidence: Mapping[str, Any] = msgspec.field(
        default_factory=dict
    )  # builtins: test, p, n, flips


class Power(msgspec.Struct, frozen=True):
    """The smallest drop that the gate of one metric can detect."""

    agent: str
    metric: str  # empty if the benchmark is unknown
    tasks: int
    rollouts: int  # of each task
    mde: float  # the smallest drop detected with 80 % power; NaN if unknown
    max_drop: float  # the drop that matters to the gate
    needed: (
        int | None
    )  # rollouts per task, on both sides, that detect max_drop; up to 1,024
    source: str  # the baseline, the rollouts, or an assumption
    reason: str = ""  # why it is unknown


# -- scoring: summaries, judges, failures --------------------------------------------------


class Bin(msgspec.Struct, frozen=True):
    """A bar of a histogram: values from the lower bound on, below the upper one."""

    lower_bound: float
    upper_bound: float
    count: int


class RubricCount(msgspec.Struct, frozen=True):
    """The number of rows to which a judge gave a label of its rubric."""

    label: str
    value: float
    count: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of several judges on a score."""

    alpha: (
        float | None
    )  # Krippendorff's: 1 is full agreement, 0 chance; None if undefined
    level: str  # nominal for labels, interval for numbers
    judges: int
    rows: int  # scored by all of them
    reason: str = ""  # why alpha is undefined


class ScoreSummary(msgspec.Struct, frozen=True):
    """The statistics of a score over all rows; undefined ones are None."""

    name: str
    count: int  # rows with it
    nan_count: int  # rows without
    # whether its values are numbers, or those of a rubric's labels
    score_type: Literal["range", "rubric"] = "range"
    sum: float | None = None
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    std_dev: float | None = None  # divided by n, as the variance
    variance: float | None = None
    sample_std_dev: float | None = None  # divided by n - 1, as the sample variance
    sample_variance: float | None = None
    percentiles: Mapping[str, float] | None = None  # p10 ... p100
    histogram: tuple[
        Bin, ...
    ] = ()  # ten of equal width; the last one includes its upper bound
    rubric_distribution: tuple[RubricCount, ...] = ()
    mode_category: str | None = (
        None  # the most frequent label, of several the first by name
    )
    agreement: Agreement | None = None


class JudgeUse(msgspec.Struct, frozen=True):
    """The calls of a scorer's judge, whenever its answers were paid for."""

    scorer: str  # its type
    scores: tuple[str, ...]
    model: str
    versions: Mapping[str, str]  # of its prompts
    calls: int  # answers
    requests: int  # sent to get them
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    without_tokens: int  # answers that don't report theirs
    cost: float | None  # None without a price, or without the tokens of an answer
    latency_s: Mapping[str, float]  # mean, p50, p95 and max of an answer


class Disagreement(msgspec.Struct, frozen=True):
    """A labelled row to which a judge and a person give different scores."""

    row: str
    judge: float
    label: float


class JudgeCheck(msgspec.Struct, frozen=True):
    """The agreement of a judge with people."""

    score: str
    rows: int  # labelled
    failed: int  # of them, not scored by the judge
    accuracy: float | None  # the share of rows with the same score
    kappa: float | None  # Cohen's
    quadratic_kappa: float | None  # weighted by the square of the distance
    reason: str = ""  # why a number is None
    first: tuple[Disagreement, ...] = ()  # at most 20


class RowFailure(msgspec.Struct, frozen=True):
    """A row that a scorer could not score."""

    index: int  # in the files, from 0
    row: str  # file:line
    kind: str  # a word to group by: ``http-500``, ``no-score``
    reason: str  # without secrets
    hint: str = ""


class ScorerFailures(msgspec.Struct, frozen=True):
    """The rows that a scorer could not score."""

    scorer: str  # its type
    scores: tuple[str, ...]
    count: int
    kinds: Mapping[str, int]  # the most frequent first
    first: tuple[RowFailure, ...]  # in the order of the files, at most 20
    rows: int = 0  # in all
    examples: Mapping[str, RowFailure] = msgspec.field(
        default_factory=dict
    )  # the first of each kind


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
    aggregate: Mapping[str, Any]  # NeMo Gym's entry of this agent
    scores: tuple[ScoreSummary, ...] = ()


class BenchmarkResult(msgspec.Struct, frozen=True):
    """The verdict on one benchmark, with its evidence."""

    id: str  # the pytest item: benchmarks/math.bench.yaml::math
    name: str
    description: str
    file: str
    line: int
    agents: tuple[AgentResult, ...]
    checks: tuple[Check, ...]  # in the order of the gates
    notes: tuple[str, ...] = ()  # remarks that belong to no check
    changes: tuple[str, ...] = ()  # differences from the baseline other than numbers
    ruler: Mapping[str, Any] = msgspec.field(
        default_factory=dict
    )  # kept in the baseline
    sources: tuple[Mapping[str, Any], ...] = ()  # files read: path, rows, size
    xfail: bool = False  # expected to fail
    # of a new baseline: its `file`, and `metrics`, each [old or None, new]
    recorded: Mapping[str, Any] = msgspec.field(default_factory=dict)
    failed_rows: tuple[ScorerFailures, ...] = ()  # of scorers that failed for a row
    partial: bool = False  # rows were left out on purpose: never a baseline
    judges: tuple[JudgeUse, ...] = ()
    judge_checks: tuple[JudgeCheck, ...] = ()
    flips: tuple[Flip, ...] = ()  # the tasks that changed most, if it does not pass

    @property
    def verdict(self) -> Verdict:
        """The most severe of its checks."""
        return worst([c.verdict for c in self.checks])

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
        agents = [a for a in self.agents if agent in ("", a.agent)]
        if len(agents) != 1:
            names = ", ".join(repr(a.agent) for a in self.agents)
            raise KeyError(f"which agent? there is {names or 'none'}")
        if metric not in (estimates := agents[0].estimates):
            names = ", ".join(sorted(estimates))
            raise KeyError(f"there is no metric {metric!r}: there is {names}")
        return estimates[metric].value
