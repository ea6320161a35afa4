"""What one benchmark came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalmetrics.results.scores import ScoreSummary
from pytest_evalmetrics.results.scoring import JudgeCheck, JudgeUse, ScorerFailures
from pytest_evalmetrics.results.verdicts import Check, Estimate, Verdict, worst

__all__ = ["AgentResult", "BenchmarkResult"]


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
    changes
        What differs from the baseline beside the numbers: what is measured, the thresholds,
        the metrics, the rollouts of each task; and which tasks went from all to none.
    ruler
        What measures, as a baseline keeps it; empty without a baseline.
    sources
        The files that were read, as builtins (path, rows, size).
    xfail
        Whether the benchmark file says that it is known to fail.
    recorded
        Of a new baseline: its ``file``, and ``metrics``, each [old or None, new].
    failed_rows
        What the scorers could not score, by scorer; one that scored every row is not there.
    partial
        Whether rows were left out on purpose: no later run is held against it.
    judges
        What the judges of scorers took.
    judge_checks
        How far they agree with people, where labels are given.
    """

    id: str
    name: str
    description: str
    file: str
    line: int
    agents: tuple[AgentResult, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    ruler: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[Mapping[str, Any], ...] = ()
    xfail: bool = False
    recorded: Mapping[str, Any] = field(default_factory=dict)
    failed_rows: tuple[ScorerFailures, ...] = ()
    partial: bool = False
    judges: tuple[JudgeUse, ...] = ()
    judge_checks: tuple[JudgeCheck, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The most severe of its checks."""
        return worst([c.verdict for c in self.checks])

    @property
    def passed(self) -> bool:
        """Whether every gate holds; a warning does."""
        return not self.verdict.fails

    def __bool__(self) -> bool:
        return self.passed

    def value(self, metric: str, agent: str = "") -> float:
        """Return a metric's value.

        Parameters
        ----------
        metric
            A listed, gated or key metric, as it is written.
        agent
            Whose; may be left out where there is one.

        Raises
        ------
        KeyError
            There is no such metric or agent, or it is not said which of several is meant.
        """
        found = [a for a in self.agents if agent in ("", a.agent)]
        if len(found) != 1:
            there = ", ".join(repr(a.agent) for a in self.agents)
            raise KeyError(f"which agent? there is {there or 'none'}")
        try:
            return found[0].estimates[metric].value
        except KeyError:
            there = ", ".join(sorted(found[0].estimates))
            raise KeyError(f"there is no metric {metric!r}: there is {there}") from None
