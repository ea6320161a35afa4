"""What a report keeps of a comparison."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_combined, make_pair, worst_task
from msgspec.structs import replace
from scipy import stats as oracle

from pytest_evalmetrics.comparison import Runs, comparison_facts, rounded
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.comparison import NoiseSource, TaskChange, TaskGroup


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


def test_the_test_of_a_drop_is_kept_with_its_numbers():
    facts = facts_of(flips(10, 2, 88))
    damage = [1.0] * 10 + [-1.0] * 2 + [0.0] * 88
    low, high = oracle.t.interval(0.95, 99, 0.08, oracle.sem(damage))
    assert facts.baseline == pytest.approx(0.98)
    assert facts.current == pytest.approx(0.90)
    assert facts.drop == pytest.approx(0.08)
    assert facts.se == pytest.approx(oracle.sem(damage))
    assert (facts.drop_low, facts.drop_high) == pytest.approx((low, high))
    assert facts.level == 0.95


def test_the_p_of_a_drop_is_kept_with_the_name_of_its_test():
    facts = facts_of(flips(10, 2, 88))
    coins = oracle.binom(12, 0.5)
    assert facts.test == "exact sign flip"
    assert facts.p == pytest.approx(coins.sf(10) + coins.pmf(10) / 2)
    assert facts.p_rollouts is None
    assert facts.blind is None


def test_the_counts_of_tasks_are_kept():
    facts = facts_of(flips(10, 2, 88))
    assert (facts.tasks, facts.units) == (100, 100)
    assert (facts.worse, facts.better) == (10, 2)


def test_the_p_of_relabelled_rollouts_is_kept():
    comparison = compared(make_pair([[1] * 8] * 60, [[0]] * 4 + [[1]] * 56))
    facts = comparison_facts(comparison)
    assert facts.p_rollouts == pytest.approx(comparison.p_rollouts)


def test_what_a_blind_gate_lacks_is_kept():
    facts = facts_of(flips(1, 0, 2))
    assert facts.blind == FewUnits(unit="task", units=3, needed=7, alpha=0.01)


def test_the_drop_that_is_detected_is_kept():
    comparison = compared(flips(10, 2, 88))
    facts = comparison_facts(comparison)
    assert facts.detectable_drop == pytest.approx(comparison.detectable)


def test_an_improvement_is_kept():
    assert facts_of(flips(0, 40, 160)).improved
    assert not facts_of(flips(40, 0, 160)).improved


def test_the_noise_between_runs_is_kept_with_what_shows_it():
    facts = facts_of(flips(10, 2, 88), run_noise=0.02, is_rate=True)
    assert facts.runs == 1
    assert facts.run_sd == 0.02
    assert facts.run_noise is NoiseSource.DECLARED


def test_the_number_of_runs_is_kept():
    several = Runs((0.97, 0.98, 0.99), pooled=True, more_rollouts=1.0, is_rate=True)
    facts = facts_of(flips(10, 2, 88), runs=several)
    assert facts.runs == 3
    assert facts.run_noise is NoiseSource.BASELINE


def test_a_rule_that_tests_nothing_has_no_noise_between_runs():
    assert facts_of(flips(10, 2, 88), name="absolute").run_noise is None
