"""Rewards that a test has at hand -> the table that files are read into."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data import Category, RolloutTable
from pytest_evalmetrics.errors import CheckError
from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId

AGENT = "agent"
_FORMS = (
    "give one list of numbers per task, a dict of task to numbers, a NumPy array (tasks x "
    "samples), or a flat list with one number per task"
)


def table_in_memory(
    rewards: Any,
    *,
    scores: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any] | None = None,
    agent: str = AGENT,
) -> RolloutTable:
    """Put rewards into a table."""
    tasks, rows = _by_task(rewards, "rewards")
    if not tasks:
        raise CheckError("rewards holds no task", hint=_FORMS)
    columns = {"reward": rows}
    for name, given in (scores or {}).items():
        columns[name] = _aligned(given, f"scores[{name!r}]", tasks, rows)
    # as files' tasks are: whole numbers in ascending order, else text
    order = sorted(range(len(tasks)), key=tasks.__getitem__)
    counts = np.array([len(rows[i]) for i in order], dtype=np.int64)
    values = {name: list(chain(*(column[i] for i in order))) for name, column in columns.items()}
    categories = {}
    for name, given in (labels or {}).items():
        texts = _labels(name, given, tasks)
        codes: dict[str, int] = {}
        coded = [codes.setdefault(texts[i], len(codes)) for i in order]
        categories[name] = Category(np.repeat(np.array(coded, np.int32), counts), tuple(codes))
    notes: list[str] = []
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(int(counts.sum()), np.int32),
        tasks=tuple(tasks[i] for i in order),
        task=np.repeat(np.arange(len(order)), counts),
        sample=np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts),
        scores={name: _column(name, column, notes) for name, column in values.items()},
        integers=frozenset(
            name for name, column in values.items() if all(isinstance(v, int) for v in column)
        ),
        categories=categories,
        notes=tuple(notes),
    )


def _by_task(given: Any, what: str) -> tuple[list[TaskId], list[list[float | None]]]:
    """Split what was given into the tasks' ids and the numbers of each."""
    if isinstance(given, Mapping):
        tasks = [_task(key, what) for key in given]
        if len(set(tasks)) < len(tasks):
            raise CheckError(f"two keys of {what} are the same task once they are text")
        if len({isinstance(task, str) for task in tasks}) > 1:
            raise CheckError(
                f"the tasks of {what} are numbers and text", hint="give all as text, or none"
            )
        return tasks, [_numbers(v, f"{what}[{k!r}]") for k, v in given.items()]
    listed = _listed(given, what)
    nested = [_is_sequence(item) for item in listed]
    if len(set(nested)) > 1:
        at = nested.index(not nested[0])
        raise CheckError(
            f"{what}[0] is {_kind(listed[0])} and {what}[{at}] is {_kind(listed[at])}", hint=_FORMS
        )
    rows = [_numbers(item, f"{what}[{i}]") for i, item in enumerate(listed)]
    return list(range(len(rows))), rows


def _listed(given: Any, what: str) -> list[Any]:
    if hasattr(given, "to_numpy"):  # of pandas and polars
        given = given.to_numpy()
    if isinstance(given, np.ndarray) and given.ndim not in (1, 2):
        raise CheckError(
            f"{what} has the shape {given.shape}; expected (tasks,) or (tasks, samples)",
            hint=_FORMS,
        )
    if not _is_sequence(given):
        raise CheckError(f"{what} is {_kind(given)}; expected one entry per task", hint=_FORMS)
    return given.tolist() if isinstance(given, np.ndarray) else list(given)


def _is_sequence(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _numbers(given: Any, what: str) -> list[float | None]:
    """Read the numbers of one task, or its only one."""
    if isinstance(given, np.ndarray):
        if given.ndim > 1:
            raise CheckError(f"{what} has the shape {given.shape}; expected (samples,)")
        given = given.tolist()
    if not _is_sequence(given):
        return [_number(given, what)]
    # a task of which nothing came back must not be lost
    return [_number(value, f"{what}[{i}]") for i, value in enumerate(given)] or [None]


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    try:
        if isinstance(value, int):
            float(value)  # refuses one that is too large
            return int(value)
        if isinstance(value, numbers.Real):  # a fraction, say
            return float(value)
    except OverflowError:
        raise CheckError(f"{what} is larger than a number can be here", hint=_FORMS) from None
    raise CheckError(
        f"{what} is {_kind(value)}; expected a number, a boolean, or None", hint=_FORMS
    )


def _task(key: Any, what: str) -> TaskId:
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
        return key
    if isinstance(key, tuple | float | bool):
        return str(key)
    raise CheckError(f"the key {key!r} of {what} can't be a task's id; expected text or a number")


def _aligned(
    given: Any, what: str, tasks: list[TaskId], rows: list[list[float | None]]
) -> list[list[float | None]]:
    """Read the numbers of the same tasks as the rewards', as many of each."""
    keys, values = _by_task(given, what)
    if not isinstance(given, Mapping):
        if len(keys) != len(tasks):
            raise CheckError(f"{what} has {many(len(keys), 'task')}, and rewards {len(tasks)}")
        keys = tasks
    by_task = dict(zip(keys, values, strict=True))
    expected = dict.fromkeys(tasks)
    for holder, these, those in ((what, by_task, expected), ("rewards", expected, by_task)):
        alone = next((task for task in these if task not in those), None)
        if alone is not None:
            raise CheckError(f"{what} has other tasks than rewards: {alone!r} is only in {holder}")
    for task, row in zip(tasks, rows, strict=True):
        if len(by_task[task]) != len(row):
            raise CheckError(
                f"{what} has {many(len(by_task[task]), 'value')} of task {task!r}, and rewards "
                f"{len(row)}"
            )
    return [by_task[task] for task in tasks]


def _labels(name: str, given: Any, tasks: list[TaskId]) -> list[str]:
    if isinstance(given, Mapping):
        lacking = [task for task in tasks if task not in given]
        if lacking:
            raise CheckError(f"labels[{name!r}] has none for task {lacking[0]!r}")
        return [str(given[task]) for task in tasks]
    listed = _listed(given, f"labels[{name!r}]")
    if len(listed) != len(tasks):
        raise CheckError(
            f"labels[{name!r}] has {many(len(listed), 'task')}, and rewards {len(tasks)}"
        )
    return [str(label) for label in listed]


def _column(name: str, values: list[float | None], notes: list[str]) -> NDArray[np.float64]:
    column = np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    infinite = np.isinf(column)
    if infinite.any():
        column[infinite] = math.nan
        notes.append(f"{name}: {infinite.sum()} infinite values count as missing")
    return column


def _kind(value: Any) -> str:
    text = repr(value)
    short = text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - a line
    return f"{type(value).__name__} {short}"
