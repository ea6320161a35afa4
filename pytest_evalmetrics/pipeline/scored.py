"""What scoring is given by the run that it is a part of, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.data import RolloutTable, RowScores
    from pytest_evalmetrics.pipeline.judges import Judged
    from pytest_evalmetrics.results import Check, ScorerFailures
    from pytest_evalmetrics.transport import Progress, Transport

__all__ = ["Runtime", "Scored"]


class Runtime(Protocol):
    """What a scored benchmark needs of the run that it is a part of.

    Attributes
    ----------
    replays
        Answers come from the journal alone.
    """

    replays: bool

    def transport(self) -> Transport:
        """Give the run's one way to endpoints."""
        ...

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Show how far it is, while it lasts."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of scoring.

    Attributes
    ----------
    rows
        The table with the scores in it, and why rows lack some.
    failures
        The rows that lack some, by scorer.
    notes
        The reasons, grouped; and what was left out on purpose.
    partial
        Rows were left out on purpose.
    table
        What metrics reduce: the table of `rows`, without what is to be ignored.
    judged
        What the judges took, and how far they agree with people.
    checks
        What is wrong with the whole of it: a budget that was used up.
    """

    rows: RowScores
    failures: tuple[ScorerFailures, ...]
    notes: tuple[str, ...]
    partial: bool
    table: RolloutTable
    judged: Judged
    checks: tuple[Check, ...] = ()
