"""The tasks of a run and of its baseline, matched by id and content."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.model.rollout_table import Drift

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskId

    Places = NDArray[np.int64]
    Contents = NDArray[np.bytes_]


def align(current: RolloutTable, baseline: RolloutTable) -> tuple[RolloutTable, Drift]:
    """Rename a baseline's tasks to the run's ids for the same content; return the drift too.

    Tasks are matched by id if the content is the same or unknown, then by content, in the
    order of ids. An id that now belongs to another task is written ``id (as recorded)``.
    """
    ours = current.contents
    theirs = baseline.contents
    is_positional = current.positional or baseline.positional
    have_content = _tells_apart(ours) and _tells_apart(theirs)
    drift = Drift(
        expected=len(baseline.tasks),
        blind=is_positional and not have_content,
        unknown=ours is not None and theirs is None,
    )
    places = positions(current.tasks, baseline.tasks)
    matched = _matched(places, ours, theirs)
    if matched.all() and are_all(places, len(baseline.tasks)):
        return structs.replace(baseline, tasks=current.tasks), drift
    match = _Match.of(places, matched, ours, theirs, count=len(baseline.tasks))
    return match.renamed(current, baseline), match.described(current, baseline, drift)


def positions(tasks: tuple[TaskId, ...], among: tuple[TaskId, ...]) -> Places:
    """Find each task's place in another list, -1 where it is not there; ids compare as text."""
    if tasks == among:
        return np.arange(len(tasks))
    in_order = _positions_in_order(tasks, among)
    if in_order is not None:
        return in_order
    place_of = {str(task): place for place, task in enumerate(among)}
    places = (place_of.get(str(task), -1) for task in tasks)
    return np.fromiter(places, dtype=np.int64, count=len(tasks))


def _positions_in_order(
    tasks: tuple[TaskId, ...], among: tuple[TaskId, ...]
) -> Places | None:
    """Find tasks among others in two passes; None if they are not there in such an order.

    Tasks that a run lost follow the others where they are added at their worst. A
    dictionary of a million ids takes 100 MB.
    """
    places = array("q")
    others = _numbered(among)
    passes_left = 1
    for task in map(str, tasks):
        place = _next_place(others, task)
        if place < 0 and passes_left:
            others = _numbered(among)
            passes_left -= 1
            place = _next_place(others, task)
        if place < 0:
            return None
        places.append(place)
    return np.array(places, dtype=np.int64)


def _numbered(tasks: tuple[TaskId, ...]) -> Iterator[tuple[int, str]]:
    return enumerate(map(str, tasks))


def _next_place(others: Iterator[tuple[int, str]], task: str) -> int:
    """Find a task among those that follow; -1 where it is none of them."""
    for place, other in others:
        if other == task:
            return place
    return -1


def are_all(places: Places, count: int) -> bool:
    """Check whether places are those of all of so many tasks, in order."""
    return len(places) == count and bool((places == np.arange(count)).all())


def _tells_apart(contents: Contents | None) -> bool:
    """Check whether contents are known and distinguish most tasks."""
    if contents is None:
        return False
    different = len(set(contents.tolist()))
    return 2 * different > len(contents)


def _matched(
    places: Places, ours: Contents | None, theirs: Contents | None
) -> NDArray[np.bool_]:
    """Find the tasks whose id is in the baseline, with the same or unknown content."""
    matched = places >= 0
    if ours is None or theirs is None or not len(theirs):
        return matched
    recorded = theirs[places]
    agrees: NDArray[np.bool_] = (ours == recorded) | (ours == b"") | (recorded == b"")
    return matched & agrees


class _Match(msgspec.Struct, frozen=True):
    """Which tasks of a run and its baseline belong together where ids alone don't say.

    Attributes
    ----------
    moved
        Places of the run's tasks -> places in the baseline, of the same content.
    new
        Places of the run's tasks that the baseline doesn't have.
    gone
        Places in the baseline of tasks that the run doesn't have.
    ids_are_ours
        Whether an id of the baseline may belong to another task of the run now.
    """

    moved: Mapping[int, int]
    new: frozenset[int]
    gone: frozenset[int]
    ids_are_ours: bool

    @classmethod
    def of(
        cls,
        places: Places,
        matched: NDArray[np.bool_],
        ours: Contents | None,
        theirs: Contents | None,
        *,
        count: int,
    ) -> _Match:
        """Match the tasks that are left by their content; `count` is the baseline's."""
        free = np.ones(count, dtype=bool)
        free[places[matched]] = False
        left = np.flatnonzero(~matched)
        moved: dict[int, int] = {}
        if ours is not None and theirs is not None:
            moved = _moves(left, np.flatnonzero(free), ours, theirs)
        new = frozenset(left.tolist()) - moved.keys()
        gone = frozenset(np.flatnonzero(free).tolist()) - frozenset(moved.values())
        has_edited = len(new) != int((places < 0).sum())
        return cls(moved, new, gone, ids_are_ours=bool(moved) or has_edited)

    def renamed(self, current: RolloutTable, baseline: RolloutTable) -> RolloutTable:
        """Return the baseline with the run's ids of the tasks that moved."""
        taken: set[str] = set()
        if self.ids_are_ours:
            taken = set(map(str, current.tasks))
        tasks = [str(task) for task in baseline.tasks]
        for place in self.gone:
            if tasks[place] in taken:
                tasks[place] += " (as recorded)"
        for our_place, their_place in self.moved.items():
            tasks[their_place] = str(current.tasks[our_place])
        renamed = tuple(tasks)
        if renamed == baseline.tasks:
            return baseline
        return structs.replace(baseline, tasks=renamed)

    def described(
        self, current: RolloutTable, baseline: RolloutTable, drift: Drift
    ) -> Drift:
        """Complete the drift with the tasks that moved, and those of one side alone."""
        ours = current.tasks
        theirs = baseline.tasks
        new = [str(ours[place]) for place in sorted(self.new)]
        gone = [str(theirs[place]) for place in sorted(self.gone)]
        moved = [
            (str(theirs[their_place]), str(ours[our_place]))
            for our_place, their_place in self.moved.items()
        ]
        edited = set(new) & set(gone)
        return structs.replace(
            drift,
            moved=tuple(moved),
            edited=tuple(task for task in new if task in edited),
            lost=tuple(task for task in gone if task not in edited),
            new=tuple(task for task in new if task not in edited),
        )


def _moves(
    left: NDArray[np.intp], free: NDArray[np.intp], ours: Contents, theirs: Contents
) -> dict[int, int]:
    """Match tasks of equal content, the first with the first; an unknown one matches none."""
    waiting: dict[bytes, list[int]] = defaultdict(list)
    for place in free[::-1].tolist():
        waiting[theirs[place]].append(place)
    moves: dict[int, int] = {}
    for place in left.tolist():
        content = ours[place]
        if content and waiting.get(content):
            moves[place] = waiting[content].pop()
    return moves
