"""What a run of a benchmark may use, and what it has used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.pipeline.board import Board
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import BudgetSpec
    from pytest_evalmetrics.transport import Price, Tokens

__all__ = ["USED_UP", "Budget", "Spender", "check_of"]

USED_UP = "budget"  # the kind of a call that was not made for it


class Budget:
    """Counts what is paid for, and lets no rollout begin once it is used up."""

    def __init__(self, spec: BudgetSpec, now: Callable[[], float] = time.monotonic) -> None:
        self._spec = spec
        self._now = now
        self._started: float | None = None
        self._requests = self._tokens = self._begun = 0
        self._cost = 0.0
        self.reached = ""  # what is used up, in words; empty while nothing is

    def spender(self) -> Spender:
        """Give what looks at the calls of one rollout."""
        return Spender(self)

    def admit(self) -> None:
        """Let a rollout begin."""
        now = self._now()
        if self._started is None:
            self._started = now
        if not self.reached:
            self.reached = self._used_up(now - self._started)
        if self.reached:
            raise CallError(
                USED_UP,
                f"not asked: the budget of {self.reached} was used up",
                hint="run again, and what was paid for comes from the journal; or raise the budget",
            )
        self._begun += 1

    def paid(
        self, requests: int, tokens: Tokens | None, price: Price | None, *, first: bool
    ) -> None:
        """Count a call; `first` of its rollout."""
        self._begun -= first
        self._requests += requests
        if tokens is not None:
            self._tokens += tokens.total
            self._cost += price.of(tokens) if price is not None else 0.0

    def _used_up(self, seconds: float) -> str:
        spec = self._spec
        # each rollout that has begun sends one request at least
        if spec.requests is not None and self._requests + self._begun >= spec.requests:
            return many(spec.requests, "request")
        if spec.tokens is not None and self._tokens >= spec.tokens:
            return many(spec.tokens, "token")
        if spec.cost is not None and self._cost >= spec.cost:
            return f"a cost of {spec.cost:g}"
        if spec.seconds is not None and seconds >= spec.seconds:
            return f"{spec.seconds:g} seconds"
        return ""


class Spender:
    """Looks at the calls of one rollout: what has begun is finished, whatever it takes."""

    __slots__ = ("_budget", "_has_begun", "_has_paid")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._has_begun = self._has_paid = False

    def admit(self) -> None:
        """Let a call be sent, see `transport.Meter`."""
        if not self._has_begun:
            self._budget.admit()
            self._has_begun = True

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call, see `transport.Meter`."""
        first = self._has_begun and not self._has_paid
        self._has_paid = True
        self._budget.paid(requests, tokens, price, first=first)


def check_of(benchmark: Benchmark, budget: Budget, board: Board) -> Check:
    """Say that a budget was used up: nothing is judged then."""
    total = len(board.rows)
    left = sum(any(f.kind == USED_UP for f in found) for found in board.failed.values())
    return Check(
        "expect",
        "budget",
        Verdict.INCONCLUSIVE,
        value=total - left,
        bound=f"== {total}",
        reason=f"the budget of {budget.reached} was used up, and "
        f"{of_many(left, total, 'rollout', 'was')} not asked for",
        hint="run again, and what was paid for comes from the journal; or raise the budget",
        line=benchmark.line_of("budget"),
    )
