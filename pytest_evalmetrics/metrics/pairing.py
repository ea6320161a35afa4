"""One metric on a run and on its baseline, task by task: what a comparison is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import Category, PairedMetric, TaskRewards
from pytest_evalmetrics.metrics.source import Sample, Source, with_missing_rewards

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, TaskId
    from pytest_evalmetrics.metrics.forms import TaskParts
    from pytest_evalmetrics.metrics.lookup import BoundMetric
    from pytest_evalmetrics.metrics.planning import Plan

__all__ = ["Compared", "Pairing"]


@dataclass(frozen=True, slots=True)
class Compared:
    """A metric on both sides, and what the sides don't share.

    Attributes
    ----------
    pair
        The metric on the tasks of both sides.
    clusters
        Each paired task's cluster, shape (tasks,), where the benchmark names a field.
    added, removed
        Tasks of the run alone, and of the baseline alone.
    """

    pair: PairedMetric
    clusters: NDArray[np.int64] | None
    added: tuple[TaskId, ...]
    removed: tuple[TaskId, ...]


@dataclass(frozen=True)
class Pairing:
    """A run and its baseline, of one agent.

    Attributes
    ----------
    plan
        The benchmark's metrics.
    current, baseline
        The rollouts of both sides. Fields of rows that the baseline does not hold are taken
        from the run, whose tasks they describe.
    expected
        Rollouts that each task of the run should have, shape (tasks,).
    """

    plan: Plan
    current: RolloutTable
    baseline: RolloutTable
    expected: NDArray[np.int64]

    def metric(self, text: str) -> BoundMetric:
        """Find what a metric's name stands for."""
        return self.plan.names.bind(text)

    def pair(self, metric: BoundMetric) -> Compared:
        """Pair a metric over the tasks of both sides.

        A missing reward is left out, or counts on both sides as the benchmark says it does.

        A task without a value on one side, such as too few rollouts for pass@k, is among
        the excluded ones. With no task left the values are NaN.
        """
        return _pair(metric, *self._samples(metric))

    def missing(self, metric: BoundMetric) -> float:
        """Return the larger share of missing rollouts of both sides."""
        shares = []
        for side, sample in enumerate(self._samples(metric)):
            wanted = int(self._wanted(metric, side, sample).sum())
            shares.append(1 - len(sample.rewards.values) / wanted if wanted else 0.0)
        return max(shares)

    def pair_at_worst(self, metric: BoundMetric, *, higher_is_better: bool) -> Compared | None:
        """Pair a metric, what is missing at its worst; None where nothing is missing.

        The run's missing rewards are then as bad, and the baseline's as good, as any reward
        of either side, or as [0, 1] allows where all rewards lie in it.
        """
        current, baseline = samples = self._samples(metric)
        lacking = [
            self._wanted(metric, side, sample) - sample.rewards.counts
            for side, sample in enumerate(samples)
        ]
        if not any((gap > 0).any() for gap in lacking):
            return None
        low, high = _range(current.rewards, baseline.rewards)
        bad, good = (low, high) if higher_is_better else (high, low)
        return _pair(
            metric,
            replace(current, rewards=_pad(current.rewards, lacking[0], bad)),
            replace(baseline, rewards=_pad(baseline.rewards, lacking[1], good)),
        )

    @cached_property
    def _sources(self) -> tuple[Source, Source]:
        spec = self.plan.spec
        return (
            Source(with_missing_rewards(self.current, spec), spec.reward, spec.cluster),
            Source(with_missing_rewards(self._described(), spec), spec.reward),
        )

    def _described(self) -> RolloutTable:
        """Give the baseline's rows the fields of the run's tasks, where it holds none."""
        lacking = [n for n in self.current.categories if n not in self.baseline.categories]
        if not lacking or not len(self.current):
            return self.baseline
        at = _positions(self.baseline.tasks, self.current.tasks)
        categories = dict(self.baseline.categories)
        for name in lacking:
            category = self.current.categories[name]
            codes = np.append(category.codes[self.current.offsets[:-1]], len(category.labels))
            categories[name] = Category(
                codes[at][self.baseline.task].astype(np.int32),
                (*category.labels, "(not in this run)"),
            )
        return replace(self.baseline, categories=categories)

    def _samples(self, metric: BoundMetric) -> tuple[Sample, Sample]:
        current, baseline = self._sources
        return current.sample(metric), baseline.sample(metric)

    def _wanted(self, metric: BoundMetric, side: int, sample: Sample) -> NDArray[np.int64]:
        """Rollouts that each task of a sample should have a number for."""
        if metric.name.field is not None:  # which rows are absent from a breakdown is not known
            return sample.rewards.counts
        rows = np.diff(self._sources[side].table.offsets)
        return rows if side else np.maximum(rows, self.expected)


def _pair(metric: BoundMetric, current: Sample, baseline: Sample) -> Compared:
    at = _positions(current.tasks, baseline.tasks)
    both = np.flatnonzero(at >= 0)
    rewards = current.rewards.take(both), baseline.rewards.take(at[both])
    usable = _usable(metric, rewards[0]) & _usable(metric, rewards[1])
    kept = np.flatnonzero(usable)
    gone = np.ones(len(baseline.tasks), dtype=bool)
    gone[at[both]] = False

    def named(places: NDArray[np.int64]) -> tuple[TaskId, ...]:
        return tuple(current.tasks[i] for i in places.tolist())

    return Compared(
        pair=_paired(
            metric,
            named(both[kept]),
            (rewards[0].take(kept), rewards[1].take(kept)),
            named(both[~usable]),
        ),
        clusters=None if current.clusters is None else current.clusters[both[kept]],
        added=named(np.flatnonzero(at < 0)),
        removed=tuple(baseline.tasks[i] for i in np.flatnonzero(gone).tolist()),
    )


def _usable(metric: BoundMetric, rewards: TaskRewards) -> NDArray[np.bool_]:
    """Which tasks have a value, shape (tasks,)."""
    enough = rewards.counts >= max(metric.samples_needed, 1)
    parts = metric.parts(rewards)
    return enough if parts is None else enough & parts.held


def _paired(
    metric: BoundMetric,
    tasks: tuple[TaskId, ...],
    rewards: tuple[TaskRewards, TaskRewards],
    excluded: tuple[TaskId, ...],
) -> PairedMetric:
    parts = metric.parts(rewards[0]), metric.parts(rewards[1])
    of = _Side(metric, rewards[0], parts[0]), _Side(metric, rewards[1], parts[1])
    mean = all(side is not None and side.combine is None for side in parts)
    everything = np.arange(len(tasks))
    return PairedMetric(
        name=str(metric),
        tasks=tasks,
        baseline=None if parts[1] is None else parts[1].values,
        current=None if parts[0] is None else parts[0].values,
        value_baseline=of[1](everything),
        value_current=of[0](everything),
        rewards_baseline=rewards[1],
        rewards_current=rewards[0],
        difference=None if mean else _difference(*of),
        excluded=excluded,
        # "on [0, 1]" is told by the metric, or seen from the rewards
        bounded=metric.bounded or _range(*rewards) == (0.0, 1.0),
    )


@dataclass(frozen=True)
class _Side:
    """A metric over some of the tasks of one side."""

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None

    def __call__(self, picked: NDArray[np.int64]) -> float:
        if not len(picked):
            return math.nan
        if self.parts is None:
            return self.metric.value(self.rewards.take(picked))
        values = self.parts.values[picked]
        # in a comparison each task weighs the same, however many rollouts it has on a side
        return float(values.mean()) if self.parts.combine is None else self.parts.combine(values)


def _difference(current: _Side, baseline: _Side) -> Callable[[NDArray[np.int64]], float]:
    return lambda picked: baseline(picked) - current(picked)


def _positions(tasks: Sequence[TaskId], among: Sequence[TaskId]) -> NDArray[np.int64]:
    """Find each task's place in another list, -1 where it is not there; ids compare as text."""
    if len(tasks) == len(among) and tuple(tasks) == tuple(among):
        return np.arange(len(tasks))
    place = {str(task): i for i, task in enumerate(among)}
    return np.fromiter((place.get(str(t), -1) for t in tasks), dtype=np.int64, count=len(tasks))


def _range(*sides: TaskRewards) -> tuple[float, float]:
    """Return what any reward may be: [0, 1] where all lie in it, else what there is."""
    low = min((float(s.values.min()) for s in sides if len(s.values)), default=0.0)
    high = max((float(s.values.max()) for s in sides if len(s.values)), default=1.0)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


def _pad(rewards: TaskRewards, lacking: NDArray[np.int64], value: float) -> TaskRewards:
    """Add what a task lacks behind its samples."""
    gaps = np.maximum(lacking, 0)
    offsets = np.concatenate(([0], np.cumsum(rewards.counts + gaps))).astype(np.int64)
    values = np.full(offsets[-1], value)
    shift = np.repeat(offsets[:-1] - rewards.offsets[:-1], rewards.counts)
    values[shift + np.arange(len(rewards.values))] = rewards.values
    return TaskRewards(values, offsets)
