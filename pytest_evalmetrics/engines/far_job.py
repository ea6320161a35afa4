"""A job at a worker: what is known of it, and what is noted until it is done."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.engines.messages import Paid, Spent, Wished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.engines.messages import Given
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Row, Scores
    from pytest_evalmetrics.transport import CallError, Price, Tokens

__all__ = ["NOW", "FarJob", "FarMeter", "NotAdmitted", "spender"]

NOW: ContextVar[FarJob] = ContextVar("NOW")  # the job that a task, and those it starts, work at


class NotAdmitted(Exception):  # noqa: N818 - no error that anybody sees
    """The run was not asked yet whether this job may make its calls."""


class FarJob:
    """A job, and the sink that notes what came of its scorers.

    Parameters
    ----------
    given
        What is to be done.
    number_of
        Gives a scorer's place among those of the benchmark.
    say
        Says something to the run.

    Attributes
    ----------
    until_done
        Keys of answers that the run keeps no longer than until this is done.
    told, spent
        See `Done`.
    """

    def __init__(
        self, given: Given, number_of: Callable[[BoundScorer], int], say: Callable[[Any], None]
    ) -> None:
        self.given = given
        self.until_done: set[bytes] = set()
        self.told: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = []
        self.spent: list[Spent] = []
        self._number_of = number_of
        self._say = say
        self._count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._admission: asyncio.Future[CallError | None] | None = None
        if given.before is not None:
            self.counted(given.before)

    def scored(self, row: Row, scorer: BoundScorer, found: Scores, *, from_journal: bool) -> None:
        """Note scores."""
        del row
        self._note("scored", scorer, found, from_journal=from_journal)

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        """Note why there are none."""
        del row
        self._note("lacks", scorer, error, reason)

    def explained(self, row: Row, scorer: BoundScorer, reason: str) -> None:
        """Note why they are what they are."""
        del row
        self._note("explained", scorer, reason)

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        """Note what was asked."""
        del row
        if found:
            self._note("asked", scorer, found)

    async def settled(self) -> int:
        """Wait for how many first calls with the same content came before its own."""
        return await asyncio.shield(self._count)

    def counted(self, before: int) -> None:
        """Take the run's answer to that."""
        if not self._count.done():
            self._count.set_result(before)

    async def admission(self) -> None:
        """Ask the run whether this may make its calls, once."""
        if self._admission is None:
            self._admission = asyncio.get_running_loop().create_future()
            self._say(Wished(self.given.order))
        await asyncio.shield(self._admission)

    def admitted(self, refusal: CallError | None) -> None:
        """Take the run's answer to that."""
        if self._admission is not None and not self._admission.done():
            self._admission.set_result(refusal)

    def must_be_admitted(self) -> None:
        """Let a call be made.

        Raises
        ------
        NotAdmitted
            The run was not asked yet.
        CallError
            It must not be.
        """
        if self._admission is None or not self._admission.done():
            raise NotAdmitted
        refusal = self._admission.result()
        if refusal is not None:
            raise refusal

    def _note(self, what: str, scorer: BoundScorer, *found: Any, **more: Any) -> None:
        self.told.append((what, self._number_of(scorer), found, more))


class FarMeter:
    """The run's meter, as one job's calls see it; see `transport.Meter`."""

    def __init__(self, job: FarJob, say: Callable[[Any], None]) -> None:
        self._job = job
        self._say = say

    def admit(self) -> None:
        """Let a call be sent."""
        self._job.must_be_admitted()

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent."""
        self._say(Paid(self._job.given.order, requests, tokens, price))


def spender(scorer: int, judge: int) -> Any:
    """Give what notes at its job what an answer of a judge took, see `Spending.add`."""

    def add(attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        NOW.get().spent.append(Spent(scorer, judge, attempts, latency_s, tokens))

    return add
