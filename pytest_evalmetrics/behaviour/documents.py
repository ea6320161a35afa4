"""Behaviour as a baseline keeps it: a line a task, made for reading in a pull request."""

from __future__ import annotations

import math
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
    written, shapes = _short_calls(texts_of(table, CALLS))
    zeros = tuple(
        name for name, column in table.scores.items() if not np.any(column != 0)
    )
    names = [name for name in table.scores if name not in zeros]
    columns: list[Sequence[Cell]] = [written]
    columns += [texts_of(table, name) for name in TEXTS if name != CALLS]
    columns += [_cells(table.scores[name]) for name in names]
    rows = list(zip(*columns, strict=True))
    bounds = pairwise(table.offsets.tolist())
    tasks = {
        str(task): tuple(rows[start:stop])
        for task, (start, stop) in zip(table.tasks, bounds, strict=True)
    }
    return BehaviourDocument(
        summary=_summary(table),
        shapes=shapes,
        columns=(CALLS, *[name for name in TEXTS if name != CALLS], *names),
        texts=texts,
        zeros=zeros,
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
    counts: dict[str, int] = {}
    for written in texts_of(table, CALLS):
        for tool in {call.name for call in seen_calls(written)}:
            counts[tool] = counts.get(tool, 0) + 1
    for tool in sorted(counts):
        share = counts[tool] / len(table)
        summary[f"calls {tool}"] = float(f"{share:.{_DIGITS}g}")
    return summary


# -- calls -----------------------------------------------------------------------------------


def _short_calls(sequences: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Write calls by their names: ``search search.2 book!``; return the shapes of each."""
    counts: dict[str, dict[str, int]] = {}
    for written in sequences:
        for call in seen_calls(written):
            shapes = counts.setdefault(call.name, {})
            shapes[call.shape] = shapes.get(call.shape, 0) + 1
    names: dict[tuple[str, str], str] = {}
    legend: dict[str, str] = {}
    for tool in sorted(counts):
        shapes = counts[tool]
        ranked = sorted(shapes, key=lambda shape: (-shapes[shape], shape))
        for number, shape in enumerate(ranked, 1):
            short = tool if number == 1 else f"{tool}.{number}"
            while short in legend:
                short += "_"
            names[tool, shape] = short
            legend[short] = f"{tool}({shape})"
    short_of: dict[str, str] = {}
    for written in set(sequences):
        short_of[written] = " ".join(
            names[call.name, call.shape] + (FAILED if call.has_failed else "")
            for call in seen_calls(written)
        )
    return [short_of[written] for written in sequences], legend


def _whole_calls(written: object, shapes: Mapping[str, str]) -> str:
    calls = []
    for short in str(written).split():
        name = short.removesuffix(FAILED)
        mark = FAILED if short.endswith(FAILED) else ""
        calls.append(f"{shapes[name]}{mark}")
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
    kept = np.array([str(task) in document.tasks for task in table.tasks], dtype=bool)
    table = table.where(kept[table.task])
    if len(table.tasks) != len(document.tasks):
        raise _damaged("its behaviour is of tasks that its scores lack")
    rows = [document.tasks[str(task)] for task in table.tasks]
    counts = np.array([len(of_task) for of_task in rows])
    if not np.array_equal(counts, table.counts):
        raise _damaged(
            "its behaviour is not of the same tasks and rollouts as its scores"
        )
    names = document.columns
    cells = list(chain.from_iterable(rows))
    if any(len(row) != len(names) for row in cells):
        raise _damaged("its behaviour has rows of different lengths")
    by_name = {name: [row[place] for row in cells] for place, name in enumerate(names)}
    try:
        texts = {
            name: [str(cell or "") for cell in by_name.pop(name)] for name in TEXTS
        }
        if document.texts is not has_texts:
            texts[ANSWER] = [""] * len(table)
        texts[CALLS] = [_whole_calls(cell, document.shapes) for cell in texts[CALLS]]
        numbers = {
            name: np.array(column, dtype=np.float64) for name, column in by_name.items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"its behaviour can't be read: {error!r}") from None
    for name in document.zeros:
        numbers[name] = np.zeros(len(table))
    for name in own:
        numbers.setdefault(name, np.full(len(table), np.nan))
    return with_columns(table, numbers, texts)


def _damaged(what: str) -> BaselineError:
    return BaselineError(
        f"this baseline is damaged: {what}",
        hint="record a new one with `pytest --evalmetrics-update`",
    )
