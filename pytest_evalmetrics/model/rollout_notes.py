"""Notes on recorded rollouts, and on what is computed of them."""

from __future__ import annotations

from typing import ClassVar

from pytest_evalmetrics.model.note_facts import NoteFacts

# -- of files --------------------------------------------------------------------------------


class NumbersCountAsMissing(NoteFacts, frozen=True, tag="numbers_count_as_missing"):
    """Values of a score that are no finite numbers."""

    score: str
    what: str  # NaN, null, ...
    values: int
    first: str = ""  # file:line; empty if they are from no file

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("numbers", self.score)


class TextsCountAsMissing(NoteFacts, frozen=True, tag="texts_count_as_missing"):
    """Texts under a score that is a number in other rows."""

    score: str
    first: str  # file:line

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("numbers", self.score)


class UnclearColumn(NoteFacts, frozen=True, tag="unclear_column"):
    """A column of CSV that is left out, as its dots may separate thousands."""

    score: str
    text: str  # the first cell with a dot
    at: str  # file:line

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("numbers", self.score)


class FailedRollouts(NoteFacts, frozen=True, tag="failed_rollouts"):
    """Rollouts in which something went wrong, as their files say."""

    kind: str  # the tool's word for what went wrong
    is_graded: bool  # whether they have a score all the same
    rollouts: int
    first: str  # file:line

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("failed", self.kind)


class MixedQuestions(NoteFacts, frozen=True, tag="mixed_questions"):
    """Tasks whose rollouts hold different questions, so that content does not pair them."""

    tasks: int
    example: str | int


class EditedTask(NoteFacts, frozen=True, tag="edited_task"):
    """A task with rollouts of several versions."""

    task: str | int
    versions: int
    agent: str = ""  # empty if there is only one


class AgreeingAttempts(NoteFacts, frozen=True, tag="agreeing_attempts"):
    """Rows of several files with one task id, whose text shows that they are attempts."""

    files: int
    tasks: int
    key: str  # whose values agree


class FurtherAttempts(NoteFacts, frozen=True, tag="further_attempts"):
    """A report of the same tasks as another one."""

    file: str
    first: str  # the report with the first attempts


class FilteredRows(NoteFacts, frozen=True, tag="filtered_rows"):
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


class UnjoinedRows(NoteFacts, frozen=True, tag="unjoined_rows"):
    """Rows of `join:` without their other half."""

    rows: int
    first: str  # file:line


class UnreadList(NoteFacts, frozen=True, tag="unread_list"):
    """A list beside the rows of what was not judged, whose tasks are not clear."""

    file: str
    path: str  # such as ``errors``
    values: int  # that are not read

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("unread_list", self.path)


class OtherNumberStated(NoteFacts, frozen=True, tag="other_number_stated"):
    """A number that a tool's file states, and that its rollouts do not give."""

    file: str
    claim: str  # the number's name in the file
    stated: float
    computed: float

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("stated number", self.claim)


# -- of one tool's files ---------------------------------------------------------------------


class _OfFile(NoteFacts, frozen=True):
    file: str

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (type(self).__name__, self.file)


class AggregatesAlone(_OfFile, frozen=True, tag="aggregates_alone"):
    """A file with aggregates and their standard errors, without samples."""

    option: str = ""  # of the tool, that keeps samples; empty if it has none


class GroupsLeftOut(_OfFile, frozen=True, tag="groups_left_out"):
    """Groups of tasks, whose numbers are those of their tasks again."""

    groups: tuple[str, ...]


class ScoredOnce(_OfFile, frozen=True, tag="scored_once"):
    """Documents that were answered several times and scored once."""

    answers: int  # to each document


class LimitedRun(_OfFile, frozen=True, tag="limited_run"):
    """A run over a part of a task's documents."""

    documents: int | float
    of: int | float


class OtherInstancesLeftOut(_OfFile, frozen=True, tag="other_instances_left_out"):
    """Instances of other splits, or with perturbations."""

    instances: int


class UnfinishedRun(_OfFile, frozen=True, tag="unfinished_run"):
    """A run that did not end well, as its log says."""

    status: str


class UnsubmittedInstances(_OfFile, frozen=True, tag="unsubmitted_instances"):
    """Instances that were not submitted, and are left out."""

    instances: int


class AmbiguousFailures(_OfFile, frozen=True, tag="ambiguous_failures"):
    """Unresolved instances whose environment may have failed."""

    instances: int


class OtherReducers(NoteFacts, frozen=True, tag="other_reducers"):
    """A score whose epochs a log does not reduce by the mean."""

    score: str
    reducers: tuple[str, ...]  # sorted

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (type(self).__name__, self.score, *self.reducers)


# -- of estimates ----------------------------------------------------------------------------


class MetricsLeftOut(NoteFacts, frozen=True, tag="metrics_left_out"):
    """Metrics of rollouts, where the files hold aggregates alone."""

    metrics: tuple[str, ...]  # sorted


class SliceWithoutRewards(NoteFacts, frozen=True, tag="slice_without_rewards"):
    """A value of a field of `breakdown:` whose rollouts have no reward."""

    subject: ClassVar[str] = "breakdown"

    field: str
    value: str
    rollouts: int


class UndefinedSlice(NoteFacts, frozen=True, tag="undefined_slice"):
    """A metric that is undefined for a value of a field of `breakdown:`."""

    subject: ClassVar[str] = "breakdown"

    words: str  # of the metric: its name, and why


class CorrectedMean(NoteFacts, frozen=True, kw_only=True, tag="corrected_mean"):
    """A judge's mean reward, corrected by people's labels."""

    metric: str
    value: float
    low: float
    high: float
    level: float  # of the interval
    judged: float  # the judge's own mean
    labelled: int  # rollouts
    agent: str = ""  # empty if there is only one

    subject: ClassVar[str] = "labels"


class TooFewLabels(NoteFacts, frozen=True, tag="too_few_labels"):
    """A corrected mean that has too few labelled tasks."""

    metric: str
    labelled: int  # tasks
    least: int
    agent: str = ""

    subject: ClassVar[str] = "labels"
