"""Numbers beside the verdict: what a gate can detect, and what single rollouts show."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from gates.making import checked, compared, make_combined, make_pair, rule
from scipy import stats as oracle


def test_the_detectable_drop_of_continuous_rewards_is_that_of_a_t_test():
    before, after = np.random.default_rng(1).normal(3, 1, (2, 30, 1))
    pair = make_pair(before.tolist(), after.tolist(), bounded=False)
    se = np.std(pair.baseline - pair.current, ddof=1) / np.sqrt(30)
    factor = oracle.t.ppf(0.99, 29) + oracle.t.ppf(0.8, 29)  # Miller 2024, section 5
    assert compared(pair).mde == pytest.approx(factor * se, rel=1e-6)


def test_where_no_task_moved_others_may_by_as_much_as_rewards_range():
    scores = [[value] for value in (0, 2, 3, 5, 9, 9, 4, 1, 2, 7)]
    pair = make_pair(scores, scores, bounded=False)
    unseen = 1 - 0.01 ** (
        1 / 10
    )  # the share of tasks that ten unmoved ones leave possible
    check = checked(pair, rule("noninferior", max_drop=0.5))
    assert f"may be as large as {unseen * 9:.3g}" in check.reason
    assert checked(pair, rule("noninferior", max_drop=3.4)).verdict == "PASS"


def test_the_worst_task_is_corrected_for_the_tasks_that_could_be_as_significant():
    broken, sound, constant = [[1] * 4, [0] * 4], [[1, 1, 1, 0]] * 2, [[1] * 4] * 2
    fewer = [
        [1, 1, 0],
        [1, 1, 1, 0],
    ]  # at best 1 / C(7, 3), twice the p of the broken task
    tasks = [broken, sound, sound, fewer, constant]
    pair = make_pair(
        *([task[side] for task in tasks] for side in (0, 1)), name="worst_task", extreme="lowest",
        value_baseline=2 / 3, value_current=0.0,
    )  # fmt: skip
    p = 1 / comb(8, 4)
    assert compared(pair).result.p == pytest.approx(1 - (1 - p) ** 3, rel=1e-9)


@pytest.mark.parametrize("clusters", [range(9), [0, 0, 0, 1, 1, 2, 3, 3, 4]])
def test_swapped_sides_of_clusters_against_all_swaps(clusters):
    rng = np.random.default_rng(1)
    before = rng.random(9)
    after = before - 0.3 * (rng.random(9) - 0.25)
    clusters = np.array(clusters)
    units = clusters.max() + 1
    drops = []
    for choice in product((False, True), repeat=units):
        swap = np.array(choice)[clusters]
        sides = np.where(swap, after, before), np.where(swap, before, after)
        # swaps of the same drop are ranked by the mean's
        drops.append(
            [round(f(sides[0]) - f(sides[1]), 9) for f in (np.median, np.mean)]
        )
    mid_p = (sum(d > drops[0] for d in drops) + 0.5 * drops.count(drops[0])) / 2**units
    check = checked(make_combined(before, after), clusters=clusters)
    evidence = [check.evidence[key] for key in ("test", "units", "draws", "p")]
    assert evidence == [
        "swapped sides",
        units,
        2**units,
        pytest.approx(mid_p, rel=1e-9),
    ]
    # swaps spread a drop of 0, and what was seen of it is no part of that
    drop, medians = drops[0][0], np.array(drops)[:, 0]
    half = oracle.t.ppf(0.975, units - 1) * np.sqrt(
        (medians**2).mean() - drop**2 / units
    )
    ends = [check.evidence[key] for key in ("drop_low", "drop_high")]
    assert ends == pytest.approx([drop - half, drop + half], rel=1e-5)


def relabelled(before, after, reduce):
    """The p over all ways to deal each task's rollouts to both sides."""
    seen = reduce(before) - reduce(after)
    ways = []
    for one, other in zip(before, after, strict=True):
        rollouts = [*one, *other]
        choices = combinations(range(len(rollouts)), len(one))
        ways.append(
            [
                (
                    [rollouts[i] for i in c],
                    [r for i, r in enumerate(rollouts) if i not in c],
                )
                for c in choices
            ]
        )
    drops = np.array(
        [
            reduce([a for a, _ in way]) - reduce([b for _, b in way])
            for way in product(*ways)
        ]
    )
    return np.mean(drops >= seen - 1e-9)


@pytest.mark.parametrize(("center", "tolerance"), [(np.mean, 1e-9), (np.median, 0.06)])
def test_rollouts_of_few_tasks_are_relabelled_by_the_metric_itself(center, tolerance):
    before = [[0.9, 0.8], [0.7, 0.2], [0.6, 0.9], [1.0, 0.4], [0.5, 0.6]]
    after = [[0.1], [0.3], [0.5], [0.2], [0.55]]

    def reduce(tasks):
        return float(center([np.mean(task) for task in tasks]))

    sides = [np.array([np.mean(task) for task in side]) for side in (before, after)]
    both = np.concatenate(sides)
    pair = make_pair(
        before, after, bounded=False,
        value_baseline=reduce(before), value_current=reduce(after),
        difference=lambda one, other: float(center(both[one]) - center(both[other])),
        reduce=lambda rewards: reduce(rewards.to_lists()),
    )  # fmt: skip
    p = relabelled(before, after, reduce)
    comparison = compared(pair)
    assert comparison.result.name == "relabelled rollouts"
    assert comparison.p_rollouts == pytest.approx(p, abs=tolerance)
