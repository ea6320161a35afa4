"""One way to evaluate a metric, whichever of the forms in `protocol` it offers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.masks import all_of, any_of
from pytest_evalmetrics.metrics.protocol import (
    is_combining,
    is_of_tasks,
    is_ratio,
    is_vector,
    is_weighted,
)
from pytest_evalmetrics.sums import total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["TaskParts", "Vectorised", "evaluate", "require", "task_parts"]

_LISTED = 10  # tasks that a message names


class TaskParts(msgspec.Struct, frozen=True, dict=True):
    """What each task adds to a metric that is a mean or a ratio over tasks.

    Attributes
    ----------
    tops, bottoms
        Shapes (tasks,); the metric is sum of tops / sum of bottoms. For a mean over tasks
        a bottom is 1. Both are 0 for a task without a value.
    combine
        How the tasks' values are reduced where that is no mean: then bottoms are 1.
    combine_weighted
        The same with the number of times that each value occurs; None if not offered.
    """

    tops: NDArray[np.float64]
    bottoms: NDArray[np.float64]
    combine: Callable[[NDArray[np.float64]], float] | None = None
    combine_weighted: Callable[[NDArray[np.float64], NDArray[np.float64]], float] | None = None

    @classmethod
    def of_values(
        cls,
        values: NDArray[np.float64],
        combine: Callable[[NDArray[np.float64]], float] | None = None,
        combine_weighted: Callable[[NDArray[np.float64], NDArray[np.float64]], float] | None = None,
    ) -> TaskParts:
        """Make the parts of a reduction of the tasks' values, NaN where a task has none."""
        values, held = values.copy(), ~np.isnan(values)  # a metric may reuse its array
        tops = values if all_of(held) else np.where(held, values, 0.0)
        parts = cls(tops, held.astype(np.float64), combine, combine_weighted)
        # known already: what would be computed from the parts
        vars(parts).update(values=values, held=held, additive=combine is None)
        return parts

    @cached_property
    def totals(self) -> tuple[float, float]:
        """The sums of `tops` and of `bottoms`."""
        return total(self.tops), total(self.bottoms)

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Which tasks have a value, shape (tasks,)."""
        return self.bottoms > 0

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Each task's value, shape (tasks,), NaN where it has none."""
        values = np.full(len(self.tops), np.nan)
        np.divide(self.tops, self.bottoms, out=values, where=self.held)
        return values

    @cached_property
    def additive(self) -> bool:
        """Whether the metric is the plain mean of `values`."""
        weights = self.bottoms[self.held]
        return self.combine is None and all_of(weights == weights[:1])

    def take(self, tasks: NDArray[np.int64]) -> TaskParts:
        """Select tasks by index, repeats allowed."""
        return structs.replace(self, tops=self.tops[tasks], bottoms=self.bottoms[tasks])

    def value(self) -> float:
        """Compute the metric; NaN where no task has a value."""
        if not any_of(self.held):
            return math.nan
        if self.combine is not None:
            return self.combine(self.values[self.held])
        top, bottom = self.totals
        return top / bottom


def task_parts(metric: Any, rewards: TaskRewards) -> TaskParts | None:
    """Split a metric into its tasks' parts; None for one that is no reduction of such.

    Raises
    ------
    TypeError
        If the metric's vectorised form does not return what it promises.
    """
    if is_ratio(metric):
        tops, bottoms = metric.task_parts(rewards)
        return TaskParts(_per_task(tops, rewards), _per_task(bottoms, rewards))
    if is_of_tasks(metric):
        values = _per_task(metric.task_values(rewards), rewards)
        combine = metric.combine if is_combining(metric) else None
        weighted = metric.combine_weighted if is_weighted(metric) else None
        return TaskParts.of_values(values, combine, weighted)
    return None


def _per_task(values: NDArray[np.float64], rewards: TaskRewards) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (len(rewards),):
        raise TypeError(
            f"expected one number per task, an array of shape ({len(rewards)},), "
            f"found {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)


def require(
    metric: Any, rewards: TaskRewards, label: str, tasks: Sequence[object] | None = None
) -> None:
    """Refuse rewards that a metric is not defined for.

    Parameters
    ----------
    metric
        An object of any form in `protocol`, or a plain function of nested rewards.
    rewards
        The rewards; a task may be empty.
    label
        What messages call the metric.
    tasks
        The tasks' ids for messages, shape (tasks,); else their positions.

    Raises
    ------
    MetricError
        If there is no rollout to compute it from, or a task has too few of them.
    """
    if not len(rewards.values):
        raise MetricError(
            f"{label} is undefined: there is no rollout with a number to compute it from",
            hint="an undefined metric is an error, never 0",
        )
    needed = getattr(metric, "samples_needed", 0)
    if needed <= 1:
        return
    counts = rewards.counts
    few = (counts > 0) & (counts < needed)
    if not any_of(few):
        return
    short = np.flatnonzero(few)
    listed = ", ".join(
        f"{tasks[i] if tasks is not None else i} ({counts[i]})" for i in short[:_LISTED].tolist()
    )
    more = f" and {len(short) - _LISTED} more" if len(short) > _LISTED else ""
    raise MetricError(
        f"{label} needs {many(needed, 'rollout')} of each task, and "
        f"{of_many(len(short), len(rewards), 'task', 'has')} fewer with a number: {listed}{more}",
        hint="record more rollouts, choose a smaller k, or set `pass_estimator: first_k`, "
        "which uses what there is",
    )


def evaluate(metric: Any, rewards: TaskRewards, parts: TaskParts | None = None) -> Any:
    """Compute a metric, by the fastest form that it offers.

    Parameters
    ----------
    metric
        An object of any form in `protocol`, or a plain function of nested rewards.
    rewards
        The rewards; a task may be empty.
    parts
        Its parts, where they have been computed.

    Returns
    -------
    float
        What the metric returned: unchecked, for it may be a user's.
    """
    parts = parts or task_parts(metric, rewards)
    if parts is not None:
        return parts.value()
    if is_vector(metric):
        return metric.compute_array(rewards)
    nested = [task for task in rewards.to_lists() if task]
    return metric.compute(nested) if hasattr(metric, "compute") else metric(nested)


class Vectorised:
    """The nested form of a metric that is written in a vectorised one."""

    def compute(self, task_rewards: Sequence[Sequence[float]]) -> float:
        """Reduce nested rewards; see `protocol.Metric`.

        Raises
        ------
        MetricError
            If there is no rollout to compute it from, or a task has too few of them.
        """
        rewards = TaskRewards.from_lists(task_rewards)
        require(self, rewards, str(getattr(self, "name", type(self).__name__)))
        return float(evaluate(self, rewards))
