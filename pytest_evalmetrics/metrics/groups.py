"""NeMo Gym's ``group_level_metrics``: one entry per task, its rollouts counted truly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.metrics.basestats import task_statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

__all__ = ["Completeness", "group_entries"]

_TAIL = (
    "sample",
    "num_rollouts",
    "expected_num_rollouts",
    "missing_num_rollouts",
    "reward_profile_completion_pct",
)


@dataclass(frozen=True)
class Completeness:
    """How many rollouts each task has; arrays of shape (tasks,).

    Attributes
    ----------
    found
        Rollouts that there are.
    expected
        Rollouts that there should be.
    missing
        Rollouts that are absent, and those without a reward.
    """

    found: NDArray[np.int64]
    expected: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        table: RolloutTable,
        reward: str,
        expected: int | NDArray[np.int64] | None = None,
    ) -> Completeness:
        """Count the rollouts of one agent.

        Parameters
        ----------
        table
            The agent's rollouts.
        reward
            The score without which a rollout is missing.
        expected
            Rollouts that each task should have: one number, or shape (tasks,); None is as
            many as there are.
        """
        found = np.diff(table.offsets)
        column = table.scores.get(reward)
        absent = np.ones(len(table), dtype=bool) if column is None else np.isnan(column)
        without = np.bincount(table.task[absent], minlength=len(table.tasks))
        wanted = found if expected is None else np.broadcast_to(expected, found.shape)
        return cls(found, wanted, np.maximum(wanted - found, 0) + without)


def group_entries(
    table: RolloutTable, agent: str, completeness: Completeness
) -> list[dict[str, Any]]:
    """Build the entry of each task.

    Parameters
    ----------
    table
        One agent's rollouts.
    agent
        Its name.
    completeness
        The tasks' counts.

    Returns
    -------
    list of dict
        ``_ng_task_index`` (the task's id, number or text), the base statistics that the
        task has, ``sample``, and the counts.
    """
    statistics = task_statistics(table)
    columns = [
        (values.astype(np.int64) if name in statistics.whole else values).tolist()
        for name, values in zip(statistics.names, statistics.values, strict=True)
    ]
    gaps = np.zeros(len(table.tasks), dtype=bool)
    for values in statistics.values:
        gaps |= np.isnan(values)
    expected = np.maximum(completeness.expected, 1)
    share = 100.0 * np.maximum(completeness.expected - completeness.missing, 0) / expected
    names = ("_ng_task_index", *statistics.names, *_TAIL)
    entries = [
        dict(zip(names, row, strict=True))
        for row in zip(
            table.tasks,
            *columns,
            repeat({"agent_ref": {"name": agent}}),
            completeness.found.tolist(),
            completeness.expected.tolist(),
            completeness.missing.tolist(),
            share.tolist(),
            strict=False,
        )
    ]
    for task in np.flatnonzero(gaps).tolist():
        entries[task] = {k: v for k, v in entries[task].items() if v == v}  # noqa: PLR0124 - not NaN
    return entries
