"""Base of the metrics over rows that a benchmark file defines by ``type``.

Most weigh rows: drawing tasks again changes the weights alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from pytest_evalmetrics.spec.metric_keys import Definition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.metric import MetricOptions
    from pytest_evalmetrics.model.rollout_table import TaskRows

    Floats = NDArray[np.float64]

DefinitionT = TypeVar("DefinitionT", bound=Definition)
NO_CODE = -2  # of a label that no row has; -1 is a missing label
_UNIT = (0.0, 1.0)
_TRUE = ("1", "true")  # the positive labels by default
_FALSE = {"0", "false"}


class OverRows(Generic[DefinitionT]):
    """A metric over columns that its keys name; by default the worth of a row is its reward."""

    def __init__(self, keys: DefinitionT, options: MetricOptions) -> None:
        self.keys = keys
        self.options = options
        self.labels = frozenset(keys.labels)
        columns = [*keys.labels, *keys.numbers]
        if keys.of_reward:
            columns.append(options.reward)
        # each once
        self.columns = tuple(dict.fromkeys(columns))
        self.direction = keys.facts.direction
        self.limits = keys.facts.limits
        self.bounded = self.limits == _UNIT

    def worth(self, rows: TaskRows) -> Floats:
        """Return what each row is worth to a reader, shape (rows,)."""
        return np.asarray(rows[self.options.reward], dtype=np.float64)


def column(rows: TaskRows, name: str | None) -> NDArray[Any]:
    """Return a column that the keys of a metric are known to name."""
    if name is None:
        raise ValueError("the keys of this metric name no such column")
    return rows[name]


def nonzero(divisor: Any) -> Floats:
    """Replace 0 by NaN, so that a quotient is undefined."""
    return np.where(divisor == 0, np.nan, divisor)


def code_of(rows: TaskRows, label: str | None) -> int:
    """Return a label's code; `NO_CODE` for one that no row has."""
    if label is None or label not in rows.labels:
        return NO_CODE
    return rows.labels.index(label)


def positive_code(rows: TaskRows, name: str, label: str | None) -> int:
    """Return the code of the positive label of a column."""
    if label is not None:
        return code_of(rows, label)
    positives = [true for true in _TRUE if true in rows.labels]
    if positives:
        return code_of(rows, positives[0])
    if not set(rows.labels) <= _FALSE:
        shown = ", ".join(map(repr, rows.labels[:10]))
        raise ValueError(
            f"say which label of {name} is positive, with `positive:`: {shown}"
        )
    return NO_CODE


def weigh(codes: NDArray[np.int64], weights: Floats, count: int) -> Floats:
    """Add up the weights of each code, shape (count,)."""
    return np.asarray(np.bincount(codes, weights, count), dtype=np.float64)


def task_sums(rows: TaskRows, values: Floats) -> Floats:
    """Sum numbers of rows by task, shape (tasks,)."""
    return weigh(rows.task, values, len(rows))


def task_means(rows: TaskRows, values: Floats) -> Floats:
    """Average numbers of rows by task, shape (tasks,), NaN for a task without rows."""
    return np.asarray(task_sums(rows, values) / nonzero(rows.counts))


def rank_in_task(rows: TaskRows) -> NDArray[np.int64]:
    """Return each row's place within its task, from 0, shape (rows,)."""
    first_of_task = np.repeat(rows.offsets[:-1], rows.counts)
    return np.arange(len(rows.values)) - first_of_task
