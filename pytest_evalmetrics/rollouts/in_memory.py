"""Rewards that a test has at hand -> the table that files are read into."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
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
    given_labels = {name: _labels(name, found, tasks) for name, found in (labels or {}).items()}
    order = _order(tasks)
    counts = np.array([len(rows[i]) for i in order], dtype=np.int64)
    starts = np.cumsum([0, *counts[:-1]])
    notes: list[str] = []
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(int(counts.sum()), np.int32),
        tasks=tuple(tasks[i] for i in order),
        task=np.repeat(np.arange(len(order)), counts),
        sample=np.arange(int(counts.sum())) - np.repeat(starts, counts),
        scores={n: _column(n, [c[i] for i in order], notes) for n, c in columns.items()},
        integers=frozenset(
            n for n, c in columns.items() if all(isinstance(v, int) for v in chain(*c))
        ),
        categories={
            name: _category([found[i] for i in order], counts)
            for name, found in given_labels.items()
        },
        notes=tuple(notes),
    )


def _by_task(given: Any, what: str) -> tuple[list[TaskId], list[list[float | None]]]:
    """Take apart what was given: the tasks' ids, and the numbers of each."""
    if isinstance(given, Mapping):
        tasks = [_task(key, what) for key in given]
        if len(set(tasks)) < len(tasks):
            raise CheckError(f"two keys of {what} are the same task once they are text")
        rows = [_numbers(v, f"{what}[{k!r}]") for k, v in given.items()]
        if len({isinstance(task, str) for task in tasks}) > 1:
            raise CheckError(
                f"the tasks of {what} are numbers and text", hint="give all as text, or none"
            )
        return tasks, rows
    listed = _listed(given, what)
    nested = [_is_sequence(item) for item in listed]
    if any(nested) and not all(nested):
        at = nested.index(not nested[0])
        raise CheckError(
            f"{what}[0] is {_kind(listed[0])} and {what}[{at}] is {_kind(listed[at])}", hint=_FORMS
        )
    if any(nested):
        return list(range(len(listed))), [
            _numbers(item, f"{what}[{i}]") for i, item in enumerate(listed)
        ]
    return list(range(len(listed))), [
        [_number(item, f"{what}[{i}]")] for i, item in enumerate(listed)
    ]


def _listed(given: Any, what: str) -> list[Any]:
    if hasattr(given, "to_numpy"):  # of pandas and polars
        given = given.to_numpy()
    if isinstance(given, np.ndarray):
        if given.ndim not in (1, 2):
            raise CheckError(
                f"{what} has the shape {given.shape}; expected (tasks,) or (tasks, samples)",
                hint=_FORMS,
            )
        return list(given.tolist())
    if _is_sequence(given):
        return list(given)
    raise CheckError(f"{what} is {_kind(given)}, from which no tasks can be told", hint=_FORMS)


def _is_sequence(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _numbers(given: Any, what: str) -> list[float | None]:
    if isinstance(given, np.ndarray):
        if given.ndim > 1:
            raise CheckError(f"{what} has the shape {given.shape}; expected (samples,)")
        given = given.tolist()
    if isinstance(given, AbstractSet | Mapping):
        raise CheckError(f"{what} is {_kind(given)}; expected a list of numbers", hint=_FORMS)
    values = list(given) if _is_sequence(given) else [given]
    # a task of which nothing came back must not be lost
    return [_number(value, f"{what}[{i}]") for i, value in enumerate(values)] or [None]


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    try:
        if isinstance(value, int):
            float(value)  # which tells of one that is too large
            return value
        if isinstance(value, float | numbers.Real):  # or a fraction, say
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


def _order(tasks: list[TaskId]) -> list[int]:
    """Sort as files' tasks are: whole numbers in ascending order, else text."""
    return sorted(range(len(tasks)), key=tasks.__getitem__)


def _aligned(
    given: Any, what: str, tasks: list[TaskId], rows: list[list[float | None]]
) -> list[list[float | None]]:
    found, values = _by_task(given, what)
    by_task = dict(zip(found, values, strict=True))
    if isinstance(given, Mapping):
        other = [task for task in found if task not in set(tasks)]
        lacking = [task for task in tasks if task not in by_task]
        if other or lacking:
            raise CheckError(
                f"{what} has other tasks than rewards: {(other or lacking)[0]!r} is only in "
                f"{what if other else 'rewards'}"
            )
    elif len(found) != len(tasks):
        raise CheckError(f"{what} has {many(len(found), 'task')}, and rewards {len(tasks)}")
    else:
        by_task = dict(zip(tasks, values, strict=True))
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


def _category(labels: list[str], counts: NDArray[np.int64]) -> Category:
    known = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    codes = np.array([known[label] for label in labels], np.int32)
    return Category(np.repeat(codes, counts), tuple(known))


def _column(name: str, rows: list[list[float | None]], notes: list[str]) -> NDArray[np.float64]:
    column = np.array([math.nan if v is None else v for v in chain(*rows)], dtype=np.float64)
    infinite = int(np.isinf(column).sum())
    if infinite:
        column[np.isinf(column)] = math.nan
        notes.append(f"{name}: {infinite} infinite values count as missing")
    return column


def _kind(value: Any) -> str:
    text = repr(value)
    short = text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - a line
    return f"{type(value).__name__} {short}"
