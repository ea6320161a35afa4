"""Answers that change in tasks of equal scores, beside one earlier run or several."""

from itertools import chain

import pytest
from behaviour.making import row, run, table_of

from pytest_evalmetrics.behaviour import compare_behaviour
from pytest_evalmetrics.behaviour.changes import Sides, pooled
from pytest_evalmetrics.ext import TaskRewards

OTHER_WORDS = ["your", "seat", "could", "not", "be", "found", "sorry"]


def churn_of(earlier, now, independent=None):
    """Compare the answers of a run with those of the earlier runs of a baseline."""
    tables = []
    rewards = []
    for rows in earlier:
        table, of_run = table_of(rows)
        tables.append(table)
        rewards.append(of_run.to_lists())
    before = [
        list(chain.from_iterable(of_task)) for of_task in zip(*rewards, strict=True)
    ]
    today, rewards_now = table_of(now)
    sides = Sides(
        before=pooled(tables), now=today, runs=len(earlier), independent=independent
    )
    scores = (TaskRewards.from_lists(before), rewards_now)
    return compare_behaviour(sides, scores)[1]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_answers_in_other_words_are_found_beside_any_number_of_runs(count):
    earlier = [run(seed) for seed in range(count)]
    churn = churn_of(earlier, run(9, answer=OTHER_WORDS))
    assert churn.is_significant
    assert churn.distance > churn.distance_floor


def test_the_least_p_is_that_of_one_deal_in_2_000():
    assert churn_of([run(1)], run(9, answer=OTHER_WORDS)).p == 0.0005


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_answers_that_differ_as_those_of_earlier_runs_are_no_churn(count):
    churn = churn_of([run(seed) for seed in range(count)], run(9))
    assert not churn.is_significant
    assert churn.distance == pytest.approx(churn.distance_floor, abs=0.02)


def test_the_same_answers_give_the_same_p():
    first = churn_of([run(1)], run(2))
    again = churn_of([run(1)], run(2))
    assert 0.01 < first.p < 1
    assert again.p == first.p


def test_one_rollout_of_each_task_and_one_run_show_no_floor():
    churn = churn_of([run(1, samples=1)], run(2, samples=1))
    assert churn.floor is None
    assert churn.distance_floor is None
    assert churn.p is None


def test_one_rollout_of_each_task_and_several_runs_show_one():
    earlier = [run(seed, samples=1) for seed in range(3)]
    churn = churn_of(earlier, run(9, samples=1))
    assert churn.distance_floor == pytest.approx(churn.distance, abs=0.05)
    assert churn.p > 0.01


def test_tasks_whose_scores_changed_are_left_out():
    # each task has a rollout of reward 0 before
    now = [{**one, "reward": 1.0} for one in run(2)]
    assert churn_of([run(1)], now) is None


# -- by hand ---------------------------------------------------------------------------------


def told(task, *answers, reward=1.0):
    """Make a rollout of a task for each answer."""
    return [
        row(task, sample, [], answer=answer, reward=reward)
        for sample, answer in enumerate(answers)
    ]


def test_the_shares_and_distances_are_those_of_the_pairs_of_answers():
    """Of each task 2 of 4 pairs differ across the sides, and 1 of 2 pairs within one."""
    before = [*told(0, "a b", "a b"), *told(1, "a b", "a b")]
    now = [*told(0, "a b", "b c"), *told(1, "a b", "b c")]
    churn = churn_of([before], now)
    assert churn.tasks == 2
    assert churn.changed == 0.5
    assert churn.floor == 0.5
    # the words of the two answers share 1 of 3
    assert churn.distance == pytest.approx(0.5 * 2 / 3, abs=1e-4)
    assert churn.distance_floor == pytest.approx(0.5 * 2 / 3, abs=1e-4)


def test_answers_that_are_all_the_same_differ_in_no_deal():
    rows = [one for task in range(3) for one in told(task, "a", "a")]
    churn = compare_independent([rows], rows)
    assert (churn.changed, churn.distance, churn.floor) == (0, 0, 0)
    assert churn.p == 1
    assert not churn.is_significant


def compare_independent(earlier, now):
    """Compare answers of rollouts that are said to be independent."""
    return churn_of(earlier, now, independent=True)


def test_of_many_runs_the_first_answer_of_each_is_compared():
    """Eight answers of a task are compared, the same number of each run."""
    earlier = [told(0, "a", "b") for _ in range(8)]
    assert churn_of(earlier, told(0, "a")).changed == 0
    assert churn_of(earlier[:4], told(0, "a")).changed == 0.5


def test_eight_answers_of_a_run_are_compared():
    answers = ["a"] * 8 + ["b"] * 4
    assert churn_of([told(0, "a")], told(0, *answers)).changed == 0


def test_a_task_without_an_answer_or_with_other_rewards_is_left_out():
    before = [*told(0, "a"), *told(1, "a"), *told(2, "a"), *told(3, "a")]
    now = [*told(0, ""), *told(1, "b"), *told(2, "a", reward=0.5), *told(4, "a")]
    assert churn_of([before], now).tasks == 1


def test_the_answers_of_200_tasks_are_compared():
    rows = [one for task in range(201) for one in told(task, "a")]
    assert churn_of([rows], rows).tasks == 200


def test_between_runs_only_answers_of_different_ones_are_a_pair():
    earlier = [told(0, "a", "b"), told(0, "a", "b")]
    churn = churn_of(earlier, told(0, "a"))
    assert churn.changed == 0.5
    assert churn.floor == 0.5
    assert churn_of([told(0, "a", "b")], told(0, "a")).floor == 1


def test_two_tasks_prove_nothing_however_far_their_answers_are():
    """One of three answers of each task may be the run's: one deal in nine is as far."""
    run_before = [*told(0, "a"), *told(1, "a")]
    churn = churn_of([run_before, run_before], [*told(0, "x"), *told(1, "x")])
    assert churn.distance == 1
    assert churn.distance_floor == 0
    assert churn.p == pytest.approx(1 / 9, abs=0.02)
    assert not churn.is_significant
