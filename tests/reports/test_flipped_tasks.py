"""The tasks that a failure shows: whose they are, and how their rewards are written."""

import pytest
from msgspec import structs
from reports.records import RULE, agent, below, benchmark, compared, task

from pytest_evalmetrics.failure_lines import TaskLine
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.results import Attempt, Flip
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports.flipped_tasks import (
    WorseTask,
    rewards_text,
    strongest,
    task_excerpts,
    task_lines,
    worse_tasks,
)


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ((1.0, 1.0), (0.0, 1.0), "2/2 -> 1/2"),
        ((0.8, 0.6), (0.1, 0.0), "0.8 0.6 -> 0.1 0"),
        ((1.0, 1.0), (2.0, 2.0), "1 1 -> 2 2"),  # seconds, which are no passes
        ((0.5,) * 4, (0.12346,) * 5, "0.5 0.5 0.5 0.5 -> mean 0.1235"),
        ((0.5,) * 8, (0.25,) * 8, "mean 0.5000 -> mean 0.2500"),
        ((), (0.0,), "none -> 0/1"),
    ],
)
def test_passes_are_counted_and_other_rewards_listed_or_averaged(before, now, text):
    assert rewards_text(before, now) == text


def test_tasks_that_had_to_pass_come_first_with_the_rewards_of_one_metric(project):
    rows = [
        {"task": f"t{task}", "reward": reward, "latency": latency}
        for task in range(40)
        for reward, latency in [(1.0, 1.0), (1.0, 2.0)]
    ]
    project.rows("old.jsonl", rows)
    for row in rows:
        row["latency"] += 3.0
        row["reward"] = float(row["task"] not in ("t0", "t37", "t38"))
    project.rows("new.jsonl", rows)
    project.write(
        "math.bench.yaml",
        "benchmark:\n"
        "  name: math\n"
        "  rollouts: {path: new.jsonl, fields: {task: task}}\n"
        "  metrics: [mean_reward, mean/latency]\n"
        "  must_pass: [t38]\n"
        "  baseline:\n"
        "    rollouts: old.jsonl\n"
        "    metrics:\n"
        "      mean_reward: {rule: absolute, max_drop: 0.01}\n"
        "      mean/latency: {direction: lower}\n",
    )
    lines = project.run().stdout.lines
    tasks = [line for line in lines if line.startswith("  t")]
    assert tasks == ["  t38  2/2 -> 0/2", "  t0   2/2 -> 0/2", "  t37  2/2 -> 0/2"]


# -- the tasks that got worse ----------------------------------------------------------------


def flip(name, before=(1.0,), now=(0.0,), *, agent="agent", answers=True):
    """Make a task with an attempt for each reward, whose answers name it."""
    return Flip(
        agent=agent,
        task=name,
        prompt=f"prompt of {name}",
        reference=f"reference of {name}",
        before=tuple(
            Attempt(at, reward, f"was {at}" * answers)
            for at, reward in enumerate(before)
        ),
        now=tuple(
            Attempt(at, reward, f"now {at}" * answers, f"reason {at}")
            for at, reward in enumerate(now)
        ),
    )


def worse(name="pass@1", *tasks, **fields):
    """Make the check of a metric that fell for some tasks."""
    changes = {"worst_tasks": tuple(task(one) for one in tasks)}
    return compared(name, changes=changes | fields.pop("changes", {}), **fields)


def names(result, most=3):
    return [found.task for found in worse_tasks(result, most)]


def test_a_worse_task_has_the_rewards_of_the_metric_and_the_texts_of_both_sides():
    shown = flip("t", (0.0, 1.0), (1.0, 0.0))
    (found,) = worse_tasks(benchmark(worse("pass@1", "t"), flips=(shown,)))
    assert found == WorseTask(
        agent="agent",
        task="t",
        rewards="2/2 -> 0/2",
        prompt="prompt of t",
        expected="reference of t",
        # an attempt that passed, and one that fails
        was="was 1",
        now="now 1",
        reason="reason 1",
        has_answers=True,
    )


def test_a_task_without_texts_has_its_rewards():
    (found,) = worse_tasks(benchmark(worse("pass@1", "t")))
    assert found == WorseTask(agent="agent", task="t", rewards="2/2 -> 0/2", was=None)


def test_a_task_of_no_metric_has_the_rewards_of_its_attempts():
    named = compared(
        comparison=None, reasons=(kinds.BrokenTasks(tasks=("t",), count=1),)
    )
    result = benchmark(named, flips=(flip("t", (1.0, None), (0.0, 0.5)),))
    (found,) = worse_tasks(result)
    assert found.rewards == "1 -> 0 0.5"


def test_a_task_of_which_nothing_is_known_is_not_shown():
    named = compared(
        comparison=None, reasons=(kinds.BrokenTasks(tasks=("t",), count=1),)
    )
    assert worse_tasks(benchmark(named)) == []


def test_less_is_better_turns_what_passed_and_what_fails():
    lower = RuleBound(structs.replace(RULE, direction=Direction.LOWER))
    shown = flip("t", (3.0, 1.0), (2.0, 5.0))
    check = worse("cost", "t", bound=lower)
    (found,) = worse_tasks(benchmark(check, flips=(shown,)))
    assert (found.was, found.now) == ("was 1", "now 1")


def test_an_attempt_without_a_reward_is_shown_where_there_is_no_other():
    shown = flip("t", (None, None), ())
    (found,) = worse_tasks(benchmark(worse("pass@1", "t"), flips=(shown,)))
    assert (found.was, found.now, found.reason) == ("was 0", "", "")


def test_of_attempts_one_without_a_reward_is_not_the_worst():
    shown = flip("t", (1.0, None), (None, 0.5))
    (found,) = worse_tasks(benchmark(worse("pass@1", "t"), flips=(shown,)))
    assert (found.was, found.now) == ("was 0", "now 1")


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (kinds.BrokenTasks(tasks=("x",), count=1), "x"),
        (kinds.MustPassFailed(tasks=(kinds.PassCount("x", 0, 2),), count=1, of=2), "x"),
        (
            kinds.WorseTasks(
                tasks=(
                    kinds.WorseTask(
                        task="x", before=1.0, now=0.0, p=0.001, log10_p=-3.0
                    ),
                ),
                count=1,
                of=40,
                reward="reward",
            ),
            "x",
        ),
        (
            kinds.WorseSlices(
                slices=(
                    kinds.WorseSlice(
                        name="pass@1[a=b]",
                        before=1.0,
                        now=0.0,
                        p=0.001,
                        tasks=9,
                        worse=9,
                        worst=("x",),
                    ),
                ),
                count=1,
                of=2,
            ),
            "x",
        ),
    ],
)
def test_the_tasks_that_a_check_is_about_come_first(reason, shown):
    named = compared("named", comparison=None, reasons=(reason,))
    result = benchmark(worse("pass@1", "a", "b"), named, flips=(flip("x"),))
    assert names(result) == [shown, "a", "b"]


def test_all_tasks_have_the_rewards_of_the_first_metric_that_is_worse():
    surer = worse("pass@2", "b", changes={"p_adjusted": 0.0001}, agent="agent")
    other = worse("pass@1", "a", agent="agent")
    empty = compared("pass@3", agent="agent")
    result = benchmark(empty, other, surer)
    assert names(result) == ["a"]


def test_agents_of_a_metric_have_their_tasks():
    first = worse("pass@1", "a", agent="x", changes={"p_adjusted": 0.001})
    second = worse("pass@1", "a", "b", agent="y")
    agents = (agent("x"), agent("y"))
    found = worse_tasks(benchmark(second, first, agents=agents))
    assert [(one.agent, one.task) for one in found] == [
        ("x", "a"),
        ("y", "a"),
        ("y", "b"),
    ]


def test_what_a_passing_metric_knows_of_a_task_is_written_whole():
    named = compared(
        comparison=None, reasons=(kinds.BrokenTasks(tasks=("t",), count=1),)
    )
    passing = worse("pass@1", "t", verdict=Verdict.PASS)
    result = benchmark(passing, named, flips=(flip("t", (1.0,), (0.0,)),))
    (found,) = worse_tasks(result)
    assert found.rewards == "2/2 -> 0/2"


def test_what_a_passing_metric_knows_stands_beside_the_metric_that_is_worse():
    named = compared(
        comparison=None, reasons=(kinds.BrokenTasks(tasks=("x",), count=1),)
    )
    passing = worse("pass@2", "x", verdict=Verdict.PASS)
    assert names(benchmark(worse("pass@1", "a"), passing, named)) == ["x", "a"]


def test_rewards_of_another_metric_that_is_worse_are_not_shown():
    named = compared(
        comparison=None, reasons=(kinds.BrokenTasks(tasks=("x",), count=1),)
    )
    result = benchmark(worse("pass@1", "a"), worse("pass@2", "x"), named)
    assert names(result) == ["a"]


def test_three_tasks_are_shown_and_as_many_as_are_asked_for():
    result = benchmark(worse("pass@1", "a", "b", "c", "d"))
    assert [found.task for found in worse_tasks(result)] == ["a", "b", "c"]
    assert names(result, 1) == ["a"]
    assert names(result, 9) == ["a", "b", "c", "d"]


def test_a_baseline_without_answers_has_none_to_show():
    shown = flip("a", answers=False), flip("b", answers=False)
    result = benchmark(worse("pass@1", "a", "b"), flips=shown)
    assert [found.was for found in worse_tasks(result)] == [None, None]
    assert [found.has_answers for found in worse_tasks(result)] == [False, False]


def test_the_surest_comparison_that_does_not_hold_counts_the_others():
    surer = compared(agent="y", changes={"p_adjusted": 0.0001})
    checks = [below(agent="y"), compared(agent="x"), surer]
    assert strongest(benchmark(*checks)) is surer
    assert strongest(benchmark(below(), compared(verdict=Verdict.PASS))) is None


# -- on a line -------------------------------------------------------------------------------


def test_texts_are_in_one_line_of_which_both_ends_are_kept():
    long = structs.replace(
        flip("t\x1b"),
        reference="a\n b\t c",
        now=(Attempt(0, 0.0, "x" * 40 + "y" * 40),),
    )
    (line,) = task_lines(benchmark(worse("pass@1", "t\x1b"), flips=(long,)))
    assert line == TaskLine(
        task=r"t\x1b",
        rewards="2/2 -> 0/2",
        expected="a b c",
        was="was 0",
        now=f"{'x' * 28}...{'y' * 28}",
        has_answers=True,
    )


def test_a_line_has_no_earlier_answer_where_the_baseline_keeps_none():
    (line,) = task_lines(benchmark(worse("pass@1", "t")))
    assert line == TaskLine(task="t", rewards="2/2 -> 0/2", was=None)


def test_tasks_of_several_agents_are_named_by_them():
    checks = [worse("pass@1", "a", agent="x"), worse("pass@1", "a", agent="y")]
    lines = task_lines(benchmark(*checks, agents=(agent("x"), agent("y"))))
    assert [line.task for line in lines] == ["x a", "y a"]
    alone = task_lines(benchmark(checks[0], agents=(agent("x"), agent("y"))))
    assert [line.task for line in alone] == ["a"]


def test_an_excerpt_has_neither_the_prompt_nor_the_judge_s_reason():
    shown = structs.replace(
        flip("t", (1.0,)),
        reference="a\nb",
        now=(Attempt(0, 0.0, "x" * 40 + "y" * 40),),
    )
    result = benchmark(worse("pass@1", "t", "u"), flips=(shown,))
    first, second = task_excerpts(result, 2)
    assert first == WorseTask(
        agent="agent",
        task="t",
        rewards="2/2 -> 0/2",
        expected="a b",
        was="was 0",
        now=f"{'x' * 28}...{'y' * 28}",
        has_answers=True,
    )
    assert second == WorseTask(agent="agent", task="u", rewards="2/2 -> 0/2")


def test_excerpts_are_as_many_as_are_asked_for():
    result = benchmark(worse("pass@1", "a", "b"))
    assert len(list(task_excerpts(result, 1))) == 1
    assert list(task_excerpts(result, 0)) == []


def test_an_excerpt_of_a_baseline_without_answers_is_empty():
    (found,) = task_excerpts(benchmark(worse("pass@1", "t")), 1)
    assert found.was == ""
