"""The gate of single tasks, from rollouts to a check."""

from comparison.making import make_pair

from pytest_evalmetrics.gates.single_task_gate import (
    TasksToTest,
    check_tasks_by_rollouts,
)
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.reasons import (
    DependentRollouts,
    SingleTasksUnseen,
    WorseTasks,
)
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import sentences


def passes(passed, rollouts=10):
    return [1.0] * passed + [0.0] * (rollouts - passed)


def checked(before, now, run_noise=None, **settings):
    tasks = TasksToTest(
        agent="",
        reward="reward",
        pair=make_pair(before, now),
        sign=1.0,
        alpha=0.01,
        least_drop=0.01,
        run_noise=run_noise,
    )
    (check,) = check_tasks_by_rollouts([tasks], **settings)
    return check


VARIED = [passes(5), passes(6), passes(7)] * 23


def test_a_broken_task_fails_by_name():
    check = checked([passes(10), *VARIED], [passes(1), *VARIED])
    assert check.verdict is Verdict.FAIL
    (reason,) = check.reasons
    assert isinstance(reason, WorseTasks)
    assert reason.tasks[0].task == "0"
    assert "1 of 70 tasks got worse by their rollouts: 0 (1 to 0.1, p = " in (
        sentences.reason_of(check)
    )


def test_beyond_the_noise_between_runs_a_broken_task_fails_and_no_other_improves():
    # less 22 points, as runs may differ, 57 % of passes would be 35 %
    before = [passes(100, rollouts=100), *[passes(57, rollouts=100)] * 69]
    now = [passes(0, rollouts=40), *[passes(26, rollouts=40)] * 69]
    assert checked(before, now, run_noise=0.05).verdict is Verdict.FAIL


def test_without_a_task_that_varies_three_that_break_warn():
    rest = [passes(10)] * 67
    check = checked([passes(10)] * 3 + rest, [passes(0)] * 3 + rest)
    assert check.verdict is Verdict.WARN
    assert check.reasons[1] == DependentRollouts(Independence.UNSHOWN)


def test_the_same_fails_where_the_file_says_independent():
    rest = [passes(10)] * 67
    before = [passes(10)] * 3 + rest
    now = [passes(0)] * 3 + rest
    assert checked(before, now, independent=True).verdict is Verdict.FAIL


def test_four_rollouts_pass_and_say_how_many_are_needed():
    rest = [passes(2, 4)] * 69
    check = checked([passes(4, 4), *rest], [passes(0, 4), *rest])
    assert check.verdict is Verdict.PASS
    unseen = SingleTasksUnseen(tasks=70, sees_some=False, rollouts=4, needed=9)
    assert check.reasons == (unseen,)


def test_eight_rollouts_show_the_break_of_some_of_seventy_tasks():
    rest = [passes(4, 8)] * 69
    check = checked([passes(8, 8), *rest], [passes(8, 8), *rest])
    unseen = SingleTasksUnseen(tasks=70, sees_some=True, rollouts=8, needed=9)
    assert check.reasons == (unseen,)


def test_many_benchmarks_share_the_level():
    rest = VARIED
    check = checked([passes(10), *rest], [passes(1), *rest], benchmarks=1_000)
    assert check.verdict is Verdict.PASS
