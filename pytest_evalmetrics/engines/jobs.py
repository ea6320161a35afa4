"""The jobs of a work that is done elsewhere, and what there is but one of.

That is the order in which equal calls are counted and calls are let through, the journal, the
tally, the results. Who does a job can be lost at any time: then it can be done again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.engines import messages as said
from pytest_evalmetrics.engines.in_order import InOrder
from pytest_evalmetrics.transport import CallError, Occurrences
from pytest_evalmetrics.transport.journal_store import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.scorers import Row
    from pytest_evalmetrics.transport import Meter
    from pytest_evalmetrics.transport.journal_store import Failure

__all__ = ["Job", "Jobs"]


@dataclass(eq=False)
class Job:
    """A row that is to be scored, or answered and scored, until it is done."""

    order: int
    row: Row
    scorer: int | None
    meter: Meter | None
    count: int | None = None  # of first calls with the same content before its own
    again: bool = False
    wishes: bool = False  # to be let make its calls
    kept: dict[bytes, Entry] = field(default_factory=dict)
    found: int = 0  # answers of the journal that are in the tally
    counted: int = 0  # answers that are in the tally, and will come again

    @property
    def given(self) -> said.Given:
        """What a worker is told."""
        return said.Given(self.order, self.row, self.scorer, self.count, self.again)

    def lost(self) -> None:
        """Let it be done again."""
        self.again, self.wishes = True, False
        self.counted = len(self.kept) + self.found


class Jobs:
    """The jobs of a work.

    Parameters
    ----------
    work
        The work.
    tell
        Says something to whoever has the job of that order, if somebody has.

    Attributes
    ----------
    under_way
        The jobs that were given to somebody and are not done, by order.
    """

    def __init__(self, work: Work, tell: Callable[[int, Any], None]) -> None:
        self.under_way: dict[int, Job] = {}
        self._work = work
        self._tell = tell
        self._numbers = {id(scorer): n for n, scorer in enumerate(work.scorers)}
        self._pulled = 0
        self._open = True  # there may be more
        self._occurrences = Occurrences()
        self._firsts: InOrder[int] = InOrder()
        self._wishes: InOrder[bool] = InOrder()
        transport = work.transport
        self._hears: dict[type, Callable[[Any], None]] = {
            said.First: lambda it: self._settle(it.order, it.digest),
            said.Wished: lambda it: self._wish(it.order),
            said.Paid: self._pay,
            said.Kept: self._keep,
            said.KeptFailure: self._keep_failure,
            said.Used: self._use,
            said.Unanswered: lambda it: transport.usage.failed(it.label, it.requests),
            said.Warned: lambda it: transport.ledger.warn(it.text),
            said.Done: self._done,
        }

    @property
    def all_done(self) -> bool:
        """Whether there is nothing more to be done."""
        return not self._open and not self.under_way

    def next(self) -> Job | None:
        """Give the next job; None if there are no more."""
        found = next(self._work.jobs, None) if self._open else None
        if found is None:
            self._open = False
            return None
        row, scorer = found
        number = None if scorer is None else self._numbers[id(scorer)]
        meter = None if self._work.meter is None else self._work.meter()
        job = self.under_way[self._pulled] = Job(self._pulled, row, number, meter)
        self._pulled += 1
        if scorer is not None and not scorer.calls:
            self._makes_no_call(job.order)
        return job

    def close(self) -> None:
        """Let go of what the jobs come from, such as a file."""
        self._open = False
        close = getattr(self._work.jobs, "close", None)
        if close is not None:
            close()

    def hear(self, message: Any, answer: Callable[[Any], None]) -> None:
        """Hear what a worker says; `answer` says something to it.

        Raises
        ------
        EvalMetricsError
            No job can come to a good end.
        """
        if isinstance(message, said.Asked):
            answer(said.Found(message.question, self._known(message)))
        elif isinstance(message, said.Broken):
            raise message.error
        else:
            self._hears[type(message)](message)

    # -- what goes in the order of the rows ---------------------------------------------------

    def _settle(self, order: int, digest: int | None) -> None:
        for settled, content in self._firsts.hear(order, digest):
            count = self._occurrences.count(content)
            job = self.under_way.get(settled)
            if job is not None:
                job.count = count
                self._tell(settled, said.Counted(settled, count))

    def _wish(self, order: int) -> None:
        job = self.under_way.get(order)
        if job is None:
            return
        job.wishes = True
        if self._wishes.is_past(order):
            self._admit(order)
        self._pass(order, wishes=True)

    def _pass(self, order: int, *, wishes: bool) -> None:
        """Let those through, or not, whose turn it is: after all that were before them."""
        for turn, _ in self._wishes.hear(order, wishes or None):
            self._admit(turn)

    def _admit(self, order: int) -> None:
        job = self.under_way.get(order)
        if job is None or not job.wishes or job.meter is None:
            return
        job.wishes = False
        refusal = None
        try:
            job.meter.admit()
        except CallError as error:
            refusal = error
        self._tell(order, said.Admitted(order, refusal))

    def _makes_no_call(self, order: int) -> None:
        self._settle(order, None)
        self._pass(order, wishes=False)

    # -- what is kept and counted -------------------------------------------------------------

    def _known(self, message: said.Asked) -> Entry | Failure | None:
        job = self.under_way.get(message.order)
        journal = self._work.transport.ledger.journal
        known: Entry | Failure | None = None if job is None else job.kept.get(message.key)
        if known is None and journal is not None:
            known = journal.get(message.key) or journal.failure(message.key)
        return known

    def _pay(self, message: said.Paid) -> None:
        job = self.under_way.get(message.order)
        if job is not None and job.meter is not None:
            job.meter.paid(message.requests, message.tokens, message.price)

    def _keep(self, message: said.Kept) -> None:
        _, key, status, text, latency_s, attempts, for_good = message
        job = self.under_way.get(message.order)
        if job is not None:
            job.kept[key] = Entry(status, text, latency_s, attempts, 0.0, 0.0)
        journal = self._work.transport.ledger.journal
        if journal is not None and for_good:
            journal.put(key, status=status, text=text, latency_s=latency_s, attempts=attempts)

    def _keep_failure(self, message: said.KeptFailure) -> None:
        journal = self._work.transport.ledger.journal
        if journal is not None:
            journal.put_failure(*message)

    def _use(self, message: said.Used) -> None:
        job, from_journal = self.under_way.get(message.order), message.answer.from_journal
        if job is not None and from_journal:
            self._pass(message.order, wishes=False)
            if job.counted:  # a worker that is lost had it
                job.counted -= 1
                return
            job.found += 1
        self._work.transport.usage.answered(message.label, message.answer, message.price)

    def _done(self, message: said.Done) -> None:
        job = self.under_way.pop(message.order)
        self._makes_no_call(message.order)
        work = self._work
        for name, scorer, found, more in message.told:
            getattr(work.sink, name)(job.row, work.scorers[scorer], *found, **more)
        for spent in message.spent:
            judge = work.scorers[spent.scorer].judges[spent.judge]
            judge.model.spending.add(spent.attempts, spent.latency_s, spent.tokens)
        if message.attempted is not None and work.answering is not None:
            work.answering.attempted(job.row, message.attempted)
