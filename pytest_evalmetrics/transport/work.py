"""What is done in this process in place of a request, and kept like one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.transport.answers import Answer
from pytest_evalmetrics.transport.errors import CallError
from pytest_evalmetrics.transport.journal import JournalMode
from pytest_evalmetrics.transport.usage import tokens_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pytest_evalmetrics.transport.ledger import Ledger
    from pytest_evalmetrics.transport.usage import Price, Tokens, UsageTally

__all__ = ["Meter", "Work", "perform", "work_key"]

_FORMAT = "evalmetrics-work/1"
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=repr)


class Meter(Protocol):
    """What looks at each call before it is paid for, and after."""

    def admit(self) -> None:
        """Let a call be sent.

        Raises
        ------
        CallError
            It must not be.
        """
        ...

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent, whatever came of it."""
        ...


@dataclass(frozen=True)
class Work:
    """One call of a function of the user's, as the journal knows it.

    Attributes
    ----------
    name
        The function: ``package.module:function``.
    given
        What it is called with.
    version
        What else its answer depends on; None where nobody says: then its answers are not kept,
        because nothing would tell when they are another's.
    sample
        The attempt's number.
    label
        What its usage is counted under.
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None
    sample: int = 0
    label: str = ""


async def perform(
    ledger: Ledger,
    usage: UsageTally,
    work: Work,
    make: Callable[[], Awaitable[str]],
    *,
    occurrence: int = 0,
    meter: Meter | None = None,
) -> Answer:
    """Do a work, or find in the journal what it came to.

    Parameters
    ----------
    ledger, usage
        The run's.
    work
        What is done.
    make
        Does it; gives JSON, which is kept. Raises a `CallError` where it fails.
    occurrence
        How many with the same content came before, in the order of the rows.
    meter
        Lets it be done, where the journal has no answer.

    Raises
    ------
    CallError
        It failed.
    """
    key = b""
    journal = ledger.journal
    if journal is not None:
        key = b"" if work.version is None else work_key(work, occurrence, ledger.hide)
        entry = journal.get(key) if key else None
        body = _parsed(entry.text) if entry is not None else None
        if entry is not None and body is not None:
            known = Answer(entry.status, body, entry.latency_s, entry.attempts, from_journal=True)
            usage.answered(work.label, known)
            return known
        if journal.mode is JournalMode.REPLAY:
            failure = journal.failure(key) if key else None
            if failure is not None:
                raise failure.error()
            raise CallError(
                "not-in-journal",
                f"the journal has no answer of {work.name} to this row",
                hint="give the target a version, and run once without replay",
            )
    if meter is not None:
        meter.admit()
    started = perf_counter()
    try:
        text = await make()
    except CallError as error:
        usage.failed(work.label, 1)
        ledger.keep_failure(key, error)
        if meter is not None:
            meter.paid(1, None, None)
        raise
    answer = Answer(200, json.loads(text), perf_counter() - started, 1, from_journal=False)
    if meter is not None:
        meter.paid(1, tokens_of(answer.body), None)
    ledger.keep(key, answer, text)
    usage.answered(work.label, answer)
    return answer


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # of an imported journal: then it is done anew
        return None


def work_key(work: Work, occurrence: int, hide: Callable[[str], str]) -> bytes:
    """Name a work for the journal; as `journal_key` does for a call.

    Parameters
    ----------
    work
        The work.
    occurrence
        How many with the same content came before it.
    hide
        Takes known secrets out of a text.
    """
    told = [_FORMAT, work.name, work.version, work.sample, occurrence, work.given]
    text = hide(_CANONICAL.encode(told))
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=20).digest()
