"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pytest_evalmetrics import scorers
from pytest_evalmetrics.data import RolloutTable, RowScores, TaskId
from pytest_evalmetrics.data.content import SIZE, content_hash
from pytest_evalmetrics.engines.local import Workload, score_here, score_without_calls
from pytest_evalmetrics.errors import ConfigError, DataError, Problem, RowError
from pytest_evalmetrics.gc_pause import collector_eased
from pytest_evalmetrics.pipeline import scored_rows
from pytest_evalmetrics.pipeline.attempts import Attempts, CallLimits, budget_of, recorded_row
from pytest_evalmetrics.pipeline.judge_checks import Judged, Judges
from pytest_evalmetrics.pipeline.preflight import metric_problems, template_problems
from pytest_evalmetrics.pipeline.scored_rows import Board, KeptRows, reading_order, rows_of
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports import failed_row_notes
from pytest_evalmetrics.rollouts.foreign import lookup
from pytest_evalmetrics.rollouts.recorded import TASK_KEYS, records
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES
from pytest_evalmetrics.transport import Forecast, Usage, redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.pipeline.scored_rows import Chosen, Stage
    from pytest_evalmetrics.results import Check, ScorerFailures
    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec
    from pytest_evalmetrics.transport import Budget, Occurrences, Progress, Transport

    Jobs = Iterator[tuple[Row, BoundScorer | None]]


class Runtime(Protocol):
    """What a scored benchmark needs of the run that it is a part of."""

    replays: bool  # answers come from the journal alone
    asks_anew: bool  # nothing is answered by the journal

    @property
    def budget(self) -> Budget | None:
        """The budget of the whole run."""

    def transport(self) -> Transport:
        """Return the run's one way to endpoints."""

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Show the progress, while it lasts."""


@record
class Scored:
    """The outcome of scoring."""

    rows: RowScores  # the table with the scores in it, and why rows lack some
    failures: tuple[ScorerFailures, ...]  # the rows that lack some, by scorer
    notes: tuple[str, ...]
    partial: bool  # rows were left out on purpose
    table: RolloutTable  # what metrics reduce: that of `rows`, without what is to be ignored
    judged: Judged
    checks: tuple[Check, ...]  # a budget that was used up
    whole: RolloutTable | None  # all rows, where a sample was drawn
    files_rows: NDArray[np.int64]  # which row of the files each row is


# a row that already holds an answer changes with each run; these are what was asked
_ASKED = ("question", "query", "problem", "instruction", "user_input", "input", "reference")


class _Content:
    """A hash per task of a data set."""

    def __init__(self, spec: BenchmarkSpec) -> None:
        fields = None if spec.dataset is None else spec.rows.fields
        self._paths = None if fields is None else fields.content
        self._whole = spec.answers is not None  # then its rows are nothing but tasks
        self._ids = (*TASK_KEYS, None if fields is None else fields.task)
        self._of: dict[TaskId, str] = {}

    def add(self, task: TaskId, row: Mapping[str, Any]) -> None:
        """Take a row; of several rows of a task the first counts."""
        if task in self._of:
            return
        content: Any
        if self._paths is not None:
            content = [lookup(row, path) for path in self._paths]
        elif self._whole:
            content = {key: value for key, value in row.items() if key not in self._ids}
        else:
            content = {key: row[key] for key in _ASKED if key in row} or None
        self._of[task] = content_hash(content)

    def onto(self, table: RolloutTable) -> RolloutTable:
        """Give each row of a table the hash of its task."""
        if not any(self._of.values()):
            return table
        hashes = np.array([self._of.get(task, "") for task in table.tasks], dtype=f"S{SIZE}")
        return replace(table, content=hashes[table.task])


class Scoring:
    """The scorers of one benchmark, and who answers its rows, made and ready."""

    def __init__(
        self,
        benchmark: Benchmark,
        runtime: Runtime,
        label: str,
        engine: Engine | None = None,
        budget: Budget | None = None,
    ) -> None:
        spec = benchmark.spec
        self._runtime, self.benchmark = runtime, benchmark
        self._label = label  # under which its calls are counted
        self._engine = engine
        params, judging = spec.params, spec.params if spec.model is None else None
        limits = (params.parallelism, params.request_timeout, params.max_retries, params.max_wait)
        self._terms = scorers.Terms(*limits, runtime.replays, judging=judging)
        self.made = scorers.make_scorers(spec.scorers, self._terms, benchmark.line_of)
        self.about = {name: a for scorer in self.made for name, a in scorer.about.items()}
        self._attempts = Attempts.of(benchmark, self._terms)
        measured = () if self._attempts is None else self._attempts.stage.scores
        given = tuple(name for scorer in self.made for name in scorer.scores)
        self._names = (*given, *measured)
        self._content = _Content(spec)
        own = None if spec.budget is None else budget or budget_of(spec.budget)
        self._limits = CallLimits(own, runtime.budget)
        allowed = {} if runtime.budget is None else runtime.budget.limits
        models: list[Any] = [] if spec.model is None else [spec.model]
        models += [judge.model for scorer in self.made for judge in scorer.judges]
        for model in models if "cost" in allowed else ():
            if model.price is None:
                raise DataError(
                    f"the run's budget is {allowed['cost'][1]}, and {model.name} has no price",
                    hint="write price: {input: ..., output: ...} under it, per million tokens",
                )
        self._judges = Judges(benchmark, self.made)
        # its reward settled, and without the thresholds on judges
        self.benchmark = scored_rows.with_reward(self._judges.benchmark, given, measured)

    def hide(self, text: str) -> str:
        """Take the secrets of its scorers out of a text."""
        return redact(text, secrets=self._terms.secrets)

    @property
    def asks(self) -> bool:
        """Whether it calls endpoints, or a target."""
        return self._attempts is not None or any(scorer.calls for scorer in self.made)

    def _choose(self, plan: Plan) -> Chosen:
        self._judges.read_labels()
        reader, names = None if self._engine is None else self._engine.read, self._names
        self.chosen = scored_rows.choose(self.benchmark, plan, names, reader, self._described)
        return self.chosen

    def _described(self, table: RolloutTable) -> RolloutTable:
        """Give a data set's table the content of its tasks."""
        spec = self.benchmark.spec
        if spec.dataset is None:
            return table
        content, of_row = _Content(spec), np.empty(len(table), np.int64)
        of_row[reading_order(table)] = table.task
        rows = records(spec.rows, self.benchmark.file.parent)
        for at, (_, row) in zip(of_row.tolist(), rows, strict=True):
            content.add(table.tasks[at], row)
        return content.onto(table)

    def problems(self, plan: Plan, *, hooked: bool, chosen: Chosen | None = None) -> list[Problem]:
        """Find what would leave the rows' scores without use; `hooked`: a hook computes metrics."""
        chosen = chosen or self._choose(plan)
        rewarding = [i for i, s in enumerate(self.made) if self.benchmark.spec.reward in s.scores]
        rows = rows_of(self.benchmark, chosen)
        if self._attempts is None:
            rows = (row for row, failure in map(recorded_row, rows) if failure is None)
        return [
            *metric_problems(self.benchmark, plan, chosen.table, self._names, hooked=hooked),
            *template_problems(self.benchmark, rows, rewarding),
        ]

    def run(self, plan: Plan, *, hooked: bool = False) -> Scored:
        """Score every row."""
        chosen = self._choose(plan)
        if self.asks and (problems := self.problems(plan, hooked=hooked, chosen=chosen)):
            raise ConfigError(self._label.partition("::")[0], tuple(problems))
        board = Board(chosen.table, self._names)
        rounds = 1 if self._attempts is not None else len(self.made)
        with self._runtime.progress(len(board.rows) * rounds) as board.progress:
            self._score(board, chosen)
        board.flush()
        return self._scored(board, chosen, plan)

    def forecast(self, plan: Plan, recorded: Mapping[str, float]) -> tuple[Forecast, int]:
        """Count the calls that are still to be made, and those that the journal answers.

        The run has to be one that calls nothing. `recorded` holds the baseline's metrics, for a
        model of which the journal has no answer.
        """
        self.made = tuple(scorer for scorer in self.made if scorer.calls)
        chosen = self._choose(plan)
        board = Board(chosen.table, self._names)
        with self._runtime.progress(len(board.rows)) as board.progress:
            self._score(board, chosen)
        usage = self._usage()
        calls, rows, unanswered = float(usage.failed), len(board.rows), 0
        if self._attempts is not None:
            lacking = self._attempts.failing.scores
            failed = board.failed.values()
            unanswered = sum(any(one.scores == lacking for one in of_row) for of_row in failed)
            if unanswered < rows:  # the scorers' calls for an answer, as for those that there are
                each = (usage.calls + usage.failed - rows) / (rows - unanswered)
            else:
                each = sum(
                    max(1, len(one.judges)) * getattr(one.target, "repeats", 1) for one in self.made
                )
            calls += each * unanswered
        parallelism = self.benchmark.spec.params.parallelism
        if usage.calls or not recorded:
            return Forecast.of(usage, calls, parallelism), usage.calls
        tokens, cost, seconds = (
            mean * unanswered if (mean := recorded.get(f"mean/{name}")) is not None else None
            for name in ("total_tokens", "cost", "latency_s")
        )
        return Forecast(calls, tokens, cost, seconds and seconds / parallelism), 0

    def kept(self, table: RolloutTable) -> KeptRows:
        """Keep the rows that were scored, for a baseline."""
        return KeptRows.of(self.as_scored(), table)

    def rescored(
        self, data: bytes | None, recorded: Mapping[str, Any], tables: Mapping[str, RolloutTable]
    ) -> tuple[dict[str, RolloutTable], list[str]]:
        """Score a baseline's rows anew, see `scored_rows.rescored`."""

        def score(board: Board, jobs: Iterator[tuple[Row, BoundScorer]]) -> None:
            with self._runtime.progress(len(board.rows) * len(self.made)) as board.progress:
                if not any(scorer.calls for scorer in self.made):
                    score_without_calls(jobs, board, self.hide)
                    return
                with collector_eased():
                    self._runtime.transport().run(score_here(self._work(jobs, board, None)))

        return scored_rows.rescored(data, recorded, tables, self.made, score)

    # -- the calls ---------------------------------------------------------------------------

    def _score(self, board: Board, chosen: Chosen) -> None:
        if self._engine is None and not self.asks:
            score_without_calls(self._recorded(board, chosen), board, self.hide)
            return
        if self._engine is not None:
            self._engine.prepare()
        with collector_eased():
            self._runtime.transport().run(self._score_with_calls(board, chosen))

    async def _score_with_calls(self, board: Board, chosen: Chosen) -> None:
        do = score_here if self._engine is None else self._engine.score
        jobs: Jobs = self._recorded(board, chosen)
        progress = board.progress
        if self._attempts is not None:
            self._attempts.begin(board)
            jobs = ((row, None) for row in self._rows(chosen))
        async with progress.ticking():
            await do(self._work(jobs, board, self._attempts))

    def _work(self, jobs: Jobs, board: Board, attempts: Attempts | None) -> Workload:
        meter = self._limits.meter if self._limits.budgets else None
        calls = (self._terms, self._transport(), self._label)
        return Workload(jobs, self.made, attempts, self.benchmark.spec, *calls, board, meter)

    def _usage(self) -> Usage:
        return self._transport().usage.by_label().get(self._label, Usage())

    def _transport(self) -> Transport:
        transport = self._runtime.transport()
        transport.keep_secret(self._terms.secrets)
        return transport

    def _calls(self, row: Row, occurrences: Occurrences) -> scorers.Calls:
        meter = self._limits.meter()
        return scorers.Calls(self._transport(), row.sample, occurrences, self._label, meter)

    # -- the rows ----------------------------------------------------------------------------

    def _rows(self, chosen: Chosen) -> Iterator[Row]:
        """Go through the files again; for a baseline, what a data set holds is remembered."""
        spec = self.benchmark.spec
        compared = spec.dataset is not None and spec.baseline is not None
        return rows_of(self.benchmark, chosen, self._content.add if compared else None)

    def _recorded(self, board: Board, chosen: Chosen) -> Iterator[tuple[Row, BoundScorer]]:
        for written in self._rows(chosen):
            row, failure = recorded_row(written)
            for scorer in self.made:
                if failure is None:
                    yield row, scorer
                else:
                    board.lacks(row, scorer, failure, failure.message)

    def as_scored(
        self, wanted: Collection[int] | None = None
    ) -> Iterator[tuple[Row, RowError | None]]:
        """Go through the wanted rows as the scorers saw them."""
        for written in rows_of(self.benchmark, self.chosen):
            if wanted is not None and written.index not in wanted:
                continue
            if self._attempts is None:
                yield recorded_row(written)
                continue
            answers: list[dict[str, Any]] = json.loads(self._attempts.answer(written.index))
            answer = answers[0] if answers else {}
            item, sample_data = answer.get("item", written.item), answer.get("sample", {})
            failure = RowError(*map(str, answer["failed"])) if "failed" in answer else None
            yield replace(written, item=item, sample_data=sample_data), failure

    def _scored(self, board: Board, chosen: Chosen, plan: Plan) -> Scored:
        attempts = self._attempts
        givers: list[BoundScorer | Stage] = [*self.made]
        if attempts is not None:
            givers.insert(0, attempts.failing)
        failures = tuple(board.failures(givers))
        notes = [*failed_row_notes(failures), *chosen.notes]
        notes += [note for scorer in self.made for note in scorer.notes]
        table, names = board.table(), self._names
        if attempts is not None:
            notes += attempts.notes(board)
            names = tuple(n for n in names if n in plan.scores or attempts.has(board, n))
            kept = {n: c for n, c in table.scores.items() if n in names or n not in self._names}
            counted = {n for n in COUNTED_SCORES if n in kept and not np.isnan(kept[n]).any()}
            table = replace(table, scores=kept, integers=table.integers | counted)
        answers = None if attempts is None else attempts.answer
        rows = RowScores(table, names, board.failed, board.requests.of, board.reasons.of, answers)
        if attempts is not None and self.benchmark.spec.params.ignore_request_failure:
            table, ignored = attempts.without_failed_requests(table)
            notes += ignored
            spec = self.benchmark.spec
            if ignored and spec.expect.rollouts is None:  # nothing else says how many
                expect = replace(spec.expect, rollouts="any")
                self.benchmark = replace(self.benchmark, spec=replace(spec, expect=expect))
        checks = []
        if self._limits.reached:
            checks = self._limits.check(self.benchmark, board, self._usage())
        judged = self._judges.judged(self._transport, self._calls)
        table = self._content.onto(table)
        return Scored(
            rows,
            failures,
            tuple(notes),
            chosen.partial,
            table,
            judged,
            tuple(checks),
            chosen.whole,
            chosen.rows.repeat(chosen.samples),
        )
