"""One benchmark: its rollouts are loaded, scored, reduced and gated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from math import isnan
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from pytest_evalmetrics import baselines, errors, gates, metrics
from pytest_evalmetrics.config.declarations import with_directions
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    Provenance,
)
from pytest_evalmetrics.model.results import (
    AgentResult,
    BenchmarkResult,
    Check,
    Flip,
    Verdict,
)
from pytest_evalmetrics.model.rollout_table import STATED_ERROR, RolloutTable, RowScores
from pytest_evalmetrics.pipeline import regressions, ruler
from pytest_evalmetrics.pipeline.preflight import direction_problems
from pytest_evalmetrics.reports.html.picture import picture_of
from pytest_evalmetrics.reports.wording import failed_row_cause
from pytest_evalmetrics.spec import Benchmark, Count
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import Rounds, SampleSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.baselines.store import Store
    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.pipeline.judges import Labels
    from pytest_evalmetrics.pipeline.scoring import Scored, Scoring
    from pytest_evalmetrics.transport import Budget


class Evaluated(msgspec.Struct, frozen=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult
    # by agent: the scores of each rollout that gated metrics rest on, and the tasks' content
    documents: Mapping[str, AgentDocument]
    baseline: BaselineDocument | None  # None if a number may be missing or wrong
    row_scores: RowScores | None = None  # of each row; None without scorers
    kept_rows: bytes | None = (
        None  # the baseline's rows, compressed; None if it keeps none
    )
    # by agent: its tasks before and after, for the page; none of a benchmark that passes and is
    # not shown in detail
    pictures: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)


@dataclass(kw_only=True)
class Evaluation:
    """One pass over one benchmark; what was computed so far outlives an error."""

    benchmark: Benchmark = field(kw_only=False)
    item_id: str  # the result's id: that of the pytest item
    file: str | None = None  # the file for messages; default the beginning of `item_id`
    # the user's hooks with `benchmark` bound; None without implementations
    compute_metrics: Callable[..., Any] | None = None
    hook_source: str = ""  # the hash of the hooks that compute metrics
    key_metrics: Callable[..., Any] | None = None
    store: Store | None = None  # the committed baseline
    updates: bool = (
        False  # this run records a new baseline: the old one is shown, not asserted
    )
    first_run: bool = False  # a missing report to compare with is no fault
    runtime: Any = None  # of the run, for a scored benchmark: see `Scoring`
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    history: Path | None = None  # of earlier runs, where the run keeps one
    engine: Engine | None = (
        None  # where rollouts are read and rows are scored, if not here
    )
    detailed: bool = True  # its tasks are pictured even if it passes
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    look: Look | None = None  # at a run that may stop early
    budget: Budget | None = None  # of the benchmark, that its rounds share

    def __post_init__(self) -> None:
        self._checks: list[Check] = []
        self._notes: list[str] = []
        self._changes: list[str] = []
        self._agents: list[AgentResult] = []
        self._recorded: dict[str, AgentDocument] = {}
        self._gated: dict[
            str, regressions.AgentRun
        ] = {}  # without the tasks in quarantine
        self._provenance: dict[
            str, Any
        ] = {}  # of the baseline that this run would leave
        self._ruler: dict[str, dict[str, Any]] = {}
        self._sources: tuple[dict[str, Any], ...] = ()
        self._scoring: Scoring | None = None
        self._scored: Scored | None = None
        self._kept: bytes | None = None  # the rows that the baseline keeps
        self._labels: Labels | None = None
        self._single: gates.SingleTasks | None = None
        self._quarantined: frozenset[str] = frozenset()  # ids of tasks
        self._comparison: regressions.BaselineComparison | None = None
        self._frame: RolloutTable | None = None  # the sampling frame: all tasks

    def run(self) -> Evaluated:
        """Evaluate it; what can't be read or reduced is an INCONCLUSIVE check with its reason."""
        spec = self.benchmark.spec
        self._provenance[
            "gates"
        ] = {  # scoring takes the thresholds of judges out of the spec
            "metrics": list(spec.gated),
            "thresholds": {name: t.described for name, t in spec.thresholds.items()},
        }
        try:
            self._evaluate()
        except errors.EvalMetricsError as error:
            self._fail(error)
        scored = self._scored
        if (
            scored is not None and scored.stopped
        ):  # a part of the rollouts fails nothing
            self._checks = [
                structs.replace(c, verdict=Verdict.INCONCLUSIVE)
                if c.verdict is Verdict.FAIL
                else c
                for c in self._checks
            ]
        result = self._result()
        if regressions.settings_of(self.benchmark).drift == "fail" and not self.updates:
            self._checks += regressions.drift_checks(
                self.benchmark, result, self.history
            )
            result = structs.replace(result, checks=tuple(self._checks))
        if (
            result.verdict is not Verdict.PASS
            and self._comparison is not None
            and not self.updates
        ):
            result = structs.replace(result, flips=tuple(self._flips(self._comparison)))
        pictured = (
            self._gated if self.detailed or result.verdict is not Verdict.PASS else ()
        )
        return Evaluated(
            result,
            self._recorded,
            self._document(),
            None if scored is None else scored.rows,
            self._kept,
            {agent: self._picture(agent) for agent in pictured},
        )

    def _evaluate(self) -> None:
        plan, table = self._loaded()
        spec = self.benchmark.spec
        self._sources = tuple(
            {"path": s.path, "rows": s.rows, "size": s.size} for s in table.sources
        )
        self._notes.extend(table.notes)
        if spec.must_pass or spec.quarantine:
            today = datetime.now().astimezone().date()
            self._single = gates.SingleTasks.of(
                self.benchmark, (self._frame or table).tasks, today
            )
            self._checks.extend(self._single.unknown)
            self._quarantined = frozenset(map(str, self._single.quarantined))
        if spec.baseline is not None:
            self._fingerprint(plan, table)
            reference = self._reference(plan)
            if reference is not None:
                self._begin_comparison(reference, plan)
        try:
            for agent, part in table.by_agent():
                self._gate(plan, agent, agent if len(table.agents) > 1 else "", part)
        finally:  # show the comparisons made before an error
            if self._comparison is not None:
                self._compare(self._comparison, table)
        if (
            self.updates
            and spec.baseline
            and spec.baseline.committed
            and self._document()
        ):
            runs = [*self._gated.values()]
            self._checks.extend(regressions.unpassable(self.benchmark, plan, runs))
        self._notes.extend(gates.blind_thresholds(self.benchmark))
        if not self._provenance["gates"]["thresholds"] and not spec.baseline:
            metric, line = spec.metrics[0], self.benchmark.line_of()
            how = f"add `thresholds:` or `baseline:` below line {line}, such as `thresholds: "
            how += f'{{{metric}: ">= 0.9"}}`'
            if self.benchmark.in_python:
                how = f'give thresholds= or baseline=, such as thresholds={{"{metric}": ">= 0.9"}}'
            self._notes.append(f"nothing is gated: {how}")

    # -- load and score ----------------------------------------------------------------------

    def _loaded(self) -> tuple[metrics.Plan, RolloutTable]:
        """Plan the metrics, and load the scores of the tasks to evaluate."""
        spec = self.benchmark.spec
        if spec.labels is not None or spec.reference is not None:
            from pytest_evalmetrics.pipeline import judges  # rare
        if spec.labels is not None:
            self._labels = judges.human_labels(self.benchmark, spec.labels)
        if spec.runs:
            self._scoring = self._scoring_of(self.benchmark)
            self.benchmark = self._scoring.benchmark
        plan = regressions.plan_of(self.benchmark)
        table = self._rows(plan)
        if spec.sample is not None:
            table = self._sampled(table, spec.sample)
        if spec.reference is not None:

            def score(pinned: Benchmark) -> RolloutTable:
                scored = self._scoring_of(pinned).run(plan)
                self._notes.extend(f"the reference: {note}" for note in scored.notes)
                return scored.table

            table = judges.with_reference(self.benchmark, table, spec.reference, score)
        if any(name.startswith(STATED_ERROR) for name in table.scores):
            self._leave_out_metrics_of_rollouts()
            plan = regressions.plan_of(self.benchmark)
        if problems := tuple(direction_problems(self.benchmark, plan, table)):
            raise errors.ConfigError(self.item_id.partition("::")[0], problems)
        self.benchmark = self.benchmark.with_spec(
            with_directions(self.benchmark.spec, plan.facts_of, table.directions)
        )
        return plan, table

    def _scoring_of(self, benchmark: Benchmark) -> Scoring:
        from pytest_evalmetrics.pipeline.scoring import Scoring  # loads asyncio

        return Scoring(benchmark, self.runtime, self.item_id, self.engine, self.budget)

    def _rows(self, plan: metrics.Plan) -> RolloutTable:
        spec, table = self.benchmark.spec, self.table
        try:
            if table is None and self._scoring is not None:
                hooked = self.compute_metrics is not None
                scored = self._scored = self._scoring.run(plan, hooked=hooked)
                self.benchmark = self._scoring.benchmark  # without dropped rollouts
                self._notes.extend(scored.notes)
                self._checks.extend(scored.checks)
                return scored.table
            if table is None:
                table = regressions.rollouts_of(
                    self.benchmark, plan, engine=self.engine
                )
            if isinstance(spec.num_samples, Rounds):
                from pytest_evalmetrics.pipeline.benchmark_rows import (
                    first_rollouts,  # rare
                )

                table = table.where(first_rollouts(table, spec.num_samples))
        except errors.DataError as error:
            source = "rollouts" if spec.dataset is None else "dataset"
            if isinstance(error, errors.ShapeError):
                error.line = self.benchmark.line_of(source, *error.key)
            elif error.file is None and error.line is None:
                error.line = self.benchmark.line_of(source)
            raise
        return table

    def _sampled(self, table: RolloutTable, sample: SampleSpec) -> RolloutTable:
        """Draw the tasks of ``sample:``, unless they were drawn before scoring."""
        from pytest_evalmetrics.pipeline.benchmark_rows import draw  # rare

        spec = self.benchmark.spec
        self._frame = (
            table if self._scored is None else self._scored.chosen.frame or table
        )
        if self._scored is None:
            table, note = draw(table, sample)
            self._notes.append(note)
        total, expected = len(self._frame.tasks), spec.expect.tasks
        if expected is not None and not expected.allows(total):
            message = (
                f"there are {many(total, 'task')} to sample from, expected {expected}"
            )
            hint = "complete the rows; or, if the change is intended, say so in expect: tasks"
            line = self.benchmark.line_of("expect", "tasks")
            raise errors.DataError(message, line=line, hint=hint)
        drawn = min(sample.tasks, total)
        expect = replace(spec.expect, tasks=Count(min=drawn, max=drawn))
        self.benchmark = self.benchmark.but(expect=expect)
        return table

    def _leave_out_metrics_of_rollouts(self) -> None:
        """Take metrics that need rollouts from a spec of aggregates; a gated one is a fault."""
        spec = self.benchmark.spec
        listed = {*spec.metrics, *spec.gated, *spec.thresholds}
        others = {m for m in listed if parse(m).metric not in ("mean_reward", "mean")}
        means = [m for m in spec.metrics if m not in others]
        lost = (
            others
            if not means or spec.key_metrics
            else others.intersection(spec.thresholds)
        )
        if lost:
            message = f"{min(lost)} is of rollouts, and these are aggregates: only a mean can be "
            line = self.benchmark.line_of(
                "thresholds" if spec.thresholds else "metrics"
            )
            hint = (
                "gate mean_reward, or keep samples (--log_samples) and name their files"
            )
            raise errors.DataError(message + "gated", line=line, hint=hint)
        if others:
            names = ", ".join(sorted(others))
            self._notes.append(f"left out, because there are no rollouts: {names}")
        self.benchmark = self.benchmark.but(metrics=spec.listing(means))

    # -- the baseline ------------------------------------------------------------------------

    def _fingerprint(self, plan: metrics.Plan, table: RolloutTable) -> None:
        """Fingerprint the ruler and the system under test; collect the rows of the baseline."""
        scoring, spec = self._scoring, self.benchmark.spec
        bound, hide = ((), str) if scoring is None else (scoring.scorers, scoring.hide)
        self._ruler = ruler.ruler_of(
            spec, plan, bound, table.ruler, hook=self.hook_source, hide=hide
        )
        settings = regressions.settings_of(self.benchmark)
        rescores = settings.rescore and scoring is not None
        shows = settings.answers and settings.committed and self.table is None
        if self.updates and (rescores or shows):
            from pytest_evalmetrics.pipeline import benchmark_rows  # only if asked for

            folder = self.benchmark.file.parent
            rows = benchmark_rows.recorded_rows(spec.rows, base=folder, table=table)
            rows = rows if scoring is None else scoring.as_scored()
            scores = None if self._scored is None else self._scored.rows
            rows = rows if rescores else benchmark_rows.texts_alone(rows, scores, hide)
            self._kept, self._provenance["rows"] = benchmark_rows.keep(rows, table)
        if under_test := ruler.under_test_of(self.benchmark, hide):
            self._provenance["under_test"] = under_test

    def _reference(self, plan: metrics.Plan) -> regressions.Reference | None:
        settings = regressions.settings_of(self.benchmark)
        line, report = self.benchmark.line_of("baseline"), settings.report
        check = partial(Check, "baseline", "baseline", line=line)
        if (
            self.first_run
            and report
            and not (self.benchmark.file.parent / report).exists()
        ):
            reason = f"there is no {report} to compare with: this is the first run"
            line = self.benchmark.line_of("baseline", "report")
            self._checks.append(check(Verdict.WARN, reason=reason, line=line))
            return None
        snapshot = None if self.store is None else self.store.read
        reading: Any = {
            "label": self.item_id,
            "history": self.history,
            "engine": self.engine,
        }
        try:
            reference = regressions.reference_of(
                self.benchmark, plan, snapshot, **reading
            )
        except errors.EvalMetricsError as error:
            if (
                not self.updates or settings.of_history
            ):  # a broken one is replaced, but no history
                self._fail(error)
            return None
        if reference is None and not self.updates:
            guess, hint = "", "record one with `pytest --snapshot-update` and commit it"
            if settings.of_history:
                named = (
                    f" {settings.history}" if isinstance(settings.history, str) else ""
                )
                guess = (
                    f": the history{named} holds no run of this benchmark that counts, "
                )
                guess += "with its tasks"
                hint = f"start with it: {regressions.START}"
            elif self.store is not None and (old := self.store.renamed_from()):
                guess = f": was it renamed from {old}?"
                hint += f"; or name it {old} as before, whose baseline is unused"
            reason = f"there is no baseline yet to compare with{guess}"
            self._checks.append(check(Verdict.INCONCLUSIVE, reason=reason, hint=hint))
        return reference

    def _begin_comparison(
        self, reference: regressions.Reference, plan: metrics.Plan
    ) -> None:
        """Prepare the comparison; note what differs beside the numbers."""
        terms = self.benchmarks, self.look, self._quarantined
        comparison = regressions.BaselineComparison(
            self.benchmark, plan, reference, *terms
        )
        self._comparison, recorded = comparison, reference.provenance
        if not self.updates:
            self._notes.extend(reference.notes)
            if self._frame is not None:  # a sample must not drop tasks
                comparison.frames = dict(self._frame.by_agent())
        if self.updates:
            return
        hide: Callable[[str], str] = (
            str if self._scoring is None else self._scoring.hide
        )
        stated = ruler.stated_by(self._ruler, chain(*reference.runs.values()), hide)
        recorded = {**recorded, **stated}
        if "ruler" in recorded:
            comparison.ruler_changes = ruler.ruler_changes(
                recorded["ruler"], self._ruler
            )
            if regressions.settings_of(self.benchmark).rescore:
                self._rescore(comparison)
        elif recorded or any(entry.get("scores") for entry in self._ruler.values()):
            note = f"{reference.where} holds no fingerprint of what measures: another scorer, "
            note += f"judge or prompt goes unseen until you {reference.renew}"
            self._notes.append(note)
        now = self._provenance
        sides = recorded.get("under_test", {}), now.get("under_test", {})
        self._changes += ruler.under_test_changes(*sides)
        self._notes += ruler.unannounced_changes(*sides)
        self._changes += ruler.changed_gates(
            recorded.get("gates", {}), now["gates"], reference
        )

    def _rescore(self, comparison: regressions.BaselineComparison) -> None:
        """Measure both sides by today's ruler: score the rows that the baseline keeps anew."""
        changes, reference = comparison.ruler_changes, comparison.reference
        if any(change.by_scorer for change in changes):
            rows = reference.provenance.get("rows")
            if self._scoring is None or rows is None:
                return
            kept = None if self.store is None else self.store.read_rows()
            try:
                tables, notes = self._scoring.rescored(kept, rows, reference.tables)
            except errors.BaselineError as error:
                self._fail(error)
                return
            runs = {agent: [table] for agent, table in tables.items()}
            comparison.reference = structs.replace(reference, runs=runs)
            self._notes += notes
        comparison.ruler_changes = tuple(change for change in changes if change.by_tool)
        comparison.settled = tuple(change for change in changes if not change.by_tool)
        if comparison.settled:
            text = "; ".join(change.text for change in comparison.settled)
            self._changes.append(
                f"the ruler, by which both sides are measured now: {text}"
            )

    def _compare(
        self, comparison: regressions.BaselineComparison, table: RolloutTable
    ) -> None:
        """Judge all agents at once: p values are adjusted across all that a benchmark gates."""
        checks = comparison.checks(self._gated.values())
        if self.updates:
            self._checks.extend(map(gates.accepted, checks))
            return
        self._notes.extend(dict.fromkeys(comparison.notes))
        keep = (
            "; record it with `pytest --snapshot-update`"
            * comparison.settings.committed
        )
        self._checks += checks
        for check in checks:
            if check.evidence.get("improved"):
                before, now = (check.evidence[side] for side in ("baseline", "current"))
                name = f"{check.agent}: {check.name}" if check.agent else check.name
                change = f"went from {before:.4g} to {now:.4g}"
                self._notes.append(f"better than the baseline: {name} {change}{keep}")
        self._changes += comparison.changes
        if len(self._gated) == len(table.agents):
            self._notes += comparison.reference_notes(self._agents)
            self._checks.extend(comparison.missing_agents(table.agents))

    # -- reduce and gate ---------------------------------------------------------------------

    def _gate(
        self, plan: metrics.Plan, agent: str, shown: str, table: RolloutTable
    ) -> None:
        """Reduce and gate one agent's rollouts; `shown` is its name if there are several."""
        benchmark, gated, notes = self.benchmark, self.benchmark.spec.gated, list[str]()
        compute, choose = self.compute_metrics, self.key_metrics

        def reduced(part: RolloutTable, complete: gates.Completeness) -> AgentResult:
            notes.clear()
            result = metrics.reduce_agent(
                plan,
                agent,
                part,
                expected=complete.expected,
                compute_metrics=compute
                and (lambda tasks: compute(agent=agent, tasks=tasks)),
                key_metrics=choose
                and (lambda values: choose(agent=agent, agent_metrics=values)),
                notes=notes,
            )
            if self._labels is not None:
                from pytest_evalmetrics.pipeline.judges import with_corrected_mean

                result, note = with_corrected_mean(
                    result, part, benchmark.spec, self._labels
                )
                notes.append(f"{shown}: {note}" if shown else note)
            return result

        completeness = gates.Completeness(benchmark, shown, table)
        self._checks.extend(map(self._with_cause, completeness.checks()))
        self._notes.extend(completeness.notes())
        result = reduced(table, completeness)
        # the reward first; the order in a table is the one in which rows happen to name them
        columns = sorted(
            plan.columns(gated, table), key=lambda n: (n != plan.spec.reward, n)
        )
        self._recorded[agent] = baselines.agent_document(
            result, table, columns, gated=gated
        )
        # an undefined number is a check's reason, and has no place in the report's JSON
        defined = {n: e for n, e in result.estimates.items() if not isnan(e.value)}
        self._agents.append(
            self._with_summaries(structs.replace(result, estimates=defined), table)
        )
        if self._single is not None:
            self._checks.extend(self._single.checks(benchmark, shown, table))
            rest = regressions.without(table, self._quarantined)
            if not len(rest):
                message = "every task is in quarantine: nothing is left to gate"
                hint = "take one of them out, or skip the benchmark"
                line = benchmark.line_of("quarantine")
                raise errors.DataError(message, line=line, hint=hint)
            if rest is not table:
                table = rest
                completeness = gates.Completeness(benchmark, shown, table)
                # a hook's numbers are of all tasks, in the baseline too
                hooked = {n: e for n, e in result.estimates.items() if e.by_hook}
                result = reduced(table, completeness)
                result = structs.replace(
                    result, estimates={**result.estimates, **hooked}
                )
        self._checks += map(
            self._with_cause, gates.check_numbers(benchmark, shown, result)
        )
        self._notes += [*notes, *gates.few_numbers(benchmark, shown, result)]
        self._notes += gates.misplaced_threshold(benchmark, shown, table)
        self._notes += gates.unlabelled(benchmark, shown, table)
        intervals = metrics.threshold_intervals(plan, table)
        self._checks += gates.check_thresholds(
            benchmark, shown, result, intervals, self.look
        )
        self._gated[agent] = regressions.AgentRun(
            result, table, completeness.expected, shown
        )

    def _with_cause(self, check: Check) -> Check:
        """Prepend the cause to a check of missing scores."""
        what, _, score = check.name.partition("/")
        failures = () if self._scored is None else self._scored.failures
        cause = failed_row_cause(failures, score or self.benchmark.spec.reward)
        if what != "missing" or not check.verdict.fails or not cause:
            return check
        return structs.replace(check, reason=f"{cause}; {check.reason}")

    def _with_summaries(self, result: AgentResult, table: RolloutTable) -> AgentResult:
        if self._scored is None or self._scoring is None:
            return result
        from pytest_evalmetrics.scorers import summarise_all  # loaded by now

        about = self._scoring.about
        scores = tuple(summarise_all(self._scored.rows.names, table.scores, about))
        for score in scores:
            if (agreed := score.agreement) and about[score.name].judges[
                0
            ] == f"{score.name}@1":
                alpha = (
                    agreed.reason
                    if agreed.alpha is None
                    else f"alpha {agreed.alpha:.3g}"
                )
                over = f"over {agreed.judges} answers to each of {agreed.rows} rows"
                note = f"{score.name}: the judge agrees with itself by Krippendorff's {alpha}, "
                self._notes.append(note + over)
        return structs.replace(result, scores=scores)

    # -- what it leaves ----------------------------------------------------------------------

    @collector_paused()
    def _picture(self, agent: str) -> Mapping[str, Any]:
        table, comparison, scored = (
            self._gated[agent].table,
            self._comparison,
            self._scored,
        )
        pairing = None if comparison is None else comparison.pairings.get(agent)
        return picture_of(
            table,
            reward=self.benchmark.spec.reward,
            lower=frozenset(
                name for name in table.scores if self._less_is_better(name)
            ),
            compared=None if pairing is None else (pairing.baseline, pairing.at),
            rows=None if scored is None else scored.rows,
            chosen=None
            if scored is None
            else scored.chosen.rows.repeat(scored.chosen.samples),
            against=""
            if pairing is None or comparison is None
            else comparison.reference.origin,
        )

    def _flips(self, comparison: regressions.BaselineComparison) -> Iterator[Flip]:
        """Collect the questions and answers of the tasks that changed most."""
        from pytest_evalmetrics.pipeline import benchmark_rows  # if one is red

        if self._scoring is None and self.table is not None:
            return
        spec, scoring, settings = (
            self.benchmark.spec,
            self._scoring,
            comparison.settings,
        )
        lower, hide = (
            self._less_is_better(spec.reward),
            str if scoring is None else scoring.hide,
        )
        flips_of = partial(benchmark_rows.flips_of, lower=lower, hide=hide)
        again = partial(
            benchmark_rows.recorded_rows, base=self.benchmark.file.parent, most=2**30
        )
        for agent, pairing in comparison.pairings.items():
            table, then = self._gated[agent].table, pairing.baseline
            now = benchmark_rows.AnswerSide(
                table, partial(again, spec.rows, table=table)
            )
            if scoring is not None and self._scored is not None:
                now = benchmark_rows.AnswerSide(
                    table, scoring.as_scored, scores=self._scored.rows
                )
            was = benchmark_rows.AnswerSide(then)
            if settings.rollouts is not None and not settings.rollouts.runs:
                was = benchmark_rows.AnswerSide(
                    then, partial(again, settings.rollouts, table=then)
                )
            elif settings.committed and self.store is not None:
                was = benchmark_rows.AnswerSide(then, kept=self.store.read_rows())
            yield from flips_of(agent, now, was, pairing.at, spec.reward)

    def _less_is_better(self, score: str) -> bool:
        names = [f"mean/{score}"]
        if score == self.benchmark.spec.reward:  # the score of metrics that name none
            names = [n for n in self.benchmark.spec.gated if "/" not in n] or names
        return regressions.judged_direction(self.benchmark, names[0]) == "lower"

    def _fail(self, error: errors.EvalMetricsError) -> None:
        check = partial(Check, "data", "evaluation", Verdict.INCONCLUSIVE)
        if isinstance(error, errors.ConfigError):
            hint = "fix it and run again: nothing was asked, and nothing paid for"
            for p in error.problems:
                evidence = {"undeclared": p.undeclared} if p.undeclared else {}
                reason = f"{p.path}: {p.message}"
                self._checks.append(
                    check(reason=reason, hint=hint, line=p.line, evidence=evidence)
                )
            return
        reason = f"{error.where}: {error.message}" if error.file else error.message
        line = (
            None if error.file else self.benchmark.line_about(error.message, error.line)
        )
        self._checks.append(check(reason=reason, hint=error.hint or "", line=line))

    def _document(self) -> BaselineDocument | None:
        """Describe the run as a baseline; None if it is incomplete."""
        broken = any(
            c.gate in ("data", "expect") and c.verdict.fails for c in self._checks
        )
        partial_run = self._scored is not None and self._scored.chosen.partial
        if broken or partial_run or not self._recorded:
            return None
        provenance = Provenance(
            tasks=sum(a.tasks for a in self._agents),
            rollouts=sum(a.rollouts for a in self._agents),
            files=list(self._sources),
            **self._provenance,
            ruler=self._ruler,
        )
        return baselines.baseline_document(
            self.benchmark.spec.name, self._recorded, provenance
        )

    def _result(self) -> BenchmarkResult:
        spec, scored = self.benchmark.spec, self._scored
        result = BenchmarkResult(
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
        )
        if scored is None:
            return result
        failures, partial_run = scored.failures, scored.chosen.partial
        return structs.replace(
            result, failed_rows=failures, partial=partial_run, **scored.judges
        )
