"""Tasks of two sides, matched by their ids; these compare as text."""

from __future__ import annotations

from itertools import islice, repeat
from operator import eq, lt
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.masks import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId

__all__ = ["named", "positions"]


def named(tasks: tuple[TaskId, ...], places: NDArray[np.int64]) -> tuple[TaskId, ...]:
    """Name tasks by their places, ascending."""
    return tasks if len(places) == len(tasks) else tuple(tasks[i] for i in places.tolist())


def positions(tasks: tuple[TaskId, ...], among: tuple[TaskId, ...]) -> NDArray[np.int64] | None:
    """Find each task's place in another list, -1 where it is not there; None if all are alike.

    Parameters
    ----------
    tasks, among
        Ids without repeats, of a table each: all whole numbers, or all text.

    Notes
    -----
    A run's whole numbers are text in its baseline's file. A million of them are matched
    without holding a million texts.
    """
    if tasks == among or (len(tasks) == len(among) and all(map(eq, _texts(tasks), _texts(among)))):
        return None
    numbers, others = _numbers(tasks), _numbers(among)
    if numbers is not None and others is not None:
        return _places(numbers, others)
    texts, names = list(_texts(tasks)), list(_texts(among))
    if _ascend(texts) and _ascend(names):
        return np.fromiter(_merged(texts, names), dtype=np.int64, count=len(texts))
    place = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(place.get, texts, repeat(-1)), dtype=np.int64, count=len(texts))


def _texts(tasks: Sequence[TaskId]) -> Iterator[str]:
    return map(str, tasks)  # a text itself where it is one


def _numbers(tasks: Sequence[TaskId]) -> NDArray[np.int64] | None:
    """Return ids that are whole numbers, or the texts of such; else None."""
    try:
        # "007" is no 7
        if all(map(eq, map(str, map(int, tasks)), _texts(tasks))):
            return np.fromiter(map(int, tasks), dtype=np.int64, count=len(tasks))
    except (ValueError, OverflowError):
        pass
    return None


def _places(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(among):
        return np.full(len(numbers), -1)
    order = None if all_of(among[1:] > among[:-1]) else np.argsort(among)
    at = np.minimum(np.searchsorted(among, numbers, sorter=order), len(among) - 1)
    at = at if order is None else order[at]
    at[among[at] != numbers] = -1
    return at


def _ascend(texts: Sequence[str]) -> bool:
    return all(map(lt, texts, islice(texts, 1, None)))


def _merged(texts: Sequence[str], among: Sequence[str]) -> Iterator[int]:
    """Yield each text's place in another ascending list."""
    place, size = 0, len(among)
    for text in texts:
        while place < size and among[place] < text:
            place += 1
        yield place if place < size and among[place] == text else -1
