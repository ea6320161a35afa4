"""A run against its baseline: which metrics are gated, by which rule, on which tasks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.errors import EvalMetricsError, MetricError
from pytest_evalmetrics.metrics.names import parse
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.results import AgentResult, Estimate
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["Judging", "Reference", "gated_names", "gone_agents", "judge", "rule_of"]

_ALPHA, _WARN_ALPHA, _MAX_DROP = 0.01, 0.05, 0.01


@dataclass(frozen=True)
class Reference:
    """The run that another one is compared with.

    Attributes
    ----------
    tables
        Its rollouts, by agent.
    values
        Its key metrics, by agent and name: all there is of what a hook computed.
    where
        What it is, for messages: ``the baseline``.
    renew
        What to do where it does not hold what is compared.
    notes
        What a reader should know of it.
    """

    tables: Mapping[str, RolloutTable]
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    where: str = "the baseline"
    renew: str = "record a new baseline with --snapshot-update"
    notes: tuple[str, ...] = ()

    def agent_for(self, name: str, *, alone: bool) -> str | None:
        """Find an agent; where both sides have one agent, it may have been renamed."""
        if name in self.tables or not alone or len(self.tables) != 1:
            return name if name in self.tables else None
        return next(iter(self.tables))


def gated_names(benchmark: Benchmark) -> tuple[str, ...]:
    """List the metrics that a baseline gates.

    The key metrics that the benchmark names, else its listed metrics, and those that have
    settings of their own. A ``mean/*`` that is a key metric only by default is told and not
    gated: where each recorded number can fail the build, chance soon does.
    """
    spec = benchmark.spec
    own = spec.baseline.metrics if isinstance(spec.baseline, BaselineSpec) else ()
    return tuple(dict.fromkeys((*(spec.key_metrics or spec.metrics), *own)))


@dataclass
class Judging:
    """One benchmark's agents, held against the reference.

    Judged together: the more numbers of a benchmark can fail the build, the surer each has
    to be, whichever agent they are of.

    Attributes
    ----------
    benchmark
        The benchmark; has a baseline.
    plan
        Its metrics.
    reference
        What to compare with.
    """

    benchmark: Benchmark
    plan: metrics.Plan
    reference: Reference
    _found: list[Check | gates.Gated] = field(default_factory=list, init=False)

    def add(
        self, result: AgentResult, table: RolloutTable, *, agent: str, expected: NDArray[np.int64]
    ) -> None:
        """Take one agent.

        Parameters
        ----------
        result, table
            What was computed for it, and its rollouts.
        agent
            Its name where a benchmark has several, else empty.
        expected
            Rollouts that each task should have, shape (tasks,).
        """
        reference = self.reference
        counterpart = reference.agent_for(result.agent, alone=not agent)
        if counterpart is None:
            self._found.append(
                Check(
                    "baseline",
                    "agent",
                    Verdict.INCONCLUSIVE,
                    agent=agent,
                    reason=f"{reference.where} has no agent {result.agent!r}: it has "
                    + (", ".join(map(repr, reference.tables)) or "none"),
                    hint=f"name the agent as before, or {reference.renew}",
                    line=self.benchmark.line_of("baseline"),
                )
            )
            return
        pairing = metrics.Pairing(self.plan, table, reference.tables[counterpart], expected)
        known = reference.values.get(counterpart, {})
        written = {result.estimates[name].name: name for name in gated_names(self.benchmark)}
        for name, text in written.items():  # the last text is the one with its own settings
            found = self._judged(pairing, text, result.estimates[text], known.get(name), agent)
            if isinstance(found, gates.Gated):
                found = replace(found, gate_id=f"{self.benchmark.spec.name}::{result.agent}")
            self._found.append(found)

    def checks(self) -> list[Check]:
        """Judge all that was taken, in its order."""
        spec = _settings(self.benchmark)
        gated = [found for found in self._found if isinstance(found, gates.Gated)]
        judged = iter(
            gates.check_regression(gated, min_coverage=spec.min_coverage, accept=self._accept)
        )
        return [next(judged) if isinstance(f, gates.Gated) else f for f in self._found]

    @property
    def _accept(self) -> str:
        return "" if _settings(self.benchmark).committed else "compare with a newer run"

    def _judged(
        self,
        pairing: metrics.Pairing,
        text: str,
        estimate: Estimate,
        known: float | None,
        agent: str,
    ) -> Check | gates.Gated:
        line = self.benchmark.line_of("baseline", "metrics", text)
        if estimate.by_hook:
            rule = rule_of(self.benchmark, text, bounded=False)
            return gates.check_value(
                estimate, known, rule, agent=agent, line=line, accept=self._accept
            )
        try:
            gated = _gated(pairing, text, self.benchmark)
            return replace(gated, line=line, agent=agent, estimate=estimate)
        except EvalMetricsError as error:  # the run itself has been reduced: see its estimates
            return Check(
                "baseline",
                estimate.name,
                Verdict.INCONCLUSIVE,
                agent=agent,
                value=estimate.value,
                reason=f"{text} can't be compared with {self.reference.where}: {error.message}",
                hint=self.reference.renew,
                estimate=estimate,
                line=line,
            )


def judge(
    benchmark: Benchmark,
    plan: metrics.Plan,
    result: AgentResult,
    table: RolloutTable,
    *,
    agent: str,
    expected: NDArray[np.int64],
    reference: Reference,
) -> list[Check]:
    """Hold one agent's key metrics against the reference; see `Judging`."""
    judging = Judging(benchmark, plan, reference)
    judging.add(result, table, agent=agent, expected=expected)
    return judging.checks()


def gone_agents(
    benchmark: Benchmark, agents: Sequence[str], reference: Reference
) -> Iterator[Check]:
    """Tell of the agents that only the reference has: nothing else would miss them."""
    alone = len(agents) == 1
    compared = {reference.agent_for(agent, alone=alone) for agent in agents}
    for gone in reference.tables:
        if gone not in compared:
            yield Check(
                "baseline",
                "agent",
                Verdict.INCONCLUSIVE,
                agent=gone,
                reason=f"this run has no agent {gone!r}, which {reference.where} has",
                hint=f"complete the run, or {reference.renew}",
                line=benchmark.line_of("baseline"),
            )


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the rule by which a benchmark judges one of its gated metrics.

    Parameters
    ----------
    benchmark
        The benchmark.
    name
        The metric, as it is written.
    bounded
        Whether its values lie in [0, 1].
    """
    spec = _settings(benchmark)
    own = spec.metrics.get(name)
    asked = spec if own is None else own.over(spec)
    less = _less_is_better(name)
    drop = asked.max_drop
    if drop is None:
        drop = _MAX_DROP if bounded and not less else 0.0
    return gates.Rule(
        name=asked.rule or "practical",
        direction=asked.direction or ("lower" if less else "higher"),
        alpha=asked.alpha or _ALPHA,
        warn_alpha=asked.warn_alpha or _WARN_ALPHA,
        max_drop=drop,
        require_mde=asked.require_mde,
    )


def _less_is_better(text: str) -> bool:
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return gates.less_is_better(text)
    return gates.less_is_better(name.metric.rpartition(":")[2], name.score)


def _settings(benchmark: Benchmark) -> BaselineSpec:
    spec = benchmark.spec.baseline
    return spec if isinstance(spec, BaselineSpec) else BaselineSpec()


def _gated(pairing: metrics.Pairing, text: str, benchmark: Benchmark) -> gates.Gated:
    metric = pairing.metric(text)
    compared = pairing.pair(metric)
    rule = rule_of(benchmark, text, bounded=compared.pair.bounded)
    worst = pairing.pair_at_worst(metric, higher_is_better=rule.direction == "higher")
    return gates.Gated(
        pair=compared.pair,
        rule=rule,
        worst=None if worst is None else worst.pair,
        missing=pairing.missing(metric),
        clusters=compared.clusters,
        worst_clusters=None if worst is None else worst.clusters,
        combine_weighted=compared.combine_weighted,
        added=compared.added,
        removed=compared.removed,
    )
