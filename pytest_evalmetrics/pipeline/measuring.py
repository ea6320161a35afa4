"""What measures a run: its fingerprint, what its reference says of its own, and rescoring."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.gate_notes import NoFingerprint
from pytest_evalmetrics.pipeline import measurement as fingerprints
from pytest_evalmetrics.pipeline.gate_settings import settings_of
from pytest_evalmetrics.pipeline.measurement_changes import (
    changed_gates,
    measurement_changes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.reasons import MeasurementChange
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.pipeline.references import Reference
    from pytest_evalmetrics.scoring.door import BoundScorer
    from pytest_evalmetrics.spec import Benchmark


class Measurement(msgspec.Struct, frozen=True):
    """What measures a run, and what it measures."""

    # by entry: readable settings, without defaults and secrets
    ruler: dict[str, dict[str, object]]
    under_test: dict[str, object]  # settings of the model, agent and prompt
    gates: dict[str, object]  # the gated metrics and the thresholds, as written


def gates_of(benchmark: Benchmark) -> dict[str, object]:
    """Describe the gates, which a later run compares with its own."""
    thresholds = benchmark.spec.thresholds
    return {
        "metrics": list(benchmark.spec.gated),
        "thresholds": {
            name: threshold.described for name, threshold in thresholds.items()
        },
    }


def measurement_of(
    loaded: Loaded, rows: Rows, *, gates: dict[str, object], hook: str
) -> Measurement:
    """Fingerprint what measures a run; `hook` is the hash of hooks that compute metrics."""
    scoring = rows.prepared.scoring
    hide: Callable[[str], str] = str
    scorers: Sequence[BoundScorer] = ()
    if scoring is not None:
        hide = scoring.hide
        scorers = scoring.scorers
    ruler = fingerprints.measurement_of(
        loaded.benchmark.spec,
        loaded.plan,
        scorers,
        loaded.table.ruler,
        hook=hook,
        hide=hide,
    )
    return Measurement(
        ruler=ruler,
        under_test=fingerprints.under_test_of(loaded.benchmark, hide),
        gates=gates,
    )


class KeptRows(msgspec.Struct, frozen=True):
    """The rows that a new baseline keeps."""

    data: bytes  # compressed
    description: dict[str, object]


def kept_rows_of(loaded: Loaded, rows: Rows, *, has_files: bool) -> KeptRows | None:
    """Keep the rows of a run that records, where the benchmark asks for it."""
    settings = settings_of(loaded.benchmark)
    scoring = rows.prepared.scoring
    keeps_for_scoring = settings.rescore and scoring is not None
    keeps_texts = settings.answers and settings.committed and has_files
    if not (keeps_for_scoring or keeps_texts):
        return None
    from pytest_evalmetrics.pipeline import benchmark_rows  # only if asked for

    table = loaded.table
    if scoring is None:
        recorded = benchmark_rows.recorded_rows(
            loaded.benchmark.spec.rows, base=loaded.benchmark.file.parent, table=table
        )
    else:
        recorded = scoring.as_scored()
    if not keeps_for_scoring:
        hide: Callable[[str], str] = str
        if scoring is not None:
            hide = scoring.hide
        scores = None if rows.scored is None else rows.scored.rows
        fields = loaded.benchmark.spec.rows.fields
        recorded = benchmark_rows.texts_alone(recorded, scores, hide, fields)
    data, description = benchmark_rows.keep(recorded, table)
    return KeptRows(data, description)


class AlikeMeasured(msgspec.Struct, frozen=True):
    """A reference, and what measured it otherwise than the run."""

    reference: Reference
    changes: tuple[MeasurementChange, ...] = ()  # metrics that they touch don't compare
    settled: tuple[MeasurementChange, ...] = ()  # both sides are measured alike now
    notes: tuple[Note, ...] = ()
    # what else changed: what is under test, the gates
    other_changes: tuple[RunChange, ...] = ()
    has_fingerprint: bool = False  # whether the reference says what measured it


def compare_measurements(
    reference: Reference, now: Measurement, hide: Callable[[str], str]
) -> AlikeMeasured:
    """Find what measures the run otherwise than its reference."""
    tables = chain.from_iterable(reference.runs.values())
    recorded = reference.provenance
    stated = fingerprints.stated_by(now.ruler, tables, hide)
    before = recorded.ruler if stated is None else stated
    notes: tuple[Note, ...] = ()
    changes: tuple[MeasurementChange, ...] = ()
    if before is not None:
        changes = measurement_changes(before, now.ruler)
    elif recorded != Provenance() or any(
        entry.get("scores") for entry in now.ruler.values()
    ):
        notes = (NoFingerprint(reference.acceptance),)
    under_test = recorded.under_test or {}
    other_changes: list[RunChange] = []
    changed = fingerprints.under_test_change(under_test, now.under_test)
    if changed is not None:
        other_changes.append(changed)
    unannounced = fingerprints.unannounced_change(under_test, now.under_test)
    if unannounced is not None:
        notes = (*notes, unannounced)
    other_changes += changed_gates(recorded.gates or {}, now.gates, reference)
    return AlikeMeasured(
        reference,
        changes,
        notes=notes,
        other_changes=tuple(other_changes),
        has_fingerprint=before is not None,
    )


def rescored(
    compared: AlikeMeasured,
    rows: Rows,
    read_kept_rows: Callable[[], bytes | None] | None,
) -> AlikeMeasured:
    """Measure both sides alike: score the rows that the baseline keeps anew.

    It raises BaselineError if they can't be read.
    """
    reference = compared.reference
    changes = compared.changes
    notes = compared.notes
    if any(change.by_scorer for change in changes):
        kept = reference.provenance.rows
        scoring = rows.prepared.scoring
        if scoring is None or kept is None:
            return compared
        data = None if read_kept_rows is None else read_kept_rows()
        tables, new_notes = scoring.rescored(data, kept, reference.tables)
        reference = structs.replace(reference, runs=_as_runs(tables))
        notes = (*notes, *new_notes)
    settled = tuple(change for change in changes if not change.by_tool)
    return structs.replace(
        compared,
        reference=reference,
        changes=tuple(change for change in changes if change.by_tool),
        settled=settled,
        notes=notes,
    )


def _as_runs(tables: Mapping[str, RolloutTable]) -> dict[str, list[RolloutTable]]:
    return {agent: [table] for agent, table in tables.items()}
