"""Single tasks beside the mean: from rows to verdicts."""

import pytest
from stages.making import against, benchmark, given, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.bounds import SingleTasksBound
from pytest_evalmetrics.model.reasons import NothingCanFail
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import run_wording
from pytest_evalmetrics.reports.sentences.notes import note_texts


def passes(passed, rollouts=10):
    return [1] * passed + [0] * (rollouts - passed)


VARIED = [passes(5), passes(6), passes(7)] * 23
STEADY = [passes(10)] * 69


def result_of(folder, before, now, keys="", rest=""):
    write_rows(folder, "old.jsonl", before)
    write_rows(folder, "new.jsonl", now)
    asked = benchmark(
        folder, f"metrics: [mean_reward]\n{keys}{against(rest=rest)}".strip()
    )
    return evaluate(given(asked)).result


def named(result, name):
    (check,) = [check for check in result.checks if check.name == name]
    return check


def test_a_task_that_breaks_under_a_good_mean_fails_the_benchmark(tmp_path):
    result = result_of(tmp_path, [passes(10), *VARIED], [passes(0), *VARIED])
    assert named(result, "mean_reward").verdict is Verdict.PASS
    assert named(result, "single_tasks").verdict is Verdict.FAIL
    assert named(result, "single_tasks").reasons[0].tasks[0].task == "t0"


def test_where_no_task_varies_three_broken_tasks_warn(tmp_path):
    broken = [passes(0)] * 3 + STEADY[2:]
    result = result_of(tmp_path, [passes(10), *STEADY], broken)
    assert named(result, "single_tasks").verdict is Verdict.WARN


def test_where_the_file_says_independent_they_fail(tmp_path):
    broken = [passes(0)] * 3 + STEADY[2:]
    result = result_of(
        tmp_path, [passes(10), *STEADY], broken, keys="independent: true\n"
    )
    assert named(result, "single_tasks").verdict is Verdict.FAIL


def test_single_tasks_are_switched_off_visibly(tmp_path):
    result = result_of(
        tmp_path,
        [passes(10), *VARIED],
        [passes(0), *VARIED],
        rest=", single_tasks: false",
    )
    assert result.verdict is Verdict.PASS
    assert "single_tasks" not in [check.name for check in result.checks]
    assert (
        "single tasks are not gated: the file says `single_tasks: false`"
        in note_texts(result.notes)
    )


def test_the_mean_leaves_a_fifth_of_the_level_to_single_tasks(tmp_path):
    result = result_of(tmp_path, VARIED, VARIED)
    assert named(result, "mean_reward").bound.settings.alpha == 0.008
    assert named(result, "single_tasks").bound == SingleTasksBound(0.002)


def test_the_mean_keeps_the_whole_level_where_no_task_can_prove_anything(tmp_path):
    four = [passes(2, 4)] * 70
    result = result_of(tmp_path, four, four)
    assert named(result, "mean_reward").bound.settings.alpha == 0.01
    assert named(result, "single_tasks").verdict is Verdict.PASS


def test_a_rule_without_a_test_has_no_gate_of_single_tasks(tmp_path):
    result = result_of(tmp_path, VARIED, VARIED, rest=", rule: absolute, max_drop: 0.1")
    assert "single_tasks" not in [check.name for check in result.checks]


# -- the mean of few tasks ---------------------------------------------------------------


def test_the_default_max_drop_is_a_share_of_a_small_baseline(tmp_path):
    before = [[1]] * 9 + [[0]] * 991
    result = result_of(tmp_path, before, [[0]] * 1_000)
    check = named(result, "mean_reward")
    assert check.bound.settings.max_drop == 0.0009
    assert check.verdict is Verdict.FAIL


def test_the_default_max_drop_of_a_larger_baseline_is_a_point(tmp_path):
    result = result_of(tmp_path, [[1], [0]] * 20, [[1], [0]] * 20)
    assert named(result, "mean_reward").bound.settings.max_drop == 0.01


def test_independence_reaches_the_test_of_a_metric(tmp_path):
    before = [passes(8, 8)] * 2 + [passes(0, 8)] * 98
    now = [passes(0, 8)] * 100
    warned = result_of(tmp_path, before, now)
    assert named(warned, "mean_reward").verdict is Verdict.WARN


def test_where_the_file_says_independent_two_tasks_that_lose_all_fail(tmp_path):
    before = [passes(8, 8)] * 2 + [passes(0, 8)] * 98
    now = [passes(0, 8)] * 100
    failed = result_of(tmp_path, before, now, keys="independent: true\n")
    assert named(failed, "mean_reward").verdict is Verdict.FAIL


def recorded(folder, rewards, keys="baseline: true", metric="mean_reward"):
    """Record a baseline of these rewards."""
    write_rows(folder, "new.jsonl", rewards)
    asked = benchmark(folder, f"metrics: [{metric}]\n{keys}")
    return evaluate(given(asked, updates=True))


def refusals(evaluated):
    return [
        reason
        for check in evaluated.result.checks
        for reason in check.reasons
        if isinstance(reason, NothingCanFail)
    ]


def test_a_baseline_that_nothing_could_ever_fail_against_is_not_recorded(tmp_path):
    evaluated = recorded(tmp_path, [[1], [0], [1]])
    (reason,) = refusals(evaluated)
    assert (reason.tasks, reason.rollouts) == (3, 1)
    assert evaluated.result.verdict is Verdict.INCONCLUSIVE
    assert evaluated.baseline is None


@pytest.mark.parametrize(
    "keys",
    [
        "baseline: {rule: absolute, max_drop: 0.1}",
        "baseline: true\nmust_pass: [t0]",
        "baseline: true\nthresholds: {mean_reward: '>= 0.1'}",
    ],
)
def test_each_way_out_lets_the_same_rows_be_recorded(tmp_path, keys):
    evaluated = recorded(tmp_path, [[1], [0], [1]], keys=keys)
    assert refusals(evaluated) == []
    assert evaluated.baseline is not None


@pytest.mark.parametrize(
    "rewards",
    [
        [passes(6), passes(7)],
        [[1], [1], [1]],
        [[1], [0]] * 7,
    ],
    ids=["rollouts prove a loss", "every task passes", "seven tasks pass"],
)
def test_a_baseline_of_which_a_loss_would_show_is_recorded(tmp_path, rewards):
    evaluated = recorded(tmp_path, rewards)
    assert refusals(evaluated) == []
    assert evaluated.baseline is not None


def test_a_run_that_is_added_to_a_baseline_may_be_small(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0], [1]])
    asked = benchmark(tmp_path, "metrics: [mean_reward]\nbaseline: true")
    evaluated = evaluate(given(asked, updates=True, gains_runs=True))
    assert refusals(evaluated) == []


def test_the_level_of_a_benchmark_is_that_of_its_mean_and_its_tasks(tmp_path):
    result = result_of(tmp_path, VARIED, VARIED)
    text = run_wording.false_alarms([result])
    assert "at most 1 in 100 runs" in text


def test_the_level_of_tasks_that_prove_nothing_is_not_counted(tmp_path):
    four = [passes(2, 4)] * 70
    text = run_wording.false_alarms([result_of(tmp_path, four, four)])
    assert "at most 1 in 100 runs" in text


FORTY = [passes(20, 40)] * 11


def test_a_task_that_falls_by_more_than_runs_scatter_fails(tmp_path):
    before = [passes(40, 40), *FORTY]
    now = [passes(22, 40), *FORTY]
    result = result_of(tmp_path, before, now, rest=", run_noise: 1%")
    assert named(result, "single_tasks").verdict is Verdict.FAIL


def test_a_task_that_falls_as_runs_scatter_passes(tmp_path):
    before = [passes(40, 40), *FORTY]
    now = [passes(22, 40), *FORTY]
    result = result_of(tmp_path, before, now, rest=", run_noise: 10%")
    assert named(result, "single_tasks").verdict is Verdict.PASS


def test_the_reward_of_a_task_is_told_without_the_noise_between_runs(tmp_path):
    before = [passes(40, 40), *FORTY]
    now = [passes(12, 40), *FORTY]
    result = result_of(tmp_path, before, now, rest=", run_noise: 2%")
    (task,) = named(result, "single_tasks").reasons[0].tasks
    assert (task.before, task.now) == (1.0, 0.3)


def test_a_loss_that_could_only_be_inconclusive_is_no_gate_to_record(tmp_path):
    rewards = [[1, 0, 1], [0, 1, 0], [1, 1, 0]]
    (reason,) = refusals(recorded(tmp_path, rewards, metric="pass@3"))
    assert (reason.metric, reason.tasks, reason.rollouts) == ("pass@3", 3, 3)


class OwnMean:
    """A metric of the user's own, without a range."""

    name = "own_mean"
    direction = "higher"

    def compute(self, task_rewards):
        return sum(sum(task) / len(task) for task in task_rewards) / len(task_rewards)


def test_a_metric_whose_loss_of_everything_would_pass_is_no_gate_to_record(tmp_path):
    own = "stages.test_single_tasks:OwnMean"
    (reason,) = refusals(recorded(tmp_path, [[1], [0], [1]], metric=own))
    assert (reason.tasks, reason.rollouts) == (3, 1)


def test_a_metric_without_a_range_is_recorded_where_its_collapse_is_no_pass(tmp_path):
    own = "stages.test_single_tasks:OwnMean"
    assert not refusals(recorded(tmp_path, [[1], [1], [1]], metric=own))


class ManyMean(OwnMean):
    """The same in another unit, which does not lie in [0, 1]."""

    name = "many_mean"

    def compute(self, task_rewards):
        return 10 * super().compute(task_rewards)


@pytest.mark.parametrize("metric", ["OwnMean", "ManyMean"])
@pytest.mark.parametrize("best", [1, 5])
@pytest.mark.parametrize("tasks", [1, 2, 3, 4])
def test_a_collapse_of_single_rollouts_is_no_pass_of_a_metric_without_a_range(
    tmp_path, tasks, best, metric
):
    write_rows(tmp_path, "old.jsonl", [[best]] * tasks)
    write_rows(tmp_path, "new.jsonl", [[0]] * tasks)
    keys = f"metrics: ['stages.test_single_tasks:{metric}']\n{against()}"
    checks = evaluate(given(benchmark(tmp_path, keys))).result.checks
    assert Verdict.INCONCLUSIVE in {check.verdict for check in checks}


# -- a loss of everything that no gated metric shows ---------------------------------------


def result_by(folder, metric, before, now):
    write_rows(folder, "old.jsonl", before)
    write_rows(folder, "new.jsonl", now)
    asked = benchmark(folder, f"metrics: [{metric}]\n{against()}")
    return evaluate(given(asked)).result


FAILED = [passes(0, rollouts=4)]
MIXED = [passes(3, rollouts=4)] * 20


def test_all_tasks_break_while_the_worst_one_failed_before(tmp_path):
    result = result_by(tmp_path, "worst_task", FAILED + MIXED, FAILED * 21)
    assert named(result, "worst_task").verdict is Verdict.PASS
    check = named(result, "single_tasks")
    assert check.verdict is Verdict.FAIL
    assert check.reasons[0].count == 20
    assert check.reasons[0].tasks[0].before == 0.75


def test_all_tasks_break_below_a_median_of_0(tmp_path):
    before = FAILED * 21 + MIXED
    result = result_by(tmp_path, "median", before, FAILED * 41)
    assert named(result, "median").verdict is Verdict.PASS
    assert named(result, "single_tasks").verdict is Verdict.FAIL


def test_an_unchanged_run_passes_beside_a_worst_task_that_fails(tmp_path):
    result = result_by(tmp_path, "worst_task", FAILED + MIXED, FAILED + MIXED)
    assert result.verdict is Verdict.PASS


def test_beside_the_mean_of_the_reward_a_collapse_is_told_once(tmp_path):
    result = result_by(tmp_path, "mean_reward", FAILED + MIXED, FAILED * 21)
    assert named(result, "mean_reward").verdict is Verdict.FAIL
    assert named(result, "single_tasks").verdict is Verdict.PASS
