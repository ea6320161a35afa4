"""Single tasks by their own rollouts: exact tests, and their correction over tasks."""

import math
from itertools import combinations

import numpy as np
import pytest
from comparison.making import make_pair
from scipy import stats as oracle

from pytest_evalmetrics.comparison.task_drops import (
    broken_tasks,
    could_prove,
    rollouts_needed,
)
from pytest_evalmetrics.model.comparison import Independence

ALPHA = 0.002


def passes(passed, rollouts=10):
    return [1.0] * passed + [0.0] * (rollouts - passed)


def varied(tasks, rollouts=10):
    """Tasks that pass in one half of their rollouts or a few more, on both sides alike."""
    counts = [rollouts // 2 + task % 4 for task in range(tasks)]
    return [passes(count, rollouts) for count in counts]


def drops_of(before, now, **settings):
    pair = make_pair(before, now)
    (drops,) = broken_tasks([pair], [pair], sign=1.0, alpha=ALPHA, **settings)
    return drops


@pytest.mark.parametrize("left", [0, 1])
def test_a_task_that_breaks_among_many_that_vary_is_named(left):
    rest = varied(69)
    drops = drops_of([passes(10), *rest], [passes(left), *rest])
    assert [drop.task for drop in drops.broken] == [0]
    assert drops.broken[0].before == 1.0
    assert drops.broken[0].now == left / 10
    assert drops.independence is Independence.SHOWN


def test_the_p_of_passes_is_fishers():
    drops = drops_of([passes(10), *varied(20)], [passes(1), *varied(20)])
    table = [[10, 0], [1, 9]]
    expected = oracle.fisher_exact(table, alternative="greater").pvalue
    assert math.exp(drops.broken[0].log_p) == pytest.approx(expected, rel=1e-9)


def test_the_p_of_other_rewards_is_that_of_their_ranks_dealt_in_all_ways():
    before = [5.0, 4, 4, 5, 3, 5, 4, 5]
    now = [1.0, 0, 1, 2, 0, 1, 0, 3]
    ranks = oracle.rankdata(before + now)
    seen = ranks[:8].sum()
    deals = [ranks[list(deal)].sum() for deal in combinations(range(16), 8)]
    expected = np.mean([deal >= seen for deal in deals])
    drops = drops_of([before], [now], independent=True)
    assert math.exp(drops.broken[0].log_p) == pytest.approx(expected, rel=1e-9)


def test_a_task_that_can_reach_no_such_p_costs_nothing():
    rest = [passes(10)] * 5_000
    drops = drops_of([passes(10), *rest], [passes(0), *rest], independent=True)
    alone = drops_of([passes(10)], [passes(0)], independent=True)
    assert drops.broken[0].log_p_adjusted == alone.broken[0].log_p_adjusted


def test_with_four_rollouts_no_task_is_named():
    rest = [passes(2, 4)] * 69
    drops = drops_of([passes(4, 4), *rest], [passes(0, 4), *rest])
    assert drops.broken == ()
    assert drops.rollouts == 4
    assert drops.needed == 9


def test_enough_rollouts_show_the_break_of_any_of_so_many_tasks():
    assert rollouts_needed(70, ALPHA) == 9
    assert 70 / math.comb(18, 9) < ALPHA < 70 / math.comb(16, 8)


def test_a_thousand_rollouts_do_not_underflow():
    drops = drops_of([passes(1000, 1000)], [passes(0, 1000)], independent=True)
    assert drops.broken[0].log_p < math.log(1e-300)


def test_a_lower_reward_breaks_no_task_where_less_is_better():
    pair = make_pair([passes(10), *varied(20)], [passes(0), *varied(20)])
    (drops,) = broken_tasks([pair], [pair], sign=-1.0, alpha=ALPHA)
    assert drops.broken == ()


def test_rollouts_that_never_differ_show_no_independence():
    rest = [passes(10)] * 67
    drops = drops_of([passes(10)] * 3 + rest, [passes(0)] * 3 + rest)
    assert len(drops.broken) == 3
    assert drops.independence is Independence.UNSHOWN


def test_tasks_that_break_and_mend_alike_show_no_independence():
    rest = varied(60)
    before = [passes(10)] * 4 + [passes(0)] * 4 + rest
    now = [passes(0)] * 4 + [passes(10)] * 4 + rest
    drops = drops_of(before, now)
    assert drops.broken
    assert drops.independence is Independence.CHURNING


def test_an_improvement_of_all_tasks_hides_no_break():
    rest = [passes(5)] * 30
    better = [passes(6)] * 30
    drops = drops_of([passes(10), *rest], [passes(0), *better])
    assert drops.broken
    assert drops.independence is Independence.SHOWN


def test_what_the_file_says_of_independence_holds():
    before = [passes(10)] * 70
    now = [passes(0), *before[1:]]
    denied = drops_of(before, now, independent=False)
    declared = drops_of(before, now, independent=True)
    assert denied.independence is Independence.DENIED
    assert declared.independence is Independence.DECLARED


def test_tasks_that_vary_by_chance_are_seldom_named():
    rng = np.random.default_rng(7)
    named = 0
    for _ in range(300):
        chance = rng.beta(0.4, 0.4, (60, 1))
        sides = [(rng.random((60, 10)) < chance) * 1.0 for _ in range(2)]
        named += bool(drops_of(*(side.tolist() for side in sides)).broken)
    assert named <= 3


# -- of what is nearly certain, or never certain -----------------------------------------


def test_tasks_that_could_be_named_at_no_number_of_rollouts_ask_for_64():
    assert rollouts_needed(70, 1e-60) == 64


def test_hundreds_of_different_rewards_are_ranked_by_a_normal_approximation():
    rng = np.random.default_rng(2)
    before = rng.normal(0.4, 1, 250).tolist()
    now = rng.normal(0, 1, 250).tolist()
    expected = oracle.mannwhitneyu(
        before, now, alternative="greater", method="asymptotic", use_continuity=False
    ).pvalue
    drops = drops_of([before], [now], independent=True)
    assert math.exp(drops.broken[0].log_p) == pytest.approx(expected, rel=1e-6)


def test_rewards_that_tie_are_ranked_in_the_middle():
    rng = np.random.default_rng(2)
    before = (rng.integers(0, 6, 250) + rng.integers(0, 2, 250)).tolist()
    now = rng.integers(0, 6, 250).tolist()
    expected = oracle.mannwhitneyu(
        before, now, alternative="greater", method="asymptotic", use_continuity=False
    ).pvalue
    drops = drops_of([before], [now], independent=True)
    assert math.exp(drops.broken[0].log_p) == pytest.approx(expected, rel=1e-6)


def test_hundreds_of_rewards_that_all_fell_have_a_p_below_any_number():
    before = np.linspace(1, 2, 2_000).tolist()
    now = np.linspace(-2, -1, 2_000).tolist()
    drops = drops_of([before], [now], independent=True)
    # z is sqrt(3 n) of n and n that are apart
    z = 2_000**2 / 2 / math.sqrt(2_000**2 * 4_001 / 12)
    assert drops.broken[0].log_p == pytest.approx(oracle.norm.logsf(z), rel=1e-3)


def test_a_mended_task_beside_a_broken_one_shows_no_independence():
    """Rollouts explain the spread of all tasks, but not that one of them improved."""
    rest = varied(60)
    before = [passes(10), passes(0), *rest]
    now = [passes(0), passes(10), *rest]
    drops = drops_of(before, now)
    assert [drop.task for drop in drops.broken] == [0]
    assert drops.independence is Independence.CHURNING


def test_a_task_that_improved_a_little_denies_no_independence():
    rest = varied(60)
    drops = drops_of([passes(10), passes(4), *rest], [passes(0), passes(8), *rest])
    assert [drop.task for drop in drops.broken] == [0]
    assert drops.independence is Independence.SHOWN


# -- what is named -----------------------------------------------------------------------


def test_the_surest_task_is_named_first():
    rest = varied(20)
    drops = drops_of([passes(9), passes(10), *rest], [passes(0), passes(0), *rest])
    assert [drop.task for drop in drops.broken] == [1, 0]


def test_the_p_of_a_task_is_corrected_for_all_that_could_be_as_sure():
    rest = [passes(5)] * 30
    drops = drops_of([passes(10), *rest], [passes(0), *rest])
    alone = 1 / math.comb(20, 10)
    # of 10 and 10 rollouts that are half good, any task could be so sure
    expected = math.log(31 * alone)
    assert drops.broken[0].log_p_adjusted == pytest.approx(expected)


def test_the_tasks_of_other_agents_share_the_level():
    one = make_pair([passes(10), *varied(5)], [passes(0), *varied(5)])
    other = make_pair([passes(5)] * 30, [passes(5)] * 30)
    of_one, of_other = broken_tasks([one, other], [one, other], sign=1.0, alpha=ALPHA)
    (alone,) = broken_tasks([one], [one], sign=1.0, alpha=ALPHA)
    assert of_other.broken == ()
    assert of_one.broken[0].log_p_adjusted > alone.broken[0].log_p_adjusted + 1


@pytest.mark.parametrize(("least_drop", "is_named"), [(0.9, True), (0.91, False)])
def test_a_drop_that_does_not_matter_is_not_named(least_drop, is_named):
    rest = varied(20)
    drops = drops_of([passes(10), *rest], [passes(1), *rest], least_drop=least_drop)
    assert bool(drops.broken) is is_named


def test_where_less_is_better_a_rise_breaks_a_task():
    pair = make_pair([passes(0), *varied(20)], [passes(10), *varied(20)])
    (drops,) = broken_tasks([pair], [pair], sign=-1.0, alpha=ALPHA)
    assert [drop.task for drop in drops.broken] == [0]
    assert (drops.broken[0].before, drops.broken[0].now) == (0.0, 1.0)


def test_the_rollouts_of_a_task_on_the_side_with_fewer_are_counted():
    drops = drops_of([passes(10, 12), passes(3, 4)], [passes(5, 8), passes(3, 9)])
    assert drops.tasks == 2
    assert drops.rollouts == 8


@pytest.mark.parametrize(("rollouts", "can"), [(5, False), (6, True)])
def test_a_break_of_one_task_alone_is_proven_by_enough_rollouts(rollouts, can):
    # 1 / C(12, 6) is .0011, 1 / C(10, 5) .004
    same = passes(rollouts, rollouts)
    pair = make_pair([passes(3, 3), same], [[1.0], same])
    assert could_prove(pair, ALPHA) is can


def test_a_task_that_is_hardly_sure_enough_is_named():
    # 13 of 20 rollouts pass, ten of them in the baseline
    drops = drops_of([passes(10)], [passes(3)], independent=True)
    expected = math.comb(13, 10) / math.comb(20, 10)
    assert 0.75 * ALPHA < expected < ALPHA
    assert math.exp(drops.broken[0].log_p) == pytest.approx(expected)


def test_the_ranks_of_each_task_are_its_own():
    before = [[5.0, 4, 4, 5, 3, 5, 4, 5], [9.0, 8, 7, 9, 8, 9, 9, 8], [2.0, 1.0] * 4]
    now = [[1.0, 0, 1, 2, 0, 1, 0, 3], [1.0, 2, 1, 1, 8, 1, 2, 1], [1.0, 2.0] * 4]
    drops = drops_of(before, now, independent=True)
    (first,) = drops_of(before[:1], now[:1], independent=True).broken
    (second,) = drops_of(before[1:2], now[1:2], independent=True).broken
    log_ps = {drop.task: drop.log_p for drop in drops.broken}
    assert log_ps == pytest.approx({0: first.log_p, 1: second.log_p})


def test_passes_beside_a_task_of_grades_have_the_p_of_passes():
    grades = [5.0, 4, 4, 5, 3, 5, 4, 5]
    for kept in (0, 1):
        drops = drops_of([passes(10), grades], [passes(kept), grades], independent=True)
        table = [[10, 0], [kept, 10 - kept]]
        expected = oracle.fisher_exact(table, alternative="greater").pvalue
        assert [drop.task for drop in drops.broken] == [0]
        assert math.exp(drops.broken[0].log_p) == pytest.approx(expected)
