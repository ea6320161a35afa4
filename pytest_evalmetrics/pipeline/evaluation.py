"""One benchmark: its rollouts are loaded, scored, reduced and gated."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import baselines, errors, gates, metrics, rollouts
from pytest_evalmetrics.data import STATED_ERROR, RolloutTable, RowScores
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.pipeline import regressions, ruler
from pytest_evalmetrics.pipeline.regressions import Judging, Reference, rule_of, settings_of
from pytest_evalmetrics.reports import failed_row_cause, picture_of
from pytest_evalmetrics.results import AgentResult, BenchmarkResult, Check, Flip, Verdict
from pytest_evalmetrics.spec import Benchmark, Count
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import Rounds, SampleSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.pipeline.human_labels import HumanLabels
    from pytest_evalmetrics.pipeline.scored_rows import KeptRows
    from pytest_evalmetrics.pipeline.scoring import Runtime, Scored, Scoring
    from pytest_evalmetrics.results import ScorerFailures
    from pytest_evalmetrics.transport import Budget


_READ_AGAIN = 2**30  # bytes of files, to show what was answered


class Hooks(msgspec.Struct, frozen=True):
    """The user's hooks; None where nobody implements one."""

    # ``(agent, tasks) -> further metrics``, one mapping per implementation
    compute_metrics: Callable[[str, Any], Any] | None = None
    source: str = ""  # the hash of what computes metrics
    # ``(agent, agent_metrics) -> the headline ones``
    key_metrics: Callable[[str, Mapping[str, Any]], Any] | None = None


class Evaluated(msgspec.Struct, frozen=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult
    # by agent and task: the scores of each rollout that gated metrics rest on
    task_scores: dict[str, Any]
    baseline: baselines.BaselineDocument | None  # None where a number may be missing or wrong
    row_scores: RowScores | None = None  # of each row; None without scorers
    kept_rows: bytes | None = None  # the baseline's rows, compressed; None where it keeps none
    # by agent: its tasks before and after, for the page that people look at; none of a
    # benchmark that passes and is not to be shown in detail
    pictures: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)


def evaluate(benchmark: Benchmark, **settings: Any) -> Evaluated:
    """Evaluate one benchmark; the settings are those of `Evaluation`."""
    return Evaluation(benchmark, **settings).run()


@dataclass(kw_only=True)
class Evaluation:
    """One pass over one benchmark; what was computed so far outlives an error."""

    benchmark: Benchmark = field(kw_only=False)
    item_id: str  # the result's id: that of the pytest item
    file: str | None = None  # the file for messages; default the beginning of `item_id`
    hooks: Hooks = field(default_factory=Hooks)
    # reads the committed baseline: its text and the name of its file; None where there is none
    snapshot: Callable[[], tuple[str, str] | None] = lambda: None
    # reads the rows that the committed baseline keeps, compressed
    kept_rows: Callable[[], bytes | None] = lambda: None
    renamed_from: Callable[[], str] = lambda: ""  # guesses it where there is no baseline
    updates: bool = False  # this run records a new baseline: the old one is shown, not asserted
    first_run: bool = False  # a report to compare with that is not there yet is no fault
    runtime: Runtime | None = None  # of the run, for a scored benchmark
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    history: Path | None = None  # of earlier runs, where the run keeps one
    engine: Engine | None = None  # where rollouts are read and rows are scored, if not here
    detailed: bool = True  # its tasks are pictured even if it passes
    today: Callable[[], date] = date.today  # the day by which quarantines end
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    look: Look | None = None  # at a run that may stop early
    budget: Budget | None = None  # of the benchmark, that its rounds share

    _checks: list[Check] = field(default_factory=list, init=False)
    _notes: list[str] = field(default_factory=list, init=False)
    _changes: list[str] = field(default_factory=list, init=False)
    _ruler: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)
    _under_test: dict[str, Any] = field(default_factory=dict, init=False)
    _agents: list[AgentResult] = field(default_factory=list, init=False)
    _recorded: dict[str, baselines.AgentDocument] = field(default_factory=dict, init=False)
    _tables: dict[str, RolloutTable] = field(default_factory=dict, init=False)
    _expected: dict[str, Any] = field(default_factory=dict, init=False)
    _sources: tuple[dict[str, Any], ...] = field(default=(), init=False)
    _scoring: Scoring | None = field(default=None, init=False)
    _scored: Scored | None = field(default=None, init=False)
    _kept: KeptRows | None = field(default=None, init=False)
    _labels: HumanLabels | None = field(default=None, init=False)
    _single: gates.SingleTasks | None = field(default=None, init=False)
    _judging: Judging | None = field(default=None, init=False)
    _whole: RolloutTable | None = field(default=None, init=False)  # that a sample was drawn from

    def run(self) -> Evaluated:
        """Evaluate it; what can't be read or reduced is an INCONCLUSIVE check with its reason."""
        spec = self.benchmark.spec
        if isinstance(spec.num_samples, Rounds) and self.look is None and not self.updates:
            from pytest_evalmetrics.pipeline.rounds import in_rounds  # noqa: PLC0415 - if asked for

            return in_rounds(self)  # a baseline takes all rollouts
        self._gates = {  # as a baseline keeps them; scoring takes the thresholds of judges out
            "metrics": list(spec.gated),
            "thresholds": {name: t.described for name, t in spec.thresholds.items()},
        }
        try:
            self._evaluate()
        except errors.EvalMetricsError as error:
            self._fail(error)
        if self._scored is not None and self._scored.checks:  # a part of the rollouts fails nothing
            self._checks = [
                replace(c, verdict=Verdict.INCONCLUSIVE) if c.verdict is Verdict.FAIL else c
                for c in self._checks
            ]
        result = self._result()
        if settings_of(self.benchmark).drift == "fail" and not self.updates:
            self._checks += self._drift(result)
            result = self._result()
        if result.verdict is not Verdict.PASS and self._judging is not None and not self.updates:
            result = replace(result, flips=tuple(self._flips(self._judging)))
        pictured = self._tables if self.detailed or result.verdict is not Verdict.PASS else ()
        return Evaluated(
            result,
            {agent: document["tasks"] for agent, document in self._recorded.items()},
            self._document(),
            None if self._scored is None else self._scored.rows,
            None if self._kept is None else self._kept.data,
            {agent: self._picture(agent) for agent in pictured},
        )

    # -- the steps ---------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Read labels; make the scorers, and settle which of their scores is the reward."""
        if self.benchmark.spec.labels is not None:
            from pytest_evalmetrics.pipeline.human_labels import HumanLabels  # noqa: PLC0415 - rare

            self._labels = HumanLabels.of(self.benchmark, self.benchmark.spec.labels)
            self.benchmark = self._labels.benchmark
        if self.benchmark.spec.runs:
            self._scoring = self._scoring_of(self.benchmark)
            self.benchmark = self._scoring.benchmark

    def _evaluate(self) -> None:
        self._prepare()
        plan = self._plan()
        table = self._rows_of(plan)
        if any(name.startswith(STATED_ERROR) for name in table.scores):
            self._leave_out_metrics_of_rollouts()
            plan = self._plan()
        spec = self.benchmark.spec
        self._sources = tuple(
            {"path": s.path, "rows": s.rows, "size": s.size} for s in table.sources
        )
        self._notes.extend(table.notes)
        if spec.must_pass or spec.quarantine:
            tasks = (self._whole or table).tasks
            self._single = gates.SingleTasks.of(self.benchmark, tasks, self.today())
            self._checks.extend(self._single.unknown)
        reference = None
        if spec.baseline is not None:
            self._fingerprint(plan, table)
            reference = self._reference(plan)
            if reference is not None:
                self._judging = self._start_judging(plan, reference)
        try:
            for agent, part in table.by_agent():
                self._one_agent(plan, agent, agent if len(table.agents) > 1 else "", part)
        finally:  # what was compared before an error is shown
            if self._judging is not None:
                self._compare(self._judging)
        if self.updates and spec.baseline and spec.baseline.committed and self._document():
            taken = [(a, self._tables[a.agent], self._expected[a.agent]) for a in self._agents]
            self._checks.extend(regressions.unpassable(self.benchmark, plan, taken))
        if self._judging is not None and not self.updates:
            self._notes += self._judging.reference_notes(self._agents)
            self._checks.extend(self._judging.missing_agents(table.agents))
        self._notes.extend(gates.blind_thresholds(self.benchmark))
        judged = self._scored is not None and self._scored.judged.gates
        if not spec.thresholds and not spec.baseline and not judged:
            self._notes.append(_nothing_gated(self.benchmark))

    def _plan(self) -> metrics.Plan:
        spec = self.benchmark.spec
        return metrics.plan(spec, also=spec.gated, line_of=self.benchmark.line_of)

    def _leave_out_metrics_of_rollouts(self) -> None:
        """Take metrics that need rollouts from a spec of aggregates; a gated one is a fault."""
        spec = self.benchmark.spec
        listed = {*spec.metrics, *spec.gated, *spec.thresholds}
        others = {m for m in listed if parse(m).metric not in ("mean_reward", "mean")}
        means = [m for m in spec.metrics if m not in others]
        asked = others if not means or spec.key_metrics else others.intersection(spec.thresholds)
        if asked:
            raise errors.DataError(
                f"{min(asked)} is of rollouts, and these are aggregates: only a mean can be gated",
                line=self.benchmark.line_of("thresholds" if spec.thresholds else "metrics"),
                hint="gate mean_reward, or keep samples (--log_samples) and name their files",
            )
        if others:
            self._notes.append(
                f"left out, because there are no rollouts: {', '.join(sorted(others))}"
            )
        spec = replace(spec, metrics=spec.listing(means))
        self.benchmark = replace(self.benchmark, spec=spec)

    def _scoring_of(self, benchmark: Benchmark) -> Scoring:
        from pytest_evalmetrics.pipeline.scoring import Scoring  # noqa: PLC0415 - loads asyncio

        if self.runtime is None:
            raise ValueError("a scored benchmark needs the run that it is a part of")
        return Scoring(benchmark, self.runtime, self.item_id, self.engine, self.budget)

    def _rows_of(self, plan: metrics.Plan) -> RolloutTable:
        """Load the tasks that are evaluated, with the scores of a reference."""
        spec = self.benchmark.spec
        try:
            table = self._load(plan)
        except errors.DataError as error:
            source = "rollouts" if spec.dataset is None else "dataset"
            if isinstance(error, errors.ShapeError):
                error.line = self.benchmark.line_of(source, *error.key)
            elif error.file is None and error.line is None:
                error.line = self.benchmark.line_of(source)
            raise
        if spec.sample is not None:
            table = self._sampled(table, spec.sample)
        if spec.reference is not None:
            from pytest_evalmetrics.pipeline import pinned_reference  # noqa: PLC0415 - rare

            def score(pinned: Benchmark) -> RolloutTable:
                scored = self._scoring_of(pinned).run(plan)
                self._notes.extend(f"the reference: {note}" for note in scored.notes)
                return scored.table

            table = pinned_reference.with_reference(self.benchmark, table, spec.reference, score)
        return table

    def _load(self, plan: metrics.Plan) -> RolloutTable:
        spec, table = self.benchmark.spec, self.table
        if table is None and self._scoring is not None:
            hooked = self.hooks.compute_metrics is not None
            scored = self._scored = self._scoring.run(plan, hooked=hooked)
            self.benchmark = self._scoring.benchmark  # what is left out changes what is expected
            self._notes.extend((*scored.notes, *scored.judged.notes))
            self._checks.extend((*scored.judged.gates, *scored.checks))
            return scored.table
        if table is None:
            table = rollouts.load(
                spec.rows,
                self.benchmark.file.parent,
                scores=plan.scores,
                categories=plan.categories,
                reader=None if self.engine is None else self.engine.read,
            )
        if not isinstance(spec.num_samples, Rounds):
            return table
        from pytest_evalmetrics.pipeline.task_sample import first_rollouts  # noqa: PLC0415 - rare

        return table.where(first_rollouts(table, spec.num_samples))

    def _sampled(self, table: RolloutTable, sample: SampleSpec) -> RolloutTable:
        """Draw the tasks that ``sample:`` asks for, unless rows were drawn before scoring."""
        from pytest_evalmetrics.pipeline.task_sample import draw  # noqa: PLC0415 - rare

        spec = self.benchmark.spec
        self._whole = table if self._scored is None else self._scored.whole or table
        if self._scored is None:
            table, note = draw(table, sample)
            self._notes.append(note)
        total, expected = len(self._whole.tasks), spec.expect.tasks
        if expected is not None and not expected.allows(total):
            raise errors.DataError(
                f"there are {many(total, 'task')} to sample from, expected {expected}",
                line=self.benchmark.line_of("expect", "tasks"),
                hint="complete the rows; or, if the change is intended, say so in expect: tasks",
            )
        drawn = min(sample.tasks, total)
        expect = replace(spec.expect, tasks=Count(min=drawn, max=drawn))
        self.benchmark = replace(self.benchmark, spec=replace(spec, expect=expect))
        return table

    def _fingerprint(self, plan: metrics.Plan, table: RolloutTable) -> None:
        scoring, spec = self._scoring, self.benchmark.spec
        made, hide = ((), str) if scoring is None else (scoring.made, scoring.hide)
        self._ruler = ruler.ruler_of(
            self.benchmark, plan, made, table.ruler, hook=self.hooks.source, hide=hide
        )
        self._under_test = ruler.under_test_of(spec, hide=hide)
        settings = settings_of(self.benchmark)
        if self.updates and scoring is not None and settings.rescore:
            self._kept = scoring.kept(table)
        elif self.updates and settings.answers and settings.committed and self.table is None:
            from pytest_evalmetrics.pipeline import answers  # noqa: PLC0415 - only where asked for

            folder = self.benchmark.file.parent
            rows = answers.recorded_rows(spec.rows, base=folder, table=table)
            rows = rows if scoring is None else scoring.as_scored()
            scores = None if self._scored is None else self._scored.rows
            self._kept = answers.keep(rows, table, hide, scores)

    def _reference(self, plan: metrics.Plan) -> Reference | None:
        """Find what to compare with; an error in it leaves the rest to be judged."""
        settings, check = settings_of(self.benchmark), partial(Check, "baseline", "baseline")
        report = settings.report
        if self.first_run and report and not (self.benchmark.file.parent / report).exists():
            reason = f"there is no {report} to compare with: this is the first run"
            line = self.benchmark.line_of("baseline", "report")
            self._checks.append(check(Verdict.WARN, reason=reason, line=line))
            return None
        try:
            where: dict[str, Any] = {"label": self.item_id, "history": self.history}
            reference = regressions.reference_of(
                self.benchmark, plan, self.snapshot, engine=self.engine, **where
            )
        except errors.EvalMetricsError as error:
            if not self.updates or settings.of_history:  # a broken one is replaced, but no history
                self._fail(error)
            return None
        if reference is not None:
            self._notes.extend(() if self.updates else reference.notes)
        elif not self.updates:
            old = self.renamed_from()
            guess = f": was it renamed from {old}?" if old else ""
            hint = "record one with `pytest --snapshot-update` and commit it"
            hint += f"; or name it {old} as before, whose baseline is unused" if old else ""
            if settings.of_history:
                named = f" {settings.history}" if isinstance(settings.history, str) else ""
                guess = f": the history{named} holds no run of this benchmark that counts, "
                guess += "with its tasks"
                hint = "start with it: `pytest --snapshot-update --evalmetrics-history FILE`"
            reason = f"there is no baseline yet to compare with{guess}"
            line = self.benchmark.line_of("baseline")
            self._checks.append(check(Verdict.INCONCLUSIVE, reason=reason, hint=hint, line=line))
        return reference

    def _start_judging(self, plan: metrics.Plan, reference: Reference) -> Judging:
        judging = Judging(self.benchmark, plan, reference, self.benchmarks, look=self.look)
        if self._whole is not None and not self.updates:  # which must not drop tasks
            judging.whole = dict(self._whole.by_agent())
        if self._single is not None:
            judging.quarantined = frozenset(map(str, self._single.quarantined))
        recorded = reference.provenance
        if self.updates or reference.anchors is not None:
            return judging
        if "ruler" in recorded:
            self._hold_rulers(judging, ruler.ruler_changes(recorded["ruler"], self._ruler))
        elif recorded:
            self._notes.append(
                f"{reference.origin} holds no fingerprint of what measures: another scorer, judge "
                f"or prompt goes unseen until you {reference.renew}"
            )
        if text := ruler.changes_of(recorded.get("under_test", {}), self._under_test):
            self._changes.append(f"under test: {text}")
        self._changes += _changed_gates(self._gates, recorded.get("gates", {}), reference)
        return judging

    def _hold_rulers(self, judging: Judging, changes: tuple[ruler.RulerChange, ...]) -> None:
        """Set what of a changed ruler stands in the way: rows that were kept are scored anew."""
        judging.ruler_changes = changes
        if not changes or not settings_of(self.benchmark).rescore:
            return
        reference = judging.reference
        if any(change.by_scorer for change in changes):
            rows = reference.provenance.get("rows")
            if self._scoring is None or rows is None:
                return
            try:
                tables, notes = self._scoring.rescored(self.kept_rows(), rows, reference.tables)
            except errors.BaselineError as error:
                self._fail(error)
                return
            judging.reference = msgspec.structs.replace(reference, tables=tables)
            self._notes += notes
        judging.ruler_changes = tuple(change for change in changes if change.by_tool)
        judging.settled = tuple(change for change in changes if not change.by_tool)
        if judging.settled:
            text = "; ".join(change.text for change in judging.settled)
            self._changes.append(f"the ruler, by which both sides are measured now: {text}")

    def _one_agent(self, plan: metrics.Plan, agent: str, shown: str, table: RolloutTable) -> None:
        completeness = gates.check_completeness(self.benchmark, shown, table)
        self._checks.extend(map(self._with_cause, completeness.checks))
        self._notes.extend(completeness.notes)
        compute, choose = self.hooks.compute_metrics, self.hooks.key_metrics
        reduce = partial(
            metrics.reduce_agent,
            plan,
            agent,
            compute_metrics=None if compute is None else lambda tasks: compute(agent, tasks),
            key_metrics=None if choose is None else lambda estimates: choose(agent, estimates),
            notes=self._notes,
        )
        result = reduce(table, expected=completeness.expected)
        if self._labels is not None:
            result = self._labels.corrected(result, table, shown)[0]
        gated = self.benchmark.spec.gated
        # the reward first; the order in a table is the one in which rows happen to name them
        columns = sorted(plan.columns(gated, table), key=lambda n: (n != plan.spec.reward, n))
        self._recorded[agent] = baselines.agent_document(result, table, columns, gated=gated)
        self._agents.append(self._with_summaries(result, table))
        if self._single is not None:
            self._checks.extend(self._single.checks(self.benchmark, shown, table))
            quarantined = self._single.quarantined
            left = np.array([task not in quarantined for task in table.tasks], dtype=bool)
            if not left.any():
                raise errors.DataError(
                    "every task is in quarantine: nothing is left to gate",
                    line=self.benchmark.line_of("quarantine"),
                    hint="take one of them out, or skip the benchmark",
                )
            gated_tasks = table if left.all() else table.where(left[table.task])
            if gated_tasks is not table:
                completeness = gates.check_completeness(self.benchmark, shown, gated_tasks)
                whole, table = result, gated_tasks
                result = reduce(table, expected=completeness.expected)
                # a hook's numbers are of all tasks, in the baseline too
                hooked = {n: e for n, e in whole.estimates.items() if e.by_hook}
                result = replace(result, estimates={**result.estimates, **hooked})
        if self._labels is not None:
            _, checks, note = self._labels.corrected(result, table, shown)
            self._checks += checks
            self._notes.append(note)
        of_agent = self.benchmark, shown, result
        self._checks += map(self._with_cause, gates.check_numbers(*of_agent))
        self._notes += gates.few_numbers(*of_agent)
        self._notes += gates.unreached_threshold(self.benchmark, shown, table)
        intervals = metrics.threshold_intervals(plan, table)
        self._checks += gates.check_thresholds(*of_agent, intervals, self.look)
        if self._judging is not None:
            self._judging.add(result, table, agent=shown, expected=completeness.expected)
        self._tables[agent], self._expected[agent] = table, completeness.expected

    def _with_cause(self, check: Check) -> Check:
        """Let a check of what is missing begin with the cause."""
        what, _, score = check.name.partition("/")
        cause = failed_row_cause(self._failed_rows, score or self.benchmark.spec.reward)
        if what != "missing" or not check.verdict.fails or not cause:
            return check
        return replace(check, reason=f"{cause}; {check.reason}")

    def _compare(self, judging: Judging) -> None:
        """Judge all agents at once: p values are adjusted across all that a benchmark gates."""
        if self.updates:
            self._checks.extend(map(gates.accepted, judging.checks()))
            return
        self._notes.extend(dict.fromkeys(judging.notes))
        keep = "; record it with `pytest --snapshot-update`" if judging.settings.committed else ""
        for check in judging.checks():
            self._checks.append(check)
            if check.evidence.get("improved"):
                before, now = (check.evidence[side] for side in ("baseline", "current"))
                name = f"{check.agent}: {check.name}" if check.agent else check.name
                change = f"went from {before:.4g} to {now:.4g}"
                self._notes.append(f"better than the baseline: {name} {change}{keep}")
        self._changes += judging.changes

    def _with_summaries(self, result: AgentResult, table: RolloutTable) -> AgentResult:
        if self._scored is None or self._scoring is None:
            return result
        from pytest_evalmetrics.scorers import summarise_all  # noqa: PLC0415 - loaded by now

        names, about = self._scored.rows.names, self._scoring.about
        scores = summarise_all(names, table.scores, about)
        for score in scores:
            if (agreed := score.agreement) and about[score.name].judges[0] == f"{score.name}@1":
                alpha = agreed.reason if agreed.alpha is None else f"alpha {agreed.alpha:.3g}"
                self._notes.append(
                    f"{score.name}: the judge agrees with itself by Krippendorff's {alpha}, over "
                    f"{agreed.judges} answers to each of {agreed.rows} rows"
                )
        return replace(result, scores=scores)

    # -- what it leaves ----------------------------------------------------------------------

    @property
    def _failed_rows(self) -> tuple[ScorerFailures, ...]:
        return () if self._scored is None else self._scored.failures

    @collector_paused()
    def _picture(self, agent: str) -> Mapping[str, Any]:
        table, judging = self._tables[agent], self._judging
        pairing = None if judging is None else judging.pairings.get(agent)
        return picture_of(
            table,
            reward=self.benchmark.spec.reward,
            lower=frozenset(name for name in table.scores if self._less_is_better(name)),
            compared=None if pairing is None else (pairing.baseline, pairing.at),
            rows=None if self._scored is None else self._scored.rows,
            chosen=None if self._scored is None else self._scored.files_rows,
            against="" if pairing is None or judging is None else judging.reference.origin,
        )

    def _drift(self, result: BenchmarkResult) -> Iterator[Check]:
        """Fail where a metric drifts over the history, this run included."""
        from pytest_evalmetrics.history import read_history, run_of  # noqa: PLC0415 - rare
        from pytest_evalmetrics.run_folder import origin_of  # noqa: PLC0415 - rare
        from pytest_evalmetrics.stats.drift import drift_warnings  # noqa: PLC0415 - rare

        check = partial(Check, "drift", "drift", line=self.benchmark.line_of("baseline", "drift"))
        if self.history is None:
            hint = "name it: --evalmetrics-history FILE, or the setting evalmetrics_history"
            reason = "drift: fail needs a history, and none is named"
            yield check(Verdict.INCONCLUSIVE, reason=reason, hint=hint)
            return
        agents = tuple(replace(agent, aggregate={}) for agent in result.agents)
        entry = msgspec.to_builtins(replace(result, agents=agents))
        entry["verdict"] = str(result.verdict)
        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        origin = origin_of(os.environ, self.benchmark.file.parent)
        run = run_of(entry, origin, time, starts=False)
        try:
            earlier = read_history(self.history, self.history.name).runs.get(result.id, ())
        except errors.EvalMetricsError as error:
            yield check(Verdict.INCONCLUSIVE, reason=error.message, hint=error.hint or "")
            return
        usable = [each for each in (*earlier, run) if each["usable"]]
        for text in drift_warnings(entry, usable) if run["usable"] else ():
            hint = "find what changed in that range; or accept it with `pytest --snapshot-update`"
            yield check(Verdict.FAIL, reason=text, hint=hint)

    def _flips(self, judging: Judging) -> Iterator[Flip]:
        from pytest_evalmetrics.pipeline import answers  # noqa: PLC0415 - only where one is red

        spec, folder, settings = self.benchmark.spec, self.benchmark.file.parent, judging.settings
        for agent, pairing in judging.pairings.items():
            table, baseline = self._tables[agent], pairing.baseline
            if self._scoring is None and self.table is not None:
                return
            again = partial(answers.recorded_rows, base=folder, most=_READ_AGAIN)
            rows: Any = partial(again, spec.rows, table=table)
            if self._scoring is not None:
                rows = self._scoring.as_scored
            scores = None if self._scored is None else self._scored.rows
            now = answers.AnswerSide(table, rows=rows, scores=scores)
            kept = self.kept_rows() if settings.committed else None
            was = answers.AnswerSide(baseline, kept=kept)
            if settings.rollouts is not None and not settings.rollouts.runs:
                rows = partial(again, settings.rollouts, table=baseline)
                was = answers.AnswerSide(baseline, rows=rows)
            lower = self._less_is_better(spec.reward)
            hide = str if self._scoring is None else self._scoring.hide
            yield from answers.flips_of(
                agent, now, was, pairing.at, spec.reward, lower=lower, hide=hide
            )

    def _less_is_better(self, score: str) -> bool:
        names = [f"mean/{score}"]
        if score == self.benchmark.spec.reward:  # which metrics without a score reduce
            names = [n for n in self.benchmark.spec.gated if "/" not in n] or names
        return rule_of(self.benchmark, names[0], bounded=False).direction == "lower"

    def _fail(self, error: errors.EvalMetricsError) -> None:
        check = partial(Check, "data", "evaluation", Verdict.INCONCLUSIVE)
        if isinstance(error, errors.ConfigError):
            hint = "fix it and run again: nothing was asked, and nothing paid for"
            self._checks += [
                check(reason=f"{p.path}: {p.message}", hint=hint, line=p.line)
                for p in error.problems
            ]
            return
        reason = f"{error.where}: {error.message}" if error.file else error.message
        line = None if error.file else self.benchmark.line_about(error.message, error.line)
        self._checks.append(check(reason=reason, hint=error.hint or "", line=line))

    def _document(self) -> baselines.BaselineDocument | None:
        """Describe the run as a baseline; None where a number may be missing or wrong."""
        broken = any(c.gate in ("data", "expect") and c.verdict.fails for c in self._checks)
        if broken or not self._recorded or (self._scored is not None and self._scored.partial):
            return None
        return baselines.document(
            self.benchmark.spec.name,
            self._recorded,
            {
                "tasks": sum(a.tasks for a in self._agents),
                "rollouts": sum(a.rollouts for a in self._agents),
                "files": list(self._sources),
                "gates": self._gates,
                **({} if self._kept is None else {"rows": self._kept.provenance}),
                **({"under_test": self._under_test} if self._under_test else {}),
                "ruler": self._ruler,
            },
        )

    def _result(self) -> BenchmarkResult:
        spec, scored = self.benchmark.spec, self._scored
        return BenchmarkResult(
            id=self.item_id,
            name=spec.name,
            description=spec.description,
            file=self.file or self.item_id.rpartition("::")[0],
            line=self.benchmark.line_of(),
            agents=tuple(self._agents),
            checks=tuple(self._checks),
            notes=tuple(self._notes),
            changes=tuple(self._changes),
            ruler=self._ruler,
            sources=self._sources,
            xfail=spec.xfail is not None,
            failed_rows=self._failed_rows,
            partial=scored is not None and scored.partial,
            judges=() if scored is None else scored.judged.uses,
            judge_checks=() if scored is None else scored.judged.checks,
        )


def _nothing_gated(benchmark: Benchmark) -> str:
    metric = benchmark.spec.metrics[0]
    if benchmark.in_python:
        how = f'give thresholds= or baseline=, such as thresholds={{"{metric}": ">= 0.9"}}'
    else:
        how = f"add `thresholds:` or `baseline:` below line {benchmark.line_of()}, such as "
        how += f'`thresholds: {{{metric}: ">= 0.9"}}`'
    return f"nothing is gated: {how}"


def _changed_gates(
    now: Mapping[str, Any], before: Mapping[str, Any], reference: Reference
) -> Iterator[str]:
    if not before:
        return
    old, new = before.get("thresholds", {}), now["thresholds"]
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            was, is_ = old.get(name, "none"), new.get(name, "none")
            yield f"threshold {name} was {was}, and is {is_} now"
    for name in before.get("metrics", ()):
        if name not in now["metrics"]:
            values = [of[name] for of in reference.values.values() if name in of]
            was = f" (it was {', '.join(f'{value:.4g}' for value in values)})" if values else ""
            yield f"metric {name} is in {reference.where}, and is no longer gated{was}"
