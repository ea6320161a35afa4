"""What is missing, or there is too much of."""

from __future__ import annotations

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.reasons import (
    BudgetUsedUp,
    ExtraTasks,
    FailedRows,
    MissingNumbers,
    MissingOutcome,
    MissingRewards,
    MissingSamples,
    MissingTasks,
    TooFewRollouts,
    TooManyRollouts,
    UnansweredReplay,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.wording import failed_rows_line

_NAMED = 10  # tasks on a line


@sentence.register(MissingTasks)
def missing_tasks(reason: MissingTasks) -> str:
    """Count the tasks that lack."""
    lacking = reason.expected - reason.found
    missing = of_many(lacking, reason.expected, "task", "is")
    were = "were"
    if reason.found == 1:
        were = "was"
    return f"{missing} missing: {reason.found} {were} found"


@sentence.register(ExtraTasks)
def extra_tasks(reason: ExtraTasks) -> str:
    """Count the tasks beyond the expected ones."""
    found = many(reason.found, "task", "was")
    return f"{found} found, {reason.found - reason.expected} too many"


@sentence.register(TooFewRollouts)
def too_few_rollouts(reason: TooFewRollouts) -> str:
    """Name the tasks with fewer rollouts."""
    than = "rollouts than the others"
    if reason.is_stated:
        than = f"than {many(reason.expected, 'rollout')}"
    counts = [
        f"task {task.task} has {task.rollouts} of {reason.expected}"
        for task in reason.tasks
    ]
    tasks = of_many(reason.count, reason.of, "task", "has")
    return f"{tasks} fewer {than}: {listed(counts, _NAMED, reason.count)}"


@sentence.register(TooManyRollouts)
def too_many_rollouts(reason: TooManyRollouts) -> str:
    """Name the tasks with more rollouts."""
    counts = [f"task {task.task} has {task.rollouts}" for task in reason.tasks]
    tasks = of_many(reason.count, reason.of, "task", "has")
    than = f"more than {many(reason.expected, 'rollout')}"
    return f"{tasks} {than}: {listed(counts, _NAMED, reason.count)}"


@sentence.register(MissingRewards)
def missing_rewards(reason: MissingRewards) -> str:
    """Count absent rollouts and those without a reward, and say what becomes of them."""
    parts = []
    if reason.absent == 1:
        parts.append("one rollout is absent")
    elif reason.absent:
        parts.append(f"{reason.absent} rollouts are absent")
    if reason.unscored:
        parts.append(_unscored(reason))
    text = " and ".join(parts)
    if reason.counted:
        share = 0.0
        if reason.rollouts:
            share = reason.counted / reason.rollouts
        text += f", {share * 100:.3g} % of {many(reason.rollouts, 'rollout')}"
    return text + _outcome(reason)


def _unscored(reason: MissingRewards) -> str:
    rollouts = f"{reason.unscored} rollouts have"
    if reason.unscored == 1:
        rollouts = "one rollout has"
    columns = ", ".join(reason.columns)
    lacking = f"no {columns}"
    if reason.is_reward:
        lacking = f"no finite {columns}"
    elif len(reason.columns) > 1:
        lacking = f"not all of {columns}"
    tasks = "tasks"
    if reason.task_count == 1:
        tasks = "task"
    names = listed(reason.tasks, _NAMED, reason.task_count)
    return f"{rollouts} {lacking} ({tasks} {names})"


def _outcome(reason: MissingRewards) -> str:
    if reason.outcome is MissingOutcome.ABOVE_LIMIT:
        return f", more than {reason.limit * 100:.3g} %"
    if reason.outcome is MissingOutcome.FILLED:
        return f": counted as {reason.fill}"
    if reason.outcome is MissingOutcome.LEFT_OUT:
        return ": left out"
    return ""


@sentence.register(MissingNumbers)
def missing_numbers(reason: MissingNumbers) -> str:
    """Count the rollouts without a number that a metric needs."""
    lacking = f"nothing that {reason.metric} reads"
    if reason.score:
        lacking = f"no finite {reason.score}"
    rollouts = of_many(reason.missing, reason.rollouts, "rollout", "has")
    share = reason.missing / reason.rollouts
    text = f"{rollouts} {lacking}, {share * 100:.3g} %"
    if reason.is_allowed:
        return f"{text}: left out"
    if reason.limit:
        text += f", more than {reason.limit * 100:.3g} %"
    return f"{text}: {reason.metric} is of the others alone"


@sentence.register(FailedRows)
def failed_rows(reason: FailedRows) -> str:
    """Say for which rows a scorer failed, and how."""
    return failed_rows_line(reason.failures)


@sentence.register(UnansweredReplay)
def unanswered_replay(reason: UnansweredReplay) -> str:
    """Count the rollouts without an answer."""
    rollouts = of_many(reason.lost, reason.of, "rollout")
    return f"the journal has no answer for {rollouts}"


@sentence.register(BudgetUsedUp)
def budget_used_up(reason: BudgetUsedUp) -> str:
    """Say which budget was used up, and what was left."""
    rollouts = of_many(reason.left, reason.of, "rollout", "was")
    return f"{reason.words}, and {rollouts} not asked for"


@sentence.register(MissingSamples)
def missing_samples(reason: MissingSamples) -> str:
    """Count the samples."""
    share = 100 * (1 - reason.samples / reason.of)
    counts = f"{reason.samples:,.0f} of {reason.of:,.0f} samples"
    return f"the aggregates are over {counts}, {share:.3g} % are missing"
