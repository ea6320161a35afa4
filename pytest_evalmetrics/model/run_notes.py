"""Notes on how a run went: its rounds, the history, names that stand for another thing."""

from __future__ import annotations

from typing import ClassVar

from pytest_evalmetrics.model.note_facts import NoteFacts

# -- rounds ----------------------------------------------------------------------------------


class StoppedEarly(NoteFacts, frozen=True, kw_only=True, tag="stopped_early"):
    """A run whose gates were sure before the last look."""

    look: int  # from 1
    looks: int
    rollouts: int  # of each task
    most: int  # of each task, that the run would have taken
    tasks: int

    subject: ClassVar[str] = "rounds"


class StoppedAtLastLook(NoteFacts, frozen=True, tag="stopped_at_last_look"):
    """A run whose gates were not sure before the last look."""

    looks: int

    subject: ClassVar[str] = "rounds"


class AllAtOnce(NoteFacts, frozen=True, tag="all_at_once"):
    """A run that takes all rollouts at once, because each round would pay again."""

    forgets: bool  # the journal keeps no answers of this benchmark's target

    subject: ClassVar[str] = "rounds"


class SecondRoundFailed(NoteFacts, frozen=True, tag="second_round_failed"):
    """A second round that could not be evaluated, so that the first decides."""

    words: str  # of the error


# -- baselines and the history ---------------------------------------------------------------


class NotRecordedXfail(NoteFacts, frozen=True, tag="not_recorded_xfail"):
    """A baseline that stays, because its benchmark is known to fail."""


class BrokenHistoryLine(NoteFacts, frozen=True, tag="broken_history_line"):
    """A line of the history that is no run."""

    place: str  # file:line
    words: str  # of the error

    subject: ClassVar[str] = "history"


class OtherHistorySchema(NoteFacts, frozen=True, tag="other_history_schema"):
    """A run of the history that another version wrote."""

    place: str  # file:line
    version: int
    known: int  # the version that can be read

    subject: ClassVar[str] = "history"


class FurtherBrokenLines(NoteFacts, frozen=True, tag="further_broken_lines"):
    """Broken lines of the history that are not named."""

    lines: int

    subject: ClassVar[str] = "history"


class RunsNotCompared(NoteFacts, frozen=True, tag="runs_not_compared"):
    """Runs of the history that do not fit the newest one."""

    left_out: int
    runs: int  # in all
    words: str  # why the last one of them does not fit

    subject: ClassVar[str] = "history"


class HistoryStartsAnew(NoteFacts, frozen=True, tag="history_starts_anew"):
    """A change that is accepted: the history counts from this run on."""

    subject: ClassVar[str] = "history"


# -- names and artifacts ---------------------------------------------------------------------


class ReplacedName(NoteFacts, frozen=True, kw_only=True, tag="replaced_name"):
    """A registered name that stands for another thing here than elsewhere."""

    kind: str  # metric, scorer, ...
    name: str
    place: str  # of the registration that is used
    replaced: str  # the place of the other one; empty if it is built in

    subject: ClassVar[str] = "replaced_name"


class ReplacedBuiltin(NoteFacts, frozen=True, tag="replaced_builtin"):
    """A metric that calls itself as a built-in one does."""

    name: str
    target: str  # package.module:attribute

    subject: ClassVar[str] = "replaced_name"


class TaskGroupsApart(NoteFacts, frozen=True, tag="task_groups_apart"):
    """Entries of many tasks, which are in a file of their own."""

    tasks: int
    file: str
