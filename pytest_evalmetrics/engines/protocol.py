"""What an engine is given to do, and what takes its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts import Request, RolloutFile
    from pytest_evalmetrics.scorers import BoundScorer, Row, Terms
    from pytest_evalmetrics.scorers.one import Sink
    from pytest_evalmetrics.spec import ScorerSpec
    from pytest_evalmetrics.transport import Transport

__all__ = ["Engine", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """The rows of one benchmark to be scored.

    Attributes
    ----------
    jobs
        Each row with each scorer, in the order in which calls are counted; pulled as places
        get free.
    scorers
        What scores here.
    specs
        What they were made of, one each.
    terms
        On what terms endpoints are called; the parallelism is for all places together.
    transport
        The run's: its journal gets every answer, and its tally what calls took.
    label
        What calls are counted under.
    sink
        Takes the results.
    """

    jobs: Iterator[tuple[Row, BoundScorer]]
    scorers: tuple[BoundScorer, ...]
    specs: Sequence[ScorerSpec]
    terms: Terms
    transport: Transport
    label: str
    sink: Sink


class Engine(Protocol):
    """Works elsewhere; the results are those of this process, to the byte."""

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read rollouts, see `rollouts.Reader`."""
        ...

    def prepare(self) -> None:
        """Get ready in the main thread for `score`, which runs in the loop's.

        Raises
        ------
        EngineError
            There is nothing to work on.
        """
        ...

    async def score(self, work: Work) -> None:
        """Score rows.

        Raises
        ------
        EvalMetricsError
            No row can be scored, or the places to work at are gone.
        """
        ...
