"""Which test a drop gets, and its p value, against others' and against all ways by hand."""

import math
from itertools import product

import numpy as np
import pytest
from comparison.making import (
    compared,
    flips,
    make_combined,
    make_pair,
    rule,
    run,
    worst_task,
)
from scipy import stats as oracle
from statsmodels.stats.proportion import confint_proportions_2indep

from pytest_evalmetrics.comparison import ComparisonInput, compare, few_units
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.model.blindness import FewRollouts, FewUnits
from pytest_evalmetrics.model.comparison import Independence, Untestable
from pytest_evalmetrics.stats import mean_se


def damages(pair):
    return pair.baseline - pair.current


# -- means over tasks --------------------------------------------------------------------


def test_where_lower_is_better_the_drop_is_mirrored():
    pair = run(3, 200, 4, loss=0.1)
    fall = compared(pair)
    rise = compared(pair, direction="lower")
    assert rise.drop == -fall.drop
    assert (rise.test.low, rise.test.high) == (-fall.test.high, -fall.test.low)


def test_where_lower_is_better_p_is_that_of_the_other_tail():
    pair = run(3, 200, 4, loss=0.1)
    fall = compared(pair)
    rise = compared(pair, direction="lower")
    assert rise.test.p == pytest.approx(1 - fall.test.p, rel=1e-12)


def test_twenty_flips_are_enough_for_students_t():
    assert compared(flips(12, 7, 100)).test.name == "exact sign flip"
    assert compared(flips(12, 8, 100)).test.name == "paired t"


def every_sign(sums):
    """The mid-p of all signs of these differences."""
    seen = np.sum(sums)
    signs = np.array(list(product((1, -1), repeat=len(sums))))
    totals = signs @ sums
    beyond = np.mean(totals > seen + 1e-9)
    return beyond + np.mean(np.abs(totals - seen) < 1e-9) / 2


def lattice():
    """Means of four rollouts, 11 of 38 of which moved by quarters."""
    baseline = [[1, 1, 1, 1]] * 8 + [[0, 0, 1, 1]] * 30
    fallen = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    kept = [[1, 1, 1, 1]] * 4
    risen = [[1, 0, 1, 1]] * 3
    return make_pair(baseline, fallen + kept + risen + [[0, 0, 1, 1]] * 27)


def roots():
    """Differences of which no two are multiples of one step."""
    values = [[math.sqrt(prime)] for prime in (2, 3, 5, 7, 11, 13, 17)]
    return make_pair(values, [[2.0]] * 7, bounded=False)


@pytest.mark.parametrize("pair", [lattice(), roots()], ids=["lattice", "roots"])
def test_few_flips_are_tested_against_all_their_signs(pair):
    comparison = compared(pair)
    moved = damages(pair)[damages(pair) != 0]
    assert comparison.test.name == "exact sign flip"
    assert comparison.test.p == pytest.approx(every_sign(moved), rel=1e-12)


# -- clusters ----------------------------------------------------------------------------


@pytest.fixture
def clustered():
    """240 tasks in 30 clusters."""
    clusters = np.random.default_rng(0).integers(0, 30, 240)
    return compared(run(4, 240, 4, loss=0.2), clusters=clusters)


def test_clusters_are_what_is_independent(clustered):
    assert len(clustered.damage) == 240
    assert clustered.units == 30


def test_many_clusters_are_tested_by_t_with_their_own_errors(clustered):
    expected = mean_se(clustered.damage, clustered.clusters)
    assert clustered.test.name == "clustered paired t"
    assert clustered.test.se == pytest.approx(expected.se, rel=1e-12)
    p = oracle.t.sf(clustered.drop / expected.se, expected.df)
    assert clustered.test.p == pytest.approx(p, rel=1e-9)


def test_the_interval_of_clusters_is_that_of_t(clustered):
    expected = mean_se(clustered.damage, clustered.clusters)
    half = oracle.t.ppf(0.975, expected.df) * expected.se
    assert clustered.test.low == pytest.approx(clustered.drop - half)
    assert clustered.test.high == pytest.approx(clustered.drop + half)


def test_a_single_cluster_shows_nothing():
    clusters = np.zeros(40, dtype=int)
    assert compared(flips(30, 0, 10), clusters=clusters).test.p >= 0.5


# -- unequal rollouts --------------------------------------------------------------------


def test_with_unequal_rollouts_that_of_tasks_counts_if_it_is_larger():
    # 8 rollouts before, one after; a third of the tasks fails once
    comparison = compared(make_pair([[1] * 8] * 60, [[0]] * 4 + [[1]] * 56))
    by_flips = oracle.binom(4, 0.5).pmf(4) / 2
    by_rollouts = 9**-4 / 2  # each the one of nine
    assert comparison.p_rollouts == pytest.approx(by_rollouts, rel=1e-6)
    assert comparison.test.p == pytest.approx(by_flips)
    assert comparison.test.name == "exact sign flip"


def test_with_unequal_rollouts_p_is_never_below_that_of_rollouts():
    baseline = [[1] * 7 + [0]] * 30 + [[1] * 8] * 30
    comparison = compared(make_pair(baseline, [[0]] * 9 + [[1]] * 51))
    assert comparison.test.p >= comparison.p_rollouts > 0


def test_unequal_rollouts_weigh_each_task_the_same():
    pair = make_pair([[1] * 8, [1, 0], [0]] * 10, [[1], [0], [1, 0, 0, 0]] * 10)
    comparison = compared(pair)
    differences = np.array([0, 0.5, -0.25] * 10)
    assert comparison.drop == pytest.approx(differences.mean(), rel=1e-12)
    by_tasks = oracle.ttest_1samp(differences, 0, alternative="greater").pvalue
    larger = max(by_tasks, comparison.p_rollouts)
    assert comparison.test.p == pytest.approx(larger)


def test_equal_rollouts_are_not_relabelled():
    assert math.isnan(compared(flips(9, 1, 100)).p_rollouts)


# -- too few to see anything -------------------------------------------------------------


def test_a_single_task_is_judged_by_its_rollouts():
    # of 5 rollouts 3 passed; the baseline has 2 of them
    exact = oracle.hypergeom(5, 3, 2)
    one = compared(make_pair([[1, 1]], [[1, 0, 0]]))
    assert one.test.p == pytest.approx(exact.sf(1))
    assert one.by_rollouts


def test_a_single_task_is_too_few_for_a_test_over_tasks():
    one = compared(make_pair([[1, 1]], [[1, 0, 0]]))
    assert one.blind == FewUnits(unit="task", units=1, needed=7, alpha=0.01)


def test_few_clusters_are_blind():
    comparison = compared(flips(30, 0, 10), clusters=np.arange(40) % 4)
    assert comparison.blind == FewUnits(unit="cluster", units=4, needed=7, alpha=0.01)


@pytest.mark.parametrize(("tasks", "is_few"), [(6, True), (7, False)])
def test_seven_tasks_can_be_significant_at_a_per_cent(tasks, is_few):
    # the least p of seven tasks is 0.0078
    assert (few_units(tasks, "task", 0.01) is not None) == is_few


def test_few_tasks_with_anything_to_lose_are_judged_by_their_rollouts():
    baseline = [[1.0] * 8] * 3 + [[0.0] * 8] * 30
    comparison = compared(make_pair(baseline, [[0.0] * 8] * 33))
    assert comparison.test.name == "relabelled rollouts"
    assert comparison.by_rollouts


def test_few_rollouts_of_each_task_prove_nothing_of_the_worst_task():
    single = compared(worst_task([[1.0]] * 50, [[1.0]] * 49 + [[0.0]]))
    # a task whose 4 and 4 rollouts all differ has a p of 0.014, one of 5 and 5 of 0.004
    assert single.blind == FewRollouts(needed=5, alpha=0.01)


def test_a_level_that_hardly_any_rollouts_reach_asks_for_64_of_each_task():
    single = compared(worst_task([[1.0]] * 5, [[0.0]] * 5), alpha=1e-40)
    assert single.blind == FewRollouts(needed=64, alpha=1e-40)


# -- what can't be tested ----------------------------------------------------------------


def test_a_value_that_is_no_number_is_not_tested():
    pair = make_pair([[1.0]] * 30, [[0.5]] * 30)
    pair.current[3] = math.nan
    comparison = compared(pair)
    assert math.isnan(comparison.drop)
    assert comparison.untested == Untestable(
        cause="words",
        words="b holds 1 values that are not finite, the first, nan, at index 3",
    )


def test_a_metric_that_is_not_defined_on_resampled_tasks_is_not_tested():
    def picky(values):
        if len(values) < 30:
            raise MetricError("thirty tasks are needed")
        return float(np.mean(values))

    comparison = compared(make_combined([1.0] * 30, [0.5] * 30, combine=picky))
    assert comparison.drop == 0.5
    assert math.isnan(comparison.test.p)
    assert comparison.untested == Untestable(
        cause="resampled", words="thirty tasks are needed"
    )


def test_a_metric_that_is_no_number_without_some_task_is_not_tested():
    def hollow(values):
        return math.nan if len(values) < 30 else float(np.mean(values))

    comparison = compared(make_combined([1.0] * 30, [0.5] * 30, combine=hollow))
    assert math.isnan(comparison.test.p)
    assert comparison.untested.cause == "words"
    assert comparison.untested.words.startswith("x holds 30 values that are not finite")


def test_a_metric_that_is_not_defined_on_dealt_rollouts_is_not_tested_by_them():
    def picky(rewards):
        raise MetricError(f"{len(rewards)} tasks were dealt anew")

    before = [[1.0, 0.9, 0.8 + task / 1000] for task in range(12)]
    means = np.array([np.mean(task) for task in before] + [0.0] * 12)

    def difference(first, second):
        return np.median(means[first], axis=1) - np.median(means[second], axis=1)

    pair = make_pair(
        before,
        [[0.0]] * 12,
        value_baseline=float(np.median(means[:12])),
        value_current=0.0,
        difference=difference,
        reduce=picky,
    )
    assert compared(pair).untested == Untestable(
        cause="resampled", words="12 tasks were dealt anew"
    )


def test_no_task_in_common_has_no_drop():
    comparison = compared(make_pair([], []))
    assert math.isnan(comparison.drop)
    assert math.isnan(comparison.test.p)
    assert comparison.untested is None


# -- aggregates --------------------------------------------------------------------------


def test_aggregates_are_tested_by_the_errors_that_they_came_with():
    comparison = compared(flips(10, 0, 90), stated=(0.04, 30.0))
    assert comparison.test.name == "Welch's t of the stated standard errors, unpaired"
    assert comparison.test.p == pytest.approx(oracle.t.sf(0.1 / 0.04, 30), rel=1e-9)
    half = oracle.t.ppf(0.975, 30) * 0.04
    assert comparison.test.low == pytest.approx(0.1 - half)
    assert comparison.test.high == pytest.approx(0.1 + half)


def test_aggregates_without_an_error_are_sure_of_any_drop():
    assert compared(flips(10, 0, 90), stated=(0.0, 30.0)).test.log_p == -math.inf
    assert compared(flips(0, 0, 90), stated=(0.0, 30.0)).test.p == 1


# -- metrics without values by task ------------------------------------------------------


def test_damage_of_a_metric_without_tasks_values_is_that_of_mean_rewards():
    opaque = make_pair(
        [[1, 1], [0, 1]],
        [[1, 0], [0, 1]],
        baseline=None,
        current=None,
        difference=lambda first, second: first.sum(axis=1) - second.sum(axis=1),
        reduce=lambda rewards: float(rewards.values.sum()),
    )
    assert compared(opaque).damage.tolist() == [0.5, 0]


def test_the_same_rollouts_on_both_sides_are_no_change():
    comparison = compared(make_combined([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]))
    assert comparison.test.p == 1
    assert comparison.drop == 0
    assert comparison.draws == 0


def test_rollouts_that_share_the_error_of_a_reference_prove_nothing_of_few_tasks():
    pair = make_pair([[1.0] * 8] * 5, [[0.0] * 8] * 5)
    assert compared(pair).by_rollouts
    with_reference = compared(pair, shares_error=True)
    assert not with_reference.by_rollouts
    assert with_reference.blind == few_units(5, "task", 0.01)


def test_the_interval_of_a_difference_of_rates_stays_within_1():
    pair = make_pair([[1.0], [1.0], [0.0]], [[0.0], [0.0], [1.0]])
    result = compared(pair).test
    assert result.low == -1
    assert result.high == 1


@pytest.mark.parametrize(("fallen", "is_all"), [(2, False), (3, True)])
def test_three_tasks_that_fell_to_one_value_show_the_end_of_a_range(fallen, is_all):
    before = [[5.0]] * fallen + [[0.0]] * (100 - fallen)
    pair = make_pair(before, [[0.0]] * 100, bounded=False)
    assert compared(pair).lost_all is is_all


def test_rare_failures_of_single_rollouts_make_t_less_sure_over_a_reference():
    # one rollout before, which fails in 2 of 50 tasks, and eight now, half of
    # which fail in 40 tasks
    before = [[0.0]] * 2 + [[1.0]] * 48
    after = [[1.0] * 8] * 10 + [[1.0] * 4 + [0.0] * 4] * 40
    pair = make_pair(before, after)
    plain = oracle.ttest_1samp(damages(pair), 0, alternative="greater").pvalue
    assert compared(pair, shares_error=True).test.p > 2 * plain


def test_rare_losses_leave_t_as_it_is_over_a_reference():
    before = [[0.5] * 8] * 40 + [[1.0] * 8] * 4
    after = [[0.6]] * 18 + [[0.4]] * 22 + [[0.0]] * 4
    pair = make_pair(before, after)
    plain = oracle.ttest_1samp(damages(pair), 0, alternative="greater").pvalue
    assert compared(pair, shares_error=True).test.p == pytest.approx(plain, rel=1e-9)


# -- extreme damage ----------------------------------------------------------------------


def with_an_outlier():
    """Forty tasks that got a little worse, two of which timed out."""
    damage = 0.1 + 0.2 * np.random.default_rng(5).normal(size=40)
    damage[:2] = [30.0, 50.0]
    return make_pair(damage[:, None], np.zeros((40, 1)), bounded=False)


def largest_t(damage):
    """The largest t of damage that is clipped from above, over all ends."""
    ends = np.linspace(0.01, 1.0, 10_000)
    clipped = np.minimum(damage, ends[:, None])
    errors = clipped.std(axis=1, ddof=1) / math.sqrt(len(damage))
    return (clipped.mean(axis=1) / errors).max()


def test_extreme_damage_hides_no_drop_of_the_other_tasks():
    pair = with_an_outlier()
    test = compared(pair).test
    assert oracle.ttest_1samp(damages(pair), 0, alternative="greater").pvalue > 0.05
    expected = oracle.t.sf(largest_t(damages(pair)), 39)
    assert test.p == pytest.approx(expected, rel=1e-4)
    assert test.name == "winsorised paired t"


def test_the_interval_of_clipped_damage_begins_where_that_of_the_mean_may_not():
    pair = with_an_outlier()
    test = compared(pair).test
    low, high = oracle.t.interval(
        0.95, 39, np.mean(damages(pair)), oracle.sem(damages(pair))
    )
    assert low < 0 < test.low
    assert test.high == pytest.approx(high)


# -- unequal rollouts of rare passes -----------------------------------------------------


def test_unequal_rollouts_that_all_lost_the_same_have_no_interval():
    test = compared(make_pair([[1.0, 1.0]] * 30, [[0.5]] * 30)).test
    assert test.se == 0
    assert math.isnan(test.low)
    assert math.isnan(test.high)


# -- few tasks, judged by their rollouts -------------------------------------------------


def passing(*counts):
    """Tasks of eight rollouts, so many of which pass."""
    return [[1.0] * count + [0.0] * (8 - count) for count in counts]


def test_few_tasks_are_no_surer_than_t_over_them():
    comparison = compared(make_pair(passing(8, 8, 8, 8, 7), passing(1, 3, 0, 2, 2)))
    moved = np.array([7, 5, 8, 6, 5]) / 8
    expected = oracle.ttest_1samp(moved, 0, alternative="greater").pvalue
    assert comparison.by_rollouts
    assert comparison.test.p == pytest.approx(expected)
    assert comparison.test.name == "relabelled rollouts"


def test_few_clusters_are_no_surer_than_t_over_their_means():
    clusters = np.array([0, 0, 0, 1, 1, 2])
    before = passing(8, 8, 8, 8, 8, 8)
    after = passing(2, 4, 3, 1, 3, 4)
    comparison = compared(make_pair(before, after), clusters=clusters)
    means = np.array([5, 6, 4]) / 8
    expected = oracle.ttest_1samp(means, 0, alternative="greater").pvalue
    assert comparison.test.p == pytest.approx(expected)


def test_few_tasks_that_all_lost_the_same_rest_on_their_rollouts():
    comparison = compared(make_pair(passing(8, 8, 7), passing(4, 4, 3)))
    # of 16 rollouts 12, and of another ten, pass
    twelve = oracle.hypergeom(16, 12, 8).pmf(np.arange(9))
    ten = oracle.hypergeom(16, 10, 8).pmf(np.arange(9))
    total = np.convolve(np.convolve(twelve, twelve), ten)
    # the baseline has 23 of them
    assert comparison.test.p == pytest.approx(total[23:].sum())


def test_few_tasks_whose_rollouts_may_be_copies_count_as_coins():
    pair = make_pair(passing(8, 8, 8, 8, 8), passing(0, 0, 0, 0, 8))
    assert compared(pair).test.p == pytest.approx(0.5**5)


def test_rollouts_that_are_declared_independent_are_no_copies():
    pair = make_pair(passing(8, 8, 8, 8, 8), passing(0, 0, 0, 0, 8))
    given = ComparisonInput(pair=pair, rule=rule(), gate_id="g", independent=True)
    damage = [1.0, 1.0, 1.0, 1.0, 0.0]
    expected = oracle.ttest_1samp(damage, 0, alternative="greater").pvalue
    assert compare(given).test.p == pytest.approx(expected)


def test_independent_rollouts_say_nothing_of_the_tasks_of_a_cluster():
    pair = make_pair(
        passing(*[8] * 10), passing(*[0] * 8, 8, 8), clusters=np.arange(10) // 2
    )
    given = ComparisonInput(pair=pair, rule=rule(), gate_id="g", independent=True)
    assert compare(given).test.p == pytest.approx(0.5**5)


def test_a_lone_task_of_several_that_could_fall_asks_for_independence():
    comparison = compared(make_pair(passing(8, 0, 0), passing(0, 0, 0)))
    assert comparison.independence is Independence.UNSHOWN
    assert comparison.test.p == pytest.approx(1 / math.comb(16, 8))


def test_several_tasks_that_could_fall_need_no_independence():
    comparison = compared(make_pair(passing(8, 8, 0), passing(3, 4, 0)))
    assert comparison.independence is None


def test_the_share_of_a_drop_by_task_is_kept_for_the_adjustment():
    pair = make_pair([[1.0] * 8] * 30, [[1.0] * 4 + [0.0] * 4] * 20 + [[1.0] * 8] * 10)
    assert compared(pair).influence.tolist() == [0.5] * 20 + [0.0] * 10
    over_reference = make_pair([[1.0] * 8] * 40, [[0.5]] * 10 + [[0.9]] * 30)
    comparison = compared(over_reference, shares_error=True)
    assert comparison.influence == pytest.approx(comparison.damage)


def test_thousands_of_tasks_in_few_clusters_have_a_p_below_any_number():
    pair = make_pair([[1.0] * 4] * 4_400, [[0.0] * 4] * 4_400)
    comparison = compared(pair, clusters=np.arange(4_400) // 1_100)
    assert comparison.by_rollouts
    assert comparison.test.log_p < -1_000


def newcombe_upper(before, now):
    """The upper end of Newcombe's interval of a drop, of passes and rollouts."""
    _, upper = confint_proportions_2indep(
        *before, *now, method="newcomb", compare="diff", alpha=0.05
    )
    return upper


# eight rollouts on one side, and one on the other, in each of 50 tasks
ALWAYS = [[1.0] * 8] * 50
TWICE_NOT = [[0.0]] * 2 + [[1.0]] * 48
NEVER = [[0.0] * 8] * 50
TWICE = [[1.0]] * 2 + [[0.0]] * 48
FARTHEST = newcombe_upper((400, 400), (48, 50))


@pytest.mark.parametrize(
    ("before", "now", "direction"),
    [(ALWAYS, TWICE_NOT, "higher"), (NEVER, TWICE, "lower")],
)
def test_rare_failures_of_the_run_reach_as_far_as_newcombes_interval(
    before, now, direction
):
    result = compared(make_pair(before, now), direction=direction).test
    assert result.high == pytest.approx(FARTHEST, abs=1e-6)


@pytest.mark.parametrize(
    ("before", "now", "direction"),
    [(TWICE_NOT, ALWAYS, "higher"), (TWICE, NEVER, "lower")],
)
def test_rare_failures_of_the_baseline_do_so_on_the_other_side(before, now, direction):
    result = compared(make_pair(before, now), direction=direction).test
    assert result.low == pytest.approx(-FARTHEST, abs=1e-6)


@pytest.mark.parametrize("pass_value", [0.999, 1.0])
def test_scores_and_rewards_without_a_range_have_no_rare_failures(pass_value):
    before = [[pass_value] * 8] * 50
    after = [[0.0]] * 2 + [[pass_value]] * 48
    result = compared(make_pair(before, after, bounded=pass_value < 1)).test
    assert result.high < FARTHEST - 0.005


def test_aggregates_whose_error_is_next_to_nothing_are_sure_of_any_drop():
    result = compared(flips(10, 0, 90), stated=(1e-200, 30.0)).test
    assert result.log_p == -math.inf
    assert result.p == 1e-300
