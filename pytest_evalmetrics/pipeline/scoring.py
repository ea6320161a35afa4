"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import ConfigError, DataError, Problem, RowError
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row, RowScores
from pytest_evalmetrics.model.scoring_notes import UnscoredRows
from pytest_evalmetrics.pipeline import benchmark_rows
from pytest_evalmetrics.pipeline.board import ANSWER, Board
from pytest_evalmetrics.pipeline.budgets import (
    CallLimits,
    Spender,
    budget_of,
    unanswered_replay,
)
from pytest_evalmetrics.pipeline.judges import Judges
from pytest_evalmetrics.pipeline.preflight import (
    constant_notes,
    metric_problems,
    template_problems,
)
from pytest_evalmetrics.pipeline.seen_rows import as_generated
from pytest_evalmetrics.pipeline.template_trials import TemplateTrials
from pytest_evalmetrics.scoring.door import (
    About,
    BoundScorer,
    Budget,
    Engine,
    Forecast,
    ModelGenerator,
    Terms,
    Transport,
    Usage,
    Workload,
    make_generator,
    make_scorers,
    redact,
    score_here,
    score_without_calls,
)
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.model.scores import JudgeCheck, JudgeUse, ScorerFailures
    from pytest_evalmetrics.pipeline.anchors import AnchorScores
    from pytest_evalmetrics.pipeline.benchmark_rows import ScorerInput
    from pytest_evalmetrics.scoring.door import Progress
    from pytest_evalmetrics.spec import Benchmark

    Bound = Sequence[BoundScorer]


class Runtime(Protocol):
    """What scoring needs of the run: its client, its progress and its budget."""

    replays: bool  # nothing is called
    asks_anew: bool  # the journal gives no answers
    budget: Budget | None

    def transport(self) -> Transport:
        """Return the client that all benchmarks of the run share."""
        ...

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Count the scores of one benchmark as they come in."""
        ...

    def usage(self) -> dict[str, object]:
        """Return the usage of the benchmark's calls in this run."""
        ...

    def warnings(self) -> list[str]:
        """Return the warnings of the run."""
        ...


class Scored(msgspec.Struct, frozen=True):
    """The outcome of scoring."""

    rows: RowScores  # the table with the scores in it, and why rows lack some
    failures: tuple[ScorerFailures, ...]  # the rows that lack some, by scorer
    notes: tuple[Note, ...]
    # the metrics' input: the table of `rows` without ignored rollouts
    table: RolloutTable
    chosen: benchmark_rows.Chosen
    judges: tuple[JudgeUse, ...]
    judge_checks: tuple[JudgeCheck, ...]
    # of thresholds on judges, and of a budget that was used up
    checks: tuple[Check, ...]
    stopped: bool  # by such a budget
    # the judge's scores of the anchors; None without anchors
    anchors: AnchorScores | None = None


class Scoring:
    """The scorers of one benchmark, and who answers its rows, bound and ready."""

    def __init__(
        self,
        benchmark: Benchmark,
        runtime: Any,
        label: str,
        engine: Engine | None = None,
        budget: Budget | None = None,
        *,
        only_tasks: frozenset[str] | None = None,
    ) -> None:
        spec = benchmark.spec
        # of which rollouts are drawn; None for all
        self._only_tasks = only_tasks
        self._runtime = runtime
        self._engine = engine
        # under which its calls are counted
        self._label = label
        self._terms = _terms_of(benchmark, runtime)
        self.scorers = make_scorers(spec.scorers, self._terms, benchmark.line_of)
        self.about: dict[str, About] = {}
        for scorer in self.scorers:
            self.about |= scorer.about
        self._generator = make_generator(
            spec, self._terms, benchmark.line_of, benchmark.file.parent
        )
        measured = () if self._generator is None else self._generator.scores
        given = _names_of(self.scorers)
        self._names = (*given, *measured)
        if spec.budget is not None and budget is None:
            budget = budget_of(spec.budget)
        run_budget = None if runtime is None else runtime.budget
        self._limits = CallLimits(budget, run_budget)
        if run_budget is not None:
            self._refuse_without_price(run_budget)
        self._judges = Judges(benchmark, self.scorers)
        # its reward settled, and without the thresholds on judges
        self.benchmark = benchmark_rows.with_reward(
            self._judges.benchmark, given, measured
        )

    def _refuse_without_price(self, budget: Budget) -> None:
        """Refuse a budget in money for models without a price."""
        if "cost" not in budget.limits:
            return
        priced = [judge.model for scorer in self.scorers for judge in scorer.judges]
        names = [model.name for model in priced if model.price is None]
        if isinstance(self._generator, ModelGenerator):
            names = [*self._generator.unpriced_names, *names]
        if names:
            _, words = budget.limits["cost"]
            raise DataError(
                f"the run's budget is {words}, and {names[0]} has no price",
                hint="write price: {input: ..., output: ...} under it, per million tokens",
            )

    def hide(self, text: str) -> str:
        """Take the secrets of its scorers out of a text."""
        return redact(text, secrets=self._terms.secrets)

    @property
    def asks(self) -> bool:
        """Whether it calls endpoints, or a target."""
        return self._generator is not None or any(
            scorer.calls for scorer in self.scorers
        )

    def choose(self, plan: Plan) -> None:
        """Read the labels, and the numbers of the rows; choose which are scored."""
        self._judges.read_labels()
        self._trials = self._new_trials()
        chosen = benchmark_rows.choose(
            self.benchmark,
            plan,
            self._names,
            self._engine,
            only_tasks=self._only_tasks,
            trials=self._trials,
        )
        chosen = benchmark_rows.with_hidden_ids(chosen, self.hide)
        table = structs.replace(
            chosen.table, directions=self._directions(chosen.table.directions)
        )
        self.chosen = structs.replace(chosen, table=table)

    def _directions(
        self, recorded: Mapping[str, DirectionName]
    ) -> dict[str, DirectionName]:
        """Return which way is better: of recorded scores, and of those that scorers give."""
        directions = {
            score: direction
            for score, direction in recorded.items()
            if score not in self._names
        }
        for scorer in self.scorers:
            directions.update(scorer.directions)
        return directions

    def problems(self, plan: Plan, *, hooked: bool) -> list[Problem]:
        """Find what would leave the chosen rows' scores without use."""
        benchmark = self.benchmark
        table = self.chosen.table
        rewarding = [
            i for i, s in enumerate(self.scorers) if benchmark.spec.reward in s.scores
        ]
        problems = metric_problems(benchmark, plan, table, self._names, hooked=hooked)
        trials = self._trials
        numbers = self.chosen.rows.tolist()
        if trials is None or not self.chosen.tried:
            trials = TemplateTrials(benchmark.spec)
            numbers = self._tried_again(trials)
        rows = (row for row, failure in self._rows() if failure is None)
        first = next(rows, None)
        of_templates = template_problems(benchmark, first, trials, numbers, rewarding)
        return [*problems, *of_templates]

    def _new_trials(self) -> TemplateTrials | None:
        """Try the templates of a benchmark that asks; None for others."""
        return TemplateTrials(self.benchmark.spec) if self.asks else None

    def _tried_again(self, trials: TemplateTrials) -> range:
        """Read the chosen rows again to fill in the templates; return their numbers."""
        count = 0
        last: object = None
        for row, failure in self._rows() if trials.texts else ():
            if failure is not None or row.item is last:  # or another sample
                continue
            last = row.item
            trials.fill_in(count, row)
            count += 1
        return range(count)

    def run(self, plan: Plan, *, hooked: bool = False) -> Scored:
        """Score every row."""
        self.choose(plan)
        problems = self.problems(plan, hooked=hooked) if self.asks else []
        if problems:
            raise ConfigError(self._label.partition("::")[0], tuple(problems))
        self._board = board = self._score_chosen()
        failures = tuple(board.failures(self.scorers))
        notes = [*_notes_of_failures(failures), *self._notes()]
        rows = self._row_scores(plan, board)
        table = rows.table
        if self._generator is not None:
            notes += board.answer_notes()
            if self.benchmark.spec.params.ignore_request_failure:
                table, ignored = self._without_failed_requests(table, board)
                notes += ignored
        spent: list[Check] = []
        if self._limits.reached:
            spent.append(self._limits.check(self.benchmark, board, self._usage()))
        spent += unanswered_replay(self.benchmark, board)
        # before the usage of judges is summed up
        anchors = self._judges.anchor_scores(self._score_anchors)
        notes += self._judges.anchor_notes(anchors)
        judged = self._judges.check(self._score_others)
        return Scored(
            rows=rows,
            failures=failures,
            notes=(*notes, *judged.notes),
            table=table,
            chosen=self.chosen,
            judges=judged.uses,
            judge_checks=judged.judge_checks,
            checks=(*judged.checks, *spent),
            stopped=bool(spent),
            anchors=anchors,
        )

    def _notes(self) -> Iterator[Note]:
        """Yield remarks on how the benchmark is set up."""
        yield from self.chosen.notes
        if len(self.chosen.rows) > 1:
            yield from constant_notes(self.benchmark.spec)
        for scorer in self.scorers:
            yield from scorer.notes
        yield from self._terms.notes
        yield from benchmark_rows.reward_notes(self.benchmark)

    def _row_scores(self, plan: Plan, board: Board) -> RowScores:
        """Return each row's scores, without those that no answer gave and nothing reads."""
        names = self._names
        table = board.table()
        answers = None
        if self._generator is not None:
            answers = board.answers.of
            empty = {
                name
                for name in self._generator.scores
                if name not in plan.scores and np.isnan(board.columns[name]).all()
            }
            names = tuple(name for name in names if name not in empty)
            table = board.table(without=empty)
            whole = {
                name
                for name in COUNTED_SCORES
                if name in table.scores and not np.isnan(board.columns[name]).any()
            }
            table = structs.replace(table, integers=table.integers | whole)
        return RowScores(
            table, names, board.failed, board.requests.of, board.reasons.of, answers
        )

    def _without_failed_requests(
        self, table: RolloutTable, board: Board
    ) -> tuple[RolloutTable, tuple[Note, ...]]:
        """Drop rollouts whose request failed; then tasks may have fewer than they should."""
        table, ignored = board.without_failed_requests(table)
        expect = self.benchmark.spec.expect
        # no other key sets the number
        if ignored and expect.rollouts is None:
            self.benchmark = self.benchmark.but(expect=replace(expect, rollouts="any"))
        return table, ignored

    def forecast(
        self, plan: Plan, recorded: Mapping[str, float]
    ) -> tuple[Forecast, int]:
        """Count the calls still to be bound, and those that the journal answers."""
        self.scorers = tuple(scorer for scorer in self.scorers if scorer.calls)
        self.choose(plan)
        board = self._score_chosen()
        usage = self._usage()
        parallelism = self.benchmark.spec.params.parallelism
        calls = float(usage.failed)
        unanswered = 0
        if self._generator is not None:
            unanswered = sum(ANSWER in failures for failures in board.failed.values())
            calls += unanswered * self._calls_of_an_answer(board, usage, unanswered)
        calls += self._calls_of_labelled_rows(is_asking=calls > 0)
        usage = self._usage()
        if usage.calls or not recorded:
            return Forecast.of(usage, calls, parallelism), usage.calls
        expected: dict[str, float | None] = {}
        for name in ("total_tokens", "cost", "latency_s"):
            mean = recorded.get(f"mean/{name}")
            expected[name] = None if mean is None else mean * unanswered
        seconds = expected["latency_s"]
        forecast = Forecast(
            calls,
            expected["total_tokens"],
            expected["cost"],
            None if seconds is None else seconds / parallelism,
        )
        return forecast, 0

    def _calls_of_labelled_rows(self, *, is_asking: bool) -> int:
        """Count the calls for anchors and for the rows of a judge check.

        A run that asks anything asks the anchors anew.
        """
        calls = 0
        for labelled in self._judges.labelled:
            before = self._usage()
            self._score_others(labelled.rows, [labelled.scorer])
            calls += self._usage().failed - before.failed
        anchors = self._judges.anchors
        if anchors is not None:
            before = self._usage()
            self._score_others(anchors.rows, [anchors.scorer])
            after = self._usage()
            calls += after.failed - before.failed
            if is_asking:
                calls += after.calls - before.calls
        return calls

    def _calls_of_an_answer(self, board: Board, usage: Usage, unanswered: int) -> float:
        """Return the scorers' calls for one answer, as for the answers that there are."""
        rows = len(board.rows)
        if unanswered < rows:
            return (usage.calls + usage.failed - rows) / (rows - unanswered)
        calls = 0
        for scorer in self.scorers:
            calls += max(1, len(scorer.judges)) * scorer.repeats
        return calls

    def rescored(
        self,
        data: bytes | None,
        recorded: Mapping[str, object],
        tables: Mapping[str, RolloutTable],
    ) -> tuple[dict[str, RolloutTable], list[Note]]:
        """Score the rows that a baseline keeps anew; return its tables, and notes."""
        rows, places = benchmark_rows.kept_rows(data, recorded, tables)
        board = self._score_others(rows, self.scorers)
        failures = tuple(board.failures(self.scorers))
        scored = {}
        for agent, table in tables.items():
            new = {
                name: column[places[agent]] for name, column in board.columns.items()
            }
            integers = table.integers - set(new)
            scored[agent] = structs.replace(
                table, scores={**table.scores, **new}, integers=integers
            )
        return scored, [*_notes_of_failures(failures, of_baseline=True)]

    # -- the calls ---------------------------------------------------------------------------

    def _score_chosen(self) -> Board:
        return self._score(self.chosen.table, self._rows(), self.scorers, own=True)

    def _score_anchors(self, rows: Sequence[ScorerInput], bound: Bound) -> Board:
        """Score the anchors: by today's judge, where it judged anything today.

        They are asked anew once in a run, which may score a benchmark several times.
        """
        memory = self._transport().memory
        asked = ("anchors", self._label)
        anew = self._usage().requests > 0 and asked not in memory
        if anew:
            memory[asked] = True
        return self._score_others(rows, bound, anew=anew)

    def _score_others(
        self, rows: Sequence[ScorerInput], bound: Bound, *, anew: bool = False
    ) -> Board:
        """Score rows that are not those of the benchmark."""
        order = np.arange(len(rows))
        none = np.zeros(len(rows), np.int64)
        table = RolloutTable(
            agents=("",),
            agent=none.astype(np.int32),
            tasks=tuple(range(len(rows))),
            task=order,
            sample=none,
            scores={},
            read_as=order,
        )
        return self._score(table, rows, bound, anew=anew)

    def _score(
        self,
        table: RolloutTable,
        rows: Iterable[ScorerInput],
        bound: Bound,
        *,
        own: bool = False,
        anew: bool = False,
    ) -> Board:
        """Score rows; those of the benchmark, its `own`, are answered first if it has a model."""
        generator = None
        engine = None
        names = _names_of(bound)
        total = len(table) * len(bound)
        if own:
            generator = self._generator
            engine = self._engine
        if generator is not None:
            names = (*names, *generator.scores)
            total = len(table)
        with self._runtime.progress(total) as progress:
            board = Board(table, names, generator, progress, self.hide)
            progress.score = partial(board.mean_so_far, self.benchmark.spec.reward)
            has_calls = any(scorer.calls for scorer in bound)
            if engine is None and generator is None and not has_calls:
                score_without_calls(_jobs(board, rows, bound), board, self.hide)
                return board
            work = self._workload(board, rows, bound, anew=anew)
            if engine is not None:
                engine.prepare()
            self._transport().run(_worked(work, engine, progress))
        return board

    def _workload(
        self, board: Board, rows: Iterable[ScorerInput], bound: Bound, *, anew: bool
    ) -> Workload:
        """Describe the work on a board's rows; if it has a generator, they are answered first."""
        work = Workload(
            jobs=_jobs(board, rows, bound),
            scorers=tuple(bound),
            answering=None,
            spec=self.benchmark.spec,
            terms=self._terms,
            transport=self._transport(),
            label=self._label,
            sink=board,
            meter=self._meter if self._limits.budgets else None,
            anew=anew,
        )
        if board.generator is None:
            return work
        to_answer = ((row, None) for row, _ in rows)
        return structs.replace(work, jobs=to_answer, answering=board)

    def _meter(self) -> Spender:
        return Spender(self._limits)

    def _usage(self) -> Usage:
        return self._transport().usage.of(self._label)

    def _transport(self) -> Transport:
        client: Transport = self._runtime.transport()
        client.keep_secret(self._terms.secrets)
        return client

    # -- the rows ----------------------------------------------------------------------------

    def _rows(self) -> Iterator[ScorerInput]:
        """Read the files again; recorded rows come as they were generated."""
        for row in benchmark_rows.rows_of(self.benchmark, self.chosen):
            yield as_generated(row) if self._generator is None else (row, None)

    def as_scored(self, wanted: Collection[int] | None = None) -> Iterator[ScorerInput]:
        """Yield the wanted rows as the scorers saw them."""
        for row, failure in self._rows():
            if wanted is not None and row.index not in wanted:
                continue
            if self._generator is None:
                yield row, failure
                continue
            answers = json.loads(self._board.answers.of(row.index))
            answer = answers[0] if answers else {}
            failed = None
            if "failed" in answer:
                kind, message = answer["failed"]
                failed = RowError(str(kind), str(message))
            item = answer.get("item", row.item)
            sample_data = answer.get("sample", {})
            yield structs.replace(row, item=item, sample_data=sample_data), failed


async def _worked(work: Workload, engine: Engine | None, progress: Progress) -> None:
    """Score rows on an engine, or here."""
    async with progress.ticking():
        if engine is None:
            await score_here(work)
        else:
            await engine.score(work)


def _names_of(bound: Bound) -> tuple[str, ...]:
    return tuple(name for scorer in bound for name in scorer.scores)


def _terms_of(benchmark: Benchmark, runtime: Runtime | None) -> Terms:
    """Return the terms on which a benchmark's endpoints are called."""
    params = benchmark.spec.params
    terms = Terms(
        parallelism=params.parallelism,
        timeout_s=params.request_timeout,
        max_retries=params.max_retries,
        max_wait_s=params.max_wait,
        replays=runtime is None or runtime.replays,
        # of a model's, where there is one
        judging=params if benchmark.spec.model is None else None,
    )
    with suppress(OSError, UnicodeDecodeError):
        terms.hide_keys_of(benchmark.file.read_text(encoding="utf-8"))
    return terms


def _jobs(
    board: Board, rows: Iterable[ScorerInput], bound: Bound
) -> Iterator[tuple[Row, BoundScorer]]:
    for row, failure in rows:
        for scorer in bound:
            if failure is None:
                yield row, scorer
            else:
                board.lacks(row, scorer.scores, failure, failure.message)


def _notes_of_failures(
    failures: Iterable[ScorerFailures], *, of_baseline: bool = False
) -> Iterator[Note]:
    """Note each kind of failure, for a run that goes on without such rows."""
    for failed in failures:
        for kind, count in failed.kinds.items():
            yield UnscoredRows(
                scores=failed.scores,
                kind=kind,
                count=count,
                rows=failed.rows,
                example=failed.examples[kind],
                of_baseline=of_baseline,
            )
