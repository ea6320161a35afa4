"""Load: the rows of a benchmark as columns, scored where it has scorers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import errors, metrics
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.notes import OfReference
from pytest_evalmetrics.model.rollout_notes import MetricsLeftOut
from pytest_evalmetrics.model.rollout_table import STATED_ERROR, RolloutTable
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of
from pytest_evalmetrics.spec import Benchmark, Count
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import Rounds, SampleSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.pipeline.behaving import BehaviourMeans
    from pytest_evalmetrics.pipeline.judges import Labels
    from pytest_evalmetrics.pipeline.scoring import Scored, Scoring
    from pytest_evalmetrics.scoring.door import Engine


class Prepared(msgspec.Struct, frozen=True):
    """A benchmark whose metrics are planned and whose scorers are made."""

    benchmark: Benchmark  # its reward settled, without thresholds on judges
    plan: metrics.Plan
    scoring: Scoring | None  # None without scorers
    labels: Labels | None  # people's, of some rollouts
    behaviour: BehaviourMeans | None = None  # None unless it asks for behaviour


class Rows(msgspec.Struct, frozen=True):
    """The rows of a benchmark, with their scores."""

    prepared: Prepared
    benchmark: Benchmark  # without rollouts that its settings drop
    table: RolloutTable
    scored: Scored | None = None  # None without scorers
    notes: tuple[Note, ...] = ()
    checks: tuple[Check, ...] = ()  # of thresholds on judges, and of a budget


class Loaded(msgspec.Struct, frozen=True):
    """The rollouts that are evaluated."""

    benchmark: Benchmark  # as its rollouts allow: without metrics that aggregates lack
    plan: metrics.Plan
    table: RolloutTable
    frame: RolloutTable | None = None  # all tasks, of which `sample:` drew some
    notes: tuple[Note, ...] = ()


# -- prepare ---------------------------------------------------------------------------------


def prepare(
    benchmark: Benchmark, make_scoring: Callable[[Benchmark], Scoring]
) -> Prepared:
    """Read the labels, make the scorers and plan the metrics; nothing is asked yet."""
    labels = None
    if benchmark.spec.labels is not None:
        from pytest_evalmetrics.pipeline.judges import human_labels  # rare

        labels = human_labels(benchmark, benchmark.spec.labels)
    scoring = None
    if benchmark.spec.runs:
        scoring = make_scoring(benchmark)
        benchmark = scoring.benchmark
    behaviour = None
    if benchmark.spec.behaviour is not None:
        from pytest_evalmetrics.pipeline.behaving import means_of  # only if asked for

        behaviour = means_of(benchmark, benchmark.spec.behaviour)
    return Prepared(benchmark, plan_of(benchmark), scoring, labels, behaviour)


# -- read and score --------------------------------------------------------------------------


def read_rows(
    prepared: Prepared,
    *,
    table: RolloutTable | None,
    engine: Engine | None,
    has_hooks: bool,
) -> Rows:
    """Read the rows, and score them where the benchmark has scorers.

    `table` are rollouts that come from no file.
    """
    benchmark = prepared.benchmark
    scoring = prepared.scoring
    if table is None and scoring is not None:
        with _located_errors(benchmark):
            scored = scoring.run(prepared.plan, hooked=has_hooks)
        return Rows(
            prepared=prepared,
            benchmark=scoring.benchmark,
            table=scored.table,
            scored=scored,
            notes=scored.notes,
            checks=scored.checks,
        )
    with _located_errors(benchmark):
        if table is None:
            table = rollouts_of(benchmark, prepared.plan, engine=engine)
        rounds = benchmark.spec.num_samples
        if isinstance(rounds, Rounds):
            from pytest_evalmetrics.pipeline.benchmark_rows import first_rollouts

            table = table.where(first_rollouts(table, rounds))
    return Rows(prepared=prepared, benchmark=benchmark, table=table)


@contextmanager
def _located_errors(benchmark: Benchmark) -> Iterator[None]:
    """Say at which line of the benchmark file the rows are named that can't be read."""
    source = "rollouts" if benchmark.spec.dataset is None else "dataset"
    try:
        yield
    except errors.ShapeError as error:
        error.line = benchmark.line_of(source, *error.key)
        raise
    except errors.DataError as error:
        if error.file is None and error.line is None:
            error.line = benchmark.line_of(source)
        raise


# -- choose and complete ---------------------------------------------------------------------


def arrange(rows: Rows, make_scoring: Callable[[Benchmark], Scoring]) -> Loaded:
    """Draw the sample, add the reference system, and adapt the metrics to aggregates."""
    loaded = Loaded(rows.benchmark, rows.prepared.plan, rows.table)
    spec = loaded.benchmark.spec
    if spec.sample is not None:
        loaded = _sampled(loaded, spec.sample, rows.scored)
    if spec.reference is not None:
        loaded = _with_reference(loaded, make_scoring)
    if any(name.startswith(STATED_ERROR) for name in loaded.table.scores):
        loaded = _for_aggregates(loaded)
    return loaded


def _sampled(loaded: Loaded, sample: SampleSpec, scored: Scored | None) -> Loaded:
    """Draw the tasks of ``sample:``, unless they were drawn before scoring."""
    from pytest_evalmetrics.pipeline.benchmark_rows import draw  # rare

    benchmark = loaded.benchmark
    table = loaded.table
    notes = loaded.notes
    frame = table
    if scored is not None:
        frame = scored.chosen.frame or table
    else:
        table, note = draw(table, sample)
        notes = (*notes, note)
    total = len(frame.tasks)
    expected = benchmark.spec.expect.tasks
    if expected is not None and not expected.allows(total):
        raise errors.DataError(
            f"there are {many(total, 'task')} to sample from, expected {expected}",
            line=benchmark.line_of("expect", "tasks"),
            hint=(
                "complete the rows; or, if the change is intended, say so in expect: "
                "tasks"
            ),
        )
    drawn = min(sample.tasks, total)
    expect = replace(benchmark.spec.expect, tasks=Count(min=drawn, max=drawn))
    return structs.replace(
        loaded,
        benchmark=benchmark.but(expect=expect),
        table=table,
        frame=frame,
        notes=notes,
    )


def _with_reference(
    loaded: Loaded, make_scoring: Callable[[Benchmark], Scoring]
) -> Loaded:
    """Add the rewards of the pinned system of ``reference:``."""
    from pytest_evalmetrics.pipeline import judges  # rare

    benchmark = loaded.benchmark
    reference = benchmark.spec.reference
    if reference is None:
        return loaded
    notes = loaded.notes
    scored_table = None
    pinned = judges.pinned_benchmark(benchmark)
    if reference.rollouts is None and pinned is not None:
        scored = make_scoring(pinned).run(loaded.plan)
        notes = (*notes, *map(OfReference, scored.notes))
        scored_table = scored.table
    table = judges.with_reference(benchmark, loaded.table, reference, scored_table)
    return structs.replace(loaded, table=table, notes=notes)


def _for_aggregates(loaded: Loaded) -> Loaded:
    """Leave out metrics that need rollouts; a gated one is a fault."""
    benchmark = loaded.benchmark
    spec = benchmark.spec
    named = {*spec.metrics, *spec.gated, *spec.thresholds}
    of_rollouts = {
        name for name in named if parse(name).metric not in ("mean_reward", "mean")
    }
    means = [name for name in spec.metrics if name not in of_rollouts]
    lost = of_rollouts.intersection(spec.thresholds)
    if not means or spec.key_metrics:
        lost = of_rollouts
    if lost:
        key = "thresholds" if spec.thresholds else "metrics"
        raise errors.DataError(
            f"{min(lost)} is of rollouts, and these are aggregates: only a mean can be "
            "gated",
            line=benchmark.line_of(key),
            hint="gate mean_reward, or keep samples (--log_samples) and name their files",
        )
    notes = loaded.notes
    if of_rollouts:
        notes = (*notes, MetricsLeftOut(tuple(sorted(of_rollouts))))
    benchmark = benchmark.but(metrics=spec.listing(means))
    return structs.replace(
        loaded, benchmark=benchmark, plan=plan_of(benchmark), notes=notes
    )


def with_directions(loaded: Loaded, file: str) -> Loaded:
    """Settle which way of each gated metric is better; an error if nothing says so."""
    from pytest_evalmetrics.pipeline.preflight import direction_problems

    benchmark = loaded.benchmark
    plan = loaded.plan
    table = loaded.table
    problems = tuple(direction_problems(benchmark, plan, table))
    if problems:
        raise errors.ConfigError(file, problems)
    spec = declarations.with_directions(benchmark.spec, plan.facts_of, table.directions)
    return structs.replace(loaded, benchmark=benchmark.with_spec(spec))
