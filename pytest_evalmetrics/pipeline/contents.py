"""What the rows of a data set hold, in a few bytes each: by which a change of them is seen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_evalmetrics.data import TaskId

__all__ = ["Content", "changed"]

_SHOWN = 5  # tasks in a note
_ENCODER = msgspec.json.Encoder(order="sorted")
_SLOW = json.JSONEncoder(sort_keys=True, default=repr)


@dataclass
class Content:
    """The content of a data set: a digest per task.

    A row's digest is that of its JSON with sorted keys: neither the order of the rows nor the
    format of the file matters.
    """

    tasks: dict[TaskId, int] = field(default_factory=dict)

    def add(self, task: TaskId, row: Mapping[str, Any]) -> None:
        """Take in a row; the rows of one task may come in any order."""
        try:
            data = _ENCODER.encode(row)
        except (TypeError, ValueError):
            data = _SLOW.encode(row).encode("utf-8", "backslashreplace")
        found = int.from_bytes(blake2b(data, digest_size=4).digest())
        self.tasks[task] = (self.tasks.get(task, 0) + found) % 2**32

    @property
    def as_dict(self) -> dict[str, Any]:
        """Give it as builtins, for a baseline: tasks as text, in their order."""
        tasks = {str(task): f"{self.tasks[task]:08x}" for task in sorted(self.tasks, key=str)}
        whole = blake2b(_SLOW.encode(tasks).encode(), digest_size=16).hexdigest()
        return {"hash": whole, "tasks": tasks}


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Tell how a data set differs from the one that a baseline was recorded with.

    Parameters
    ----------
    before, now
        As `Content.as_dict` gives them; empty where nobody knows.
    """
    if not before.get("hash") or not now or before["hash"] == now["hash"]:
        return
    then, tasks = before.get("tasks", {}), now["tasks"]
    parts = [
        _listed("edited", (t for t in tasks if t in then and then[t] != tasks[t])),
        _listed("new", (t for t in tasks if t not in then)),
        _listed("gone", (t for t in then if t not in tasks)),
    ]
    found = ", ".join(part for part in parts if part)
    yield (
        f"the data set is not the one that the baseline was recorded with: {found}; what an "
        "edited task is worth can't be compared: record the baseline anew with --snapshot-update"
    )


def _listed(what: str, tasks: Iterable[str]) -> str:
    names = list(tasks)
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{many(len(names), 'task', 'is')} {what} ({', '.join(names[:_SHOWN])}{more})"
