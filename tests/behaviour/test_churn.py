"""Answers that change in tasks of equal scores, beside one earlier run or several."""

from itertools import chain

import pytest
from behaviour.making import run, table_of

from pytest_evalmetrics.behaviour import compare_behaviour
from pytest_evalmetrics.behaviour.changes import Sides, pooled
from pytest_evalmetrics.ext import TaskRewards

OTHER_WORDS = ["your", "seat", "could", "not", "be", "found", "sorry"]


def churn_of(earlier, now):
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
    sides = Sides(before=pooled(tables), now=today, runs=len(earlier))
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
