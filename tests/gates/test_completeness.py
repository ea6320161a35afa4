"""The expect gate on a few rows: what is absent, and what lacks a reward."""

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.ext import Estimate, RolloutTable
from pytest_evalmetrics.gates.completeness import (
    check_completeness,
    check_numbers,
    completeness_of,
    lacks_numbers,
    unchecked_tasks,
)
from pytest_evalmetrics.gates.thresholds import metrics_of_a_part
from pytest_evalmetrics.model.bounds import CountBound, ShareBound
from pytest_evalmetrics.model.gate_notes import MetricOfPart, UncheckedTasks
from pytest_evalmetrics.model.reasons import (
    ExtraTasks,
    MissingNumbers,
    MissingOutcome,
    MissingRewards,
    MissingSamples,
    MissingTasks,
    TaskCount,
    TooFewRollouts,
    TooManyRollouts,
)
from pytest_evalmetrics.model.rollout_table import STATED_COUNT, STATED_TOTAL
from pytest_evalmetrics.model.verdicts import Gate, Verdict

NAN = float("nan")


@pytest.fixture
def benchmark(tmp_path):
    """Read a benchmark with further keys."""

    def read(keys=""):
        path = tmp_path / "a.bench.yaml"
        text = f"benchmark:\n  name: a\n  rollouts: runs.jsonl\n{keys}"
        path.write_text(text, encoding="utf-8")
        (read,) = load_benchmarks(path, shown="a.bench.yaml")
        return read

    return read


def table(*tasks):
    """Make the rollouts of tasks, each a list of rewards."""
    counts = [len(rewards) for rewards in tasks]
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), np.int32),
        tasks=tuple(f"t{at}" for at in range(len(tasks))),
        task=np.repeat(np.arange(len(tasks)), counts),
        sample=np.concatenate([np.arange(count) for count in (0, *counts)]),
        scores={
            "reward": np.array([reward for rewards in tasks for reward in rewards])
        },
    )


def checks_of(asked, rollouts):
    found = completeness_of(asked.spec, rollouts)
    checks = check_completeness(asked.spec, found, agent="agent", line_of=asked.line_of)
    return {check.name: check for check in checks}


def test_absent_and_unscored_rollouts_are_missing_together(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {max_missing: 60%}\n")
    missing = checks_of(asked, table([1.0, NAN], [1.0]))["missing"]
    assert missing.value == 0.5
    (reason,) = missing.reasons
    assert isinstance(reason, MissingRewards)
    assert (reason.absent, reason.unscored, reason.counted) == (1, 1, 2)
    assert reason.outcome is MissingOutcome.LEFT_OUT


def test_what_is_missing_is_checked_at_its_line(benchmark):
    asked = benchmark("  num_samples: 2\n  expect:\n    max_missing: 10%\n")
    assert checks_of(asked, table([1.0, NAN]))["missing"].line == 6


def test_few_absent_rollouts_pass_where_max_missing_allows_them(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {max_missing: 50%}\n")
    rollouts = checks_of(asked, table([1.0, 1.0], [1.0]))["rollouts"]
    assert rollouts.verdict is Verdict.PASS
    too_few = TooFewRollouts(
        tasks=(TaskCount("t1", 1),),
        count=1,
        of=2,
        expected=2,
        is_stated=True,
        is_allowed=True,
    )
    assert rollouts.reasons == (too_few,)


def test_a_single_missing_number_of_another_score_is_noted():
    estimate = Estimate("mean/f1", 0.5, 2, 3, None, missing=1, score="f1")
    assert lacks_numbers(estimate, "reward")
    assert not lacks_numbers(estimate, "f1")


def test_the_note_on_a_metric_over_a_part_of_the_rollouts_names_its_agent(benchmark):
    asked = benchmark("  metrics: [mean_reward, mean/f1]\n")
    estimates = {
        "mean_reward": Estimate("mean_reward", 0.5, 2, 4, None, score="reward"),
        "mean/f1": Estimate("mean/f1", 0.5, 2, 3, None, missing=1, score="f1"),
    }
    assert list(metrics_of_a_part(asked.spec, estimates, agent="coder")) == [
        MetricOfPart(metric="mean/f1", score="f1", rollouts=3, missing=1, agent="coder")
    ]


def test_the_note_that_nothing_says_how_many_tasks_there_are_has_the_line(benchmark):
    asked = benchmark()
    found = completeness_of(asked.spec, table([1.0], [1.0]))
    note = unchecked_tasks(asked.spec, found, agent="", line=2, in_python=False)
    assert note == UncheckedTasks(tasks=2, rollouts=1, line=2)


def test_fewer_tasks_than_expected_fail_at_their_line(benchmark):
    asked = benchmark("  expect:\n    tasks: 3\n")
    tasks = checks_of(asked, table([1.0], [1.0]))["tasks"]
    assert (tasks.verdict, tasks.value, tasks.line) == (Verdict.FAIL, 2, 5)
    assert tasks.reasons == (MissingTasks(expected=3, found=2),)


def test_more_tasks_than_expected_fail(benchmark):
    asked = benchmark("  expect: {tasks: 1}\n")
    tasks = checks_of(asked, table([1.0], [1.0]))["tasks"]
    assert tasks.reasons == (ExtraTasks(expected=1, found=2),)


# -- tasks -------------------------------------------------------------------------------


def test_without_a_number_of_tasks_they_are_not_checked(benchmark):
    assert "tasks" not in checks_of(benchmark(), table([1.0]))


@pytest.mark.parametrize(
    ("tasks", "bound", "verdict"),
    [
        ("2", CountBound(2, 2), Verdict.PASS),
        ("'>= 2'", CountBound(2, None), Verdict.PASS),
        ("'>= 1'", CountBound(1, None), Verdict.PASS),
        ("'>= 3'", CountBound(3, None), Verdict.FAIL),
    ],
)
def test_tasks_are_checked_against_their_number(benchmark, tasks, bound, verdict):
    asked = benchmark(f"  expect: {{tasks: {tasks}}}\n")
    check = checks_of(asked, table([1.0], [1.0]))["tasks"]
    assert (check.gate, check.agent, check.value) == (Gate.EXPECT, "agent", 2)
    assert (check.bound, check.verdict) == (bound, verdict)
    assert bool(check.reasons) == (verdict is Verdict.FAIL)


# -- rollouts ----------------------------------------------------------------------------


def test_as_many_rollouts_of_each_task_are_expected_as_the_most_has(benchmark):
    check = checks_of(benchmark(), table([1.0, 1.0], [1.0]))["rollouts"]
    too_few = TooFewRollouts(
        tasks=(TaskCount("t1", 1),),
        count=1,
        of=2,
        expected=2,
        is_stated=False,
        is_allowed=False,
    )
    assert (check.verdict, check.value) == (Verdict.FAIL, 1)
    assert check.bound == CountBound(2, 2)
    assert check.reasons == (too_few,)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("  num_samples: 2\n", 4),
        ("  expect:\n    rollouts: 2\n", 5),
        ("  num_samples: 2\n  expect:\n    rollouts: 2\n", 6),
    ],
)
def test_the_number_of_rollouts_is_checked_at_the_line_that_states_it(
    benchmark, keys, line
):
    check = checks_of(benchmark(keys), table([1.0, 1.0], [1.0]))["rollouts"]
    (reason,) = check.reasons
    assert (check.gate, check.name, check.agent) == (Gate.EXPECT, "rollouts", "agent")
    assert (check.line, check.value) == (line, 1)
    assert (reason.is_stated, reason.expected) == (True, 2)


def test_more_rollouts_than_stated_fail(benchmark):
    asked = benchmark("  num_samples: 1\n")
    check = checks_of(asked, table([1.0, 1.0], [1.0], [1.0] * 3))["rollouts"]
    too_many = TooManyRollouts(
        tasks=(TaskCount("t0", 2), TaskCount("t2", 3)), count=2, of=3, expected=1
    )
    assert (check.verdict, check.value) == (Verdict.FAIL, 3)
    assert check.reasons == (too_many,)


def test_rollouts_without_an_upper_end_may_be_more(benchmark):
    asked = benchmark("  expect: {rollouts: '>= 1'}\n")
    check = checks_of(asked, table([1.0, 1.0], [1.0]))["rollouts"]
    assert (check.verdict, check.value, check.reasons) == (Verdict.PASS, 1, ())
    assert check.bound == CountBound(1, None)


def test_any_number_of_rollouts_is_not_checked(benchmark):
    asked = benchmark("  expect: {rollouts: any}\n")
    checks = checks_of(asked, table([1.0, 1.0], [1.0]))
    assert "rollouts" not in checks
    assert checks["missing"].value == 0


def test_tasks_with_too_few_rollouts_are_named_in_natural_order_up_to_ten(benchmark):
    asked = benchmark("  num_samples: 2\n")
    check = checks_of(asked, table([1.0, 1.0], *[[1.0]] * 12))["rollouts"]
    (reason,) = check.reasons
    assert [task.task for task in reason.tasks] == [f"t{at}" for at in range(1, 11)]
    assert (reason.count, reason.of) == (12, 13)


# -- missing rewards ---------------------------------------------------------------------


def missing_of(asked, rollouts):
    check = checks_of(asked, rollouts)["missing"]
    (reason,) = check.reasons
    return check, reason


# one of twenty rollouts has no reward
ONE_OF_20 = table([NAN], *[[1.0]] * 19)
# one of four is absent
ABSENT = table([1.0, 1.0], [1.0])


@pytest.mark.parametrize(
    ("expect", "outcome", "verdict"),
    [
        # without a word, none may be missing
        ("{}", MissingOutcome.REFUSED, Verdict.FAIL),
        ("{max_missing: 5%}", MissingOutcome.LEFT_OUT, Verdict.PASS),
        ("{max_missing: 4%}", MissingOutcome.ABOVE_LIMIT, Verdict.FAIL),
        ("{missing_reward: exclude}", MissingOutcome.LEFT_OUT, Verdict.PASS),
        ("{missing_reward: error}", MissingOutcome.REFUSED, Verdict.FAIL),
        (
            "{missing_reward: error, max_missing: 50%}",
            MissingOutcome.REFUSED,
            Verdict.FAIL,
        ),
        ("{missing_reward: 0.0}", MissingOutcome.FILLED, Verdict.PASS),
        (
            "{missing_reward: 0.0, max_missing: 4%}",
            MissingOutcome.ABOVE_LIMIT,
            Verdict.FAIL,
        ),
    ],
)
def test_what_becomes_of_a_missing_reward_is_what_the_file_says(
    benchmark, expect, outcome, verdict
):
    check, reason = missing_of(benchmark(f"  expect: {expect}\n"), ONE_OF_20)
    assert (reason.outcome, check.verdict) == (outcome, verdict)


@pytest.mark.parametrize(
    ("expect", "limit"),
    [
        ("{}", 0.0),
        ("{missing_reward: exclude}", 0.05),
        ("{missing_reward: 0.0}", 0.0),
        ("{max_missing: 30%}", 0.3),
        ("{missing_reward: exclude, max_missing: 30%}", 0.3),
    ],
)
def test_so_many_rewards_may_be_missing(benchmark, expect, limit):
    check, reason = missing_of(benchmark(f"  expect: {expect}\n"), ONE_OF_20)
    assert check.bound == ShareBound(limit)
    assert reason.limit == limit


def test_a_stated_reward_fills_in_what_is_there_alone(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {missing_reward: 0.5}\n")
    check, reason = missing_of(asked, table([1.0, NAN], [1.0]))
    assert reason.fill == 0.5
    assert (reason.absent, reason.unscored, reason.counted) == (1, 1, 1)
    assert (reason.outcome, check.value) == (MissingOutcome.ABOVE_LIMIT, 0.25)


def test_a_limit_beside_a_stated_reward_is_of_all_that_is_missing(benchmark):
    asked = benchmark(
        "  num_samples: 2\n  expect: {missing_reward: 0.5, max_missing: 50%}\n"
    )
    check, reason = missing_of(asked, table([1.0, NAN], [1.0]))
    assert (reason.counted, check.value) == (2, 0.5)
    assert (reason.outcome, check.verdict) == (MissingOutcome.FILLED, Verdict.PASS)


def test_few_absent_rollouts_are_absent_alone(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {max_missing: 25%}\n")
    check, reason = missing_of(asked, ABSENT)
    assert (reason.outcome, check.verdict) == (MissingOutcome.ABSENT, Verdict.PASS)
    assert (reason.absent, reason.rollouts, check.value) == (1, 4, 0.25)
    assert (reason.tasks, reason.task_count) == ((), 0)


def test_tasks_without_a_reward_are_named_once_in_natural_order_up_to_ten(benchmark):
    rollouts = table([1.0, 1.0], *[[NAN, NAN]] * 12)
    _, reason = missing_of(benchmark(), rollouts)
    assert reason.tasks == tuple(f"t{at}" for at in range(1, 11))
    assert (reason.task_count, reason.unscored) == (12, 24)
    assert (reason.columns, reason.is_reward) == (("reward",), True)


def test_nothing_missing_needs_no_reason(benchmark):
    check = checks_of(benchmark(), table([1.0]))["missing"]
    assert (check.gate, check.agent) == (Gate.EXPECT, "agent")
    assert (check.verdict, check.value, check.reasons) == (Verdict.PASS, 0, ())


def test_no_rollouts_lack_nothing(benchmark):
    checks = checks_of(benchmark(), table())
    assert (checks["missing"].verdict, checks["missing"].value) == (Verdict.PASS, 0)
    assert checks["rollouts"].value == 0


def test_without_a_reward_what_the_metrics_read_may_be_missing(benchmark):
    asked = benchmark("  metrics: [mean/f1]\n")
    rows = structs.replace(table([0.0, 0.0]), scores={"f1": np.array([0.5, NAN])})
    _, reason = missing_of(asked, rows)
    assert not reason.is_reward
    assert reason.columns == tuple(asked.spec.row_columns)


# -- aggregates --------------------------------------------------------------------------


def of_aggregates(counts, totals):
    rewards = table(*[[1.0]] * len(counts))
    stated = {STATED_COUNT + "reward": counts, STATED_TOTAL + "reward": totals}
    columns = {name: np.array(values, float) for name, values in stated.items()}
    return structs.replace(rewards, scores=rewards.scores | columns)


def test_aggregates_over_a_part_of_their_samples_fail(benchmark):
    check = checks_of(benchmark(), of_aggregates([90, 50], [100, 50]))["samples"]
    assert (check.gate, check.agent) == (Gate.EXPECT, "agent")
    assert check.verdict is Verdict.FAIL
    assert check.value == pytest.approx(1 / 15)
    assert check.bound == ShareBound(0.0)
    assert check.reasons == (MissingSamples(samples=140, of=150, is_allowed=False),)


def test_as_many_samples_as_may_be_missing_pass_with_a_remark(benchmark):
    asked = benchmark("  expect:\n    max_missing: 10%\n")
    check = checks_of(asked, of_aggregates([90], [100]))["samples"]
    assert (check.verdict, check.line) == (Verdict.PASS, 5)
    assert check.reasons == (MissingSamples(samples=90, of=100, is_allowed=True),)


def test_aggregates_over_all_samples_need_no_reason(benchmark):
    check = checks_of(benchmark(), of_aggregates([100], [100]))["samples"]
    assert (check.verdict, check.reasons, check.value) == (Verdict.PASS, (), 0)


@pytest.mark.parametrize("counts", [[NAN, 90], [10, 90]])
def test_aggregates_that_state_no_samples_are_left_out(benchmark, counts):
    totals = [NAN if counts[0] == 10 else 100, 100]
    check = checks_of(benchmark(), of_aggregates(counts, totals))["samples"]
    assert check.reasons == (MissingSamples(samples=90, of=100, is_allowed=False),)


def test_an_aggregate_of_no_samples_is_not_checked(benchmark):
    assert "samples" not in checks_of(benchmark(), of_aggregates([0], [0]))
    assert "samples" not in checks_of(benchmark(), table([1.0]))


# -- other scores ------------------------------------------------------------------------

F1 = Estimate("mean/f1", 0.5, 2, 9, None, missing=1, score="f1")


def numbers_of(asked, estimates):
    checks = check_numbers(asked.spec, estimates, agent="agent", line_of=asked.line_of)
    return list(checks)


def test_a_threshold_on_a_part_of_the_rollouts_fails_at_its_line(benchmark):
    asked = benchmark("  thresholds:\n    mean/f1: '>= 0.1'\n")
    (check,) = numbers_of(asked, {"mean/f1": F1})
    reason = MissingNumbers(
        metric="mean/f1",
        score="f1",
        missing=1,
        rollouts=10,
        limit=0.0,
        is_allowed=False,
    )
    assert (check.gate, check.name, check.agent) == (Gate.EXPECT, "missing/f1", "agent")
    assert (check.verdict, check.value, check.line) == (Verdict.FAIL, 0.1, 5)
    assert (check.bound, check.reasons) == (ShareBound(0.0), (reason,))


@pytest.mark.parametrize(("limit", "verdict"), [(10, Verdict.PASS), (9, Verdict.FAIL)])
def test_so_many_rollouts_may_lack_another_score(benchmark, limit, verdict):
    asked = benchmark(
        f"  expect: {{max_missing: {limit}%}}\n  thresholds: {{mean/f1: '>= 0.1'}}\n"
    )
    (check,) = numbers_of(asked, {"mean/f1": F1})
    assert check.verdict is verdict
    assert check.reasons[0].is_allowed == (verdict is Verdict.PASS)


def test_two_thresholds_on_one_score_are_one_check(benchmark):
    asked = benchmark("  thresholds: {mean/f1: '>= 0.1', median/f1: '>= 0.1'}\n")
    median = structs.replace(F1, name="median/f1")
    (check,) = numbers_of(asked, {"mean/f1": F1, "median/f1": median})
    assert check.reasons[0].metric == "mean/f1"


def test_scores_that_lack_other_numbers_are_checks_of_their_own(benchmark):
    asked = benchmark(
        "  thresholds: {mean/f1: '>= 0.1', 'mean/f1[kind=a]': '>= 0.1'}\n"
    )
    part = structs.replace(F1, name="mean/f1[kind=a]", missing=2)
    checks = numbers_of(asked, {"mean/f1": F1, "mean/f1[kind=a]": part})
    assert [check.reasons[0].missing for check in checks] == [1, 2]


def test_a_metric_of_several_scores_is_named_itself(benchmark):
    asked = benchmark("  thresholds: {tokens_per_task: '<= 9'}\n")
    tokens = Estimate("tokens_per_task", 5.0, 2, 9, None, missing=1)
    (check,) = numbers_of(asked, {"tokens_per_task": tokens})
    assert check.name == "missing/tokens_per_task"
    assert check.reasons[0].score == ""


@pytest.mark.parametrize(
    "whole",
    [structs.replace(F1, missing=0), structs.replace(F1, score="reward")],
    ids=["all numbers", "the reward"],
)
def test_scores_of_all_rollouts_and_the_reward_need_no_check(benchmark, whole):
    asked = benchmark("  thresholds: {mean/f1: '>= 0.1'}\n")
    assert numbers_of(asked, {"mean/f1": whole}) == []


# -- what nothing says -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "rollouts"),
    [
        ("", 2),
        ("  num_samples: 2\n", None),
        ("  expect: {rollouts: any}\n", None),
    ],
)
def test_the_note_has_the_rollouts_where_nothing_says_them(benchmark, keys, rollouts):
    asked = benchmark(keys)
    found = completeness_of(asked.spec, table([1.0, 1.0], [1.0]))
    note = unchecked_tasks(asked.spec, found, agent="a", line=2, in_python=True)
    assert note == UncheckedTasks(
        tasks=2, rollouts=rollouts, line=2, agent="a", in_python=True
    )


@pytest.mark.parametrize(
    "keys", ["  expect: {tasks: 2}\n", "  baseline: {rollouts: old.jsonl}\n"]
)
def test_a_number_of_tasks_or_a_baseline_needs_no_note(benchmark, keys):
    asked = benchmark(keys)
    found = completeness_of(asked.spec, table([1.0], [1.0]))
    assert unchecked_tasks(asked.spec, found, agent="", line=2, in_python=False) is None
