"""Tasks of two sides, matched by id and content; ids compare as text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice, repeat
from operator import eq, lt
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import Drift
from pytest_evalmetrics.masks import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, TaskId

__all__ = ["align", "named", "positions"]


def align(current: RolloutTable, baseline: RolloutTable) -> tuple[RolloutTable, Drift]:
    """Give a baseline's tasks the ids that the run has for the same content.

    Parameters
    ----------
    current, baseline
        The rollouts of one agent on each side.

    Returns
    -------
    RolloutTable
        The baseline, its moved tasks under their new ids. An id that stands for another task
        by now is written ``id (as recorded)``.
    Drift
        What differs.

    Notes
    -----
    Tasks are matched by id where the content is the same or unknown, then by content; tasks
    of the same content in the order of their ids.
    """
    at = positions(current.tasks, baseline.tasks)
    now, then = current.contents, baseline.contents
    compares = now is not None and then is not None
    drift = Drift(
        len(baseline.tasks),
        blind=(current.positional or baseline.positional) and not compares,
        unknown=now is not None and then is None,
    )
    places = np.arange(len(current.tasks)) if at is None else at
    matched = places >= 0
    if now is not None and then is not None and len(then):
        theirs = then[places]
        matched &= (now == theirs) | (now == b"") | (theirs == b"")
    if at is None and all_of(matched):
        return baseline, drift
    free = np.ones(len(baseline.tasks), dtype=bool)
    free[places[matched]] = False
    moves = {} if now is None or then is None else _moves(now, then, ~matched, free)
    tasks, ours = list(map(str, baseline.tasks)), list(map(str, current.tasks))
    gone = set(np.flatnonzero(free).tolist()) - set(moves.values())
    new = set(np.flatnonzero(~matched).tolist()) - moves.keys()
    taken = set(ours) if moves or len(new) != int((places < 0).sum()) else set()
    edited = {ours[i] for i in new} & {tasks[i] for i in gone}
    drift = replace(
        drift,
        moved=tuple((tasks[old], ours[mine]) for mine, old in moves.items()),
        edited=tuple(ours[i] for i in sorted(new) if ours[i] in edited),
        lost=tuple(tasks[i] for i in sorted(gone) if tasks[i] not in edited),
        new=tuple(ours[i] for i in sorted(new) if ours[i] not in edited),
    )
    for mine, old in moves.items():
        tasks[old] = ours[mine]
    for old in gone:
        if tasks[old] in taken:
            tasks[old] += " (as recorded)"
    return replace(baseline, tasks=tuple(tasks)), drift


def _moves(
    now: NDArray[np.bytes_],
    then: NDArray[np.bytes_],
    unmatched: NDArray[np.bool_],
    free: NDArray[np.bool_],
) -> dict[int, int]:
    """Match what has another id by its content: places of the run -> of the baseline."""
    waiting: dict[bytes, list[int]] = defaultdict(list)
    for place in np.flatnonzero(free)[::-1].tolist():
        waiting[then[place]].append(place)
    found = {}
    for place in np.flatnonzero(unmatched).tolist():
        content = now[place]
        if content and waiting.get(content):
            found[place] = waiting[content].pop()
    return found


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
