"""One row and one scorer: what came of it goes to a sink, whichever process this is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.calls import shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.scorers.calls import Exchange, RowCalls
    from pytest_evalmetrics.scorers.making import BoundScorer, Scores
    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["Sink", "score_row"]


class Sink(Protocol):
    """Takes what came of rows, in any order."""

    def scored(self, row: Row, scorer: BoundScorer, found: Scores, *, from_journal: bool) -> None:
        """Take a row's scores."""
        ...

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        """Take why a row has no scores; the reason holds no secret."""
        ...

    def explained(self, row: Row, scorer: BoundScorer, reason: str) -> None:
        """Take why a row's scores are what they are."""
        ...

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        """Take what was asked for a row, and answered."""
        ...


async def score_row(
    row: Row, scorer: BoundScorer, calls: RowCalls, sink: Sink, hide: Callable[[str], str]
) -> None:
    """Score a row."""
    try:
        found = await scorer.score_with(row, calls)
    except RowError as error:
        sink.lacks(row, scorer, error, hide(error.message))
    else:
        sink.scored(row, scorer, found, from_journal=calls.from_journal)
        if found.reason:
            sink.explained(row, scorer, shown_text(found.reason, hide))
    sink.asked(row, scorer, calls.exchanges)
