"""What a scorer is given, and what it has to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.transport import Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.chat import Calls
    from pytest_evalmetrics.data import TaskId

__all__ = ["AsyncScorer", "Explained", "Row", "Scorer", "Terms"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row to be scored.

    Attributes
    ----------
    index
        Its position in what was read, from 0.
    agent, task, sample
        Whose attempt it is at what, and which one.
    item
        The row as it is written.
    sample_data
        What was generated for it; of recorded rollouts the row itself, of a data set nothing.
    where
        ``file:line``, for messages.
    """

    index: int
    agent: str
    task: TaskId
    sample: int
    item: Mapping[str, Any]
    sample_data: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    @property
    def context(self) -> dict[str, Any]:
        """What templates may name: the row's columns, ``item`` and ``sample``."""
        return {**self.item, "item": self.item, "sample": self.sample_data}


@dataclass(frozen=True, slots=True)
class Explained:
    """Scores, and why they are what they are: for people, in ``row_scores.jsonl``.

    Attributes
    ----------
    scores
        What a scorer gives otherwise.
    reason
        A judge's reasoning, or what a number rests on.
    """

    scores: Mapping[str, float] | float
    reason: str


class Scorer(Protocol):
    """Scores a row with what the row holds.

    Attributes
    ----------
    scores
        The names of what it gives.
    """

    scores: tuple[str, ...]

    def score(self, row: Row) -> Mapping[str, float] | float | Explained:
        """Score one row: a number by name, or the number where there is one score.

        Raises
        ------
        RowError
            This row can't be scored; the others go on.
        """
        ...


class AsyncScorer(Protocol):
    """Scores a row by asking an endpoint.

    The first call of a row is made before anything is awaited: so calls are counted in the
    order of the rows, and a run that is started again finds its answers.

    Attributes
    ----------
    scores
        The names of what it gives.
    """

    scores: tuple[str, ...]

    async def score(self, row: Row, calls: Calls) -> Mapping[str, float] | float | Explained:
        """Score one row, see `Scorer`; `calls` is the way to endpoints."""
        ...
