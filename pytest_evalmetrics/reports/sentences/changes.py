"""Differences between a run and its baseline beside the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.model.changes import (
    BehaviourChanged,
    ChangeInWords,
    MeasuredAnew,
    NoLongerGated,
    PerhapsNotJudged,
    RolloutsOfTasks,
    TasksFlipped,
    ThresholdChanged,
    UnderTestChanged,
)
from pytest_evalmetrics.reports.sentences.behaviour import behaviour_sentence
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.phrases import about
from pytest_evalmetrics.reports.sentences.references import change_text, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.model.changes import RunChange
    from pytest_evalmetrics.model.comparison import TaskGroup

_NAMED = 10  # tasks on a line


def change_texts(changes: Iterable[RunChange]) -> tuple[str, ...]:
    """Write changes in a line each."""
    return tuple(map(sentence, changes))


@sentence.register(ChangeInWords)
def change_in_words(change: ChangeInWords) -> str:
    """Give the words of the report."""
    return change.words


# -- what is measured, and what measures it --------------------------------------------------


@sentence.register(UnderTestChanged)
def under_test_changed(change: UnderTestChanged) -> str:
    """Give each setting on both sides: ``under test: temperature 0 -> 0.7``."""
    settings = [
        f"{setting.key} {setting.before} -> {setting.now}"
        for setting in change.settings
    ]
    return f"under test: {', '.join(settings)}"


@sentence.register(MeasuredAnew)
def measured_anew(change: MeasuredAnew) -> str:
    """Say what measures otherwise."""
    texts = "; ".join(change_text(measured) for measured in change.changes)
    return f"the ruler, by which both sides are measured now: {texts}"


@sentence.register(ThresholdChanged)
def threshold_changed(change: ThresholdChanged) -> str:
    """Give the threshold on both sides."""
    return f"threshold {change.metric} was {change.before}, and is {change.now} now"


@sentence.register(NoLongerGated)
def no_longer_gated(change: NoLongerGated) -> str:
    """Name the metric, with what it was."""
    where = place_of(change.acceptance)
    text = f"metric {change.metric} is in {where}, and is no longer gated"
    if not change.values:
        return text
    values = ", ".join(f"{value:.4g}" for value in change.values)
    return f"{text} (it was {values})"


# -- rollouts and tasks ----------------------------------------------------------------------


@sentence.register(RolloutsOfTasks)
def rollouts_of_tasks(change: RolloutsOfTasks) -> str:
    """Give both numbers."""
    rollouts = "rollouts of each task"
    if change.agent:
        rollouts += f" of {change.agent}"
    return f"{rollouts} were {change.before}, and are {change.now} now"


@sentence.register(TasksFlipped)
def tasks_flipped(change: TasksFlipped) -> str:
    """Name the tasks of both ways."""
    parts = []
    if change.broken.count:
        parts.append(_flipped(change.broken, "all passing to none"))
    if change.mended.count:
        parts.append(_flipped(change.mended, "none passing to all"))
    return about(change.agent, "; ".join(parts))


def _flipped(group: TaskGroup, way: str) -> str:
    tasks = many(group.count, "task")
    names = listed(group.tasks, _NAMED, group.count)
    return f"{tasks} went from {way}: {names}"


@sentence.register(PerhapsNotJudged)
def perhaps_not_judged(change: PerhapsNotJudged) -> str:
    """Show the key that makes the reward missing."""
    rollouts = many(change.rollouts, "rollout", "has")
    reward = f"{change.reward:g}"
    return (
        f"{rollouts} the reward {reward}, and none of the baseline is negative: if it "
        f"means that nobody judged them, write `missing: [{reward}]` under rollouts"
    )


@sentence.register(BehaviourChanged)
def behaviour_changed(change: BehaviourChanged) -> str:
    """Say what the agent does otherwise."""
    return about(change.agent, behaviour_sentence(change.facts))
