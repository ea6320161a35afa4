"""What identifies the tasks of a data set whose rows are scored: their rows, or the question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data.content import SIZE, content_hash
from pytest_evalmetrics.rollouts.foreign import lookup
from pytest_evalmetrics.rollouts.recorded import TASK_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.data import RolloutTable, TaskId
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["Content"]

# a row that already holds an answer changes with each run; these are what was asked
_ASKED = ("question", "query", "problem", "instruction", "user_input", "input", "reference")


class Content:
    """A hash per task of a data set.

    Parameters
    ----------
    benchmark
        The benchmark; with a model or a target its rows are nothing but tasks.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        spec = benchmark.spec
        self._paths = None if spec.dataset is None else spec.rows.fields.content
        self._whole = spec.answers is not None
        self._ids = (*TASK_KEYS, None if spec.dataset is None else spec.rows.fields.task)
        self._of: dict[TaskId, str] = {}

    def add(self, task: TaskId, row: Mapping[str, Any]) -> None:
        """Take a row; of several rows of a task the first counts."""
        if task in self._of:
            return
        held: Any
        if self._paths is not None:
            held = [lookup(row, path) for path in self._paths]
        elif self._whole:
            held = {key: value for key, value in row.items() if key not in self._ids}
        else:
            held = {key: row[key] for key in _ASKED if key in row} or None
        self._of[task] = content_hash(held)

    def onto(self, table: RolloutTable) -> RolloutTable:
        """Give each row of a table the hash of its task."""
        if not any(self._of.values()):
            return table
        hashes = np.array([self._of.get(task, "") for task in table.tasks], dtype=f"S{SIZE}")
        return replace(table, content=hashes[table.task])
