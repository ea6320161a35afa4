"""What an evaluation leaves: its result, notes, flipped tasks, pictures, and a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import gates
from pytest_evalmetrics.evaluation import Evaluated, EvaluationInput, Stages
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.gate_notes import NothingGated
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import (
    accepted_levels,
    anchors,
    comparing,
    judging,
    outcome,
    run_changes,
)
from pytest_evalmetrics.pipeline.drifting import drift_checks
from pytest_evalmetrics.pipeline.gate_settings import settings_of
from pytest_evalmetrics.pipeline.tiers import with_tiers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.baseline import BaselineDocument
    from pytest_evalmetrics.model.behaviour import BehaviourFacts
    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RowScores
    from pytest_evalmetrics.model.separators import Separator
    from pytest_evalmetrics.pipeline.benchmark_rows import FlippedTask
    from pytest_evalmetrics.pipeline.comparing import ComparisonTerms
    from pytest_evalmetrics.pipeline.loading import Rows
    from pytest_evalmetrics.pipeline.scoring import Scored
    from pytest_evalmetrics.reports.html.picture import Picture
    from pytest_evalmetrics.spec import Benchmark


def unevaluated(
    given: EvaluationInput,
    benchmark: Benchmark,
    rows: Rows | None,
    checks: tuple[Check, ...],
) -> Evaluated:
    """Return the result of a benchmark whose rollouts could not be read."""
    notes = () if rows is None else rows.notes
    result = _result(given, benchmark, rows, checks=checks, notes=notes)
    return Evaluated(result=result, row_scores=_row_scores(rows))


def finished(
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
        baseline=baseline_of_run(stages, checks),
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


def notes_of(
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
        yield from anchors.notes(stages.judge_shift, reference)
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


def baseline_of_run(stages: Stages, checks: Sequence[Check]) -> BaselineDocument | None:
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
