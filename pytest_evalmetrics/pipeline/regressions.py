"""A run against its baseline or history: which metrics are gated, by which rule, on which tasks."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.errors import BaselineError, EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import BaselineSpec
from pytest_evalmetrics.spec.metric_names import direction_of, is_spent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.history import Anchors
    from pytest_evalmetrics.pipeline.ruler import RulerChange
    from pytest_evalmetrics.results import AgentResult, Estimate
    from pytest_evalmetrics.spec import Benchmark

    _Agent = tuple[AgentResult, RolloutTable, NDArray[np.int64]]

__all__ = [
    "Judging",
    "Reference",
    "anchored_checks",
    "anchors_of",
    "cannot_fail",
    "compares_with_history",
    "gated_names",
    "gone_agents",
    "judge",
    "no_direction",
    "rule_of",
    "settings_of",
    "unpassable",
]

_ALPHA, _WARN_ALPHA, _MAX_DROP = 0.01, 0.05, 0.01


def gated_names(benchmark: Benchmark) -> tuple[str, ...]:
    """List the metrics that a baseline gates."""
    return benchmark.spec.gated


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the rule by which a benchmark judges one of its gated metrics."""
    spec = settings_of(benchmark)
    own = spec.metrics.get(name)
    asked = spec if own is None else own.over(spec)
    known = direction_of(benchmark.spec, name) or "higher"
    drop = asked.max_drop
    if drop is None:
        drop = _MAX_DROP if bounded and not is_spent(name) else 0.0
    return gates.Rule(
        name=asked.rule or "practical",
        direction=asked.direction or known,
        alpha=asked.alpha or _ALPHA,
        warn_alpha=asked.warn_alpha or _WARN_ALPHA,
        max_drop=drop,
        require_mde=asked.require_mde,
    )


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return what a benchmark says of its baseline, or the defaults."""
    spec = benchmark.spec.baseline
    return spec if isinstance(spec, BaselineSpec) else BaselineSpec()


def no_direction(benchmark: Benchmark, text: str, estimate: Estimate, agent: str) -> Check | None:
    """Refuse to judge a hook's number where nothing says which way is better."""
    baseline = settings_of(benchmark)
    own = baseline.metrics.get(text)
    asked = baseline.direction or (None if own is None else own.direction)
    if asked or direction_of(benchmark.spec, text, of_reward=False):
        return None
    return Check(
        "baseline",
        text,
        Verdict.INCONCLUSIVE,
        agent=agent,
        value=estimate.value,
        reason=f"nothing says which way is better for {text}, which a hook computes",
        hint=f'write `baseline: {{metrics: {{"{text}": {{direction: higher}}}}}}`, or lower where '
        "less is better",
        estimate=estimate,
        line=benchmark.line_of("baseline", "metrics", text),
    )


def cannot_fail(benchmark: Benchmark, text: str, gated: gates.Gated) -> Check | None:
    """Refuse a drop that values in [0, 1] can't show; of a declared range the file is refused.

    What is not known to be a rate may be one all the same: that all its rewards lie in [0, 1]
    is seen here. Time and money have no upper end.
    """
    rule, pair = gated.rule, gated.pair
    whole = rule.name in ("absolute", "practical", "noninferior") or (
        rule.name == "relative" and rule.direction == "higher"
    )
    asked = rule.max_drop if whole else 0.0
    asked = max(asked, rule.require_mde or 0.0)
    if not pair.bounded or asked < 1 or is_spent(text):
        return None
    key = "require_mde" if asked > rule.max_drop or not whole else "max_drop"
    own = settings_of(benchmark).metrics.get(text)
    here = own is not None and getattr(own, key) is not None
    meant = f"; did you mean {asked:.12g}%?" if asked <= 100 else ""  # noqa: PLR2004 - per cent
    return Check(
        "baseline",
        pair.name,
        Verdict.INCONCLUSIVE,
        agent=gated.agent,
        value=pair.value_current,
        bound=str(rule),
        reason=f"{key} {asked:.12g} can never fail: all rewards of {pair.name} lie in "
        f"[0, 1]{meant}",
        hint=f"choose a {key} below 1",
        estimate=gated.estimate,
        line=benchmark.line_of("baseline", *(("metrics", text) if here else ()), key),
        evidence={**rule.evidence(), "baseline": pair.value_baseline, "why": "blind"},
    )


_ACCEPT = (
    "accept it with `pytest --snapshot-update --evalmetrics-history FILE`: from that run on the "
    "history counts anew"
)
_START = "start with it: `pytest --snapshot-update --evalmetrics-history FILE`"


def compares_with_history(benchmark: Benchmark) -> bool:
    """Whether a benchmark is held against its history."""
    spec = benchmark.spec.baseline
    return isinstance(spec, BaselineSpec) and spec.against != "snapshot"


def anchors_of(
    benchmark: Benchmark, label: str, history: Path | None
) -> tuple[Anchors, tuple[str, ...]]:
    """Read the earlier runs of a benchmark."""
    from pytest_evalmetrics.history import Anchors, read_history  # noqa: PLC0415 - if there is one

    spec = benchmark.spec.baseline
    if not isinstance(spec, BaselineSpec):
        raise TypeError("the benchmark has no baseline")
    file = history if spec.history is None else benchmark.file.parent / spec.history
    if file is None:
        raise BaselineError(
            f"against: {spec.against} needs a history, and none is named",
            line=benchmark.line_of("baseline", "against"),
            hint="name it: --evalmetrics-history FILE, the setting evalmetrics_history, or "
            "baseline: {history: FILE}",
        )
    shown = spec.history or file.name
    found = read_history(file, shown)
    runs = found.runs.get(label, ())
    return Anchors(spec.against, runs, shown, spec.min_coverage), tuple(found.notes())


def anchored_checks(
    benchmark: Benchmark, anchors: Anchors, result: AgentResult, *, agent: str
) -> Iterator[Check]:
    """Hold one agent's gated metrics against the history."""
    written = {result.estimates[name].name: name for name in gated_names(benchmark)}
    for name, text in written.items():
        estimate = result.estimates[text]
        unknown = no_direction(benchmark, text, estimate, agent) if estimate.by_hook else None
        if unknown is not None:
            yield unknown
            continue
        rule = rule_of(benchmark, text, bounded=False)
        anchor = anchors.anchor(
            result.agent, name, estimate.tasks, higher_is_better=rule.direction == "higher"
        )
        check = gates.check_value(
            estimate,
            anchor.value,
            rule,
            agent=agent,
            line=benchmark.line_of("baseline", "metrics", text),
            accept=_ACCEPT,
            against=anchor.told,
        )
        evidence = {"against": anchors.against, "anchor": anchor.told, "runs": anchor.runs}
        hint = check.hint if anchor.value is not None else _START
        yield replace(check, hint=hint, evidence={**check.evidence, **evidence})


_ACCEPT_TASKS = "record it with --snapshot-update --evalmetrics-accept-tasks"
_NAMED = 10  # rollouts that a message names


class Reference(msgspec.Struct, frozen=True):
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
    provenance
        What else was recorded with it: what measured, the thresholds, the metrics.
    anchors
        Earlier runs, of which nothing but numbers is known: then there are no tables.
    origin
        Where its numbers lie, and since when, for people.
    """

    tables: Mapping[str, RolloutTable]
    values: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    where: str = "the baseline"
    renew: str = "record a new baseline with --snapshot-update"
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = msgspec.field(default_factory=dict)
    anchors: Anchors | None = None
    origin: str = ""

    @property
    def agents(self) -> tuple[str, ...]:
        """Whose rollouts, or numbers, it has."""
        return tuple(self.tables) if self.anchors is None else self.anchors.agents

    def agent_for(self, name: str, *, alone: bool) -> str | None:
        """Find an agent; where both sides have one agent, it may have been renamed."""
        agents = self.agents
        if name in agents or not alone or len(agents) != 1:
            return name if name in agents else None
        return agents[0]


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
    ruler_changes
        What measures otherwise than it did: the metrics that it touches are not compared.
    settled
        The same where both sides are measured by today's ruler; a hook's numbers are not.
    quarantined
        The ids of tasks that are not gated: those of the reference are left out too.
    benchmarks
        How many benchmarks of the run share the level of a false alarm.
    pairings
        By agent: both sides of what was taken.
    changes
        What differs beside the numbers.
    notes
        What a reader should know of how tasks were paired.
    """

    benchmark: Benchmark
    plan: metrics.Plan
    reference: Reference
    benchmarks: int = 1
    ruler_changes: tuple[RulerChange, ...] = ()
    settled: tuple[RulerChange, ...] = ()
    quarantined: frozenset[str] = frozenset()
    pairings: dict[str, metrics.Pairing] = field(default_factory=dict, init=False)
    changes: list[str] = field(default_factory=list, init=False)
    notes: list[str] = field(default_factory=list, init=False)
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
        if reference.anchors is not None:
            self._found += anchored_checks(self.benchmark, reference.anchors, result, agent=agent)
            return
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
        baseline = reference.tables[counterpart]
        if self.quarantined:
            left = [str(task) not in self.quarantined for task in baseline.tasks]
            baseline = baseline.where(np.array(left, dtype=bool)[baseline.task])
        baseline, drift = metrics.align(table, baseline)
        spec = settings_of(self.benchmark)
        tasks = gates.check_task_list(
            drift,
            table,
            self.plan.spec.reward,
            agent=agent,
            line=self.benchmark.line_of("baseline"),
            min_coverage=spec.min_coverage,
            accept=_ACCEPT_TASKS if spec.committed else "compare with a run of the same tasks",
        )
        self._found += [] if tasks is None else [tasks]
        self.notes += gates.task_list_notes(drift, in_python=self.benchmark.in_python)
        pairing = metrics.Pairing(self.plan, table, baseline, expected)
        self.pairings[result.agent] = pairing
        then, now = (int(side.counts.max(initial=0)) for side in (pairing.baseline, table))
        if then and now and then != now:
            of = f" of {agent}" if agent else ""
            self.changes.append(f"rollouts of each task{of} were {then}, and are {now} now")
        self._single_tasks(pairing, agent)
        known = reference.values.get(counterpart, {})
        written = {result.estimates[name].name: name for name in gated_names(self.benchmark)}
        for name, text in written.items():  # the last text is the one with its own settings
            self._found.append(self._judged(pairing, text, result, known.get(name), agent))

    def checks(self) -> list[Check]:
        """Judge all that was taken, in its order."""
        spec = settings_of(self.benchmark)
        gated = [found for found in self._found if isinstance(found, gates.Gated)]
        judged = iter(
            gates.check_regression(
                gated,
                min_coverage=spec.min_coverage,
                accept=self._accept,
                benchmarks=self.benchmarks,
            )
        )
        return [next(judged) if isinstance(f, gates.Gated) else f for f in self._found]

    @property
    def _accept(self) -> str:
        return "" if settings_of(self.benchmark).committed else "compare with a newer run"

    def _judged(
        self,
        pairing: metrics.Pairing,
        text: str,
        result: AgentResult,
        known: float | None,
        agent: str,
    ) -> Check | gates.Gated:
        estimate = result.estimates[text]
        line = self.benchmark.line_of("baseline", "metrics", text)
        target = None if estimate.by_hook else pairing.metric(text).target
        reward = self.benchmark.spec.reward
        changes = self.ruler_changes or (self.settled if estimate.by_hook else ())
        touching = [c for c in changes if c.touches(estimate, target, reward=reward)]
        if touching:
            return self._other_ruler(touching, estimate, agent, line)
        if estimate.by_hook:
            rule = rule_of(self.benchmark, text, bounded=False)
            return no_direction(self.benchmark, text, estimate, agent) or gates.check_value(
                estimate, known, rule, agent=agent, line=line, accept=self._accept
            )
        try:
            gated = _gated(
                pairing,
                text,
                self.benchmark,
                gate_id=f"{self.benchmark.spec.name}::{result.agent}",
                line=line,
                agent=agent,
                estimate=estimate,
            )
            return cannot_fail(self.benchmark, text, gated) or gated
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

    def _single_tasks(self, pairing: metrics.Pairing, agent: str) -> None:
        """Tell which tasks went from all to none, and hold them against ``max_broken``."""
        spec = self.benchmark.spec
        flips = None
        if not any(change.touches_reward(spec.reward) for change in self.ruler_changes):
            with suppress(EvalMetricsError):  # the baseline holds no rewards
                compared = pairing.pair(pairing.metric("mean_reward"))
                flips = gates.flips_of(compared.pair, spec.pass_threshold)
        if flips is not None and (told := str(flips)):
            self.changes.append(f"{agent}: {told}" if agent else told)
        most = settings_of(self.benchmark).max_broken
        if most is not None:
            self._found.append(gates.check_broken(self.benchmark, agent, flips, most))

    def _other_ruler(
        self, touching: Sequence[RulerChange], estimate: Estimate, agent: str, line: int
    ) -> Check:
        keeps = settings_of(self.benchmark).committed
        by_tool = all(change.by_tool for change in touching)
        return Check(
            "baseline",
            estimate.name,
            Verdict.INCONCLUSIVE,
            agent=agent,
            value=None if math.isnan(estimate.value) else estimate.value,
            reason=f"{estimate.name} can't be compared with {self.reference.where}: "
            f"the ruler changed: {'; '.join(change.text for change in touching)}",
            hint=f"{self.reference.renew}"
            + (
                "; with `baseline: {rescore: true}` it keeps its rows too, and after such a "
                "change they are scored with today's ruler"
                if keeps and not by_tool
                else ", or score today's run as the baseline's was"
                if by_tool
                else ""
            ),
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


def unpassable(
    benchmark: Benchmark, plan: metrics.Plan, agents: Sequence[_Agent]
) -> Iterator[Check]:
    """Warn of a baseline that the same rows would not pass, held against themselves.

    Parameters
    ----------
    benchmark, plan
        The benchmark, and its metrics.
    agents
        Of each agent its result, its rollouts and how many each task should have.
    """
    tables = {result.agent: table for result, table, _ in agents}
    values = {r.agent: {n: e.value for n, e in r.estimates.items()} for r, _, _ in agents}
    judging = Judging(benchmark, plan, Reference(tables, values))
    for result, table, expected in agents:
        shown = result.agent if len(agents) > 1 else ""
        judging.add(result, table, agent=shown, expected=expected)
    counts = {(r.agent if len(agents) > 1 else ""): (t, e) for r, t, e in agents}
    for check in judging.checks():
        if check.gate != "baseline" or not check.verdict.fails:
            continue
        table, expected = counts[check.agent]
        estimate = check.estimate
        absent = _absent(table, estimate.score if estimate else "", expected)
        reason = "the same rows would not pass the baseline that this run records: "
        reason += check.reason + (f"; without a number: {absent}" if absent else "")
        hint = check.hint
        if absent:
            hint = "complete the run and record it again, or say what a missing reward is worth, "
            hint += "such as `expect: {missing_reward: 0.0}`"
        yield replace(check, verdict=Verdict.WARN, reason=reason, hint=hint)


def _absent(table: RolloutTable, score: str, expected: NDArray[np.int64]) -> str:
    """Name the rollouts that lack a score, or are not there at all."""
    found = []
    if score in table.scores:
        found += [
            f"task {table.tasks[table.task[row]]} sample {table.sample[row]}"
            for row in np.flatnonzero(np.isnan(table.scores[score])).tolist()
        ]
    found += [
        f"task {table.tasks[at]} has {many(int(table.counts[at]), 'rollout')} of {expected[at]}"
        for at in np.flatnonzero(table.counts < expected).tolist()
    ]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def gone_agents(
    benchmark: Benchmark, agents: Sequence[str], reference: Reference
) -> Iterator[Check]:
    """Tell of the agents that only the reference has: nothing else would miss them."""
    alone = len(agents) == 1
    compared = {reference.agent_for(agent, alone=alone) for agent in agents}
    for gone in reference.agents:
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


def _gated(pairing: metrics.Pairing, text: str, benchmark: Benchmark, **asked: Any) -> gates.Gated:
    metric = pairing.metric(text)
    compared = pairing.pair(metric)
    rule = rule_of(benchmark, text, bounded=compared.pair.bounded)
    missing = pairing.missing(metric)
    worst = None
    if missing:
        worst = pairing.pair_at_worst(metric, higher_is_better=rule.direction == "higher")
    return gates.Gated(
        pair=compared.pair,
        rule=rule,
        worst=None if worst is None else worst.pair,
        missing=missing,
        clusters=compared.clusters,
        worst_clusters=None if worst is None else worst.clusters,
        combine_weighted=compared.combine_weighted,
        added=compared.added,
        removed=compared.removed,
        **asked,
    )
