"""What is compared, and the damage of each of its tasks."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.model.comparison import NoiseSource, Untestable
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison.run_noise import Runs
    from pytest_evalmetrics.model.comparison import (
        Floats,
        Ints,
        PairedMetric,
        RuleSettings,
    )
    from pytest_evalmetrics.model.rollout_table import TaskRewards


_NO_ROOM = 1e-12  # of the largest change: from the worst value but for rounding


class ComparisonInput(msgspec.Struct, frozen=True, kw_only=True):
    """A metric on both sides, and how its drop will be judged."""

    pair: PairedMetric
    rule: RuleSettings
    # of the benchmark and the agent; with the tasks' ids it seeds random numbers
    gate_id: str = ""
    # the tests that share the level of the rule: random draws go on until they show
    # whether p is below its share
    sharing: int = 1
    # of a baseline with several runs: their noise is added to that of tasks
    runs: Runs | None = None
    # the standard deviation between runs that the benchmark file states: of a rate in
    # its unit, of other metrics as a share of the baseline's value
    run_noise: float | None = None
    # whether the metric is a rate, by what declares it
    is_rate: bool = False
    # whether a task's rollouts share a number that is measured with an error, such as the
    # level of a reference: they are then no evidence by themselves
    shares_error: bool = False
    # of aggregates: the drop's standard error in the metric's unit, and its degrees of
    # freedom
    stated: tuple[float, float] | None = None
    # what the benchmark file says of rollouts of one task; None for nothing
    independent: bool | None = None

    @property
    def noise_source(self) -> NoiseSource:
        """What shows the noise between runs."""
        if self.run_noise is not None:
            return NoiseSource.DECLARED
        return NoiseSource.UNKNOWN if self.runs is None else self.runs.source


class TaskDamage(msgspec.Struct, frozen=True, kw_only=True):
    """The damage of each task, as the tests of a drop take it."""

    given: ComparisonInput
    # shape (tasks,): of the task's value, or where a metric has none for a task, of its
    # mean reward
    values: Floats
    # each task's cluster, from 0, shape (tasks,); None if tasks are independent
    clusters: Ints | None
    units: int  # independent ones: tasks, or clusters
    span: float  # the largest change of a task: 1 for rates, else as seen
    drop: float  # in the metric's unit; NaN without tasks
    unusable: Untestable | None  # why there is no damage to test
    # by how much each task could get worse, shape (tasks,): to the end of a rate's
    # range, else to the worst value of any task; None where tasks have no values
    room: Floats | None

    @property
    def pair(self) -> PairedMetric:
        """The metric on both sides."""
        return self.given.pair

    @property
    def sign(self) -> float:
        """1 where a fall is damage, -1 where a rise is."""
        return self.given.rule.sign

    @property
    def alpha(self) -> float:
        """The level at which p will be judged."""
        return self.given.rule.alpha

    @property
    def has_room(self) -> NDArray[np.bool_]:
        """Find the tasks that could get worse, or did, shape (tasks,)."""
        if self.room is None:
            return np.ones(len(self.values), dtype=bool)
        could_fall = self.room > _NO_ROOM * self.span
        return np.asarray(could_fall | (self.values != 0))

    @property
    def units_with_room(self) -> int:
        """Count the tasks, or clusters, that could get worse."""
        if self.clusters is None:
            return int(np.count_nonzero(self.has_room))
        return len(np.unique(self.clusters[self.has_room]))

    @property
    def share(self) -> float:
        """The share of the level that one of several tests has."""
        return self.given.rule.alpha / self.given.sharing


def measure_damage(given: ComparisonInput) -> TaskDamage:
    """Measure by how much each task got worse."""
    pair = given.pair
    unusable = None
    try:
        before, now = _task_values(pair)
        values = stats.paired_differences(before, now)
        values *= given.rule.sign
        values += 0.0  # without -0
    except stats.StatsError as error:
        values = np.zeros(len(pair.tasks))
        unusable = Untestable(cause="words", words=str(error))
    clusters, units = _numbered(pair.clusters, tasks=len(values))
    return TaskDamage(
        given=given,
        values=values,
        clusters=clusters,
        units=units,
        span=_span(pair),
        drop=math.nan if unusable else _drop(given, values),
        unusable=unusable,
        room=_room(given),
    )


def _room(given: ComparisonInput) -> Floats | None:
    """Return by how much each task could get worse."""
    pair = given.pair
    sign = given.rule.sign
    if pair.baseline is None or pair.current is None:
        return None
    if pair.bounded:
        return pair.baseline if sign > 0 else 1 - pair.baseline
    if not pair.baseline.size:
        return None
    worst = min(float((sign * side).min()) for side in (pair.baseline, pair.current))
    return np.asarray(sign * pair.baseline - worst)


def means_of(rewards: TaskRewards) -> Floats:
    """Return each task's mean reward, shape (tasks,); 0 for an empty task."""
    if rewards.is_one_each:
        return rewards.numbers  # no copy of what may be a million numbers
    counts = rewards.counts
    sums = np.add.reduceat(np.append(rewards.numbers, 0.0), rewards.offsets[:-1])
    sums = np.where(counts > 0, sums, 0.0)
    return np.asarray(sums / np.maximum(counts, 1))


def gate_seed(given: ComparisonInput) -> int:
    """Return the seed of a gate's random numbers: a million ids take half a second."""
    digest = blake2b(digest_size=16)
    for task in map(str, given.pair.tasks):
        digest.update(f"{len(task)}:{task}".encode("utf-8", "surrogatepass"))
    return stats.seed_of(f"{given.gate_id}::{given.pair.name}", digest.hexdigest())


def _task_values(pair: PairedMetric) -> tuple[Floats, Floats]:
    if pair.baseline is not None and pair.current is not None:
        return pair.baseline, pair.current
    return means_of(pair.rewards_baseline), means_of(pair.rewards_current)


def _numbered(clusters: Ints | None, *, tasks: int) -> tuple[Ints | None, int]:
    """Return clusters numbered as they appear, and how many units are independent."""
    if clusters is None:
        return None, tasks
    _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes], len(first)


def _drop(given: ComparisonInput, damage: Floats) -> float:
    pair = given.pair
    if not len(damage):
        return math.nan
    if pair.baseline is not None and pair.difference is None:
        return mean_of(damage)
    return given.rule.sign * (pair.value_baseline - pair.value_current) + 0.0


def _span(pair: PairedMetric) -> float:
    if pair.bounded:
        return 1.0
    values = [side for side in (pair.baseline, pair.current) if side is not None]
    if not values:
        values = [pair.rewards_baseline.numbers, pair.rewards_current.numbers]
    seen = [side for side in values if side.size]
    if not seen:
        return math.nan
    low = min(float(side.min()) for side in seen)
    high = max(float(side.max()) for side in seen)
    return high - low
