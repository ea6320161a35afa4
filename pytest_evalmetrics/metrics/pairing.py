"""One metric on a run and on its baseline, task by task: what a comparison is made of."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.data import Category, TaskRewards
from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.metrics.matching import named, positions
from pytest_evalmetrics.metrics.protocol import is_of_tasks, is_ratio
from pytest_evalmetrics.metrics.sides import paired, reward_range, side_of
from pytest_evalmetrics.metrics.source import Sample, Source, with_missing_rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, RolloutTable, TaskId
    from pytest_evalmetrics.metrics.lookup import BoundMetric
    from pytest_evalmetrics.metrics.planning import Plan
    from pytest_evalmetrics.metrics.sides import WeightedCombine

__all__ = ["Compared", "Pairing"]


class Compared(msgspec.Struct, frozen=True):
    """A metric on both sides, and what the sides don't share.

    Attributes
    ----------
    pair
        The metric on the tasks of both sides.
    clusters
        Each paired task's cluster, shape (tasks,), where the benchmark names a field.
    added, removed
        Tasks of the run alone, and of the baseline alone.
    combine_weighted
        Reduces tasks' values that occur so many times each; None if the metric does not
        offer that.
    """

    pair: PairedMetric
    clusters: NDArray[np.int64] | None
    added: tuple[TaskId, ...]
    removed: tuple[TaskId, ...]
    combine_weighted: WeightedCombine | None = None


class Pairing(msgspec.Struct, frozen=True, dict=True):
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
        return self._pair(metric, *self._samples(metric))

    def missing(self, metric: BoundMetric) -> float:
        """Return the larger share of missing rollouts of both sides."""
        shares = [0.0]
        for side, sample in enumerate(self._samples(metric)):
            wanted = int(self._wanted(metric, side).sum())
            if wanted:
                shares.append((wanted - len(sample.rewards.values)) / wanted)
        return max(shares)

    def pair_at_worst(self, metric: BoundMetric, *, higher_is_better: bool) -> Compared | None:
        """Pair a metric, what is missing at its worst; None where nothing is missing.

        The run's missing rewards are then as bad, and the baseline's as good, as any reward
        of either side, or as [0, 1] allows where all rewards lie in it. Where a metric may do
        with a reward what it likes, the worst of all such ways is taken.
        """
        if not self.missing(metric):
            return None
        samples = self._samples(metric)
        lacking = [
            self._wanted(metric, side) - sample.rewards.counts
            for side, sample in enumerate(samples)
        ]
        low, high = _extremes(metric, samples[0].rewards, samples[1].rewards)
        ways: list[tuple[float, ...]] = [(low, high) if higher_is_better else (high, low)]
        if not (is_ratio(metric.target) or is_of_tasks(metric.target)):
            ways = list(product((low, high), repeat=2))
        found = [
            self._pair(
                metric,
                *(
                    structs.replace(sample, rewards=_pad(sample.rewards, gap, fill))
                    for sample, gap, fill in zip(samples, lacking, fills, strict=True)
                ),
            )
            for fills in ways
        ]
        sign = 1 if higher_is_better else -1
        return max(found, key=lambda c: sign * (c.pair.value_baseline - c.pair.value_current))

    @cached_property
    def _sources(self) -> tuple[Source, Source]:
        spec = self.plan.spec
        return (
            Source(with_missing_rewards(self.current, spec), spec.reward, spec.cluster),
            Source(with_missing_rewards(self._described(), spec), spec.reward),
        )

    @cached_property
    def at(self) -> NDArray[np.int64] | None:
        """Each task's place in the baseline, -1 for a new one; None where all are alike."""
        return positions(self.current.tasks, self.baseline.tasks)

    @cached_property
    def _lacking(self) -> list[str]:
        """The fields of rows that the baseline does not hold."""
        return [n for n in self.current.categories if n not in self.baseline.categories]

    def _described(self) -> RolloutTable:
        """Give the baseline's rows the fields of the run's tasks, where it holds none."""
        if not self._lacking or not len(self.current):
            return self.baseline
        of = np.arange(len(self.baseline.tasks))
        if self.at is not None:
            known = self.at >= 0
            of[:] = -1
            of[self.at[known]] = np.flatnonzero(known)
        categories = dict(self.baseline.categories)
        for name in self._lacking:
            category = self.current.categories[name]
            codes = np.append(category.codes[self.current.offsets[:-1]], len(category.labels))
            categories[name] = Category(
                codes[of][self.baseline.task].astype(np.int32),
                (*category.labels, "(not in this run)"),
            )
        return replace(self.baseline, categories=categories)

    def _samples(self, metric: BoundMetric) -> tuple[Sample, Sample]:
        current, baseline = self._sources
        return current.sample(metric), baseline.sample(metric)

    def _wanted(self, metric: BoundMetric, side: int) -> NDArray[np.int64]:
        """Rollouts that each task of a sample should have a number for."""
        table = self._sources[side].table
        rows = table.counts
        wanted = rows if side else np.maximum(rows, self.expected)
        field, value = metric.name.field, metric.name.value
        if field is None or value is None:
            return wanted
        category = table.categories[field]
        within = category.codes == category.labels.index(value)
        held = np.bincount(table.task[within], minlength=len(rows))
        # what is absent of a task is of this breakdown where all that is there is of it
        return np.where(held == rows, wanted, held)[held > 0]

    def _pair(self, metric: BoundMetric, current: Sample, baseline: Sample) -> Compared:
        whole = metric.name.field is None
        at = self.at if whole else positions(current.tasks, baseline.tasks)
        both = None if at is None or all_of(at >= 0) else np.flatnonzero(at >= 0)
        places = at if at is None or both is None else at[both]
        sides = (
            side_of(metric, current.rewards, both),
            side_of(metric, baseline.rewards, places),
        )
        added, removed = _unshared(current.tasks, baseline.tasks, at)
        if metric.name.field in self._lacking:  # which of the gone tasks were of it is not known
            removed += _unshared(self.current.tasks, self.baseline.tasks, self.at)[1]
        usable = sides[0].usable & sides[1].usable
        tasks, clusters = current.tasks, current.clusters
        if both is not None:
            tasks = named(tasks, both)
            clusters = None if clusters is None else clusters[both]
        kept = np.flatnonzero(usable)
        return Compared(
            pair=paired(
                metric,
                named(tasks, kept),
                *(side.take(kept) for side in sides),
                excluded=named(tasks, np.flatnonzero(~usable)),
            ),
            clusters=None if clusters is None else clusters[kept],
            added=added,
            removed=removed,
            combine_weighted=sides[0].weighted,
        )


def _unshared(
    current: tuple[TaskId, ...], baseline: tuple[TaskId, ...], at: NDArray[np.int64] | None
) -> tuple[tuple[TaskId, ...], tuple[TaskId, ...]]:
    """Name the tasks of the run alone, and of the baseline alone."""
    if at is None:
        return (), ()
    gone = np.ones(len(baseline), dtype=bool)
    gone[at[at >= 0]] = False
    return named(current, np.flatnonzero(at < 0)), named(baseline, np.flatnonzero(gone))


def _extremes(metric: BoundMetric, *sides: TaskRewards) -> tuple[float, float]:
    """Return the lowest and the highest reward that a missing one may have been."""
    low, high = reward_range(*sides)
    options = getattr(metric.target, "options", None)
    if metric.bounded and options is not None:  # one that fails, one that passes
        threshold = options.pass_threshold
        return min(low, math.nextafter(threshold, -math.inf)), max(high, threshold)
    return low, high


def _pad(rewards: TaskRewards, lacking: NDArray[np.int64], value: float) -> TaskRewards:
    """Add what a task lacks behind its samples."""
    gaps = np.maximum(lacking, 0)
    offsets = np.concatenate(([0], np.cumsum(rewards.counts + gaps))).astype(np.int64)
    values = np.full(offsets[-1], value)
    shift = np.repeat(offsets[:-1] - rewards.offsets[:-1], rewards.counts)
    values[shift + np.arange(len(rewards.values))] = rewards.values
    return TaskRewards(values, offsets)
