"""The rows of a scored benchmark: which are scored, their scores, and those a baseline keeps."""

from __future__ import annotations

import gzip
import tempfile
import weakref
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import errors, rollouts
from pytest_evalmetrics.data import Category, FailedRow, RolloutTable, Row, TaskId
from pytest_evalmetrics.errors import ArtifactError, BaselineError, DataError, RowError
from pytest_evalmetrics.layout import compact, many, of_many
from pytest_evalmetrics.pipeline.task_sample import draw, first_rollouts
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports.lines import failed_row_notes
from pytest_evalmetrics.results import RowFailure, ScorerFailures
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.rollouts.recorded import Reader
    from pytest_evalmetrics.scorers import BoundScorer, Exchange
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec
    from pytest_evalmetrics.transport import Progress

_BUFFER = 2**20  # with the usual one, every few rows are a write to the disk
_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all
_OTHER_ROWS = "the file holds other rows than the baseline's"


def with_reward(
    benchmark: Benchmark, names: tuple[str, ...], measured: tuple[str, ...] = ()
) -> Benchmark:
    """Settle the reward: what the benchmark says, else the only score there is."""
    spec, given = benchmark.spec, (*names, *measured)
    asked = ("reward",) in benchmark.lines
    if asked and spec.dataset is not None and spec.reward not in given:
        guess = errors.did_you_mean(spec.reward, given, what="they give")
        message = f"no scorer gives the reward {spec.reward!r}; {guess}"
        raise DataError(message, line=benchmark.line_of("reward"))
    if asked or spec.reward in given or not names:  # none of scorers that are not made yet
        return benchmark
    own = {name for scorer in spec.scorers for name in getattr(scorer, "judges_own", ())}
    names = tuple(name for name in names if name not in own)
    if len(names) == 1:
        return replace(benchmark, spec=replace(spec, reward=names[0]))
    raise DataError(
        f"the scorers give {', '.join(names)}: nothing says which of them the metrics reduce",
        hint=f"write `reward: {names[0]}`",
        line=benchmark.line_of("scorers"),
    )


# -- which rows ------------------------------------------------------------------------------


@record
class Chosen:
    """The rows that are evaluated."""

    # one row per rollout. `read_as` numbers them in the order of the files: the samples of
    # the first chosen row, then those of the second.
    table: RolloutTable
    rows: NDArray[np.int64]  # which rows of the files they are, in ascending order, shape (chosen,)
    samples: int  # rollouts of each row
    notes: tuple[str, ...]
    partial: bool  # ``params.limit_samples`` leaves some out
    whole: RolloutTable | None = None  # all rows, where ``sample:`` draws from them


def choose(
    benchmark: Benchmark,
    plan: Plan,
    given: Sequence[str],
    reader: Reader | None = None,
    described: Callable[[RolloutTable], RolloutTable] = lambda table: table,
) -> Chosen:
    """Read the numbers of the rows, and choose those that are evaluated.

    `described` gives a table the content of its tasks, which a sample is drawn by.
    """
    spec, limit = benchmark.spec, benchmark.spec.params.limit_samples
    table = _table(benchmark, plan, given, reader)
    answered = spec.answers is not None
    _refuse_repeated_tasks(spec, table)
    size, order = len(table), reading_order(table)
    rank = order
    if spec.dataset is not None:
        if spec.dataset.chosen_with is not None:
            rank = _shuffled(size, spec.dataset.chosen_with)[order]
        size = min(size, spec.dataset.limit or size)
    partial = limit is not None and limit < size
    taken = rank < (limit if limit is not None and partial else size)
    notes, whole = [], None
    if spec.sample is not None:
        whole = described(table).where(rank < size)
        drawn, note = draw(whole, spec.sample)
        notes.append(note)
        tasks = set(drawn.tasks)
        taken &= np.array([task in tasks for task in table.tasks], dtype=bool)[table.task]
    if not answered and isinstance(spec.num_samples, Rounds):
        taken &= first_rollouts(table, spec.num_samples)
    if not taken.all():
        table = table.where(taken)
    if not taken.all() or answered:
        sources = tuple(replace(source, row_is_line=False) for source in table.sources)
        table = replace(table, sources=sources)
    rows = np.sort(order[taken])
    table = replace(table, read_as=np.searchsorted(rows, order[taken]).astype(np.int64))
    samples = (spec.num_samples or 1) if answered else 1
    if partial:
        note = "incomplete on purpose: params.limit_samples takes the first "
        note += f"{of_many(limit or 0, size, 'row')}, and no baseline is recorded"
        notes.append(note)
    if samples > 1:
        table = _repeated(table, samples)
    return Chosen(table, rows, samples, tuple(notes), partial, whole)


def rows_of(
    benchmark: Benchmark,
    chosen: Chosen,
    seen: Callable[[TaskId, Mapping[str, Any]], None] | None = None,
) -> Iterator[Row]:
    """Go through the files again: each chosen row, as often as it is to be answered."""
    spec, table = benchmark.spec, chosen.table
    recorded = spec.dataset is None
    order = np.empty(len(table), np.int64)
    order[reading_order(table)] = np.arange(len(table))
    # a view gives plain integers, one by one, in half the time of an array
    places, tasks, agents, samples = (
        np.ascontiguousarray(column).data
        for column in (order, table.task, table.agent, table.sample)
    )
    number = 0
    for index, (where, item) in enumerate(records(spec.rows, benchmark.file.parent)):
        if number == len(chosen.rows):
            break
        if index != chosen.rows[number]:
            continue
        first = number * chosen.samples
        task = table.tasks[tasks[places[first]]]
        for at in range(first, first + chosen.samples):
            place = places[at]
            agent, sample = table.agents[agents[place]], samples[place]
            yield Row(at, agent, task, sample, item, item if recorded else {}, where)
        if seen is not None:
            seen(task, item)
        number += 1
    if number != len(chosen.rows):
        raise DataError(
            f"the rows' files changed while they were read: {many(number, 'row')}, after "
            f"{len(chosen.rows)}",
            hint="run again when nothing writes to them",
        )


def reading_order(table: RolloutTable) -> NDArray[np.int64]:
    """Return which row of the files each row of a table was."""
    if table.read_as is None:
        raise ValueError("a table of no file has no rows to score")
    return table.read_as


def _table(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None
) -> RolloutTable:
    spec = benchmark.spec
    wanted = [name for name in plan.scores if name not in given]
    load = rollouts.load if spec.dataset is None else rollouts.load_dataset
    table = load(
        spec.rows, benchmark.file.parent, scores=wanted, categories=plan.categories, reader=reader
    )
    if spec.dataset is None:
        return table
    # a data set's numbers are what is asked about, no scores: only those that metrics name
    return replace(
        table,
        scores={name: table.scores[name] for name in wanted},
        notes=tuple(n for n in table.notes if n.partition(":")[0] in wanted),
    )


def _refuse_repeated_tasks(spec: BenchmarkSpec, table: RolloutTable) -> None:
    """Refuse a task in several rows of a data set where nothing calls these attempts."""
    answered, dataset = spec.answers is not None, spec.dataset
    attempts = dataset is None or dataset.fields.sample is not None or spec.num_samples is not None
    if not answered and (attempts or spec.expect.rollouts is not None):
        return
    again = (np.diff(table.task) == 0) & (np.diff(table.agent) == 0)
    if again.any():
        task = table.tasks[table.task[np.flatnonzero(again)[0]]]
        hint = "say which key tells them apart: dataset: {path: ..., fields: {task: KEY}}"
        hint += "" if answered else "; or, where they are attempts at one task, num_samples"
        raise DataError(
            f"the task {task!r} stands in several rows, of which each would be "
            f"{'answered' if answered else 'scored'} as a task of its own",
            hint=hint,
        )


def _shuffled(rows: int, seed: int) -> NDArray[np.int64]:
    """Give each row its rank in an order that the seed and the row's number alone decide.

    By hash, because the generators of NumPy may give other numbers in another version.
    Source of the mixing: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom
    Number Generators", OOPSLA 2014 (SplitMix64).
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = (
            np.arange(1, rows + 1, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(2**32)
        ) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    ranks = np.empty(rows, np.int64)
    ranks[np.argsort(z, kind="stable")] = np.arange(rows)
    return ranks


def _repeated(table: RolloutTable, samples: int) -> RolloutTable:
    sample = np.tile(np.arange(samples), len(table))
    return replace(
        table,
        agent=np.repeat(table.agent, samples),
        task=np.repeat(table.task, samples),
        sample=sample,
        scores={name: np.repeat(column, samples) for name, column in table.scores.items()},
        categories={
            name: Category(np.repeat(c.codes, samples), c.labels)
            for name, c in table.categories.items()
        },
        read_as=np.repeat(reading_order(table), samples) * samples + sample,
    )


# -- what comes in for them ------------------------------------------------------------------


class RowTexts:
    """JSON texts of each row, in a temporary file; all are written before the first is read."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._file: IO[bytes] | None = None
        self._places: dict[int, list[tuple[int, int, int]]] = {}  # row -> rank, start, length
        self._end = 0

    def add(self, row: int, rank: int, items: bytes) -> None:
        """Keep JSON values with commas between them; those of a row are ordered by rank."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=_BUFFER)  # noqa: SIM115 - see below
                weakref.finalize(self, _close, self._file)
            self._file.write(items)
        except OSError as error:
            raise self._full(error) from error
        self._places.setdefault(row, []).append((rank, self._end, len(items)))
        self._end += len(items)

    def flush(self) -> None:
        """Write what waits in the buffer: a full disk is part of the benchmark's result."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            raise self._full(error) from error

    def of(self, row: int) -> bytes:
        """Return all that is kept of a row, as a JSON array."""
        texts = []
        for _, start, length in sorted(self._places.get(row, ())):
            if self._file is not None:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"

    def _full(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            f"the {self._what} of the rows can't be kept for row_scores.jsonl in "
            f"{tempfile.gettempdir()}: {error.strerror or error}",
            hint="free some room, or name another folder in the environment as TMPDIR",
        )


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # a full disk refuses what waits; that is reported by then
        file.close()


@record
class Stage:
    """Generation, as the board sees it: one of those that give scores."""

    type: str  # ``model`` or ``target``
    scores: tuple[str, ...]


@dataclass
class Board:
    """The scores as they come in, in any order, by row of the files."""

    rows: RolloutTable
    names: tuple[str, ...]
    failed: dict[int, list[FailedRow]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress: Progress
        order = reading_order(self.rows)
        self._places = np.empty(len(order), np.int64)
        self._places[order] = np.arange(len(order))
        self.columns = {name: np.full(len(order), np.nan) for name in self.names}
        self._reasons: dict[str, str] = {}
        self._ranks = {name: i for i, name in enumerate(self.names)}
        self.requests, self.reasons = RowTexts("requests"), RowTexts("reasons")

    def scored(
        self,
        row: Row,
        scorer: BoundScorer | Stage,
        found: Mapping[str, float],
        *,
        from_journal: bool,
    ) -> None:
        """Take a row's scores."""
        at = self._places[row.index]
        for name in scorer.scores:
            self.columns[name][at] = found[name]
        self.progress.succeeded(from_journal=from_journal)

    def lacks(self, row: Row, scorer: BoundScorer | Stage, error: RowError, reason: str) -> None:
        """Take the reason why a row has no scores."""
        reason = self._reasons.setdefault(reason, reason)
        failed = FailedRow(error.kind, reason, row.where, error.hint, scorer.scores)
        self.failed.setdefault(row.index, []).append(failed)
        self.progress.failed(error.kind)

    def asked(self, row: Row, scorer: BoundScorer | Stage, found: Sequence[Exchange]) -> None:
        """Take the requests of a row, and their answers."""
        if found:
            items = compact(found)[1:-1].encode()
            self.requests.add(row.index, self._ranks[scorer.scores[0]], items)

    def explained(self, row: Row, scorer: BoundScorer | Stage, reason: str) -> None:
        """Take the reason of a row's scores."""
        item = compact({"scores": scorer.scores, "reason": reason}).encode()
        self.reasons.add(row.index, self._ranks[scorer.scores[0]], item)

    def flush(self) -> None:
        """Write what waits in buffers."""
        self.requests.flush()
        self.reasons.flush()

    def table(self) -> RolloutTable:
        """Return the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self.columns}
        return replace(
            self.rows, scores=recorded | self.columns, integers=self.rows.integers - set(self.names)
        )

    def failures(self, made: Sequence[BoundScorer | Stage]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        in_order = [(index, f) for index in sorted(self.failed) for f in self.failed[index]]
        for scorer in made:
            failed = [
                RowFailure(index, f.where, f.kind, f.reason, f.hint or "")
                for index, f in in_order
                if f.scores == scorer.scores
            ]
            counts = Counter(f.kind for f in failed)
            kinds = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            first = {f.kind: f for f in reversed(failed)}
            examples = {kind: first[kind] for kind in kinds}
            shown, of = tuple(failed[:_FIRST]), (scorer.type, scorer.scores)
            if failed:
                yield ScorerFailures(*of, len(failed), kinds, shown, len(self.rows), examples)


# -- the rows that a baseline keeps, to be scored anew ---------------------------------------


class _KeptRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row as a scorer sees it; without `sample_data` that is the item itself."""

    agent: str
    task: str
    sample: int
    item: dict[str, Any]
    sample_data: dict[str, Any] | None = None
    failed: tuple[str, str] | None = None


class KeptRows(msgspec.Struct, frozen=True):
    """The rows of a baseline, compressed, and what its document holds of them."""

    data: bytes
    provenance: dict[str, Any]

    @classmethod
    def of(cls, rows: Iterable[tuple[Row, RowError | None]], table: RolloutTable) -> KeptRows:
        """Keep rows, in the order of a table; what the table has left out is not kept."""
        order = reading_order(table)
        places = dict(zip(order.tolist(), range(len(order)), strict=True))
        lines = [b""] * len(order)
        encode = msgspec.json.Encoder(enc_hook=str).encode
        for row, failure in rows:
            if row.index in places:
                item, sample_data = dict(row.item), dict(row.sample_data)
                failed = None if failure is None else (failure.kind, failure.message)
                own = None if sample_data == item else sample_data
                kept = _KeptRow(row.agent, str(row.task), row.sample, item, own, failed)
                lines[places[row.index]] = encode(kept)
        data = b"".join(line + b"\n" for line in lines)
        provenance = {"count": len(lines), "digest": _digest(data)}
        return cls(gzip.compress(data, mtime=0), provenance)


def rescored(
    data: bytes | None,
    recorded: Mapping[str, Any],
    tables: Mapping[str, RolloutTable],
    made: tuple[BoundScorer, ...],
    score: Callable[[Board, Iterator[tuple[Row, BoundScorer]]], None],
) -> tuple[dict[str, RolloutTable], list[str]]:
    """Score the kept rows of a baseline anew; return its tables with the new scores, and notes."""
    rows = _read_kept(data, recorded)
    places = {agent: [at for at, r in enumerate(rows) if r.agent == agent] for agent in tables}
    for agent, table in tables.items():
        ids = [str(table.tasks[task]) for task in table.task.tolist()]
        if [rows[at].task for at in places[agent]] != ids:
            raise _unusable(_OTHER_ROWS)
    names = tuple(name for scorer in made for name in scorer.scores)
    order, none = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
    tasks = tuple(range(len(rows)))
    flat = RolloutTable(("",), none.astype(np.int32), tasks, order, none, {}, read_as=order)
    board = Board(flat, names)

    def jobs() -> Iterator[tuple[Row, BoundScorer]]:
        for index, kept in enumerate(rows):
            sample_data = kept.item if kept.sample_data is None else kept.sample_data
            where = f"the baseline's row {index + 1}"
            row = Row(index, kept.agent, kept.task, kept.sample, kept.item, sample_data, where)
            for scorer in made:
                if kept.failed is None:
                    yield row, scorer
                else:
                    board.lacks(row, scorer, RowError(*kept.failed), kept.failed[1])

    score(board, jobs())
    board.flush()
    notes = failed_row_notes(tuple(board.failures(made)))
    scored = {}
    for agent, table in tables.items():
        new = {name: board.columns[name][places[agent]] for name in names}
        integers = table.integers - set(names)
        scored[agent] = replace(table, scores={**table.scores, **new}, integers=integers)
    return scored, [f"of the baseline's rows: {note}" for note in notes]


def _read_kept(data: bytes | None, recorded: Mapping[str, Any]) -> list[_KeptRow]:
    if data is None:
        raise _unusable("the file with the baseline's rows is gone")
    try:
        text = gzip.decompress(data)
        rows = msgspec.json.Decoder(_KeptRow).decode_lines(text)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise _unusable(f"the file with the baseline's rows can't be read: {error}") from None
    if _digest(text) != recorded.get("digest"):
        raise _unusable(_OTHER_ROWS)
    return rows


def _unusable(why: str) -> BaselineError:
    hint = "restore it from version control, or record a new baseline with --snapshot-update"
    return BaselineError(why, hint=hint)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
