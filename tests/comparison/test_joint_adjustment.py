"""p values of several metrics, adjusted for each other."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_combined, make_pair, run
from msgspec.structs import replace
from statsmodels.stats.multitest import multipletests

from pytest_evalmetrics.comparison import adjust_jointly, adjusted_p


def adjusted_of(comparisons):
    """Adjust the metrics of one agent."""
    return adjusted_p(comparisons, ["g"] * len(comparisons))


def independent():
    return [
        compared(replace(run(i, 200, 4, loss=0.06), name=f"m{i}")) for i in range(5)
    ]


def holm_sidak(comparisons):
    return multipletests([one.test.p for one in comparisons], method="holm-sidak")[1]


def test_metrics_that_share_nothing_are_adjusted_as_holm_sidak_does():
    comparisons = independent()
    expected = holm_sidak(comparisons)
    assert adjusted_of(comparisons) == pytest.approx(expected, rel=0.1)


def test_metrics_of_several_agents_are_independent():
    comparisons = independent()
    adjusted = adjusted_p(comparisons, ["a", "b", "c", "d", "e"])
    assert adjusted == pytest.approx(holm_sidak(comparisons), rel=1e-9)


def near(pair):
    """The same metric but for three tasks that did not change."""
    current = pair.current.copy()
    current[:3] = pair.baseline[:3]
    return replace(pair, name="near", current=current)


# 1,100 tasks are flipped in blocks
@pytest.mark.parametrize(("tasks", "loss"), [(200, 0.1), (1_100, 0.03)])
def test_a_metric_that_is_nearly_another_costs_little(tasks, loss):
    pair = run(1, tasks, 4, loss=loss)
    one = compared(pair)
    adjusted = adjusted_of([one, compared(near(pair))])
    assert one.test.p <= adjusted[0] < 1.5 * one.test.p


@pytest.mark.parametrize(("tasks", "loss"), [(200, 0.1), (1_100, 0.03)])
def test_another_name_of_a_number_costs_nothing(tasks, loss):
    pair = run(1, tasks, 4, loss=loss)
    one = compared(pair)
    again = compared(replace(pair, name="again"))
    assert adjusted_of([one, again]) == pytest.approx([one.test.p] * 2, rel=1e-12)


def test_two_metrics_share_the_level():
    one = compared(flips(9, 1, 100))
    other = compared(flips(10, 10, 90))
    assert adjusted_of([one, other])[0] == pytest.approx(2 * one.test.p, rel=0.05)


@pytest.mark.parametrize("name", ["exact", "absolute", "relative", "noninferior"])
def test_rules_without_a_test_take_no_part(name):
    tested = compared(flips(9, 1, 100))
    others = [compared(flips(1, 1, 100), name=name)] * 4
    raw = [one.test.p for one in (tested, *others)]
    assert adjusted_of([tested, *others]) == raw


def test_what_could_not_be_tested_takes_no_part():
    pair = make_pair([[1.0]] * 9, [[0.5]] * 9)
    pair.current[3] = math.nan
    untested = compared(pair)
    tested = compared(flips(12, 1, 100))
    adjusted = adjusted_of([untested, tested])
    assert math.isnan(adjusted[0])
    assert adjusted[1] == tested.test.p


def test_a_metric_without_damage_by_task_counts_as_independent():
    one = compared(flips(9, 1, 100))
    before = np.random.default_rng(0).random(110)
    swapped = compared(make_combined(before, before + 0.001))
    assert swapped.influence is None
    expected = 1 - (1 - one.test.p) ** 2
    assert adjusted_of([one, swapped])[0] == pytest.approx(expected, rel=1e-9)


def test_no_adjusted_p_is_below_that_of_a_surer_metric():
    comparisons = independent()
    adjusted = adjusted_of(comparisons)
    order = np.argsort([one.test.p for one in comparisons])
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)


def unlike_tasks():
    """Two metrics, each without values for three other tasks of 60."""
    pair = run(8, 60, 1, loss=0.6)

    def of_tasks(places):
        rows_before = [[pair.baseline[i]] for i in places]
        rows_after = [[pair.current[i]] for i in places]
        return make_pair(rows_before, rows_after, tasks=tuple(places))

    first = compared(of_tasks(range(57)), name="statistical")
    last = compared(of_tasks(range(3, 60)), name="statistical")
    return first, last


def test_metrics_of_unlike_tasks_are_tested_together():
    first, last = unlike_tasks()
    adjusted = adjusted_of([first, last])
    for comparison, p in zip((first, last), adjusted, strict=True):
        assert comparison.test.p <= p <= 2.01 * comparison.test.p


def test_the_order_of_metrics_of_unlike_tasks_matters_little():
    first, last = unlike_tasks()
    one_way = adjusted_of([first, last])
    other_way = adjusted_of([last, first])
    assert one_way == pytest.approx(other_way[::-1], rel=0.2)


def test_names_of_one_number_share_the_level_with_nobody():
    one = compared(run(1, 200, 4))
    adjustment = adjust_jointly([one] * 4, ["g"] * 4)
    assert adjustment.sharing == pytest.approx(1.0)


def test_metrics_that_share_nothing_share_the_level_of_so_many():
    comparisons = [compared(run(seed, 200, 4)) for seed in range(5)]
    adjustment = adjust_jointly(comparisons, ["a", "b", "c", "d", "e"])
    assert adjustment.sharing == pytest.approx(5, rel=0.03)


# -- what makes two metrics names of one number ------------------------------------------


def in_clusters(seed, clusters, loss=0.3):
    return replace(run(seed, 120, 1, loss=loss), clusters=clusters)


TENS = np.arange(120) // 10


def test_another_name_of_a_number_in_clusters_costs_nothing():
    pair = in_clusters(1, TENS)
    one = compared(pair)
    again = compared(replace(pair, name="again"))
    assert adjusted_of([one, again]) == pytest.approx([one.test.p] * 2, rel=1e-12)


def test_metrics_whose_clusters_sum_to_the_same_are_one_number():
    """Within clusters other tasks broke; each cluster lost as much."""
    before = [[1.0]] * 120
    first = np.ones(120)
    last = np.ones(120)
    for cluster in range(10):
        first[10 * cluster : 10 * cluster + 1 + cluster % 4] = 0.0
        last[10 * cluster + 9 - cluster % 4 : 10 * cluster + 10] = 0.0
    pairs = [
        make_pair(before, now[:, None], clusters=TENS, name=name)
        for name, now in (("first", first), ("last", last))
    ]
    comparisons = [compared(pair) for pair in pairs]
    p = comparisons[0].test.p
    assert comparisons[1].test.p == pytest.approx(p)
    assert adjusted_of(comparisons) == pytest.approx([p, p], rel=1e-9)


def test_metrics_of_other_clusters_of_other_tasks_count_as_independent():
    pair = in_clusters(1, TENS)
    one = compared(pair)
    other_tasks = tuple(range(1, 121))
    other = compared(replace(pair, name="other", tasks=other_tasks))
    both = 1 - (1 - one.test.p) ** 2
    assert adjusted_of([one, other]) == pytest.approx([both, both], rel=1e-9)


def test_one_damage_of_two_p_values_is_two_numbers():
    pair = flips(9, 1, 100)
    surer = compared(pair)
    # the same damage, of which noise between runs explains a part
    noisy = compared(replace(pair, name="noisy"), run_noise=0.02, is_rate=True)
    assert noisy.test.p > 2 * surer.test.p
    adjustment = adjust_jointly([surer, noisy], ["g"] * 2)
    assert adjustment.p[0] > surer.test.p
    assert adjustment.p[1] == pytest.approx(noisy.test.p)
    assert adjustment.sharing == pytest.approx(1.0, abs=0.1)


def test_a_metric_that_did_not_move_costs_the_others_next_to_nothing():
    # t of 100 tasks is 2
    damage = 0.2 + np.linspace(-1, 1, 100) * math.sqrt(3)
    pair = make_pair(damage[:, None], np.zeros((100, 1)), bounded=False)
    one = compared(pair)
    still = compared(replace(pair, name="still", current=pair.baseline))
    assert still.test.p == 1
    assert adjusted_of([one, still])[0] == pytest.approx(one.test.p, rel=0.05)


def test_metrics_judged_by_rollouts_alone_count_as_independent():
    one = compared(make_pair([[1.0] * 8] * 3, [[0.0] * 7 + [1.0]] * 3))
    assert one.by_rollouts
    other = compared(make_pair([[1.0] * 8] * 3, [[0.0] * 6 + [1.0] * 2] * 3))
    least = min(one.test.p, other.test.p)
    adjusted = adjusted_of([one, other])
    assert min(adjusted) == pytest.approx(1 - (1 - least) ** 2, rel=1e-9)


def test_the_metrics_of_many_benchmarks_share_the_level_of_each():
    pairs = [run(seed, 200, 4) for seed in range(2)]
    alone = [compared(pair) for pair in pairs]
    of_many = [
        replace(one, rule=replace(one.rule, benchmarks=10, alpha=0.02)) for one in alone
    ]
    # at .002 two metrics cost no less than at .01
    sharing = adjust_jointly(of_many, ["a", "b"]).sharing
    level = 0.02 / 10
    assert sharing == pytest.approx((1 - (1 - level) ** 2) / level)
