"""Verdicts, and what is gated: estimates and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Check", "Estimate", "Interval", "Power", "Verdict", "worst"]


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
        How it was computed: ``wilson``, ``t``, ``clustered t``, ``order statistics``,
        ``bootstrap``.
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
    score
        The score that it reduces; empty where it is made of several, or by a hook.
    missing
        Rollouts that have no number for it, and are left out.
    of_tasks
        The first ten tasks that have the value, for a metric that is that of one task alone.
    """

    name: str
    value: float
    tasks: int
    rollouts: int
    interval: Interval | None = None
    reason: str = ""
    by_hook: bool = False
    score: str = ""
    missing: int = 0
    of_tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was asserted, with its evidence.

    Attributes
    ----------
    gate
        ``expect``, ``threshold``, ``baseline`` or ``task``; ``data`` of what could not be read, and
        ``xfail`` of what was to fail and passes.
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
