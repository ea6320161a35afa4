"""Single tasks by their own rollouts: exact tests, and their correction over tasks."""

import math
from itertools import combinations

import numpy as np
import pytest
from comparison.making import make_pair
from scipy import stats as oracle

from pytest_evalmetrics.comparison.task_drops import broken_tasks, rollouts_needed
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
