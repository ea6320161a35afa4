"""The interface of a scorer: a row in, its scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.row_calls import Calls


class Explained(msgspec.Struct, frozen=True):
    """Scores and their reason, which is shown in ``row_scores.jsonl``."""

    scores: Mapping[str, float] | float
    # a judge's reasoning, or the evidence behind a number
    reason: str

    def by_name(self, names: Sequence[str]) -> Mapping[str, float]:
        """Return the scores by name; one number is that of the only name."""
        if isinstance(self.scores, Mapping):
            return self.scores
        return {names[0]: self.scores}


class Scorer(Protocol):
    """Scores a row from the row alone."""

    scores: tuple[str, ...]  # the names of its scores

    def score(self, row: Row) -> Mapping[str, float] | float | Explained:
        """Score one row: return numbers by name, or one number for the only score.

        Raises
        ------
        RowError
            This row can't be scored; the others go on.
        """


class AsyncScorer(Protocol):
    """Scores a row by asking an endpoint.

    Make the first call of a row before anything is awaited: calls are counted in the order of
    the rows, so that a run that is started again finds its answers in the journal.
    """

    scores: tuple[str, ...]  # the names of its scores

    async def score(
        self, row: Row, calls: Calls
    ) -> Mapping[str, float] | float | Explained:
        """Score one row, see `Scorer`; `calls` sends requests to endpoints."""


class About(msgspec.Struct, frozen=True):
    """The meaning of a score, beyond its number."""

    labels: tuple[tuple[str, float], ...] = ()  # of a rubric, each with its value
    judges: tuple[str, ...] = ()  # the scores that are the several judges' own
    level: Literal["nominal", "interval"] = "interval"  # how the judges' scores differ
