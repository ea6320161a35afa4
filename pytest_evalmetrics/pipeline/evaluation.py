"""One benchmark: its rollouts are loaded, scored, reduced and gated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import baselines, gates, metrics, rollouts
from pytest_evalmetrics.errors import BaselineError, DataError, EvalMetricsError
from pytest_evalmetrics.pipeline.references import picture, reference_of
from pytest_evalmetrics.pipeline.regressions import (
    Judging,
    compares_with_history,
    gated_names,
    gone_agents,
    settings_of,
    unpassable,
)
from pytest_evalmetrics.pipeline.ruler import changes_of, ruler_changes, ruler_of, under_test_of
from pytest_evalmetrics.reports import failed_row_cause
from pytest_evalmetrics.results import AgentResult, BenchmarkResult, Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.baselines import AgentDocument, BaselineDocument
    from pytest_evalmetrics.data import RolloutTable, RowScores
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.pipeline.judge_checks import Judged
    from pytest_evalmetrics.pipeline.regressions import Reference
    from pytest_evalmetrics.pipeline.ruler import RulerChange
    from pytest_evalmetrics.pipeline.scoring import KeptRows, Runtime, Scoring
    from pytest_evalmetrics.results import ScorerFailures
    from pytest_evalmetrics.scorers import About
    from pytest_evalmetrics.spec import Benchmark

__all__ = [
    "Evaluated",
    "Hooks",
    "better",
    "changed_gates",
    "evaluate",
    "no_baseline",
    "not_evaluated",
    "nothing_gated",
    "with_cause",
]


class Hooks(msgspec.Struct, frozen=True):
    """What the user's code has a say in; None where nobody implements it."""

    # ``(agent, tasks) -> further metrics``, one mapping per implementation
    compute_metrics: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any] | None]] | None = (
        None
    )
    source: str = ""  # the hash of what computes metrics
    # ``(agent, agent_metrics) -> the headline ones``
    key_metrics: Callable[[str, Mapping[str, Any]], Any] | None = None


class Evaluated(msgspec.Struct, frozen=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult  # the verdict and everything it rests on
    # by agent and task: the scores of each rollout that gated metrics rest on
    task_scores: dict[str, Any]
    baseline: BaselineDocument | None  # None where a number may be missing or wrong
    row_scores: RowScores | None = None  # what scorers gave to each row; None without scorers
    kept_rows: bytes | None = None  # the baseline's rows, compressed; None where it keeps none
    # by agent: its tasks before and after, for the page that people look at; none of a
    # benchmark that passes and is not to be shown in detail
    pictures: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)


def nothing_gated(benchmark: Benchmark) -> str:
    """Say that no number of a benchmark can fail."""
    metric = benchmark.spec.metrics[0]
    if benchmark.in_python:
        return (
            "nothing is gated: give thresholds= or baseline=, such as "
            f'thresholds={{"{metric}": ">= 0.9"}}'
        )
    return (
        f"nothing is gated: add `thresholds:` or `baseline:` below line {benchmark.line_of()}, "
        f'such as `thresholds: {{{metric}: ">= 0.9"}}`'
    )


def better(check: Check, benchmark: Benchmark) -> str:
    """Say that a metric got better, and how to keep that."""
    found, spec = check.evidence, benchmark.spec.baseline
    of = f"{check.agent}: " if check.agent else ""
    kept = spec is not None and spec.committed
    return (
        f"better than the baseline: {of}{check.name} went from {found['baseline']:.4g} to "
        f"{found['current']:.4g}" + ("; record it with `pytest --snapshot-update`" if kept else "")
    )


def no_baseline(benchmark: Benchmark) -> Check:
    """Make the check of a benchmark that has nothing yet to be compared with."""
    return Check(
        "baseline",
        "baseline",
        Verdict.INCONCLUSIVE,
        reason="there is no baseline yet to compare with",
        hint="record one with `pytest --snapshot-update` and commit it",
        line=benchmark.line_of("baseline"),
    )


def not_evaluated(error: EvalMetricsError, benchmark: Benchmark) -> Check:
    """Make the check of what could not be read, or reduced."""
    where = error.where if error.file else ""
    return Check(
        "data",
        "evaluation",
        Verdict.INCONCLUSIVE,
        reason=f"{where}: {error.message}" if where else error.message,
        hint=error.hint or "",
        line=None if error.file else error.line or benchmark.line_of(),
    )


def changed_gates(
    now: Mapping[str, Any], before: Mapping[str, Any], reference: Reference
) -> Iterator[str]:
    """Tell which thresholds and gated metrics are not those that the baseline was recorded with."""
    if not before:
        return
    old, new = before.get("thresholds", {}), now["thresholds"]
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield (
                f"threshold {name} was {old.get(name, 'none')}, and is {new.get(name, 'none')} now"
            )
    for name in before.get("metrics", ()):
        if name not in now["metrics"]:
            values = [of[name] for of in reference.values.values() if name in of]
            was = f" (it was {', '.join(f'{value:.4g}' for value in values)})" if values else ""
            yield f"metric {name} is in {reference.where}, and is no longer gated{was}"


def with_cause(check: Check, failed: Sequence[ScorerFailures], reward: str) -> Check:
    """Let a check of what is missing begin with why it is."""
    what, _, score = check.name.partition("/")
    cause = failed_row_cause(failed, score or reward)
    if what != "missing" or not check.verdict.fails or not cause:
        return check
    return replace(check, reason=f"{cause}; {check.reason}")


def evaluate(
    benchmark: Benchmark,
    *,
    item_id: str,
    hooks: Hooks | None = None,
    snapshot: Callable[[], tuple[str, str] | None] = lambda: None,
    updates: bool = False,
    runtime: Runtime | None = None,
    table: RolloutTable | None = None,
    file: str | None = None,
    history: Path | None = None,
    engine: Engine | None = None,
    detailed: bool = True,
    today: Callable[[], date] = date.today,
    kept_rows: Callable[[], bytes | None] = lambda: None,
    benchmarks: int = 1,
) -> Evaluated:
    """Evaluate one benchmark.

    Parameters
    ----------
    benchmark
        The benchmark.
    item_id
        What the result is called: the pytest item's id.
    hooks
        The user's hooks.
    snapshot
        Reads the committed baseline: its text and how its file is called; None where there
        is none yet. Called only where the benchmark is compared with it.
    updates
        Whether this run records a new baseline: then the old one is told, not asserted.
    runtime
        What a scored benchmark needs of the run that it is a part of.
    table
        The rollouts, where they come from no file.
    file
        How messages call the file that it is written in; default what `item_id` starts with.
    history
        The history of earlier runs, where the run keeps one.
    engine
        Where rollouts are read and rows are scored, if not here.
    detailed
        Whether its tasks are pictured even if it passes.
    today
        The day by which quarantines end.
    kept_rows
        Reads the rows that the committed baseline keeps, compressed; None where there are none.
    benchmarks
        How many benchmarks of the run share the level of a false alarm.

    Returns
    -------
    Evaluated
        With every check. What can't be read or reduced is a check too, INCONCLUSIVE with
        its reason, so that reports tell of it.
    """
    evaluation = _Evaluation(
        benchmark,
        hooks or Hooks(),
        snapshot,
        updates=updates,
        given=table,
        history=history,
        engine=engine,
        today=today,
        kept_rows=kept_rows,
        benchmarks=benchmarks,
    )
    try:
        evaluation.run(item_id, runtime)
    except EvalMetricsError as error:
        evaluation.fail(error)
    result = evaluation.result(item_id, file or item_id.rpartition("::")[0])
    return Evaluated(
        result,
        {agent: found["tasks"] for agent, found in evaluation.recorded.items()},
        evaluation.document(),
        evaluation.row_scores,
        None if evaluation.to_keep is None else evaluation.to_keep.data,
        evaluation.pictures() if detailed or result.verdict is not Verdict.PASS else {},
    )


@dataclass
class _Evaluation:
    """One pass over one benchmark; what was found so far outlives an error."""

    benchmark: Benchmark
    hooks: Hooks
    snapshot: Callable[[], tuple[str, str] | None]
    updates: bool = field(kw_only=True)
    given: RolloutTable | None = None
    history: Path | None = None
    engine: Engine | None = None
    today: Callable[[], date] = date.today
    kept_rows: Callable[[], bytes | None] = lambda: None
    scoring: Scoring | None = None
    to_keep: KeptRows | None = None
    single: gates.SingleTasks | None = None
    benchmarks: int = 1
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    ruler: dict[str, dict[str, Any]] = field(default_factory=dict)
    under_test: dict[str, Any] = field(default_factory=dict)
    agents: list[AgentResult] = field(default_factory=list)
    recorded: dict[str, AgentDocument] = field(default_factory=dict)
    tables: dict[str, RolloutTable] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    judging: Judging | None = None
    sources: tuple[dict[str, Any], ...] = ()
    row_scores: RowScores | None = None
    failed_rows: tuple[ScorerFailures, ...] = ()
    partial: bool = False
    about: Mapping[str, About] = field(default_factory=dict)
    judged: Judged | None = None

    def __post_init__(self) -> None:
        self.asked = self.benchmark.spec  # scoring takes the thresholds of judges out of it

    def run(self, label: str, runtime: Runtime | None) -> None:
        scoring = self._scoring(label, runtime)
        spec = self.benchmark.spec
        self.scoring = scoring
        gated = gated_names(self.benchmark)
        plan = metrics.plan(spec, also=gated, line_of=self.benchmark.line_of)
        table = self._rows(plan) if scoring is None else self._scored(plan, scoring)
        self.sources = tuple(
            {"path": s.path, "rows": s.rows, "size": s.size} for s in table.sources
        )
        self.notes.extend(table.notes)
        if spec.must_pass or spec.quarantine:
            self.single = gates.SingleTasks.of(self.benchmark, table.tasks, self.today())
            self.checks.extend(self.single.unknown)
        if spec.baseline is not None:
            made, hide = ((), str) if scoring is None else (scoring.made, scoring.hide)
            self.ruler = ruler_of(
                *(self.benchmark, plan, gated, made, table.ruler),
                hook=self.hooks.source,
                hide=hide,
            )
            self.under_test = under_test_of(spec, hide=hide)
            if self.updates and scoring is not None and settings_of(self.benchmark).rescore:
                self.to_keep = scoring.kept(table)
        reference = self._reference(plan, label) if spec.baseline else None
        if reference is not None:
            self.judging = self._judging(plan, reference)
        try:
            for agent, part in table.by_agent():
                self._one_agent(plan, agent, agent if len(table.agents) > 1 else "", part)
        finally:  # what was compared before an error is told
            if self.judging is not None:
                self._compare(self.judging)
                if not self.updates:
                    self.changes += self.judging.changes
        self.checks.extend(self._warnings_of_recording(plan))
        if reference is not None and not self.updates:
            self.checks.extend(gone_agents(self.benchmark, table.agents, reference))
        self.notes.extend(gates.blind_thresholds(self.benchmark))
        judged = self.judged is not None and self.judged.gates
        if not spec.thresholds and not spec.baseline and not judged:
            self.notes.append(nothing_gated(self.benchmark))

    def _warnings_of_recording(self, plan: metrics.Plan) -> Iterator[Check]:
        spec = self.benchmark.spec.baseline
        records = self.updates and spec is not None and spec.committed
        if records and self.document() is not None:
            taken = [(a, self.tables[a.agent], self.expected[a.agent]) for a in self.agents]
            yield from unpassable(self.benchmark, plan, taken)

    def _rows(self, plan: metrics.Plan) -> RolloutTable:
        if self.given is not None:
            return self.given
        return rollouts.load(
            self.benchmark.spec.rows,
            self.benchmark.file.parent,
            scores=plan.scores,
            categories=plan.categories,
            reader=None if self.engine is None else self.engine.read,
        )

    def _scoring(self, label: str, runtime: Runtime | None) -> Scoring | None:
        """Make the scorers, and settle which of their scores is the reward."""
        if not self.benchmark.spec.runs:
            return None
        from pytest_evalmetrics.pipeline.scoring import Scoring  # noqa: PLC0415 - loads asyncio

        if runtime is None:
            raise ValueError("a scored benchmark needs the run that it is a part of")
        scoring = Scoring(self.benchmark, runtime, label, self.engine)
        self.benchmark = scoring.benchmark
        return scoring

    def _scored(self, plan: metrics.Plan, scoring: Scoring) -> RolloutTable:
        from pytest_evalmetrics.pipeline.judge_checks import judge_notes  # noqa: PLC0415 - loaded by now

        scored = scoring.run(plan)
        self.notes.extend(scored.notes)
        self.row_scores, self.partial = scored.rows, scored.partial
        self.failed_rows, self.about = scored.failures, scoring.about
        self.judged = scored.judged
        self.checks.extend(scored.judged.gates)
        self.notes.extend(judge_notes(scored.judged.checks))
        self.checks.extend(scored.checks)
        self.benchmark = scoring.benchmark  # what is left out changes what is expected
        return scored.table

    def _reference(self, plan: metrics.Plan, label: str) -> Reference | None:
        """Find what to compare with; what is wrong with it leaves the rest to be judged."""
        try:
            reference = reference_of(
                self.benchmark,
                plan,
                self.snapshot,
                label=label,
                history=self.history,
                engine=self.engine,
            )
        except EvalMetricsError as error:
            # what is broken is replaced, but for a history
            if not self.updates or compares_with_history(self.benchmark):
                self.fail(error)
            return None
        if self.updates:
            return reference
        if reference is None:
            self.checks.append(no_baseline(self.benchmark))
        else:
            self.notes.extend(reference.notes)
        return reference

    def _judging(self, plan: metrics.Plan, reference: Reference) -> Judging:
        judging = Judging(self.benchmark, plan, reference, self.benchmarks)
        if self.single is not None:
            judging.quarantined = frozenset(map(str, self.single.quarantined))
        recorded = reference.provenance
        if self.updates or reference.anchors is not None:
            return judging
        if "ruler" in recorded:
            self._hold_rulers(judging, ruler_changes(recorded["ruler"], self.ruler))
        elif recorded:
            self.notes.append(
                f"{reference.origin} holds no fingerprint of what measures: another scorer, judge "
                f"or prompt goes unseen until you {reference.renew}"
            )
        if told := changes_of(recorded.get("under_test", {}), self.under_test):
            self.changes.append(f"under test: {told}")
        self.changes += changed_gates(self._gates(), recorded.get("gates", {}), reference)
        return judging

    def _hold_rulers(self, judging: Judging, changes: tuple[RulerChange, ...]) -> None:
        """Find what of a changed ruler stands in the way: rows that were kept are scored anew."""
        judging.ruler_changes = changes
        if not changes or not settings_of(self.benchmark).rescore:
            return
        reference = judging.reference
        if any(change.by_scorer for change in changes):
            rows = reference.provenance.get("rows")
            if self.scoring is None or rows is None:
                return
            try:
                tables, notes = self.scoring.rescored(self.kept_rows(), rows, reference.tables)
            except BaselineError as error:
                self.fail(error)
                return
            judging.reference = msgspec.structs.replace(reference, tables=tables)
            self.notes += notes
        changes = tuple(change for change in changes if not change.by_tool)
        judging.ruler_changes = tuple(c for c in judging.ruler_changes if c.by_tool)
        judging.settled = changes
        if not changes:
            return
        told = "; ".join(change.text for change in changes)
        self.changes.append(f"the ruler, by which both sides are measured now: {told}")

    def _gates(self) -> dict[str, Any]:
        """Describe what is asked of the numbers, as a baseline keeps it."""
        return {
            "metrics": list(gated_names(self.benchmark)),
            "thresholds": {name: each.told for name, each in self.asked.thresholds.items()},
        }

    def _one_agent(
        self,
        plan: metrics.Plan,
        agent: str,
        shown: str,
        table: RolloutTable,
    ) -> None:
        found = gates.check_completeness(self.benchmark, shown, table)
        reward = self.benchmark.spec.reward
        self.checks.extend(with_cause(c, self.failed_rows, reward) for c in found.checks)
        self.notes.extend(found.notes)
        compute, choose = self.hooks.compute_metrics, self.hooks.key_metrics
        reduce = partial(
            metrics.reduce_agent,
            plan,
            agent,
            compute_metrics=None if compute is None else lambda tasks: compute(agent, tasks),
            key_metrics=None if choose is None else lambda known: choose(agent, known),
            notes=self.notes,
        )
        result = reduce(table, expected=found.expected)
        gated = gated_names(self.benchmark)
        # the reward first; the order in a table is the one in which rows happen to name them
        columns = sorted(plan.columns(gated, table), key=lambda n: (n != plan.spec.reward, n))
        self.recorded[agent] = baselines.agent_document(result, table, columns, gated=gated)
        self.agents.append(self._with_summaries(result, table))
        if self.single is not None:
            self.checks.extend(self.single.checks(self.benchmark, shown, table))
            gated_tasks = self._without_quarantined(table)
            if gated_tasks is not table:
                found = gates.check_completeness(self.benchmark, shown, gated_tasks)
                whole, table = result, gated_tasks
                result = reduce(table, expected=found.expected)
                # a hook's numbers are of all tasks, in the baseline too
                hooked = {n: e for n, e in whole.estimates.items() if e.by_hook}
                result = replace(result, estimates={**result.estimates, **hooked})
        numbers = gates.check_numbers(self.benchmark, shown, result)
        self.checks.extend(with_cause(c, self.failed_rows, reward) for c in numbers)
        self.notes.extend(gates.few_numbers(self.benchmark, shown, result))
        self.checks.extend(gates.check_thresholds(self.benchmark, shown, result))
        if self.judging is not None:
            self.judging.add(result, table, agent=shown, expected=found.expected)
        self.tables[agent], self.expected[agent] = table, found.expected

    def _without_quarantined(self, table: RolloutTable) -> RolloutTable:
        held = () if self.single is None else self.single.quarantined
        left = np.array([task not in held for task in table.tasks], dtype=bool)
        if left.all():
            return table
        if not left.any():
            raise DataError(
                "every task is in quarantine: nothing is left to gate",
                line=self.benchmark.line_of("quarantine"),
                hint="take one of them out, or skip the benchmark",
            )
        return table.where(left[table.task])

    def _compare(self, judging: Judging) -> None:
        """Judge all agents at once: p values are adjusted across all that a benchmark gates."""
        if not self.updates:
            self.notes.extend(dict.fromkeys(judging.notes))
        for check in judging.checks():
            self.checks.append(gates.accepted(check) if self.updates else check)
            if check.evidence.get("improved") and not self.updates:
                self.notes.append(better(check, self.benchmark))

    def _with_summaries(self, result: AgentResult, table: RolloutTable) -> AgentResult:
        if self.row_scores is None:
            return result
        from pytest_evalmetrics.scorers import summarise_all  # noqa: PLC0415 - loaded by now

        names = self.row_scores.names
        return replace(result, scores=summarise_all(names, table.scores, self.about))

    def pictures(self) -> dict[str, Mapping[str, Any]]:
        """Describe each agent's tasks, before and after."""
        return {
            agent: picture(self.benchmark, agent, table, self.judging, self.row_scores)
            for agent, table in self.tables.items()
        }

    def fail(self, error: EvalMetricsError) -> None:
        self.checks.append(not_evaluated(error, self.benchmark))

    def document(self) -> BaselineDocument | None:
        """Describe the run as a baseline; None where a number may be missing or wrong."""
        broken = any(c.gate in ("data", "expect") and c.verdict.fails for c in self.checks)
        if broken or self.partial or not self.recorded:
            return None
        return baselines.document(
            self.benchmark.spec.name,
            self.recorded,
            {
                "tasks": sum(a.tasks for a in self.agents),
                "rollouts": sum(a.rollouts for a in self.agents),
                "files": list(self.sources),
                "gates": self._gates(),
                **({} if self.to_keep is None else {"rows": self.to_keep.provenance}),
                **({"under_test": self.under_test} if self.under_test else {}),
                "ruler": self.ruler,
            },
        )

    def result(self, item_id: str, file: str) -> BenchmarkResult:
        spec = self.benchmark.spec
        return BenchmarkResult(
            id=item_id,
            name=spec.name,
            description=spec.description,
            file=file,
            line=self.benchmark.line_of(),
            agents=tuple(self.agents),
            checks=tuple(self.checks),
            notes=tuple(self.notes),
            changes=tuple(self.changes),
            ruler=self.ruler,
            sources=self.sources,
            xfail=spec.xfail is not None,
            failed_rows=self.failed_rows,
            partial=self.partial,
            judges=() if self.judged is None else self.judged.uses,
            judge_checks=() if self.judged is None else self.judged.checks,
        )
