"""One agent's rollouts, asked for the numbers that a metric reduces."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import DataError, MetricError, did_you_mean
from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.metrics.metric import BoundMetric, call
from pytest_evalmetrics.model.rollout_table import (
    MISSING,
    TaskRewards,
    TaskRows,
    in_order,
    is_numeric,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import Category, RolloutTable, TaskId
    from pytest_evalmetrics.spec import BenchmarkSpec

_LISTED = 10


class Sample(msgspec.Struct, frozen=True):
    """The numbers that one metric reduces.

    Attributes
    ----------
    rewards
        The numbers, by task; missing ones are left out.
    tasks
        The tasks' ids, shape (tasks,).
    clusters
        Each task's cluster, shape (tasks,); None if the benchmark names no field.
    score
        The score that they are; empty if they are made of several.
    missing
        The rollouts that have none.
    """

    rewards: TaskRewards
    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None
    score: str
    missing: int


def with_missing_rewards(table: RolloutTable, spec: BenchmarkSpec) -> RolloutTable:
    """Fill missing rewards with the number of ``expect.missing_reward``, if it is one."""
    fill = spec.expect.missing_reward
    if fill is None or isinstance(fill, str):
        return table
    column = table.scores.get(spec.reward)
    if column is None or not np.isnan(column).any():
        return table
    filled = np.where(np.isnan(column), fill, column)
    return structs.replace(
        table,
        scores={**table.scores, spec.reward: filled},
        integers=table.integers - {spec.reward},
    )


class LabelColumn(msgspec.Struct, frozen=True):
    """A column of labels.

    Attributes
    ----------
    codes
        Index into `labels`, shape (rows,).
    labels
        The labels, as text.
    """

    codes: NDArray[np.int64]
    labels: list[str]


class _Rows(msgspec.Struct, frozen=True):
    """A column of some rows, grouped by task.

    Attributes
    ----------
    column
        The numbers, shape (rows,), NaN where missing.
    tasks, clusters
        The tasks' ids and clusters, shape (tasks,).
    offsets
        Where each task starts, shape (tasks + 1,).
    missing
        The rows without a number that were left out.
    """

    column: NDArray[np.float64]
    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None
    offsets: NDArray[np.int64]
    missing: int = 0

    def without_missing(self) -> _Rows:
        """Leave out the rows without a number."""
        absent = np.isnan(self.column)
        missing = int(absent.sum())
        if not missing:
            return self
        kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
        return structs.replace(
            self,
            column=self.column[~absent],
            offsets=kept[self.offsets],
            missing=missing,
        )


class SampleSource(msgspec.Struct, dict=True, eq=False):
    """One agent's rollouts.

    Attributes
    ----------
    table
        The rollouts.
    reward
        The score of a metric that names none.
    cluster
        A field: tasks with equal values are not independent.
    lacking
        Categories that are copied from the other run, one value for each task.
    """

    table: RolloutTable
    reward: str
    cluster: str | None = None
    lacking: Collection[str] = ()
    _by_label: dict[str, dict[str, NDArray[np.int64]]] = {}
    _by_metric: dict[str, TaskRows] = {}
    _last: tuple[tuple[str | None, ...], Sample] | None = None

    def sample(self, metric: BoundMetric) -> Sample:
        """Collect what a metric reduces; an unknown score, field or value is an error."""
        name = metric.name
        reads_columns = metric.reads_columns or metric.reads_rows
        if reads_columns and name.score is not None:
            why = f"{name.metric} is of no score: leave /{name.score} out"
            raise MetricError(f"{metric.label}: {why}")
        score = name.score or self.reward
        own_metric = None
        if reads_columns:
            score = ""
            own_metric = name.metric
        key = (own_metric, score, name.field, name.value)
        # metrics of one column come in a row
        if self._last is None or self._last[0] != key:
            self._last = (key, self._sample(metric, score))
        return self._last[1]

    def _sample(self, metric: BoundMetric, score: str) -> Sample:
        rewards: TaskRewards
        if metric.reads_rows:
            over_rows = self._rows(metric)
            chosen = self._chosen(metric, _complete_places(over_rows))
            rewards = structs.replace(
                over_rows, values=chosen.column, offsets=chosen.offsets
            )
        else:
            chosen = self._chosen(metric, self._column(metric, score))
            rewards = TaskRewards(chosen.column, chosen.offsets)
        return Sample(rewards, chosen.tasks, chosen.clusters, score, chosen.missing)

    def _chosen(self, metric: BoundMetric, column: NDArray[np.float64]) -> _Rows:
        """Choose the rows of a metric's breakdown that have a number."""
        rows = _Rows(column, self.table.tasks, self._clusters, self.table.offsets)
        field = metric.name.field
        value = metric.name.value
        if field is not None and value is not None:
            rows = self._restricted(rows, field, value)
        return rows.without_missing()

    def _restricted(self, rows: _Rows, field: str, value: str) -> _Rows:
        """Choose the rows whose field has a value, and their tasks."""
        labelled = self.rows_by_label(field)
        if value not in labelled:
            guess = did_you_mean(value, labelled, what=f"values of {field}")
            raise MetricError(f"no rollout has {field} = {value!r}: {guess}")
        chosen = labelled[value]
        task = self.table.task[chosen]
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        places = task[starts]
        clusters = rows.clusters
        if clusters is not None:
            clusters = clusters[places]
        return _Rows(
            column=rows.column[chosen],
            tasks=tuple(self.table.tasks[place] for place in places.tolist()),
            clusters=clusters,
            offsets=np.append(starts, len(task)).astype(np.int64),
        )

    def _column(self, metric: BoundMetric, score: str) -> NDArray[np.float64]:
        """Return the numbers that a metric reduces, shape (rows,), NaN where missing."""
        if not metric.reads_columns:
            if score not in self.table.scores:
                guess = did_you_mean(score, self.table.scores, what="scores there are")
                lacks = f"no rollout has a score named {score!r}"
                raise MetricError(f"{metric.label}: {lacks}: {guess}")
            return self.table.scores[score]
        column: NDArray[np.float64] | None = metric.target.column(self.table.scores)
        if column is None:
            accepted = getattr(metric.target, "accepted", "")
            hint = None
            if accepted:
                hint = f"it reads the columns {accepted}"
            raise MetricError(
                f"{metric.label}: no rollout says what it needs", hint=hint
            )
        return column

    # -- several columns of a row --------------------------------------------------------------

    def _rows(self, metric: BoundMetric) -> TaskRows:
        """Return all rows of the columns that a metric reads, whatever they lack."""
        key = metric.name.metric
        if key not in self._by_metric:
            rows = self._coded(metric)
            worth = getattr(metric.target, "worth", _default_worth)
            worths = call(metric.label, "worth", metric.target, worth, rows)
            self._by_metric[key] = structs.replace(rows, worth=worths)
        return self._by_metric[key]

    def _coded(self, metric: BoundMetric) -> TaskRows:
        """Turn the labels among the columns that a metric reads into codes."""
        numbers: dict[str, NDArray[Any]] = {}
        labelled: dict[str, LabelColumn] = {}
        for name in metric.target.columns:
            column = self._read_column(metric, name)
            if isinstance(column, LabelColumn):
                labelled[name] = column
            else:
                numbers[name] = column
        labels = _all_labels(labelled.values())
        code_of = {label: code for code, label in enumerate(labels)}
        code_of[MISSING] = -1
        columns = dict(numbers)
        for name, column in labelled.items():
            codes = [code_of[label] for label in column.labels]
            columns[name] = np.array(codes, dtype=np.int64)[column.codes]
        return TaskRows(
            values=np.arange(len(self.table), dtype=np.float64),
            offsets=self.table.offsets,
            columns=columns,
            labels=labels,
            coded=frozenset(labelled),
            worth=np.zeros(len(self.table)),
        )

    def _read_column(
        self, metric: BoundMetric, name: str
    ) -> LabelColumn | NDArray[np.float64]:
        """Return a column as labels, if the metric reads it so, or as numbers."""
        scores = self.table.scores.get(name)
        category = self.table.categories.get(name)
        if name in self.lacking or self.table.lacking((name,)).all():
            category = None
        as_label = _reads_label(metric, name, is_number=scores is not None)
        if as_label and category is not None:
            labels = [_spelt(label) for label in category.labels]
            return LabelColumn(category.codes.astype(np.int64), labels)
        if as_label and scores is not None:
            return _labels_of(scores)
        if scores is not None:
            return scores
        kind = "a number"
        known = [*self.table.scores]
        if as_label:
            kind = "a label"
            known += self.table.categories
        guess = did_you_mean(name, known, what="columns there are")
        raise MetricError(f"{metric.label}: no rollout has {kind} {name!r}: {guess}")

    # -- fields --------------------------------------------------------------------------------

    def rows_by_label(self, field: str) -> dict[str, NDArray[np.int64]]:
        """Find the rows of each value that a field has in these rollouts, ascending."""
        if field not in self._by_label:
            category = self._category(field, "breakdown")
            order = np.argsort(category.codes, kind="stable")
            codes = np.arange(1, len(category.labels))
            starts = np.searchsorted(category.codes[order], codes)
            parts = np.split(order, starts)
            self._by_label[field] = {
                label: rows
                for label, rows in zip(category.labels, parts, strict=True)
                if len(rows)
            }
        return self._by_label[field]

    def _category(self, field: str, what: str) -> Category:
        category = self.table.categories.get(field)
        if category is None or self.table.lacking((field,)).all():
            hint = "name a field of the rows, such as difficulty or metadata.difficulty"
            raise MetricError(f"{what} {field!r}: no rollout has that field", hint=hint)
        return category

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        if self.cluster is None:
            return None
        category = self._category(self.cluster, "cluster")
        clusters = category.codes[self.table.offsets[:-1]].astype(np.int64)
        of_rows = np.repeat(clusters, self.table.counts)
        torn = np.unique(self.table.task[category.codes != of_rows])
        if len(torn):
            named = [self.table.tasks[place] for place in torn[:_LISTED].tolist()]
            raise DataError(
                f"cluster {self.cluster!r}: a task belongs to one cluster, and the rollouts of "
                f"{many(len(torn), 'task')} have different values: "
                f"{listed(named, _LISTED, len(torn))}",
                hint="name a field that is the same in all rollouts of a task",
            )
        return clusters


def _reads_label(metric: BoundMetric, name: str, *, is_number: bool) -> bool:
    """Check whether a metric reads a column as labels."""
    labels: Collection[str] | None = getattr(metric.target, "labels", None)
    if labels is None:  # of a user's own metric: numbers are numbers
        return not is_number
    return name in labels


def _complete_places(rows: TaskRows) -> NDArray[np.float64]:
    """Return each row's place, NaN where the row lacks any of the columns."""
    is_complete = np.ones(len(rows.values), dtype=bool)
    for name, values in rows.columns.items():
        if name in rows.coded:
            is_complete &= values >= 0
        else:
            is_complete &= ~np.isnan(values)
    return np.where(is_complete, rows.values, np.nan)


def _default_worth(rows: TaskRows) -> NDArray[np.float64]:
    """Return 1 for rows whose labels agree, else 0; without labels their last number."""
    codes = [rows[name] for name in rows.columns if name in rows.coded]
    if len(codes) > 1:
        first = codes[0]
        same = np.logical_and.reduce([first == other for other in codes[1:]])
        return np.asarray(same, dtype=np.float64)
    numbers = [rows[name] for name in rows.columns if name not in rows.coded]
    if not numbers:
        return np.zeros(len(rows.values))
    return numbers[-1]


def _all_labels(columns: Iterable[LabelColumn]) -> tuple[str, ...]:
    """List the labels of all columns in order, without that of missing ones."""
    labels: set[str] = set()
    for column in columns:
        labels.update(column.labels)
    return in_order(labels - {MISSING})


def _labels_of(scores: NDArray[np.float64]) -> LabelColumn:
    """Turn numbers into labels, in JSON's spelling."""
    values, codes = np.unique(scores, return_inverse=True)
    labels = [MISSING if math.isnan(value) else f"{value:.12g}" for value in values]
    return LabelColumn(codes, labels)


def _spelt(label: str) -> str:
    """Give 1 and 1.0 one spelling."""
    if is_numeric(label):
        return f"{float(label):.12g}"
    return label
