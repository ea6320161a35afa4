"""The columns of a benchmark's files that its metrics need."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import rollouts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts.loader import RowVisitor
    from pytest_evalmetrics.scoring.door import Engine
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.sources import FilesSpec


def rollouts_of(
    benchmark: Benchmark,
    plan: Plan,
    files: FilesSpec | None = None,
    engine: Engine | None = None,
    *,
    given: Sequence[str] | None = None,
    visitor: RowVisitor | None = None,
) -> RolloutTable:
    """Load the columns that the metrics need, from the benchmark's files or `files`.

    `given` are scores that scorers will add, of a benchmark that has some. `visitor` sees the
    whole rows where they are read here, and hold the numbers.
    """
    is_dataset = given is not None and benchmark.spec.dataset is not None
    wanted = [name for name in plan.scores if name not in (given or ())]
    load = rollouts.load_dataset if is_dataset else rollouts.load
    table = load(
        files or benchmark.spec.rows,
        benchmark.file.parent,
        scores=wanted,
        categories=plan.categories,
        reader=None if engine is None else engine.read,
        visitor=visitor,
    )
    if not is_dataset:
        return table
    # numbers of a data set belong to the questions: only those that metrics name are
    # scores, and only their notes matter
    scores = {name: table.scores[name] for name in wanted}
    notes = tuple(
        chain.from_iterable(table.score_notes.get(name, ()) for name in wanted)
    )
    return structs.replace(table, scores=scores, notes=notes)
