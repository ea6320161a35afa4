"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from pytest_evalmetrics import rollouts, scorers
from pytest_evalmetrics.data import RowScores
from pytest_evalmetrics.errors import DataError, RowError
from pytest_evalmetrics.pipeline.board import Board, reading_order
from pytest_evalmetrics.pipeline.rewards import with_reward
from pytest_evalmetrics.rollouts.records import records
from pytest_evalmetrics.transport import Occurrences, run_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.results import ScorerFailures
    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Progress, Transport

__all__ = ["Runtime", "Scored", "Scoring"]


class Runtime(Protocol):
    """What a scored benchmark needs of the run that it is a part of.

    Attributes
    ----------
    replays
        Answers come from the journal alone.
    """

    replays: bool

    def transport(self) -> Transport:
        """Give the run's one way to endpoints."""
        ...

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Show how far it is, while it lasts."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of scoring.

    Attributes
    ----------
    rows
        The table with the scores in it, and why rows lack some.
    failures
        The rows that lack some, by scorer.
    notes
        The reasons, grouped; and what was left out on purpose.
    partial
        Rows were left out on purpose.
    """

    rows: RowScores
    failures: tuple[ScorerFailures, ...]
    notes: tuple[str, ...]
    partial: bool


class Scoring:
    """The scorers of one benchmark, made and ready.

    Parameters
    ----------
    benchmark
        The benchmark; has scorers.
    runtime
        The run that it is a part of.
    label
        What its calls are counted under.

    Attributes
    ----------
    benchmark
        The same, its reward settled.

    Raises
    ------
    EvalMetricsError
        A scorer can't be made, or nobody says which score is the reward.
    """

    def __init__(self, benchmark: Benchmark, runtime: Runtime, label: str) -> None:
        params = benchmark.spec.params
        terms = scorers.Terms(
            params.parallelism, params.request_timeout, params.max_retries, runtime.replays
        )
        self._runtime = runtime
        self._label = label
        self._scorers = scorers.make_scorers(benchmark.spec.scorers, terms, benchmark.line_of)
        self._names = tuple(name for scorer in self._scorers for name in scorer.scores)
        self.benchmark = with_reward(benchmark, self._names)

    def run(self, plan: Plan) -> Scored:
        """Score every row.

        Parameters
        ----------
        plan
            What the benchmark's metrics need.

        Raises
        ------
        DataError
            The rows can't be read.
        EndpointError
            An endpoint refuses every call.
        """
        table = self._table(plan)
        total = len(table)
        limit = self.benchmark.spec.params.limit_samples
        partial = limit is not None and limit < total
        if limit is not None and partial:
            table = table.where(reading_order(table) < limit)
        board = Board(table, self._names)
        with self._runtime.progress(len(table) * len(self._scorers)) as progress:
            board.progress = progress
            self._score(board)
        failures = tuple(board.failures(self._scorers))
        notes = [*board.notes(failures)]
        if partial:
            notes.append(
                f"incomplete on purpose: params.limit_samples takes the first {limit} of {total} "
                "rows, and no baseline is recorded"
            )
        rows = RowScores(board.table(), self._names, board.failed, board.exchanges.of)
        return Scored(rows, failures, tuple(notes), partial)

    def _table(self, plan: Plan) -> RolloutTable:
        spec, folder = self.benchmark.spec, self.benchmark.file.parent
        wanted = [name for name in plan.scores if name not in self._names]
        if spec.dataset is None:
            return rollouts.load(spec.rows, folder, scores=wanted, categories=plan.categories)
        table = rollouts.load_dataset(spec.rows, folder, scores=wanted, categories=plan.categories)
        # a data set's numbers are what is asked about, no scores: only those that metrics name
        return replace(
            table,
            scores={name: table.scores[name] for name in wanted},
            notes=tuple(n for n in table.notes if n.partition(":")[0] in wanted),
        )

    def _score(self, board: Board) -> None:
        if any(scorer.calls for scorer in self._scorers):
            self._runtime.transport().run(self._score_with_calls(board))
            return
        for row, scorer in self._jobs(board):
            try:
                board.scored(row, scorer, scorer.score(row), from_journal=False)
            except RowError as error:
                board.lacks(row, scorer, error, error.message)

    async def _score_with_calls(self, board: Board) -> None:
        transport = self._runtime.transport()
        occurrences = Occurrences()

        async def score(job: tuple[Row, BoundScorer]) -> None:
            row, scorer = job
            calls = scorers.RowCalls(transport, row, occurrences, self._label)
            try:
                found = await scorer.score_with(row, calls)
            except RowError as error:
                board.lacks(row, scorer, error, transport.hide(error.message))
            else:
                board.scored(row, scorer, found, from_journal=calls.from_journal)
            board.asked(row, scorer, calls.exchanges)

        parallelism = self.benchmark.spec.params.parallelism
        async with board.progress.ticking():
            await run_bounded(score, self._jobs(board), parallelism, lambda _job, _none: None)

    def _jobs(self, board: Board) -> Iterator[tuple[Row, BoundScorer]]:
        for row in self._rows(board):
            for scorer in self._scorers:
                yield row, scorer

    def _rows(self, board: Board) -> Iterator[Row]:
        """Go through the files again, each row with its place in the table."""
        spec = self.benchmark.spec
        recorded = spec.dataset is None
        table = board.rows
        index = -1
        for index, (where, item) in enumerate(records(spec.rows, self.benchmark.file.parent)):
            at = board.place(index)
            if at is None:
                break
            yield scorers.Row(
                index,
                table.agents[table.agent[at]],
                table.tasks[table.task[at]],
                int(table.sample[at]),
                item,
                item if recorded else {},
                where,
            )
        else:
            index += 1
        if index != len(table):
            raise DataError(
                f"the rows' files changed while they were read: {index} rows, after {len(table)}",
                hint="run again when nothing writes to them",
            )
