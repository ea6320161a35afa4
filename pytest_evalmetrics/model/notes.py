"""Remarks that belong to no check: one small record a kind, with its facts.

`reports.sentences` writes them for people. Notes of one group are shown as one, with the first as
its example; a field called `words` holds a text that is shown and never read.
"""

from __future__ import annotations

from enum import StrEnum, auto

import msgspec

from pytest_evalmetrics.model.scores import RowFailure


class Topic(StrEnum):
    """The subject of a remark, by which remarks are grouped."""

    OTHER = auto()  # each text is a group of its own
    AGREEMENT = auto()  # of a judge with itself
    ANCHORS = auto()
    ACCEPTED = auto()  # by evalmetrics-accepted.yaml
    ANSWERS = auto()  # cut off, or without their tokens
    BEHAVIOUR = auto()
    BLIND_THRESHOLD = auto()
    BREAKDOWN = auto()
    CONFIRMATION = auto()
    CONSTANT_REQUEST = auto()
    CONTENT = auto()  # of tasks, by which they are paired
    FAILED_REQUESTS = auto()
    FEW_NUMBERS = auto()
    FEW_RUNS = auto()
    FINGERPRINT = auto()
    HISTORY = auto()
    IMPROVEMENT = auto()
    JUDGE_CHECK = auto()
    LABELS = auto()  # people's, which correct a mean
    LEFT_OUT = auto()  # metrics that aggregates lack
    NOTHING_GATED = auto()
    PARTIAL = auto()  # rows left out on purpose
    PASS_THRESHOLD = auto()
    PINNED_SYSTEM = auto()  # of `reference:`
    REPLACED_NAME = auto()  # a registered name that stands for another thing
    REWARD = auto()
    ROUNDS = auto()
    SAMPLE = auto()
    SECRET = auto()
    SINGLE_TASKS = auto()
    TARGET_CODE = auto()
    TASK_GROUPS = auto()
    UNCHECKED = auto()  # completeness
    UNLABELLED = auto()
    XFAIL = auto()


class _Note(msgspec.Struct, frozen=True):
    """The base of all notes."""

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (type(self).__name__,)


class Remark(_Note, frozen=True, tag="remark"):
    """A remark of a stage, or of somebody's loader or scorer."""

    words: str
    topic: Topic = Topic.OTHER

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (self.words if self.topic is Topic.OTHER else self.topic,)


# -- of recorded rollouts --------------------------------------------------------------------


class NumbersCountAsMissing(_Note, frozen=True, tag="numbers_count_as_missing"):
    """Values of a score that are no finite numbers."""

    score: str
    what: str  # NaN, null, ...
    values: int
    first: str = ""  # file:line; empty if they are from no file

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("numbers", self.score)


class TextsCountAsMissing(_Note, frozen=True, tag="texts_count_as_missing"):
    """Texts under a score that is a number in other rows."""

    score: str
    first: str  # file:line

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("numbers", self.score)


class FailedRollouts(_Note, frozen=True, tag="failed_rollouts"):
    """Rollouts in which something went wrong, as their files say."""

    kind: str  # the tool's word for what went wrong
    is_graded: bool  # whether they have a score all the same
    rollouts: int
    first: str  # file:line

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("failed", self.kind)


class MixedQuestions(_Note, frozen=True, tag="mixed_questions"):
    """Tasks whose rollouts hold different questions, so that content does not pair them."""

    tasks: int
    example: str | int


class EditedTask(_Note, frozen=True, tag="edited_task"):
    """A task with rollouts of several versions."""

    task: str | int
    versions: int
    agent: str = ""  # empty if there is only one


class AgreeingAttempts(_Note, frozen=True, tag="agreeing_attempts"):
    """Rows of several files with one task id, whose text shows that they are attempts."""

    files: int
    tasks: int
    key: str  # whose values agree


class FurtherAttempts(_Note, frozen=True, tag="further_attempts"):
    """A report of the same tasks as another one."""

    file: str
    first: str  # the report with the first attempts


class FilteredRows(_Note, frozen=True, tag="filtered_rows"):
    """Rows that `where:` leaves out."""

    file: str  # empty if they are of several
    path: str
    accepted: tuple[str, ...]  # values, sorted
    rows: int  # in all
    left_out: int
    lost_tasks: int = 0  # tasks without a row left
    lost_example: str = ""

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("where", self.path)


class UnjoinedRows(_Note, frozen=True, tag="unjoined_rows"):
    """Rows of `join:` without their other half."""

    rows: int
    first: str  # file:line


class OtherNumberStated(_Note, frozen=True, tag="other_number_stated"):
    """A number that a tool's file states, and that its rollouts do not give."""

    file: str
    claim: str  # the number's name in the file
    stated: float
    computed: float

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("stated number", self.claim)


# -- of scored rows --------------------------------------------------------------------------


class UnscoredRows(_Note, frozen=True, tag="unscored_rows"):
    """Rows for which a scorer failed in one way."""

    scores: tuple[str, ...]  # that they lack
    kind: str  # a word to group by: ``http-500``, ``no-score``
    count: int
    rows: int  # in all
    example: RowFailure
    of_baseline: bool = False  # rows that a baseline keeps, scored anew

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("unscored", *self.scores, self.kind)


# -- all of them -----------------------------------------------------------------------------


class OfReference(_Note, frozen=True, tag="of_reference"):
    """A note on the pinned system of `reference:`."""

    note: Note

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("reference", *self.note.group)


Note = (
    Remark
    | NumbersCountAsMissing
    | TextsCountAsMissing
    | FailedRollouts
    | MixedQuestions
    | EditedTask
    | AgreeingAttempts
    | FurtherAttempts
    | FilteredRows
    | UnjoinedRows
    | OtherNumberStated
    | UnscoredRows
    | OfReference
)
