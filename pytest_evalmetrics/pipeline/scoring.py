"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, generators, scorers, transport
from pytest_evalmetrics.engines import local
from pytest_evalmetrics.errors import (
    ArtifactError,
    ConfigError,
    DataError,
    Problem,
    RowError,
)
from pytest_evalmetrics.layout import compact, many, of_many
from pytest_evalmetrics.model.bounds import AllBound
from pytest_evalmetrics.model.reasons import BudgetUsedUp, UnansweredReplay
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row, RowScores
from pytest_evalmetrics.model.scores import (
    JudgeCheck,
    JudgeUse,
    RowFailure,
    ScorerFailures,
)
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import benchmark_rows
from pytest_evalmetrics.pipeline.judges import Judges
from pytest_evalmetrics.pipeline.preflight import (
    constant_notes,
    metric_problems,
    template_problems,
)
from pytest_evalmetrics.reports.wording import failed_row_notes
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES, MARK

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.pipeline.anchors import AnchorScores
    from pytest_evalmetrics.pipeline.benchmark_rows import ScorerInput
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import BudgetSpec, PriceSpec
    from pytest_evalmetrics.transport import Budget, Progress, Transport

    Bound = Sequence[scorers.BoundScorer]

_USED_UP = "budget"  # the kind of a call that was not made because a budget was used up
_UNRECORDED = "not-in-journal"  # the kind of a call that a replay can't answer
# failures that are not the endpoint's count, even if failed requests are ignored
_NEVER_IGNORED = frozenset({_USED_UP, _UNRECORDED, "bad-request"})
_ANSWER = ("output_text",)  # the column that a rollout without an answer lacks
_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all
_COUNT = "limit the requests or the seconds instead, or let the endpoint give its usage"
_GO_ON = "run again, and paid answers come from the journal; or raise the budget"


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

    def usage(self) -> dict[str, Any]:
        """Return the usage of the benchmark's calls in this run."""
        ...

    def warnings(self) -> list[str]:
        """Return the warnings of the run."""
        ...


class Scored(msgspec.Struct, frozen=True):
    """The outcome of scoring."""

    rows: RowScores  # the table with the scores in it, and why rows lack some
    failures: tuple[ScorerFailures, ...]  # the rows that lack some, by scorer
    notes: tuple[str, ...]
    table: (
        RolloutTable  # the metrics' input: the table of `rows` without ignored rollouts
    )
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
        engine: local.Engine | None = None,
        budget: transport.Budget | None = None,
    ) -> None:
        spec, line_of = benchmark.spec, benchmark.line_of
        self._runtime, self._engine = runtime, engine
        self._label = label  # under which its calls are counted
        params, judging = spec.params, spec.params if spec.model is None else None
        limits = (
            params.parallelism,
            params.request_timeout,
            params.max_retries,
            params.max_wait,
        )
        replays, run_budget = (
            runtime is None or runtime.replays,
            runtime and runtime.budget,
        )
        self._terms = terms = transport.Terms(*limits, replays, judging=judging)
        with suppress(OSError, UnicodeDecodeError):
            terms.hide_keys_of(benchmark.file.read_text(encoding="utf-8"))
        self.scorers = scorers.make_scorers(spec.scorers, terms, line_of)
        self.about = {
            name: a for scorer in self.scorers for name, a in scorer.about.items()
        }
        self._generator = generators.make_generator(
            spec, terms, line_of, benchmark.file.parent
        )
        measured = () if self._generator is None else self._generator.scores
        given = tuple(name for scorer in self.scorers for name in scorer.scores)
        self._names = (*given, *measured)
        own = None if spec.budget is None else budget or budget_of(spec.budget)
        self._limits = _CallLimits(own, run_budget)
        allowed = {} if run_budget is None else run_budget.limits
        models: list[Any] = [] if spec.model is None else [spec.model]
        models += [judge.model for scorer in self.scorers for judge in scorer.judges]
        unpriced = [model.name for model in models if model.price is None]
        if "cost" in allowed and unpriced:
            message = f"the run's budget is {allowed['cost'][1]}, and {unpriced[0]} has no price"
            hint = "write price: {input: ..., output: ...} under it, per million tokens"
            raise DataError(message, hint=hint)
        self._judges = Judges(benchmark, self.scorers)
        # its reward settled, and without the thresholds on judges
        self.benchmark = benchmark_rows.with_reward(
            self._judges.benchmark, given, measured
        )

    def hide(self, text: str) -> str:
        """Take the secrets of its scorers out of a text."""
        return transport.redact(text, secrets=self._terms.secrets)

    @property
    def asks(self) -> bool:
        """Whether it calls endpoints, or a target."""
        return self._generator is not None or any(
            scorer.calls for scorer in self.scorers
        )

    def choose(self, plan: Plan) -> None:
        """Read the labels, and the numbers of the rows; choose which are scored."""
        self._judges.read_labels()
        chosen = benchmark_rows.choose(self.benchmark, plan, self._names, self._engine)
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
        benchmark, table = self.benchmark, self.chosen.table
        rewarding = [
            i for i, s in enumerate(self.scorers) if benchmark.spec.reward in s.scores
        ]
        rows = (row for row, failure in self._rows() if failure is None)
        problems = metric_problems(benchmark, plan, table, self._names, hooked=hooked)
        return [*problems, *template_problems(benchmark, rows, rewarding)]

    def run(self, plan: Plan, *, hooked: bool = False) -> Scored:
        """Score every row."""
        self.choose(plan)
        if self.asks and (problems := self.problems(plan, hooked=hooked)):
            raise ConfigError(self._label.partition("::")[0], tuple(problems))
        self._board = board = self._score_chosen()
        generator, failures = self._generator, tuple(board.failures(self.scorers))
        notes = [*failed_row_notes(failures), *self.chosen.notes]
        if len(self.chosen.rows) > 1:
            notes += constant_notes(self.benchmark.spec)
        notes += [note for scorer in self.scorers for note in scorer.notes]
        notes += self._terms.notes
        notes += benchmark_rows.reward_notes(self.benchmark)
        names, table, given = self._names, board.table(), None
        if generator is not None:
            notes += board.answer_notes()
            columns, given = board.columns, board.answers.of
            lost = {
                n
                for n in {*generator.scores} - {*plan.scores}
                if np.isnan(columns[n]).all()
            }
            names = tuple(name for name in names if name not in lost)
            table = board.table(without=lost)
            counts = (n for n in COUNTED_SCORES if n in table.scores)
            counted = {n for n in counts if not np.isnan(columns[n]).any()}
            table = structs.replace(table, integers=table.integers | counted)
        rows = RowScores(
            table, names, board.failed, board.requests.of, board.reasons.of, given
        )
        if generator is not None and self.benchmark.spec.params.ignore_request_failure:
            table, ignored = board.without_failed_requests(table)
            notes += ignored
            expect = self.benchmark.spec.expect
            if ignored and expect.rollouts is None:  # no other key sets the number
                self.benchmark = self.benchmark.but(
                    expect=replace(expect, rollouts="any")
                )
        limits = self._limits
        spent = (
            [limits.check(self.benchmark, board, self._usage())]
            if limits.reached
            else []
        )
        spent += _unrecorded(self.benchmark, board)
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

    def forecast(
        self, plan: Plan, recorded: Mapping[str, float]
    ) -> tuple[transport.Forecast, int]:
        """Count the calls still to be bound, and those that the journal answers."""
        self.scorers = tuple(scorer for scorer in self.scorers if scorer.calls)
        self.choose(plan)
        board = self._score_chosen()
        usage, parallelism = self._usage(), self.benchmark.spec.params.parallelism
        calls, rows, unanswered = float(usage.failed), len(board.rows), 0
        if self._generator is not None:
            unanswered = sum(_ANSWER in of_row for of_row in board.failed.values())
            if (
                unanswered < rows
            ):  # the scorers' calls for an answer, as for those that there are
                each = (usage.calls + usage.failed - rows) / (rows - unanswered)
            else:
                judged = [
                    (len(s.judges), getattr(s.target, "repeats", 1))
                    for s in self.scorers
                ]
                each = sum(max(1, judges) * repeats for judges, repeats in judged)
            calls += each * unanswered
        if usage.calls or not recorded:
            return transport.Forecast.of(usage, calls, parallelism), usage.calls
        tokens, cost, seconds = (
            mean * unanswered
            if (mean := recorded.get(f"mean/{name}")) is not None
            else None
            for name in ("total_tokens", "cost", "latency_s")
        )
        return transport.Forecast(
            calls, tokens, cost, seconds and seconds / parallelism
        ), 0

    def rescored(
        self,
        data: bytes | None,
        recorded: Mapping[str, Any],
        tables: Mapping[str, RolloutTable],
    ) -> tuple[dict[str, RolloutTable], list[str]]:
        """Score the rows that a baseline keeps anew; return its tables, and notes."""
        rows, places = benchmark_rows.kept_rows(data, recorded, tables)
        board = self._score_others(rows, self.scorers)
        notes = failed_row_notes(tuple(board.failures(self.scorers)))
        scored = {}
        for agent, table in tables.items():
            new = {
                name: column[places[agent]] for name, column in board.columns.items()
            }
            integers = table.integers - set(new)
            scored[agent] = structs.replace(
                table, scores={**table.scores, **new}, integers=integers
            )
        return scored, [f"of the baseline's rows: {note}" for note in notes]

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
        order, none = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        tasks = tuple(range(len(rows)))
        table = RolloutTable(
            ("",), none.astype(np.int32), tasks, order, none, {}, read_as=order
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
        generator, engine = (self._generator, self._engine) if own else (None, None)
        names = tuple(name for scorer in bound for name in scorer.scores)
        rounds, measured = (
            (len(bound), ()) if generator is None else (1, generator.scores)
        )
        with self._runtime.progress(len(table) * rounds) as progress:
            board = Board(table, (*names, *measured), generator, progress, self.hide)
            jobs = _jobs(board, rows, bound)
            if (
                engine is None
                and generator is None
                and not any(scorer.calls for scorer in bound)
            ):
                local.score_without_calls(jobs, board, self.hide)
                return board
            if engine is not None:
                engine.prepare()
            do = local.score_here if engine is None else engine.score
            work = local.Workload(
                jobs if generator is None else ((row, None) for row, _ in rows),
                tuple(bound),
                None if generator is None else board,
                self.benchmark.spec,
                self._terms,
                self._transport(),
                self._label,
                board,
                (lambda: _Spender(self._limits)) if self._limits.budgets else None,
                anew,
            )

            async def score() -> None:
                async with progress.ticking():
                    await do(work)

            self._transport().run(score())
        return board

    def _usage(self) -> transport.Usage:
        return self._transport().usage.of(self._label)

    def _transport(self) -> transport.Transport:
        client: transport.Transport = self._runtime.transport()
        client.keep_secret(self._terms.secrets)
        return client

    # -- the rows ----------------------------------------------------------------------------

    def _rows(self) -> Iterator[ScorerInput]:
        """Read the files again; recorded rows come as they were generated."""
        for row in benchmark_rows.rows_of(self.benchmark, self.chosen):
            yield _recorded_row(row) if self._generator is None else (row, None)

    def as_scored(self, wanted: Collection[int] | None = None) -> Iterator[ScorerInput]:
        """Yield the wanted rows as the scorers saw them."""
        for row, failure in self._rows():
            if wanted is not None and row.index not in wanted:
                continue
            if self._generator is None:
                yield row, failure
                continue
            (answer,) = json.loads(self._board.answers.of(row.index)) or [{}]
            item, sample_data = answer.get("item", row.item), answer.get("sample", {})
            failed = (
                RowError(*map(str, answer["failed"])) if "failed" in answer else None
            )
            yield structs.replace(row, item=item, sample_data=sample_data), failed


def _recorded_row(row: Row) -> ScorerInput:
    """Return a row of ``rollouts.jsonl``, or another tool's failed attempt, as it was generated."""
    mark = row.item.get(MARK)
    if not isinstance(mark, dict):
        return row, None
    added = {MARK, *mark.get("added", ())}
    item = {key: value for key, value in row.item.items() if key not in added}
    item |= mark.get("row", {})
    failed = mark.get("failed")
    failure = RowError(str(failed[0]), str(failed[1])) if failed else None
    return structs.replace(row, item=item, sample_data=mark.get("sample", {})), failure


def _jobs(
    board: Board, rows: Iterable[ScorerInput], bound: Bound
) -> Iterator[tuple[Row, scorers.BoundScorer]]:
    for row, failure in rows:
        for scorer in bound:
            if failure is None:
                yield row, scorer
            else:
                board.lacks(row, scorer.scores, failure, failure.message)


# -- budgets ---------------------------------------------------------------------------------


def budget_of(spec: BudgetSpec) -> transport.Budget:
    """Make the budget that a benchmark file gives a benchmark."""
    limits = {
        "requests": (spec.requests, many(spec.requests or 0, "request")),
        "tokens": (spec.tokens, many(spec.tokens or 0, "token")),
        "cost": (spec.cost, f"a cost of {spec.cost or 0:g}"),
        "seconds": (spec.seconds, f"{spec.seconds or 0:g} seconds"),
    }
    given = {
        name: (most, words)
        for name, (most, words) in limits.items()
        if most is not None
    }
    return transport.Budget(given)


def _unrecorded(benchmark: Benchmark, board: Board) -> Iterator[Check]:
    """Report calls that a replay could not answer, if rows may lack a reward."""
    meaning, allowed = gates.missing_policy(benchmark.spec.expect)
    lost = sum(
        any(f.kind == _UNRECORDED for f in row.values())
        for row in board.failed.values()
    )
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


class _CallLimits:
    """The budgets of one benchmark: its own, and the run's."""

    def __init__(
        self, own: transport.Budget | None, run: transport.Budget | None
    ) -> None:
        budgets = {"the": own, "the run's": run}
        self.budgets = {
            which: budget for which, budget in budgets.items() if budget is not None
        }
        self.reached = ""  # why a call was refused; empty while none was
        self.uncounted = (
            ""  # why the next one will be: answers that don't give their tokens
        )

    @property
    def way_out(self) -> str:
        return _COUNT if self.uncounted else _GO_ON

    def admit(self) -> None:
        for which, budget in self.budgets.items():
            if not self.reached and (words := budget.used_up()):
                self.reached = f"{which} budget of {words} was used up"
        self.reached = self.reached or self.uncounted
        if self.reached:
            message = f"not asked: {self.reached}"
            raise transport.CallError(_USED_UP, message, hint=self.way_out)
        for budget in self.budgets.values():
            budget.begun += 1

    def check(
        self, benchmark: Benchmark, board: Board, usage: transport.Usage
    ) -> Check:
        """Report the one that was used up: nothing is judged then."""
        total, rest = len(board.rows), ""
        failed = board.failed.values()
        left = sum(
            any(f.kind == _USED_UP for f in of_row.values()) for of_row in failed
        )
        if 0 < left < total:
            calls = usage.calls / (total - left) * left
            forecast = transport.Forecast.of(
                usage, calls, benchmark.spec.params.parallelism
            )
            rest = forecast.text
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


class _Spender(transport.Meter):
    """The meter of one rollout: what has begun is finished, whatever it takes."""

    def __init__(self, limits: _CallLimits) -> None:
        self._limits = limits
        self._has_begun = self._has_paid = False

    def admit(self) -> None:
        if not self._has_begun:
            self._limits.admit()
            self._has_begun = True

    def paid(
        self, requests: int, tokens: transport.Tokens | None, price: PriceSpec | None
    ) -> None:
        for budget in self._limits.budgets.values():
            budget.begun -= self._has_begun and not self._has_paid
            cost = 0.0 if tokens is None or price is None else tokens.cost(price)
            budget.add(requests, 0 if tokens is None else tokens.total, cost)
        self._has_paid = True

    def uncounted(self) -> None:
        for which, budget in self._limits.budgets.items():
            for _, words in (
                budget.limits[n] for n in ("tokens", "cost") if n in budget.limits
            ):
                why = "can't be counted: an answer doesn't say how many tokens it took"
                self._limits.uncounted = f"{which} budget of {words} {why}"


# -- the scores and answers as they come in --------------------------------------------------


class _RowTexts:
    """JSON texts of each row, in a temporary file; all are written before the first is read."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._file: IO[bytes] | None = None
        self._places: dict[
            int, list[tuple[int, int, int]]
        ] = {}  # row -> rank, start, length
        self._end = 0

    def add(self, row: int, rank: int, items: bytes) -> None:
        """Keep JSON values with commas between them; those of a row are ordered by rank."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
                weakref.finalize(self, _close, self._file)
            self._file.write(items)
            self._file.flush()  # a full disk is part of the benchmark's result
        except OSError as error:
            message = (
                f"the {self._what} of the rows can't be kept for row_scores.jsonl in "
            )
            message += f"{tempfile.gettempdir()}: {error.strerror or error}"
            hint = "free some room, or name another folder in the environment as TMPDIR"
            raise ArtifactError(message, hint=hint) from error
        self._places.setdefault(row, []).append((rank, self._end, len(items)))
        self._end += len(items)

    def of(self, row: int) -> bytes:
        """Return all that is kept of a row, as a JSON array."""
        texts = []
        for _, start, length in sorted(self._places.get(row, ())):
            if self._file is not None:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"


def _close(file: IO[bytes]) -> None:
    with suppress(
        OSError
    ):  # on a full disk the buffer can't be written; that was reported before
        file.close()


_Giver: TypeAlias = "scorers.BoundScorer | generators.Generator"  # of scores


class Board:
    """The scores and answers as they come in, in any order, by row of the files."""

    def __init__(
        self,
        rows: RolloutTable,
        names: tuple[str, ...],
        generator: generators.Generator | None,
        progress: transport.Progress,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.rows, self.generator, self.progress = rows, generator, progress
        self._hide = hide
        self._places = np.argsort(benchmark_rows.reading_order(rows), kind="stable")
        self.columns = {name: np.full(len(rows), np.nan) for name in names}
        # by row, and by the scores that it lacks
        self.failed: dict[int, dict[tuple[str, ...], RowFailure]] = {}
        self._reasons: dict[str, str] = {}
        self._ranks = {name: i for i, name in enumerate(names)}
        self.requests, self.reasons = _RowTexts("requests"), _RowTexts("reasons")
        self.answers = _RowTexts("answers")
        self._answered = self._cut = 0
        self._requests_failed: list[int] = []
        self._counted = progress
        if generator is not None:  # then the progress counts rollouts, not their scores
            progress.unit, self._counted = "rollouts", transport.Progress()

    def scored(
        self,
        row: Row,
        giver: _Giver,
        scores: Mapping[str, float],
        why: str,
        *,
        from_journal: bool,
    ) -> None:
        """Take the scores of a row."""
        at = self._places[row.index]
        for name in giver.scores:
            self.columns[name][at] = scores[name]
        if why:
            item = compact({"scores": giver.scores, "reason": why}).encode()
            self.reasons.add(row.index, self._ranks[giver.scores[0]], item)
        self._counted.succeeded(from_journal=from_journal)

    def lacks(
        self, row: Row, scores: tuple[str, ...], error: RowError, reason: str
    ) -> None:
        """Record why a row lacks scores."""
        reason = self._reasons.setdefault(reason, reason)
        # a scorer's own hint may hold a secret as well as its message
        hint = self._hide(error.hint or "")
        failure = RowFailure(row.index, row.where, error.kind, reason, hint)
        self.failed.setdefault(row.index, {})[scores] = failure
        self._counted.failed(error.kind)

    def asked(
        self, row: Row, scorer: _Giver, exchanges: Sequence[scorers.Exchange]
    ) -> None:
        """Keep what was asked and answered for a row."""
        if exchanges:
            items = compact(exchanges)[1:-1].encode()
            self.requests.add(row.index, self._ranks[scorer.scores[0]], items)

    def attempted(
        self,
        row: Row,
        calls: scorers.Calls,
        generated: generators.Generated | None,
        failure: RowError | None,
        *,
        reason: str,
        text: bytes,
    ) -> None:
        """Take the outcome of generating a row's answer; `text` is the row with it."""
        assert self.generator is not None  # noqa: S101 - else nothing is generated
        if generated is not None:
            scores = generated.measured
            self.scored(
                row, self.generator, scores, "", from_journal=calls.from_journal
            )
            self._cut += generated.reply.finish_reason == "length"
            self._answered += 1
        self.asked(row, self.generator, calls.exchanges)
        self.answers.add(row.index, 0, text)
        if failure is not None:
            self.lacks(row, _ANSWER, failure, reason)
            if (
                isinstance(failure, transport.CallError)
                and failure.kind not in _NEVER_IGNORED
            ):
                self._requests_failed.append(row.index)
        if failed := self.failed.get(row.index):
            self.progress.failed(next(iter(failed.values())).kind)
        else:
            self.progress.succeeded(from_journal=calls.from_journal)

    # -- the outcome -------------------------------------------------------------------------

    def table(self, *, without: Collection[str] = ()) -> RolloutTable:
        """Return the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self.columns}
        scored = {k: v for k, v in self.columns.items() if k not in without}
        integers = self.rows.integers - self.columns.keys()
        return structs.replace(self.rows, scores=recorded | scored, integers=integers)

    def failures(self, bound: Bound) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        by_row = [self.failed[index] for index in sorted(self.failed)]
        givers = [(scorer.type, scorer.scores) for scorer in bound]
        if self.generator is not None:
            givers.insert(0, (self.generator.type, _ANSWER))
        for kind, scores in givers:
            failed = [of_row[scores] for of_row in by_row if scores in of_row]
            counts = Counter(f.kind for f in failed)
            kinds = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            first = {f.kind: f for f in reversed(failed)}
            numbers = (len(failed), kinds, tuple(failed[:_FIRST]), len(self.rows))
            if failed:
                examples = {kind: first[kind] for kind in kinds}
                yield ScorerFailures(kind, scores, *numbers, examples)

    def without_failed_requests(
        self, table: RolloutTable
    ) -> tuple[RolloutTable, tuple[str, ...]]:
        """Drop the rollouts whose request failed, with a note; keep them if all failed."""
        failed = np.isin(benchmark_rows.reading_order(table), self._requests_failed)
        if not failed.any() or failed.all():
            return table, ()
        kept = table.where(~failed)
        gone = len(table.tasks) - len(kept.tasks)
        note = f"left out of every metric: {of_many(int(failed.sum()), len(table), 'rollout')}, "
        note += "whose request failed, because params.ignore_request_failure says so"
        note += (
            f"; {of_many(gone, len(table.tasks), 'task', 'has')} none left"
            if gone
            else ""
        )
        return kept, (note,)

    def answer_notes(self) -> Iterator[str]:
        """Note the answers that were cut off, or lack their tokens."""
        if self._cut:
            yield (
                f"{of_many(self._cut, self._answered, 'answer', 'was')} cut off at the most tokens "
                "that the model may write (finish_reason: length): raise max_tokens; the score "
                "truncated says which"
            )
        unknown = int(np.isnan(self.columns["total_tokens"]).sum())
        silent = unknown - (len(self.rows) - self._answered)
        if silent > 0 and self.generator is not None and self.generator.type == "model":
            yield f"{silent} of {self._answered} answers don't say how many tokens they took"
