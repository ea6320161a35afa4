"""The gate of single tasks, from rollouts to a check."""

import math

import numpy as np
import pytest
from comparison.making import make_pair, rule

from pytest_evalmetrics.comparison import ComparisonInput, Runs
from pytest_evalmetrics.gates.single_task_gate import (
    TasksToTest,
    check_tasks_by_rollouts,
    takes_share,
)
from pytest_evalmetrics.model.bounds import SingleTasksBound
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.reasons import (
    DependentRollouts,
    SingleTasksUnseen,
    WorseTask,
    WorseTasks,
)
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
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


# -- what a check keeps ------------------------------------------------------------------


def agent_of(before, now, **changed):
    settings = {
        "agent": "blue",
        "reward": "correct",
        "pair": make_pair(before, now),
        "sign": 1.0,
        "alpha": 0.01,
        "least_drop": 0.01,
        "line": 7,
    }
    return TasksToTest(**(settings | changed))


def judged(*agents, **settings):
    return check_tasks_by_rollouts(agents, **settings)


def test_without_agents_there_is_no_check():
    assert judged() == []


def test_a_check_names_what_was_gated():
    (check,) = judged(agent_of(VARIED, VARIED), acceptance=Acceptance.HISTORY)
    assert (check.gate, check.name) == (Gate.BASELINE, "single_tasks")
    assert (check.agent, check.line) == ("blue", 7)
    assert (check.verdict, check.value, check.reasons) == (Verdict.PASS, 0, ())
    assert check.acceptance is Acceptance.HISTORY


@pytest.mark.parametrize(("benchmarks", "alpha"), [(1, 0.002), (4, 0.0005)])
def test_single_tasks_have_a_fifth_of_the_level(benchmarks, alpha):
    (check,) = judged(agent_of(VARIED, VARIED), benchmarks=benchmarks)
    assert check.bound == SingleTasksBound(pytest.approx(alpha))


@pytest.mark.parametrize(("rollouts", "takes"), [(5, False), (6, True)])
def test_they_take_it_where_their_rollouts_could_prove_anything(rollouts, takes):
    # 1 / C(12, 6) is .0011, 1 / C(10, 5) .004
    few = agent_of([passes(1, 1)], [passes(1, 1)])
    some = agent_of([passes(5, rollouts)], [passes(5, rollouts)])
    assert takes_share([few, some]) is takes


def worse_tasks(before, now, **settings):
    (check,) = judged(agent_of(before, now, **settings))
    return check.reasons[0]


def test_a_worse_task_has_its_rewards_and_its_p():
    rest = [passes(5)] * 30
    reason = worse_tasks([passes(10), *rest], [passes(0), *rest])
    # of 10 and 10 rollouts that are half good any of 31 tasks could be so sure
    p = 31 / math.comb(20, 10)
    task = WorseTask(
        task="0",
        before=1.0,
        now=0.0,
        p=pytest.approx(p, rel=1e-5),
        log10_p=pytest.approx(math.log10(p), rel=1e-5),
    )
    assert reason == WorseTasks(tasks=(task,), count=1, of=31, reward="correct")


def test_the_numbers_of_a_worse_task_have_six_digits():
    before = [[1.0, 1.0, 0.9] * 4, *[[0.3, 0.7] * 6] * 20]
    now = [[0.1, 0.2, 0.1] * 4, *[[0.3, 0.7] * 6] * 20]
    (task,) = worse_tasks(before, now).tasks
    assert (task.before, task.now) == (0.966667, 0.133333)
    assert task.p == float(f"{task.p:.6g}") > 0
    assert task.log10_p == float(f"{task.log10_p:.6g}") < 0


def test_a_worse_task_shows_the_reward_before_as_it_was_beside_noise_between_runs():
    before = [passes(100, rollouts=100), *[passes(57, rollouts=100)] * 30]
    now = [passes(0, rollouts=40), *[passes(26, rollouts=40)] * 30]
    reason = worse_tasks(before, now, run_noise=0.05)
    assert reason.tasks[0].before == 1.0


def test_up_to_ten_worse_tasks_are_named():
    before = [passes(10)] * 12 + VARIED
    now = [passes(0)] * 12 + VARIED
    reason = worse_tasks(before, now)
    assert [task.task for task in reason.tasks] == [str(at) for at in range(10)]
    assert (reason.count, reason.of) == (12, 81)


def test_each_agent_has_a_check_of_its_own_tasks():
    worse = agent_of([passes(10), *VARIED], [passes(0), *VARIED], agent="red")
    same = agent_of(VARIED, VARIED)
    checks = judged(same, worse)
    assert [check.agent for check in checks] == ["blue", "red"]
    assert [check.verdict for check in checks] == [Verdict.PASS, Verdict.FAIL]


def test_where_less_is_better_a_rise_is_worse():
    rises = agent_of([passes(0), *VARIED], [passes(10), *VARIED], sign=-1.0)
    falls = agent_of([passes(10), *VARIED], [passes(0), *VARIED], sign=-1.0)
    assert [check.value for check in judged(rises)] == [1]
    assert [check.value for check in judged(falls)] == [0]


def test_a_drop_of_a_task_that_does_not_matter_passes():
    agent = agent_of([passes(10), *VARIED], [passes(1), *VARIED], least_drop=0.95)
    (check,) = judged(agent)
    assert check.verdict is Verdict.PASS


# -- shifts that tasks share -------------------------------------------------------------


def test_runs_that_scatter_widely_break_no_single_task():
    loud = Runs((0.9, 0.5, 0.7), pooled=True, more_rollouts=1.0, se=0.01, is_rate=True)
    before = [passes(10), *VARIED]
    now = [passes(1), *VARIED]
    (check,) = judged(agent_of(before, now, runs=loud))
    assert check.value == 0
    quiet = Runs((0.62, 0.62), pooled=True, more_rollouts=1.0, se=0.0, is_rate=True)
    (check,) = judged(agent_of(before, now, runs=quiet))
    assert check.value == 1


def test_a_task_of_clusters_that_moved_together_is_no_single_one():
    """Half of the clusters lost, and half gained, four rollouts of ten in each task."""
    before = [passes(7)] * 40
    now = [passes(3)] * 20 + [passes(10)] * 20
    clusters = np.repeat(np.arange(8), 5)
    breaking = [passes(10), *before]
    broken = [passes(0), *now]
    alone = make_pair(breaking, broken)
    (check,) = judged(agent_of(breaking, broken, pair=alone))
    assert check.value == 1
    together = make_pair(breaking, broken, clusters=np.concatenate(([0], clusters)))
    (check,) = judged(agent_of(breaking, broken, pair=together))
    assert check.value == 0


# -- a loss of everything that no gated metric shows -------------------------------------


def lost_mean(before, now, **settings):
    """An agent whose reward has a mean that nothing gates."""
    pair = make_pair(before, now)
    mean = ComparisonInput(pair=pair, rule=rule(**settings), gate_id="g")
    return agent_of(before, now, pair=pair, unseen_mean=mean)


def test_a_loss_of_everything_fails_though_no_task_proves_it_alone():
    before = [passes(2, 2)] * 12
    (check,) = judged(lost_mean(before, [passes(0, 2)] * 12))
    reason = check.reasons[0]
    assert check.verdict is Verdict.FAIL
    assert isinstance(reason, WorseTasks)
    assert (reason.count, reason.of, reason.reward) == (12, 12, "correct")
    assert [task.task for task in reason.tasks] == [str(at) for at in range(10)]


def test_each_task_of_a_lost_mean_has_the_p_of_all_together():
    before = [passes(1, 2)] * 6 + [passes(2, 2)] * 6
    (check,) = judged(lost_mean(before, [passes(0, 2)] * 12))
    first, *_, last = check.reasons[0].tasks
    # those that lost most stand first
    assert (first.task, first.before, first.now) == ("6", 1.0, 0.0)
    assert (last.task, last.before) == ("3", 0.5)
    assert first.p == last.p == pytest.approx(0.5**13, rel=1e-5)
    assert first.log10_p == pytest.approx(13 * math.log10(0.5), rel=1e-5)


def test_a_mean_of_which_something_is_left_is_no_loss_of_everything():
    before = [passes(2, 2)] * 12
    (check,) = judged(lost_mean(before, [passes(0, 2)] * 9 + [passes(2, 2)] * 3))
    assert check.verdict is Verdict.PASS


def test_a_loss_of_everything_that_is_no_proof_gives_no_verdict():
    (check,) = judged(lost_mean([passes(1, 1)] * 3, [passes(0, 1)] * 3))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert isinstance(check.reasons[0], WorseTasks)
    assert len(check.reasons) == 2


def test_a_loss_of_what_little_there_was_passes():
    before = [passes(1, 1)] * 3 + [passes(0, 1)] * 40
    (check,) = judged(lost_mean(before, [passes(0, 1)] * 43))
    assert check.verdict is Verdict.PASS


def test_a_loss_of_everything_is_judged_at_a_fifth_of_the_level():
    # nine tasks have a mid-p of .5^10, which is below .002, and not below .0002
    before = [passes(1, 1)] * 9
    after = [passes(0, 1)] * 9
    (alone,) = judged(lost_mean(before, after))
    (of_ten,) = judged(lost_mean(before, after), benchmarks=10)
    assert alone.verdict is Verdict.FAIL
    assert of_ten.verdict is Verdict.INCONCLUSIVE


def test_a_task_that_broke_alone_stays_the_reason():
    before = [passes(10)] * 12
    agent = lost_mean(before, [passes(0)] * 12)
    (check,) = judged(agent, independent=True)
    assert check.verdict is Verdict.FAIL
    assert check.value == 12
    assert len(check.reasons) == 1
