"""Checks and changes with the first names of long lists alone, for readers with little room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.changes import TasksFlipped

if TYPE_CHECKING:
    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.comparison import TaskGroup
    from pytest_evalmetrics.model.results import Check

_NAMED = 3
# the lists whose length another field gives, so that the sentence counts the rest
_LISTS: dict[type, tuple[str, ...]] = {
    kinds.TooFewRollouts: ("tasks",),
    kinds.TooManyRollouts: ("tasks",),
    kinds.MissingRewards: ("tasks",),
    kinds.TaskListChanged: ("lost", "edited", "moved", "new"),
    kinds.LowCoverage: ("removed", "left_out"),
    kinds.Unpassable: ("tasks",),
    kinds.BrokenTasks: ("tasks",),
    kinds.MustPassFailed: ("tasks",),
    kinds.WorseTasks: ("tasks",),
    kinds.WorseSlices: ("slices",),
}


def brief(check: Check) -> Check:
    """Return a check whose reasons name the first of their tasks."""
    reasons = tuple(_brief(reason) for reason in check.reasons)
    facts = check.comparison
    if facts is not None:
        named = facts.proven_tasks[:_NAMED]
        proven = max(facts.proven, len(facts.proven_tasks))
        facts = structs.replace(facts, proven_tasks=named, proven=proven)
    return structs.replace(check, reasons=reasons, comparison=facts)


def _brief(reason: kinds.Reason) -> kinds.Reason:
    if isinstance(reason, kinds.WorseSlices):
        slices = [
            structs.replace(one, worst=one.worst[:_NAMED]) for one in reason.slices
        ]
        reason = structs.replace(reason, slices=tuple(slices))
    lists = _LISTS.get(type(reason))
    if lists is None:
        return reason
    first = {name: getattr(reason, name)[:_NAMED] for name in lists}
    return structs.replace(reason, **first)


def brief_change(change: RunChange) -> RunChange:
    """Return a change that names the first of its tasks."""
    if not isinstance(change, TasksFlipped):
        return change
    return structs.replace(
        change,
        broken=_first_of(change.broken),
        mended=_first_of(change.mended),
    )


def _first_of(group: TaskGroup) -> TaskGroup:
    return structs.replace(group, tasks=group.tasks[:_NAMED])
