"""What a run is compared with, and why it can't be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import listed, many, verb_of
from pytest_evalmetrics.model.reasons import (
    CannotFail,
    FirstRun,
    LostAgent,
    MeasuredBy,
    MeasurementChange,
    MeasurementChanged,
    NewTask,
    NoBaseline,
    NotComparable,
    TaskListChanged,
    UnequalSums,
    UnknownAgent,
    UnknownDirection,
)
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.reports.sentences.dispatch import sentence, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.model.results import StaleBaseline

_NAMED = 10  # tasks on a line
_WITH_REWARDS = 100  # new tasks, up to which each is named with its reward
_PER_CENT = 100  # a drop of a rate up to this was perhaps meant in per cent

# kinds that stand once before the names of both sides
_NAMED_ONCE = (MeasuredBy.SCORER, MeasuredBy.METRIC, MeasuredBy.TOOL)

_PLACES = {
    Acceptance.OTHER_RUN: "the baseline's run",
    Acceptance.HISTORY: "the history",
}


def place_of(acceptance: Acceptance | None) -> str:
    """Name what a run is compared with."""
    if acceptance is None:
        return "the baseline"
    return _PLACES.get(acceptance, "the baseline")


# -- no reference, or not that agent ---------------------------------------------------------


@sentence.register(NoBaseline)
def no_baseline(reason: NoBaseline) -> str:
    """Say that there is nothing to compare with, and perhaps why."""
    text = "there is no baseline yet to compare with"
    if reason.is_history:
        history = f"the history {reason.history}".rstrip()
        run = "no run of this benchmark that counts, with its tasks"
        return f"{text}: {history} holds {run}"
    if reason.renamed_from:
        return f"{text}: was it renamed from {reason.renamed_from}?"
    return text


@sentence.register(FirstRun)
def first_run(reason: FirstRun) -> str:
    """Say that the report is not there yet."""
    return f"there is no {reason.report} to compare with: this is the first run"


@text_of.register(UnknownAgent)
def unknown_agent(reason: UnknownAgent, acceptance: Acceptance | None) -> str:
    """Name the agents that there are instead."""
    known = ", ".join(map(repr, reason.known)) or "none"
    return f"{place_of(acceptance)} has no agent {reason.agent!r}: it has {known}"


@text_of.register(LostAgent)
def lost_agent(reason: LostAgent, acceptance: Acceptance | None) -> str:
    """Name the agent that is gone."""
    return f"this run has no agent {reason.agent!r}, which {place_of(acceptance)} has"


# -- not comparable --------------------------------------------------------------------------


def _not_comparable(metric: str, acceptance: Acceptance | None) -> str:
    return f"{metric} can't be compared with {place_of(acceptance)}"


@text_of.register(MeasurementChanged)
def measurement_changed(
    reason: MeasurementChanged, acceptance: Acceptance | None
) -> str:
    """Name each thing that measures otherwise."""
    changes = "; ".join(change_text(change) for change in reason.changes)
    refused = _not_comparable(reason.metric, acceptance)
    return f"{refused}: the ruler changed: {changes}"


def change_text(change: MeasurementChange) -> str:
    """Say what measures otherwise: ``judge m1 -> m2 (scorer llm-judge)``."""
    if change.key:
        text = f"{change.key} {change.before} -> {change.now}"
        if change.kind is MeasuredBy.REWARD:
            return text
        return f"{text} ({change.entry})"
    if change.kind in _NAMED_ONCE:
        return f"{change.kind} {change.before} -> {change.now}"
    before = _whole_name(change.kind, change.before)
    now = _whole_name(change.kind, change.now)
    return f"{before} -> {now}"


def _whole_name(kind: MeasuredBy, name: str) -> str:
    if name == "none" or kind is MeasuredBy.REWARD:
        return name
    return f"{kind} {name}"


@text_of.register(UnknownDirection)
def unknown_direction(reason: UnknownDirection, acceptance: Acceptance | None) -> str:
    """Say that nobody stated which way is better."""
    if reason.declared_lower:
        refused = _not_comparable(reason.metric, acceptance)
        declared = f"the files say that less of {reason.score} is better"
        return f"{refused}: {declared}, and no direction is given"
    text = f"nothing says which way is better for {reason.metric}"
    if reason.by_hook:
        text += ", which a hook computes"
    return text


@text_of.register(NotComparable)
def not_comparable(reason: NotComparable, acceptance: Acceptance | None) -> str:
    """Give the words of the error."""
    return f"{_not_comparable(reason.metric, acceptance)}: {reason.words}"


@text_of.register(UnequalSums)
def unequal_sums(reason: UnequalSums, acceptance: Acceptance | None) -> str:
    """Give both numbers of rollouts."""
    rollouts = f"{reason.before} then and {reason.now} now"
    refused = _not_comparable(reason.metric, acceptance)
    return f"{refused}: it adds up all rollouts, {rollouts}"


@sentence.register(CannotFail)
def cannot_fail(reason: CannotFail) -> str:
    """Say why no rewards can show such a drop."""
    text = f"{reason.key} {reason.drop:.12g} can never fail: "
    if not exceeds_rate(reason):
        value = f"{reason.metric} was {reason.baseline:.4g}"
        return f"{text}{value}, and the worst that it can be is {reason.worst:g}"
    text += f"all rewards of {reason.metric} lie in [0, 1]"
    if reason.drop <= _PER_CENT:
        text += f"; did you mean {reason.drop:.12g}%?"
    return text


def exceeds_rate(reason: CannotFail) -> bool:
    """Whether the drop is larger than any of a rate."""
    return reason.is_rate and reason.drop >= 1


def stale_text(stale: StaleBaseline) -> str:
    """Say how old a baseline is, who recorded it, and why."""
    recorded = f"recorded {stale.recorded[:10]}"
    if stale.by:
        recorded += f" by {stale.by}"
    if stale.reason:
        recorded += f": {stale.reason}"
    return f"the baseline is {many(stale.days, 'day')} old ({recorded})"


# -- the task list ---------------------------------------------------------------------------


@sentence.register(TaskListChanged)
def task_list_changed(reason: TaskListChanged) -> str:
    """Name the tasks that are gone, edited, moved and new."""
    return "; ".join(_differences(reason))


def _differences(reason: TaskListChanged) -> Iterator[str]:
    baseline = f"of the baseline's {many(reason.expected, 'task')}"
    if reason.lost_count:
        lost = listed(reason.lost, _NAMED, reason.lost_count)
        yield f"{_counted(reason.lost_count, baseline, 'is')} not in this run: {lost}"
    if reason.edited_count:
        edited = listed(reason.edited, _NAMED, reason.edited_count)
        content = "other content under the same id, which counts as a different task"
        yield f"{_counted(reason.edited_count, baseline, 'has')} {content}: {edited}"
    if reason.moved_count:
        steps = [f"{task.before} -> {task.now}" for task in reason.moved]
        moved = listed(steps, _NAMED, reason.moved_count)
        tasks = many(reason.moved_count, "task")
        are = verb_of(reason.moved_count, "is")
        yield f"{tasks} moved to another id and {are} paired by content: {moved}"
    if reason.new_count:
        new = listed(_new_names(reason), _NAMED, reason.new_count)
        yield f"{many(reason.new_count, 'new task')} not in the baseline: {new}"


def _counted(count: int, of_what: str, verb: str) -> str:
    return f"{count} {of_what} {verb_of(count, verb)}"


def _new_names(reason: TaskListChanged) -> list[str]:
    """Name the new tasks, each with its reward where there are not too many."""
    if reason.new_count > _WITH_REWARDS:
        return [task.task for task in reason.new]
    return [_with_reward(task, reason.reward) for task in reason.new]


def _with_reward(task: NewTask, reward: str) -> str:
    if task.reward is None:
        return task.task
    return f"{task.task} ({reward} {task.reward:.4g})"
