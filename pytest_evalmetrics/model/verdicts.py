"""Verdicts, and the kinds of assertions that give them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


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


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most severe verdict; PASS for none."""
    order = list(Verdict)
    return max(verdicts, key=order.index, default=Verdict.PASS)


class Gate(StrEnum):
    """The kind of an assertion."""

    EXPECT = "expect"  # are all tasks, rollouts and rewards there
    THRESHOLD = "threshold"  # is a metric within bounds
    BASELINE = "baseline"  # is a metric no worse than before
    TASK = "task"  # single tasks that the file names
    DATA = "data"  # could the benchmark be evaluated at all
    BEHAVIOUR = "behaviour"  # what an agent does beside what it scores
    DRIFT = "drift"  # does a metric drift over the history
    XFAIL = "xfail"  # a strict xfail passed


class Acceptance(StrEnum):
    """The reference of a comparison, which decides how a change is accepted."""

    SNAPSHOT = "snapshot"  # the committed baseline: --snapshot-update
    # another run's files: compare with a newer one
    OTHER_RUN = "other_run"
    REPORT = "report"  # another run's report: the same
    HISTORY = "history"  # earlier runs: the history starts anew


class Direction(StrEnum):
    """Which way of a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"

    @property
    def sign(self) -> float:
        """1 where a fall is damage, -1 where a rise is."""
        return 1.0 if self is Direction.HIGHER else -1.0
