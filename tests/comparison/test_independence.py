"""Evidence that the rollouts of a task are independent of each other."""

import pytest
from comparison.making import make_pair

from pytest_evalmetrics.comparison.independence import independence_of, may_be_copies
from pytest_evalmetrics.model.comparison import Independence


def passes(passed, rollouts=10):
    return [1.0] * passed + [0.0] * (rollouts - passed)


def shown(before, now, sign=1.0, declared=None):
    return independence_of(make_pair(before, now), sign, declared=declared)


VARIED = [passes(4), passes(5), passes(6)] * 20


@pytest.mark.parametrize(
    ("declared", "independence"),
    [(True, Independence.DECLARED), (False, Independence.DENIED)],
)
def test_what_the_file_says_is_believed(declared, independence):
    assert shown([[1.0]], [[1.0]], declared=declared) is independence


@pytest.mark.parametrize(
    ("varied", "independence"), [(9, Independence.UNSHOWN), (10, Independence.SHOWN)]
)
def test_ten_tasks_whose_rollouts_differ_show_it(varied, independence):
    tasks = [passes(5)] * varied + [passes(10)] * 20
    assert shown(tasks, tasks) is independence


def test_rollouts_that_differ_on_one_side_show_it():
    tasks = [passes(5)] * 10
    assert shown(tasks, [passes(10)] * 10) is not Independence.UNSHOWN


@pytest.mark.parametrize("unit", [1.0, 100.0, 0.01])
def test_more_improvements_than_rollouts_explain_deny_it_in_any_unit(unit):
    def scaled(tasks):
        return [[unit * reward for reward in task] for task in tasks]

    before = [passes(9)] * 6 + [passes(1)] * 6 + VARIED
    now = [passes(1)] * 6 + [passes(9)] * 6 + VARIED
    assert shown(scaled(before), scaled(now)) is Independence.CHURNING
    assert shown(scaled(VARIED), scaled(VARIED)) is Independence.SHOWN


def test_a_break_of_single_tasks_does_not_deny_it():
    before = [passes(9)] * 6 + VARIED
    now = [passes(1)] * 6 + VARIED
    assert shown(before, now) is Independence.SHOWN
    # where less is better the same is an improvement
    assert shown(before, now, sign=-1.0) is Independence.CHURNING


def test_an_improvement_that_all_tasks_share_does_not_deny_it():
    assert shown([passes(3)] * 30, [passes(6)] * 30) is Independence.SHOWN


@pytest.mark.parametrize(
    ("before", "now", "copies"),
    [
        ([[1, 1], [0, 0]], [[0, 0], [1]], True),
        ([[1, 0], [0, 0]], [[0, 0], [1]], False),
        ([[1, 1], [0, 0]], [[0, 1], [1]], False),
    ],
)
def test_rollouts_that_never_differ_may_be_copies(before, now, copies):
    assert may_be_copies(make_pair(before, now)) is copies


@pytest.mark.parametrize(
    ("improved", "independence"),
    [
        # z of three tasks is 3.07 each: 28.2 - .46 * 33 is above 2.33 * sqrt(.87 * 33)
        (8, Independence.CHURNING),
        # 2.66 each: 21.2 - 15.2 is not
        (7, Independence.SHOWN),
    ],
)
def test_improvements_are_too_many_at_one_per_cent_of_what_rollouts_explain(
    improved, independence
):
    still = [passes(5)] * 30
    before = [passes(1)] * 3 + still
    now = [passes(improved)] * 3 + still
    assert shown(before, now) is independence


def test_tasks_whose_rollouts_never_differ_expect_no_improvements():
    before = [passes(1)] * 3 + [passes(5)] * 30
    now = [passes(8)] * 3 + [passes(5)] * 30
    same = [passes(10), passes(0)] * 100
    assert shown(before + same, now + same) is Independence.CHURNING


def test_tasks_that_broke_alike_are_not_all_flat_and_show_it():
    # on each side rollouts differ, and both sides are the same
    assert shown([passes(5)] * 10, [passes(5)] * 10) is Independence.SHOWN
