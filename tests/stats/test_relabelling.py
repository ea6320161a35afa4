"""Relabelled rollouts against every way to deal them, and against scipy."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.stats import StatsError, relabel_test, two_valued


def packed(tasks):
    values = np.concatenate([np.asarray(task, dtype=float) for task in tasks])
    return values, np.concatenate(([0], np.cumsum([len(task) for task in tasks])))


def every_deal(before, after, value=np.mean):
    """P(T >= t) and the mid-p, from all deals of all tasks."""
    total, seen = {0.0: 1.0}, 0.0
    for one, other in zip(before, after, strict=True):
        pooled, size = [*one, *other], len(one)
        deals = {}
        ways = list(combinations(range(len(pooled)), size))
        for way in ways:
            rest = [pooled[i] for i in range(len(pooled)) if i not in way]
            damage = round(value([pooled[i] for i in way]) - value(rest), 9)
            deals[damage] = deals.get(damage, 0) + 1 / len(ways)
        total_now = {}
        for a, p in total.items():
            for b, q in deals.items():
                key = round(a + b, 9)
                total_now[key] = total_now.get(key, 0) + p * q
        total, seen = total_now, seen + value(one) - value(other)
    above = sum(p for t, p in total.items() if t > seen + 1e-6)
    equal = sum(p for t, p in total.items() if abs(t - seen) <= 1e-6)
    return above + equal, above + equal / 2


passes = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4)


@settings(max_examples=40)
@given(st.lists(st.tuples(passes, passes), min_size=1, max_size=5))
def test_passes_against_every_deal(tasks):
    before, after = zip(*tasks, strict=True)
    # where no deal differs, there is nothing to test
    assume(any(len({*one, *other}) > 1 for one, other in tasks))
    result = relabel_test(packed(before), packed(after))
    assert (result.p, result.mid_p) == pytest.approx(
        every_deal(before, after), abs=1e-9
    )


def test_rewards_that_no_deal_changes_show_nothing():
    before = [[1.0, 1.0], [0.0]]
    after = [[1.0], [0.0, 0.0]]
    result = relabel_test(packed(before), packed(after))
    assert (result.p, result.mid_p) == (1, 1)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_any_rewards_against_every_deal(seed):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 4))
    before = [rng.random(rng.integers(1, 4)).round(2) for _ in range(shape)]
    after = [rng.random(rng.integers(1, 4)).round(2) * 0.7 for _ in range(shape)]
    result = relabel_test(packed(before), packed(after))
    # on a grid: an atom may fall to either side of what was seen
    p, mid = every_deal(before, after)
    assert result.mid_p == pytest.approx(mid, abs=(p - mid) * 1.01 + 2e-3)


@pytest.mark.parametrize(("k_before", "k_after"), [(8, 1), (1, 8), (16, 5), (4, 4)])
@pytest.mark.parametrize("chance", [0.02, 0.5, 0.98])
def test_many_tasks_by_their_cumulants_are_close_to_the_convolution(
    k_before, k_after, chance
):
    rng = np.random.default_rng(1)
    sides = [(rng.random((300, k)) < chance).astype(float) for k in (k_before, k_after)]
    exact = relabel_test(*(packed(side) for side in sides))
    # rewards that are not quite two values go by their cumulants
    nearly = [side + 1e-9 * rng.random(side.shape) for side in sides]
    result = relabel_test(*(packed(side) for side in nearly))
    assert result.mid_p == pytest.approx(exact.mid_p, rel=0.1)


def test_many_tasks_against_scipys_permutations():
    rng = np.random.default_rng(2)
    sides = rng.exponential(size=(30, 6)), rng.exponential(size=(30, 3)) * 0.7
    result = relabel_test(*(packed(side) for side in sides))
    pooled = np.concatenate(sides, axis=1)
    draws = np.array(
        [np.argsort(rng.random(pooled.shape), axis=1) for _ in range(4_000)]
    )
    dealt = np.take_along_axis(pooled[None], draws, axis=2)
    totals = (dealt[:, :, :6].mean(axis=2) - dealt[:, :, 6:].mean(axis=2)).sum(axis=1)
    seen = (sides[0].mean(axis=1) - sides[1].mean(axis=1)).sum()
    share = float((totals >= seen).mean())
    assert result.mid_p == pytest.approx(share, abs=4 * (share / 4_000) ** 0.5 + 2e-3)


def test_another_value_of_a_task():
    def all_pass(values, offsets):
        return np.minimum.reduceat(values, offsets[:-1])

    before, after = [[1, 1], [1, 0], [1, 1]], [[1, 0, 1], [0, 0, 0], [1, 1, 1]]
    result = relabel_test(packed(before), packed(after), statistic=all_pass)
    expected = every_deal(before, after, value=min)
    assert (result.p, result.mid_p) == pytest.approx(expected, abs=1e-9)


def test_one_task_and_a_total_collapse_by_known_distributions():
    result = relabel_test(packed([[1] * 7 + [0]]), packed([[1, 0, 0, 0]]))
    expected = oracle.fisher_exact([[7, 1], [1, 3]], alternative="greater")
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)
    sides = packed([[1.0] * 8] * 5), packed([[0.0] * 2] * 5)
    result = relabel_test(*sides)
    assert result.p == pytest.approx(oracle.hypergeom(10, 8, 8).pmf(8) ** 5, rel=1e-9)
    assert result.mid_p == pytest.approx(result.p / 2)
    assert relabel_test(*sides, sign=-1.0).p == 1


def test_a_value_that_is_no_number_is_refused():
    nothing = lambda _, offsets: np.full(len(offsets) - 1, np.nan)  # noqa: E731 - short
    with pytest.raises(StatsError, match="not a finite number"):
        relabel_test(packed([[1, 0]]), packed([[0, 0]]), statistic=nothing)


def test_tasks_of_two_values_by_how_many_are_the_second():
    sizes, ups = np.array([[4, 4], [2, 2]]), np.array([[0, 4], [1, 2]])
    assert two_valued(sizes, ups, (0.0, 1.0)).tolist() == [[0, 1], [0.5, 1]]
    worst = two_valued(
        sizes, ups, (0.2, 0.8), lambda v, o: np.minimum.reduceat(v, o[:-1])
    )
    assert worst.tolist() == [[0.2, 0.8], [0.2, 0.8]]


# -- many tasks, and many deals ----------------------------------------------------------


def mean_of_each(values, offsets):
    """The mean of each task's rewards, as a statistic that is not known to be one."""
    return np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)


def two_sides(tasks, *, loss=0.1, k_before=3, k_after=3):
    rng = np.random.default_rng(8)
    before = rng.gamma(2, 1, (tasks, k_before))
    return packed(before), packed(rng.gamma(2, 1, (tasks, k_after)) - loss)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("tasks", [40, 1_400])
def test_a_statistic_of_many_tasks_is_tested_by_deals_of_some_of_them(tasks, sign):
    before, after = two_sides(tasks)
    by_cumulants = relabel_test(before, after, sign=sign)
    sketched = relabel_test(before, after, sign=sign, statistic=mean_of_each, seed=3)
    assert sketched.mid_p == pytest.approx(by_cumulants.mid_p, rel=0.15)
    assert sketched.p == sketched.mid_p


def test_random_deals_are_the_same_for_the_same_seed():
    # of five and five rollouts there are 252 deals
    before, after = two_sides(40, k_before=5, k_after=5)

    def with_seed(seed):
        return relabel_test(before, after, seed=seed, statistic=mean_of_each).p

    assert with_seed(3) == with_seed(3)
    assert with_seed(3) != with_seed(4)


def test_a_task_of_very_many_deals_is_dealt_at_random():
    """Of eight and eight rollouts there are 12,870 deals."""
    rng = np.random.default_rng(5)
    before = rng.normal(0.5, 1, 8)
    after = rng.normal(0, 1, 8)
    expected = oracle.permutation_test(
        (before, after),
        lambda one, other: np.mean(one) - np.mean(other),
        permutation_type="independent",
        alternative="greater",
        n_resamples=np.inf,
    ).pvalue
    result = relabel_test(packed([before]), packed([after]), seed=1)
    assert 0.02 < expected < 0.5
    assert result.mid_p == pytest.approx(expected, abs=0.04)


def test_the_observed_deal_is_one_of_the_random_ones():
    before = np.linspace(2, 3, 9)
    after = np.linspace(0, 1, 9)
    result = relabel_test(packed([before]), packed([after]), seed=1)
    assert result.p == pytest.approx(1 / 2_001)


def test_two_values_of_many_kinds_of_tasks_go_by_their_cumulants():
    """As many tasks of equal rollouts are convolved."""
    before = [[1.0] * up + [0.0] * (60 - up) for up in range(10, 55)]
    after = [[1.0] * max(up - 2, 0) + [0.0] * (62 - up) for up in range(10, 55)]
    result = relabel_test(packed(before), packed(after))
    assert result.p == result.mid_p
    mean = variance = seen = 0.0
    for one, other in zip(before, after, strict=True):
        good = sum(one) + sum(other)
        dealt = oracle.hypergeom(120, int(good), 60)
        mean += dealt.mean()
        variance += dealt.var()
        seen += sum(one)
    expected = oracle.norm.sf((seen - mean) / np.sqrt(variance))
    assert result.p == pytest.approx(expected, rel=0.02)


def test_one_task_that_varies_most_is_dealt_by_itself():
    """A hang of the baseline: half of its deals are on either side."""
    rng = np.random.default_rng(6)
    before = rng.normal(0.05, 1, (30, 2))
    after = rng.normal(0, 1, (30, 2))
    before[0] = [1e6, 0.0]
    after[0] = 0.0
    result = relabel_test(packed(before), packed(after))
    # the others decide only where the hang was dealt to the baseline again
    rest = relabel_test(packed(before[1:]), packed(after[1:]))
    assert result.mid_p == pytest.approx(rest.mid_p / 2, rel=1e-3)


def test_a_tail_that_a_transform_rounds_off_is_as_rare_as_it_can_show():
    before = [[1.0] * 7 + [0.0]] + [[1.0] * 8] * 11
    after = [[1.0] + [0.0] * 7] + [[0.0] * 8] * 11
    result = relabel_test(packed(before), packed(after))
    assert (result.p, result.mid_p) == (1e-11, 1e-11)


@pytest.mark.parametrize(("tasks", "is_convolved"), [(12, True), (13, False)])
def test_up_to_twelve_tasks_are_dealt_in_all_ways(tasks, is_convolved):
    rng = np.random.default_rng(9)
    before = rng.integers(0, 4, (tasks, 3)) * 1.0
    after = rng.integers(0, 4, (tasks, 3)) * 1.0
    result = relabel_test(packed(before), packed(after))
    # on a lattice as many deals tie with the one that is seen
    assert (result.p > result.mid_p) is is_convolved


def skew_of_deals(rewards, size):
    """The third moment of a task's damage over all deals."""
    damages = []
    for way in combinations(range(len(rewards)), size):
        rest = [rewards[i] for i in range(len(rewards)) if i not in way]
        damages.append(np.mean([rewards[i] for i in way]) - np.mean(rest))
    return np.mean(np.array(damages) ** 3), np.mean(np.array(damages) ** 2)


def test_the_cumulants_of_many_tasks_are_those_of_all_their_deals():
    rng = np.random.default_rng(10)
    before = rng.random((40, 1)) ** 2
    after = rng.random((40, 5)) ** 2 * 0.8
    third, variance = np.sum(
        [
            skew_of_deals([*one, *other], 1)
            for one, other in zip(before, after, strict=True)
        ],
        axis=0,
    )
    seen = float((before.mean(axis=1) - after.mean(axis=1)).sum())
    # of Pearson's third type: a gamma distribution
    shape = 4 * variance**3 / third**2
    scale = np.sqrt(variance / shape)
    expected = oracle.gamma.sf(seen + shape * scale, shape, scale=scale)
    result = relabel_test(packed(before), packed(after))
    assert result.mid_p == pytest.approx(expected, rel=0.03)
    mirrored = relabel_test(packed(-before), packed(-after), sign=-1.0)
    assert mirrored.mid_p == pytest.approx(result.mid_p)


def test_two_values_need_not_be_0_and_1():
    sizes = np.array([4, 4, 2])
    ups = np.array([0, 4, 1])
    assert two_valued(sizes, ups, (2.0, 5.0)).tolist() == [2.0, 5.0, 3.5]
    grades = relabel_test(packed([[5.0] * 7 + [2.0]]), packed([[5.0, 2.0, 2.0, 2.0]]))
    passes = relabel_test(packed([[1.0] * 7 + [0.0]]), packed([[1.0, 0.0, 0.0, 0.0]]))
    assert grades.p == pytest.approx(passes.p)
    # two passes of unequal kinds of tasks weigh by their rollouts
    before, after = [[5.0, 5.0], [5.0, 2.0, 2.0]], [[2.0], [2.0, 5.0]]
    result = relabel_test(packed(before), packed(after))
    assert (result.p, result.mid_p) == pytest.approx(every_deal(before, after))
