"""One attempt at a row: its answer, what it took, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import generation
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.pipeline.budgets import USED_UP
from pytest_evalmetrics.pipeline.choosing import reading_order
from pytest_evalmetrics.pipeline.row_texts import RowTexts
from pytest_evalmetrics.scorers import Row
from pytest_evalmetrics.spec.usage import GENERATED_SCORES
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.pipeline.board import Board
    from pytest_evalmetrics.scorers import RowCalls, Terms
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["ANSWER", "Attempts", "Stage", "recorded_row"]

ANSWER = "output_text"  # what a rollout lacks whose request failed
MARK = "_evalmetrics"  # a key of rollouts.jsonl, see `reports.rollout_lines`
# these say nothing of the endpoint: whatever the user thinks of failed requests, they count
_NEVER_IGNORED = frozenset({USED_UP, "not-in-journal", "bad-request"})


@dataclass(frozen=True, slots=True)
class Stage:
    """Generation, as the board sees it: one of those that give scores.

    Attributes
    ----------
    type
        ``model`` or ``target``.
    scores
        What it gives.
    """

    type: str
    scores: tuple[str, ...]


@dataclass
class Attempts:
    """The attempts at the rows of one benchmark.

    Attributes
    ----------
    generator
        Who answers.
    stage
        What is measured of each answer.
    failing
        The same, for what rollouts without an answer lack.
    """

    generator: generation.Generator
    stage: Stage
    failing: Stage
    _texts: RowTexts = field(init=False)
    _requests_failed: list[int] = field(default_factory=list)
    _cut: int = 0
    _answered: int = 0

    @classmethod
    def of(cls, benchmark: Benchmark, terms: Terms) -> Attempts | None:
        """Make what a benchmark asks for; None where nothing is generated.

        Raises
        ------
        EvalMetricsError
            Who answers can't be made.
        """
        spec = benchmark.spec
        made = generation.make_generator(spec, terms, benchmark.line_of)
        if made is None:
            return None
        priced = spec.model is not None and spec.model.price is not None
        kind = "model" if spec.model is not None else "target"
        names = tuple(name for name in GENERATED_SCORES if name != "cost" or priced)
        return cls(made, Stage(kind, names), Stage(kind, (ANSWER,)))

    def begin(self, rollouts: int) -> None:
        """Make room for what so many rollouts hold."""
        self._texts = RowTexts(rollouts, 1, "answers")

    async def attempt(
        self, row: Row, calls: RowCalls, board: Board, hide: Callable[[str], str]
    ) -> Row | None:
        """Answer a row, and give it with its answer; None where it has none.

        Its calls are counted before anything is awaited.

        Raises
        ------
        EndpointError
            All would fail.
        """
        try:
            found = await self.generator.generate(row.item, row.sample, calls)
        except CallError as error:
            failure = RowError(error.kind, error.reason, hint=error.hint)
            if error.kind not in _NEVER_IGNORED:
                self._requests_failed.append(row.index)
        except RowError as error:
            failure = error
        else:
            board.scored(row, self.stage, found.measured, from_journal=calls.from_journal)
            self._cut += found.finish_reason == "length"
            self._answered += 1
            if found.failure is None:
                return self._kept(row, found, hide)
            failure = found.failure
        finally:
            board.asked(row, self.stage, calls.exchanges)
        reason = hide(failure.message)
        board.lacks(row, self.failing, failure, reason)
        self._keep(row.index, {"item": row.item, "failed": [failure.kind, reason]}, hide)
        return None

    def _kept(self, row: Row, found: generation.Generated, hide: Callable[[str], str]) -> Row:
        item = {**row.item, "response": found.output_text}
        sample = found.sample_data
        self._keep(row.index, {"item": item, "sample": sample}, hide)
        # `replace` takes ten times as long, for each rollout
        return Row(row.index, row.agent, row.task, row.sample, item, sample, row.where)

    def _keep(self, index: int, what: Mapping[str, Any], hide: Callable[[str], str]) -> None:
        try:
            text = compact(what)
        except (TypeError, ValueError, OverflowError):
            text = compact(_written(what))
        self._texts.add(index, 0, hide(text).encode())

    def answer(self, index: int) -> bytes:
        """Give what a rollout holds, as a JSON array of one object, or of none."""
        return self._texts.of(index)

    def has(self, board: Board, name: str) -> bool:
        """Whether a score is one of a scorer, or was measured of any answer."""
        return name not in self.stage.scores or not np.isnan(board.column(name)).all()

    def without_failed_requests(self, table: RolloutTable) -> tuple[RolloutTable, tuple[str, ...]]:
        """Leave out the rollouts whose request failed, and say so.

        Where all of them failed, nothing is left out: then they are missing.
        """
        failed = np.isin(reading_order(table), self._requests_failed)
        if not failed.any() or failed.all():
            return table, ()
        kept = table.where(~failed)
        gone = len(table.tasks) - len(kept.tasks)
        tasks = f"; {gone} of {len(table.tasks)} tasks have none left" if gone else ""
        note = (
            f"left out of every metric: {int(failed.sum())} of {len(table)} rollouts, whose "
            f"request failed, because params.ignore_request_failure says so{tasks}"
        )
        return kept, (note,)

    def notes(self, board: Board) -> Iterator[str]:
        """Tell what a reader should know of the answers."""
        if self._cut:
            yield (
                f"{self._cut} of {self._answered} answers were cut off at the most tokens that the "
                "model may write (finish_reason: length): raise max_tokens; the score truncated "
                "says which"
            )
        silent = int(np.isnan(board.column("total_tokens")).sum()) - (
            len(board.rows) - self._answered
        )
        if silent > 0 and self.stage.type == "model":
            yield f"{silent} of {self._answered} answers don't say how many tokens they took"


def recorded_row(row: Row) -> tuple[Row, RowError | None]:
    """Give a recorded row as it was when it was generated, if it is one of ``rollouts.jsonl``.

    Returns
    -------
    row, failure
        The row with what scorers saw of it then; and why it has no answer, if it has none.
    """
    mark = row.item.get(MARK)
    if not isinstance(mark, dict):
        return row, None
    added = {MARK, *mark.get("added", ())}
    item = {key: value for key, value in row.item.items() if key not in added}
    item |= mark.get("row", {})
    failed = mark.get("failed")
    failure = RowError(str(failed[0]), str(failed[1])) if failed else None
    return replace(row, item=item, sample_data=mark.get("sample", {})), failure


def _written(value: Any) -> Any:
    """Make a value fit for a file, which can't hold half a surrogate pair as UTF-8."""
    if isinstance(value, dict):
        return {_written(key): _written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
