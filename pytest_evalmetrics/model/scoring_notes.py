"""Notes on the rows that are scored, on answers, judges and keys."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from pytest_evalmetrics.model.note_facts import NoteFacts
from pytest_evalmetrics.model.scores import RowFailure

# -- which rows ------------------------------------------------------------------------------


class DrawnGroup(msgspec.Struct, frozen=True):
    """How many tasks of a group are drawn."""

    name: str
    drawn: int
    tasks: int  # in all


class DrawnSample(NoteFacts, frozen=True, tag="drawn_sample"):
    """The tasks that `sample:` draws."""

    drawn: int
    tasks: int  # in all
    by: str = ""  # the field of its groups; empty without them
    groups: tuple[DrawnGroup, ...] = ()


class LimitedRows(NoteFacts, frozen=True, tag="limited_rows"):
    """The first rows, where `params.limit_samples` leaves the others out."""

    taken: int
    rows: int  # in all


class FailedRequestsLeftOut(NoteFacts, frozen=True, tag="failed_requests_left_out"):
    """Rollouts without an answer, where `params.ignore_request_failure` leaves them out."""

    failed: int
    rollouts: int  # in all
    lost_tasks: int  # without a rollout left
    tasks: int  # in all


# -- how a benchmark is set up ---------------------------------------------------------------


class DefaultReward(NoteFacts, frozen=True, tag="default_reward"):
    """The reward of a benchmark that does not name one."""

    score: str
    scorer: str


class ConstantRequest(NoteFacts, frozen=True, tag="constant_request"):
    """A request that is the same for each row."""

    key: str  # its path in the file


class UntrustedValues(NoteFacts, frozen=True, tag="untrusted_values"):
    """Values of rows that a judge's prompt holds as they are written."""

    scorer: str
    values: tuple[str, ...]  # as the template writes them

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("untrusted", *self.values)


class KeyInFile(NoteFacts, frozen=True, tag="key_in_file"):
    """A key that stands in a benchmark file."""

    subject: ClassVar[str] = "secret"


class KeyInUrl(NoteFacts, frozen=True, tag="key_in_url"):
    """A key that is a part of a URL."""

    variable: str = ""  # that holds it; empty if the URL itself does

    subject: ClassVar[str] = "secret"


class KeysInTaskIds(NoteFacts, frozen=True, tag="keys_in_task_ids"):
    """Ids of tasks with a key in them."""

    tasks: int

    subject: ClassVar[str] = "secret"


# -- what scorers and models did -------------------------------------------------------------


class UnscoredRows(NoteFacts, frozen=True, tag="unscored_rows"):
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


class CutAnswers(NoteFacts, frozen=True, tag="cut_answers"):
    """Answers that end at the most tokens that a model may write."""

    cut: int
    answers: int  # in all

    subject: ClassVar[str] = "answers"


class UncountedTokens(NoteFacts, frozen=True, tag="uncounted_tokens"):
    """Answers that do not say how many tokens they took."""

    uncounted: int
    answers: int  # in all

    subject: ClassVar[str] = "answers"


# -- judges ----------------------------------------------------------------------------------


class JudgeAgainstItself(NoteFacts, frozen=True, tag="judge_against_itself"):
    """How far a judge that is asked several times agrees with itself."""

    score: str
    alpha: float | None  # Krippendorff's
    answers: int  # to each row
    rows: int
    words: str = ""  # why there is no alpha


class JudgeAgainstPeople(NoteFacts, frozen=True, tag="judge_against_people"):
    """How often a judge says what people say."""

    score: str
    agreed: int | None  # rows; None if no number can be computed
    rows: int  # labelled
    kappa: float | None  # Cohen's
    words: str = ""  # why a number is None


class UnscoredAnchors(NoteFacts, frozen=True, tag="unscored_anchors"):
    """Anchors without a score of their own."""

    score: str
    lost: int
    anchors: int  # in all

    subject: ClassVar[str] = "anchors"
