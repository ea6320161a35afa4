"""What a report keeps of a comparison."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_combined, make_pair, worst_task
from msgspec.structs import replace

from pytest_evalmetrics.comparison import comparison_facts, rounded
from pytest_evalmetrics.model.comparison import TaskChange, TaskGroup


def facts_of(pair, **changed):
    return comparison_facts(compared(pair, **changed))


def test_numbers_that_are_undefined_are_none():
    facts = facts_of(make_pair([], []))
    assert facts.baseline is None
    assert facts.drop is None
    assert facts.p is None
    assert facts.detectable_drop is None
    assert facts.samples_baseline is None


def test_numbers_have_fourteen_digits():
    assert rounded(1 / 3) == 0.33333333333333
    assert rounded(math.inf) is None
    assert rounded(None) is None


def test_rollouts_are_counted_on_both_sides():
    facts = facts_of(make_pair([[1], [1, 0, 1]], [[1, 1], [0]]))
    assert facts.rollouts_baseline == 4
    assert facts.rollouts_current == 3
    assert facts.samples_baseline == (1, 3)
    assert facts.samples_current == (1, 2)


def test_clusters_are_counted_where_there_are_any():
    assert facts_of(flips(3, 0, 30)).clusters is None
    assert facts_of(flips(3, 0, 30), clusters=np.arange(33) // 3).clusters == 11


def sixteen_worse():
    one_lost = [1.0, 0.0]
    both_lost = [0.0, 0.0]
    kept = [1.0, 1.0]
    current = [kept, *[one_lost] * 14, both_lost, *[kept] * 13, both_lost]
    return make_pair([kept] * 30, current)


def test_the_ten_worst_tasks_are_kept_ties_in_their_order():
    facts = facts_of(sixteen_worse())
    tasks = [change.task for change in facts.worst_tasks]
    assert facts.worse == 16
    assert tasks == [15, 29, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_worst_task_has_its_rewards_before_and_after():
    facts = facts_of(sixteen_worse())
    expected = TaskChange(task=15, baseline=(1.0, 1.0), current=(0.0, 0.0), drop=1.0)
    assert facts.worst_tasks[0] == expected


def test_where_no_task_is_worse_none_is_kept():
    assert facts_of(flips(0, 3, 9)).worst_tasks == ()


def test_the_share_that_may_go_unseen_is_kept_where_no_task_differs():
    facts = facts_of(make_pair([[1.0]] * 9, [[1.0]] * 9))
    assert facts.unseen_flips == pytest.approx(1 - 0.01 ** (1 / 9))


def test_the_share_that_may_go_unseen_is_none_where_all_tasks_moved_alike():
    assert facts_of(make_pair([[1.0]] * 9, [[0.5]] * 9)).unseen_flips is None


def test_tasks_that_are_not_compared_are_counted_and_the_first_hundred_named():
    pair = replace(
        flips(0, 0, 100),
        excluded=tuple(range(200)),
        removed=("old",),
        added=("new", "newer"),
    )
    facts = facts_of(pair)
    assert facts.excluded.count == 200
    assert len(facts.excluded.tasks) == 100
    assert facts.removed == TaskGroup(count=1, tasks=("old",))
    assert facts.added == TaskGroup(count=2, tasks=("new", "newer"))


def test_the_tasks_that_prove_a_worst_task_are_named():
    facts = facts_of(worst_task([[1.0] * 8] * 50, [[1.0] * 8] * 49 + [[0.0] * 8]))
    assert facts.proven_tasks == ("49",)
    assert facts.proven == 1


def test_a_seed_is_kept_with_the_draws_behind_p():
    before = np.random.default_rng(0).random(9)
    facts = facts_of(make_combined(before, before**2))
    assert facts.draws == 512
    assert int(facts.seed) > 0


def test_without_draws_there_is_no_seed():
    facts = facts_of(flips(9, 1, 100))
    assert facts.draws is None
    assert facts.seed is None


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("exact", 0.0), ("absolute", 0.01), ("relative", 0.005), ("practical", None)],
)
def test_the_drop_that_a_rule_allows_is_kept(name, allowed):
    facts = facts_of(make_pair([[0.5]] * 9, [[0.5]] * 9), name=name)
    assert facts.allowed_drop == allowed
