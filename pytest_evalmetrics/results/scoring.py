"""What scoring came to: judges, and rows that have no score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Disagreement", "JudgeCheck", "JudgeUse", "RowFailure", "ScorerFailures"]


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """What a scorer's judge took: when its answers were paid for, whenever that was.

    Attributes
    ----------
    scorer, scores
        Its type, and what it gives.
    model
        The judge, as its endpoint knows it.
    versions
        Of what it is asked.
    calls, requests
        Answers, and the requests that it took to get them.
    prompt_tokens, completion_tokens, total_tokens
        Of the answers that say so.
    without_tokens
        Answers that don't.
    cost
        None without a price, or where an answer doesn't say its tokens.
    latency_s
        ``mean``, ``p50``, ``p95`` and ``max`` of an answer's seconds.
    """

    scorer: str
    scores: tuple[str, ...]
    model: str
    versions: Mapping[str, str]
    calls: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    without_tokens: int
    cost: float | None
    latency_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One labelled row that a judge scores otherwise than a person does."""

    row: str
    judge: float
    label: float


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """How far a judge agrees with people.

    Attributes
    ----------
    score
        What both gave.
    rows, failed
        Labelled rows, and those of them that the judge could not score.
    accuracy
        The share of rows with the same score; None where a row has none.
    kappa, quadratic_kappa
        Cohen's, of scores that are the same or not, and weighted by the square of their
        distance; None where a row has no score, or where all scores and labels are the same.
    reason
        Why a number is None.
    first
        The first rows on which they differ, at most 20.
    """

    score: str
    rows: int
    failed: int
    accuracy: float | None
    kappa: float | None
    quadratic_kappa: float | None
    reason: str = ""
    first: tuple[Disagreement, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFailure:
    """One row that a scorer could not score.

    Attributes
    ----------
    index
        Its position in the files, from 0.
    row
        ``file:line``.
    kind, reason, hint
        A word to group by, what happened, and the way out.
    """

    index: int
    row: str
    kind: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ScorerFailures:
    """The rows that one scorer could not score.

    Attributes
    ----------
    scorer
        Its type.
    scores
        What they lack.
    count
        How many there are.
    kinds
        How many of each kind, the most frequent first.
    first
        The first of them, in the order of the files, at most 20.
    rows
        How many rows there are in all.
    examples
        The first of each kind.
    """

    scorer: str
    scores: tuple[str, ...]
    count: int
    kinds: Mapping[str, int]
    first: tuple[RowFailure, ...]
    rows: int = 0
    examples: Mapping[str, RowFailure] = field(default_factory=dict)
