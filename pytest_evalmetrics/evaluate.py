"""One benchmark, from its rows to its verdict: load, score, reduce, compare, judge."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import errors, gates
from pytest_evalmetrics.evaluation import (
    Compared,
    Evaluated,
    EvaluationInput,
    Stages,
)
from pytest_evalmetrics.evaluation_result import (
    baseline_of_run,
    finished,
    notes_of,
    unevaluated,
)
from pytest_evalmetrics.model.changes import MeasuredAnew
from pytest_evalmetrics.model.reasons import (
    Failed,
    FirstRun,
    InvalidKey,
    NoBaseline,
    Reason,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import (
    accepted_levels,
    anchors,
    comparing,
    judging,
    loading,
    measuring,
)
from pytest_evalmetrics.pipeline.comparing import ComparisonTerms
from pytest_evalmetrics.pipeline.gate_settings import acceptance_of, settings_of
from pytest_evalmetrics.pipeline.measuring import AlikeMeasured, KeptRows, Measurement
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere, past_runs
from pytest_evalmetrics.pipeline.reducing import Reduced, reduce_agents
from pytest_evalmetrics.pipeline.references import Reference, reference_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.gates import SingleTasks
    from pytest_evalmetrics.model.behaviour import BehaviourFacts
    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.history import HistoryRun
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.pipeline.behaving import Observed
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.pipeline.scoring import Scoring
    from pytest_evalmetrics.spec import Benchmark


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
    notes = (*notes_of(stages, checks, behaviour), *baseline_notes)
    return finished(stages, checks, behaviour, notes), stages


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
    if baseline_of_run(stages, checks) is None:
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
    shift = stages.judge_shift
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


def _unevaluated(
    given: EvaluationInput, rows: Rows | None, error: errors.EvalMetricsError
) -> Evaluated:
    """Return the result of a benchmark whose rollouts could not be read."""
    if rows is None:
        checks = _failed(given.benchmark, error)
        return unevaluated(given, given.benchmark, None, checks)
    checks = (*rows.checks, *_failed(rows.benchmark, error))
    return unevaluated(given, rows.benchmark, rows, checks)
