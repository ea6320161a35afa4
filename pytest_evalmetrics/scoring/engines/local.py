"""The seam `Engine`, and the work as this process does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.scoring.scorers import (
    BoundScorer,
    Calls,
    Row,
    score_row,
    shown_text,
)
from pytest_evalmetrics.scoring.transport import (
    Meter,
    Occurrences,
    Terms,
    Transport,
    run_bounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts import Request, RolloutFile
    from pytest_evalmetrics.scoring.generation import Generated, Generator
    from pytest_evalmetrics.scoring.scorers import ScoreSink
    from pytest_evalmetrics.spec import BenchmarkSpec


class AnswerAttempt(msgspec.Struct, frozen=True):
    """The outcome of answering a row."""

    row: Row
    calls: Calls  # that it took
    generated: Generated | None  # None without an answer
    failure: RowError | None
    reason: str  # of the failure, without secrets
    text: bytes  # the row with its answer, as JSON


class Answers(Protocol):
    """Takes the answers to rows, see `pipeline`'s `Board`."""

    @property
    def generator(self) -> Generator | None:
        """Answers the rows."""
        ...

    def attempted(self, attempt: AnswerAttempt) -> None:
        """Take the outcome of a row."""
        ...


class Workload(msgspec.Struct, frozen=True):
    """The rows of one benchmark to be scored, or to be answered and then scored."""

    # each row with each scorer, or with None for one that is to be answered; in the order in
    # pulled as places get free; calls are counted per job
    jobs: Iterator[tuple[Row, BoundScorer | None]]
    scorers: tuple[BoundScorer, ...]
    # has the `generator`, and takes the outcome of each row; None if nothing is generated
    answering: Answers | None
    spec: BenchmarkSpec  # of the scorers and the generator
    terms: Terms  # on which endpoints are called; the parallelism is for all places together
    transport: Transport  # the run's, with its journal and its usage
    label: str  # of the calls in the usage
    sink: ScoreSink  # takes the scores
    meter: Callable[[], Meter] | None = None  # creates the counter of a job's calls
    # whether calls are sent even if the journal has their answers
    anew: bool = False


class Engine(Protocol):
    """Works elsewhere; the results are those of this process, to the byte."""

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read rollouts, see `rollouts.Reader`."""

    def prepare(self) -> None:
        """Get ready in the main thread for `score`; raise EngineError if nothing can work."""

    async def score(self, work: Workload) -> None:
        """Score rows, those first answered that are to be; EvalMetricsError if none can be."""

    def close(self) -> None:
        """Release all resources; called once, at the end of the run."""


async def _answer_and_score(row: Row, work: Workload, calls: Calls) -> None:
    """Answer a row, and score its answer; its calls are counted before anything is awaited."""
    answering = work.answering
    if answering is None or answering.generator is None:
        raise ValueError("nothing answers the rows of this work")
    hide = work.transport.hide
    generated: Generated | None = None
    kept: dict[str, object] = {"item": row.item}
    failure: RowError | None
    reason = ""
    try:
        generated = await answering.generator.generate(row.item, row.sample, calls)
        failure = generated.failure
    except RowError as error:
        failure = error
    if failure is not None:
        reason = hide(failure.message)
        kept["failed"] = [failure.kind, reason]
    elif generated is not None:
        item = {**row.item, "response": generated.reply.text}
        sample_data = generated.sample_data
        kept = {"item": item, "sample": sample_data}
        answered = structs.replace(row, item=item, sample_data=sample_data)
        for scorer in work.scorers:
            await score_row(answered, scorer, calls.following(), work.sink, hide)
    # not hidden: the row is scored again from rollouts.jsonl
    attempt = AnswerAttempt(
        row=row,
        calls=calls,
        generated=generated,
        failure=failure,
        reason=reason,
        text=_as_json(kept),
    )
    answering.attempted(attempt)


def _as_json(kept: Mapping[str, object]) -> bytes:
    """Write a row; UTF-8 can't hold half a surrogate pair, which is written as its escape."""
    try:
        return compact(kept).encode()
    except (TypeError, ValueError, OverflowError):
        return compact(_writable(kept)).encode()


def _writable(value: object) -> object:
    if isinstance(value, Mapping):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return value


async def score_here(work: Workload, at_once: int | None = None) -> None:
    """Do a work, see `Engine.score`; few jobs at once, begun in their order."""
    occurrences = Occurrences()
    if at_once is None:
        # a model and judges have `parallelism` calls each, so that both are always busy
        judged = work.answering is not None and any(
            scorer.calls for scorer in work.scorers
        )
        at_once = work.terms.parallelism * (1 + judged)

    async def do(job: tuple[Row, BoundScorer | None]) -> None:
        row, scorer = job
        meter = None if work.meter is None else work.meter()
        calls = Calls(
            work.transport,
            row.sample,
            occurrences,
            work.label,
            meter,
            anew=work.anew,
        )
        if scorer is not None:
            await score_row(row, scorer, calls, work.sink, work.transport.hide)
        else:
            await _answer_and_score(row, work, calls)

    await run_bounded(do, work.jobs, at_once)


def score_without_calls(
    jobs: Iterable[tuple[Row, BoundScorer]],
    sink: ScoreSink,
    hide: Callable[[str], str],
) -> None:
    """Score rows by scorers that make no calls."""
    for row, scorer in jobs:
        try:
            explained = scorer.score(row)
        except RowError as error:
            sink.lacks(row, scorer.scores, error, hide(error.message))
        else:
            reason = explained.reason and shown_text(explained.reason, hide)
            scores = explained.by_name(scorer.scores)
            sink.scored(row, scorer, scores, reason, from_journal=False)
