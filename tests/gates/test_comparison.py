import math
from itertools import product

import numpy as np
import pytest
from gates.making import compared, flips, make_pair, run
from scipy import stats as oracle

from pytest_evalmetrics.stats import mean_se


def damages(pair):
    return pair.baseline - pair.current


def test_where_lower_is_better_a_rise_is_damage():
    pair = run(3, 200, 4, loss=0.1)
    fall = compared(pair)
    rise = compared(pair, direction="lower")
    assert rise.drop == -fall.drop
    assert (rise.result.low, rise.result.high) == (-fall.result.high, -fall.result.low)
    assert rise.result.p == pytest.approx(1 - fall.result.p, rel=1e-12)
    assert rise.improved
    assert not fall.improved


def test_clusters_are_what_is_independent():
    pair = run(4, 240, 4, loss=0.2)
    clusters = np.random.default_rng(0).integers(0, 30, 240)
    comparison, wanted = (
        compared(pair, clusters=clusters),
        mean_se(damages(pair), clusters),
    )
    drop, result = comparison.drop, comparison.result
    assert result.name == "clustered paired t"
    assert result.se == pytest.approx(wanted.se, rel=1e-12)
    assert result.p == pytest.approx(oracle.t.sf(drop / result.se, wanted.df), rel=1e-9)
    half = oracle.t.ppf(0.975, wanted.df) * result.se
    assert (result.low, result.high) == pytest.approx((drop - half, drop + half))
    assert (len(comparison.damage), comparison.units) == (240, 30)


def every_sign(sums):
    """The mid-p of all signs of these differences."""
    seen = np.sum(sums)
    totals = np.array(
        [np.dot(signs, sums) for signs in product((1, -1), repeat=len(sums))]
    )
    return np.mean(totals > seen + 1e-9) + np.mean(np.abs(totals - seen) < 1e-9) / 2


def test_few_flips_of_several_rollouts_against_all_their_signs():
    baseline = [[1, 1, 1, 1]] * 8 + [[0, 0, 1, 1]] * 30
    current = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]] + [
        [1, 1, 1, 1]
    ] * 4
    current += [[1, 0, 1, 1]] * 3 + [[0, 0, 1, 1]] * 27
    lattice = make_pair(baseline, current)
    roots = [[math.sqrt(p)] for p in (2, 3, 5, 7, 11, 13, 17)]
    for pair in (lattice, make_pair(roots, [[2.0]] * 7, bounded=False)):
        comparison = compared(pair)
        moved = damages(pair)[damages(pair) != 0]
        assert comparison.result.name == "exact sign flip"
        assert comparison.result.p == pytest.approx(every_sign(moved), rel=1e-12)


def test_twenty_flips_are_enough_for_students_t():
    assert compared(flips(12, 7, 100)).result.name == "exact sign flip"
    assert compared(flips(12, 8, 100)).result.name == "paired t"


def test_with_unequal_rollouts_the_larger_of_two_p_values_counts():
    # 8 rollouts before, one after; a third of the tasks fails once
    comparison = compared(make_pair([[1] * 8] * 60, [[0]] * 4 + [[1]] * 56))
    flips_p = oracle.binom(4, 0.5).pmf(4) / 2
    assert comparison.p_rollouts == pytest.approx(
        9**-4 / 2, rel=1e-6
    )  # each the one of nine
    assert (comparison.result.p, comparison.result.name) == (
        pytest.approx(flips_p),
        "exact sign flip",
    )
    both = compared(
        make_pair([[1] * 7 + [0]] * 30 + [[1] * 8] * 30, [[0]] * 9 + [[1]] * 51)
    )
    assert both.result.p >= both.p_rollouts > 0


def test_unequal_rollouts_weigh_each_task_the_same():
    pair = make_pair([[1] * 8, [1, 0], [0]] * 10, [[1], [0], [1, 0, 0, 0]] * 10)
    comparison = compared(pair)
    d = np.array([0, 0.5, -0.25] * 10)
    assert comparison.drop == pytest.approx(d.mean(), rel=1e-12)
    ours = oracle.ttest_1samp(d, 0, alternative="greater").pvalue
    assert comparison.result.p == pytest.approx(max(ours, comparison.p_rollouts))


def test_a_single_task_is_judged_by_its_rollouts_and_a_single_cluster_not_at_all():
    one = compared(make_pair([[1, 1]], [[1, 0, 0]]))
    exact = oracle.hypergeom(
        5, 3, 2
    )  # of 5 rollouts 3 passed; the baseline has 2 of them
    assert one.result.p == pytest.approx(exact.sf(1))
    assert one.blind == "1 task: no drop of any size can reach p < 0.01; 7 are needed"
    clusters = np.zeros(40, dtype=int)
    assert compared(flips(30, 0, 10), clusters=clusters).result.p >= 0.5


@pytest.mark.parametrize(
    ("pair", "improved"),
    [
        (flips(0, 40, 160), True),  # 40 of 200 better, which others call inconclusive
        (flips(0, 5, 100), True),  # exactly: 1 / 2^6 in the tail
        (flips(0, 4, 100), False),  # 1 / 2^5
        (flips(20, 20, 160), False),
        (make_pair([[0.5]] * 9, [[0.75]] * 9), True),
        (make_pair([[0.5]] * 30, [[0.75]] * 30), True),  # by t, without an error
        (make_pair([[0.5], [0.5]], [[0.75], [0.75]]), False),
        (flips(40, 0, 160), False),
    ],
)
def test_an_improvement_is_one_beyond_noise(pair, improved):
    assert compared(pair).improved is improved


def test_damage_of_a_metric_without_tasks_values_is_that_of_mean_rewards():
    opaque = make_pair(
        [[1, 1], [0, 1]],
        [[1, 0], [0, 1]],
        baseline=None,
        current=None,
        difference=lambda first, second: float(first.sum() - second.sum()),
        reduce=lambda rewards: float(rewards.values.sum()),
    )
    assert compared(opaque).damage.tolist() == [0.5, 0]
