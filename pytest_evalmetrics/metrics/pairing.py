"""A run and its baseline: tasks matched by id and content, and a metric on both sides."""

from __future__ import annotations

import math
from collections import defaultdict
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from itertools import islice, product, repeat
from operator import eq, lt
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.data import (
    STATED_COUNT,
    STATED_ERROR,
    Category,
    Drift,
    PairedMetric,
    TaskRewards,
    TaskRows,
)
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.metric import offers
from pytest_evalmetrics.metrics.samples import Sample, SampleSource, with_missing_rewards
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, TaskId
    from pytest_evalmetrics.metrics.lookup import Plan
    from pytest_evalmetrics.metrics.metric import BoundMetric, TaskParts, WeightedCombine

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

_CHUNK = 4_096  # ids that are text at the same time


def align(current: RolloutTable, baseline: RolloutTable) -> tuple[RolloutTable, Drift]:
    """Give a baseline's tasks the ids that the run has for the same content, and say what differs.

    Tasks are matched by id where the content is the same or unknown, then by content; tasks of the
    same content in the order of their ids. An id that stands for another task by now is written
    ``id (as recorded)``.
    """
    at = positions(current.tasks, baseline.tasks)
    now, then = current.contents, baseline.contents
    drift = Drift(
        len(baseline.tasks),
        blind=(current.positional or baseline.positional) and (now is None or then is None),
        unknown=now is not None and then is None,
    )
    places = np.arange(len(current.tasks)) if at is None else at
    matched = places >= 0
    if now is not None and then is not None and len(then):
        theirs = then[places]
        matched &= (now == theirs) | (now == b"") | (theirs == b"")
    if at is None and matched.all():
        return replace(baseline, tasks=current.tasks), drift
    free = np.ones(len(baseline.tasks), dtype=bool)
    free[places[matched]] = False
    unmatched = np.flatnonzero(~matched).tolist()
    moves: dict[int, int] = {}  # places of the run -> of the baseline
    if now is not None and then is not None:
        waiting: dict[bytes, list[int]] = defaultdict(list)
        for place in np.flatnonzero(free)[::-1].tolist():
            waiting[then[place]].append(place)
        for place in unmatched:
            content = now[place]
            if content and waiting.get(content):
                moves[place] = waiting[content].pop()
    tasks, ours = list(map(str, baseline.tasks)), list(map(str, current.tasks))
    gone = set(np.flatnonzero(free).tolist()) - set(moves.values())
    new = set(unmatched) - moves.keys()
    taken = set(ours) if moves or len(new) != int((places < 0).sum()) else set()
    edited = {ours[i] for i in new} & {tasks[i] for i in gone}
    drift = replace(
        drift,
        moved=tuple((tasks[old], ours[mine]) for mine, old in moves.items()),
        edited=tuple(ours[i] for i in sorted(new) if ours[i] in edited),
        lost=tuple(tasks[i] for i in sorted(gone) if tasks[i] not in edited),
        new=tuple(ours[i] for i in sorted(new) if ours[i] not in edited),
    )
    for mine, old in moves.items():
        tasks[old] = ours[mine]
    for old in gone:
        if tasks[old] in taken:
            tasks[old] += " (as recorded)"
    return replace(baseline, tasks=tuple(tasks)), drift


def positions(tasks: tuple[TaskId, ...], among: tuple[TaskId, ...]) -> Places | None:
    """Find each task's place in another list, -1 where it is not there; None if all are alike.

    Ids have no repeats, and are all whole numbers or all text. They compare as text: a run's
    whole numbers are text in its baseline's file. A million of them are matched without holding a
    million texts.
    """
    if tasks == among or (
        len(tasks) == len(among) and all(map(eq, map(str, tasks), map(str, among)))
    ):
        return None
    numbers, others = _numbers(tasks), _numbers(among)
    if numbers is not None and others is not None:
        if not len(others):
            return np.full(len(numbers), -1)
        order = None if (others[1:] > others[:-1]).all() else np.argsort(others)
        at = np.minimum(np.searchsorted(others, numbers, sorter=order), len(others) - 1)
        at = at if order is None else order[at]
        at[others[at] != numbers] = -1
        return at
    texts, names = list(map(str, tasks)), list(map(str, among))
    if all(all(map(lt, side, islice(side, 1, None))) for side in (texts, names)):
        places: Iterator[int] = _merged(texts, names)
    else:
        place = dict(zip(names, range(len(names)), strict=True))
        places = map(place.get, texts, repeat(-1))
    return np.fromiter(places, dtype=np.int64, count=len(texts))


def _numbers(tasks: tuple[TaskId, ...]) -> Places | None:
    """Return ids that are whole numbers, or the texts of such; else None."""
    found = np.empty(len(tasks), dtype=np.int64)
    for start in range(0, len(tasks), _CHUNK):
        ids = tasks[start : start + _CHUNK]
        try:
            numbers = list(map(int, ids))
            if set(map(type, ids)) != {int} and list(map(str, numbers)) != list(map(str, ids)):
                return None  # "007" is no 7
            found[start : start + _CHUNK] = numbers
        except (ValueError, OverflowError):
            return None
    return found


def _merged(texts: list[str], among: list[str]) -> Iterator[int]:
    """Yield each text's place in another ascending list."""
    place, size = 0, len(among)
    for text in texts:
        while place < size and among[place] < text:
            place += 1
        yield place if place < size and among[place] == text else -1


def _named(tasks: tuple[TaskId, ...], places: Places) -> tuple[TaskId, ...]:
    return tasks if len(places) == len(tasks) else tuple(tasks[i] for i in places.tolist())


class Compared(msgspec.Struct, frozen=True):
    """A metric on both sides, and what the sides don't share."""

    pair: PairedMetric  # the metric on the tasks of both sides
    clusters: NDArray[np.int64] | None  # each paired task's, where the benchmark names a field
    added: tuple[TaskId, ...]  # tasks of the run alone
    removed: tuple[TaskId, ...]  # tasks of the baseline alone
    # reduces tasks' values that occur so many times each, where the metric offers that
    combine_weighted: WeightedCombine | None = None


class Pairing(msgspec.Struct, frozen=True, dict=True):
    """A run and its baseline, of one agent.

    Fields of rows that the baseline does not hold are taken from the run, whose tasks they
    describe.
    """

    plan: Plan
    current: RolloutTable
    baseline: RolloutTable
    expected: NDArray[np.int64]  # rollouts that each task of the run should have

    def metric(self, text: str) -> BoundMetric:
        """Look up a metric by its name."""
        return self.plan.names.bind(text)

    def pair(self, metric: BoundMetric) -> Compared:
        """Pair a metric over the tasks of both sides; with no task left the values are NaN.

        A missing reward is left out, or counts on both sides as the benchmark says it does. A task
        without a value on one side, such as too few rollouts for pass@k, is among the excluded
        ones.
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
        lacking = [self._wanted(metric, i) - s.rewards.counts for i, s in enumerate(samples)]
        low, high = _reward_range(samples[0].rewards, samples[1].rewards)
        options = None if metric.reads_rows else getattr(metric.target, "options", None)
        if metric.bounded and options is not None:  # one that fails, one that passes
            threshold = options.pass_threshold
            low, high = min(low, math.nextafter(threshold, -math.inf)), max(high, threshold)
        ways: list[tuple[float, ...]] = [(low, high) if higher_is_better else (high, low)]
        if not offers(metric.target, "task_parts", "task_values"):
            ways = list(product((low, high), repeat=2))
        compared = []
        for fills in ways:
            current, baseline = (
                structs.replace(sample, rewards=_padded(sample.rewards, gaps, fill))
                for sample, gaps, fill in zip(samples, lacking, fills, strict=True)
            )
            compared.append(self._pair(metric, current, baseline))
        sign = 1 if higher_is_better else -1
        return max(compared, key=lambda c: sign * (c.pair.value_baseline - c.pair.value_current))

    def stated_error(self, metric: BoundMetric) -> tuple[float, float] | None:
        """Return the standard error of a drop of aggregates, and its degrees of freedom.

        None where there are rollouts. Both sides are taken as independent (Welch 1947).

        Raises
        ------
        MetricError
            If an aggregate has no standard error, or the baseline holds rollouts.
        """
        score = metric.name.score or self.plan.spec.reward
        wanted = STATED_ERROR + score, STATED_COUNT + score
        if not any(name.startswith(STATED_ERROR) for name in self.current.scores):
            return None
        at = np.arange(len(self.current.tasks)) if self.at is None else self.at
        sides = (self.current, np.flatnonzero(at >= 0)), (self.baseline, at[at >= 0])
        variance = spread = 0.0
        for table, tasks in sides:
            none = np.full(len(table), np.nan)
            errors, counts = (table.scores.get(name, none)[tasks] for name in wanted)
            if np.isnan(errors).any() or (counts < 2).any():  # noqa: PLR2004 - a spread
                task = table.tasks[tasks[int(np.argmax(np.isnan(errors) | (counts < 2)))]]  # noqa: PLR2004
                raise MetricError(
                    f"{score} of {task} has no standard error in "
                    f"{'this run' if table is self.current else 'the baseline'}; gate it by a "
                    "threshold, or keep samples (--log_samples)"
                )
            parts = (errors / len(tasks)) ** 2
            variance += float(parts.sum())
            spread += float((parts**2 / (counts - 1)).sum())
        return math.sqrt(variance), variance**2 / spread if spread else math.inf

    @cached_property
    def at(self) -> Places | None:
        """Each task's place in the baseline, -1 for a new one; None where all are alike."""
        return positions(self.current.tasks, self.baseline.tasks)

    @cached_property
    def _sources(self) -> tuple[SampleSource, SampleSource]:
        spec = self.plan.spec
        return (
            SampleSource(with_missing_rewards(self.current, spec), spec.reward, spec.cluster),
            SampleSource(
                with_missing_rewards(self._described(), spec), spec.reward, lacking=self._lacking
            ),
        )

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
            paired = self.at >= 0
            of[:] = -1
            of[self.at[paired]] = np.flatnonzero(paired)
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
        now, then = (source.sample(metric) for source in self._sources)
        if isinstance(now.rewards, TaskRows) and isinstance(then.rewards, TaskRows):
            rows = now.rewards.beside(then.rewards)
            now, then = (
                structs.replace(sample, rewards=each)
                for sample, each in zip((now, then), rows, strict=True)
            )
        return now, then

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
        both = None if at is None or (at >= 0).all() else np.flatnonzero(at >= 0)
        places = at if at is None or both is None else at[both]
        sides = Side.of(metric, current.rewards, both), Side.of(metric, baseline.rewards, places)
        added, removed = _unshared(current.tasks, baseline.tasks, at)
        if metric.name.field in self._lacking:  # which of the gone tasks were of it is not known
            removed += _unshared(self.current.tasks, self.baseline.tasks, self.at)[1]
        usable = sides[0].usable & sides[1].usable
        tasks, clusters = current.tasks, current.clusters
        if both is not None:
            tasks = _named(tasks, both)
            clusters = None if clusters is None else clusters[both]
        kept = np.flatnonzero(usable)
        weighted = None if sides[0].parts is None else sides[0].parts.combine_weighted
        return Compared(
            pair=_paired(
                metric,
                _named(tasks, kept),
                *(side.take(kept) for side in sides),
                excluded=_named(tasks, np.flatnonzero(~usable)),
            ),
            clusters=None if clusters is None else clusters[kept],
            added=added,
            removed=removed,
            combine_weighted=None
            if weighted is None
            else lambda values, times: metric.checked("combine_weighted", weighted, values, times),
        )


def _unshared(
    current: tuple[TaskId, ...], baseline: tuple[TaskId, ...], at: Places | None
) -> tuple[tuple[TaskId, ...], tuple[TaskId, ...]]:
    """Name the tasks of the run alone, and of the baseline alone."""
    if at is None:
        return (), ()
    gone = np.ones(len(baseline), dtype=bool)
    gone[at[at >= 0]] = False
    return _named(current, np.flatnonzero(at < 0)), _named(baseline, np.flatnonzero(gone))


def _padded(rewards: TaskRewards, lacking: NDArray[np.int64], value: float) -> TaskRewards:
    """Add what a task lacks behind its samples."""
    gaps = np.maximum(lacking, 0)
    offsets = np.concatenate(([0], np.cumsum(rewards.counts + gaps))).astype(np.int64)
    values = np.full(offsets[-1], value)
    shift = np.repeat(offsets[:-1] - rewards.offsets[:-1], rewards.counts)
    values[shift + np.arange(len(rewards.values))] = rewards.values
    return replace(rewards, values=values, offsets=offsets)


def _reward_range(*sides: TaskRewards) -> tuple[float, float]:
    """Return what any reward may be: [0, 1] where all lie in it, else what there is.

    Of rows the places of the least and the most worth.
    """
    if isinstance(sides[0], TaskRows):
        places = np.concatenate([side.values for side in sides])
        worth = np.concatenate([side.numbers for side in sides])
        return (
            (float(places[worth.argmin()]), float(places[worth.argmax()])) if len(worth) else (0, 0)
        )
    low = min((float(s.values.min()) for s in sides if len(s.values)), default=0.0)
    high = max((float(s.values.max()) for s in sides if len(s.values)), default=1.0)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


class Side(msgspec.Struct, frozen=True):
    """A metric over some of the tasks of one side."""

    metric: BoundMetric
    rewards: TaskRewards
    values: Floats | None  # each task's; None for a metric that is no reduction of such
    parts: TaskParts | None  # how the values are reduced

    @classmethod
    def of(cls, metric: BoundMetric, rewards: TaskRewards, tasks: Places | None) -> Side:
        """Select tasks of a side, in that order; None is all of them."""
        if tasks is not None:
            rewards = _taken(rewards, tasks)
        parts = metric.parts(rewards)
        return cls(metric, rewards, None if parts is None else parts.values, parts)

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of `values`."""
        return self.parts is not None and self.parts.combine is None

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which tasks have a value, shape (tasks,)."""
        usable = self.rewards.counts >= max(self.metric.samples_needed, 1)
        if self.values is not None:
            usable &= ~np.isnan(self.values)
        return usable

    def take(self, tasks: Places) -> Side:
        """Select tasks, ascending."""
        if len(tasks) == len(self.rewards):
            return self
        values = None if self.values is None else self.values[tasks]
        return structs.replace(self, rewards=self.rewards.take(tasks), values=values)

    def value(self) -> float:
        """Compute the metric over all tasks; NaN without any."""
        if not len(self.rewards):
            return math.nan
        return self.metric.value(self.rewards) if self.values is None else self.reduced(self.values)

    def reduced(self, values: Floats) -> float:
        """Reduce tasks' values."""
        if self.parts is not None and self.parts.combine is not None:
            return self.metric.checked("combine", self.parts.combine, values)
        # in a comparison each task weighs the same, however many rollouts it has on a side
        return mean_of(values)


def _taken(rewards: TaskRewards, tasks: Places) -> TaskRewards:
    """Select tasks; in less memory where all have as many rollouts."""
    n, rollouts = len(rewards), len(rewards.values)
    k = rollouts // max(n, 1)
    if not k or k * n != rollouts or (np.diff(rewards.offsets) != k).any():
        return rewards.take(tasks)
    values = rewards.values.reshape(n, k)[tasks].ravel()
    return replace(rewards, values=values, offsets=np.arange(0, len(values) + 1, k))


def _difference(baseline: Side, current: Side) -> Callable[[Places, Places], float]:
    """Return the metric of one choice of both sides' tasks, stacked, less that of another."""
    metric = baseline.metric
    if baseline.values is not None and current.values is not None:
        values = np.concatenate((baseline.values, current.values))

        def over(tasks: Places) -> float:
            return baseline.reduced(values[tasks])
    else:
        one, other = baseline.rewards, current.rewards
        rewards = replace(
            one,
            values=np.concatenate((one.values, other.values)),
            offsets=np.concatenate((one.offsets, other.offsets[1:] + one.offsets[-1])),
        )
        lists = None if metric.vectorised else rewards.to_lists()

        def over(tasks: Places) -> float:
            if metric.weighs:
                return metric.weighed(rewards, np.bincount(tasks, minlength=len(rewards)))
            if lists is None:
                return metric.anew(rewards.take(tasks))
            return metric.of_lists([deepcopy(lists[i]) for i in tasks.tolist()])

    return lambda first, second: over(first) - over(second)


def _paired(
    metric: BoundMetric,
    tasks: tuple[TaskId, ...],
    current: Side,
    baseline: Side,
    *,
    excluded: tuple[TaskId, ...],
) -> PairedMetric:
    """Put two sides of the same tasks together."""
    mean = current.is_mean and baseline.is_mean
    values = baseline.value(), current.value()

    def task_values(rewards: TaskRewards) -> Floats:
        parts = metric.parts(rewards)
        assert parts is not None  # noqa: S101 - it had parts for these tasks
        return parts.values

    # the metric declares that it is on [0, 1], or its rewards show it
    sides = current.rewards, baseline.rewards
    on_unit = not metric.reads_rows and _reward_range(*sides) == (0.0, 1.0)
    return PairedMetric(
        name=str(metric),
        tasks=tasks,
        baseline=baseline.values,
        current=current.values,
        value_baseline=values[0],
        value_current=values[1],
        rewards_baseline=baseline.rewards,
        rewards_current=current.rewards,
        difference=None if mean else _difference(baseline, current),
        reduce=None if mean else metric.anew,
        task_values=task_values if current.is_mean else None,
        extreme=metric.extreme,
        excluded=excluded,
        bounded=metric.bounded or (on_unit and not any(v < 0 or v > 1 for v in values)),
    )
