"""A run and its baseline: tasks matched by id and content, and a metric on both sides."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cached_property
from itertools import product, repeat
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import MetricError
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
    Drift,
    TaskRows,
)
from pytest_evalmetrics.stats import FEWEST
from pytest_evalmetrics.sums import mean_of, short_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.lookup import Plan
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskId, TaskRewards

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


def align(current: RolloutTable, baseline: RolloutTable) -> tuple[RolloutTable, Drift]:
    """Rename a baseline's tasks to the run's ids for the same content; return the drift too."""
    # Matched by id if the content is the same or unknown, then by content, in the order of ids.
    # An id that now belongs to another task is written ``id (as recorded)``.
    places = positions(current.tasks, baseline.tasks)
    now, then = current.contents, baseline.contents
    drift = Drift(
        len(baseline.tasks),
        blind=(current.positional or baseline.positional)
        and not (_apart(now) and _apart(then)),
        unknown=now is not None and then is None,
    )
    matched = places >= 0
    if now is not None and then is not None and len(then):
        theirs = then[places]
        matched &= (now == theirs) | (now == b"") | (theirs == b"")
    if matched.all() and _is_all(places, len(baseline.tasks)):
        return structs.replace(baseline, tasks=current.tasks), drift
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
    drift = structs.replace(
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
    return structs.replace(baseline, tasks=tuple(tasks)), drift


def _apart(contents: NDArray[np.bytes_] | None) -> bool:
    """Check whether contents are known and distinguish most tasks."""
    return contents is not None and 2 * len(set(contents.tolist())) > len(contents)


def positions(tasks: tuple[TaskId, ...], among: tuple[TaskId, ...]) -> Places:
    """Find each task's place in another list, -1 where it is not there; ids compare as text."""
    if tasks == among:
        return np.arange(len(tasks))
    place = dict(zip(map(str, among), range(len(among)), strict=True))
    places = map(place.get, map(str, tasks), repeat(-1))
    return np.fromiter(places, dtype=np.int64, count=len(tasks))


def _is_all(places: Places, count: int) -> bool:
    """Check whether places are those of all of so many tasks, in order."""
    return len(places) == count and bool((places == np.arange(count)).all())


def _taken(rewards: TaskRewards, places: Places) -> TaskRewards:
    return rewards if _is_all(places, len(rewards)) else rewards.take(places)


def _named(tasks: tuple[TaskId, ...], places: Places) -> tuple[TaskId, ...]:
    return (
        tasks if len(places) == len(tasks) else tuple(tasks[i] for i in places.tolist())
    )


class Pairing(msgspec.Struct, frozen=True, dict=True):
    """A run and its baseline, of one agent; fields of rows that a baseline lacks are the run's."""

    plan: Plan
    current: RolloutTable
    baseline: RolloutTable
    expected: NDArray[np.int64]  # rollouts that each task of the run should have

    def pair(self, metric: BoundMetric) -> PairedMetric:
        """Pair a metric over the tasks of both sides; with no task left the values are NaN."""
        # A task without a value on one side, as with too few rollouts, is among the excluded.
        return self._pair(metric, *self._samples(metric))

    def missing(self, metric: BoundMetric) -> float:
        """Return the larger share of missing rollouts of both sides."""
        shares = [0.0]
        for side, sample in enumerate(self._samples(metric)):
            wanted = int(self._wanted(metric, side).sum())
            if wanted:
                shares.append((wanted - len(sample.rewards.values)) / wanted)
        return max(shares)

    def pair_at_worst(
        self, metric: BoundMetric, *, higher_is_better: bool
    ) -> PairedMetric | None:
        """Pair a metric with missing rewards at their worst; None if nothing is missing."""
        # A missing reward is then as bad, or in the baseline as good, as any, or as [0, 1] allows
        # where all lie in it; of a metric of unknown shape the worst of all such ways is taken.
        if not self.missing(metric):
            return None
        samples = self._samples(metric)
        lacking = [
            self._wanted(metric, i) - s.rewards.counts for i, s in enumerate(samples)
        ]
        low, high = _reward_range(samples[0].rewards, samples[1].rewards)
        options = None if metric.reads_rows else getattr(metric.target, "options", None)
        if metric.bounded and options is not None:  # one that fails, one that passes
            threshold = options.pass_threshold
            low, high = (
                min(low, short_of(threshold)),
                max(high, threshold),
            )
        ways: list[tuple[float, ...]] = [
            (low, high) if higher_is_better else (high, low)
        ]
        if not offers(metric.target, "task_parts", "task_values"):
            ways = list(product((low, high), repeat=2))
        pairs = []
        for fills in ways:
            current, baseline = (
                structs.replace(sample, rewards=_padded(sample.rewards, gaps, fill))
                for sample, gaps, fill in zip(samples, lacking, fills, strict=True)
            )
            pairs.append(self._pair(metric, current, baseline))
        sign = 1 if higher_is_better else -1
        return max(
            pairs, key=lambda pair: sign * (pair.value_baseline - pair.value_current)
        )

    def stated_error(self, metric: BoundMetric) -> tuple[float, float] | None:
        """Return the standard error of a drop of aggregates, and its degrees of freedom.

        None if there are rollouts. Both sides are taken as independent (Welch 1947).
        """
        score = metric.name.score or self.plan.spec.reward
        wanted = STATED_ERROR + score, STATED_COUNT + score
        if not any(name.startswith(STATED_ERROR) for name in self.current.scores):
            return None
        paired = self.at >= 0
        sides = (self.current, np.flatnonzero(paired)), (self.baseline, self.at[paired])
        self._must_count_alike(score, STATED_COUNT + score)
        variance = spread = 0.0
        for table, tasks in sides:
            none = np.full(len(table), np.nan)
            errors, counts = (table.scores.get(name, none)[tasks] for name in wanted)
            lacking = np.isnan(errors) | (counts < FEWEST)
            if lacking.any():
                raise MetricError(
                    f"{score} of {table.tasks[tasks[lacking][0]]} has no standard error in "
                    f"{'this run' if table is self.current else 'the baseline'}; gate it by a "
                    "threshold, or keep samples (--log_samples)"
                )
            parts = (errors / len(tasks)) ** 2
            variance += float(parts.sum())
            spread += float((parts**2 / (counts - 1)).sum())
        return math.sqrt(variance), variance**2 / spread if spread else math.inf

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
    def _sources(self) -> tuple[SampleSource, SampleSource]:
        spec, lacking = self.plan.spec, self._lacking
        now, then = (
            with_missing_rewards(t, spec) for t in (self.current, self._described())
        )
        current = SampleSource(now, spec.reward, spec.cluster)
        return current, SampleSource(then, spec.reward, lacking=lacking)

    @cached_property
    def _lacking(self) -> list[str]:
        """The fields of rows that the baseline does not hold."""
        return [n for n in self.current.categories if n not in self.baseline.categories]

    def _described(self) -> RolloutTable:
        """Copy the fields of the run's tasks to the baseline's rows, where these have none."""
        if not self._lacking or not len(self.current):
            return self.baseline
        of, paired = np.full(len(self.baseline.tasks), -1), self.at >= 0
        of[self.at[paired]] = np.flatnonzero(paired)
        categories = dict(self.baseline.categories)
        for name in self._lacking:
            category = self.current.categories[name]
            codes = np.append(
                category.codes[self.current.offsets[:-1]], len(category.labels)
            )
            categories[name] = Category(
                codes[of][self.baseline.task].astype(np.int32),
                (*category.labels, "(not in this run)"),
            )
        return structs.replace(self.baseline, categories=categories)

    def _samples(self, metric: BoundMetric) -> tuple[Sample, Sample]:
        now, then = (source.sample(metric) for source in self._sources)
        if isinstance(now.rewards, TaskRows) and isinstance(then.rewards, TaskRows):
            rows = now.rewards.beside(then.rewards)
            return structs.replace(now, rewards=rows[0]), structs.replace(
                then, rewards=rows[1]
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
        # missing rollouts of a task, or of no label, belong to this breakdown if all others do
        labelled = within | ~table.lacking((field,))
        of_others = np.bincount(table.task[labelled], minlength=len(rows))
        return np.where(held == of_others, wanted, held)[held > 0]

    def _pair(
        self, metric: BoundMetric, current: Sample, baseline: Sample
    ) -> PairedMetric:
        at = (
            self.at
            if metric.name.field is None
            else positions(current.tasks, baseline.tasks)
        )
        added, removed = _unshared(current.tasks, baseline.tasks, at)
        if metric.name.field in self._lacking:  # the labels of lost tasks are unknown
            removed += _unshared(self.current.tasks, self.baseline.tasks, self.at)[1]
        shared = np.flatnonzero(at >= 0)
        sides = [_taken(baseline.rewards, at[shared]), _taken(current.rewards, shared)]
        tasks = _named(current.tasks, shared)
        clusters = None if current.clusters is None else current.clusters[shared]
        parts = [metric.parts(rewards) for rewards in sides]
        values = [None if each is None else each.values for each in parts]
        usable = np.ones(len(tasks), dtype=bool)
        for rewards, of_tasks in zip(sides, values, strict=True):
            usable &= rewards.counts >= max(metric.samples_needed, 1)
            if of_tasks is not None:
                usable &= ~np.isnan(of_tasks)
        excluded = _named(tasks, np.flatnonzero(~usable))
        if excluded:
            tasks = _named(tasks, np.flatnonzero(usable))
            sides = [rewards.take(np.flatnonzero(usable)) for rewards in sides]
            values = [None if each is None else each[usable] for each in values]
            clusters = None if clusters is None else clusters[usable]
        pair = _paired(metric, tasks, sides, values, parts[0])
        return structs.replace(
            pair, excluded=excluded, clusters=clusters, added=added, removed=removed
        )


def _unshared(
    current: tuple[TaskId, ...], baseline: tuple[TaskId, ...], at: Places
) -> tuple[tuple[TaskId, ...], tuple[TaskId, ...]]:
    """Name the tasks of the run alone, and of the baseline alone."""
    gone = np.ones(len(baseline), dtype=bool)
    gone[at[at >= 0]] = False
    return _named(current, np.flatnonzero(at < 0)), _named(
        baseline, np.flatnonzero(gone)
    )


def _padded(
    rewards: TaskRewards, lacking: NDArray[np.int64], value: float
) -> TaskRewards:
    """Append `value` to each task for the samples that it lacks."""
    gaps = np.maximum(lacking, 0)
    values = np.insert(rewards.values, np.repeat(rewards.offsets[1:], gaps), value)
    added = np.concatenate(([0], np.cumsum(gaps)))
    return structs.replace(rewards, values=values, offsets=rewards.offsets + added)


def _reward_range(*sides: TaskRewards) -> tuple[float, float]:
    """Return the range of the rewards: [0, 1] if it holds all of them, else their extremes."""
    values = np.concatenate([side.values for side in sides])
    if not len(values):
        return 0.0, 1.0
    worth = np.concatenate([side.numbers for side in sides])
    low, high = float(values[worth.argmin()]), float(values[worth.argmax()])
    on_unit = not isinstance(sides[0], TaskRows) and low >= 0 and high <= 1
    return (0.0, 1.0) if on_unit else (low, high)


def _difference(
    metric: BoundMetric,
    sides: Sequence[TaskRewards],
    of_tasks: Sequence[Floats | None],
    combine: Callable[[Floats], float] | None,
) -> Callable[[Places, Places], float]:
    """Return the metric of one choice of both sides' tasks, stacked, less that of another."""
    if combine is not None:
        reduce, both = (
            combine,
            np.concatenate([each for each in of_tasks if each is not None]),
        )
        return lambda first, second: reduce(both[first]) - reduce(both[second])
    one, other = sides
    values = np.concatenate((one.values, other.values))
    offsets = np.concatenate((one.offsets, other.offsets[1:] + one.offsets[-1]))
    over = metric.of_choice(structs.replace(one, values=values, offsets=offsets))
    return lambda first, second: over(first) - over(second)


def _paired(
    metric: BoundMetric,
    tasks: tuple[TaskId, ...],
    sides: Sequence[TaskRewards],
    values: Sequence[Floats | None],
    parts: TaskParts | None,
) -> PairedMetric:
    """Put a metric's values of the same tasks together, with what reduces them."""
    combine = None if parts is None else parts.combine
    is_mean = parts is not None and combine is None

    def whole(rewards: TaskRewards, of_tasks: Floats | None) -> float:
        if not len(rewards):
            return math.nan
        if of_tasks is None:
            return metric.value(rewards)
        # in a comparison each task weighs the same, however many rollouts it has on a side
        return (combine or mean_of)(of_tasks)

    def task_values(rewards: TaskRewards) -> Floats:
        parts = metric.parts(rewards)
        assert parts is not None  # noqa: S101 - it had parts for these tasks
        return parts.values

    before, after = map(whole, sides, values)
    # the metric declares that it is on [0, 1], or its rewards show it
    on_unit = not metric.reads_rows and _reward_range(*sides) == (0.0, 1.0)
    return PairedMetric(
        name=str(metric),
        tasks=tasks,
        baseline=values[0],
        current=values[1],
        value_baseline=before,
        value_current=after,
        rewards_baseline=sides[0],
        rewards_current=sides[1],
        difference=None if is_mean else _difference(metric, sides, values, combine),
        reduce=None if is_mean else metric.anew,
        task_values=task_values if is_mean else None,
        combine_weighted=None if parts is None else parts.combine_weighted,
        extreme=metric.extreme,
        bounded=metric.bounded
        or (on_unit and not any(v < 0 or v > 1 for v in (before, after))),
    )
