"""Which rows a benchmark is evaluated on, and how often each; and what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import rollouts
from pytest_evalmetrics.data import Category
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.masks import all_of, any_of
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.scorers import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, TaskId
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.rollouts.recorded import Reader
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

__all__ = ["Chosen", "choose", "reading_order", "rows_of"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that are evaluated."""

    # one row per rollout. `read_as` numbers them in the order of the files: the samples of
    # the first chosen row, then those of the second.
    table: RolloutTable
    rows: NDArray[np.int64]  # which rows of the files they are, in ascending order, shape (chosen,)
    samples: int  # rollouts of each row
    total: int  # rows of the files
    cut_to: int | None  # what ``params.limit_samples`` leaves of them; None where it leaves all

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out on purpose."""
        if self.cut_to is None:
            return ()
        note = (
            "incomplete on purpose: params.limit_samples takes the first "
            f"{of_many(self.cut_to, self.total, 'row')}, and no baseline is recorded"
        )
        return (note,)


def choose(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None = None
) -> Chosen:
    """Read the numbers of the rows, and choose those that are evaluated."""
    spec = benchmark.spec
    table = _table(benchmark, plan, given, reader)
    answered = spec.answers is not None
    if answered or _of_one_rollout(spec):
        _each_a_task(table, answered=answered)
    total, order = len(table), reading_order(table)
    limit = spec.params.limit_samples
    size = total
    rank = order
    if spec.dataset is not None:
        if spec.dataset.chosen_with is not None:
            rank = _shuffled(total, spec.dataset.chosen_with)[order]
        size = min(total, spec.dataset.limit or total)
    cut_to = limit if limit is not None and limit < size else None
    taken = rank < (size if cut_to is None else cut_to)
    if not all_of(taken):
        table = table.where(taken)
    if not all_of(taken) or answered:
        whole = tuple(replace(source, row_is_line=False) for source in table.sources)
        table = replace(table, sources=whole)
    rows = np.sort(order[taken])
    numbered = np.searchsorted(rows, order[taken]).astype(np.int64)
    samples = (spec.num_samples or 1) if answered else 1
    return Chosen(_repeated(table, numbered, samples), rows, samples, size, cut_to)


def rows_of(
    benchmark: Benchmark,
    chosen: Chosen,
    seen: Callable[[TaskId, Mapping[str, Any]], None] | None = None,
) -> Iterator[Row]:
    """Go through the files again: each chosen row, as often as it is to be answered."""
    spec, table = benchmark.spec, chosen.table
    recorded = spec.dataset is None
    order = np.empty(len(table), np.int64)
    order[reading_order(table)] = np.arange(len(table))
    # a view gives plain integers, one by one, in half the time of an array
    places, tasks, agents, samples = (
        np.ascontiguousarray(column).data
        for column in (order, table.task, table.agent, table.sample)
    )
    number = 0
    for index, (where, item) in enumerate(records(spec.rows, benchmark.file.parent)):
        if number == len(chosen.rows):
            break
        if index != chosen.rows[number]:
            continue
        first = number * chosen.samples
        task = table.tasks[tasks[places[first]]]
        for at in range(first, first + chosen.samples):
            place = places[at]
            agent, sample = table.agents[agents[place]], samples[place]
            yield Row(at, agent, task, sample, item, item if recorded else {}, where)
        if seen is not None:
            seen(task, item)
        number += 1
    if number != len(chosen.rows):
        raise DataError(
            f"the rows' files changed while they were read: {many(number, 'row')}, after "
            f"{len(chosen.rows)}",
            hint="run again when nothing writes to them",
        )


def reading_order(table: RolloutTable) -> NDArray[np.int64]:
    """Tell which row of the files each row of a table was."""
    if table.read_as is None:
        raise ValueError("a table of no file has no rows to score")
    return table.read_as


def _table(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None
) -> RolloutTable:
    spec, folder = benchmark.spec, benchmark.file.parent
    wanted = [name for name in plan.scores if name not in given]
    if spec.dataset is None:
        return rollouts.load(
            spec.rows, folder, scores=wanted, categories=plan.categories, reader=reader
        )
    table = rollouts.load_dataset(
        spec.rows, folder, scores=wanted, categories=plan.categories, reader=reader
    )
    # a data set's numbers are what is asked about, no scores: only those that metrics name
    return replace(
        table,
        scores={name: table.scores[name] for name in wanted},
        notes=tuple(n for n in table.notes if n.partition(":")[0] in wanted),
    )


def _of_one_rollout(spec: BenchmarkSpec) -> bool:
    """Whether each row of a data set has to be a task: nothing says that it is an attempt."""
    return (
        spec.dataset is not None
        and spec.dataset.fields.sample is None
        and spec.num_samples is None
        and spec.expect.rollouts is None
    )


def _each_a_task(table: RolloutTable, *, answered: bool) -> None:
    again = (np.diff(table.task) == 0) & (np.diff(table.agent) == 0)
    if any_of(again):
        task = table.tasks[table.task[np.flatnonzero(again)[0]]]
        raise DataError(
            f"the task {task!r} stands in several rows, of which each would be "
            f"{'answered' if answered else 'scored'} as a task of its own",
            hint="say which key tells them apart: dataset: {path: ..., fields: {task: KEY}}"
            + ("" if answered else "; or, where they are attempts at one task, num_samples"),
        )


def _shuffled(rows: int, seed: int) -> NDArray[np.int64]:
    """Give each row its rank in an order that the seed and the row's number alone decide.

    By hash, because the generators of NumPy may give other numbers in another version.
    Source of the mixing: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom
    Number Generators", OOPSLA 2014 (SplitMix64).
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = (
            np.arange(1, rows + 1, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(2**32)
        ) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    ranks = np.empty(rows, np.int64)
    ranks[np.argsort(z, kind="stable")] = np.arange(rows)
    return ranks


def _repeated(table: RolloutTable, numbered: NDArray[np.int64], samples: int) -> RolloutTable:
    """Let each row stand for so many rollouts."""
    if samples == 1:
        return replace(table, read_as=numbered)
    sample = np.tile(np.arange(samples), len(table))
    return replace(
        table,
        agent=np.repeat(table.agent, samples),
        task=np.repeat(table.task, samples),
        sample=sample,
        scores={name: np.repeat(column, samples) for name, column in table.scores.items()},
        categories={
            name: Category(np.repeat(c.codes, samples), c.labels)
            for name, c in table.categories.items()
        },
        read_as=np.repeat(numbered, samples) * samples + sample,
    )
