"""What a report keeps of a comparison."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.comparison.intervals import LEVEL
from pytest_evalmetrics.layout import in_natural_order, natural_key
from pytest_evalmetrics.model.comparison import ComparisonFacts, TaskChange, TaskGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.comparison import Comparison, Floats, Ints
    from pytest_evalmetrics.model.rollout_table import TaskId, TaskRewards

_WORST = 10  # tasks of the largest damage
_LISTED = 100  # tasks of a group, and of those that are worse by their rollouts


def comparison_facts(comparison: Comparison) -> ComparisonFacts:
    """Return the facts of a comparison alone: gates add how it was judged."""
    pair = comparison.pair
    result = comparison.test
    worse = comparison.worse
    better = comparison.better
    none_differs = not worse and not better
    is_clustered = comparison.clusters is not None
    return ComparisonFacts(
        baseline=rounded(pair.value_baseline),
        current=rounded(pair.value_current),
        drop=rounded(comparison.drop),
        drop_low=rounded(result.low),
        drop_high=rounded(result.high),
        level=LEVEL,
        se=rounded(result.se),
        p=rounded(result.p),
        p_rollouts=rounded(comparison.p_rollouts),
        test=result.name,
        allowed_drop=rounded(comparison.rule.allowed(pair.value_baseline)),
        tasks=len(pair.tasks),
        units=comparison.units,
        clusters=comparison.units if is_clustered else None,
        rollouts_baseline=len(pair.rewards_baseline.values),
        rollouts_current=len(pair.rewards_current.values),
        samples_baseline=_fewest_and_most(pair.rewards_baseline),
        samples_current=_fewest_and_most(pair.rewards_current),
        worse=worse,
        better=better,
        worst_tasks=_worst_tasks(comparison),
        proven_tasks=tuple(str(task) for task in comparison.proven[:_LISTED]),
        proven=len(comparison.proven),
        detectable_drop=rounded(comparison.detectable),
        unseen_flips=rounded(comparison.unseen) if none_differs else None,
        blind=comparison.blind,
        draws=comparison.draws or None,
        seed=str(comparison.seed) if comparison.draws else None,
        improved=comparison.improved,
        runs=comparison.runs,
        run_sd=rounded(comparison.run_sd),
        run_noise=comparison.noise_source if comparison.rule.tests else None,
        excluded=task_group(pair.excluded),
        added=task_group(pair.added),
        removed=task_group(pair.removed),
    )


def rounded(value: float | None) -> float | None:
    """Return a number to 14 digits, or None for one that is not finite."""
    if value is None or not math.isfinite(value):
        return None
    # fewer digits than products of vectors agree in, whoever computes them
    return float(f"{value:.14g}")


def _fewest_and_most(rewards: TaskRewards) -> tuple[int, int] | None:
    counts = rewards.counts
    return (int(counts.min()), int(counts.max())) if len(counts) else None


def task_group(tasks: Sequence[TaskId]) -> TaskGroup:
    """Count tasks, and name the first of them."""
    names = [str(task) for task in in_natural_order(tasks)[:_LISTED]]
    return TaskGroup(count=len(tasks), tasks=tuple(names))


def _worst_tasks(comparison: Comparison) -> tuple[TaskChange, ...]:
    """Describe the tasks of the largest damage, ties in natural order."""
    pair = comparison.pair
    damage = comparison.damage
    worse = np.flatnonzero(damage > 0)
    if len(worse) > _WORST:
        least = np.partition(damage[worse], -_WORST)[-_WORST]
        worse = worse[damage[worse] >= least]
    # many tasks may tie: their keys are not all kept
    places = heapq.nsmallest(
        _WORST,
        worse.tolist(),
        key=lambda place: (-damage[place], natural_key(pair.tasks[place])),
    )
    # a row's worth is looked up anew at each use of `numbers`
    before = pair.rewards_baseline.numbers
    now = pair.rewards_current.numbers
    return tuple(
        TaskChange(
            task=pair.tasks[place],
            baseline=_of_task(place, before, pair.rewards_baseline.offsets),
            current=_of_task(place, now, pair.rewards_current.offsets),
            drop=float(damage[place]),
        )
        for place in places
    )


def _of_task(place: int, numbers: Floats, offsets: Ints) -> tuple[float, ...]:
    return tuple(numbers[offsets[place] : offsets[place + 1]].tolist())
