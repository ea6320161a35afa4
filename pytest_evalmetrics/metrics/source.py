"""One agent's rollouts, asked for the numbers that a metric reduces."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import DataError, MetricError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.masks import all_of, any_of
from pytest_evalmetrics.metrics.protocol import is_of_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import Category, RolloutTable, TaskId
    from pytest_evalmetrics.metrics.lookup import BoundMetric
    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["Sample", "Source", "with_missing_rewards"]

_MISSING = "(missing)"
_LISTED = 10


class Sample(msgspec.Struct, frozen=True):
    """What one metric reduces.

    Attributes
    ----------
    rewards
        The numbers, by task; missing ones are left out.
    tasks
        The tasks' ids, shape (tasks,).
    clusters
        Each task's cluster, shape (tasks,); None where the benchmark names no field.
    score
        The score that they are; empty where they are made of several.
    missing
        Rollouts that have none.
    """

    rewards: TaskRewards
    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None
    score: str
    missing: int


def with_missing_rewards(table: RolloutTable, spec: BenchmarkSpec) -> RolloutTable:
    """Give rollouts without a reward the one that ``expect.missing_reward`` says, if any."""
    fill = spec.expect.missing_reward
    column = table.scores.get(spec.reward)
    if isinstance(fill, str) or fill is None or column is None or not any_of(np.isnan(column)):
        return table
    filled = np.where(np.isnan(column), fill, column)
    return replace(
        table,
        scores={**table.scores, spec.reward: filled},
        integers=table.integers - {spec.reward},
    )


class Source:
    """One agent's rollouts.

    Parameters
    ----------
    table
        One agent's rollouts.
    reward
        The score that a metric reduces where it names none.
    cluster
        The field whose equal values are not independent.
    """

    def __init__(self, table: RolloutTable, reward: str, cluster: str | None = None) -> None:
        self.table = table
        self.reward = reward
        self.cluster = cluster
        self._by_label: dict[str, dict[str, NDArray[np.int64]]] = {}
        self._last: tuple[tuple[str | None, ...], Sample] | None = None

    def sample(self, metric: BoundMetric) -> Sample:
        """Collect what a metric reduces.

        Raises
        ------
        MetricError
            If there is no such score, field or value, or no row has what it needs.
        DataError
            If a task is in two clusters.
        """
        name = metric.name
        column = self._column(metric)
        own = name.metric if is_of_columns(metric.target) else None
        key = (own, name.score, name.field, name.value)
        if self._last is None or self._last[0] != key:  # metrics of one column come in a row
            score = name.score or self.reward if own is None else ""
            self._last = key, self._sample(column, score, name.field, name.value)
        return self._last[1]

    def _sample(
        self, column: NDArray[np.float64], score: str, field: str | None, value: str | None
    ) -> Sample:
        if field is None or value is None:
            rewards = _grouped(column, self.table.offsets)
            missing = len(column) - len(rewards.values)
            return Sample(rewards, self.table.tasks, self._clusters, score, missing)
        rows = self._rows(field, value)
        task = self.table.task[rows]
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        present = task[starts]
        rewards = _grouped(column[rows], np.append(starts, len(rows)).astype(np.int64))
        return Sample(
            rewards,
            tuple(self.table.tasks[i] for i in present.tolist()),
            None if self._clusters is None else self._clusters[present],
            score,
            len(rows) - len(rewards.values),
        )

    def labels(self, field: str) -> list[str]:
        """List the values that a field has in these rollouts.

        Raises
        ------
        MetricError
            If no row has the field.
        """
        return list(self._rows_by_label(field))

    def unscored(self, field: str) -> dict[str, int]:
        """Find the values that only rollouts without a reward have, and count these."""
        column = self.table.scores.get(self.reward)
        if column is None or not any_of(np.isnan(column)):
            return {}
        return {
            label: len(rows)
            for label, rows in self._rows_by_label(field).items()
            if all_of(np.isnan(column[rows]))
        }

    def _column(self, metric: BoundMetric) -> NDArray[np.float64]:
        name = metric.name
        if is_of_columns(metric.target):
            if name.score is not None:
                raise MetricError(
                    f"{metric.label}: {name.metric} is of no score: leave /{name.score} out"
                )
            column = metric.target.column(self.table.scores)
            if column is None:
                accepted = getattr(metric.target, "accepted", "")
                raise MetricError(
                    f"{metric.label}: no rollout says what it needs",
                    hint=f"it reads the columns {accepted}" if accepted else None,
                )
            return column
        score = name.score or self.reward
        if score not in self.table.scores:
            raise MetricError(
                f"{metric.label}: no rollout has a score named {score!r}: "
                + did_you_mean(score, self.table.scores, what="scores there are")
            )
        return self.table.scores[score]

    def _category(self, field: str, what: str) -> Category:
        category = self.table.categories.get(field)
        if category is None or not any_of(category.codes >= 0) or self._all_missing(category):
            raise MetricError(
                f"{what} {field!r}: no rollout has that field",
                hint="name a field of the rows, such as difficulty or metadata.difficulty",
            )
        return category

    @staticmethod
    def _all_missing(category: Category) -> bool:
        return _MISSING in category.labels and bool(
            all_of(category.codes == category.labels.index(_MISSING))
        )

    def _rows(self, field: str, value: str) -> NDArray[np.int64]:
        """Find the rows of a value, ascending."""
        rows = self._rows_by_label(field)
        if value not in rows:
            raise MetricError(
                f"no rollout has {field} = {value!r}: "
                + did_you_mean(value, rows, what=f"values of {field}")
            )
        return rows[value]

    def _rows_by_label(self, field: str) -> dict[str, NDArray[np.int64]]:
        """Sort the rows by label, once."""
        if field not in self._by_label:
            category = self._category(field, "breakdown")
            order = np.argsort(category.codes, kind="stable")
            starts = np.searchsorted(category.codes[order], np.arange(1, len(category.labels)))
            rows = zip(category.labels, np.split(order, starts), strict=True)
            self._by_label[field] = {label: found for label, found in rows if len(found)}
        return self._by_label[field]

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        if self.cluster is None:
            return None
        category = self._category(self.cluster, "cluster")
        starts, counts = self.table.offsets[:-1], self.table.counts
        clusters = category.codes[starts].astype(np.int64)
        torn = np.unique(self.table.task[category.codes != np.repeat(clusters, counts)])
        if len(torn):
            named = ", ".join(str(self.table.tasks[i]) for i in torn[:_LISTED].tolist())
            more = f" and {len(torn) - _LISTED} more" if len(torn) > _LISTED else ""
            raise DataError(
                f"cluster {self.cluster!r}: a task belongs to one cluster, and the rollouts of "
                f"{many(len(torn), 'task')} have different values: {named}{more}",
                hint="name a field that is the same in all rollouts of a task",
            )
        return clusters


def _grouped(column: NDArray[np.float64], offsets: NDArray[np.int64]) -> TaskRewards:
    absent = np.isnan(column)
    if not any_of(absent):
        return TaskRewards(column, offsets)
    kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
    return TaskRewards(column[~absent], kept[offsets])
