"""One row answered, and its answer scored: the same in this process and in any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.scorers import Row
from pytest_evalmetrics.scorers.one import score_row
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.generation import Generated, Generator
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, RowCalls
    from pytest_evalmetrics.scorers.one import Sink

__all__ = ["Attempted", "answer_and_score"]


@dataclass(frozen=True, slots=True)
class Attempted:
    """What came of one attempt at a row, as far as a run keeps it.

    Attributes
    ----------
    text
        The row with its answer, or why it has none: a JSON object, without secrets.
    exchanges
        What was asked, and answered.
    from_journal
        The answer came from the journal.
    measured
        Its columns, see `Generated.measured`; None where nothing came.
    cut
        It ended at the most tokens that there may be.
    failure
        Why there is no answer to be scored.
    reason
        The same for people, without secrets.
    call_failed
        That is because the call failed.
    """

    text: bytes
    exchanges: Sequence[Exchange]
    from_journal: bool
    measured: Mapping[str, float] | None = None
    cut: bool = False
    failure: RowError | None = None
    reason: str = ""
    call_failed: bool = False


async def answer_and_score(
    row: Row,
    generator: Generator,
    scorers: Sequence[BoundScorer],
    calls: RowCalls,
    sink: Sink,
    *,
    hide: Callable[[str], str],
) -> Attempted:
    """Answer a row, and score its answer, if it has one, by all scorers, one after the other.

    Its calls are counted before anything is awaited.

    Parameters
    ----------
    row
        The row.
    generator, scorers
        Who answers, and what scores.
    calls
        The row's way to endpoints.
    sink
        Takes the scores.
    hide
        Takes known secrets out of a text.

    Raises
    ------
    EvalMetricsError
        No row can be answered, or scored.
    """
    try:
        found = await generator.generate(row.item, row.sample, calls)
    except CallError as error:
        failure = RowError(error.kind, error.reason, hint=error.hint)
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
    calls: RowCalls,
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
