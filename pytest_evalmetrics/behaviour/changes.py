"""Test each feature of behaviour against the baseline, task by task."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.behaviour.churn import churn_of
from pytest_evalmetrics.behaviour.columns import ANSWER, CALLS, RUN
from pytest_evalmetrics.behaviour.distances import WordDistance
from pytest_evalmetrics.behaviour.features import Feature, features_of
from pytest_evalmetrics.behaviour.fingerprint import NUMBERS
from pytest_evalmetrics.comparison import (
    ComparisonInput,
    adjusted_p,
    compare,
    runs_of,
)
from pytest_evalmetrics.metrics.alignment import positions
from pytest_evalmetrics.model.behaviour import FeatureChange, TaskMove
from pytest_evalmetrics.model.comparison import (
    Comparison,
    PairedMetric,
    RuleName,
    RuleSettings,
    TestResult,
)
from pytest_evalmetrics.model.rollout_table import pool
from pytest_evalmetrics.model.verdicts import Direction
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.behaviour.distances import Distance
    from pytest_evalmetrics.model.behaviour import Churn
    from pytest_evalmetrics.model.comparison import Floats, Ints
    from pytest_evalmetrics.model.rollout_table import (
        RolloutTable,
        TaskId,
        TaskRewards,
    )

ALPHA: Final = 0.01  # the chance to name any feature where none changed
_WARN_ALPHA: Final = 0.05
_MOVED: Final = 5  # tasks that are named
_VARIED: Final = 10  # tasks whose rollouts differ
_FEWEST_VARIED: Final = 3
_DIGITS: Final = 6


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of one agent on both sides, its tasks aligned by their ids."""

    # all runs of the baseline, see `pooled`
    before: RolloutTable
    now: RolloutTable
    runs: int = 1  # of the baseline
    # each task's cluster, of the run, shape (tasks,); None if tasks are independent
    clusters: Ints | None = None
    # of the benchmark and the agent: seeds random numbers
    gate_id: str = ""
    # what the benchmark file says of the rollouts of a task; None for nothing
    independent: bool | None = None


class PairedFeature(msgspec.Struct, frozen=True):
    """A feature, and its columns by task."""

    feature: Feature
    pair: PairedMetric
    # with each run of the baseline, the newest last; empty if there is one
    of_runs: tuple[PairedMetric, ...] = ()


class ComparedFeature(msgspec.Struct, frozen=True):
    """A feature, and the tests of its rise and of its fall."""

    paired: PairedFeature
    rise: Comparison
    fall: Comparison


def pooled(runs: Sequence[RolloutTable]) -> RolloutTable:
    """Put the runs of a baseline into one table that knows the run of each row."""
    marked = []
    for number, run in enumerate(runs):
        column = np.full(len(run), float(number))
        marked.append(structs.replace(run, scores={**run.scores, RUN: column}))
    return pool(marked)


def compare_behaviour(
    sides: Sides,
    scores: tuple[TaskRewards, TaskRewards] | None,
    distance: Distance | None = None,
) -> tuple[tuple[FeatureChange, ...], Churn | None]:
    """Compare all features, and the answers of tasks with equal scores.

    Parameters
    ----------
    sides
        The columns of behaviour.
    scores
        The rewards of the baseline and of the run, of the tasks of each of its tables;
        None if they can't be compared.
    distance
        Of the answers; default that of their words.
    """
    sides = structs.replace(sides, independent=are_independent(sides))
    compared = [compared_feature(sides, paired) for paired in paired_features(sides)]
    changes = _changes(compared, sides.gate_id)
    if scores is None:
        return changes, None
    churn = churn_of(
        sides.before,
        sides.now,
        scores,
        distance=distance or WordDistance(),
        independent=sides.independent,
    )
    return changes, churn


def paired_features(sides: Sides) -> list[PairedFeature]:
    """Pair the features that vary, over the tasks in which both sides have a value."""
    at = positions(sides.now.tasks, sides.before.tasks)
    shared = np.flatnonzero(at >= 0)
    paired: list[PairedFeature] = []
    for feature in features_of(sides.before, sides.now):
        values = np.concatenate((feature.before, feature.now))
        values = values[~np.isnan(values)]
        if values.size and float(np.ptp(values)) > 0:
            pair = _paired(sides, feature, shared, at[shared])
            if pair.tasks:
                of_runs = _of_runs(sides, feature, pair, shared, at[shared])
                paired.append(PairedFeature(feature, pair, of_runs))
    return paired


def _of_runs(
    sides: Sides, feature: Feature, pair: PairedMetric, ours: Ints, theirs: Ints
) -> tuple[PairedMetric, ...]:
    """Pair a feature with each run; empty if a run has no value for some task."""
    if sides.runs <= 1:
        return ()
    pairs: list[PairedMetric] = []
    for run in range(sides.runs):
        is_run = sides.before.scores[RUN] == run
        of_run = structs.replace(
            feature, before=np.where(is_run, feature.before, np.nan)
        )
        pairs.append(_paired(sides, of_run, ours, theirs))
    if any(one.tasks != pair.tasks for one in pairs):
        return ()
    return tuple(pairs)


def _paired(sides: Sides, feature: Feature, ours: Ints, theirs: Ints) -> PairedMetric:
    rewards_now = _rewards(sides.now, feature.now).take(ours)
    rewards_before = _rewards(sides.before, feature.before).take(theirs)
    usable = np.flatnonzero((rewards_now.counts > 0) & (rewards_before.counts > 0))
    rewards_now = rewards_now.take(usable)
    rewards_before = rewards_before.take(usable)
    now = task_means(rewards_now)
    before = task_means(rewards_before)
    places = ours[usable]
    clusters = None
    if sides.clusters is not None:
        clusters = sides.clusters[places]
    tasks: tuple[TaskId, ...] = tuple(sides.now.tasks[place] for place in places)
    return PairedMetric(
        name=f"{feature.kind} {feature.name} {feature.second}".strip(),
        tasks=tasks,
        baseline=before,
        current=now,
        value_baseline=_mean(before),
        value_current=_mean(now),
        rewards_baseline=rewards_before,
        rewards_current=rewards_now,
        task_values=task_means,
        clusters=clusters,
        bounded=feature.is_rate,
    )


def _mean(values: Floats) -> float:
    return mean_of(values) if len(values) else math.nan


def _rewards(table: RolloutTable, column: Floats) -> TaskRewards:
    """Group a column by task, without rollouts that have no value."""
    return structs.replace(table, scores={"": column}).rewards("")


def task_means(rewards: TaskRewards) -> Floats:
    """Return each task's mean, shape (tasks,); of tasks that have a value."""
    if not len(rewards.values):
        return np.zeros(0)
    sums = np.add.reduceat(rewards.values, rewards.offsets[:-1])
    means: Floats = sums / rewards.counts
    return means


def compared_feature(sides: Sides, paired: PairedFeature) -> ComparedFeature:
    """Test whether a feature rose, and whether it fell.

    Several runs of the baseline show how much runs differ as a whole, which is added to
    the noise of tasks.
    """
    is_rate = paired.feature.is_rate
    runs = None
    if paired.of_runs:
        runs = runs_of(paired.of_runs, pooled=True, is_rate=is_rate)
    given = ComparisonInput(
        pair=paired.pair,
        rule=_rule(Direction.LOWER),
        gate_id=sides.gate_id,
        runs=runs,
        is_rate=is_rate,
        independent=sides.independent,
    )
    fall = structs.replace(given, rule=_rule(Direction.HIGHER))
    return ComparedFeature(paired, _compared(given), _compared(fall))


def _compared(given: ComparisonInput) -> Comparison:
    """Test a direction; nothing is tested by rollouts that may repeat each other."""
    comparison = compare(given)
    if not comparison.by_rollouts or given.independent:
        return comparison
    return structs.replace(comparison, test=TestResult(name=comparison.test.name))


def are_independent(sides: Sides) -> bool:
    """Check whether the rollouts of a task are seen to differ, or are said to.

    Rollouts that repeat each other, as at temperature 0, are one. Ten tasks whose rollouts
    differ on both sides show otherwise, or all of fewer tasks, of at least three.
    """
    if sides.independent is not None:
        return sides.independent
    return all(_varied(table) for table in (sides.before, sides.now))


def _varied(table: RolloutTable) -> bool:
    first = table.offsets[:-1][table.task]
    differs = np.zeros(len(table), dtype=bool)  # from the task's first rollout
    for name in NUMBERS:
        column = np.nan_to_num(table.scores[name])
        differs |= column != column[first]
    for name in (CALLS, ANSWER):
        codes = table.categories[name].codes
        differs |= codes != codes[first]
    varied = len(np.unique(table.task[differs]))
    return varied >= min(_VARIED, max(_FEWEST_VARIED, len(table.tasks)))


def _rule(better: Direction) -> RuleSettings:
    return RuleSettings(
        rule=RuleName.STATISTICAL,
        direction=better,
        alpha=ALPHA,
        warn_alpha=_WARN_ALPHA,
        max_drop=0.0,
    )


def two_sided_p(compared: Sequence[ComparedFeature], gate_id: str) -> list[float]:
    """Adjust the smaller p of each feature for both directions of all features."""
    comparisons = [one.rise for one in compared] + [one.fall for one in compared]
    adjusted = adjusted_p(comparisons, [gate_id] * len(comparisons))
    count = len(compared)
    return [least_p(adjusted[place], adjusted[count + place]) for place in range(count)]


def least_p(rise: float, fall: float) -> float:
    """Return the smaller of two p values; NaN if neither is known."""
    numbers = [p for p in (rise, fall) if not math.isnan(p)]
    return min(numbers, default=math.nan)


def _changes(
    compared: Sequence[ComparedFeature], gate_id: str
) -> tuple[FeatureChange, ...]:
    p_values = two_sided_p(compared, gate_id)
    changes = [
        change_of(one.paired, p, ALPHA)
        for one, p in zip(compared, p_values, strict=True)
    ]
    return tuple(sorted(changes, key=_by_evidence))


def _by_evidence(change: FeatureChange) -> float:
    """Order changes by their p values; those without one come last."""
    return 1.0 if change.p is None else change.p


def change_of(paired: PairedFeature, p: float, alpha: float) -> FeatureChange:
    """Describe a feature on both sides; below `alpha` its change is significant."""
    pair = paired.pair
    before = _values(pair.baseline)
    now = _values(pair.current)
    moved = now - before
    most: list[TaskMove] = []
    for at in np.argsort(-np.abs(moved), kind="stable")[:_MOVED].tolist():
        if moved[at] != 0:
            task = str(pair.tasks[at])
            most.append(TaskMove(task, _rounded(before[at]), _rounded(now[at])))
    return FeatureChange(
        kind=paired.feature.kind,
        name=paired.feature.name,
        second=paired.feature.second,
        before=_rounded(pair.value_baseline),
        now=_rounded(pair.value_current),
        p=None if math.isnan(p) else _rounded(p),
        is_significant=p < alpha,
        tasks=len(pair.tasks),
        rose=int(np.count_nonzero(moved > 0)),
        fell=int(np.count_nonzero(moved < 0)),
        most=tuple(most),
    )


def _values(of_tasks: Floats | None) -> Floats:
    return np.zeros(0) if of_tasks is None else of_tasks


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
