"""The interface of a scorer: the row it is given, and the scores it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.spec.scorer_keys import spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.chat.row_calls import Calls
    from pytest_evalmetrics.data import Row

_T = TypeVar("_T")


def builtin(kind: str) -> Callable[[_T], _T]:
    """Register a built-in scorer by each spelling of its type, see `scorer_keys.BUILTIN`."""

    def decorate(scorer: _T) -> _T:
        for name in spellings(kind):
            register_scorer(name)(scorer)
        return scorer

    return decorate


@dataclass(frozen=True, slots=True)
class Explained:
    """Scores and their reason, which is shown in ``row_scores.jsonl``."""

    scores: Mapping[str, float] | float
    reason: str  # a judge's reasoning, or the evidence behind a number


class Scorer(Protocol):
    """Scores a row from the row alone."""

    scores: tuple[str, ...]  # the names of its scores

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

    Make the first call of a row before anything is awaited: calls are counted in the order of
    the rows, so that a run that is started again finds its answers in the journal.
    """

    scores: tuple[str, ...]  # the names of its scores

    async def score(self, row: Row, calls: Calls) -> Mapping[str, float] | float | Explained:
        """Score one row, see `Scorer`; `calls` sends requests to endpoints."""
        ...
