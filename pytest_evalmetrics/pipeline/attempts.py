"""The attempts at rows of an online benchmark, and its budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import generators
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.pipeline.scored_rows import Board, RowTexts, Stage, reading_order
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec.metric_names import GENERATED_SCORES, MARK
from pytest_evalmetrics.transport import Budget, CallError, Forecast, Meter, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.local import Attempted
    from pytest_evalmetrics.scorers import Row, Terms
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import BudgetSpec
    from pytest_evalmetrics.transport import Price, Tokens, Usage

_USED_UP = "budget"  # the kind of a call that was not made for it
_GO_ON = "run again, and what was paid for comes from the journal; or raise the budget"
# these say nothing of the endpoint: whatever the user thinks of failed requests, they count
_NEVER_IGNORED = frozenset({_USED_UP, "not-in-journal", "bad-request"})


def budget_of(spec: BudgetSpec) -> Budget:
    """Make the budget that a benchmark file gives a benchmark."""
    limits = {
        "requests": (spec.requests, many(spec.requests or 0, "request")),
        "tokens": (spec.tokens, many(spec.tokens or 0, "token")),
        "cost": (spec.cost, f"a cost of {spec.cost or 0:g}"),
        "seconds": (spec.seconds, f"{spec.seconds or 0:g} seconds"),
    }
    return Budget({k: (most, words) for k, (most, words) in limits.items() if most is not None})


class CallLimits:
    """The budgets of one benchmark: its own, and the run's. Without any, all calls are made."""

    def __init__(self, own: Budget | None, run: Budget | None) -> None:
        self._budgets = {"the": own, "the run's": run}
        self.budgets = tuple(budget for budget in (own, run) if budget is not None)
        self.reached = ""  # the budget that is used up; empty while no call was refused

    def meter(self) -> Meter:
        """Return the meter of one rollout."""
        return Spender(self) if self.budgets else Meter()

    def admit(self) -> None:
        """Let a rollout begin."""
        for which, budget in self._budgets.items():
            if not self.reached and budget is not None and (words := budget.used_up()):
                self.reached = f"{which} budget of {words}"
        if self.reached:
            raise CallError(_USED_UP, f"not asked: {self.reached} was used up", hint=_GO_ON)
        for budget in self.budgets:
            budget.begun += 1

    def check(self, benchmark: Benchmark, board: Board, usage: Usage) -> list[Check]:
        """Report the one that was used up: nothing is judged then."""
        total = len(board.rows)
        left = sum(any(f.kind == _USED_UP for f in failed) for failed in board.failed.values())
        hint = _GO_ON
        if 0 < left < total:
            calls = usage.calls / (total - left) * left
            rest = Forecast.of(usage, calls, benchmark.spec.params.parallelism)
            hint += f"; the rest takes about {rest.text}"
        lost = f"{of_many(left, total, 'rollout', 'was')} not asked for"
        reason, line = f"{self.reached} was used up, and {lost}", benchmark.line_of("budget")
        verdict, asked, bound = Verdict.INCONCLUSIVE, total - left, f"== {total}"
        return [Check("expect", "budget", verdict, "", asked, bound, reason, hint, line=line)]


class Spender(Meter):
    """The meter of one rollout: what has begun is finished, whatever it takes."""

    __slots__ = ("_has_begun", "_has_paid", "_limits")

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._has_begun = self._has_paid = False

    def admit(self) -> None:
        """Let a call be sent."""
        if not self._has_begun:
            self._limits.admit()
            self._has_begun = True

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent."""
        for budget in self._limits.budgets:
            budget.begun -= self._has_begun and not self._has_paid
            cost = 0.0 if tokens is None or price is None else price.of(tokens)
            budget.add(requests, 0 if tokens is None else tokens.total, cost)
        self._has_paid = True


@dataclass
class Attempts:
    """The attempts at the rows of one benchmark, see `engines.Answering`."""

    generator: generators.Generator  # who answers
    stage: Stage  # what is measured of each answer
    failing: Stage  # the same, for what rollouts without an answer lack
    _board: Board = field(init=False)
    _progress: Progress = field(init=False)
    _answers: RowTexts = field(default_factory=lambda: RowTexts("answers"))
    _requests_failed: list[int] = field(default_factory=list)
    _cut: int = 0
    _answered: int = 0

    @classmethod
    def of(cls, benchmark: Benchmark, terms: Terms) -> Attempts | None:
        """Make what a benchmark asks for; None where nothing is generated."""
        spec = benchmark.spec
        made = generators.make_generator(spec, terms, benchmark.line_of)
        if made is None:
            return None
        priced = spec.model is not None and spec.model.price is not None
        kind = "model" if spec.model is not None else "target"
        names = tuple(name for name in GENERATED_SCORES if name != "cost" or priced)
        return cls(made, Stage(kind, names), Stage(kind, ("output_text",)))

    def begin(self, board: Board) -> None:
        """Get ready for the rollouts of a board, which its progress counts from here on."""
        self._board = board
        self._progress, board.progress = board.progress, Progress()  # that counts scores
        self._progress.unit = "rollouts"

    def attempted(self, row: Row, attempt: Attempted) -> None:
        """Take the outcome of a row."""
        board = self._board
        if attempt.measured is not None:
            board.scored(row, self.stage, attempt.measured, from_journal=attempt.from_journal)
            self._cut += attempt.cut
            self._answered += 1
        board.asked(row, self.stage, attempt.exchanges)
        self._answers.add(row.index, 0, attempt.text)
        if attempt.failure is not None:
            board.lacks(row, self.failing, attempt.failure, attempt.reason)
            if attempt.call_failed and attempt.failure.kind not in _NEVER_IGNORED:
                self._requests_failed.append(row.index)
        if failed := board.failed.get(row.index):
            self._progress.failed(failed[0].kind)
        else:
            self._progress.succeeded(from_journal=attempt.from_journal)

    def answer(self, index: int) -> bytes:
        """Return what a rollout holds, as a JSON array of one object, or of none."""
        return self._answers.of(index)

    def has(self, board: Board, name: str) -> bool:
        """Check whether a score is one of a scorer, or was measured of any answer."""
        return name not in self.stage.scores or not np.isnan(board.columns[name]).all()

    def without_failed_requests(self, table: RolloutTable) -> tuple[RolloutTable, tuple[str, ...]]:
        """Leave out the rollouts whose request failed, and say so; where all did, they stay."""
        failed = np.isin(reading_order(table), self._requests_failed)
        if not failed.any() or failed.all():
            return table, ()
        kept = table.where(~failed)
        gone = len(table.tasks) - len(kept.tasks)
        note = f"left out of every metric: {of_many(int(failed.sum()), len(table), 'rollout')}, "
        note += "whose request failed, because params.ignore_request_failure says so"
        note += f"; {of_many(gone, len(table.tasks), 'task', 'has')} none left" if gone else ""
        return kept, (note,)

    def notes(self, board: Board) -> Iterator[str]:
        """Describe what a reader should know of the answers."""
        if self._cut:
            yield (
                f"{of_many(self._cut, self._answered, 'answer', 'was')} cut off at the most tokens "
                "that the model may write (finish_reason: length): raise max_tokens; the score "
                "truncated says which"
            )
        unknown = int(np.isnan(board.columns["total_tokens"]).sum())
        silent = unknown - (len(board.rows) - self._answered)
        if silent > 0 and self.stage.type == "model":
            yield f"{silent} of {self._answered} answers don't say how many tokens they took"


def recorded_row(row: Row) -> tuple[Row, RowError | None]:
    """Return a row of ``rollouts.jsonl``, or another tool's failed attempt, as it was generated."""
    mark = row.item.get(MARK)
    if not isinstance(mark, dict):
        return row, None
    added = {MARK, *mark.get("added", ())}
    item = {key: value for key, value in row.item.items() if key not in added}
    item |= mark.get("row", {})
    failed = mark.get("failed")
    failure = RowError(str(failed[0]), str(failed[1])) if failed else None
    return replace(row, item=item, sample_data=mark.get("sample", {})), failure
