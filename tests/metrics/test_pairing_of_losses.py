"""What is missing on either side of a comparison, and errors that aggregates state."""

import math

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics import Pairing
from pytest_evalmetrics.model.rollout_table import STATED_COUNT, STATED_ERROR


def pairing(planned, baseline, current, *, expected=0, plan=None, **settings):
    wanted = np.maximum(np.diff(current.offsets), expected)
    return Pairing(plan or planned(), current, baseline, wanted, **settings)


def bound(both, name="mean_reward"):
    return both.plan.names.bind(name)


# -- errors that aggregates state ------------------------------------------------------------


def stated(table, errors, counts, tasks=("a", "b")):
    """Make a table of aggregates, each with its standard error and its samples."""
    columns = {f"{STATED_ERROR}reward": errors, f"{STATED_COUNT}reward": counts}
    return table([[0.5]] * len(errors), tasks=tasks, **columns)


def error_of(planned, baseline, current):
    both = pairing(planned, baseline, current)
    return both.stated_error(bound(both))


def test_rollouts_state_no_error(planned, table):
    assert error_of(planned, table([[1]]), table([[1]])) is None


def test_the_error_of_a_drop_is_that_of_both_sides_with_welchs_degrees_of_freedom(
    planned, table
):
    baseline = stated(table, [0.3, 0.1], [100, 50])
    current = stated(table, [0.1, 0.2], [100, 50])
    error, df = error_of(planned, baseline, current)
    # Welch 1947: each variance over its count less one, of means over two tasks
    parts = [(0.15, 99), (0.05, 49), (0.05, 99), (0.1, 49)]
    variance = sum(part**2 for part, _ in parts)
    assert error == pytest.approx(math.sqrt(variance))
    assert df == pytest.approx(variance**2 / sum(p**4 / n for p, n in parts))


def test_only_tasks_of_both_sides_have_a_part_in_the_error(planned, table):
    baseline = stated(table, [9.0, 0.3], [100, 50], tasks=("x", "b"))
    current = stated(table, [0.4, 7.0], [50, 10], tasks=("b", "y"))
    error, df = error_of(planned, baseline, current)
    assert error == pytest.approx(0.5)
    assert df == pytest.approx(0.25**2 / ((0.09**2 + 0.16**2) / 49))


def test_aggregates_that_never_err_have_any_degrees_of_freedom(planned, table):
    sure = stated(table, [0.0, 0.0], [9, 9])
    assert error_of(planned, sure, sure) == (0.0, math.inf)


def test_the_error_of_another_score_is_its_own(planned, table):
    columns = {f"{STATED_ERROR}acc": [0.3], f"{STATED_COUNT}acc": [10]}
    side = table([[0.5]], acc=[0.5], **columns)
    both = pairing(planned, side, side)
    error, _ = both.stated_error(bound(both, "mean/acc"))
    assert error == pytest.approx(0.3 * math.sqrt(2))


def test_aggregates_over_other_numbers_of_samples_are_refused(planned, table):
    baseline = stated(table, [0.1, 0.1], [100, 12_500])
    current = stated(table, [0.1, 0.1], [100, 50])
    with pytest.raises(MetricError) as refused:
        error_of(planned, baseline, current)
    assert refused.value.message == (
        "reward of b is over 50 samples in this run, and over 12,500 in the baseline: run "
        "both over the same samples (without --limit, or with the same one)"
    )


@pytest.mark.parametrize(
    ("then", "now", "where"),
    [
        ([0.1, 0.1], [0.1, None], "this run"),
        ([0.1, None], [0.1, 0.1], "the baseline"),
    ],
)
def test_an_aggregate_without_an_error_is_refused(planned, table, then, now, where):
    with pytest.raises(MetricError) as refused:
        error_of(planned, stated(table, then, [9, 9]), stated(table, now, [9, 9]))
    assert refused.value.message == (
        f"reward of b has no standard error in {where}; gate it by a threshold, or keep "
        "samples (--log_samples)"
    )


def test_one_sample_has_no_error(planned, table):
    side = stated(table, [0.1, 0.1], [2, 1])
    with pytest.raises(MetricError, match="reward of b has no standard error"):
        error_of(planned, side, side)


def test_two_samples_have_an_error(planned, table):
    side = stated(table, [0.1, 0.1], [2, 2])
    assert error_of(planned, side, side)[0] > 0


def test_a_baseline_that_states_nothing_is_refused(planned, table):
    current = stated(table, [0.1, 0.1], [9, 9])
    baseline = table([[0.5], [0.5]], tasks=("a", "b"))
    with pytest.raises(
        MetricError, match="reward of a has no standard error in the base"
    ):
        error_of(planned, baseline, current)


# -- shares of missing rollouts --------------------------------------------------------------


def missing(both):
    return both.missing(bound(both))


def test_nothing_is_missing_where_each_rollout_has_a_number(planned, table):
    assert missing(pairing(planned, table([[1, 1]]), table([[1]]))) == 0.0


def test_the_larger_share_of_both_sides_is_missing(planned, table):
    half = table([[1, None], [1, None]])
    quarter = table([[1, None], [1, 1]])
    assert missing(pairing(planned, half, quarter)) == 0.5
    assert missing(pairing(planned, quarter, half)) == 0.5


def test_rollouts_that_a_run_should_have_are_missing(planned, table):
    both = pairing(planned, table([[1] * 4]), table([[1, 1, 1]]), expected=4)
    assert missing(both) == 0.25


def test_a_run_without_rollouts_lacks_none(planned, table):
    empty = table([[]])
    assert missing(pairing(planned, empty, empty)) == 0.0


# -- what a run lost -------------------------------------------------------------------------


def lost(both):
    return both.lost_rollouts(bound(both))


def test_a_run_that_lost_nothing_has_no_losses(planned, table):
    assert lost(pairing(planned, table([[1, 1]]), table([[1, 1]]))) is None


def test_what_each_task_lost_is_put_beside_what_it_lacked(planned, table):
    baseline = table([[1, None], [0, 0], [1, 1]])
    current = table([[1, 1], [0, None], [1, 1]])
    losses = lost(pairing(planned, baseline, current))
    assert losses.before.tolist() == [0.5, 0, 0]
    assert losses.now.tolist() == [0, 0.5, 0]
    assert losses.values.tolist() == [1, 0, 1]


def test_a_task_that_is_gone_lost_all_of_its_rollouts(planned, table):
    baseline = table([[1, 1], [0, 0]], tasks=("1", "2"))
    current = table([[1, 1]], tasks=(1,))
    losses = lost(pairing(planned, baseline, current, lost=frozenset({"2"})))
    assert losses.now.tolist() == [0, 1]
    assert losses.values.tolist() == [1, 0]


def test_tasks_of_any_number_of_rollouts_lack_what_the_largest_has(planned, table):
    baseline = table([[1] * 4, [1, 1]])
    current = table([[1] * 8, [1, 1, None]])
    losses = lost(pairing(planned, baseline, current, any_number=True))
    assert losses.before.tolist() == [0, 0.5]
    assert losses.now.tolist() == [0, 0.75]


# -- missing rollouts at their worst ---------------------------------------------------------


def worst(both, name="mean_reward", *, higher=True):
    return both.pair_at_worst(bound(both, name), higher_is_better=higher)


def test_nothing_is_worse_where_nothing_is_missing(planned, table):
    side = table([[1, 0]])
    assert worst(pairing(planned, side, side)) is None


@pytest.mark.parametrize(
    ("higher", "values"),
    [(True, (1.0, 0.5)), (False, (0.5, 1.0))],
)
def test_a_missing_reward_is_the_worst_now_and_was_the_best_then(
    planned, table, higher, values
):
    side = table([[1, None]])
    pair = worst(pairing(planned, side, side), higher=higher)
    # where less is better, the baseline's was 0 and the run's is 1
    assert (pair.value_baseline, pair.value_current) == values


def test_rewards_beyond_a_rate_are_as_bad_as_the_worst_that_was_seen(planned, table):
    pair = worst(pairing(planned, table([[-3, 7]]), table([[5, None]])))
    assert pair.value_baseline == 2
    assert pair.value_current == 1


def test_a_task_that_is_gone_is_at_its_worst(planned, table):
    baseline = table([[1, 1], [1, 1]], tasks=("a", "b"))
    current = table([[1, 1]], tasks=("a",))
    both = pairing(planned, baseline, current, lost=frozenset({"b"}))
    pair = worst(both)
    assert pair.tasks == ("a", "b")
    assert pair.current.tolist() == [1, 0]
    assert pair.baseline.tolist() == [1, 1]


def test_a_task_of_any_number_of_rollouts_is_filled_up_to_its_usual_number(
    planned, table
):
    baseline = table([[1] * 4, [1] * 2])
    current = table([[1] * 4, [1]])
    pair = worst(pairing(planned, baseline, current, any_number=True))
    assert pair.current.tolist() == [1, 0.5]


def test_a_task_above_its_usual_number_is_not_filled(planned, table):
    baseline = table([[1] * 4, [1] * 2, [1] * 4])
    current = table([[1] * 4, [1] * 3, [1] * 2])
    pair = worst(pairing(planned, baseline, current, any_number=True))
    assert pair.current.tolist() == [1, 1, 0.5]


# -- tasks that are gone by chance -----------------------------------------------------------


def test_few_rollouts_that_are_lost_at_random_may_take_tasks_with_them(planned, table):
    counts = [0, 1, 1, 2, 1, 2, 1, 2, 0, 1]
    baseline = table([[1, 1]] * 10)
    held = [(at, count) for at, count in enumerate(counts) if count]
    current = table([[1] * count for _, count in held], tasks=[at for at, _ in held])
    assert pairing(planned, baseline, current).may_be_gone_by_chance()


def test_whole_tasks_that_are_gone_beside_whole_ones_are_not_gone_by_chance(
    planned, table
):
    baseline = table([[1] * 8] * 20)
    current = table([[1] * 8] * 15, tasks=range(15))
    assert not pairing(planned, baseline, current).may_be_gone_by_chance()


def test_a_baseline_of_more_rollouts_is_measured_by_those_of_the_run(planned, table):
    baseline = table([[1] * 24] * 20)
    current = table([[1] * 8] * 15, tasks=range(15))
    assert not pairing(planned, baseline, current).may_be_gone_by_chance()
