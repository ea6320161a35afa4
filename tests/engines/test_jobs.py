"""What there is but one of, whoever does the jobs and whatever becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.engines import Work
from pytest_evalmetrics.engines import messages as said
from pytest_evalmetrics.engines.local import Attempted
from pytest_evalmetrics.engines.ray_scoring import Jobs
from pytest_evalmetrics.pipeline.budgets import Budget
from pytest_evalmetrics.scorers import Row, Terms
from pytest_evalmetrics.spec import BenchmarkSpec, BudgetSpec
from pytest_evalmetrics.transport import Answer, CallError, Journal, Tokens, Transport

if TYPE_CHECKING:
    import random
    from pathlib import Path

ANSWER = Answer(200, {"usage": {"input_tokens": 1}}, 0.5, 1, from_journal=False)


@dataclass
class Run:
    """A run that answers rows elsewhere, and what it says to whom."""

    count: int
    budget: int | None = None
    journal: Journal | None = None
    told: list[tuple[int, Any]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    generator: Any = None

    def __post_init__(self) -> None:
        self.transport = Transport(self.journal)
        budget = None if self.budget is None else Budget(BudgetSpec(requests=self.budget))
        work = Work(
            ((Row(n, "agent", n, 0, {"n": n}), None) for n in range(self.count)),
            (),
            self,
            BenchmarkSpec(name="a"),
            Terms(),
            self.transport,
            "a",
            cast("Any", None),
            None if budget is None else budget.spender,
        )
        self.jobs = Jobs(work, lambda order, message: self.told.append((order, message)))
        self.given = [self.jobs.next() for _ in range(self.count)]
        assert self.jobs.next() is None

    def attempted(self, row: Row, found: Attempted) -> None:
        del found
        self.results.append(row.index)

    def hear(self, *messages: Any) -> list[Any]:
        answers: list[Any] = []
        for message in messages:
            self.jobs.hear(message, answers.append)
        return answers

    def done(self, order: int) -> None:
        self.hear(said.Done(order, [], [], Attempted(b"{}", (), from_journal=False)))

    def admitted(self) -> list[tuple[int, bool]]:
        found = [(o, m.refusal is None) for o, m in self.told if isinstance(m, said.Admitted)]
        self.told.clear()
        return found


def kept(order: int, *, for_good: bool = True) -> said.Kept:
    return said.Kept(order, b"key%d" % order, 200, "{}", 0.5, 1, for_good)


def used(order: int, *, from_journal: bool) -> said.Used:
    answer = Answer(200, ANSWER.body, 0.5, 1, from_journal=from_journal)
    return said.Used(order, "a", answer, None)


@given(chance=st.randoms(), budget=st.integers(1, 9), journalled=st.sets(st.integers(0, 7)))
def test_calls_are_let_through_in_the_order_of_the_rows(
    chance: random.Random, budget: int, journalled: set[int]
) -> None:
    run = Run(8, budget)
    orders = list(range(8))
    chance.shuffle(orders)
    for order in orders:
        run.hear(used(order, from_journal=True) if order in journalled else said.Wished(order))
    wishing = [n for n in range(8) if n not in journalled]
    assert run.admitted() == [(n, at < budget) for at, n in enumerate(wishing)]


def test_who_had_an_answer_of_the_journal_may_still_wish_for_another() -> None:
    run = Run(3, 2)
    run.hear(used(1, from_journal=True), said.Wished(1))
    assert run.admitted() == []  # the row before it has its turn first
    run.hear(said.Wished(0))
    assert run.admitted() == [(0, True), (1, True)]
    run.hear(said.Wished(2))
    ((_, message),) = run.told
    assert isinstance(message.refusal, CallError)
    assert message.refusal.kind == "budget"


def test_a_lost_job_keeps_its_place_and_what_was_paid_for_it() -> None:
    run = Run(3, 2)
    first = run.given[0]
    assert first is not None
    run.hear(said.Wished(1), said.Wished(0))
    assert run.admitted() == [(0, True), (1, True)]
    run.hear(said.Paid(0, 1, Tokens(1, 0, 1), None), kept(0), used(0, from_journal=False))
    first.lost()
    assert first.given.again
    run.hear(said.Wished(2))
    assert run.admitted() == [(2, False)]
    # another worker asks for what was kept, is given it, and goes on
    (found,) = run.hear(said.Asked(0, 7, b"key0"))
    assert found.question == 7
    assert found.entry.text == "{}"
    run.hear(used(0, from_journal=True), said.Wished(0))
    assert run.admitted() == [(0, True)]
    for order in range(3):
        run.done(order)
    assert run.jobs.all_done
    assert sorted(run.results) == [0, 1, 2]
    usage = run.transport.usage.by_label()["a"]
    assert (usage.calls, usage.from_journal, usage.requests) == (1, 0, 1)


def test_what_came_from_the_journal_is_counted_once_however_often_a_row_is_begun() -> None:
    run = Run(1)
    (job,) = run.given
    assert job is not None
    for _ in range(3):
        run.hear(used(0, from_journal=True), used(0, from_journal=True))
        job.lost()
    assert run.transport.usage.by_label()["a"].calls == 2


@pytest.mark.parametrize("for_good", [True, False])
def test_what_has_no_version_is_kept_until_its_row_is_done(tmp_path: Path, for_good: bool) -> None:
    run = Run(2, journal=Journal(tmp_path / "journal.sqlite3"))
    run.hear(kept(0, for_good=for_good))
    assert run.hear(said.Asked(0, 0, b"key0"))[0].entry is not None
    run.done(0)
    assert (run.hear(said.Asked(1, 1, b"key0"))[0].entry is not None) == for_good
    run.transport.close()
