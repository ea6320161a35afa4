"""One benchmark, from its rows to its verdict: load, score, reduce, compare, judge."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import structs

from pytest_evalmetrics import errors, gates
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.changes import MeasuredAnew
from pytest_evalmetrics.model.gate_notes import NothingGated
from pytest_evalmetrics.model.reasons import (
    Failed,
    FirstRun,
    InvalidKey,
    JudgeShift,
    NoBaseline,
    Reason,
)
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import (
    accepted_levels,
    anchors,
    comparing,
    judging,
    loading,
    measuring,
    outcome,
    run_changes,
)
from pytest_evalmetrics.pipeline.comparing import AgentComparison, ComparisonTerms
from pytest_evalmetrics.pipeline.drifting import drift_checks
from pytest_evalmetrics.pipeline.gate_settings import acceptance_of, settings_of
from pytest_evalmetrics.pipeline.measuring import AlikeMeasured, KeptRows, Measurement
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere, past_runs
from pytest_evalmetrics.pipeline.reducing import Hooks, Reduced, reduce_agents
from pytest_evalmetrics.pipeline.references import Reference, reference_of
from pytest_evalmetrics.pipeline.tiers import with_tiers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.comparison import RunScatter
    from pytest_evalmetrics.gates import SingleTasks
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
    from pytest_evalmetrics.model.baseline import AgentDocument, BaselineDocument
    from pytest_evalmetrics.model.behaviour import BehaviourFacts
    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.history import HistoryRun
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores
    from pytest_evalmetrics.model.separators import Separator
    from pytest_evalmetrics.pipeline.behaving import Observed
    from pytest_evalmetrics.pipeline.benchmark_rows import FlippedTask
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.pipeline.scoring import Runtime, Scored, Scoring
    from pytest_evalmetrics.reports.html.picture import Picture
    from pytest_evalmetrics.scoring.door import Budget, Engine
    from pytest_evalmetrics.spec import Benchmark


class BaselineReader(Protocol):
    """Reads the committed baseline of a benchmark."""

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and how its file is called; None without one."""

    def renamed_from(self) -> str:
        """Guess a benchmark's former name; empty if there is no guess."""

    def read_rows(self) -> bytes | None:
        """Return the rows that the baseline keeps, compressed; None if there are none."""


class EvaluationInput(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, and where the run finds what it needs."""

    benchmark: Benchmark
    item_id: str  # the result's id: that of the pytest item
    file: str | None = None  # for messages; default the beginning of `item_id`
    hooks: Hooks = Hooks()
    baseline: BaselineReader | None = None  # the committed one
    # this run records a new baseline: the old one is shown, not asserted
    updates: bool = False
    gains_runs: bool = False  # its baseline is of several runs, of which this is one
    first_run: bool = False  # a missing report to compare with is no fault
    runtime: Runtime | None = None  # of the run, for a scored benchmark
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    history: Path | None = None  # of earlier runs, where the run keeps one
    engine: Engine | None = None  # where rows are read and scored, if not here
    detailed: bool = True  # its tasks are pictured even if it passes
    benchmarks: int = 1  # of the run, that share the level of a false alarm
    # how runs of other benchmarks of the project scatter
    pooled: tuple[RunScatter, ...] = ()
    look: Look | None = None  # at a run that may stop early
    budget: Budget | None = None  # of the benchmark, that its rounds share
    # the tasks of which rollouts are drawn; None for all
    only_tasks: frozenset[str] | None = None
    # the project's policy requires it, whatever its file says
    is_required: bool = False
    # changes that a file of the repository accepts for this benchmark
    accepted: tuple[AcceptedLevel, ...] = ()


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's result, and the baseline that it would leave."""

    result: BenchmarkResult
    # by agent: the scores of each rollout that gated metrics rest on, and the tasks'
    # content
    documents: Mapping[str, AgentDocument] = {}
    # None if a number may be missing or wrong
    baseline: BaselineDocument | None = None
    row_scores: RowScores | None = None  # of each row; None without scorers
    # when the baseline of the comparison was recorded, and why; empty if unknown
    recorded: str = ""
    reason: str = ""
    # the baseline's rows, compressed; None if it keeps none
    kept_rows: bytes | None = None
    # by agent: its tasks before and after, for the page; none of a benchmark that
    # passes and is not shown in detail
    pictures: Mapping[str, Picture] = {}


class Stages(msgspec.Struct, frozen=True, kw_only=True):
    """What the stages of an evaluation have come to."""

    given: EvaluationInput
    gates: dict[str, object]  # as the file writes them
    rows: Rows
    loaded: Loaded
    single: SingleTasks | None  # the tasks that the benchmark names
    measurement: Measurement | None  # None where nothing is compared
    kept: KeptRows | None  # the rows that a new baseline keeps
    reduced: Reduced
    compared: Compared
    observed: Observed | None = None  # None unless the benchmark asks for behaviour

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark as its rollouts allow."""
        return self.loaded.benchmark


class Compared(msgspec.Struct, frozen=True):
    """All agents beside the reference, or why there is none."""

    terms: ComparisonTerms | None = None
    agents: tuple[AgentComparison, ...] = ()
    checks: tuple[Check, ...] = ()  # of the reference
    notes: tuple[Note, ...] = ()
    # what measures otherwise and the like: what changed beside the numbers
    changes: tuple[RunChange, ...] = ()


def evaluate(given: EvaluationInput) -> Evaluated:
    """Evaluate a benchmark; what can't be read or reduced is an INCONCLUSIVE check.

    What was computed before an error stays.
    """
    return evaluate_stages(given)[0]


def evaluate_stages(
    given: EvaluationInput, rows: Rows | None = None
) -> tuple[Evaluated, Stages | None]:
    """Evaluate a benchmark, of such rows if they are scored; None for unreadable ones."""
    try:
        if rows is None:
            rows = score(given)
        loaded = loading.arrange(rows, _scoring_maker(given))
        loaded = loading.with_directions(loaded, given.item_id.partition("::")[0])
        measurement = measure(given, loaded, rows)
        kept = keep_rows(given, loaded, rows)
        observed = observe(loaded, rows)
    except errors.EvalMetricsError as error:
        return _unevaluated(given, rows, error), None
    single = name_tasks(loaded)
    reduced = reduce(given, loaded, rows, single)
    if observed is not None and given.updates:
        reduced = _with_behaviour(reduced, observed)
    stages = Stages(
        given=given,
        gates=measuring.gates_of(given.benchmark),
        rows=rows,
        loaded=loaded,
        single=single,
        measurement=measurement,
        kept=kept,
        reduced=reduced,
        compared=compare(
            given,
            loaded,
            rows,
            measurement=measurement,
            reduced=reduced,
            single=single,
        ),
        observed=observed,
    )
    checks = judge(stages)
    baseline_checks, baseline_notes = judge_new_baseline(stages, checks)
    checks = (*checks, *baseline_checks)
    behaviour, behaviour_checks = judge_behaviour(stages, checks)
    checks = (*checks, *behaviour_checks)
    notes = (*_notes(stages, checks, behaviour), *baseline_notes)
    return _finished(stages, checks, behaviour, notes), stages


# -- load and score --------------------------------------------------------------------------


def _scoring_maker(given: EvaluationInput) -> Callable[[Benchmark], Scoring]:
    """Return the function that makes a benchmark's scorers, ready to score."""

    def make(benchmark: Benchmark) -> Scoring:
        from pytest_evalmetrics.pipeline.scoring import Scoring  # loads asyncio

        return Scoring(
            benchmark,
            given.runtime,
            given.item_id,
            given.engine,
            given.budget,
            only_tasks=given.only_tasks,
        )

    return make


def score(given: EvaluationInput) -> Rows:
    """Read the rows, and score them where the benchmark has scorers."""
    prepared = loading.prepare(given.benchmark, _scoring_maker(given))
    return loading.read_rows(
        prepared,
        table=given.table,
        engine=given.engine,
        has_hooks=given.hooks.compute_metrics is not None,
    )


def name_tasks(loaded: Loaded) -> SingleTasks | None:
    """Find the tasks that the benchmark names; None if it names none."""
    spec = loaded.benchmark.spec
    if not (spec.must_pass or spec.quarantine):
        return None
    frame = loaded.table if loaded.frame is None else loaded.frame
    today = datetime.now().astimezone().date()
    return gates.single_tasks(spec, frame.tasks, today, loaded.benchmark.line_of)


# -- measure ---------------------------------------------------------------------------------


def measure(given: EvaluationInput, loaded: Loaded, rows: Rows) -> Measurement | None:
    """Fingerprint what measures the run; None if nothing is compared."""
    if loaded.benchmark.spec.baseline is None:
        return None
    return measuring.measurement_of(
        loaded,
        rows,
        gates=measuring.gates_of(given.benchmark),
        hook=given.hooks.source,
    )


def keep_rows(given: EvaluationInput, loaded: Loaded, rows: Rows) -> KeptRows | None:
    """Collect the rows that the new baseline keeps; None if it keeps none."""
    if loaded.benchmark.spec.baseline is None or not given.updates:
        return None
    return measuring.kept_rows_of(loaded, rows, has_files=given.table is None)


# -- behaviour -------------------------------------------------------------------------------


def observe(loaded: Loaded, rows: Rows) -> Observed | None:
    """Read what rollouts do; None unless the benchmark asks for it."""
    spec = loaded.benchmark.spec.behaviour
    means = rows.prepared.behaviour
    if spec is None or means is None:
        return None
    from pytest_evalmetrics.pipeline import behaving  # only if asked for

    return behaving.observe(loaded, rows, spec, means)


def _with_behaviour(reduced: Reduced, observed: Observed) -> Reduced:
    """Add what rollouts do to what a new baseline keeps."""
    from pytest_evalmetrics.pipeline import behaving

    return behaving.with_documents(reduced, observed)


def judge_behaviour(
    stages: Stages, checks: Sequence[Check]
) -> tuple[tuple[BehaviourFacts, ...], tuple[Check, ...]]:
    """Compare and check what rollouts do; `checks` say whether the scores are the same."""
    if stages.observed is None:
        return (), ()
    from pytest_evalmetrics.pipeline import behaving

    try:
        outcome = behaving.judge(
            stages.benchmark,
            stages.observed,
            stages.reduced.gated,
            stages.compared.terms,
            updates=stages.given.updates,
            benchmarks=stages.given.benchmarks,
        )
    except errors.EvalMetricsError as error:
        return (), _failed(stages.benchmark, error)
    facts = behaving.with_scores(outcome, stages.reduced.gated, checks)
    return facts, outcome.checks


# -- reduce ----------------------------------------------------------------------------------


def reduce(
    given: EvaluationInput, loaded: Loaded, rows: Rows, single: SingleTasks | None
) -> Reduced:
    """Reduce the rollouts of each agent to estimates."""
    return reduce_agents(
        loaded,
        rows,
        given.hooks,
        quarantined=frozenset() if single is None else single.quarantined,
        names_tasks=single is not None,
    )


# -- compare ---------------------------------------------------------------------------------


def compare(
    given: EvaluationInput,
    loaded: Loaded,
    rows: Rows,
    *,
    measurement: Measurement | None,
    reduced: Reduced,
    single: SingleTasks | None,
) -> Compared:
    """Pair each agent with its reference; nothing is tested yet."""
    if measurement is None:
        return Compared()
    reference, checks = _find_reference(given, loaded)
    if reference is None:
        return Compared(checks=checks)
    alike = AlikeMeasured(reference)
    changes: tuple[RunChange, ...] = ()
    if not given.updates:
        alike, changes, checks = _alike(given, loaded, rows, measurement, reference)
    frames = {}
    if loaded.frame is not None and not given.updates:  # a sample must not drop tasks
        frames = dict(loaded.frame.by_agent())
    terms = ComparisonTerms(
        benchmark=loaded.benchmark,
        plan=loaded.plan,
        reference=alike.reference,
        quarantined=frozenset() if single is None else single.quarantined,
        measurement_changes=alike.changes,
        settled_changes=alike.settled,
        frames=frames,
        elsewhere=_noise_elsewhere(given),
    )
    return Compared(
        terms=terms,
        agents=comparing.compare_agents(terms, reduced.gated),
        checks=checks,
        notes=() if given.updates else (*reference.notes, *alike.notes),
        changes=changes,
    )


def _noise_elsewhere(given: EvaluationInput) -> NoiseElsewhere:
    """Return further runs that show the noise between runs."""
    past: tuple[HistoryRun, ...] = ()
    # runs that are the reference themselves are no further ones
    if not settings_of(given.benchmark).of_history:
        past = past_runs(given.history, given.item_id)
    return NoiseElsewhere(neighbours=given.pooled, past=past)


def _find_reference(
    given: EvaluationInput, loaded: Loaded
) -> tuple[Reference | None, tuple[Check, ...]]:
    """Find what the run is compared with, or say why there is none."""
    benchmark = loaded.benchmark
    settings = settings_of(benchmark)
    report = settings.report
    if given.first_run and report and not (benchmark.file.parent / report).exists():
        first = Check(
            gate=Gate.BASELINE,
            name="baseline",
            verdict=Verdict.WARN,
            reasons=(FirstRun(report),),
            line=benchmark.line_of("baseline", "report"),
            acceptance=acceptance_of(benchmark),
        )
        return None, (first,)
    try:
        reference = reference_of(
            benchmark,
            loaded.plan,
            None if given.baseline is None else given.baseline.read,
            label=given.item_id,
            history=given.history,
            engine=given.engine,
        )
    except errors.EvalMetricsError as error:
        # a broken baseline is replaced, but no history
        if given.updates and not settings.of_history:
            return None, ()
        return None, _failed(benchmark, error)
    if reference is None and not given.updates:
        return None, (_no_baseline(given, benchmark),)
    return reference, ()


def _no_baseline(given: EvaluationInput, benchmark: Benchmark) -> Check:
    settings = settings_of(benchmark)
    if settings.of_history:
        history = settings.history if isinstance(settings.history, str) else ""
        reason = NoBaseline(is_history=True, history=history)
    else:
        former = "" if given.baseline is None else given.baseline.renamed_from()
        reason = NoBaseline(renamed_from=former)
    return Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        line=benchmark.line_of("baseline"),
        acceptance=acceptance_of(benchmark),
    )


def _alike(
    given: EvaluationInput,
    loaded: Loaded,
    rows: Rows,
    measurement: Measurement,
    reference: Reference,
) -> tuple[AlikeMeasured, tuple[RunChange, ...], tuple[Check, ...]]:
    """Compare what measures both sides, and score the baseline's rows anew if asked to.

    Returns the reference with what measured it otherwise, what else changed, and a check
    if the baseline's rows can't be read.
    """
    scoring = rows.prepared.scoring
    alike = measuring.compare_measurements(
        reference, measurement, str if scoring is None else scoring.hide
    )
    checks: tuple[Check, ...] = ()
    if settings_of(loaded.benchmark).rescore and alike.has_fingerprint:
        read_rows = None if given.baseline is None else given.baseline.read_rows
        try:
            alike = measuring.rescored(alike, rows, read_rows)
        except errors.BaselineError as error:
            checks = _failed(loaded.benchmark, error)
    changes = alike.other_changes
    if alike.settled:
        changes = (MeasuredAnew(alike.settled), *changes)
    return alike, changes, checks


# -- judge -----------------------------------------------------------------------------------


def judge(stages: Stages) -> tuple[Check, ...]:
    """Check everything that the benchmark asserts, in the order of the gates."""
    given = stages.given
    benchmark = stages.benchmark
    rows = stages.rows
    checks = list(rows.checks)
    if stages.single is not None:
        checks += stages.single.unknown
    checks += stages.compared.checks
    for agent in stages.reduced.agents:
        checks += judging.judge_agent(
            benchmark,
            agent,
            single=stages.single,
            failures=() if rows.scored is None else rows.scored.failures,
            look=given.look,
        )
    checks += _judge_comparisons(stages)
    error = stages.reduced.error
    if error is not None:
        checks += _failed(benchmark, error)
    if rows.scored is not None and rows.scored.stopped:
        return tuple(map(_undecided, checks))
    return tuple(checks)


def judge_new_baseline(
    stages: Stages, checks: Sequence[Check]
) -> tuple[tuple[Check, ...], tuple[Note, ...]]:
    """Refuse a baseline that nothing can fail against; warn of one that none passes.

    Notes name the metrics that it does not protect.
    """
    if stages.reduced.error is not None or not _records(stages):
        return (), ()
    if _baseline(stages, checks) is None:
        return (), ()
    benchmark = stages.benchmark
    plan = stages.loaded.plan
    runs = stages.reduced.gated
    refused = None
    if not stages.given.gains_runs:
        refused = judging.unfailable(benchmark, plan, runs)
    if refused is not None:
        return (refused,), ()
    alone = judging.against_itself(benchmark, plan, runs)
    notes: tuple[Note, ...] = ()
    # beside an old baseline, its comparison shows what is blind
    if stages.compared.terms is None:
        notes = tuple(judging.blind_baselines(alone))
    return tuple(judging.unpassable(alone, runs)), notes


def _records(stages: Stages) -> bool:
    """Whether the run records a committed baseline."""
    has_baseline = stages.benchmark.spec.baseline is not None
    is_committed = settings_of(stages.benchmark).committed
    return stages.given.updates and has_baseline and is_committed


def _judge_comparisons(stages: Stages) -> list[Check]:
    """Judge the comparisons; a run that records shows them and asserts nothing."""
    given = stages.given
    terms = stages.compared.terms
    if terms is None:
        return []
    checks = judging.judge_comparisons(
        terms, stages.compared.agents, benchmarks=given.benchmarks, look=given.look
    )
    if given.updates:
        return [gates.accepted(check) for check in checks]
    shift = _judge_shift(stages)
    if shift is not None:
        reward = stages.benchmark.spec.reward
        checks = anchors.attribute(checks, shift, reward)
    if stages.reduced.error is None:
        checks += judging.lost_agents(terms, stages.loaded.table.agents)
    levels = accepted_levels.open_levels(given.accepted, terms.reference)
    return accepted_levels.with_accepted_levels(checks, levels)


def _undecided(check: Check) -> Check:
    """Let a failure over a part of the rollouts decide nothing."""
    if check.verdict is not Verdict.FAIL:
        return check
    return structs.replace(check, verdict=Verdict.INCONCLUSIVE)


def _failed(benchmark: Benchmark, error: errors.EvalMetricsError) -> tuple[Check, ...]:
    """Make the checks of what kept a benchmark from being judged."""
    if isinstance(error, errors.ConfigError):
        return tuple(
            _unjudged(
                InvalidKey(problem.path, problem.message, problem.undeclared),
                problem.line,
            )
            for problem in error.problems
        )
    words = f"{error.where}: {error.message}" if error.file else error.message
    line = None
    if not error.file:
        if error.about is not None:
            line = benchmark.line_of_endpoint(error.about)
        line = line or error.line or benchmark.line_of()
    return (_unjudged(Failed(words, error.hint or ""), line),)


def _unjudged(reason: Reason, line: int | None) -> Check:
    return Check(
        gate=Gate.DATA,
        name="evaluation",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        line=line,
    )


# -- the result ------------------------------------------------------------------------------


def _unevaluated(
    given: EvaluationInput, rows: Rows | None, error: errors.EvalMetricsError
) -> Evaluated:
    """Return the result of a benchmark whose rollouts could not be read."""
    benchmark = given.benchmark if rows is None else rows.benchmark
    checks = () if rows is None else rows.checks
    result = _result(
        given,
        benchmark,
        rows,
        checks=(*checks, *_failed(benchmark, error)),
        notes=() if rows is None else rows.notes,
    )
    return Evaluated(result=result, row_scores=_row_scores(rows))


def _finished(
    stages: Stages,
    checks: tuple[Check, ...],
    behaviour: tuple[BehaviourFacts, ...],
    notes: tuple[Note, ...],
) -> Evaluated:
    """Gather what the evaluation leaves."""
    given = stages.given
    result = structs.replace(
        _result(
            given,
            stages.benchmark,
            stages.rows,
            checks=checks,
            notes=notes,
        ),
        agents=stages.reduced.results,
        changes=tuple(_changes(stages, behaviour)),
        behaviour=behaviour,
        ruler=_ruler(stages),
        accepted_levels=_accepted_marks(stages, checks),
        sources=outcome.sources_of(stages.loaded.table),
    )
    result = _with_drift(stages, result)
    flipped: tuple[FlippedTask, ...] = ()
    if result.verdict is not Verdict.PASS and _is_compared(stages):
        flipped = tuple(_flips(stages))
        result = structs.replace(
            result,
            flips=tuple(task.flip for task in flipped),
            separators=tuple(_separators(stages, checks)),
        )
    pictures: Mapping[str, Picture] = {}
    if given.detailed or result.verdict is not Verdict.PASS:
        pictures = _pictures(stages, flipped)
    reference = _recorded_reference(stages)
    return Evaluated(
        result=result,
        recorded=reference.recorded or "",
        reason=reference.reason or "",
        documents=outcome.documents_of(stages.reduced),
        baseline=_baseline(stages, checks),
        row_scores=_row_scores(stages.rows),
        kept_rows=None if stages.kept is None else stages.kept.data,
        pictures=pictures,
    )


def _is_compared(stages: Stages) -> bool:
    """Whether the run is held against a reference; one that records is not."""
    return stages.compared.terms is not None and not stages.given.updates


def _with_drift(stages: Stages, result: BenchmarkResult) -> BenchmarkResult:
    """Add the checks of drifting metrics, where the benchmark lets them fail."""
    benchmark = stages.benchmark
    given = stages.given
    if settings_of(benchmark).drift != "fail" or given.updates:
        return result
    drifting = with_tiers(
        benchmark,
        drift_checks(benchmark, result, given.history),
        is_required=given.is_required,
    )
    return structs.replace(result, checks=(*result.checks, *drifting))


def _ruler(stages: Stages) -> Mapping[str, Mapping[str, object]]:
    """Return the fingerprint of what measures the run; empty if nothing is compared."""
    return {} if stages.measurement is None else stages.measurement.ruler


def _recorded_reference(stages: Stages) -> Provenance:
    """Return when and why the reference was recorded; empty without one."""
    terms = stages.compared.terms
    return Provenance() if terms is None else terms.reference.provenance


def _row_scores(rows: Rows | None) -> RowScores | None:
    """Return the scores of each row; None without scorers."""
    if rows is None or rows.scored is None:
        return None
    return rows.scored.rows


def _accepted_marks(stages: Stages, checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the marks of accepted changes, which are honoured once."""
    terms = stages.compared.terms
    if terms is None:
        return ()
    return accepted_levels.known_marks(stages.given.accepted, terms.reference, checks)


def _result(
    given: EvaluationInput,
    benchmark: Benchmark,
    rows: Rows | None,
    *,
    checks: tuple[Check, ...],
    notes: tuple[Note, ...],
) -> BenchmarkResult:
    spec = benchmark.spec
    result = BenchmarkResult(
        id=given.item_id,
        name=spec.name,
        description=spec.description,
        file=given.file or given.item_id.rpartition("::")[0],
        line=benchmark.line_of(),
        agents=(),
        checks=with_tiers(benchmark, checks, is_required=given.is_required),
        notes=notes,
        xfail=spec.xfail is not None,
    )
    if rows is None or rows.scored is None:
        return result
    scored = rows.scored
    return structs.replace(
        result,
        failed_rows=scored.failures,
        partial=scored.chosen.partial,
        judges=scored.judges,
        judge_checks=scored.judge_checks,
    )


def _notes(
    stages: Stages, checks: Sequence[Check], behaviour: Sequence[BehaviourFacts]
) -> Iterator[Note]:
    """Yield the notes of all stages, in the order of the stages."""
    yield from stages.rows.notes
    yield from stages.loaded.table.notes
    yield from stages.loaded.notes
    yield from stages.compared.notes
    for agent in stages.reduced.agents:
        yield from judging.agent_notes(stages.benchmark, agent)
    if stages.compared.terms is not None and not stages.given.updates:
        yield from _notes_of_comparison(stages, stages.compared.terms, checks)
    if stages.reduced.error is None:
        yield from _notes_of_gates(stages)
    yield from _notes_of_behaviour(behaviour)


def _notes_of_comparison(
    stages: Stages, terms: ComparisonTerms, checks: Sequence[Check]
) -> Iterator[Note]:
    """Yield notes on the reference, on the pairs of tasks, and on what is better."""
    reference = terms.reference
    scored = stages.rows.scored
    if scored is not None and scored.anchors is not None:
        yield from anchors.notes(_judge_shift(stages), reference)
    yield from accepted_levels.notes(stages.given.accepted, reference, checks)
    # agents may have the same note
    yield from dict.fromkeys(comparing.pairing_notes(terms, stages.compared.agents))
    is_committed = settings_of(stages.benchmark).committed
    yield from judging.improvements(checks, is_committed=is_committed)
    if stages.reduced.error is None:
        yield from comparing.reference_notes(terms, stages.reduced.gated)


def _notes_of_gates(stages: Stages) -> Iterator[Note]:
    """Yield notes on gates that can't fail, and on a benchmark without any."""
    benchmark = stages.benchmark
    yield from gates.blind_thresholds(benchmark.spec, benchmark.line_of)
    if not stages.gates["thresholds"] and not benchmark.spec.baseline:
        yield NothingGated(
            metric=benchmark.spec.metrics[0],
            line=benchmark.line_of(),
            in_python=benchmark.in_python,
        )


def _notes_of_behaviour(behaviour: Sequence[BehaviourFacts]) -> Iterator[Note]:
    """Yield notes on behaviour that could not be compared."""
    if not behaviour:
        return
    from pytest_evalmetrics.pipeline import behaving  # only if asked for

    for facts in behaviour:
        yield from behaving.notes_of(facts)


def _changes(
    stages: Stages, behaviour: Sequence[BehaviourFacts]
) -> Iterator[RunChange]:
    """Yield what differs from the reference beside the numbers."""
    terms = stages.compared.terms
    if terms is not None and not stages.given.updates:
        yield from stages.compared.changes
        for compared in stages.compared.agents:
            yield from run_changes.agent_changes(terms, compared)
    yield from run_changes.behaviour_changes(behaviour)


def _baseline(stages: Stages, checks: Sequence[Check]) -> BaselineDocument | None:
    """Describe the run as a baseline; None if a number may be missing or wrong."""
    scored = stages.rows.scored
    return outcome.baseline_of(
        stages.benchmark,
        stages.reduced,
        checks,
        is_partial=scored is not None and scored.chosen.partial,
        provenance=_provenance(stages),
    )


def _provenance(stages: Stages) -> Provenance:
    """Describe what a baseline of this run would come from."""
    measurement = stages.measurement
    results = stages.reduced.results
    under_test = None if measurement is None else measurement.under_test
    return Provenance(
        tasks=sum(result.tasks for result in results),
        rollouts=sum(result.rollouts for result in results),
        files=list(msgspec.to_builtins(outcome.sources_of(stages.loaded.table))),
        gates=stages.gates,
        rows=None if stages.kept is None else stages.kept.description,
        under_test=under_test or None,
        anchors=_anchors_of(stages.rows.scored),
        ruler=_ruler(stages),
    )


def _anchors_of(scored: Scored | None) -> Mapping[str, object] | None:
    """Return the judge's scores of the anchors as a baseline keeps them; None for none."""
    if scored is None or scored.anchors is None:
        return None
    kept: Mapping[str, object] = msgspec.to_builtins(scored.anchors)
    return kept


def _judge_shift(stages: Stages) -> JudgeShift | None:
    """Compare the judge with the one of the reference, on the anchors of both."""
    terms = stages.compared.terms
    scored = stages.rows.scored
    if terms is None or scored is None or scored.anchors is None:
        return None
    before = anchors.recorded_scores(terms.reference.provenance.anchors)
    return None if before is None else anchors.judge_shift(before, scored.anchors)


def _flips(stages: Stages) -> Iterator[FlippedTask]:
    baseline = stages.given.baseline
    return outcome.flips(
        stages.benchmark,
        stages.rows,
        stages.compared.agents,
        has_files=stages.given.table is None,
        read_kept_rows=None if baseline is None else baseline.read_rows,
    )


def _separators(stages: Stages, checks: Sequence[Check]) -> Iterator[Separator]:
    """Find what the worse tasks have in common, of each agent whose comparison does not hold."""
    if stages.given.table is not None:  # without files there are no rows to read again
        return
    unmet = {
        check.agent
        for check in checks
        if check.gate is Gate.BASELINE and check.verdict is not Verdict.PASS
    }
    for compared in stages.compared.agents:
        is_unmet = compared.run.result.agent in unmet or "" in unmet
        if is_unmet and compared.pairing is not None:
            yield from outcome.separators_of(
                stages.benchmark, stages.rows, compared.run, compared.pairing
            )


def _pictures(stages: Stages, flipped: Sequence[FlippedTask]) -> dict[str, Picture]:
    """Describe the tasks of each agent for the page."""
    terms = stages.compared.terms
    pairings = {
        compared.run.result.agent: compared.pairing
        for compared in stages.compared.agents
    }
    pictures = {}
    for run in stages.reduced.gated:
        agent = run.result.agent
        pictures[agent] = outcome.picture(
            stages.benchmark,
            run,
            stages.rows,
            pairings.get(agent),
            "" if terms is None else terms.reference.origin,
            flipped=flipped,
        )
    return pictures
