"""What a metric is: the seam between the rewards of all tasks and one number.

A metric needs a `compute` alone. One that also offers a vectorised form is used through
it, and says by it what an interval, a paired comparison and a bootstrap may rest on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

    Array = NDArray[np.float64]

__all__ = [
    "ColumnMetric",
    "Combining",
    "Metric",
    "MetricOptions",
    "RatioMetric",
    "TaskMetric",
    "VectorMetric",
    "Weighted",
    "is_combining",
    "is_of_columns",
    "is_of_tasks",
    "is_ratio",
    "is_vector",
    "is_vectorised",
    "is_weighted",
]


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """What a benchmark says about how its rewards are read.

    A metric's class gets it where its constructor has a parameter named ``options``.

    Attributes
    ----------
    pass_threshold
        A rollout passes where its reward is at least this.
    pass_estimator
        How pass@k, pass^k and max@k use the samples of a task.
    """

    pass_threshold: float = 1.0
    pass_estimator: Literal["unbiased", "first_k"] = "unbiased"  # noqa: S105 - the "pass" of pass@k

    @property
    def first_k(self) -> bool:
        """Whether the first k samples of a task are looked at, not all sets of k."""
        return self.pass_estimator == "first_k"  # noqa: S105 - the "pass" of pass@k


class Metric(Protocol):
    """Reduces the rewards of all tasks to one number.

    Attributes
    ----------
    name
        What the metric is called in reports.

    Notes
    -----
    Further attributes that a metric may have, whatever its form:

    ``bounded``
        True where the value is a rate in [0, 1]; False if left out.
    ``no_interval``
        Why the metric has no meaningful interval; no interval is computed then.
    ``extreme``
        ``"lowest"`` or ``"highest"`` where the metric is that of one task alone, such as the
        worst one: its regression test is then of single tasks.
    ``samples_needed``
        Rollouts that a task must have; a task with fewer (but with one) is an error.
    """

    name: ClassVar[str]

    def compute(self, task_rewards: Sequence[Sequence[float]]) -> float:
        """Reduce nested rewards.

        Parameters
        ----------
        task_rewards
            One inner list per task, in task order, with the task's finite rewards in
            sample order. A missing reward is left out, or replaced where the benchmark
            says by what; a task without any reward is not in the list.

        Returns
        -------
        float
            A finite number. NaN, an infinity, a bool or anything else is an error.
        """
        ...


@runtime_checkable
class TaskMetric(Protocol):
    """A metric that is the mean, over tasks, of a value of the task itself."""

    def task_values(self, rewards: TaskRewards) -> Array:
        """Compute each task's value, shape (tasks,); NaN where it has none."""
        ...


@runtime_checkable
class Combining(TaskMetric, Protocol):
    """A `TaskMetric` whose tasks' values are not averaged but combined otherwise."""

    def combine(self, values: Array) -> float:
        """Reduce the values of the tasks that have one, shape (n,), n > 0."""
        ...


@runtime_checkable
class Weighted(Combining, Protocol):
    """A `Combining` that can count a task more than once, so that many can be resampled."""

    def combine_weighted(self, values: Array, times: Array) -> float:
        """Reduce values that occur so many times each, shapes (n,); a 0 leaves one out."""
        ...


@runtime_checkable
class RatioMetric(Protocol):
    """A metric that is a ratio pooled over tasks: sum of tops / sum of bottoms."""

    def task_parts(self, rewards: TaskRewards) -> tuple[Array, Array]:
        """Compute each task's numerator and denominator, shapes (tasks,); 0 is neither."""
        ...


@runtime_checkable
class VectorMetric(Protocol):
    """A metric that reduces the ragged array at once."""

    def compute_array(self, rewards: TaskRewards) -> float:
        """Reduce the rewards; a task may be empty."""
        ...


@runtime_checkable
class ColumnMetric(Protocol):
    """A metric that reads other numbers of a row than the benchmark's reward.

    It may have ``columns``, the names that it looks at; all of them if left out.
    """

    def column(self, scores: Mapping[str, Array]) -> Array | None:
        """Make the column to reduce, shape (rows,), NaN where missing; None without any."""
        ...


# `isinstance` says the same of a runtime protocol, and takes thirty times as long: several
# hundred times a benchmark that was a twelfth of a run over many


def _offers(metric: Any, method: str) -> bool:
    return getattr(metric, method, None) is not None


def is_ratio(metric: object) -> TypeGuard[RatioMetric]:
    """Whether it is a `RatioMetric`."""
    return _offers(metric, "task_parts")


def is_of_tasks(metric: object) -> TypeGuard[TaskMetric]:
    """Whether it is a `TaskMetric`."""
    return _offers(metric, "task_values")


def is_combining(metric: object) -> TypeGuard[Combining]:
    """Whether it is a `Combining` one."""
    return is_of_tasks(metric) and _offers(metric, "combine")


def is_weighted(metric: object) -> TypeGuard[Weighted]:
    """Whether it is a `Weighted` one."""
    return is_combining(metric) and _offers(metric, "combine_weighted")


def is_vector(metric: object) -> TypeGuard[VectorMetric]:
    """Whether it is a `VectorMetric`."""
    return _offers(metric, "compute_array")


def is_of_columns(metric: object) -> TypeGuard[ColumnMetric]:
    """Whether it is a `ColumnMetric`."""
    return _offers(metric, "column")


def is_vectorised(metric: object) -> bool:
    """Whether it offers a form that takes arrays."""
    return is_ratio(metric) or is_of_tasks(metric) or is_vector(metric)
