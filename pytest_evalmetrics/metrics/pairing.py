"""A metric on both sides of a comparison, over the tasks that a run and its baseline share."""

from __future__ import annotations

import math
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import may_be_gone_by_chance, means_of
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.alignment import are_all, positions
from pytest_evalmetrics.metrics.losses import (
    lost_rollouts,
    most_of_all,
    shares_of,
    short_of_usual,
    with_tasks,
)
from pytest_evalmetrics.metrics.metric import BoundMetric, TaskParts, offers
from pytest_evalmetrics.metrics.samples import (
    Sample,
    SampleSource,
    with_missing_rewards,
)
from pytest_evalmetrics.model.comparison import PairedMetric
from pytest_evalmetrics.model.rollout_table import (
    STATED_COUNT,
    STATED_ERROR,
    Category,
    TaskRows,
)
from pytest_evalmetrics.stats import FEWEST
from pytest_evalmetrics.sums import mean_of, short_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.lookup import Plan
    from pytest_evalmetrics.model.comparison import LostRollouts
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskId, TaskRewards

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

ScalarT = TypeVar("ScalarT", np.float64, np.int64)


class Pairing(msgspec.Struct, frozen=True, dict=True):
    """A run and its baseline, of one agent.

    Attributes
    ----------
    plan
        The benchmark's metrics.
    current, baseline
        The rollouts of both sides. Fields of rows that the baseline lacks are the run's.
    expected
        The rollouts that each task of the run should have, shape (tasks,).
    any_number
        Whether a task may have any number of rollouts: what it is short of is then
        known by the task with the most of them.
    lost
        The ids of the baseline's tasks that are gone.
    """

    plan: Plan
    current: RolloutTable
    baseline: RolloutTable
    expected: NDArray[np.int64]
    any_number: bool = False
    lost: frozenset[str] = frozenset()

    def pair(self, metric: BoundMetric) -> PairedMetric:
        """Pair a metric over the tasks of both sides; with no task left the values are NaN.

        A task without a value on one side, as with too few rollouts, is among the excluded.
        """
        current, baseline = self._samples(metric)
        last = self._last_shared
        if last.current is not current or last.baseline is not baseline:
            last.shared = self._share(metric, current, baseline)
            last.current = current
            last.baseline = baseline
        assert last.shared is not None  # noqa: S101 - it was made above
        return self._pair(metric, last.shared)

    def missing(self, metric: BoundMetric) -> float:
        """Return the larger share of missing rollouts of both sides."""
        current, baseline = self._samples(metric)
        now = _missing_share(current, self._wanted_now(metric))
        then = _missing_share(baseline, self._wanted_then(metric))
        return max(now, then)

    def pair_at_worst(
        self, metric: BoundMetric, *, higher_is_better: bool
    ) -> PairedMetric | None:
        """Pair a metric with missing rewards at their worst; None if nothing is missing.

        A missing reward is then as bad, or in the baseline as good, as any, or as [0, 1]
        allows where all lie in it. Of a metric of unknown shape the worst of all such ways
        is taken.
        """
        current, baseline = self._samples(metric)
        gaps_now = self._gaps_now(metric, current, baseline)
        gaps_then = _gaps(self._wanted_then(metric), baseline)
        lost_tasks = self._lost_tasks
        if metric.reads_rows:
            lost_tasks = ()
        if not lost_tasks and gaps_now is None and gaps_then is None:
            return None
        low, high = _fill_range(metric, current.rewards, baseline.rewards)
        # of the run, and of the baseline
        fills = [(low, high)]
        sign = 1
        if not higher_is_better:
            fills = [(high, low)]
            sign = -1
        if not offers(metric.target, "task_parts", "task_values"):
            fills = list(product((low, high), (low, high)))
        pairs = []
        for fill_now, fill_then in fills:
            filled = _filled(current, gaps_now, fill_now)
            now = with_tasks(filled, lost_tasks, fill_now)
            then = _filled(baseline, gaps_then, fill_then)
            pairs.append(self._pair(metric, self._share(metric, now, then)))
        return max(
            pairs, key=lambda pair: sign * (pair.value_baseline - pair.value_current)
        )

    def _gaps_now(
        self, metric: BoundMetric, current: Sample, baseline: Sample
    ) -> NDArray[np.int64] | None:
        """Count the rollouts that each task of the run lacks; None if none lacks any."""
        if self.any_number:
            return _if_any(short_of_usual(current, baseline))
        return _gaps(self._wanted_now(metric), current)

    def lost_rollouts(self, metric: BoundMetric) -> LostRollouts | None:
        """Count what each task of the baseline lost; None if the run lost nothing."""
        current, baseline = self._samples(metric)
        wanted_now = self._wanted_now(metric)
        wanted_then = self._wanted_then(metric)
        if self.any_number:
            wanted_now = most_of_all(current)
            wanted_then = most_of_all(baseline)
        now = shares_of(current, wanted_now)
        if not self.lost and not (now > 0).any():
            return None
        return lost_rollouts(
            now,
            shares_of(baseline, wanted_then),
            at=positions(current.tasks, baseline.tasks),
            values=means_of(baseline.rewards),
            gone=self._places_of_lost(baseline.tasks),
        )

    def _places_of_lost(self, tasks: tuple[TaskId, ...]) -> list[int]:
        if not self.lost:
            return []
        return [place for place, task in enumerate(tasks) if str(task) in self.lost]

    def may_be_gone_by_chance(self) -> bool:
        """Check whether tasks may have lost all their rollouts one by one, at random."""
        table = self.current
        at = positions(self.baseline.tasks, table.tasks)
        is_held = at >= 0
        held = np.zeros(len(at), dtype=np.int64)
        held[is_held] = table.counts[at[is_held]]
        most_then = int(self.baseline.counts.max(initial=1))
        most_now = int(table.counts.max(initial=1))
        usual = np.rint(self.baseline.counts / most_then * most_now)
        return may_be_gone_by_chance(usual.astype(np.int64), held)

    @cached_property
    def _lost_places(self) -> list[int]:
        return self._places_of_lost(self.baseline.tasks)

    @property
    def _lost_tasks(self) -> tuple[TaskId, ...]:
        return tuple(self.baseline.tasks[place] for place in self._lost_places)

    def stated_error(self, metric: BoundMetric) -> tuple[float, float] | None:
        """Return the standard error of a drop of aggregates, and its degrees of freedom.

        None if there are rollouts. Both sides are taken as independent (Welch 1947).
        """
        score = metric.name.score or self.plan.spec.reward
        if not any(name.startswith(STATED_ERROR) for name in self.current.scores):
            return None
        self._must_count_alike(score, STATED_COUNT + score)
        shared = self.at >= 0
        now = _stated_variances(
            self.current, np.flatnonzero(shared), score, where="this run"
        )
        then = _stated_variances(
            self.baseline, self.at[shared], score, where="the baseline"
        )
        variance = now.variance + then.variance
        spread = now.spread + then.spread
        degrees_of_freedom = math.inf
        if spread:
            degrees_of_freedom = variance**2 / spread
        return math.sqrt(variance), degrees_of_freedom

    def _must_count_alike(self, score: str, column: str) -> None:
        """Refuse aggregates that the two sides compute over different numbers of samples."""
        ours = self.current.scores.get(column)
        theirs = self.baseline.scores.get(column)
        if ours is None or theirs is None:
            return
        paired = np.flatnonzero(self.at >= 0)
        now = ours[paired]
        then = theirs[self.at[paired]]
        different = np.flatnonzero(now != then)
        if len(different):
            first = different[0]
            task = self.current.tasks[paired[first]]
            raise MetricError(
                f"{score} of {task} is over {now[first]:,.0f} samples in this run, and over "
                f"{then[first]:,.0f} in the baseline: run both over the same samples (without "
                "--limit, or with the same one)"
            )

    @cached_property
    def at(self) -> Places:
        """Each task's place in the baseline, -1 for a new one."""
        return positions(self.current.tasks, self.baseline.tasks)

    @cached_property
    def _current_source(self) -> SampleSource:
        spec = self.plan.spec
        table = with_missing_rewards(self.current, spec)
        return SampleSource(table, spec.reward, spec.cluster)

    @cached_property
    def _baseline_source(self) -> SampleSource:
        spec = self.plan.spec
        table = with_missing_rewards(self._described(), spec)
        return SampleSource(table, spec.reward, lacking=self._lacking)

    @cached_property
    def _lacking(self) -> list[str]:
        """The fields of rows that the baseline does not hold."""
        recorded = self.baseline.categories
        return [name for name in self.current.categories if name not in recorded]

    def _described(self) -> RolloutTable:
        """Copy the fields of the run's tasks to the baseline's rows, where these have none."""
        if not self._lacking or not len(self.current):
            return self.baseline
        # the run's task of each task of the baseline, -1 for none
        ours = np.full(len(self.baseline.tasks), -1)
        shared = self.at >= 0
        ours[self.at[shared]] = np.flatnonzero(shared)
        first_rows = self.current.offsets[:-1]
        categories = dict(self.baseline.categories)
        for name in self._lacking:
            category = self.current.categories[name]
            labels = (*category.labels, "(not in this run)")
            codes = np.append(category.codes[first_rows], len(category.labels))
            of_rows = codes[ours][self.baseline.task]
            categories[name] = Category(of_rows.astype(np.int32), labels)
        return structs.replace(self.baseline, categories=categories)

    def _samples(self, metric: BoundMetric) -> tuple[Sample, Sample]:
        """Return what the metric reduces of the run, and of the baseline."""
        now = self._current_source.sample(metric)
        then = self._baseline_source.sample(metric)
        if not isinstance(now.rewards, TaskRows):
            return now, then
        if not isinstance(then.rewards, TaskRows):
            return now, then
        rows_now, rows_then = now.rewards.beside(then.rewards)
        return (
            structs.replace(now, rewards=rows_now),
            structs.replace(then, rewards=rows_then),
        )

    def _wanted_now(self, metric: BoundMetric) -> NDArray[np.int64]:
        """Rollouts that each task of the run's sample should have a number for."""
        table = self._current_source.table
        return _wanted(metric, table, np.maximum(table.counts, self.expected))

    def _wanted_then(self, metric: BoundMetric) -> NDArray[np.int64]:
        """Rollouts that each task of the baseline's sample should have a number for."""
        table = self._baseline_source.table
        return _wanted(metric, table, table.counts)

    @cached_property
    def _last_shared(self) -> _LastShared:
        return _LastShared()

    def _share(
        self, metric: BoundMetric, current: Sample, baseline: Sample
    ) -> _SharedTasks:
        """Find the tasks that both samples have, with their rewards."""
        at = self._places_in_baseline(metric, current, baseline)
        if metric.name.field in self._lacking:  # the labels of lost tasks are unknown
            removed = _absent(self.baseline.tasks, self.at)
        else:
            removed = _absent(baseline.tasks, at)
        added = _named(current.tasks, np.flatnonzero(at < 0))
        common = current
        if added:
            places = np.flatnonzero(at >= 0)
            at = at[places]
            common = _of_tasks(current, places)
        then = _taken(baseline.rewards, at)
        is_held = (then.counts > 0) & (common.rewards.counts > 0)
        held = common
        if not is_held.all():
            places = np.flatnonzero(is_held)
            held = structs.replace(
                common,
                rewards=_without_others(common.rewards, places),
                tasks=_named(common.tasks, places),
                clusters=_chosen(common.clusters, places),
            )
            then = _without_others(then, places)
        if then.is_one_each and held.rewards.is_one_each:
            # a million tasks begin at the same places on both sides
            then = structs.replace(then, offsets=held.rewards.offsets)
        return _SharedTasks(
            common=common.tasks,
            is_held=is_held,
            tasks=held.tasks,
            clusters=held.clusters,
            baseline=then,
            current=held.rewards,
            added=added,
            removed=removed,
        )

    def _places_in_baseline(
        self, metric: BoundMetric, current: Sample, baseline: Sample
    ) -> Places:
        """Return each task's place in the baseline's sample, -1 where it is not there."""
        if metric.name.field is not None:  # the tasks of a label are some of them
            return positions(current.tasks, baseline.tasks)
        if len(current.tasks) == len(self.at):
            return self.at
        # at worst, those that the run lost follow
        return np.concatenate((self.at, self._lost_places))

    def _pair(self, metric: BoundMetric, shared: _SharedTasks) -> PairedMetric:
        common = _Common(
            tasks=shared.tasks,
            clusters=shared.clusters,
            baseline=_Side.of(metric, shared.baseline),
            current=_Side.of(metric, shared.current),
        )
        usable = common.baseline.usable(metric) & common.current.usable(metric)
        if not usable.all():
            common = common.choose(np.flatnonzero(usable))
        is_paired = shared.is_held.copy()
        is_paired[shared.is_held] = usable
        return structs.replace(
            _paired(metric, common),
            clusters=common.clusters,
            excluded=_named(shared.common, np.flatnonzero(~is_paired)),
            added=shared.added,
            removed=shared.removed,
        )


class _SharedTasks(msgspec.Struct, frozen=True):
    """The tasks that both sides have with a reward, in the order of the run.

    Attributes
    ----------
    common
        The ids of all tasks that both sides have.
    is_held
        Those of them with a reward on both sides, shape (common,).
    tasks, clusters, baseline, current
        The ids of these, their clusters and their rewards, shape (tasks,).
    added, removed
        The ids of tasks of the run alone, and of the baseline alone.
    """

    common: tuple[TaskId, ...]
    is_held: NDArray[np.bool_]
    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None
    baseline: TaskRewards
    current: TaskRewards
    added: tuple[TaskId, ...]
    removed: tuple[TaskId, ...]


class _LastShared(msgspec.Struct):
    """The shared tasks of the samples that were paired last.

    Metrics of one column come in a row: they share the rewards of a million tasks.
    """

    current: Sample | None = None
    baseline: Sample | None = None
    shared: _SharedTasks | None = None


class _Side(msgspec.Struct, frozen=True):
    """A metric on one side of a comparison.

    Attributes
    ----------
    rewards
        The rollouts, by task.
    parts
        Each task's part of the metric; None if it can't be split into tasks.
    values
        Each task's value, shape (tasks,), NaN where it has none; None as `parts`.
    """

    rewards: TaskRewards
    parts: TaskParts | None
    values: Floats | None

    @classmethod
    def of(cls, metric: BoundMetric, rewards: TaskRewards) -> _Side:
        parts = metric.parts(rewards)
        if parts is None:
            return cls(rewards, parts=None, values=None)
        return cls(rewards, parts, parts.values)

    def usable(self, metric: BoundMetric) -> NDArray[np.bool_]:
        """Find the tasks that have a value, shape (tasks,)."""
        usable = self.rewards.counts >= max(metric.samples_needed, 1)
        if self.values is None:
            return usable
        return usable & ~np.isnan(self.values)

    def choose(self, places: Places) -> _Side:
        """Return the same for some of the tasks."""
        values = _chosen(self.values, places)
        return _Side(self.rewards.take(places), self.parts, values)

    def whole(self, metric: BoundMetric) -> float:
        """Compute the metric; NaN without a task.

        Each task weighs the same, however many rollouts it has on this side.
        """
        if not len(self.rewards):
            return math.nan
        if self.parts is None or self.values is None:
            return metric.value(self.rewards)
        combine = self.parts.combine or mean_of
        return combine(self.values)


class _Common(msgspec.Struct, frozen=True):
    """The tasks that both sides have, in the order of the run."""

    tasks: tuple[TaskId, ...]
    clusters: NDArray[np.int64] | None  # each task's, shape (tasks,)
    baseline: _Side
    current: _Side

    def choose(self, places: Places) -> _Common:
        """Return the same for some of the tasks."""
        return _Common(
            tasks=_named(self.tasks, places),
            clusters=_chosen(self.clusters, places),
            baseline=self.baseline.choose(places),
            current=self.current.choose(places),
        )


def _paired(metric: BoundMetric, common: _Common) -> PairedMetric:
    """Put a metric's values of the same tasks together, with what reduces them."""
    then = common.baseline
    now = common.current
    value_then = then.whole(metric)
    value_now = now.whole(metric)
    bounded = metric.bounded or _shows_unit_range(
        metric, then, now, values=(value_then, value_now)
    )
    paired = PairedMetric(
        name=str(metric),
        tasks=common.tasks,
        baseline=then.values,
        current=now.values,
        value_baseline=value_then,
        value_current=value_now,
        rewards_baseline=then.rewards,
        rewards_current=now.rewards,
        extreme=metric.extreme,
        bounded=bounded,
    )
    if then.parts is not None and then.parts.combine is None:
        return structs.replace(
            paired,
            task_values=partial(_task_values, metric),
            combine_weighted=then.parts.combine_weighted,
        )
    combine_weighted = None
    if then.parts is not None:
        combine_weighted = then.parts.combine_weighted
    return structs.replace(
        paired,
        difference=_difference(metric, then, now),
        reduce=metric.anew,
        combine_weighted=combine_weighted,
        quantile=metric.quantile,
    )


def _task_values(metric: BoundMetric, rewards: TaskRewards) -> Floats:
    """Return each task's value of a metric that is a mean over tasks."""
    parts = metric.parts(rewards)
    assert parts is not None  # noqa: S101 - it had parts for these tasks
    return parts.values


def _shows_unit_range(
    metric: BoundMetric, then: _Side, now: _Side, *, values: tuple[float, float]
) -> bool:
    """Check whether all rewards, and the metric on both sides, lie in [0, 1]."""
    if metric.reads_rows:
        return False
    if _reward_range(then.rewards, now.rewards) != (0.0, 1.0):
        return False
    return not any(value < 0 or value > 1 for value in values)


class _DifferenceOfValues(msgspec.Struct, frozen=True, dict=True):
    """The metric of choices of tasks less that of others, by the tasks' values.

    Choices index the tasks of the baseline followed by those of the run.
    """

    combine: Callable[[Floats], Floats]
    before: Floats
    now: Floats

    @cached_property
    def values(self) -> Floats:
        """Both sides' values; made when they are asked for, as few metrics need them."""
        return np.concatenate((self.before, self.now))

    def __call__(self, first: Places, second: Places) -> Floats:
        of_first = self.combine(self.values[first])
        return of_first - self.combine(self.values[second])


class _DifferenceAnew(msgspec.Struct, frozen=True, dict=True):
    """The same, by computing the metric anew for each choice."""

    metric: BoundMetric
    before: TaskRewards
    now: TaskRewards

    @cached_property
    def metric_of(self) -> Callable[[Places], float]:
        """The metric over any choice of tasks."""
        after_baseline = self.now.offsets[1:] + self.before.offsets[-1]
        stacked = structs.replace(
            self.before,
            values=np.concatenate((self.before.values, self.now.values)),
            offsets=np.concatenate((self.before.offsets, after_baseline)),
        )
        return self.metric.of_choice(stacked)

    def __call__(self, first: Places, second: Places) -> Floats:
        differences = np.empty(len(first))
        for draw, (one, other) in enumerate(zip(first, second, strict=True)):
            differences[draw] = self.metric_of(one) - self.metric_of(other)
        return differences


def _difference(
    metric: BoundMetric, then: _Side, now: _Side
) -> Callable[[Places, Places], Floats]:
    """Return the metric of choices of both sides' tasks, stacked, less that of others."""
    combine = None if then.parts is None else then.parts.combine_draws
    if combine is None or then.values is None or now.values is None:
        return _DifferenceAnew(metric, then.rewards, now.rewards)
    return _DifferenceOfValues(combine, then.values, now.values)


# -- tasks of one side -----------------------------------------------------------------------


def _of_tasks(sample: Sample, places: Places) -> Sample:
    """Return a sample of some of its tasks."""
    return structs.replace(
        sample,
        rewards=sample.rewards.take(places),
        tasks=_named(sample.tasks, places),
        clusters=_chosen(sample.clusters, places),
    )


def _without_others(rewards: TaskRewards, places: Places) -> TaskRewards:
    """Return the rewards of some tasks, in their order."""
    counts = rewards.counts[places]
    ends = np.cumsum(counts)
    if len(ends) and ends[-1] < len(rewards.values):
        return rewards.take(places)
    # the others are empty: no copy of what may be a million rewards
    return structs.replace(rewards, offsets=np.concatenate(([0], ends)))


def _taken(rewards: TaskRewards, places: Places) -> TaskRewards:
    if are_all(places, len(rewards)):
        return rewards
    return rewards.take(places)


def _chosen(
    of_tasks: NDArray[ScalarT] | None, places: Places
) -> NDArray[ScalarT] | None:
    """Choose an array's values of some tasks, where there is one."""
    if of_tasks is None:
        return None
    return of_tasks[places]


def _named(tasks: tuple[TaskId, ...], places: Places) -> tuple[TaskId, ...]:
    if len(places) == len(tasks):
        return tasks
    return tuple(tasks[place] for place in places.tolist())


def _absent(baseline: tuple[TaskId, ...], at: Places) -> tuple[TaskId, ...]:
    """Name the tasks of the baseline that are at no place of the run."""
    absent = np.ones(len(baseline), dtype=bool)
    absent[at[at >= 0]] = False
    return _named(baseline, np.flatnonzero(absent))


# -- missing rewards -------------------------------------------------------------------------


def _wanted(
    metric: BoundMetric, table: RolloutTable, of_tasks: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many rollouts each task of a metric's sample should have a number for.

    `of_tasks` are those of each task of the table. Missing rollouts of a task, or of no
    label, belong to the breakdown of a metric if all others of the task do.
    """
    field = metric.name.field
    value = metric.name.value
    if field is None or value is None:
        return of_tasks
    category = table.categories[field]
    within = category.codes == category.labels.index(value)
    labelled = within | ~table.lacking((field,))
    count = len(table.tasks)
    held = np.bincount(table.task[within], minlength=count)
    of_any_label = np.bincount(table.task[labelled], minlength=count)
    return np.where(held == of_any_label, of_tasks, held)[held > 0]


def _missing_share(sample: Sample, wanted: NDArray[np.int64]) -> float:
    count = int(wanted.sum())
    if not count:
        return 0.0
    return (count - len(sample.rewards.values)) / count


def _gaps(wanted: NDArray[np.int64], sample: Sample) -> NDArray[np.int64] | None:
    """Count the rollouts that each task lacks; None if none lacks any."""
    return _if_any(wanted - sample.rewards.counts)


def _if_any(gaps: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return how many are missing of each task, 0 for more than wanted; None for none."""
    if not (gaps > 0).any():
        return None
    return np.maximum(gaps, 0)


def _filled(sample: Sample, missing: NDArray[np.int64] | None, value: float) -> Sample:
    """Append `value` to each task for the samples that it lacks."""
    if missing is None:
        return sample
    rewards = sample.rewards
    values = np.insert(rewards.values, np.repeat(rewards.offsets[1:], missing), value)
    added = np.concatenate(([0], np.cumsum(missing)))
    filled = structs.replace(rewards, values=values, offsets=rewards.offsets + added)
    return structs.replace(sample, rewards=filled)


def _fill_range(
    metric: BoundMetric, current: TaskRewards, baseline: TaskRewards
) -> tuple[float, float]:
    """Return the worst and the best that a missing reward may be; which is which depends."""
    low, high = _reward_range(current, baseline)
    options = None
    if not metric.reads_rows:
        options = getattr(metric.target, "options", None)
    if not metric.bounded or options is None:
        return low, high
    fails = short_of(options.pass_threshold)
    passes = options.pass_threshold
    return min(low, fails), max(high, passes)


def _reward_range(one: TaskRewards, other: TaskRewards) -> tuple[float, float]:
    """Return the range of the rewards: [0, 1] if it holds all of them, else their extremes."""
    ends = [_worst_and_best(side) for side in (one, other) if len(side.values)]
    if not ends:
        return 0.0, 1.0
    low = min((worst for worst, _ in ends), key=_worth).value
    high = max((best for _, best in ends), key=_worth).value
    if isinstance(one, TaskRows) or low < 0 or high > 1:
        return low, high
    return 0.0, 1.0


class _Ranked(msgspec.Struct, frozen=True):
    """A reward, and what it is worth."""

    value: float
    worth: float


def _worth(ranked: _Ranked) -> float:
    return ranked.worth


def _worst_and_best(rewards: TaskRewards) -> tuple[_Ranked, _Ranked]:
    worth = rewards.numbers
    worst = worth.argmin()
    best = worth.argmax()
    return (
        _Ranked(float(rewards.values[worst]), float(worth[worst])),
        _Ranked(float(rewards.values[best]), float(worth[best])),
    )


# -- aggregates with standard errors -----------------------------------------------------------


class _StatedVariance(msgspec.Struct, frozen=True):
    """The variance of a mean of aggregates, and its part of Welch's degrees of freedom."""

    variance: float
    spread: float


def _stated_variances(
    table: RolloutTable, tasks: Places, score: str, *, where: str
) -> _StatedVariance:
    """Add up the squares of the standard errors that tasks state."""
    none = np.full(len(table), np.nan)
    errors = table.scores.get(STATED_ERROR + score, none)[tasks]
    counts = table.scores.get(STATED_COUNT + score, none)[tasks]
    lacking = np.isnan(errors) | (counts < FEWEST)
    if lacking.any():
        task = table.tasks[tasks[lacking][0]]
        raise MetricError(
            f"{score} of {task} has no standard error in {where}; gate it by a "
            "threshold, or keep samples (--log_samples)"
        )
    variances = (errors / len(tasks)) ** 2
    spreads = variances**2 / (counts - 1)
    return _StatedVariance(variance=float(variances.sum()), spread=float(spreads.sum()))
