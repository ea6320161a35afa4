"""Rewards that a test has at hand -> the table that files are read into."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pytest_evalmetrics.errors import CheckError
from pytest_evalmetrics.layout import many, shortened
from pytest_evalmetrics.model.rollout_notes import NumbersCountAsMissing
from pytest_evalmetrics.model.rollout_table import Category, RolloutTable, TaskId

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The numbers of one task, None where a rollout has none.
_Numbers: TypeAlias = list[float | None]

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
    by_score = {"reward": by_task, **_other_scores(scores or {}, by_task)}
    # as files' tasks are: whole numbers in ascending order, else text
    tasks = tuple(sorted(by_task))
    lengths = [len(by_task[task]) for task in tasks]
    task = np.repeat(np.arange(len(tasks)), lengths)
    categories = {}
    for name, given in (labels or {}).items():
        texts = _label_of_each_task(given, f"labels[{name!r}]", by_task, tasks)
        categories[name] = _category(texts, task)
    columns: dict[str, NDArray[np.float64]] = {}
    integers = set()
    notes = []
    for name, numbers_of in by_score.items():
        values = list(chain.from_iterable(numbers_of[task] for task in tasks))
        if all(isinstance(value, int) for value in values):
            integers.add(name)
        # None becomes NaN
        column = np.array(values, np.float64)
        infinite = np.isinf(column)
        if infinite.any():
            column[infinite] = math.nan
            count = int(infinite.sum())
            notes.append(
                NumbersCountAsMissing(score=name, what="infinite", values=count)
            )
        columns[name] = column
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(len(task), np.int32),
        tasks=tasks,
        task=task,
        sample=np.arange(len(task)) - np.searchsorted(task, task),
        scores=columns,
        integers=frozenset(integers),
        categories=categories,
        notes=tuple(notes),
    )


def _other_scores(
    scores: Mapping[str, object], rewards: Mapping[TaskId, _Numbers]
) -> dict[str, dict[TaskId, _Numbers]]:
    """Read the scores that are given beside the rewards, of the same tasks."""
    if "reward" in scores:
        raise CheckError(
            "scores holds a 'reward' beside rewards", hint="give it another name"
        )
    return {
        name: _aligned(given, f"scores[{name!r}]", rewards)
        for name, given in scores.items()
    }


def _label_of_each_task(
    given: object,
    what: str,
    rewards: Mapping[TaskId, _Numbers],
    tasks: Sequence[TaskId],
) -> list[str]:
    """Return the labels of the tasks in their order."""
    label_of = _keyed(given, what, rewards)
    for task in tasks:
        if task not in label_of:
            raise CheckError(f"{what} has none for task {task!r}")
    return [str(label_of[task]) for task in tasks]


def _category(labels: Sequence[str], task: NDArray[np.int64]) -> Category:
    """Encode the labels of tasks, for each rollout that of its task."""
    names = tuple(dict.fromkeys(labels))
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of[label] for label in labels], np.int32)
    return Category(codes[task], names)


def _by_task(given: object, what: str) -> dict[TaskId, _Numbers]:
    """Split what was given into the numbers of each task."""
    if isinstance(given, Mapping):
        return _by_key(given, what)
    entries = _entries(given, what)
    is_nested = [_sequence(entry) is not None for entry in entries]
    if len(set(is_nested)) > 1:
        other = is_nested.index(not is_nested[0])
        first_kind = f"{what}[0] is {_kind(entries[0])}"
        other_kind = f"{what}[{other}] is {_kind(entries[other])}"
        raise CheckError(f"{first_kind} and {other_kind}", hint=_FORMS)
    return {
        index: _numbers(entry, f"{what}[{index}]")
        for index, entry in enumerate(entries)
    }


def _by_key(given: Mapping[object, object], what: str) -> dict[TaskId, _Numbers]:
    """Read a mapping of tasks to their numbers."""
    by_task: dict[TaskId, _Numbers] = {}
    for key, value in given.items():
        by_task[_task(key, what)] = _numbers(value, f"{what}[{key!r}]")
    if len(by_task) < len(given):
        raise CheckError(f"two keys of {what} are the same task once they are text")
    if len({isinstance(task, str) for task in by_task}) > 1:
        raise CheckError(
            f"the tasks of {what} are numbers and text",
            hint="give all as text, or none",
        )
    return by_task


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
        if value.ndim == 0:
            return None
        return list(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    return None


def _numbers(given: object, what: str) -> _Numbers:
    """Read the numbers of one task, or its only one."""
    if isinstance(given, np.ndarray) and given.ndim > 1:
        raise CheckError(f"{what} has the shape {given.shape}; expected (samples,)")
    entries = _sequence(given)
    if entries is None:
        return [_number(given, what)]
    if not entries:
        # a task without any result must not be lost
        return [None]
    return [_number(value, f"{what}[{i}]") for i, value in enumerate(entries)]


def _number(given: object, what: str) -> float | None:
    """Read a number; a whole one stays whole."""
    value = _builtin(given)
    if value is None:
        return None
    if not isinstance(value, int | numbers.Real):
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
    if isinstance(value, int):
        return int(value)
    return number


def _builtin(value: object) -> object:
    """Return the Python value of a NumPy scalar, and any other value as it is."""
    if isinstance(value, np.generic):
        return value.item()
    return value


def _task(given: object, what: str) -> TaskId:
    key = _builtin(given)
    if isinstance(key, tuple | float | bool):
        return str(key)
    if isinstance(key, str | int):
        return key
    raise CheckError(
        f"the key {key!r} of {what} can't be a task's id; expected text or a number"
    )


def _keyed(
    given: object, what: str, tasks: Mapping[TaskId, _Numbers]
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
    given: object, what: str, expected: Mapping[TaskId, _Numbers]
) -> dict[TaskId, _Numbers]:
    """Read the numbers of the same tasks as the rewards', as many of each."""
    by_task = _by_task(_keyed(given, what, expected), what)
    _must_have_no_more(by_task, expected, what, what)
    _must_have_no_more(expected, by_task, what, "rewards")
    for task, row in expected.items():
        if len(by_task[task]) != len(row):
            values = many(len(by_task[task]), "value")
            raise CheckError(
                f"{what} has {values} of task {task!r}, and rewards {len(row)}"
            )
    return by_task


def _must_have_no_more(
    tasks: Mapping[TaskId, _Numbers],
    others: Mapping[TaskId, _Numbers],
    what: str,
    holder: str,
) -> None:
    """Refuse scores of other tasks than the rewards'; `holder` has the first tasks."""
    for task in tasks:
        if task not in others:
            raise CheckError(
                f"{what} has other tasks than rewards: {task!r} is only in {holder}"
            )


def _kind(value: object) -> str:
    return f"{type(value).__name__} {shortened(repr(value), 39)}"
