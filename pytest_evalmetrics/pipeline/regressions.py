"""A run against its baseline or history: the reference, the gated metrics and their rules."""

from __future__ import annotations

import inspect
import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import baselines, gates, metrics, rollouts
from pytest_evalmetrics.data import PairedMetric, RolloutTable, pool
from pytest_evalmetrics.errors import BaselineError, EvalMetricsError, RegistryError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.results import AgentResult, Check, Estimate, Verdict
from pytest_evalmetrics.spec import BaselineSpec, Benchmark
from pytest_evalmetrics.spec.metric_names import OVER_REFERENCE, REFERENCE, direction_of, is_spent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.history import Anchors
    from pytest_evalmetrics.metrics.metric import BoundMetric
    from pytest_evalmetrics.pipeline.ruler import RulerChange
    from pytest_evalmetrics.spec.gate_keys import OwnRule

_RECORD = "record a new baseline with --snapshot-update"
_HISTORY = "the history"
_ACCEPT = "accept it with `pytest --snapshot-update --evalmetrics-history FILE`"
_OTHER_RUN = "compare with a run that holds it"
_NAMED = 10  # rollouts that a message names


# -- the settings of a baseline --------------------------------------------------------------


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return the settings of a benchmark's baseline, or the defaults."""
    spec = benchmark.spec.baseline or BaselineSpec()
    if spec.rollouts is None:
        return spec
    return replace(spec, rollouts=spec.rollouts.like(benchmark.spec.rollouts))


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the rule by which a benchmark judges one of its gated metrics."""
    spec = settings_of(benchmark)
    asked = spec.metrics[name].over(spec) if name in spec.metrics else spec
    default_drop = 0.01 if bounded and not is_spent(name) else 0.0
    return gates.Rule(
        name=str(asked.rule or "practical"),
        own=None if asked.rule is None or isinstance(asked.rule, str) else _own_rule(asked.rule),
        direction=asked.direction or direction_of(benchmark.spec, name) or "higher",
        alpha=asked.alpha or 0.01,
        warn_alpha=asked.warn_alpha or 0.05,
        max_drop=default_drop if asked.max_drop is None else asked.max_drop,
        require_mde=asked.require_mde,
    )


def _own_rule(spec: OwnRule) -> gates.GateRule:
    from pytest_evalmetrics.registry import gate_rules  # noqa: PLC0415 - few benchmarks have any

    target = gate_rules.find(spec.name).target
    try:
        if inspect.isclass(target):
            return cast("gates.GateRule", target(**spec.options))
        inspect.signature(target).bind(None, **spec.options)
    except Exception as error:
        message = f"the gate rule {spec.name} can't be made: {error}"
        raise RegistryError(message, hint="check its options under rule:") from error
    tests, bound = getattr(target, "tests", False), getattr(target, "bound", "")
    decide = partial(target, **spec.options)
    return cast("gates.GateRule", SimpleNamespace(decide=decide, tests=tests, bound=bound))


# -- the reference ---------------------------------------------------------------------------


class Reference(msgspec.Struct, frozen=True):
    """The run that another one is compared with."""

    tables: Mapping[str, RolloutTable]  # by agent
    # its key metrics, by agent and name: all there is of what a hook computed
    values: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    # the runs of each agent, the newest last, which `tables` pools
    runs: Mapping[str, Sequence[RolloutTable]] = msgspec.field(default_factory=dict)
    where: str = "the baseline"  # for messages
    renew: str = _RECORD  # the way out where it does not hold what is compared
    notes: tuple[str, ...] = ()
    # recorded with it: what measured, the thresholds, the metrics
    provenance: Mapping[str, Any] = msgspec.field(default_factory=dict)
    anchors: Anchors | None = None  # earlier runs, known by their numbers alone: then no tables
    origin: str = ""  # where its numbers lie, and since when, for people

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it has rollouts, or numbers, of."""
        return tuple(self.tables) if self.anchors is None else self.anchors.agents

    def agent_for(self, name: str, *, alone: bool) -> str | None:
        """Find an agent; where both sides have one agent, it may have been renamed."""
        if name in self.agents:
            return name
        return self.agents[0] if alone and len(self.agents) == 1 else None


def reference_of(
    benchmark: Benchmark,
    plan: metrics.Plan,
    snapshot: Callable[[], tuple[str, str] | None],
    *,
    label: str = "",
    history: Path | None = None,
    engine: Engine | None = None,
) -> Reference | None:
    """Find what a benchmark is compared with; None where it is to be recorded first.

    `snapshot` reads the committed baseline, `history` is that of the run, and `label` names the
    benchmark in it.
    """
    spec, folder = settings_of(benchmark), benchmark.file.parent
    if spec.rollouts is not None:
        files = [replace(spec.rollouts, path=paths) for paths in spec.rollouts.runs]
        asked: dict[str, Any] = {"scores": plan.scores, "categories": plan.categories}
        asked["reader"] = None if engine is None else engine.read
        tables = [rollouts.load(run, folder, **asked) for run in files or [spec.rollouts]]
        runs: dict[str, list[RolloutTable]] = {}
        for agent, table in chain.from_iterable(each.by_agent() for each in tables):
            runs.setdefault(agent, []).append(table)
        return Reference(
            {agent: pool(several) for agent, several in runs.items()},
            runs=runs,
            where="the baseline's rollouts",
            renew=_OTHER_RUN,
            origin=", ".join(source.path for table in tables for source in table.sources),
        )
    if spec.report is not None:
        report = baselines.from_report(
            folder / spec.report, benchmark.spec.name, file=benchmark.file, shown=spec.report
        )
        return _recorded(report, spec.report, renew=_OTHER_RUN)
    if spec.of_history:
        return _history(benchmark, label, history)
    read = snapshot()
    if read is None:
        return None
    text, file = read
    document = baselines.parse(text, file=file, benchmark=benchmark.spec.name)
    reference = _recorded(document, file)
    if baselines.is_edited(document):
        lacks = "" if document["provenance"].get("digest") else ": its digest is gone"
        raise BaselineError(
            f"this baseline was edited by hand, or by a merge, since it was recorded{lacks}",
            file=file,
            hint=f"restore it with `git checkout -- {file}`, or record a new one with "
            "--snapshot-update",
        )
    return reference


def _recorded(
    document: baselines.BaselineDocument, file: str, *, renew: str = _RECORD
) -> Reference:
    runs = baselines.tables(document, file=file)
    when, why = (document["provenance"].get(key) for key in ("recorded", "reason"))
    return Reference(
        {agent: pool(several) for agent, several in runs.items()},
        {agent: baselines.values(document, agent) for agent in runs},
        runs,
        renew=renew,
        provenance=document["provenance"],
        origin=file + (f", recorded {when}" if when else "") + (f": {why}" if why else ""),
    )


def _history(benchmark: Benchmark, label: str, history: Path | None) -> Reference | None:
    from pytest_evalmetrics import history as runs_of_history  # noqa: PLC0415 - if there is one

    spec = settings_of(benchmark)
    named = spec.history if isinstance(spec.history, str) else None
    file = history if named is None else benchmark.file.parent / named
    if file is None:
        key = "history" if spec.history_runs else "against"
        raise BaselineError(
            f"{key}: {getattr(spec, key)} needs a history, and none is named",
            line=benchmark.line_of("baseline", key),
            hint="name it: --evalmetrics-history FILE, the setting evalmetrics_history, or "
            "baseline: {history: FILE}",
        )
    shown = named or file.name
    read = runs_of_history.read_history(file, shown)
    runs, notes = read.runs.get(label, ()), read.notes()
    if spec.history_runs is None:
        anchors = runs_of_history.Anchors(spec.against, runs, shown, spec.min_coverage)
        return Reference({}, where=_HISTORY, notes=tuple(notes), anchors=anchors)
    usable = runs_of_history.usable_runs(runs)
    kept = [run for run in usable if "baseline" in run][-spec.history_runs :]
    if not kept:
        return None
    documents = [baselines.parse(bytes(r["baseline"]).decode(), file=shown) for r in kept]
    whys = [baselines.why_not_added(d, documents[-1]) for d in documents]
    alike = [d for d, why in zip(documents, whys, strict=True) if not why]
    if other := [why for why in whys if why]:
        ran = "run is" if len(other) == 1 else "runs are"
        notes.append(f"history: {len(other)} of {len(kept)} {ran} not compared with: {other[-1]}")
    merged = reduce(partial(baselines.add_run, keep=spec.history_runs), alike)
    last = "the last run" if len(alike) == 1 else f"the last {len(alike)} runs"
    return structs.replace(
        _recorded(merged, shown, renew=_ACCEPT),
        where=_HISTORY,
        notes=tuple(notes),
        origin=f"{shown}, {last}",
    )


# -- the comparison --------------------------------------------------------------------------


@dataclass
class Judging:
    """All agents of one benchmark, held against the reference.

    They are judged together: the more numbers of a benchmark can fail the build, the surer each
    has to be, whichever agent they are of.
    """

    benchmark: Benchmark
    plan: metrics.Plan
    reference: Reference
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    # what measures otherwise than it did: the metrics that it touches are not compared
    ruler_changes: tuple[RulerChange, ...] = ()
    # the same where both sides are measured by today's ruler; a hook's numbers are not
    settled: tuple[RulerChange, ...] = ()
    look: Look | None = None  # at a run that may stop early
    quarantined: frozenset[str] = frozenset()  # ids of tasks, left out of the reference too
    # of each agent all rows, where its tasks are a sample of theirs
    whole: Mapping[str, RolloutTable] = field(default_factory=dict)
    pairings: dict[str, metrics.Pairing] = field(default_factory=dict, init=False)  # by agent
    changes: list[str] = field(default_factory=list, init=False)  # beside the numbers
    notes: list[str] = field(default_factory=list, init=False)  # of how tasks were paired
    _pending: list[Check | gates.Gated] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.settings = settings_of(self.benchmark)
        self._accept = "" if self.settings.committed else "compare with a newer run"
        if self.settings.of_history:
            self._accept = f"{_ACCEPT}: from that run on the history counts anew"

    def add(
        self, result: AgentResult, table: RolloutTable, *, agent: str, expected: NDArray[np.int64]
    ) -> None:
        """Take one agent; `agent` is its name where a benchmark has several, else empty.

        `expected` says how many rollouts each task should have.
        """
        reference, settings = self.reference, self.settings
        if reference.anchors is not None:
            self._pending += self._anchored(reference.anchors, result, agent)
            return
        counterpart = reference.agent_for(result.agent, alone=not agent)
        if counterpart is None:
            names = ", ".join(map(repr, reference.tables)) or "none"
            reason = f"{reference.where} has no agent {result.agent!r}: it has {names}"
            hint = f"name the agent as before, or {reference.renew}"
            self._pending.append(self._inconclusive("agent", agent, reason, hint))
            return
        recorded = reference.tables[counterpart]
        baseline, drift = metrics.align(table, self._gated_tasks(recorded, table, result.agent))
        accept = self._accept if settings.of_history else "compare with a run of the same tasks"
        if settings.committed:
            accept = "record it with --snapshot-update --evalmetrics-accept-tasks"
        tasks = gates.check_task_list(
            drift,
            table,
            self.plan.spec.reward,
            agent=agent,
            line=self.benchmark.line_of("baseline"),
            min_coverage=settings.min_coverage,
            accept=accept,
        )
        self._pending += [] if tasks is None else [tasks]
        self.notes += gates.task_list_notes(drift, in_python=self.benchmark.in_python)
        pairing = metrics.Pairing(self.plan, table, baseline, expected)
        self.pairings[result.agent] = pairing
        several = reference.runs.get(counterpart, ())
        runs = [pairing]
        if len(several) > 1:
            gated = (self._gated_tasks(run, table, result.agent) for run in several)
            aligned = (metrics.align(table, run)[0] for run in gated)
            runs = [structs.replace(pairing, baseline=run) for run in aligned]
        then, now = (int(side.counts.max(initial=0)) for side in (runs[-1].baseline, table))
        if then and now and then != now:
            of = f" of {agent}" if agent else ""
            self.changes.append(f"rollouts of each task{of} were {then}, and are {now} now")
        self._single_tasks(pairing, agent)
        # a hook's number of all tasks says nothing of a sample
        alike = not self.whole or len(baseline.tasks) == len(recorded.tasks)
        values = reference.values.get(counterpart, {}) if alike else {}
        self._pending += [
            self._judged(pairing, runs, text, result, value=values.get(name), agent=agent)
            for name, text in self._gated_texts(result).items()
        ]

    def checks(self) -> list[Check]:
        """Judge all that was taken, in its order."""
        judged = iter(
            gates.check_regression(
                [each for each in self._pending if isinstance(each, gates.Gated)],
                min_coverage=self.settings.min_coverage,
                accept=self._accept,
                benchmarks=self.benchmarks,
                look=self.look,
            )
        )
        return [next(judged) if isinstance(p, gates.Gated) else p for p in self._pending]

    def reference_notes(self, agents: Sequence[AgentResult]) -> Iterator[str]:
        """Tell how the pinned system of ``reference:`` changed since the baseline."""
        level = f"mean/{REFERENCE}"
        for result in agents:
            agent = self.reference.agent_for(result.agent, alone=len(agents) == 1)
            then = self.reference.values.get(agent or "", {}).get(level)
            if then is not None and level in result.estimates:
                now = result.estimates[level].value
                of = f"{result.agent}: " if len(agents) > 1 else ""
                yield (
                    f"{of}the mean reward of the reference was {then:.4g}, and is {now:.4g}: "
                    f"{OVER_REFERENCE} is free of what shifts both"
                )

    def missing_agents(self, agents: Sequence[str]) -> Iterator[Check]:
        """Report the agents that only the reference has: nothing else would miss them."""
        reference = self.reference
        compared = {reference.agent_for(agent, alone=len(agents) == 1) for agent in agents}
        for agent in reference.agents:
            if agent not in compared:
                reason = f"this run has no agent {agent!r}, which {reference.where} has"
                hint = f"complete the run, or {reference.renew}"
                yield self._inconclusive("agent", agent, reason, hint)

    def _inconclusive(
        self, name: str, agent: str, reason: str, hint: str, *path: str, **more: Any
    ) -> Check:
        """Make the check of what can't be judged; `path` is its key below ``baseline:``."""
        more |= {"reason": reason, "hint": hint, "line": self.benchmark.line_of("baseline", *path)}
        if (estimate := more.get("estimate")) is not None:
            more.setdefault("value", None if math.isnan(estimate.value) else estimate.value)
        return Check("baseline", name, Verdict.INCONCLUSIVE, agent, **more)

    def _gated_texts(self, result: AgentResult) -> dict[str, str]:
        """Map names of metrics to their texts: the last text is the one with its own settings."""
        return {result.estimates[text].name: text for text in self.benchmark.spec.gated}

    def _anchored(self, anchors: Anchors, result: AgentResult, agent: str) -> Iterator[Check]:
        """Hold one agent's gated metrics against the history."""
        for name, text in self._gated_texts(result).items():
            estimate = result.estimates[text]
            unknown = self._no_direction(text, estimate, agent) if estimate.by_hook else None
            if unknown is not None:
                yield unknown
                continue
            higher = rule_of(self.benchmark, text, bounded=False).direction == "higher"
            anchor = anchors.anchor(result.agent, name, estimate.tasks, higher_is_better=higher)
            check = self._without_test(estimate, text, anchor.value, agent, against=anchor.told)
            evidence = {"against": anchors.against, "anchor": anchor.told, "runs": anchor.runs}
            start = "start with it: `pytest --snapshot-update --evalmetrics-history FILE`"
            hint = start if anchor.value is None else check.hint
            yield replace(check, hint=hint, evidence={**check.evidence, **evidence})

    def _without_test(
        self, estimate: Estimate, text: str, value: float | None, agent: str, *, against: str = ""
    ) -> Check:
        rule = rule_of(self.benchmark, text, bounded=False)
        line = self.benchmark.line_of("baseline", "metrics", text)
        accept = self._accept
        return gates.check_value(
            estimate, value, rule, agent=agent, line=line, accept=accept, against=against
        )

    def _judged(
        self,
        pairing: metrics.Pairing,
        runs: Sequence[metrics.Pairing],
        text: str,
        result: AgentResult,
        *,
        value: float | None,
        agent: str,
    ) -> Check | gates.Gated:
        estimate = result.estimates[text]
        target = None if estimate.by_hook else pairing.metric(text).target
        reward = self.benchmark.spec.reward
        changes = self.ruler_changes or (self.settled if estimate.by_hook else ())
        touching = [c for c in changes if c.touches(estimate, target, reward=reward)]
        if touching:
            return self._other_ruler(touching, text, estimate, agent)
        if estimate.by_hook:
            no_direction = self._no_direction(text, estimate, agent)
            return no_direction or self._without_test(estimate, text, value, agent)
        try:
            gated = self._paired(pairing, runs, text, estimate)
        except EvalMetricsError as error:  # the run itself has been reduced: see its estimates
            reason = f"{text} can't be compared with {self.reference.where}: {error.message}"
            where = (estimate.name, agent, reason, self.reference.renew, "metrics", text)
            return self._inconclusive(*where, estimate=estimate, value=estimate.value)
        gate_id = f"{self.benchmark.spec.name}::{result.agent}"
        gated = structs.replace(gated, gate_id=gate_id, agent=agent)
        return self._cannot_fail(text, gated) or gated

    def _paired(
        self,
        pairing: metrics.Pairing,
        runs: Sequence[metrics.Pairing],
        text: str,
        estimate: Estimate,
    ) -> gates.Gated:
        metric = pairing.metric(text)
        if not metric.unbiased:  # it would be another number of more rollouts
            pairing = runs[-1]
        compared, missing = pairing.pair(metric), pairing.missing(metric)
        rule = rule_of(self.benchmark, text, bounded=compared.pair.bounded)
        worst, higher = None, rule.direction == "higher"
        if missing:
            worst = pairing.pair_at_worst(metric, higher_is_better=higher)
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
            line=self.benchmark.line_of("baseline", "metrics", text),
            estimate=estimate,
            runs=runs_of(metric, runs, compared.pair) if len(runs) > 1 else None,
            stated=pairing.stated_error(metric),
        )

    def _gated_tasks(self, recorded: RolloutTable, table: RolloutTable, agent: str) -> RolloutTable:
        """Leave out of a recorded run what is in quarantine, and what no sample took."""
        recorded = _without(recorded, self.quarantined)
        whole = self.whole.get(agent, next(iter(self.whole.values()), None))
        if whole is None:
            return recorded
        rest = set(map(str, whole.tasks)) - set(map(str, table.tasks))
        return _without(metrics.align(whole, recorded)[0], rest)

    def _single_tasks(self, pairing: metrics.Pairing, agent: str) -> None:
        """Report the tasks that went from all to none, and hold them against ``max_broken``."""
        spec = self.benchmark.spec
        flips = None
        if not any(change.touches_reward(spec.reward) for change in self.ruler_changes):
            with suppress(EvalMetricsError):  # the baseline holds no rewards
                compared = pairing.pair(pairing.metric("mean_reward"))
                flips = gates.flips_of(compared.pair, spec.pass_threshold)
        if flips is not None and (text := str(flips)):
            self.changes.append(f"{agent}: {text}" if agent else text)
        if (most := self.settings.max_broken) is not None:
            self._pending.append(gates.check_broken(self.benchmark, agent, flips, most))

    def _other_ruler(
        self, touching: Sequence[RulerChange], text: str, estimate: Estimate, agent: str
    ) -> Check:
        hint, name = self.reference.renew, estimate.name
        if all(change.by_tool for change in touching):
            hint += ", or score today's run as the baseline's was"
        elif self.settings.committed:
            hint += "; with `baseline: {rescore: true}` it keeps its rows too, and after such a "
            hint += "change they are scored with today's ruler"
        reason = f"{name} can't be compared with {self.reference.where}: "
        reason += f"the ruler changed: {'; '.join(change.text for change in touching)}"
        return self._inconclusive(name, agent, reason, hint, "metrics", text, estimate=estimate)

    def _no_direction(self, text: str, estimate: Estimate, agent: str) -> Check | None:
        """Refuse to judge a hook's number where nothing says which way is better."""
        own = self.settings.metrics.get(text)
        asked = self.settings.direction or (None if own is None else own.direction)
        if asked or direction_of(self.benchmark.spec, text, of_reward=False):
            return None
        reason = f"nothing says which way is better for {text}, which a hook computes"
        hint = f'write `baseline: {{metrics: {{"{text}": {{direction: higher}}}}}}`, or lower '
        hint += "where less is better"
        return self._inconclusive(text, agent, reason, hint, "metrics", text, estimate=estimate)

    def _cannot_fail(self, text: str, gated: gates.Gated) -> Check | None:
        """Refuse a drop that values in [0, 1] can't show; of a declared range the file is refused.

        What is not known to be a rate may be one all the same: that all its rewards lie in [0, 1]
        is seen here. Time and money have no upper end.
        """
        rule, pair = gated.rule, gated.pair
        whole = rule.name in ("absolute", "practical", "noninferior") or (
            rule.name == "relative" and rule.direction == "higher"
        )
        asked = max(rule.max_drop if whole else 0.0, rule.require_mde or 0.0)
        if not pair.bounded or asked < 1 or is_spent(text):
            return None
        key = "require_mde" if asked > rule.max_drop or not whole else "max_drop"
        own = self.settings.metrics.get(text)
        here = ("metrics", text) if own is not None and getattr(own, key) is not None else ()
        meant = f"; did you mean {asked:.12g}%?" if asked <= 100 else ""  # noqa: PLR2004 - per cent
        reason = f"{key} {asked:.12g} can never fail: all rewards of {pair.name} lie in [0, 1]"
        return self._inconclusive(
            *(pair.name, gated.agent, reason + meant, f"choose a {key} below 1", *here, key),
            value=pair.value_current,
            bound=str(rule),
            estimate=gated.estimate,
            evidence={**rule.evidence(), "baseline": pair.value_baseline, "why": "blind"},
        )


def _without(table: RolloutTable, tasks: Collection[str]) -> RolloutTable:
    if not tasks:
        return table
    kept = np.array([str(task) not in tasks for task in table.tasks], dtype=bool)
    return table if kept.all() else table.where(kept[table.task])


def runs_of(metric: BoundMetric, runs: Sequence[metrics.Pairing], pair: PairedMetric) -> gates.Runs:
    """Compute a metric of each of a baseline's runs over the tasks that are compared."""
    pairs = [run.pair(metric).pair for run in runs]
    if any(len(each.tasks) != len(pair.tasks) for each in pairs):
        counts = ", ".join(str(len(each.tasks)) for each in pairs)
        raise BaselineError(f"its runs hold {counts} of the {len(pair.tasks)} compared tasks")
    return gates.Runs(
        values=tuple(each.value_baseline for each in pairs),
        pooled=metric.unbiased,
        more_rollouts=len(pairs[-1].rewards_baseline.values)
        / max(len(pair.rewards_current.values), 1),
    )


# -- a baseline that could not be passed -----------------------------------------------------


def unpassable(
    benchmark: Benchmark,
    plan: metrics.Plan,
    agents: Sequence[tuple[AgentResult, RolloutTable, NDArray[np.int64]]],
) -> Iterator[Check]:
    """Warn of a baseline that the same rows would not pass, held against themselves.

    `agents` are results, rollouts, and how many of these each task should have.
    """
    tables = {result.agent: table for result, table, _ in agents}
    values = {r.agent: {n: e.value for n, e in r.estimates.items()} for r, _, _ in agents}
    judging = Judging(benchmark, plan, Reference(tables, values))
    counts = {}
    for result, table, expected in agents:
        shown = result.agent if len(agents) > 1 else ""
        judging.add(result, table, agent=shown, expected=expected)
        counts[shown] = table, expected
    for check in judging.checks():
        if check.gate != "baseline" or not check.verdict.fails:
            continue
        reason = f"the same rows would not pass the baseline that this run records: {check.reason}"
        hint, score = check.hint, check.estimate.score if check.estimate else ""
        if absent := _absent(*counts[check.agent], score):
            reason += f"; without a number: {absent}"
            hint = "complete the run and record it again, or say what a missing reward is worth, "
            hint += "such as `expect: {missing_reward: 0.0}`"
        yield replace(check, verdict=Verdict.WARN, reason=reason, hint=hint)


def _absent(table: RolloutTable, expected: NDArray[np.int64], score: str) -> str:
    """Name the rollouts that lack a score, or are not there at all."""
    absent = [
        f"task {table.tasks[table.task[row]]} sample {table.sample[row]}"
        for row in np.flatnonzero(np.isnan(table.scores.get(score, np.empty(0)))).tolist()
    ]
    absent += [
        f"task {table.tasks[at]} has {many(int(table.counts[at]), 'rollout')} of {expected[at]}"
        for at in np.flatnonzero(table.counts < expected).tolist()
    ]
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    return ", ".join(absent[:_NAMED]) + more
