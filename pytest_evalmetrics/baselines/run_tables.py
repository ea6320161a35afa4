"""The rollouts that a baseline keeps, as tables: one of each run of each agent."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.baselines.document import invalid
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.model.rollout_table import (
    HASH_SIZE,
    MISSING,
    Category,
    RolloutTable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.baseline import (
        AgentDocument,
        BaselineDocument,
        Cell,
        Cells,
        Tasks,
    )

    # task -> column -> a cell per rollout
    RunTasks = Mapping[str, Mapping[str, Sequence[Cell]]]


@collector_paused()
def tables(
    baseline: BaselineDocument, *, file: str
) -> dict[str, tuple[RolloutTable, ...]]:
    """Return the tables of each agent's runs, the newest last; task ids are text."""
    by_agent: dict[str, tuple[RolloutTable, ...]] = {}
    for name, agent in baseline.agents.items():
        runs = _runs(agent.tasks, name, file)
        by_agent[name] = tuple([_table(name, agent, run, file) for run in runs])
    return by_agent


# -- the runs of an agent --------------------------------------------------------------------


def _runs(tasks: Tasks, agent: str, file: str) -> list[RunTasks]:
    """Take the runs of an agent apart."""
    count = _count_of_runs(tasks)
    if count is None:
        return [_single_run(tasks, agent, file)]
    runs: list[dict[str, dict[str, tuple[Cell, ...]]]] = [{} for _ in range(count)]
    for task, columns in tasks.items():
        for name, cells in columns.items():
            of_runs = [cell for cell in cells if isinstance(cell, tuple)]
            if not len(of_runs) == len(cells) == count:
                what = f"task {task!r} of {agent} has not the numbers of {count} runs"
                raise invalid(what, file)
            for run, of_run in zip(runs, of_runs, strict=True):
                run.setdefault(task, {})[name] = of_run
    return [*runs]


def _count_of_runs(tasks: Tasks) -> int | None:
    """Count the runs of the first column; None if it is of one run."""
    for columns in tasks.values():
        for cells in columns.values():
            if cells and isinstance(cells[0], tuple):
                return len(cells)
            return None
    return None


def _single_run(tasks: Tasks, agent: str, file: str) -> RunTasks:
    run: dict[str, dict[str, Sequence[Cell]]] = {}
    for task, columns in tasks.items():
        run[task] = {
            name: _cells_of_one_run(cells, agent, file)
            for name, cells in columns.items()
        }
    return run


def _cells_of_one_run(cells: Cells, agent: str, file: str) -> list[Cell]:
    plain = [cell for cell in cells if not isinstance(cell, tuple)]
    if len(plain) != len(cells):
        raise invalid(
            f"some tasks of {agent} have the numbers of several runs, and some of one",
            file,
        )
    return plain


# -- one run ---------------------------------------------------------------------------------


def _table(name: str, agent: AgentDocument, tasks: RunTasks, file: str) -> RolloutTable:
    counts = _rollouts_of_tasks(name, tasks, file)
    starts = np.cumsum([0, *counts])
    total = int(starts[-1])
    scores: dict[str, NDArray[np.float64]] = {}
    categories: dict[str, Category] = {}
    for column in _column_names(tasks):
        cells = list(chain.from_iterable(task[column] for task in tasks.values()))
        if any(isinstance(cell, str) for cell in cells):
            categories[column] = _category(cells, f"{column!r} of {name}", file)
        else:
            # None becomes NaN
            scores[column] = np.array(cells, dtype=np.float64)
    return RolloutTable(
        agents=(name,),
        agent=np.zeros(total, dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.arange(total) - np.repeat(starts[:-1], counts),
        scores=scores,
        categories=categories,
        content=_content(name, agent, tasks, counts, file),
        positional=agent.ids == "positions",
    )


def _column_names(tasks: RunTasks) -> list[str]:
    first = next(iter(tasks.values()), {})
    return list(first)


def _rollouts_of_tasks(name: str, tasks: RunTasks, file: str) -> list[int]:
    """Count each task's rollouts; every column of a task has one cell for each."""
    names = set(_column_names(tasks))
    counts: list[int] = []
    for task, columns in tasks.items():
        lengths = {len(cells) for cells in columns.values()}
        if columns.keys() != names or len(lengths) > 1:
            what = f"task {task!r} of {name} has scores of different lengths or names"
            raise invalid(what, file)
        counts.append(max(lengths, default=0))
    return counts


def _category(cells: Sequence[Cell], where: str, file: str) -> Category:
    """Give the labels of a column codes, in the order of their first occurrence."""
    labels: list[str] = []
    for cell in dict.fromkeys(cells):
        if cell is None:
            labels.append(MISSING)
        elif isinstance(cell, str):
            labels.append(cell)
        else:
            raise invalid(f"{where} holds labels and numbers", file)
    codes = {cell: code for code, cell in enumerate(dict.fromkeys(cells))}
    return Category(
        codes=np.array([codes[cell] for cell in cells], dtype=np.int32),
        labels=tuple(labels),
    )


def _content(
    name: str,
    agent: AgentDocument,
    tasks: RunTasks,
    counts: Sequence[int],
    file: str,
) -> NDArray[np.bytes_] | None:
    """Return the hash of each rollout's task; None if the baseline holds none."""
    if not agent.content:
        return None
    hashes = [agent.content.get(task, "") for task in tasks]
    if not all(text.isascii() for text in hashes):
        what = f"a hash of the content of a task of {name} is damaged"
        raise invalid(what, file)
    return np.array(hashes, dtype=f"S{HASH_SIZE}").repeat(counts)
