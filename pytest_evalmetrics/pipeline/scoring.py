"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import generators, scorers
from pytest_evalmetrics.data import RolloutTable, Row, RowScores
from pytest_evalmetrics.engines.local import Workload, score_here, score_without_calls
from pytest_evalmetrics.errors import ConfigError, DataError, Problem, RowError
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.pipeline import answers
from pytest_evalmetrics.pipeline.board import USED_UP, Board, Stage, recorded_row
from pytest_evalmetrics.pipeline.judges import Judges, agreement_notes
from pytest_evalmetrics.pipeline.preflight import metric_problems, template_problems
from pytest_evalmetrics.pipeline.row_choice import Chosen, choose, rows_of, with_reward
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports.wording import failed_row_notes
from pytest_evalmetrics.results import Check, JudgeCheck, JudgeUse, Verdict
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES
from pytest_evalmetrics.transport import Budget, CallError, Forecast, Meter, Usage, redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.results import ScorerFailures
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import BudgetSpec
    from pytest_evalmetrics.transport import Price, Tokens, Transport

    # rows as the scorers see them, and why some can't be scored
    Rows = Iterable[tuple[Row, RowError | None]]

_GO_ON = "run again, and what was paid for comes from the journal; or raise the budget"


@record
class Scored:
    """The outcome of scoring."""

    rows: RowScores  # the table with the scores in it, and why rows lack some
    failures: tuple[ScorerFailures, ...]  # the rows that lack some, by scorer
    notes: tuple[str, ...]
    table: RolloutTable  # what metrics reduce: that of `rows`, without what is to be ignored
    chosen: Chosen
    judges: tuple[JudgeUse, ...]
    judge_checks: tuple[JudgeCheck, ...]
    checks: tuple[Check, ...]  # of thresholds on judges, and of a budget that was used up
    stopped: bool  # by such a budget


class Scoring:
    """The scorers of one benchmark, and who answers its rows, bound and ready.

    `runtime` has the run's client and budget, and shows the progress: see `run_transport`.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        runtime: Any,
        label: str,
        engine: Engine | None = None,
        budget: Budget | None = None,
    ) -> None:
        spec = benchmark.spec
        self._runtime, self._engine = runtime, engine
        self._label = label  # under which its calls are counted
        params, judging = spec.params, spec.params if spec.model is None else None
        limits = (params.parallelism, params.request_timeout, params.max_retries, params.max_wait)
        self._terms = scorers.Terms(*limits, runtime.replays, judging=judging)
        self.scorers = scorers.make_scorers(spec.scorers, self._terms, benchmark.line_of)
        self.about = {name: a for scorer in self.scorers for name, a in scorer.about.items()}
        self._generator = generators.make_generator(spec, self._terms, benchmark.line_of)
        self._stage = None if self._generator is None else Stage.of(spec)
        measured = () if self._stage is None else self._stage.scores
        given = tuple(name for scorer in self.scorers for name in scorer.scores)
        self._names = (*given, *measured)
        own = None if spec.budget is None else budget or budget_of(spec.budget)
        self._limits = _CallLimits(own, runtime.budget)
        allowed = {} if runtime.budget is None else runtime.budget.limits
        models: list[Any] = [] if spec.model is None else [spec.model]
        models += [judge.model for scorer in self.scorers for judge in scorer.judges]
        for model in models if "cost" in allowed else ():
            if model.price is None:
                raise DataError(
                    f"the run's budget is {allowed['cost'][1]}, and {model.name} has no price",
                    hint="write price: {input: ..., output: ...} under it, per million tokens",
                )
        self._judges = Judges(benchmark, self.scorers)
        # its reward settled, and without the thresholds on judges
        self.benchmark = with_reward(self._judges.benchmark, given, measured)

    def hide(self, text: str) -> str:
        """Take the secrets of its scorers out of a text."""
        return redact(text, secrets=self._terms.secrets)

    @property
    def asks(self) -> bool:
        """Whether it calls endpoints, or a target."""
        return self._generator is not None or any(scorer.calls for scorer in self.scorers)

    def _choose(self, plan: Plan) -> Chosen:
        self._judges.read_labels()
        reader = None if self._engine is None else self._engine.read
        self.chosen = choose(self.benchmark, plan, self._names, reader)
        return self.chosen

    def problems(self, plan: Plan, *, hooked: bool, chosen: Chosen | None = None) -> list[Problem]:
        """Find what would leave the rows' scores without use; `hooked`: a hook computes metrics."""
        chosen = chosen or self._choose(plan)
        rewarding = [
            i for i, s in enumerate(self.scorers) if self.benchmark.spec.reward in s.scores
        ]
        rows = (row for row, failure in self._rows(chosen) if failure is None)
        return [
            *metric_problems(self.benchmark, plan, chosen.table, self._names, hooked=hooked),
            *template_problems(self.benchmark, rows, rewarding),
        ]

    def run(self, plan: Plan, *, hooked: bool = False) -> Scored:
        """Score every row."""
        chosen = self._choose(plan)
        if self.asks and (problems := self.problems(plan, hooked=hooked, chosen=chosen)):
            raise ConfigError(self._label.partition("::")[0], tuple(problems))
        self._board = board = self._score_chosen(chosen)
        stage, givers = self._stage, [*self.scorers]
        failures = tuple(board.failures(givers if stage is None else [stage.failing, *givers]))
        notes = [*failed_row_notes(failures), *chosen.notes]
        notes += [note for scorer in self.scorers for note in scorer.notes]
        names, table = self._names, board.table()
        if stage is not None:
            notes += board.answer_notes()
            columns = board.columns
            lost = {n for n in {*stage.scores} - {*plan.scores} if np.isnan(columns[n]).all()}
            names = tuple(name for name in names if name not in lost)
            table = board.table(without=lost)
            kept = {n: table.scores[n] for n in COUNTED_SCORES if n in table.scores}
            counted = {n for n, column in kept.items() if not np.isnan(column).any()}
            table = replace(table, integers=table.integers | counted)
        given = None if stage is None else board.answers.of
        rows = RowScores(table, names, board.failed, board.requests.of, board.reasons.of, given)
        if stage is not None and self.benchmark.spec.params.ignore_request_failure:
            table, ignored = board.without_failed_requests(table)
            notes += ignored
            spec = self.benchmark.spec
            if ignored and spec.expect.rollouts is None:  # nothing else says how many
                self.benchmark = self.benchmark.but(expect=replace(spec.expect, rollouts="any"))
        spent, stopped = [], bool(self._limits.reached)
        if stopped:
            spent.append(self._limits.check(self.benchmark, board, self._usage()))
        uses, agreed, gated = self._judges.check(lambda r, bound: self._score_others(r, [bound]))
        notes += agreement_notes(agreed)
        checks = (*gated, *spent)
        return Scored(rows, failures, tuple(notes), table, chosen, uses, agreed, checks, stopped)

    def forecast(self, plan: Plan, recorded: Mapping[str, float]) -> tuple[Forecast, int]:
        """Count the calls that are still to be bound, and those that the journal answers.

        `recorded` holds the baseline's metrics, for a model of which the journal has no answer.
        """
        self.scorers = tuple(scorer for scorer in self.scorers if scorer.calls)
        board = self._score_chosen(self._choose(plan))
        usage = self._usage()
        calls, rows, unanswered = float(usage.failed), len(board.rows), 0
        if self._stage is not None:
            lacking = self._stage.failing.scores
            failed = board.failed.values()
            unanswered = sum(any(each.scores == lacking for each in of_row) for of_row in failed)
            if unanswered < rows:  # the scorers' calls for an answer, as for those that there are
                each = (usage.calls + usage.failed - rows) / (rows - unanswered)
            else:
                each = sum(
                    max(1, len(scorer.judges)) * getattr(scorer.target, "repeats", 1)
                    for scorer in self.scorers
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

    def rescored(
        self, data: bytes | None, recorded: Mapping[str, Any], tables: Mapping[str, RolloutTable]
    ) -> tuple[dict[str, RolloutTable], list[str]]:
        """Score the rows that a baseline keeps anew; return its tables, and notes."""
        rows, places = answers.kept_rows(data, recorded, tables)
        board = self._score_others(rows, self.scorers)
        notes = failed_row_notes(tuple(board.failures(self.scorers)))
        scored = {}
        for agent, table in tables.items():
            new = {name: column[places[agent]] for name, column in board.columns.items()}
            integers = table.integers - set(new)
            scored[agent] = replace(table, scores={**table.scores, **new}, integers=integers)
        return scored, [f"of the baseline's rows: {note}" for note in notes]

    # -- the calls ---------------------------------------------------------------------------

    def _score_chosen(self, chosen: Chosen) -> Board:
        """Answer and score the rows of the benchmark."""
        rounds = 1 if self._generator is not None else len(self.scorers)
        with self._runtime.progress(len(chosen.table) * rounds) as progress:
            board = Board(chosen.table, self._names, self._generator, self._stage, progress)
            self._score(board, self._rows(chosen), self.scorers, self._engine)
        return board

    def _score_others(
        self, rows: Sequence[tuple[Row, RowError | None]], bound: Sequence[BoundScorer]
    ) -> Board:
        """Score rows that are not those of the benchmark."""
        order, none = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        tasks = tuple(range(len(rows)))
        table = RolloutTable(("",), none.astype(np.int32), tasks, order, none, {}, read_as=order)
        names = tuple(name for scorer in bound for name in scorer.scores)
        with self._runtime.progress(len(rows) * len(bound)) as progress:
            board = Board(table, names, progress=progress)
            self._score(board, rows, bound)
        return board

    def _score(
        self, board: Board, rows: Rows, bound: Sequence[BoundScorer], engine: Engine | None = None
    ) -> None:
        answering = None if board.generator is None else board
        jobs = _jobs(board, rows, bound)
        if engine is None and answering is None and not any(scorer.calls for scorer in bound):
            score_without_calls(jobs, board, self.hide)
            return
        if engine is not None:
            engine.prepare()
        do = score_here if engine is None else engine.score
        unscored = ((row, None) for row, _ in rows)
        work = Workload(
            jobs if answering is None else unscored,
            tuple(bound),
            answering,
            self.benchmark.spec,
            self._terms,
            self._transport(),
            self._label,
            board,
            (lambda: _Spender(self._limits)) if self._limits.budgets else None,
        )

        async def score() -> None:
            async with board.progress.ticking():
                await do(work)

        self._transport().run(score())

    def _usage(self) -> Usage:
        return self._transport().usage.by_label().get(self._label, Usage())

    def _transport(self) -> Transport:
        transport: Transport = self._runtime.transport()
        transport.keep_secret(self._terms.secrets)
        return transport

    # -- the rows ----------------------------------------------------------------------------

    def _rows(self, chosen: Chosen) -> Iterator[tuple[Row, RowError | None]]:
        """Go through the files again; recorded rows as they were generated."""
        for row in rows_of(self.benchmark, chosen):
            yield recorded_row(row) if self._generator is None else (row, None)

    def as_scored(
        self, wanted: Collection[int] | None = None
    ) -> Iterator[tuple[Row, RowError | None]]:
        """Go through the wanted rows as the scorers saw them."""
        for row, failure in self._rows(self.chosen):
            if wanted is not None and row.index not in wanted:
                continue
            if self._generator is None:
                yield row, failure
                continue
            (answer,) = json.loads(self._board.answers.of(row.index)) or [{}]
            item, sample_data = answer.get("item", row.item), answer.get("sample", {})
            failed = RowError(*map(str, answer["failed"])) if "failed" in answer else None
            yield replace(row, item=item, sample_data=sample_data), failed


def _jobs(
    board: Board, rows: Rows, bound: Sequence[BoundScorer]
) -> Iterator[tuple[Row, BoundScorer]]:
    for row, failure in rows:
        for scorer in bound:
            if failure is None:
                yield row, scorer
            else:
                board.lacks(row, scorer, failure, failure.message)


# -- budgets ---------------------------------------------------------------------------------


def budget_of(spec: BudgetSpec) -> Budget:
    """Make the budget that a benchmark file gives a benchmark."""
    limits = {
        "requests": (spec.requests, many(spec.requests or 0, "request")),
        "tokens": (spec.tokens, many(spec.tokens or 0, "token")),
        "cost": (spec.cost, f"a cost of {spec.cost or 0:g}"),
        "seconds": (spec.seconds, f"{spec.seconds or 0:g} seconds"),
    }
    return Budget({k: (most, words) for k, (most, words) in limits.items() if most is not None})


class _CallLimits:
    """The budgets of one benchmark: its own, and the run's."""

    def __init__(self, own: Budget | None, run: Budget | None) -> None:
        budgets = {"the": own, "the run's": run}
        self.budgets = {which: budget for which, budget in budgets.items() if budget is not None}
        self.reached = ""  # the budget that is used up; empty while no call was refused

    def admit(self) -> None:
        """Let a rollout begin."""
        for which, budget in self.budgets.items():
            if not self.reached and (words := budget.used_up()):
                self.reached = f"{which} budget of {words}"
        if self.reached:
            raise CallError(USED_UP, f"not asked: {self.reached} was used up", hint=_GO_ON)
        for budget in self.budgets.values():
            budget.begun += 1

    def check(self, benchmark: Benchmark, board: Board, usage: Usage) -> Check:
        """Report the one that was used up: nothing is judged then."""
        total = len(board.rows)
        left = sum(any(f.kind == USED_UP for f in failed) for failed in board.failed.values())
        hint = _GO_ON
        if 0 < left < total:
            calls = usage.calls / (total - left) * left
            rest = Forecast.of(usage, calls, benchmark.spec.params.parallelism)
            hint += f"; the rest takes about {rest.text}"
        lost = f"{of_many(left, total, 'rollout', 'was')} not asked for"
        reason, line = f"{self.reached} was used up, and {lost}", benchmark.line_of("budget")
        verdict, asked, bound = Verdict.INCONCLUSIVE, total - left, f"== {total}"
        return Check("expect", "budget", verdict, "", asked, bound, reason, hint, line=line)


class _Spender(Meter):
    """The meter of one rollout: what has begun is finished, whatever it takes."""

    __slots__ = ("_has_begun", "_has_paid", "_limits")

    def __init__(self, limits: _CallLimits) -> None:
        self._limits = limits
        self._has_begun = self._has_paid = False

    def admit(self) -> None:
        if not self._has_begun:
            self._limits.admit()
            self._has_begun = True

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        for budget in self._limits.budgets.values():
            budget.begun -= self._has_begun and not self._has_paid
            cost = 0.0 if tokens is None or price is None else price.of(tokens)
            budget.add(requests, 0 if tokens is None else tokens.total, cost)
        self._has_paid = True
