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
