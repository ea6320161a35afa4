"""Budgets of one benchmark: what its calls may use, and the verdict where that is used up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import gates
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.bounds import AllBound
from pytest_evalmetrics.model.reasons import BudgetUsedUp, UnansweredReplay
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.scoring.door import Budget, CallError, Forecast, Meter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.pipeline.board import Board
    from pytest_evalmetrics.scoring.door import Tokens, Usage
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import BudgetSpec, PriceSpec

# the kind of a call that was not made because a budget was used up
USED_UP = "budget"
# the kind of a call that a replay can't answer
UNRECORDED = "not-in-journal"
_COUNT = "limit the requests or the seconds instead, or let the endpoint give its usage"
_GO_ON = "run again, and paid answers come from the journal; or raise the budget"
# the limits that need the tokens of each answer
_OF_TOKENS = ("tokens", "cost")


def budget_of(spec: BudgetSpec) -> Budget:
    """Make the budget that a benchmark file gives a benchmark."""
    limits: dict[str, tuple[float, str]] = {}
    if spec.requests is not None:
        limits["requests"] = spec.requests, many(spec.requests, "request")
    if spec.tokens is not None:
        limits["tokens"] = spec.tokens, many(spec.tokens, "token")
    if spec.cost is not None:
        limits["cost"] = spec.cost, f"a cost of {spec.cost:g}"
    if spec.seconds is not None:
        limits["seconds"] = spec.seconds, f"{spec.seconds:g} seconds"
    return Budget(limits)


class CallLimits:
    """The budgets of one benchmark: its own, and the run's."""

    def __init__(self, own: Budget | None, run: Budget | None) -> None:
        # by whose it is
        self.budgets: dict[str, Budget] = {}
        if own is not None:
            self.budgets["the"] = own
        if run is not None:
            self.budgets["the run's"] = run
        # why a call was refused; empty while none was
        self.reached = ""
        # why the next one will be: answers that don't give their tokens
        self.uncounted = ""

    def admit(self) -> None:
        """Let a rollout begin; CallError where a budget is used up."""
        if not self.reached:
            self.reached = self._used_up() or self.uncounted
        if self.reached:
            way_out = _COUNT if self.uncounted else _GO_ON
            message = f"not asked: {self.reached}"
            raise CallError(USED_UP, message, hint=way_out)
        for budget in self.budgets.values():
            budget.begun += 1

    def _used_up(self) -> str:
        """Return which budget is used up, in words; empty for none."""
        for whose, budget in self.budgets.items():
            words = budget.used_up()
            if words:
                return f"{whose} budget of {words} was used up"
        return ""

    def check(self, benchmark: Benchmark, board: Board, usage: Usage) -> Check:
        """Report the budget that was used up: nothing is judged then."""
        total = len(board.rows)
        left = board.failed_rows(USED_UP)
        rest = ""
        if 0 < left < total:
            calls = usage.calls / (total - left) * left
            parallelism = benchmark.spec.params.parallelism
            rest = Forecast.of(usage, calls, parallelism).text
        reason = BudgetUsedUp(
            words=self.reached,
            left=left,
            of=total,
            uncounted=bool(self.uncounted),
            rest=rest,
        )
        return Check(
            gate=Gate.EXPECT,
            name="budget",
            verdict=Verdict.INCONCLUSIVE,
            value=total - left,
            bound=AllBound(total),
            reasons=(reason,),
            line=benchmark.line_of("budget"),
        )


class Spender(Meter):
    """The meter of one rollout: what has begun is finished, whatever it takes."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._has_begun = False
        self._has_paid = False

    def admit(self) -> None:
        """Let the rollout begin, where the budgets allow it."""
        if not self._has_begun:
            self._limits.admit()
            self._has_begun = True

    def paid(
        self, requests: int, tokens: Tokens | None, price: PriceSpec | None
    ) -> None:
        """Count a call that was sent."""
        is_first = self._has_begun and not self._has_paid
        count = 0 if tokens is None else tokens.total
        cost = 0.0 if tokens is None or price is None else tokens.cost(price)
        for budget in self._limits.budgets.values():
            budget.begun -= is_first
            budget.add(requests, count, cost)
        self._has_paid = True

    def uncounted(self) -> None:
        """Note an answer without tokens, which a budget of them can't count."""
        for whose, budget in self._limits.budgets.items():
            for name in _OF_TOKENS:
                if name in budget.limits:
                    _, words = budget.limits[name]
                    self._limits.uncounted = (
                        f"{whose} budget of {words} can't be counted: an answer doesn't say how "
                        "many tokens it took"
                    )


def unanswered_replay(benchmark: Benchmark, board: Board) -> Iterator[Check]:
    """Report calls that a replay could not answer, if rows may lack a reward."""
    meaning, allowed = gates.missing_policy(benchmark.spec.expect)
    lost = board.failed_rows(UNRECORDED)
    if lost and (allowed or isinstance(meaning, float)):
        total = len(board.rows)
        yield Check(
            gate=Gate.EXPECT,
            name="replay",
            verdict=Verdict.INCONCLUSIVE,
            value=total - lost,
            bound=AllBound(total),
            reasons=(UnansweredReplay(lost=lost, of=total),),
        )
