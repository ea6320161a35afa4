"""One agent's rollouts, asked for the numbers that a metric reduces."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.data import MISSING, TaskRewards, in_order, is_numeric
from pytest_evalmetrics.errors import DataError, MetricError, did_you_mean
from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import Category, RolloutTable, TaskId, TaskRows
    from pytest_evalmetrics.metrics.metric import BoundMetric
    from pytest_evalmetrics.spec import BenchmarkSpec

_LISTED = 10


class Sample(msgspec.Struct, frozen=True):
    """What one metric reduces."""

    rewards: TaskRewards  # the numbers, by task; missing ones are left out
    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None  # each task's; None where the benchmark names no field
    score: str  # the score that they are; empty where they are made of several
    missing: int  # rollouts that have none


def with_missing_rewards(table: RolloutTable, spec: BenchmarkSpec) -> RolloutTable:
    """Give rollouts without a reward the one that ``expect.missing_reward`` says, if any."""
    fill = spec.expect.missing_reward
    column = table.scores.get(spec.reward)
    if isinstance(fill, str) or fill is None or column is None or not np.isnan(column).any():
        return table
    scores = {**table.scores, spec.reward: np.where(np.isnan(column), fill, column)}
    return replace(table, scores=scores, integers=table.integers - {spec.reward})


class SampleSource:
    """One agent's rollouts.

    A metric that names no score reduces `reward`. Equal values of the field `cluster` are not
    independent.
    """

    def __init__(
        self,
        table: RolloutTable,
        reward: str,
        cluster: str | None = None,
        lacking: Collection[str] = (),
    ) -> None:
        self.table = table
        self.reward = reward
        self.cluster = cluster
        self.lacking = lacking  # categories of another run, which tell of its tasks alone
        self._by_label: dict[str, dict[str, NDArray[np.int64]]] = {}
        self._by_metric: dict[str, TaskRows] = {}
        self._last: tuple[tuple[str | None, ...], Sample] | None = None

    def sample(self, metric: BoundMetric) -> Sample:
        """Collect what a metric reduces; an unknown score, field or value is an error."""
        name = metric.name
        column = self._column(metric)
        own = name.metric if metric.reads_columns or metric.reads_rows else None
        key = (own, name.score, name.field, name.value)
        if self._last is None or self._last[0] != key:  # metrics of one column come in a row
            score = name.score or self.reward if own is None else ""
            sample = self._sample(column, score, name.field, name.value)
            if metric.reads_rows:
                rows = self._rows(metric)
                places = replace(rows, values=sample.rewards.values, offsets=sample.rewards.offsets)
                sample = structs.replace(sample, rewards=places)
            self._last = key, sample
        return self._last[1]

    def _rows(self, metric: BoundMetric) -> TaskRows:
        """Return all rows of the columns that a metric reads, whatever they lack."""
        key = metric.name.metric
        if key not in self._by_metric:
            self._by_metric[key] = self._coded(metric)
        return self._by_metric[key]

    def _coded(self, metric: BoundMetric) -> TaskRows:
        numbers: dict[str, NDArray[np.float64]] = {}
        coded: dict[str, tuple[NDArray[np.int64], list[str]]] = {}
        asked = getattr(metric.target, "labels", None)  # None: numbers are numbers
        for name in metric.target.columns:
            scores, category = self.table.scores.get(name), self.table.categories.get(name)
            if category is not None and (name in self.lacking or not _is_held(category)):
                category = None
            as_label = scores is None if asked is None else name in asked
            if as_label and category is not None:
                coded[name] = category.codes.astype(np.int64), list(map(_spelt, category.labels))
            elif as_label and scores is not None:
                coded[name] = _labels_of(scores)
            elif scores is not None:
                numbers[name] = scores
            else:
                there = [*self.table.scores, *(self.table.categories if as_label else ())]
                raise MetricError(
                    f"{metric.label}: no rollout has {'a label' if as_label else 'a number'} "
                    f"{name!r}: " + did_you_mean(name, there, what="columns there are")
                )
        labels = in_order({x for _, known in coded.values() for x in known} - {MISSING})
        code = {label: at for at, label in enumerate(labels)} | {MISSING: -1}
        columns = {
            name: np.array([code[label] for label in known], dtype=np.int64)[codes]
            for name, (codes, known) in coded.items()
        }
        return metric.rows({**numbers, **columns}, labels, frozenset(coded), self.table.offsets)

    def _sample(
        self, column: NDArray[np.float64], score: str, field: str | None, value: str | None
    ) -> Sample:
        tasks, clusters, offsets = self.table.tasks, self._clusters, self.table.offsets
        if field is not None and value is not None:
            rows = self.rows_by_label(field)
            if value not in rows:
                raise MetricError(
                    f"no rollout has {field} = {value!r}: "
                    + did_you_mean(value, rows, what=f"values of {field}")
                )
            task = self.table.task[rows[value]]
            starts = np.flatnonzero(np.diff(task, prepend=-1))
            tasks = tuple(self.table.tasks[i] for i in task[starts].tolist())
            clusters = None if clusters is None else clusters[task[starts]]
            column, offsets = column[rows[value]], np.append(starts, len(task)).astype(np.int64)
        absent = np.isnan(column)
        rewards = TaskRewards(column, offsets)
        if absent.any():
            kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
            rewards = TaskRewards(column[~absent], kept[offsets])
        return Sample(rewards, tasks, clusters, score, len(column) - len(rewards.values))

    def unscored(self, field: str) -> dict[str, int]:
        """Find the values that only rollouts without a reward have, and count these."""
        column = self.table.scores.get(self.reward)
        if column is None or not np.isnan(column).any():
            return {}
        return {
            label: len(rows)
            for label, rows in self.rows_by_label(field).items()
            if np.isnan(column[rows]).all()
        }

    def rows_by_label(self, field: str) -> dict[str, NDArray[np.int64]]:
        """Find the rows of each value that a field has in these rollouts, ascending."""
        if field not in self._by_label:
            category = self._category(field, "breakdown")
            order = np.argsort(category.codes, kind="stable")
            starts = np.searchsorted(category.codes[order], np.arange(1, len(category.labels)))
            labelled = zip(category.labels, np.split(order, starts), strict=True)
            self._by_label[field] = {label: rows for label, rows in labelled if len(rows)}
        return self._by_label[field]

    def _column(self, metric: BoundMetric) -> NDArray[np.float64]:
        name = metric.name
        if (metric.reads_columns or metric.reads_rows) and name.score is not None:
            raise MetricError(
                f"{metric.label}: {name.metric} is of no score: leave /{name.score} out"
            )
        if metric.reads_rows:
            rows = self._rows(metric)
            held = np.ones(len(self.table), dtype=bool)
            for each, values in rows.columns.items():
                held &= values >= 0 if each in rows.coded else ~np.isnan(values)
            return np.where(held, np.arange(len(self.table), dtype=np.float64), np.nan)
        if metric.reads_columns:
            column: NDArray[np.float64] | None = metric.target.column(self.table.scores)
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
        if category is None or not _is_held(category):
            raise MetricError(
                f"{what} {field!r}: no rollout has that field",
                hint="name a field of the rows, such as difficulty or metadata.difficulty",
            )
        return category

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        if self.cluster is None:
            return None
        category = self._category(self.cluster, "cluster")
        clusters = category.codes[self.table.offsets[:-1]].astype(np.int64)
        torn = np.unique(self.table.task[category.codes != np.repeat(clusters, self.table.counts)])
        if len(torn):
            named = ", ".join(str(self.table.tasks[i]) for i in torn[:_LISTED].tolist())
            more = f" and {len(torn) - _LISTED} more" if len(torn) > _LISTED else ""
            raise DataError(
                f"cluster {self.cluster!r}: a task belongs to one cluster, and the rollouts of "
                f"{many(len(torn), 'task')} have different values: {named}{more}",
                hint="name a field that is the same in all rollouts of a task",
            )
        return clusters


def _is_held(category: Category) -> bool:
    """Whether any row has the field."""
    missing = category.labels.index(MISSING) if MISSING in category.labels else -1
    return bool(((category.codes >= 0) & (category.codes != missing)).any())


def _labels_of(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    """Turn numbers into labels, in JSON's spelling."""
    absent = np.isnan(scores)
    values, codes = np.unique(np.where(absent, 0.0, scores), return_inverse=True)
    labels = [*(f"{value:.12g}" for value in values.tolist()), MISSING]
    return np.where(absent, len(values), codes), labels


def _spelt(label: str) -> str:
    """Spell a number one way, whether a file says 1 or 1.0."""
    return f"{float(label):.12g}" if is_numeric(label) else label
