"""Rollouts dealt to both sides anew, against all ways to deal them."""

from itertools import combinations, product

import numpy as np
import pytest
from comparison.making import compared, make_pair
from msgspec.structs import replace

from pytest_evalmetrics.comparison import means_of
from pytest_evalmetrics.comparison.relabelling import task_statistic, values_are_means
from pytest_evalmetrics.model.rollout_table import TaskRewards, TaskRows

BEFORE = [[0.9, 0.8], [0.7, 0.2], [0.6, 0.9], [1.0, 0.4], [0.5, 0.6]]
AFTER = [[0.1], [0.3], [0.5], [0.2], [0.55]]


def deals(before, after):
    """All ways to deal a task's rollouts to both sides."""
    rollouts = [*before, *after]
    ways = []
    for chosen in combinations(range(len(rollouts)), len(before)):
        one = [rollouts[place] for place in chosen]
        other = [r for place, r in enumerate(rollouts) if place not in chosen]
        ways.append((one, other))
    return ways


def p_of_all_deals(before, after, reduce):
    """The share of all deals that lose as much as was seen."""
    seen = reduce(before) - reduce(after)
    of_tasks = [deals(one, other) for one, other in zip(before, after, strict=True)]
    drops = []
    for way in product(*of_tasks):
        dealt_before, dealt_after = zip(*way, strict=True)
        drops.append(reduce(dealt_before) - reduce(dealt_after))
    return np.mean(np.array(drops) >= seen - 1e-9)


def pair_reduced_by(center):
    """Pair a metric of the tasks' means, which does not say that it is one."""

    def reduce(tasks):
        return float(center([np.mean(task) for task in tasks]))

    means = [np.mean(task) for task in (*BEFORE, *AFTER)]
    both = np.array(means)
    pair = make_pair(
        BEFORE,
        AFTER,
        bounded=False,
        value_baseline=reduce(BEFORE),
        value_current=reduce(AFTER),
        difference=lambda first, second: np.array(
            [
                center(both[one]) - center(both[other])
                for one, other in zip(first, second, strict=True)
            ]
        ),
        reduce=lambda rewards: reduce(rewards.to_lists()),
    )
    return pair, p_of_all_deals(BEFORE, AFTER, reduce)


def test_a_metric_that_turns_out_to_be_a_mean_is_relabelled_exactly():
    pair, p = pair_reduced_by(np.mean)
    assert compared(pair).test.name == "relabelled rollouts"
    assert compared(pair).p_rollouts == pytest.approx(p, abs=1e-9)


def test_a_metric_that_is_no_mean_is_computed_anew_for_random_deals():
    pair, p = pair_reduced_by(np.median)
    assert compared(pair).test.name == "relabelled rollouts"
    assert compared(pair).p_rollouts == pytest.approx(p, abs=0.06)


def test_tasks_are_valued_by_the_metric_where_their_value_is_no_mean_reward():
    def best(rewards):
        return np.maximum.reduceat(rewards.values, rewards.offsets[:-1])

    before = [[1.0, 0.0], [0.8, 0.1], [0.9, 0.2]]
    after = [[0.3], [0.4], [0.2]]
    pair = make_pair(
        before,
        after,
        baseline=np.array([1.0, 0.8, 0.9]),
        current=np.array([0.3, 0.4, 0.2]),
        value_baseline=0.9,
        value_current=0.3,
        task_values=best,
    )
    p = p_of_all_deals(before, after, lambda tasks: np.mean([max(t) for t in tasks]))
    assert compared(pair).p_rollouts == pytest.approx(p, rel=1e-6)


def test_rare_passes_of_many_rollouts_are_no_loss_to_a_single_one():
    baseline = [[1.0] + [0.0] * 15] * 6 + [[0.0] * 16] * 4
    comparison = compared(make_pair(baseline, [[0.0]] * 10))
    # of 17 rollouts of a task the run's one is the passing one in one of 17
    assert comparison.test.p == pytest.approx((16 / 17) ** 6, rel=1e-9)


def median_of_twelve():
    """Twelve tasks, each of whose three rollouts before is better than the one now."""
    before = np.linspace(0.5, 1.0, 36).reshape(12, 3)
    after = np.linspace(0.0, 0.4, 12).reshape(12, 1)
    means = np.concatenate((before.mean(axis=1), after.mean(axis=1)))
    return make_pair(
        before,
        after,
        bounded=False,
        value_baseline=float(np.median(means[:12])),
        value_current=float(np.median(means[12:])),
        difference=lambda first, second: (
            np.median(means[first], axis=1) - np.median(means[second], axis=1)
        ),
        reduce=lambda rewards: float(np.median(means_of(rewards))),
    )


def test_below_what_deals_can_show_p_is_that_of_the_mean_reward():
    pair = median_of_twelve()
    # one way of four to deal each task loses as much
    assert compared(pair).p_rollouts == pytest.approx(0.5 * 0.25**12)


@pytest.mark.parametrize("missing", ["baseline", "current"])
def test_values_that_are_not_known_are_no_mean_rewards(missing):
    pair = make_pair(BEFORE, AFTER, **{missing: None})
    assert not values_are_means(pair)


@pytest.mark.parametrize("side", ["baseline", "current"])
def test_other_values_on_one_side_are_no_mean_rewards(side):
    assert values_are_means(make_pair(BEFORE, AFTER))
    assert not values_are_means(make_pair(BEFORE, AFTER, **{side: np.ones(5)}))


def test_rows_have_no_mean_reward():
    places = TaskRewards.from_lists([[0], [1]])
    rows = TaskRows(
        values=places.values,
        offsets=places.offsets,
        columns={"answer": np.array([0.0, 1.0])},
        labels=(),
        coded=frozenset(),
        worth=np.array([0.0, 1.0]),
    )
    pair = make_pair([[0.0], [1.0]], [[0.0], [1.0]], rewards_baseline=rows)
    assert not values_are_means(pair)


def test_random_deals_of_a_metric_that_is_no_mean_have_the_seed_of_the_gate():
    pair, _ = pair_reduced_by(np.median)
    assert compared(pair).p_rollouts == compared(pair).p_rollouts
    other = compared(replace(pair, name="other")).p_rollouts
    assert compared(pair).p_rollouts != other


def best_of_each(rewards):
    return np.maximum.reduceat(rewards.values, rewards.offsets[:-1])


def test_a_task_is_valued_as_its_metric_values_it():
    pair = make_pair([[1.0, 0.5]], [[0.5]], task_values=best_of_each)
    statistic = task_statistic(pair, like=pair.rewards_baseline)
    values = np.array([0.1, 0.9, 0.3, 0.2])
    assert statistic(values, np.array([0, 3, 4])).tolist() == [0.9, 0.2]


def test_a_task_without_values_of_its_own_is_a_mean():
    assert task_statistic(make_pair([[1.0]], [[0.5]]), like=None) is None


def test_the_best_rollouts_of_many_tasks_are_relabelled_by_their_value():
    """Of a task of eight and one rollouts the best is the baseline's in 8 of 9 deals."""
    rng = np.random.default_rng(3)
    before = rng.random((9, 8))
    after = rng.random((9, 1))
    pair = make_pair(
        before,
        after,
        baseline=before.max(axis=1),
        current=after.max(axis=1),
        value_baseline=float(before.max(axis=1).mean()),
        value_current=float(after.mean()),
        task_values=best_of_each,
    )
    assert compared(pair).p_rollouts > 0.1


def test_random_deals_of_a_task_have_the_seed_of_the_gate():
    """Of nine and nine rollouts there are 48,620 deals."""
    rng = np.random.default_rng(4)
    pair = make_pair([rng.normal(0.6, 1, 9)], [rng.normal(0, 1, 9)], bounded=False)
    assert compared(pair).p_rollouts == compared(pair).p_rollouts
    assert compared(pair).p_rollouts != compared(replace(pair, name="b")).p_rollouts
