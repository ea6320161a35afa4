"""What an engine is given to do, and what takes its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.answering import Attempted
    from pytest_evalmetrics.generation import Generator
    from pytest_evalmetrics.rollouts import Request, RolloutFile
    from pytest_evalmetrics.scorers import BoundScorer, Row, Terms
    from pytest_evalmetrics.scorers.one import Sink
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Meter, Transport

__all__ = ["Answering", "Engine", "Work"]


class Answering(Protocol):
    """Who answers rows that are to be answered before they are scored.

    Attributes
    ----------
    generator
        Who answers here.
    """

    generator: Generator

    def attempted(self, row: Row, found: Attempted) -> None:
        """Take what came of a row, after its scores."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """The rows of one benchmark to be scored, or to be answered and then scored.

    Attributes
    ----------
    jobs
        Each row with each scorer, or with None for one that is to be answered; in the order
        in which calls are counted, and pulled as places get free.
    scorers
        What scores here.
    answering
        Who answers here; None where nothing is generated.
    spec
        What they were made of.
    terms
        On what terms endpoints are called; the parallelism is for all places together.
    transport
        The run's: its journal gets every answer, and its tally what calls took.
    label
        What calls are counted under.
    sink
        Takes the scores.
    meter
        Gives what looks at the calls of a job; None where nothing does.
    """

    jobs: Iterator[tuple[Row, BoundScorer | None]]
    scorers: tuple[BoundScorer, ...]
    answering: Answering | None
    spec: BenchmarkSpec
    terms: Terms
    transport: Transport
    label: str
    sink: Sink
    meter: Callable[[], Meter] | None = None

    @property
    def stages(self) -> int:
        """Count the stages of a job that wait for endpoints.

        These are given `parallelism` calls each: while a judge looks at one answer, the model
        is at work on another.
        """
        return 1 if self.answering is None else 1 + any(s.calls for s in self.scorers)


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
        """Score rows, those first answered that are to be.

        Raises
        ------
        EvalMetricsError
            No row can be scored, or the places to work at are gone.
        """
        ...
