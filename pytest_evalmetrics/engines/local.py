"""The seam `Engine`, and the work as this process does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.scorers import Calls, Row, score_row, shown_text
from pytest_evalmetrics.transport import CallError, Occurrences, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.generators import Generated, Generator
    from pytest_evalmetrics.rollouts import Request, RolloutFile
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Terms
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Meter, Transport

__all__ = [
    "Answering",
    "Attempted",
    "Engine",
    "Workload",
    "answer_and_score",
    "score_here",
    "score_without_calls",
]


class Answering(Protocol):
    """Who answers rows that are to be answered before they are scored."""

    generator: Generator  # who answers here

    def attempted(self, row: Row, found: Attempted) -> None:
        """Take what came of a row, after its scores."""
        ...


@dataclass(frozen=True, slots=True)
class Workload:
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
    sink: Any
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

    async def score(self, work: Workload) -> None:
        """Score rows, those first answered that are to be.

        Raises
        ------
        EvalMetricsError
            No row can be scored, or the places to work at are gone.
        """
        ...


@dataclass(frozen=True, slots=True)
class Attempted:
    """What came of one attempt at a row, as far as a run keeps it."""

    text: bytes  # the row with its answer, or why it has none: a JSON object, without secrets
    exchanges: Sequence[Exchange]  # what was asked, and answered
    from_journal: bool  # the answer came from the journal
    # its columns, see `Generated.measured`; None where nothing came
    measured: Mapping[str, float] | None = None
    cut: bool = False  # it ended at the most tokens that there may be
    failure: RowError | None = None  # why there is no answer to be scored
    reason: str = ""  # the same for people, without secrets
    call_failed: bool = False  # that is because the call failed


async def answer_and_score(
    row: Row,
    generator: Generator,
    scorers: Sequence[BoundScorer],
    calls: Calls,
    sink: Any,
    *,
    hide: Callable[[str], str],
) -> Attempted:
    """Answer a row, and score its answer, if it has one, by all scorers, one after the other.

    Its calls are counted before anything is awaited.
    """
    try:
        found = await generator.generate(row.item, row.sample, calls)
    except CallError as error:
        failure = RowError(error.kind, error.message, hint=error.hint)
        return _failed(row, failure, calls, hide, call_failed=True)
    except RowError as error:
        return _failed(row, error, calls, hide)
    if found.failure is not None:
        return _failed(row, found.failure, calls, hide, found)
    item, sample = {**row.item, "response": found.output_text}, found.sample_data
    answered = Row(row.index, row.agent, row.task, row.sample, item, sample, row.where)
    attempted = Attempted(
        _text({"item": item, "sample": sample}, hide),
        calls.exchanges,
        calls.from_journal,
        found.measured,
        found.finish_reason == "length",
    )
    for scorer in scorers:
        await score_row(answered, scorer, calls.following(), sink, hide)
    return attempted


def _failed(
    row: Row,
    failure: RowError,
    calls: Calls,
    hide: Callable[[str], str],
    found: Generated | None = None,
    *,
    call_failed: bool = False,
) -> Attempted:
    reason = hide(failure.message)
    return Attempted(
        _text({"item": row.item, "failed": [failure.kind, reason]}, hide),
        calls.exchanges,
        calls.from_journal,
        None if found is None else found.measured,
        found is not None and found.finish_reason == "length",
        failure,
        reason,
        call_failed,
    )


def _text(what: Mapping[str, Any], hide: Callable[[str], str]) -> bytes:
    try:
        text = compact(what)
    except (TypeError, ValueError, OverflowError):
        text = compact(_written(what))
    return hide(text).encode()


def _written(value: Any) -> Any:
    """Make a value fit for a file, which can't hold half a surrogate pair as UTF-8."""
    if isinstance(value, dict):
        return {_written(key): _written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value


async def score_here(work: Workload, at_once: int | None = None) -> None:
    """Do a work, see `Engine.score`; few jobs at once, begun in their order."""
    transport, sink, answering = work.transport, work.sink, work.answering
    occurrences = Occurrences()

    async def do(job: tuple[Row, BoundScorer | None]) -> None:
        row, scorer = job
        meter = None if work.meter is None else work.meter()
        calls = Calls(transport, row.sample, occurrences, work.label, meter)
        if scorer is not None:
            await score_row(row, scorer, calls, sink, transport.hide)
        elif answering is not None:
            found = await answer_and_score(
                row, answering.generator, work.scorers, calls, sink, hide=transport.hide
            )
            answering.attempted(row, found)

    most = work.stages * work.terms.parallelism if at_once is None else at_once
    await run_bounded(do, work.jobs, most, lambda _job, _none: None)


def score_without_calls(
    jobs: Iterable[tuple[Row, BoundScorer]], sink: Any, hide: Callable[[str], str]
) -> None:
    """Score rows by scorers that make no calls."""
    for row, scorer in jobs:
        try:
            found = scorer.score(row)
        except RowError as error:
            sink.lacks(row, scorer, error, hide(error.message))
        else:
            sink.scored(row, scorer, found, from_journal=False)
            if found.reason:
                sink.explained(row, scorer, shown_text(found.reason, hide))
