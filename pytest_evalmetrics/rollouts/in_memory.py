"""Rewards that a test has at hand -> the table that files are read into."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence

import numpy as np

from pytest_evalmetrics.errors import CheckError
from pytest_evalmetrics.layout import many, shortened
from pytest_evalmetrics.model.rollout_notes import NumbersCountAsMissing
from pytest_evalmetrics.model.rollout_table import Category, RolloutTable, TaskId

_FORMS = (
    "give one list of numbers per task, a dict of task to numbers, a NumPy array (tasks x "
    "samples), or a flat list with one number per task"
)


def table_in_memory(
    rewards: object,
    *,
    scores: Mapping[str, object] | None = None,
    labels: Mapping[str, object] | None = None,
    agent: str = "agent",
) -> RolloutTable:
    """Put rewards into a table."""
    by_task = _by_task(rewards, "rewards")
    if not by_task:
        raise CheckError("rewards holds no task", hint=_FORMS)
    columns = {"reward": by_task}
    if "reward" in (scores or {}):
        raise CheckError(
            "scores holds a 'reward' beside rewards", hint="give it another name"
        )
    for name, given in (scores or {}).items():
        columns[name] = _aligned(given, f"scores[{name!r}]", by_task)
    # as files' tasks are: whole numbers in ascending order, else text
    tasks = tuple(sorted(by_task))
    values = {
        name: [v for t in tasks for v in column[t]] for name, column in columns.items()
    }
    task = np.repeat(np.arange(len(tasks)), [len(by_task[t]) for t in tasks])
    categories = {}
    for name, given in (labels or {}).items():
        label_of = _keyed(given, f"labels[{name!r}]", by_task)
        lacking = next((task for task in tasks if task not in label_of), None)
        if lacking is not None:
            raise CheckError(f"labels[{name!r}] has none for task {lacking!r}")
        texts = [str(label_of[task]) for task in tasks]
        codes = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        coded = np.array([codes[text] for text in texts], np.int32)
        categories[name] = Category(coded[task], tuple(codes))
    arrays = {
        name: np.array(column, np.float64) for name, column in values.items()
    }  # None is NaN
    notes = []
    for name, array in arrays.items():
        infinite = np.isinf(array)
        if infinite.any():
            array[infinite] = math.nan
            note = NumbersCountAsMissing(
                score=name, what="infinite", values=int(infinite.sum())
            )
            notes.append(note)
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(len(task), np.int32),
        tasks=tasks,
        task=task,
        sample=np.arange(len(task)) - np.searchsorted(task, task),
        scores=arrays,
        integers=frozenset(
            name
            for name, column in values.items()
            if all(isinstance(v, int) for v in column)
        ),
        categories=categories,
        notes=tuple(notes),
    )


def _by_task(given: object, what: str) -> dict[TaskId, list[float | None]]:
    """Split what was given into the numbers of each task."""
    if isinstance(given, Mapping):
        rows = {_task(k, what): _numbers(v, f"{what}[{k!r}]") for k, v in given.items()}
        if len(rows) < len(given):
            raise CheckError(f"two keys of {what} are the same task once they are text")
        if len({isinstance(task, str) for task in rows}) > 1:
            raise CheckError(
                f"the tasks of {what} are numbers and text",
                hint="give all as text, or none",
            )
        return rows
    entries = _entries(given, what)
    nested = [_sequence(entry) is not None for entry in entries]
    if len(set(nested)) > 1:
        at = nested.index(not nested[0])
        kinds = (
            f"{what}[0] is {_kind(entries[0])} and {what}[{at}] is {_kind(entries[at])}"
        )
        raise CheckError(kinds, hint=_FORMS)
    return {i: _numbers(entry, f"{what}[{i}]") for i, entry in enumerate(entries)}


def _entries(given: object, what: str) -> list[object]:
    if hasattr(given, "to_numpy"):  # of pandas and polars
        given = given.to_numpy()
    if isinstance(given, np.ndarray) and given.ndim not in (1, 2):
        expected = "expected (tasks,) or (tasks, samples)"
        raise CheckError(f"{what} has the shape {given.shape}; {expected}", hint=_FORMS)
    entries = _sequence(given)
    if entries is None:
        raise CheckError(
            f"{what} is {_kind(given)}; expected one entry per task", hint=_FORMS
        )
    return entries


def _sequence(value: object) -> list[object] | None:
    """List the entries of a sequence or an array; None for a single value."""
    if isinstance(value, np.ndarray):
        return list(value.tolist()) if value.ndim > 0 else None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    return None


def _numbers(given: object, what: str) -> list[float | None]:
    """Read the numbers of one task, or its only one."""
    if isinstance(given, np.ndarray) and given.ndim > 1:
        raise CheckError(f"{what} has the shape {given.shape}; expected (samples,)")
    entries = _sequence(given)
    if entries is None:
        return [_number(given, what)]
    # a task without any result must not be lost
    return [_number(value, f"{what}[{i}]") for i, value in enumerate(entries)] or [None]


def _number(value: object, what: str) -> float | None:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return None
    whole = int(value) if isinstance(value, int) else None
    if not isinstance(value, numbers.Real):
        raise CheckError(
            f"{what} is {_kind(value)}; expected a number, a boolean, or None",
            hint=_FORMS,
        )
    try:
        number = float(value)
    except OverflowError:
        raise CheckError(
            f"{what} is larger than a number can be here", hint=_FORMS
        ) from None
    return number if whole is None else whole


def _task(key: object, what: str) -> TaskId:
    key = key.item() if isinstance(key, np.generic) else key
    if isinstance(key, tuple | float | bool):
        return str(key)
    if isinstance(key, str | int):
        return key
    raise CheckError(
        f"the key {key!r} of {what} can't be a task's id; expected text or a number"
    )


def _keyed(
    given: object, what: str, tasks: Mapping[TaskId, list[float | None]]
) -> Mapping[object, object]:
    """Pair each entry of a list with the task at its place."""
    if isinstance(given, Mapping):
        return given
    entries = _entries(given, what)
    if len(entries) != len(tasks):
        raise CheckError(
            f"{what} has {many(len(entries), 'task')}, and rewards {len(tasks)}"
        )
    return dict(zip(tasks, entries, strict=True))


def _aligned(
    given: object, what: str, expected: Mapping[TaskId, list[float | None]]
) -> dict[TaskId, list[float | None]]:
    """Read the numbers of the same tasks as the rewards', as many of each."""
    by_task = _by_task(_keyed(given, what, expected), what)
    for holder, these, those in (
        (what, by_task, expected),
        ("rewards", expected, by_task),
    ):
        alone = next((task for task in these if task not in those), None)
        if alone is not None:
            raise CheckError(
                f"{what} has other tasks than rewards: {alone!r} is only in {holder}"
            )
    for task, row in expected.items():
        if len(by_task[task]) != len(row):
            values = many(len(by_task[task]), "value")
            raise CheckError(
                f"{what} has {values} of task {task!r}, and rewards {len(row)}"
            )
    return by_task


def _kind(value: object) -> str:
    return f"{type(value).__name__} {shortened(repr(value), 39)}"
