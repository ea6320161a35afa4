"""One agent's rollouts, asked for the numbers that a metric reduces."""

from __future__ import annotations

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
    from collections.abc import Collection

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import Category, RolloutTable, TaskId
    from pytest_evalmetrics.spec import BenchmarkSpec

_LISTED = 10


class Sample(msgspec.Struct, frozen=True):
    """The numbers that one metric reduces."""

    rewards: TaskRewards  # the numbers, by task; missing ones are left out
    tasks: tuple[TaskId, ...]
    clusters: (
        NDArray[np.int64] | None
    )  # each task's; None if the benchmark names no field
    score: str  # the score that they are; empty if they are made of several
    missing: int  # rollouts that have none


def with_missing_rewards(table: RolloutTable, spec: BenchmarkSpec) -> RolloutTable:
    """Fill missing rewards with the number of ``expect.missing_reward``, if it is one."""
    fill = spec.expect.missing_reward
    column = table.scores.get(spec.reward)
    if (
        isinstance(fill, str)
        or fill is None
        or column is None
        or not np.isnan(column).any()
    ):
        return table
    scores = {**table.scores, spec.reward: np.where(np.isnan(column), fill, column)}
    return structs.replace(
        table, scores=scores, integers=table.integers - {spec.reward}
    )


class SampleSource(msgspec.Struct, dict=True, eq=False):
    """One agent's rollouts."""

    table: RolloutTable
    reward: str  # the score of a metric that names none
    cluster: str | None = None  # a field: tasks with equal values are not independent
    lacking: Collection[str] = ()  # categories copied from the other run, per task
    _by_label: dict[str, dict[str, NDArray[np.int64]]] = {}
    _by_metric: dict[str, TaskRows] = {}
    _last: tuple[tuple[str | None, ...], Sample] | None = None

    def sample(self, metric: BoundMetric) -> Sample:
        """Collect what a metric reduces; an unknown score, field or value is an error."""
        name = metric.name
        own = metric.reads_columns or metric.reads_rows
        if own and name.score is not None:
            why = f"{name.metric} is of no score: leave /{name.score} out"
            raise MetricError(f"{metric.label}: {why}")
        score = "" if own else name.score or self.reward
        key = (name.metric if own else None, score, name.field, name.value)
        if (
            self._last is None or self._last[0] != key
        ):  # metrics of one column come in a row
            self._last = key, self._sample(metric, score)
        return self._last[1]

    def _sample(self, metric: BoundMetric, score: str) -> Sample:
        field, value = metric.name.field, metric.name.value
        rows = self._rows(metric) if metric.reads_rows else None
        column = self._column(metric, score) if rows is None else _places(rows)
        tasks, clusters, offsets = self.table.tasks, self._clusters, self.table.offsets
        if field is not None and value is not None:
            labelled = self.rows_by_label(field)
            if value not in labelled:
                guess = did_you_mean(value, labelled, what=f"values of {field}")
                raise MetricError(f"no rollout has {field} = {value!r}: {guess}")
            task = self.table.task[labelled[value]]
            starts = np.flatnonzero(np.diff(task, prepend=-1))
            tasks = tuple(self.table.tasks[i] for i in task[starts].tolist())
            clusters = None if clusters is None else clusters[task[starts]]
            offsets = np.append(starts, len(task)).astype(np.int64)
            column = column[labelled[value]]
        absent = np.isnan(column)
        missing = int(absent.sum())
        if missing:
            kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
            column, offsets = column[~absent], kept[offsets]
        rewards = TaskRewards(column, offsets)
        if rows is not None:
            rewards = structs.replace(rows, values=column, offsets=offsets)
        return Sample(rewards, tasks, clusters, score, missing)

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
            hint = f"it reads the columns {accepted}" if accepted else None
            raise MetricError(
                f"{metric.label}: no rollout says what it needs", hint=hint
            )
        return column

    def _rows(self, metric: BoundMetric) -> TaskRows:
        """Return all rows of the columns that a metric reads, whatever they lack."""
        key = metric.name.metric
        if key not in self._by_metric:
            rows = self._coded(metric)
            worth = getattr(metric.target, "worth", _worth)
            worths = call(metric.label, "worth", metric.target, worth, rows)
            self._by_metric[key] = structs.replace(rows, worth=worths)
        return self._by_metric[key]

    def _coded(self, metric: BoundMetric) -> TaskRows:
        """Turn the labels among the columns that a metric reads into codes."""
        numbers: dict[str, NDArray[np.float64]] = {}
        coded: dict[str, tuple[NDArray[np.int64], list[str]]] = {}
        label_columns = getattr(
            metric.target, "labels", None
        )  # None: numbers are numbers
        for name in metric.target.columns:
            scores, category = (
                self.table.scores.get(name),
                self.table.categories.get(name),
            )
            if name in self.lacking or self.table.lacking((name,)).all():
                category = None
            as_label = (
                scores is None if label_columns is None else name in label_columns
            )
            if as_label and category is not None:
                # one spelling for 1 and 1.0
                spelt = [
                    f"{float(x):.12g}" if is_numeric(x) else x for x in category.labels
                ]
                coded[name] = category.codes.astype(np.int64), spelt
            elif as_label and scores is not None:
                coded[name] = _labels_of(scores)
            elif scores is not None:
                numbers[name] = scores
            else:
                there = [
                    *self.table.scores,
                    *(self.table.categories if as_label else ()),
                ]
                guess = did_you_mean(name, there, what="columns there are")
                lacks = (
                    f"no rollout has {'a label' if as_label else 'a number'} {name!r}"
                )
                raise MetricError(f"{metric.label}: {lacks}: {guess}")
        labels = in_order({x for _, names in coded.values() for x in names} - {MISSING})
        code = {label: at for at, label in enumerate(labels)} | {MISSING: -1}
        columns: dict[str, NDArray[Any]] = {**numbers}
        for name, (codes, names) in coded.items():
            columns[name] = np.array([code[label] for label in names], dtype=np.int64)[
                codes
            ]
        places, worth = (
            np.arange(len(self.table), dtype=np.float64),
            np.zeros(len(self.table)),
        )
        return TaskRows(
            places, self.table.offsets, columns, labels, frozenset(coded), worth
        )

    def rows_by_label(self, field: str) -> dict[str, NDArray[np.int64]]:
        """Find the rows of each value that a field has in these rollouts, ascending."""
        if field not in self._by_label:
            category = self._category(field, "breakdown")
            order = np.argsort(category.codes, kind="stable")
            starts = np.searchsorted(
                category.codes[order], np.arange(1, len(category.labels))
            )
            labelled = zip(category.labels, np.split(order, starts), strict=True)
            self._by_label[field] = {
                label: rows for label, rows in labelled if len(rows)
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
        torn = np.unique(
            self.table.task[category.codes != np.repeat(clusters, self.table.counts)]
        )
        if len(torn):
            named = [self.table.tasks[i] for i in torn[:_LISTED].tolist()]
            raise DataError(
                f"cluster {self.cluster!r}: a task belongs to one cluster, and the rollouts of "
                f"{many(len(torn), 'task')} have different values: "
                f"{listed(named, _LISTED, len(torn))}",
                hint="name a field that is the same in all rollouts of a task",
            )
        return clusters


def _places(rows: TaskRows) -> NDArray[np.float64]:
    """Return each row's place, NaN where the row lacks any of the columns."""
    held = np.ones(len(rows.values), dtype=bool)
    for name, values in rows.columns.items():
        held &= values >= 0 if name in rows.coded else ~np.isnan(values)
    return np.where(held, rows.values, np.nan)


def _worth(rows: TaskRows) -> NDArray[np.float64]:
    """Return a default worth of rows: whether their labels agree, else their last number."""
    codes = [rows[name] for name in rows.columns if name in rows.coded]
    if len(codes) > 1:
        same = np.logical_and.reduce([codes[0] == each for each in codes[1:]])
        return np.asarray(same, dtype=np.float64)
    numbers = [rows[name] for name in rows.columns if name not in rows.coded]
    return numbers[-1] if numbers else np.zeros(len(rows.values))


def _labels_of(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    """Turn numbers into labels, in JSON's spelling."""
    absent = np.isnan(scores)
    values, codes = np.unique(np.where(absent, 0.0, scores), return_inverse=True)
    labels = [*(f"{value:.12g}" for value in values.tolist()), MISSING]
    return np.where(absent, len(values), codes), labels
