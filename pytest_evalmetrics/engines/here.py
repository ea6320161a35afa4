"""Work done in this process: row by row, or on its one loop with its one client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.engines.answering import answer_and_score
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers import RowCalls, shown_text
from pytest_evalmetrics.scorers.one import score_row
from pytest_evalmetrics.transport import Occurrences, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.scorers.one import Sink

__all__ = ["score_here", "score_without_calls"]


async def score_here(work: Work) -> None:
    """Do a work, see `Engine.score`; few jobs at once, begun in their order.

    Raises
    ------
    EvalMetricsError
        No row can be answered, or scored.
    """
    transport, sink, answering = work.transport, work.sink, work.answering
    occurrences = Occurrences()

    async def do(job: tuple[Row, BoundScorer | None]) -> None:
        row, scorer = job
        meter = None if work.meter is None else work.meter()
        calls = RowCalls(transport, row, occurrences, work.label, meter)
        if scorer is not None:
            await score_row(row, scorer, calls, sink, transport.hide)
        elif answering is not None:
            found = await answer_and_score(
                row, answering.generator, work.scorers, calls, sink, hide=transport.hide
            )
            answering.attempted(row, found)

    at_once = work.stages * work.terms.parallelism
    try:
        await run_bounded(do, work.jobs, at_once, lambda _job, _none: None)
    finally:
        if answering is not None:
            answering.generator.close()


def score_without_calls(
    jobs: Iterable[tuple[Row, BoundScorer]], sink: Sink, hide: Callable[[str], str]
) -> None:
    """Score rows by scorers that make no calls.

    Parameters
    ----------
    jobs
        Each row with each scorer.
    sink
        Takes the scores.
    hide
        Takes known secrets out of a text.
    """
    for row, scorer in jobs:
        try:
            found = scorer.score(row)
        except RowError as error:
            sink.lacks(row, scorer, error, hide(error.message))
        else:
            sink.scored(row, scorer, found, from_journal=False)
            if found.reason:
                sink.explained(row, scorer, shown_text(found.reason, hide))
