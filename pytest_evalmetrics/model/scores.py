"""What scorers and judges did: summaries of scores, their calls, and the rows that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class Bin(msgspec.Struct, frozen=True):
    """A bar of a histogram: values from the lower bound on, below the upper one."""

    lower_bound: float
    upper_bound: float
    count: int


class RubricCount(msgspec.Struct, frozen=True):
    """The number of rows to which a judge gave a label of its rubric."""

    label: str
    value: float
    count: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of several judges on a score."""

    alpha: (
        float | None
    )  # Krippendorff's: 1 is full agreement, 0 chance; None if undefined
    level: str  # nominal for labels, interval for numbers
    judges: int
    rows: int  # scored by all of them
    reason: str = ""  # why alpha is undefined


class ScoreSummary(msgspec.Struct, frozen=True):
    """The statistics of a score over all rows; undefined ones are None."""

    name: str
    count: int  # rows with it
    nan_count: int  # rows without
    # whether its values are numbers, or those of a rubric's labels
    score_type: Literal["range", "rubric"] = "range"
    sum: float | None = None
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    std_dev: float | None = None  # divided by n, as the variance
    variance: float | None = None
    sample_std_dev: float | None = None  # divided by n - 1, as the sample variance
    sample_variance: float | None = None
    percentiles: Mapping[str, float] | None = None  # p10 ... p100
    histogram: tuple[
        Bin, ...
    ] = ()  # ten of equal width; the last one includes its upper bound
    rubric_distribution: tuple[RubricCount, ...] = ()
    # the most frequent label, of several the first by name
    mode_category: str | None = None
    agreement: Agreement | None = None


class JudgeUse(msgspec.Struct, frozen=True):
    """The calls of a scorer's judge, whenever its answers were paid for."""

    scorer: str  # its type
    scores: tuple[str, ...]
    model: str
    versions: Mapping[str, str]  # of its prompts
    calls: int  # answers
    requests: int  # sent to get them
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    without_tokens: int  # answers that don't report theirs
    cost: float | None  # None without a price, or without the tokens of an answer
    latency_s: Mapping[str, float]  # mean, p50, p95 and max of an answer


class Disagreement(msgspec.Struct, frozen=True):
    """A labelled row to which a judge and a person give different scores."""

    row: str
    judge: float
    label: float


class JudgeCheck(msgspec.Struct, frozen=True):
    """The agreement of a judge with people."""

    score: str
    rows: int  # labelled
    failed: int  # of them, not scored by the judge
    accuracy: float | None  # the share of rows with the same score
    kappa: float | None  # Cohen's
    quadratic_kappa: float | None  # weighted by the square of the distance
    reason: str = ""  # why a number is None
    first: tuple[Disagreement, ...] = ()  # at most 20


class RowFailure(msgspec.Struct, frozen=True):
    """A row that a scorer could not score."""

    index: int  # in the files, from 0
    row: str  # file:line
    kind: str  # a word to group by: ``http-500``, ``no-score``
    reason: str  # without secrets
    hint: str = ""


class ScorerFailures(msgspec.Struct, frozen=True):
    """The rows that a scorer could not score."""

    scorer: str  # its type
    scores: tuple[str, ...]
    count: int
    kinds: Mapping[str, int]  # the most frequent first
    first: tuple[RowFailure, ...]  # in the order of the files, at most 20
    rows: int = 0  # in all
    examples: Mapping[str, RowFailure] = msgspec.field(
        default_factory=dict
    )  # the first of each kind


class CallTotals(msgspec.Struct, frozen=True):
    """The calls of one benchmark in this run."""

    calls: int  # answers
    from_journal: int  # of them
    failed: int
    requests: int  # sent
    total_tokens: int
    cost_now: float | None  # of this run; None if unknown
    cost: float | None  # of all answers, whenever they were paid for
