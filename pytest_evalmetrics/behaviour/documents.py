"""Behaviour as a baseline keeps it: a line a task, made for reading in a pull request."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_evalmetrics.behaviour.columns import (
    ANSWER,
    CALLS,
    TEXTS,
    texts_of,
    with_columns,
)
from pytest_evalmetrics.behaviour.fingerprint import FAILED, seen_calls
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import BehaviourDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.model.baseline import Cell
    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_DIGITS: Final = 4


def described(table: RolloutTable, *, texts: bool = False) -> BehaviourDocument:
    """Describe the behaviour of one agent, see `BehaviourDocument`.

    `texts` says that its answers are texts, and not sketches.
    """
    calls, shapes = _short_calls(texts_of(table, CALLS))
    zeros: list[str] = []
    columns: dict[str, Sequence[Cell]] = {CALLS: calls}
    for name in TEXTS:
        if name != CALLS:
            columns[name] = texts_of(table, name)
    for name, numbers in table.scores.items():
        if np.any(numbers != 0):
            columns[name] = _cells(numbers)
        else:
            zeros.append(name)
    rows = list(zip(*columns.values(), strict=True))
    bounds = pairwise(table.offsets.tolist())
    tasks = {
        str(task): tuple(rows[start:stop])
        for task, (start, stop) in zip(table.tasks, bounds, strict=True)
    }
    return BehaviourDocument(
        summary=_summary(table),
        shapes=shapes,
        columns=tuple(columns),
        texts=texts,
        zeros=tuple(zeros),
        tasks=tasks,
    )


def _cells(column: Floats) -> list[Cell]:
    return [_cell(value) for value in column.tolist()]


def _cell(value: float) -> Cell:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


def _summary(table: RolloutTable) -> dict[str, float]:
    """Return the mean of each number, and the share of rollouts that call each tool."""
    summary: dict[str, float] = {}
    for name, column in table.scores.items():
        numbers = column[~np.isnan(column)]
        if numbers.size and numbers.any():
            summary[name] = float(f"{numbers.mean():.{_DIGITS}g}")
    rollouts: Counter[str] = Counter()
    for written in texts_of(table, CALLS):
        rollouts.update({call.name for call in seen_calls(written)})
    for tool in sorted(rollouts):
        share = rollouts[tool] / len(table)
        summary[f"calls {tool}"] = float(f"{share:.{_DIGITS}g}")
    return summary


# -- calls -----------------------------------------------------------------------------------


def _short_calls(sequences: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Write calls by their names: ``search search.2 book!``; return the shapes of each."""
    names = _short_names(_counted_shapes(sequences))
    legend = {short: f"{tool}({shape})" for (tool, shape), short in names.items()}
    short_of: dict[str, str] = {}
    for written in set(sequences):
        calls: list[str] = []
        for call in seen_calls(written):
            short = names[call.name, call.shape]
            calls.append(short + FAILED if call.has_failed else short)
        short_of[written] = " ".join(calls)
    return [short_of[written] for written in sequences], legend


def _counted_shapes(sequences: Sequence[str]) -> dict[str, Counter[str]]:
    """Count the shapes of each tool's calls."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for written in sequences:
        for call in seen_calls(written):
            counts[call.name][call.shape] += 1
    return counts


def _short_names(counts: Mapping[str, Counter[str]]) -> dict[tuple[str, str], str]:
    """Name the calls of a tool by its name, and a number for all shapes but the usual one."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for tool in sorted(counts):
        shapes = counts[tool]
        ranked = sorted(shapes, key=lambda shape: (-shapes[shape], shape))
        for number, shape in enumerate(ranked, 1):
            short = tool if number == 1 else f"{tool}.{number}"
            while short in taken:
                short += "_"
            taken.add(short)
            names[tool, shape] = short
    return names


def _whole_calls(written: str, shapes: Mapping[str, str]) -> str:
    calls: list[str] = []
    for short in written.split():
        name = short.removesuffix(FAILED)
        whole = shapes[name]
        calls.append(whole + FAILED if short.endswith(FAILED) else whole)
    return " ".join(calls)


# -- back ------------------------------------------------------------------------------------


def recorded(
    document: BehaviourDocument,
    table: RolloutTable,
    *,
    own: Sequence[str] = (),
    has_texts: bool = False,
) -> RolloutTable:
    """Return the columns of a baseline's behaviour, for the rollouts that it is of.

    `own` are the features that are not built in: those that the baseline lacks have no
    value. Answers that it keeps in the other form than asked for, as texts or as sketches,
    are left out. BaselineError says that both parts of the baseline hold other rollouts.
    """
    table = _rollouts_of(document, table)
    columns = _columns_of(document, table)
    try:
        texts = _texts_in(document, columns)
        numbers = _numbers_in(columns)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"its behaviour can't be read: {error!r}") from None
    if document.texts is not has_texts:
        texts[ANSWER] = [""] * len(table)
    for name in document.zeros:
        numbers[name] = np.zeros(len(table))
    for name in own:
        numbers.setdefault(name, np.full(len(table), np.nan))
    return with_columns(table, numbers, texts)


def _rollouts_of(document: BehaviourDocument, table: RolloutTable) -> RolloutTable:
    """Keep the tasks whose behaviour a baseline holds, which may be a sample."""
    is_kept = np.array(
        [str(task) in document.tasks for task in table.tasks], dtype=bool
    )
    table = table.where(is_kept[table.task])
    if len(table.tasks) != len(document.tasks):
        raise _damaged("its behaviour is of tasks that its scores lack")
    counts = [len(document.tasks[str(task)]) for task in table.tasks]
    if not np.array_equal(np.array(counts), table.counts):
        raise _damaged(
            "its behaviour is not of the same tasks and rollouts as its scores"
        )
    return table


def _columns_of(
    document: BehaviourDocument, table: RolloutTable
) -> dict[str, list[Cell]]:
    """Return a baseline's columns by name, each with one cell a rollout of a table."""
    rows = list(chain.from_iterable(document.tasks[str(task)] for task in table.tasks))
    if any(len(row) != len(document.columns) for row in rows):
        raise _damaged("its behaviour has rows of different lengths")
    return {
        name: [row[place] for row in rows]
        for place, name in enumerate(document.columns)
    }


def _texts_in(
    document: BehaviourDocument, columns: Mapping[str, list[Cell]]
) -> dict[str, list[str]]:
    """Read the columns of texts; KeyError for one that is missing."""
    texts = {name: [str(cell or "") for cell in columns[name]] for name in TEXTS}
    texts[CALLS] = [_whole_calls(written, document.shapes) for written in texts[CALLS]]
    return texts


def _numbers_in(columns: Mapping[str, list[Cell]]) -> dict[str, Floats]:
    """Read the columns of numbers; TypeError or ValueError for a cell that is none."""
    numbers: dict[str, Floats] = {}
    for name, cells in columns.items():
        if name not in TEXTS:
            numbers[name] = np.array(cells, dtype=np.float64)
    return numbers


def _damaged(what: str) -> BaselineError:
    return BaselineError(
        f"this baseline is damaged: {what}",
        hint="record a new one with `pytest --evalmetrics-update`",
    )
