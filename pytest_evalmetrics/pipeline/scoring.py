"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import scorers
from pytest_evalmetrics.collector import collector_eased
from pytest_evalmetrics.data import RowScores
from pytest_evalmetrics.engines import Work
from pytest_evalmetrics.engines.local import score_here, score_without_calls
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.pipeline.attempting import Attempts, recorded_row
from pytest_evalmetrics.pipeline.board import Board
from pytest_evalmetrics.pipeline.budgets import Budget, check_of
from pytest_evalmetrics.pipeline.choosing import choose, rows_of
from pytest_evalmetrics.pipeline.contents import Content
from pytest_evalmetrics.pipeline.judges import Judges
from pytest_evalmetrics.pipeline.rescoring import rescored, rows_kept
from pytest_evalmetrics.pipeline.rewards import with_any_rollouts, with_reward
from pytest_evalmetrics.pipeline.scored import Scored
from pytest_evalmetrics.reports import failed_row_notes
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES
from pytest_evalmetrics.transport import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.pipeline.board import Giver
    from pytest_evalmetrics.pipeline.choosing import Chosen
    from pytest_evalmetrics.pipeline.rescoring import KeptRows
    from pytest_evalmetrics.pipeline.scored import Runtime
    from pytest_evalmetrics.results import Check
    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Occurrences, Transport

__all__ = ["Scoring"]


class Scoring:
    """The scorers of one benchmark, and who answers its rows, made and ready.

    Parameters
    ----------
    benchmark
        The benchmark; has scorers, or a model or a target.
    runtime
        The run that it is a part of.
    label
        What its calls are counted under.
    engine
        Where its rows are read and scored, if not here.

    Attributes
    ----------
    benchmark
        The same, its reward settled, and without the thresholds on judges.
    about
        What scores stand for beyond their numbers, by name.
    made
        Its scorers.

    Raises
    ------
    EvalMetricsError
        A scorer can't be made, or nobody says which score is the reward.
    """

    def __init__(
        self, benchmark: Benchmark, runtime: Runtime, label: str, engine: Engine | None = None
    ) -> None:
        params = benchmark.spec.params
        terms = scorers.Terms(
            params.parallelism,
            params.request_timeout,
            params.max_retries,
            runtime.replays,
            judging=params if benchmark.spec.model is None else None,
        )
        self._runtime = runtime
        self._label = label
        self._engine = engine
        self._terms = terms
        self._secrets = terms.secrets
        self.made = scorers.make_scorers(benchmark.spec.scorers, terms, benchmark.line_of)
        self._attempts = Attempts.of(benchmark, terms)
        measured = () if self._attempts is None else self._attempts.stage.scores
        given = tuple(name for scorer in self.made for name in scorer.scores)
        self._names = (*given, *measured)
        self._content = Content(benchmark)
        self._budget = None if benchmark.spec.budget is None else Budget(benchmark.spec.budget)
        self._judges = Judges(benchmark, self.made)
        self.about = self._judges.about
        self.benchmark = with_reward(self._judges.benchmark, given, measured)

    def hide(self, text: str) -> str:
        """Take the secrets of its scorers out of a text."""
        return redact(text, secrets=self._secrets)

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
        self._judges.read_labels()
        reader = None if self._engine is None else self._engine.read
        chosen = choose(self.benchmark, plan, self._names, reader)
        self._chosen = chosen
        board = Board(chosen.table, self._names)
        rounds = 1 if self._attempts is not None else len(self.made)
        with self._runtime.progress(len(board.rows) * rounds) as progress:
            board.progress = progress
            self._score(board, chosen)
        board.flush()
        return self._scored(board, chosen, plan)

    def kept(self, table: RolloutTable) -> KeptRows:
        """Keep the rows that were scored, for a baseline."""
        return rows_kept(self._as_scored(), table)

    def rescored(
        self,
        data: bytes | None,
        recorded: Mapping[str, Any],
        tables: Mapping[str, RolloutTable],
    ) -> tuple[dict[str, RolloutTable], list[str]]:
        """Score a baseline's rows anew, see `rescoring.rescored`."""

        def score(board: Board, jobs: Iterator[tuple[Row, BoundScorer]]) -> None:
            with self._runtime.progress(len(board.rows) * len(self.made)) as board.progress:
                if not any(scorer.calls for scorer in self.made):
                    score_without_calls(jobs, board, self.hide)
                    return
                with collector_eased():
                    self._runtime.transport().run(score_here(self._work(jobs, board, None)))

        return rescored(data, recorded, tables, self.made, score)

    def _as_scored(self) -> Iterator[tuple[Row, RowError | None]]:
        """Go through the rows as the scorers saw them."""
        for written in rows_of(self.benchmark, self._chosen):
            if self._attempts is None:
                yield recorded_row(written)
                continue
            answers: list[dict[str, Any]] = json.loads(self._attempts.answer(written.index))
            found = answers[0] if answers else {}
            failed = found.get("failed")
            row = replace(
                written,
                item=found.get("item", written.item),
                sample_data=found.get("sample", {}),
            )
            yield row, RowError(str(failed[0]), str(failed[1])) if failed else None

    def _scored(self, board: Board, chosen: Chosen, plan: Plan) -> Scored:
        attempts = self._attempts
        givers: list[Giver] = [*self.made]
        if attempts is not None:
            givers.insert(0, attempts.failing)
        failures = tuple(board.failures(givers))
        notes = [*failed_row_notes(failures), *chosen.notes]
        table, names = board.table(), self._names
        if attempts is not None:
            notes += attempts.notes(board)
            names = tuple(n for n in names if n in plan.scores or attempts.has(board, n))
            kept = {n: c for n, c in table.scores.items() if n in names or n not in self._names}
            counted = {n for n in COUNTED_SCORES if n in kept and not any_of(np.isnan(kept[n]))}
            table = replace(table, scores=kept, integers=table.integers | counted)
        rows = RowScores(
            table,
            names,
            board.failed,
            board.requests.of,
            board.reasons.of,
            None if attempts is None else attempts.answer,
        )
        if attempts is not None and self.benchmark.spec.params.ignore_request_failure:
            table, ignored = attempts.without_failed_requests(table)
            if ignored:
                notes += ignored
                self.benchmark = with_any_rollouts(self.benchmark)
        checks: tuple[Check, ...] = ()
        if self._budget is not None and self._budget.reached:
            checks = (check_of(self.benchmark, self._budget, board),)
        partial = chosen.cut_to is not None
        judged = self._judges.judged(self._transport, self._calls)
        table = self._content.onto(table)
        return Scored(rows, failures, tuple(notes), partial, table, judged, checks)

    def _score(self, board: Board, chosen: Chosen) -> None:
        asks = self._attempts is not None or any(scorer.calls for scorer in self.made)
        if self._engine is None and not asks:
            score_without_calls(self._recorded(board, chosen), board, self.hide)
            return
        if self._engine is not None:
            self._engine.prepare()
        with collector_eased():
            self._runtime.transport().run(self._score_with_calls(board, chosen))

    async def _score_with_calls(self, board: Board, chosen: Chosen) -> None:
        do = score_here if self._engine is None else self._engine.score
        progress = board.progress
        jobs: Iterator[tuple[Row, BoundScorer | None]]
        if self._attempts is None:
            jobs = self._recorded(board, chosen)
        else:
            self._attempts.begin(board)
            jobs = ((row, None) for row in self._rows(chosen))
        async with progress.ticking():
            await do(self._work(jobs, board, self._attempts))

    def _work(
        self, jobs: Iterator[tuple[Row, BoundScorer | None]], board: Board, answering: Any
    ) -> Work:
        return Work(
            jobs,
            self.made,
            answering,
            self.benchmark.spec,
            self._terms,
            self._transport(),
            self._label,
            board,
            None if self._budget is None else self._budget.spender,
        )

    def _transport(self) -> Transport:
        transport = self._runtime.transport()
        transport.keep_secret(self._secrets)
        return transport

    def _calls(self, row: Row, occurrences: Occurrences) -> scorers.Calls:
        spender = None if self._budget is None else self._budget.spender()
        return scorers.Calls(self._transport(), row.sample, occurrences, self._label, spender)

    def _recorded(self, board: Board, chosen: Chosen) -> Iterator[tuple[Row, BoundScorer]]:
        for written in self._rows(chosen):
            row, failure = recorded_row(written)
            for scorer in self.made:
                if failure is None:
                    yield row, scorer
                else:
                    board.lacks(row, scorer, failure, failure.message)

    def _rows(self, chosen: Chosen) -> Iterator[Row]:
        """Go through the files again; for a baseline, what a data set holds is remembered."""
        spec = self.benchmark.spec
        compared = spec.dataset is not None and spec.baseline is not None
        return rows_of(self.benchmark, chosen, self._content.add if compared else None)
