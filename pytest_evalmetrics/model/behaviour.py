"""What an agent does otherwise than before, beside what it scores."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from pytest_evalmetrics.model.verdicts import Acceptance


class FeatureKind(StrEnum):
    """What a feature of behaviour counts."""

    NUMBER = "number"  # of each rollout: its calls, its length
    RATE = "rate"  # the share of rollouts that do it
    TOOL = "tool"  # the share of rollouts that call a tool
    ORDER = "order"  # the share of rollouts in which one tool is called before another
    SHAPE = "shape"  # the share whose calls of a tool have the usual arguments
    LANGUAGE = "language"  # the share of answers in a language
    STOP = "stop"  # the share that end for a reason


class ScoreChange(StrEnum):
    """What became of an agent's scores beside its behaviour."""

    SAME = "same"  # within half a point
    NOT_SHOWN = "not_shown"  # another number, and chance may explain it
    CHANGED = "changed"
    UNKNOWN = "unknown"  # none was compared


class RuleKind(StrEnum):
    """What a rule demands of each rollout."""

    FORBIDDEN_TOOL = "forbidden_tool"
    REQUIRED_TOOL = "required_tool"
    FORBIDDEN_SEQUENCE = "forbidden_sequence"
    REQUIRED_SEQUENCE = "required_sequence"
    MOST = "most"  # of a number
    LEAST = "least"


class RolloutRule(msgspec.Struct, frozen=True):
    """A rule that each rollout has to keep."""

    kind: RuleKind
    names: tuple[str, ...]  # tools, or the feature
    limit: float | None = None  # of a number


class TaskMove(msgspec.Struct, frozen=True):
    """A task in which a feature moved, in the feature's unit."""

    task: str
    before: float
    now: float


class FeatureChange(msgspec.Struct, frozen=True, kw_only=True):
    """One feature on both sides, as means over the tasks that both have."""

    kind: FeatureKind
    # of a tool, of a pair the first one; else the feature's name
    name: str
    # the tool that comes second in an order
    second: str = ""
    before: float
    now: float
    # two-sided, of no change in any task, adjusted for all features of the benchmark
    p: float | None
    is_significant: bool
    tasks: int  # paired
    rose: int  # tasks
    fell: int
    most: tuple[TaskMove, ...] = ()  # the tasks that moved most


class AnswerDistance(StrEnum):
    """How the distance of two answers is measured."""

    WORDS = "words"  # Jaccard distance of their words
    EDIT = "edit"  # Levenshtein distance, as a share of the longer answer
    EMBEDDINGS = "embeddings"  # cosine distance


class Churn(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers changed in tasks whose scores are equal."""

    tasks: int  # with equal scores, and an answer on both sides
    # pairs of an answer before and an answer now that differ, as a share
    changed: float
    # the same for two answers of one side; None with one rollout of each task
    floor: float | None
    # the distance of answers, in [0, 1]
    distance: float
    distance_floor: float | None
    # one-sided, of answers that differ no more than those of one side; None without a floor
    p: float | None
    is_significant: bool
    measure: AnswerDistance = AnswerDistance.WORDS


class BehaviourFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent does, and what it did before."""

    agent: str
    rollouts: int  # that were looked at
    unread: int  # of them without a transcript
    tasks: int  # that were looked at
    of_tasks: int
    # all features that could be compared, those that changed first
    changes: tuple[FeatureChange, ...] = ()
    churn: Churn | None = None
    score: ScoreChange = ScoreChange.UNKNOWN
    # why nothing was compared: there is no behaviour in the baseline
    lacks_baseline: bool = False
    # its baseline keeps answers as sketches where texts are needed, or the other way round
    lacks_answers: bool = False
    # how a baseline is renewed that has none
    acceptance: Acceptance | None = None

    @property
    def significant(self) -> tuple[FeatureChange, ...]:
        """The features that changed by more than chance explains."""
        return tuple(change for change in self.changes if change.is_significant)

    @property
    def has_changed(self) -> bool:
        """Whether a feature or the answers changed by more than chance explains."""
        has_churn = self.churn is not None and self.churn.is_significant
        return has_churn or bool(self.significant)
