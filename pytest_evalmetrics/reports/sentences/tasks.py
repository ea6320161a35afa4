"""Single tasks that a benchmark file names, and tasks that broke."""

from __future__ import annotations

import math

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.reasons import (
    BrokenTasks,
    DependentRollouts,
    MaxBrokenTooLarge,
    MustPassFailed,
    PassCount,
    Quarantined,
    SingleTasksUnseen,
    UncomparableTasks,
    UnknownTask,
    WorseSlice,
    WorseSlices,
    WorseTask,
    WorseTasks,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence

_NAMED = 10  # tasks on a line


def _passes(task: PassCount) -> str:
    return f"{task.passed} of {many(task.rollouts, 'rollout')} pass"


@sentence.register(BrokenTasks)
def broken_tasks(reason: BrokenTasks) -> str:
    """Name the tasks that passed and fail now."""
    tasks = many(reason.count, "task")
    names = listed(reason.tasks, _NAMED, reason.count)
    return f"{tasks} went from all passing to none: {names}"


@sentence.register(UncomparableTasks)
def uncomparable_tasks(_reason: UncomparableTasks) -> str:
    """Say that the rewards differ in kind."""
    why = "the rewards of both sides are not comparable"
    return f"max_broken can't be judged: {why}"


@sentence.register(MaxBrokenTooLarge)
def max_broken_too_large(reason: MaxBrokenTooLarge) -> str:
    """Say how many tasks there are to break."""
    tasks = many(reason.tasks, "task")
    return f"max_broken {reason.most} can never fail: {tasks} are compared"


@sentence.register(UnknownTask)
def unknown_task(reason: UnknownTask) -> str:
    """Name the entry, and the task that was perhaps meant."""
    return f"{reason.key}: this run has no task {reason.pattern!r}; {reason.guess}"


@sentence.register(Quarantined)
def quarantined(reason: Quarantined) -> str:
    """Say how long the task is not gated, why, and how it does."""
    task = reason.outcome.task
    text = f"task {task} is measured and not gated until {reason.until}"
    if reason.is_over:
        text = f"the quarantine of task {task} ended on {reason.until}"
    return f"{text}: {reason.why}; {_passes(reason.outcome)}"


@sentence.register(MustPassFailed)
def must_pass_failed(reason: MustPassFailed) -> str:
    """Name the tasks that had to pass."""
    tasks = of_many(reason.count, reason.of, "task")
    outcomes = [f"{task.task} ({_passes(task)})" for task in reason.tasks]
    names = listed(outcomes, _NAMED, reason.count)
    return f"{tasks} of must_pass failed: {names}"


@sentence.register(WorseTasks)
def worse_tasks(reason: WorseTasks) -> str:
    """Name the tasks, with their rewards on both sides."""
    tasks = of_many(reason.count, reason.of, "task")
    names = listed([_worse(task) for task in reason.tasks], _NAMED, reason.count)
    return f"{tasks} got worse by their rollouts: {names}"


def _worse(task: WorseTask) -> str:
    p = f"{task.p:.2g}"
    if task.p == 0:  # too small for a float
        p = f"1e{math.floor(task.log10_p)}"
    return f"{task.task} ({task.before:.4g} to {task.now:.4g}, p = {p})"


@sentence.register(WorseSlices)
def worse_slices(reason: WorseSlices) -> str:
    """Name the slices, with their numbers and their tasks."""
    slices = of_many(reason.count, reason.of, "slice")
    texts = [_worse_slice(one) for one in reason.slices]
    return f"{slices} got worse: {listed(texts, _NAMED, reason.count)}"


def _worse_slice(one: WorseSlice) -> str:
    values = f"{one.before:.4g} to {one.now:.4g}, p = {one.p:.2g}"
    tasks = listed(one.worst, _NAMED, one.worse)
    return f"{one.name} ({values}; {one.worse} of its {one.tasks} tasks: {tasks})"


_NAME_THEM = "name those that may not break in `must_pass`"
# why rollouts are not taken for independent, and the way out
_DEPENDENT = {
    Independence.DENIED: f"the file says `independent: false`: {_NAME_THEM}",
    Independence.UNSHOWN: (
        "those of too few tasks differ to show it: if each was drawn anew, state "
        "`independent: true`"
    ),
    Independence.CHURNING: (
        f"other tasks got better by more than their rollouts explain, too: {_NAME_THEM}"
    ),
}


@sentence.register(DependentRollouts)
def dependent_rollouts(reason: DependentRollouts) -> str:
    """Say why the finding does not fail the run, and what would let it."""
    why = _DEPENDENT[reason.independence]
    return f"unproven, as it takes independent rollouts, and {why}"


@sentence.register(SingleTasksUnseen)
def single_tasks_unseen(reason: SingleTasksUnseen) -> str:
    """Say from how many rollouts on a single task is seen."""
    of_each = f"{many(reason.rollouts, 'rollout')} of each task"
    seen = "never"
    if reason.sees_some:
        seen = "not always"
    return (
        f"with {of_each} the break of a single one is {seen} seen: "
        f"{reason.needed} are needed on both sides"
    )
