"""A run against its baseline or history: the reference, the gated metrics and their rules."""

from __future__ import annotations

import inspect
import math
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import baselines, gates, metrics, rollouts
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.errors import BaselineError, EvalMetricsError, RegistryError
from pytest_evalmetrics.layout import listed, of_many
from pytest_evalmetrics.model.metric_facts import Direction, Range
from pytest_evalmetrics.model.results import (
    AgentResult,
    BenchmarkResult,
    Check,
    Verdict,
)
from pytest_evalmetrics.model.rollout_table import RolloutTable, pool
from pytest_evalmetrics.spec import BaselineSpec, Benchmark, metric_names

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.history import Anchors
    from pytest_evalmetrics.model.baseline import BaselineDocument
    from pytest_evalmetrics.pipeline.ruler import RulerChange
    from pytest_evalmetrics.spec.gate_keys import OwnRule
    from pytest_evalmetrics.spec.sources import FilesSpec

_RECORD = "record a new baseline with --snapshot-update"
START = "`pytest --snapshot-update --evalmetrics-history FILE`"
_ACCEPT = f"accept it with {START}"
_OTHER_RUN = "compare with a run that holds it"


# -- what a benchmark asks for ---------------------------------------------------------------


def plan_of(benchmark: Benchmark) -> metrics.Plan:
    """Plan the metrics that a benchmark names, but for the mean that labels correct."""
    spec = benchmark.spec
    rest = dict(spec.thresholds)
    if rest.pop(metric_names.PPI_MEAN, None) is not None:
        spec = replace(spec, thresholds=rest)
    return metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)


def rollouts_of(
    benchmark: Benchmark,
    plan: metrics.Plan,
    files: FilesSpec | None = None,
    engine: Engine | None = None,
    given: Sequence[str] | None = None,
) -> RolloutTable:
    """Load the columns that the metrics need, from the benchmark's files or from `files`."""
    of_dataset = given is not None and benchmark.spec.dataset is not None
    wanted = [name for name in plan.scores if name not in (given or ())]
    load: Any = rollouts.load_dataset if of_dataset else rollouts.load
    more = {
        "categories": plan.categories,
        "reader": None if engine is None else engine.read,
    }
    source = files or benchmark.spec.rows
    table: RolloutTable = load(source, benchmark.file.parent, scores=wanted, **more)
    if not of_dataset:
        return table
    # numbers of a data set belong to the questions; only those that metrics name are scores
    scores = {name: table.scores[name] for name in wanted}
    notes = tuple(note for note in table.notes if note.partition(":")[0] in wanted)
    return structs.replace(table, scores=scores, notes=notes)


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return the settings of a benchmark's baseline, or the defaults."""
    spec = benchmark.spec.baseline or BaselineSpec()
    if spec.rollouts is None:
        return spec
    return replace(spec, rollouts=spec.rollouts.like(benchmark.spec.rollouts))


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the gate rule of a metric."""
    spec = settings_of(benchmark)
    keys = spec.gate_of(name)
    is_rate = bounded and declarations.may_be_rate(benchmark.spec, name)
    default_drop = 0.01 if is_rate else 0.0
    return gates.Rule(
        name=str(keys.rule or "practical"),
        own=None
        if keys.rule is None or isinstance(keys.rule, str)
        else _own_rule(keys.rule),
        direction=judged_direction(benchmark, name),
        alpha=keys.alpha or 0.01,
        warn_alpha=keys.warn_alpha or 0.05,
        max_drop=default_drop if keys.max_drop is None else keys.max_drop,
        require_mde=keys.require_mde,
    )


def judged_direction(benchmark: Benchmark, name: str) -> Direction:
    """Return the direction of a metric; that of a gated one is known by now."""
    said = settings_of(benchmark).gate_of(name).direction
    return said or declarations.direction_when_read(benchmark.spec, name) or "higher"


def _own_rule(spec: OwnRule) -> gates.GateRule:
    from pytest_evalmetrics.registry import gate_rules  # few benchmarks have any

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
    return cast(
        "gates.GateRule", SimpleNamespace(decide=decide, tests=tests, bound=bound)
    )


# -- the reference ---------------------------------------------------------------------------


class Reference(msgspec.Struct, frozen=True, dict=True):
    """The run, or the runs, that another one is compared with."""

    runs: Mapping[str, Sequence[RolloutTable]]  # by agent, the newest last
    # its key metrics by agent and name, among them those of hooks
    values: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    where: str = "the baseline"  # for messages
    renew: str = _RECORD  # the hint if it lacks something
    notes: tuple[str, ...] = ()
    # recorded with it: the ruler, the thresholds, the metrics
    provenance: Mapping[str, Any] = msgspec.field(default_factory=dict)
    anchors: Anchors | None = None  # numbers of earlier runs, in place of tables
    origin: str = ""  # its place and date in words

    @cached_property
    def tables(self) -> dict[str, RolloutTable]:
        """The rollouts of all runs, by agent."""
        return {agent: pool(runs) for agent, runs in self.runs.items()}

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it has rollouts, or numbers, of."""
        return tuple(self.runs) if self.anchors is None else self.anchors.agents

    def agent_for(self, name: str, *, alone: bool) -> str | None:
        """Find an agent; where both sides have one agent, it may have been renamed."""
        if name in self.agents:
            return name
        return self.agents[0] if alone and len(self.agents) == 1 else None


def reference_of(
    benchmark: Benchmark,
    plan: metrics.Plan,
    snapshot: Callable[[], tuple[str, str] | None] | None,
    *,
    label: str = "",
    history: Path | None = None,
    engine: Engine | None = None,
) -> Reference | None:
    """Find the reference of a benchmark; None if it is to be recorded first."""
    spec = settings_of(benchmark)
    if spec.rollouts is not None:
        files = [replace(spec.rollouts, path=paths) for paths in spec.rollouts.runs]
        tables = [
            rollouts_of(benchmark, plan, run, engine)
            for run in files or [spec.rollouts]
        ]
        runs: dict[str, list[RolloutTable]] = {}
        for agent, table in chain.from_iterable(each.by_agent() for each in tables):
            runs.setdefault(agent, []).append(table)
        origin = ", ".join(source.path for table in tables for source in table.sources)
        return Reference(
            runs, where="the baseline's run", renew=_OTHER_RUN, origin=origin
        )
    file, name = benchmark.file, benchmark.spec.name
    if (shown := spec.report) is not None:
        report = baselines.from_report(
            file.parent / shown, name, file=file, shown=shown
        )
        return _recorded(report, shown, renew=_OTHER_RUN)
    if spec.of_history:
        return _history(benchmark, label, history)
    recorded = None if snapshot is None else snapshot()
    if recorded is None:
        return None
    text, shown = recorded
    document = baselines.parse(text, file=shown, benchmark=name)
    reference = _recorded(document, shown)
    if baselines.is_edited(document):
        lacks = "" if document.provenance.digest else ": its digest is gone"
        message = f"this baseline was edited by hand, or by a merge, since it was recorded{lacks}"
        hint = f"restore it with `git checkout -- {shown}`, or record a new one with "
        raise BaselineError(message, file=shown, hint=f"{hint}--snapshot-update")
    return reference


def _recorded(
    document: BaselineDocument, file: str, *, renew: str = _RECORD
) -> Reference:
    runs = baselines.tables(document, file=file)
    when, why = document.provenance.recorded, document.provenance.reason
    return Reference(
        runs,
        {agent: document.values(agent) for agent in runs},
        renew=renew,
        provenance=document.provenance.as_mapping(),
        origin=file
        + (f", recorded {when}" if when else "")
        + (f": {why}" if why else ""),
    )


def _history(
    benchmark: Benchmark, label: str, history: Path | None
) -> Reference | None:
    from pytest_evalmetrics import history as runs_of_history  # if there is one

    spec = settings_of(benchmark)
    named = spec.history if isinstance(spec.history, str) else None
    file = history if named is None else benchmark.file.parent / named
    if file is None:
        key = "history" if spec.history_runs else "against"
        message = f"{key}: {getattr(spec, key)} needs a history, and none is named"
        hint = "name it: --evalmetrics-history FILE, evalmetrics_history or baseline: history:"
        raise BaselineError(message, line=benchmark.line_of("baseline", key), hint=hint)
    shown = named or file.name
    of_benchmarks, notes = runs_of_history.read_history(file, shown)
    runs, more = of_benchmarks.get(label, ()), dict[str, Any]()
    usable = runs_of_history.usable_runs(runs)
    if spec.history_runs is None:
        anchors = runs_of_history.Anchors(spec.against, runs, shown, spec.min_coverage)
        newest = [{"ruler": run["ruler"]} for run in usable if run.get("ruler")][-1:]
        more = {"notes": tuple(notes), "provenance": next(iter(newest), {})}
        return Reference({}, where="the history", anchors=anchors, **more)
    kept = [run for run in usable if "baseline" in run][-spec.history_runs :]
    if not kept:
        return None
    documents = [
        baselines.parse(bytes(r["baseline"]).decode(), file=shown) for r in kept
    ]
    whys = [baselines.why_not_added(d, documents[-1]) for d in documents]
    alike = [d for d, why in zip(documents, whys, strict=True) if not why]
    if other := [why for why in whys if why]:
        are = of_many(len(other), len(kept), "run", "is")
        notes.append(f"history: {are} not compared with: {other[-1]}")
    merged = reduce(partial(baselines.add_run, keep=spec.history_runs), alike)
    last = "the last run" if len(alike) == 1 else f"the last {len(alike)} runs"
    reference = _recorded(merged, shown, renew=_ACCEPT)
    more = {"notes": tuple(notes), "origin": f"{shown}, {last}"}
    return structs.replace(reference, where="the history", **more)


# -- the comparison --------------------------------------------------------------------------


class AgentRun(msgspec.Struct, frozen=True):
    """The result and rollouts of one agent, as gates receive them."""

    result: AgentResult
    table: RolloutTable
    expected: NDArray[np.int64]  # rollouts that each task should have
    shown: str = ""  # its name where a benchmark has several agents


@dataclass
class BaselineComparison:
    """All agents of one benchmark against the reference; they share the level of a false alarm."""

    benchmark: Benchmark
    plan: metrics.Plan
    reference: Reference
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    look: Look | None = None  # at a run that may stop early
    quarantined: frozenset[str] = (
        frozenset()
    )  # ids of tasks, left out of the reference too
    # the changed parts of the ruler: metrics that they touch are not compared
    ruler_changes: tuple[RulerChange, ...] = ()
    # the same where both sides are measured by today's ruler; a hook's numbers are not
    settled: tuple[RulerChange, ...] = ()
    # by agent: the rows that its tasks are a sample of
    frames: Mapping[str, RolloutTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = settings_of(self.benchmark)
        self.pairings: dict[str, metrics.Pairing] = {}  # by agent
        self.changes: list[str] = []  # beside the numbers
        self.notes: list[str] = []  # of how tasks were paired
        self._accept = "" if self.settings.committed else "compare with a newer run"
        if self.settings.of_history:
            self._accept = f"{_ACCEPT}: from that run on the history counts anew"

    def checks(self, runs: Iterable[AgentRun]) -> list[Check]:
        """Judge the gated metrics of agents, in their order."""
        pending = [each for run in runs for each in self._pending(run)]
        gated = [each for each in pending if isinstance(each, gates.Gated)]
        judgements = gates.check_regression(
            gated,
            min_coverage=self.settings.min_coverage,
            accept=self._accept,
            benchmarks=self.benchmarks,
            look=self.look,
        )
        judged = iter(judgements)
        return [
            next(judged) if isinstance(each, gates.Gated) else each for each in pending
        ]

    def _pending(self, run: AgentRun) -> Iterator[Check | gates.Gated]:
        """Pair an agent with its baseline; yield gated metrics, and checks that need no test."""
        reference, settings, table = self.reference, self.settings, run.table
        # names of metrics, with their texts: the last text is the one with its own settings
        texts = {
            run.result.estimates[text].name: text for text in self.benchmark.spec.gated
        }
        if reference.anchors is not None:
            for text in texts.values():
                yield self._remeasured(run, text) or self._by_value(run, text, None)
            return
        counterpart = reference.agent_for(run.result.agent, alone=not run.shown)
        if counterpart is None:
            names = ", ".join(map(repr, reference.runs)) or "none"
            reason = (
                f"{reference.where} has no agent {run.result.agent!r}: it has {names}"
            )
            hint = f"name the agent as before, or {reference.renew}"
            yield self._inconclusive("agent", run.shown, reason, hint)
            return
        recorded = reference.tables[counterpart]
        baseline, drift = metrics.align(table, self._gated_tasks(recorded, run))
        accept = (
            self._accept
            if settings.of_history
            else "compare with a run of the same tasks"
        )
        if settings.committed:
            accept = "record it with --snapshot-update --evalmetrics-accept-tasks"
        tasks = gates.check_task_list(
            drift,
            table,
            self.plan.spec.reward,
            agent=run.shown,
            line=self.benchmark.line_of("baseline"),
            min_coverage=settings.min_coverage,
            accept=accept,
        )
        if tasks is not None:
            yield tasks
        from_, in_python = (reference.where, reference.renew), self.benchmark.in_python
        self.notes += gates.task_list_notes(drift, *from_, in_python=in_python)
        pairing = metrics.Pairing(self.plan, table, baseline, run.expected)
        self.pairings[run.result.agent] = pairing
        pairings = [pairing]
        if len(several := reference.runs[counterpart]) > 1:
            aligned = (
                metrics.align(table, self._gated_tasks(each, run))[0]
                for each in several
            )
            pairings = [structs.replace(pairing, baseline=each) for each in aligned]
        then, now = (
            int(side.counts.max(initial=0)) for side in (pairings[-1].baseline, table)
        )
        if then and now and then != now:
            of = f" of {run.shown}" if run.shown else ""
            self.changes.append(
                f"rollouts of each task{of} were {then}, and are {now} now"
            )
        yield from self._single_tasks(pairing, run.shown)
        # a hook's number over all tasks is not comparable with one over a sample
        alike = not self.frames or len(baseline.tasks) == len(recorded.tasks)
        values = reference.values.get(counterpart, {}) if alike else {}
        for name, text in texts.items():
            yield self._judged(pairing, pairings, run, text, values.get(name))

    def _single_tasks(self, pairing: metrics.Pairing, agent: str) -> Iterator[Check]:
        spec, flips = self.benchmark.spec, None
        if not any(change.touches_reward(spec.reward) for change in self.ruler_changes):
            with suppress(EvalMetricsError):  # the baseline holds no rewards
                pair = pairing.pair(pairing.plan.names.bind("mean_reward"))
                flips = gates.flips_of(pair, spec.pass_threshold)
        if flips is not None and (text := str(flips)):
            self.changes.append(f"{agent}: {text}" if agent else text)
        if (most := self.settings.max_broken) is not None:
            yield gates.check_broken(self.benchmark, agent, flips, most)

    def _gated_tasks(self, recorded: RolloutTable, run: AgentRun) -> RolloutTable:
        """Drop quarantined tasks, and tasks outside of the drawn sample, from a recorded run."""
        recorded = without(recorded, self.quarantined)
        frame = self.frames.get(
            run.result.agent, next(iter(self.frames.values()), None)
        )
        if frame is None:
            return recorded
        rest = set(map(str, frame.tasks)) - set(map(str, run.table.tasks))
        return without(metrics.align(frame, recorded)[0], rest)

    def _judged(
        self,
        pairing: metrics.Pairing,
        runs: Sequence[metrics.Pairing],
        run: AgentRun,
        text: str,
        value: float | None,
    ) -> Check | gates.Gated:
        """Pair one metric; a check where that is not possible, or not allowed."""
        if (changed := self._remeasured(run, text)) is not None:
            return changed
        estimate, reference, spec = (
            run.result.estimates[text],
            self.reference,
            self.benchmark.spec,
        )
        refuse = partial(
            self._inconclusive, estimate.name, run.shown, estimate=estimate
        )
        lost = f"can't be compared with {reference.where}"
        if estimate.by_hook:
            return self._by_value(run, text, value)
        try:
            metric = pairing.plan.names.bind(text)
            if not metric.unbiased:  # more rollouts would change its value
                pairing = runs[-1]
            gated = gated_metric(self.benchmark, text, pairing, runs)
            higher = gated.rule.direction == "higher"
            gated = structs.replace(
                gated,
                gate_id=f"{spec.name}::{run.result.agent}",
                agent=run.shown,
                worst=pairing.pair_at_worst(metric, higher_is_better=higher),
                missing=pairing.missing(metric),
                line=self.benchmark.line_of("baseline", "metrics", text),
                estimate=estimate,
                stated=pairing.stated_error(metric),
            )
        except (
            EvalMetricsError
        ) as error:  # the run itself has been reduced: see its estimates
            reason = f"{text} {lost}: {error.message}"
            own = isinstance(error, RegistryError) and error.hint
            return refuse(
                reason, own or reference.renew, "metrics", text, value=estimate.value
            )
        sides = gated.worst or gated.pair
        then, now = (
            len(r.values) for r in (sides.rewards_baseline, sides.rewards_current)
        )
        if metric.name.metric == "sum" and then != now:
            reason = (
                f"{text} {lost}: it adds up all rollouts, {then} then and {now} now"
            )
            hint = f"gate mean/{estimate.score}, or {reference.renew}"
            return refuse(reason, hint, "metrics", text, evidence={"why": "unequal"})
        return self._cannot_fail(text, gated) or gated

    def _remeasured(self, run: AgentRun, text: str) -> Check | None:
        """Refuse to compare a metric if a changed part of the ruler touches it."""
        estimate, reward = run.result.estimates[text], self.benchmark.spec.reward
        target = None if estimate.by_hook else self.plan.names.bind(text).target
        changes = self.ruler_changes or (self.settled if estimate.by_hook else ())
        touching = [c for c in changes if c.touches(estimate, target, reward=reward)]
        if not touching:
            return None
        hint = self.reference.renew
        if all(change.by_tool for change in touching):
            hint += ", or score today's run as the baseline's was"
        elif self.settings.committed:
            hint += "; with `baseline: {rescore: true}` its rows are kept, and scored again then"
        reason = f"{estimate.name} can't be compared with {self.reference.where}: the ruler changed"
        reason += f": {'; '.join(change.text for change in touching)}"
        about = estimate.name, run.shown, reason, hint, "metrics", text
        return self._inconclusive(*about, estimate=estimate)

    def _by_value(self, run: AgentRun, text: str, value: float | None) -> Check:
        """Hold a number without rollouts against that of the baseline, or of the history."""
        estimate = run.result.estimates[text]
        anchors, evidence = self.reference.anchors, dict[str, Any]()
        direction = self.settings.gate_of(text).direction
        if estimate.by_hook and direction is None:
            reason = (
                f"nothing says which way is better for {text}, which a hook computes"
            )
            hint = f'write `baseline: {{metrics: {{"{text}": {{direction: higher}}}}}}`, or lower '
            hint += "where less is better"
            about = (text, run.shown, reason, hint, "metrics", text)
            return self._inconclusive(*about, estimate=estimate)
        rule = rule_of(self.benchmark, text, bounded=False)
        if anchors is not None:
            of = run.result.agent, estimate.name, estimate.tasks
            anchor = anchors.anchor(*of, higher_is_better=rule.direction == "higher")
            value = anchor.value
            evidence = {
                "against": anchors.against,
                "anchor": anchor.origin,
                "runs": anchor.runs,
            }
        check = gates.check_value(
            estimate,
            value,
            rule,
            agent=run.shown,
            line=self.benchmark.line_of("baseline", "metrics", text),
            accept=self._accept,
            against=evidence.get("anchor", ""),
        )
        hint = f"start with it: {START}" if evidence and value is None else check.hint
        return structs.replace(
            check, hint=hint, evidence={**check.evidence, **evidence}
        )

    # -- what can't be judged ----------------------------------------------------------------

    def _inconclusive(
        self, name: str, agent: str, reason: str, hint: str, *path: str, **more: Any
    ) -> Check:
        """Make the check of what can't be judged; `path` is its key below ``baseline:``."""
        more |= {
            "reason": reason,
            "hint": hint,
            "line": self.benchmark.line_of("baseline", *path),
        }
        if (estimate := more.get("estimate")) is not None:
            more.setdefault(
                "value", None if math.isnan(estimate.value) else estimate.value
            )
        return Check("baseline", name, Verdict.INCONCLUSIVE, agent, **more)

    def _cannot_fail(self, text: str, gated: gates.Gated) -> Check | None:
        """Refuse a drop that no rewards can show; time and money have no upper end."""
        rule, pair, before = gated.rule, gated.pair, gated.pair.value_baseline
        higher, relative = rule.direction == "higher", rule.name == "relative"
        limited = relative or rule.name in ("absolute", "practical", "noninferior")
        limits = declarations.range_of(self.benchmark.spec, metric_names.parse(text))
        on_unit = pair.bounded and declarations.may_be_rate(self.benchmark.spec, text)
        if on_unit:
            limits = Range(0.0, 1.0)
        drops = {
            "max_drop": rule.max_drop if limited and (higher or not relative) else 0.0
        }
        drops["require_mde"] = rule.require_mde or 0
        key, drop = max(drops.items(), key=lambda each: each[1])
        worst, unit = (
            limits.low if higher else limits.high,
            abs(before) if relative else 1.0,
        )
        most = rule.sign * (before - worst)  # the largest possible loss
        if on_unit and drop >= 1:
            reason = f"{key} {drop:.12g} can never fail: all rewards of {pair.name} lie in [0, 1]"
            reason += f"; did you mean {drop:.12g}%?" if drop <= 100 else ""  # per cent
            hint = f"choose a {key} below 1"
        elif (
            limited
            and self.settings.gate_of(text).max_drop
            and 0 < most < rule.max_drop * unit
        ):
            key, hint = "max_drop", f"choose a max_drop below {most / unit:.4g}"
            reason = f"max_drop {rule.max_drop:.12g} can never fail: {pair.name} was {before:.4g}, "
            reason += f"and the worst that it can be is {worst:g}"
        else:
            return None
        return self._inconclusive(
            *(pair.name, gated.agent, reason, hint, *self.settings.path_of(text, key)),
            value=pair.value_current,
            bound=str(rule),
            estimate=gated.estimate,
            evidence={**rule.evidence(), "baseline": before, "why": "blind"},
        )

    def missing_agents(self, agents: Sequence[str]) -> Iterator[Check]:
        """Report the agents that only the reference has: nothing else would miss them."""
        reference = self.reference
        compared = {
            reference.agent_for(agent, alone=len(agents) == 1) for agent in agents
        }
        for agent in reference.agents:
            if agent not in compared:
                reason = f"this run has no agent {agent!r}, which {reference.where} has"
                hint = f"complete the run, or {reference.renew}"
                yield self._inconclusive("agent", agent, reason, hint)

    def reference_notes(self, agents: Sequence[AgentResult]) -> Iterator[str]:
        """Describe how the pinned system of ``reference:`` changed since the baseline."""
        level = f"mean/{metric_names.REFERENCE}"
        for result in agents:
            agent = self.reference.agent_for(result.agent, alone=len(agents) == 1)
            then = self.reference.values.get(agent or "", {}).get(level)
            if then is not None and level in result.estimates:
                of, now = (
                    f"{result.agent}: " * (len(agents) > 1),
                    result.estimates[level].value,
                )
                text = f"{of}the mean reward of the reference was {then:.4g}, and is {now:.4g}: "
                yield f"{text}{metric_names.OVER_REFERENCE} is free of what shifts both"


def without(table: RolloutTable, tasks: Collection[str]) -> RolloutTable:
    """Leave tasks out of a table."""
    if not tasks:
        return table
    kept = np.array([str(task) not in tasks for task in table.tasks], dtype=bool)
    return table if kept.all() else table.where(kept[table.task])


def gated_metric(
    benchmark: Benchmark,
    text: str,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing] = (),
) -> gates.Gated:
    """Pair a metric with its baseline; `pairings` has one pairing per run of the baseline."""
    metric = pairing.plan.names.bind(text)
    pair, runs = pairing.pair(metric), None
    if len(pairings) > 1:
        pairs = [each.pair(metric) for each in pairings]
        if any(len(each.tasks) != len(pair.tasks) for each in pairs):
            counts = ", ".join(str(len(each.tasks)) for each in pairs)
            raise BaselineError(
                f"its runs hold {counts} of the {len(pair.tasks)} compared tasks"
            )
        is_rate = pair.bounded and declarations.may_be_rate(benchmark.spec, text)
        runs = gates.Runs.of(pairs, pooled=metric.unbiased, is_rate=is_rate)
    return gates.Gated(
        pair=pair, rule=rule_of(benchmark, text, bounded=pair.bounded), runs=runs
    )


def unpassable(
    benchmark: Benchmark, plan: metrics.Plan, runs: Sequence[AgentRun]
) -> Iterator[Check]:
    """Warn of a baseline that the same rows would not pass, compared with themselves."""
    reference = Reference(
        {run.result.agent: [run.table] for run in runs},
        {
            run.result.agent: {n: e.value for n, e in run.result.estimates.items()}
            for run in runs
        },
    )
    for check in BaselineComparison(benchmark, plan, reference).checks(runs):
        if check.gate != "baseline" or not check.verdict.fails:
            continue
        reason = f"the same rows would not pass the baseline that this run records: {check.reason}"
        run, hint = next(run for run in runs if run.shown == check.agent), check.hint
        column = run.table.scores.get(check.estimate.score) if check.estimate else None
        if column is not None:
            numbers = np.bincount(
                run.table.task, ~np.isnan(column), len(run.table.tasks)
            )
            lacking = [
                run.table.tasks[at] for at in np.flatnonzero(numbers < run.expected)
            ]
            if lacking:
                reason += f"; some rollouts of these tasks have no number: {listed(lacking, 10)}"
                hint = "complete and record the run again, or set `expect: {missing_reward: 0.0}`"
        yield structs.replace(check, verdict=Verdict.WARN, reason=reason, hint=hint)


def drift_checks(
    benchmark: Benchmark, result: BenchmarkResult, history: Path | None
) -> Iterator[Check]:
    """Fail where a metric drifts over the history, this run included."""
    from pytest_evalmetrics.history import read_history, run_of  # rare
    from pytest_evalmetrics.run_folder import origin_of  # rare
    from pytest_evalmetrics.stats.drift import drift_warnings  # rare

    check = partial(
        Check, "drift", "drift", line=benchmark.line_of("baseline", "drift")
    )
    try:
        if history is None:
            hint = "name it: --evalmetrics-history FILE, or the setting evalmetrics_history"
            raise BaselineError(
                "drift: fail needs a history, and none is named", hint=hint
            )
        earlier = read_history(history, history.name)[0].get(result.id, ())
    except EvalMetricsError as error:
        yield check(Verdict.INCONCLUSIVE, reason=error.message, hint=error.hint or "")
        return
    agents = tuple(structs.replace(agent, aggregate={}) for agent in result.agents)
    entry = msgspec.to_builtins(structs.replace(result, agents=agents)) | {
        "verdict": str(result.verdict)
    }
    run = run_of(entry, origin_of(os.environ, benchmark.file.parent), starts=False)
    usable = [each for each in (*earlier, run) if each["usable"]]
    for text in drift_warnings(entry, usable) if run["usable"] else ():
        hint = "find what changed in that range; or accept it with `pytest --snapshot-update`"
        yield check(Verdict.FAIL, reason=text, hint=hint)
