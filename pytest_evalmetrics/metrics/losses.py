"""What a run lost of its baseline: rollouts, and whole tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics.metrics.alignment import positions
from pytest_evalmetrics.model.comparison import LostRollouts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.samples import Sample
    from pytest_evalmetrics.model.rollout_table import TaskId

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]


def most_of_all(sample: Sample) -> Counts:
    """Return the most rollouts that any task has, for each task."""
    counts = sample.rewards.counts
    return np.full_like(counts, counts.max(initial=1))


def shares_of(sample: Sample, wanted: Counts) -> Floats:
    """Return the share of its rollouts that each task lacks, shape (tasks,)."""
    return np.asarray(1 - sample.rewards.counts / np.maximum(wanted, 1))


def short_of_usual(current: Sample, baseline: Sample) -> Counts:
    """Count the rollouts that tasks of the run lack, where tasks may have any number.

    A task usually has the share that it has in the baseline of the most that any has.
    """
    at = positions(current.tasks, baseline.tasks)
    shares = baseline.rewards.counts / most_of_all(baseline)
    known = np.zeros(len(at))
    known[at >= 0] = shares[at[at >= 0]]
    usual = np.rint(known * most_of_all(current)).astype(np.int64)
    return np.asarray(usual - current.rewards.counts)


def lost_rollouts(
    now: Floats,
    then: Floats,
    *,
    at: Counts,
    values: Floats,
    gone: Sequence[int],
) -> LostRollouts | None:
    """Put the shares that tasks lack on both sides together; None if nothing is lost now.

    `at` is the place of each task of the run in the baseline, -1 for a new one; `values`
    are the baseline's tasks' mean rewards, and `gone` the places of tasks that are gone.
    """
    shared = np.flatnonzero(at >= 0)
    places = at[shared]
    has_value = then[places] < 1
    lost = np.asarray(gone, dtype=np.int64)
    lost = lost[then[lost] < 1]
    places = places[has_value]
    all_places = np.concatenate((places, lost))
    shares_now = np.concatenate((now[shared][has_value], np.ones(len(lost))))
    if not (shares_now > 0).any():
        return None
    return LostRollouts(
        before=then[all_places], now=shares_now, values=values[all_places]
    )


def with_tasks(sample: Sample, tasks: tuple[TaskId, ...], value: float) -> Sample:
    """Add tasks, each with as many rollouts of `value` as any task has."""
    if not tasks:
        return sample
    rewards = sample.rewards
    rollouts = max(int(rewards.counts.max(initial=1)), 1)
    added = np.full(len(tasks) * rollouts, value)
    ends = rewards.offsets[-1] + rollouts * np.arange(1, len(tasks) + 1)
    clusters = sample.clusters
    if clusters is not None:
        # each is a cluster of its own
        new = int(clusters.max(initial=-1)) + 1 + np.arange(len(tasks))
        clusters = np.append(clusters, new)
    return structs.replace(
        sample,
        rewards=structs.replace(
            rewards,
            values=np.append(rewards.values, added),
            offsets=np.append(rewards.offsets, ends),
        ),
        tasks=(*sample.tasks, *tasks),
        clusters=clusters,
    )
