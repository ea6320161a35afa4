"""Rows to score columns: streamed from the files, scored with few in flight, joined again."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from pytest_evalmetrics import scorers
from pytest_evalmetrics.data import RolloutTable, RowScores
from pytest_evalmetrics.data.content import SIZE, content_hash
from pytest_evalmetrics.engines import Workload
from pytest_evalmetrics.engines.local import score_here, score_without_calls
from pytest_evalmetrics.errors import BaselineError, RowError
from pytest_evalmetrics.gc_pause import collector_eased
from pytest_evalmetrics.pipeline.attempts import Attempts, Budget, check_of, recorded_row
from pytest_evalmetrics.pipeline.judge_checks import Judges
from pytest_evalmetrics.pipeline.scored_rows import (
    Board,
    choose,
    reading_order,
    rows_of,
    with_any_rollouts,
    with_reward,
)
from pytest_evalmetrics.reports import failed_row_notes
from pytest_evalmetrics.rollouts.foreign import lookup
from pytest_evalmetrics.rollouts.recorded import TASK_KEYS
from pytest_evalmetrics.scorers import Row
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES
from pytest_evalmetrics.transport import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.pipeline.judge_checks import Judged
    from pytest_evalmetrics.pipeline.scored_rows import Chosen, Giver
    from pytest_evalmetrics.results import Check, ScorerFailures
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Occurrences, Progress, Transport

__all__ = [
    "Content",
    "KeptRow",
    "KeptRows",
    "Runtime",
    "Scored",
    "Scoring",
    "rescored",
    "rows_kept",
]


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
    table
        What metrics reduce: the table of `rows`, without what is to be ignored.
    judged
        What the judges took, and how far they agree with people.
    checks
        What is wrong with the whole of it: a budget that was used up.
    """

    rows: RowScores
    failures: tuple[ScorerFailures, ...]
    notes: tuple[str, ...]
    partial: bool
    table: RolloutTable
    judged: Judged
    checks: tuple[Check, ...] = ()


# a row that already holds an answer changes with each run; these are what was asked
_ASKED = ("question", "query", "problem", "instruction", "user_input", "input", "reference")


class Content:
    """A hash per task of a data set.

    Parameters
    ----------
    benchmark
        The benchmark; with a model or a target its rows are nothing but tasks.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        spec = benchmark.spec
        self._paths = None if spec.dataset is None else spec.rows.fields.content
        self._whole = spec.answers is not None
        self._ids = (*TASK_KEYS, None if spec.dataset is None else spec.rows.fields.task)
        self._of: dict[TaskId, str] = {}

    def add(self, task: TaskId, row: Mapping[str, Any]) -> None:
        """Take a row; of several rows of a task the first counts."""
        if task in self._of:
            return
        held: Any
        if self._paths is not None:
            held = [lookup(row, path) for path in self._paths]
        elif self._whole:
            held = {key: value for key, value in row.items() if key not in self._ids}
        else:
            held = {key: row[key] for key in _ASKED if key in row} or None
        self._of[task] = content_hash(held)

    def onto(self, table: RolloutTable) -> RolloutTable:
        """Give each row of a table the hash of its task."""
        if not any(self._of.values()):
            return table
        hashes = np.array([self._of.get(task, "") for task in table.tasks], dtype=f"S{SIZE}")
        return replace(table, content=hashes[table.task])


_RECORD = "record a new baseline with --snapshot-update"


class KeptRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row as a scorer sees it; without `sample_data` that is the item itself."""

    agent: str
    task: str
    sample: int
    item: dict[str, Any]
    sample_data: dict[str, Any] | None = None
    failed: tuple[str, str] | None = None


class KeptRows(msgspec.Struct, frozen=True):
    """The rows of a baseline, compressed, and what its document says of them."""

    data: bytes
    count: int
    digest: str

    @property
    def provenance(self) -> dict[str, Any]:
        """What the baseline says of them."""
        return {"count": self.count, "digest": self.digest}


def rows_kept(rows: Iterable[tuple[Row, RowError | None]], table: RolloutTable) -> KeptRows:
    """Keep rows, in the order of a table; what the table has left out is not kept."""
    order = reading_order(table)
    places = dict(zip(order.tolist(), range(len(order)), strict=True))
    lines = [b""] * len(order)
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for row, failure in rows:
        at = places.get(row.index)
        if at is None:
            continue
        same = row.sample_data is row.item or row.sample_data == row.item
        lines[at] = encode(
            KeptRow(
                row.agent,
                str(row.task),
                row.sample,
                dict(row.item),
                None if same else dict(row.sample_data),
                None if failure is None else (failure.kind, failure.message),
            )
        )
    data = b"".join(line + b"\n" for line in lines)
    return KeptRows(gzip.compress(data, mtime=0), len(lines), _digest(data))


def rescored(
    data: bytes | None,
    recorded: Mapping[str, Any],
    tables: Mapping[str, RolloutTable],
    made: tuple[BoundScorer, ...],
    score: Callable[[Board, Iterator[tuple[Row, BoundScorer]]], None],
) -> tuple[dict[str, RolloutTable], list[str]]:
    """Score the kept rows of a baseline anew."""
    rows = _read(data, recorded)
    by_agent: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        by_agent.setdefault(row.agent, []).append(at)
    for agent, table in tables.items():
        mine = by_agent.get(agent, [])
        if [rows[i].task for i in mine] != [str(table.tasks[t]) for t in table.task.tolist()]:
            raise _other_rows()
    names = tuple(name for scorer in made for name in scorer.scores)
    count = len(rows)
    flat = RolloutTable(
        agents=("",),
        agent=np.zeros(count, dtype=np.int32),
        tasks=tuple(range(count)),
        task=np.arange(count),
        sample=np.zeros(count, dtype=np.int64),
        scores={},
        read_as=np.arange(count),
    )
    board = Board(flat, names)
    score(board, _jobs(rows, board, made))
    board.flush()
    columns = {name: board.column(name) for name in names}
    return {
        agent: replace(
            table,
            scores={**table.scores, **{n: c[by_agent.get(agent, [])] for n, c in columns.items()}},
            integers=table.integers - set(names),
        )
        for agent, table in tables.items()
    }, [f"of the baseline's rows: {note}" for note in failed_row_notes(tuple(board.failures(made)))]


def _jobs(
    rows: list[KeptRow], board: Board, made: tuple[BoundScorer, ...]
) -> Iterator[tuple[Row, BoundScorer]]:
    for at, kept in enumerate(rows):
        seen = kept.item if kept.sample_data is None else kept.sample_data
        where = f"the baseline's row {at + 1}"
        row = Row(at, kept.agent, kept.task, kept.sample, kept.item, seen, where)
        for scorer in made:
            if kept.failed is None:
                yield row, scorer
            else:
                board.lacks(row, scorer, RowError(*kept.failed), kept.failed[1])


def _read(data: bytes | None, recorded: Mapping[str, Any]) -> list[KeptRow]:
    if data is None:
        raise BaselineError("the file with the baseline's rows is gone", hint=_way_out())
    try:
        text = gzip.decompress(data)
        rows = msgspec.json.Decoder(KeptRow).decode_lines(text)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        what = f"the file with the baseline's rows can't be read: {error}"
        raise BaselineError(what, hint=_way_out()) from None
    if _digest(text) != recorded.get("digest"):
        raise _other_rows()
    return rows


def _other_rows() -> BaselineError:
    return BaselineError("the file holds other rows than the baseline's", hint=_way_out())


def _way_out() -> str:
    return f"restore it from version control, or {_RECORD}"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


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
            counted = {n for n in COUNTED_SCORES if n in kept and not np.isnan(kept[n]).any()}
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
    ) -> Workload:
        return Workload(
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
