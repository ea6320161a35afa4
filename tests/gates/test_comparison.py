import math
from itertools import product

import numpy as np
import pytest
from gates.making import checked, compared, flips, make_combined, make_pair, run
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics import stats


def damages(pair):
    return pair.baseline - pair.current


def test_the_paired_t_test_is_the_default():
    pair = run(1, 200, 4, loss=0.1)
    found = compared(pair)
    known = oracle.ttest_rel(pair.baseline, pair.current, alternative="greater")
    both = oracle.ttest_rel(pair.baseline, pair.current).confidence_interval(0.95)
    assert found.test == "paired t"
    assert found.p == pytest.approx(known.pvalue, rel=1e-9)
    assert found.drop == pytest.approx(damages(pair).mean(), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((both.low, both.high), rel=1e-9)
    assert found.se == pytest.approx(oracle.sem(damages(pair)), rel=1e-12)
    assert (found.tasks, found.units, found.clustered) == (200, 200, False)


def test_where_lower_is_better_a_rise_is_damage():
    pair = run(3, 200, 4, loss=0.1)
    fall = compared(pair)
    rise = compared(pair, direction="lower")
    assert rise.drop == -fall.drop
    assert (rise.low, rise.high) == (-fall.high, -fall.low)
    assert rise.p == pytest.approx(1 - fall.p, rel=1e-12)
    assert rise.improved
    assert not fall.improved


def cr2(d, clusters):
    """Bell and McCaffrey's standard error of a mean, by matrices."""
    n = len(d)
    residual_maker = np.eye(n) - np.ones((n, n)) / n
    rest, total = residual_maker @ d, 0.0
    for label in np.unique(clusters):
        mine = clusters == label
        block = residual_maker[np.ix_(mine, mine)]
        values, vectors = np.linalg.eigh(block)
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        total += (np.ones(mine.sum()) @ root @ rest[mine]) ** 2
    return math.sqrt(total) / n


def test_clusters_are_what_is_independent():
    pair = run(4, 240, 4, loss=0.2)
    clusters = np.random.default_rng(0).integers(0, 30, 240)
    found = compared(pair, clusters=clusters)
    assert found.test == "clustered paired t"
    assert found.se == pytest.approx(cr2(damages(pair), clusters), rel=1e-9)
    df = stats.mean_se(damages(pair), clusters).df
    assert 20 < df < 29
    assert found.p == pytest.approx(oracle.t.sf(found.drop / found.se, df), rel=1e-9)
    half = oracle.t.ppf(0.975, df) * found.se
    assert (found.low, found.high) == pytest.approx((found.drop - half, found.drop + half))
    assert (found.tasks, found.units, found.clustered) == (240, 30, True)


def test_few_clusters_flip_as_one():
    pair = run(4, 120, 4, loss=0.2)
    clusters = np.random.default_rng(0).integers(0, 12, 120)
    found = compared(pair, clusters=clusters)
    sums = np.bincount(clusters, weights=damages(pair))
    totals = np.array([np.dot(signs, sums) for signs in product((1, -1), repeat=12)])
    mid = np.mean(totals > sums.sum() + 1e-9) + np.mean(np.abs(totals - sums.sum()) < 1e-9) / 2
    assert found.test == "clustered exact sign flip"
    assert found.p == pytest.approx(mid, rel=1e-12)


@pytest.mark.parametrize(("worse", "better"), [(6, 0), (5, 1), (9, 3), (0, 4), (19, 0), (10, 9)])
def test_few_flips_of_single_rollouts_are_mcnemars_with_mid_p(worse, better):
    found = compared(flips(worse, better, 100))
    n = oracle.binom(worse + better, 0.5)
    assert found.test == "exact sign flip"
    assert found.p == pytest.approx(n.sf(worse) + n.pmf(worse) / 2, rel=1e-12)
    assert found.drop == pytest.approx((worse - better) / (100 + worse + better), rel=1e-12)


def test_few_flips_of_several_rollouts_against_all_their_signs():
    baseline = [[1, 1, 1, 1]] * 8 + [[0, 0, 1, 1]] * 30
    current = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]] + [[1, 1, 1, 1]] * 4
    current += [[1, 0, 1, 1]] * 3 + [[0, 0, 1, 1]] * 27
    pair = make_pair(baseline, current)
    found = compared(pair)
    moved = damages(pair)[damages(pair) != 0]
    totals = np.array([np.dot(signs, moved) for signs in product((1, -1), repeat=len(moved))])
    seen = moved.sum()
    mid = np.mean(totals > seen + 1e-9) + np.mean(np.abs(totals - seen) < 1e-9) / 2
    assert found.test == "exact sign flip"
    assert found.p == pytest.approx(mid, rel=1e-12)


def test_few_flips_in_clusters_flip_with_their_cluster():
    pair = flips(9, 2, 40)
    clusters = np.array([0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6] + [7] * 40)
    found = compared(pair, clusters=clusters)
    sums = np.array([3, 2, 1, 1, 2, -1, -1])  # of the clusters 0 to 6; the others' are 0
    totals = np.array([np.dot(signs, sums) for signs in product((1, -1), repeat=7)])
    mid = np.mean(totals > 7) + np.mean(totals == 7) / 2
    assert found.test == "clustered exact sign flip"
    assert found.p == pytest.approx(mid, rel=1e-12)
    assert found.units == 8


def test_twenty_flips_are_enough_for_students_t():
    assert compared(flips(12, 7, 100)).test == "exact sign flip"
    assert compared(flips(12, 8, 100)).test == "paired t"


def test_few_differences_off_a_lattice_flip_too():
    scores = [[math.sqrt(p)] for p in (2, 3, 5, 7, 11, 13, 17)]
    found = compared(make_pair(scores, [[2.0]] * 7, bounded=False))
    moved = np.sqrt([2, 3, 5, 7, 11, 13, 17]) - 2
    totals = np.array([np.dot(signs, moved) for signs in product((1, -1), repeat=7)])
    seen = moved.sum()
    mid = np.mean(totals > seen + 1e-9) + np.mean(np.abs(totals - seen) < 1e-9) / 2
    assert found.test == "exact sign flip"
    assert found.p == pytest.approx(mid, rel=1e-12)


def test_with_unequal_rollouts_the_larger_of_two_p_values_counts():
    # 8 rollouts before, one after; a third of the tasks fails once
    pair = make_pair([[1] * 8] * 60, [[0]] * 4 + [[1]] * 56)
    found = compared(pair)
    flips_p = oracle.binom(4, 0.5).pmf(4) / 2
    assert found.p_rollouts == pytest.approx(9**-4 / 2, rel=1e-6)  # each the one of nine
    assert (found.p, found.test) == (pytest.approx(flips_p), "exact sign flip")
    rare = make_pair([[1] * 7 + [0]] * 30 + [[1] * 8] * 30, [[0]] * 9 + [[1]] * 51)
    both = compared(rare)
    # hypergeometric draws: of 39 tasks 9 have their failing rollout in the run
    two = oracle.binom(30 - 9 + 9, 1 / 9)
    assert both.p_rollouts > 0
    assert both.p >= both.p_rollouts
    assert two.mean() < 9


def test_unequal_rollouts_weigh_each_task_the_same():
    pair = make_pair([[1] * 8, [1, 0], [0]] * 10, [[1], [0], [1, 0, 0, 0]] * 10)
    found = compared(pair)
    d = np.array([0, 0.5, -0.25] * 10)
    assert found.drop == pytest.approx(d.mean(), rel=1e-12)
    ours = oracle.ttest_1samp(d, 0, alternative="greater").pvalue
    assert found.p == pytest.approx(max(ours, found.p_rollouts))


@pytest.mark.parametrize("tasks", [1, 7, 200])
def test_without_a_flip_there_is_a_bound_and_no_interval_of_no_width(tasks):
    pair = make_pair([[1, 0]] * tasks, [[1, 0]] * tasks)
    found = compared(pair)
    assert found.drop == 0
    assert math.isnan(found.low)
    assert math.isnan(found.mde)
    if tasks > 1:
        assert found.p == 1
        assert found.unseen == pytest.approx(1 - 0.01 ** (1 / tasks), rel=1e-9)
    evidence = checked(pair).evidence
    assert (evidence["drop_low"], evidence["drop_high"], evidence["mde"]) == (None, None, None)


def test_all_tasks_falling_alike_is_no_division_by_zero():
    found = compared(make_pair([[0.9]] * 200, [[0.6]] * 200))
    assert found.drop == pytest.approx(0.3)
    assert found.se == 0
    assert 0 < found.p < 1e-50
    assert found.unseen is not None


def test_a_single_task_is_judged_by_its_rollouts_and_a_single_cluster_not_at_all():
    one = compared(make_pair([[1, 1]], [[1, 0, 0]]))
    exact = oracle.hypergeom(5, 3, 2)  # of 5 rollouts 3 passed; the baseline has 2 of them
    assert one.p == pytest.approx(exact.sf(1))
    assert one.blind == "1 task: no drop of any size can reach p < 0.01; 7 are needed"
    clusters = np.zeros(40, dtype=int)
    assert compared(flips(30, 0, 10), clusters=clusters).p >= 0.5


def test_no_tasks_no_numbers():
    found = compared(make_pair([], [], bounded=False))
    assert found.tasks == 0
    assert math.isnan(found.span)
    assert math.isnan(found.drop)
    assert math.isnan(found.p)
    assert found.test == ""


@pytest.mark.parametrize(
    ("pair", "improved"),
    [
        (flips(0, 40, 160), True),  # 40 of 200 better, which others call inconclusive
        (flips(0, 5, 100), True),  # exactly: 1 / 2^6 in the tail
        (flips(0, 4, 100), False),  # 1 / 2^5
        (flips(20, 20, 160), False),
        (make_pair([[0.5]] * 9, [[0.75]] * 9), True),
        (make_pair([[0.5], [0.5]], [[0.75], [0.75]]), False),
        (flips(40, 0, 160), False),
    ],
)
def test_an_improvement_is_one_beyond_noise(pair, improved):
    assert compared(pair).improved is improved


@settings(deadline=None)
@given(st.data())
def test_the_order_of_the_tasks_changes_nothing(data):
    n = data.draw(st.integers(2, 30))
    rewards = st.lists(st.sampled_from([0, 0.25, 0.5, 1 / 3, 1]), min_size=1, max_size=3)
    sides = [data.draw(st.lists(rewards, min_size=n, max_size=n)) for _ in range(2)]
    names = data.draw(st.sampled_from([[str(i) for i in range(n)], list(range(n))]))
    clusters = data.draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    order = data.draw(st.permutations(range(n)))

    def evidence(places):
        pair = make_pair(*([side[i] for i in places] for side in sides))
        tasks = tuple(names[i] for i in places)
        mine = None if clusters is None else np.array([clusters[i] for i in places])
        pair = make_pair(*([side[i] for i in places] for side in sides), tasks=tasks)
        return checked(pair, clusters=mine).evidence

    first, second = evidence(range(n)), evidence(order)
    for key in ("baseline", "current"):  # these are given, here as sums in the order of tasks
        assert first[key] == pytest.approx(second[key], rel=1e-12)
    rest = {k: v for k, v in first.items() if k not in ("baseline", "current")}
    assert rest == {k: second[k] for k in rest}


def test_damage_of_a_metric_without_tasks_values_is_that_of_mean_rewards():
    pair = make_pair([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    opaque = make_pair(
        [[1, 1], [0, 1]],
        [[1, 0], [0, 1]],
        baseline=None,
        current=None,
        difference=lambda first, second: float(first.sum() - second.sum()),
        reduce=lambda rewards: float(rewards.values.sum()),
    )
    found = compared(opaque)
    assert found.damage.tolist() == damages(pair).tolist() == [0.5, 0]


def test_the_order_of_the_tasks_changes_no_combined_metric():
    rng = np.random.default_rng(4)
    before, after, order = rng.random(40), rng.random(40), rng.permutation(40)
    tasks = tuple(range(40))
    one = checked(make_combined(before, after, tasks=tasks))
    other = checked(make_combined(before[order], after[order], tasks=tuple(order.tolist())))
    assert one.evidence == other.evidence
