"""What a run lost of its baseline: rollouts, and whole tasks."""

import numpy as np

from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.metrics.losses import (
    lost_rollouts,
    most_of_all,
    shares_of,
    short_of_usual,
    with_tasks,
)
from pytest_evalmetrics.metrics.samples import Sample


def sample(rewards, tasks=None, clusters=None):
    return Sample(
        rewards=TaskRewards.from_lists(rewards),
        tasks=tuple(range(len(rewards)) if tasks is None else tasks),
        clusters=None if clusters is None else np.array(clusters),
        score="reward",
        missing=0,
    )


def test_each_task_may_have_as_many_rollouts_as_the_largest():
    assert most_of_all(sample([[1], [1, 0, 1], []])).tolist() == [3, 3, 3]


def test_a_run_without_rollouts_may_have_one_of_each_task():
    assert most_of_all(sample([[], []])).tolist() == [1, 1]


def test_the_share_that_a_task_lacks_is_of_what_it_should_have():
    wanted = np.array([4, 4, 0])
    assert shares_of(sample([[1, 1, 0], [], []]), wanted).tolist() == [0.25, 1, 1]


def test_a_task_usually_has_the_share_that_it_has_in_the_baseline():
    baseline = sample([[1] * 4, [1] * 2, [1] * 4], tasks=["a", "b", "c"])
    current = sample([[1] * 8, [1] * 3, [1] * 8], tasks=["a", "b", "new"])
    # of 8 at most, a usually has all, b has half of them; a new task may have any number
    assert short_of_usual(current, baseline).tolist() == [0, 1, -8]


def test_shares_of_both_sides_are_put_together_by_task():
    lost = lost_rollouts(
        np.array([0.5, 0.0, 0.25]),
        np.array([0.0, 0.25, 0.0]),
        at=np.array([2, 0, -1]),
        values=np.array([1.0, 0.5, 0.0]),
        gone=[1],
    )
    assert lost.before.tolist() == [0, 0, 0.25]
    assert lost.now.tolist() == [0.5, 0, 1]
    assert lost.values.tolist() == [0, 1, 0.5]


def test_tasks_that_had_no_rollout_are_left_out():
    lost = lost_rollouts(
        np.array([0.5, 1.0]),
        np.array([0.0, 1.0, 1.0]),
        at=np.array([0, 1]),
        values=np.array([1.0, np.nan, np.nan]),
        gone=[2],
    )
    assert lost.now.tolist() == [0.5]


def test_nothing_is_lost_where_all_is_there():
    zeros = np.zeros(2)
    places = np.array([0, 1])
    assert lost_rollouts(zeros, zeros, at=places, values=zeros, gone=[]) is None


def test_tasks_are_added_with_as_many_rollouts_as_any_has():
    grown = with_tasks(sample([[1, 1], [0]]), ("x", "y"), 0.25)
    assert grown.rewards.to_lists() == [[1, 1], [0], [0.25, 0.25], [0.25, 0.25]]
    assert grown.tasks == (0, 1, "x", "y")
    assert grown.clusters is None


def test_a_task_that_is_added_is_a_cluster_of_its_own():
    grown = with_tasks(sample([[1], [0]], clusters=[3, 3]), ("x", "y"), 0)
    assert grown.clusters.tolist() == [3, 3, 4, 5]


def test_no_task_is_added_to_a_sample_that_has_all():
    whole = sample([[1], [0]])
    assert with_tasks(whole, (), 0) is whole
