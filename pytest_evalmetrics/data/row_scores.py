"""What scorers gave to each row, and why rows lack a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.data.table import RolloutTable

__all__ = ["FailedRow", "RowScores"]


@dataclass(frozen=True, slots=True)
class FailedRow:
    """Why a row lacks its scores.

    Attributes
    ----------
    kind
        A word to group by: ``http-500``, ``no-score``.
    reason
        What happened, without secrets.
    where
        ``file:line``.
    hint
        The way out.
    scores
        What it lacks.
    """

    kind: str
    reason: str
    where: str
    hint: str | None
    scores: tuple[str, ...]


@dataclass(frozen=True)
class RowScores:
    """What scorers gave to each row.

    Attributes
    ----------
    table
        The rows, sorted as tables are.
    names
        Those of its scores that scorers gave.
    failed
        Row of the files, from 0 -> why it lacks scores, one per scorer.
    requests
        Gives what was asked for a row of the files, and answered, as a JSON array.
    reasons
        Gives why scores of a row of the files are what they are, as a JSON array.
    answers
        Gives what was generated for a row, as a JSON array of one object; None where nothing
        was generated.
    """

    table: RolloutTable
    names: tuple[str, ...]
    failed: Mapping[int, Sequence[FailedRow]]
    requests: Callable[[int], bytes] = lambda _row: b"[]"
    reasons: Callable[[int], bytes] = lambda _row: b"[]"
    answers: Callable[[int], bytes] | None = None
