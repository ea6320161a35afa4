"""Differences between a run and its baseline beside the numbers: one small record a kind.

A stage makes the record, and `reports.sentences.changes` writes its sentence.
"""

from __future__ import annotations

import msgspec

from pytest_evalmetrics.model.behaviour import BehaviourFacts
from pytest_evalmetrics.model.comparison import TaskGroup
from pytest_evalmetrics.model.reasons import MeasurementChange
from pytest_evalmetrics.model.verdicts import Acceptance


class ChangeInWords(msgspec.Struct, frozen=True, tag="change_in_words"):
    """A change as report.json has it, of which it keeps the text alone."""

    words: str


# -- what is measured, and what measures it --------------------------------------------------


class SettingChange(msgspec.Struct, frozen=True):
    """A setting of the model, agent or prompt under test, as text on both sides."""

    key: str
    before: str  # `none` if it was not there
    now: str


class UnderTestChanged(msgspec.Struct, frozen=True, tag="under_test_changed"):
    """Another model, agent or prompt is under test."""

    settings: tuple[SettingChange, ...]


class MeasuredAnew(msgspec.Struct, frozen=True, tag="measured_anew"):
    """What measures the run differs, and measures the baseline's rows too now."""

    changes: tuple[MeasurementChange, ...]


class ThresholdChanged(msgspec.Struct, frozen=True, tag="threshold_changed"):
    """A threshold that the baseline's run had otherwise."""

    metric: str
    before: str  # as it was recorded: `>= 0.5`; `none` if there was none
    now: str


class NoLongerGated(msgspec.Struct, frozen=True, tag="no_longer_gated"):
    """A metric that the reference gated, and this run does not."""

    metric: str
    acceptance: Acceptance  # the kind of reference
    values: tuple[float, ...]  # that it had, of each agent


# -- rollouts and tasks ----------------------------------------------------------------------


class RolloutsOfTasks(msgspec.Struct, frozen=True, tag="rollouts_of_tasks"):
    """Another number of rollouts of each task."""

    before: int
    now: int
    agent: str = ""  # empty if there is only one


class TasksFlipped(msgspec.Struct, frozen=True, tag="tasks_flipped"):
    """The tasks whose rollouts all passed and all fail now, or the reverse."""

    broken: TaskGroup
    mended: TaskGroup
    agent: str = ""


class PerhapsNotJudged(msgspec.Struct, frozen=True, tag="perhaps_not_judged"):
    """A negative reward that may mean "not judged": the baseline has none."""

    reward: float
    rollouts: int  # that have it


class BehaviourChanged(msgspec.Struct, frozen=True, tag="behaviour_changed"):
    """What an agent does otherwise."""

    facts: BehaviourFacts  # with the changes that are significant
    agent: str = ""


RunChange = (
    ChangeInWords
    | UnderTestChanged
    | MeasuredAnew
    | ThresholdChanged
    | NoLongerGated
    | RolloutsOfTasks
    | TasksFlipped
    | PerhapsNotJudged
    | BehaviourChanged
)
