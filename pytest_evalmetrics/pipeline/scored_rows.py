"""The rows of a scored benchmark: which are scored, how often, and their scores as they come in."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np

from pytest_evalmetrics import rollouts
from pytest_evalmetrics.data import Category, FailedRow
from pytest_evalmetrics.errors import ArtifactError, DataError, did_you_mean
from pytest_evalmetrics.layout import compact, many, of_many
from pytest_evalmetrics.results import RowFailure, ScorerFailures
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.scorers import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, TaskId
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.rollouts.recorded import Reader
    from pytest_evalmetrics.scorers import Exchange
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec
    from pytest_evalmetrics.transport import Progress

__all__ = [
    "Board",
    "Chosen",
    "Giver",
    "RowTexts",
    "choose",
    "reading_order",
    "rows_of",
    "with_any_rollouts",
    "with_reward",
]

_BUFFER = 2**20  # with the usual one, every few rows are a write to the disk


class RowTexts:
    """JSON texts of each row, by scorer."""

    def __init__(
        self,
        rows: int,
        scorers: int,
        what: str,
        open_file: Callable[[], IO[bytes]] | None = None,
    ) -> None:
        self._shape = rows, scorers
        self._what = what
        self._open = open_file or _temporary
        self._file: IO[bytes] | None = None
        self._starts: NDArray[np.int64]
        self._lengths: NDArray[np.int64]
        self._end = 0
        self._is_at_end = True

    def add(self, row: int, scorer: int, items: bytes) -> None:
        """Keep what one scorer has on one row: JSON values with commas between them."""
        try:
            file = self._file or self._begin()
            if not self._is_at_end:
                file.seek(0, os.SEEK_END)  # each one is a write to the disk
                self._is_at_end = True
            file.write(items)
        except OSError as error:
            raise self._full(error) from error
        self._starts[row, scorer] = self._end
        self._lengths[row, scorer] = len(items)
        self._end += len(items)

    def flush(self) -> None:
        """Write what waits in a buffer."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            raise self._full(error) from error

    def of(self, row: int) -> bytes:
        """Give all that is kept of a row, as a JSON array."""
        if self._file is None or not self._lengths[row].any():
            return b"[]"
        texts = []
        self._is_at_end = False
        places = zip(self._starts[row].tolist(), self._lengths[row].tolist(), strict=True)
        for start, length in places:
            if length:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"

    def _begin(self) -> IO[bytes]:
        self._file = self._open()
        weakref.finalize(self, _closed, self._file)
        self._starts = np.zeros(self._shape, np.int64)
        self._lengths = np.zeros(self._shape, np.int64)
        return self._file

    def _full(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            f"the {self._what} of the rows can't be kept for row_scores.jsonl in "
            f"{tempfile.gettempdir()}: {error.strerror or error}",
            hint="free some room, or name another folder in the environment as TMPDIR",
        )


def _temporary() -> IO[bytes]:
    return tempfile.TemporaryFile(buffering=_BUFFER)


def _closed(file: IO[bytes]) -> None:
    with suppress(OSError):  # a full disk refuses what waits; that is told by then
        file.close()


def with_reward(
    benchmark: Benchmark, names: tuple[str, ...], measured: tuple[str, ...] = ()
) -> Benchmark:
    """Settle the reward: what the benchmark says, else the only score there is."""
    spec = benchmark.spec
    given = (*names, *measured)
    if ("reward",) in benchmark.lines or spec.reward in given:
        if spec.dataset is not None and spec.reward not in given:
            raise DataError(
                f"no scorer gives the reward {spec.reward!r}; "
                + did_you_mean(spec.reward, given, what="they give"),
                line=benchmark.line_of("reward"),
            )
        return benchmark
    if not names:  # of scorers that are not made yet
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


def with_any_rollouts(benchmark: Benchmark) -> Benchmark:
    """Let tasks have fewer rollouts than ``num_samples``, where nothing else says how many."""
    spec = benchmark.spec
    if spec.expect.rollouts is not None:
        return benchmark
    return replace(benchmark, spec=replace(spec, expect=replace(spec.expect, rollouts="any")))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that are evaluated."""

    # one row per rollout. `read_as` numbers them in the order of the files: the samples of
    # the first chosen row, then those of the second.
    table: RolloutTable
    rows: NDArray[np.int64]  # which rows of the files they are, in ascending order, shape (chosen,)
    samples: int  # rollouts of each row
    total: int  # rows of the files
    cut_to: int | None  # what ``params.limit_samples`` leaves of them; None where it leaves all

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out on purpose."""
        if self.cut_to is None:
            return ()
        note = (
            "incomplete on purpose: params.limit_samples takes the first "
            f"{of_many(self.cut_to, self.total, 'row')}, and no baseline is recorded"
        )
        return (note,)


def choose(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None = None
) -> Chosen:
    """Read the numbers of the rows, and choose those that are evaluated."""
    spec = benchmark.spec
    table = _table(benchmark, plan, given, reader)
    answered = spec.answers is not None
    if answered or _of_one_rollout(spec):
        _each_a_task(table, answered=answered)
    total, order = len(table), reading_order(table)
    limit = spec.params.limit_samples
    size = total
    rank = order
    if spec.dataset is not None:
        if spec.dataset.chosen_with is not None:
            rank = _shuffled(total, spec.dataset.chosen_with)[order]
        size = min(total, spec.dataset.limit or total)
    cut_to = limit if limit is not None and limit < size else None
    taken = rank < (size if cut_to is None else cut_to)
    if not taken.all():
        table = table.where(taken)
    if not taken.all() or answered:
        whole = tuple(replace(source, row_is_line=False) for source in table.sources)
        table = replace(table, sources=whole)
    rows = np.sort(order[taken])
    numbered = np.searchsorted(rows, order[taken]).astype(np.int64)
    samples = (spec.num_samples or 1) if answered else 1
    return Chosen(_repeated(table, numbered, samples), rows, samples, size, cut_to)


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
    """Tell which row of the files each row of a table was."""
    if table.read_as is None:
        raise ValueError("a table of no file has no rows to score")
    return table.read_as


def _table(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None
) -> RolloutTable:
    spec, folder = benchmark.spec, benchmark.file.parent
    wanted = [name for name in plan.scores if name not in given]
    if spec.dataset is None:
        return rollouts.load(
            spec.rows, folder, scores=wanted, categories=plan.categories, reader=reader
        )
    table = rollouts.load_dataset(
        spec.rows, folder, scores=wanted, categories=plan.categories, reader=reader
    )
    # a data set's numbers are what is asked about, no scores: only those that metrics name
    return replace(
        table,
        scores={name: table.scores[name] for name in wanted},
        notes=tuple(n for n in table.notes if n.partition(":")[0] in wanted),
    )


def _of_one_rollout(spec: BenchmarkSpec) -> bool:
    """Whether each row of a data set has to be a task: nothing says that it is an attempt."""
    return (
        spec.dataset is not None
        and spec.dataset.fields.sample is None
        and spec.num_samples is None
        and spec.expect.rollouts is None
    )


def _each_a_task(table: RolloutTable, *, answered: bool) -> None:
    again = (np.diff(table.task) == 0) & (np.diff(table.agent) == 0)
    if again.any():
        task = table.tasks[table.task[np.flatnonzero(again)[0]]]
        raise DataError(
            f"the task {task!r} stands in several rows, of which each would be "
            f"{'answered' if answered else 'scored'} as a task of its own",
            hint="say which key tells them apart: dataset: {path: ..., fields: {task: KEY}}"
            + ("" if answered else "; or, where they are attempts at one task, num_samples"),
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


def _repeated(table: RolloutTable, numbered: NDArray[np.int64], samples: int) -> RolloutTable:
    """Let each row stand for so many rollouts."""
    if samples == 1:
        return replace(table, read_as=numbered)
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
        read_as=np.repeat(numbered, samples) * samples + sample,
    )


_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all


class Giver(Protocol):
    """What gives scores: a scorer, or what answers rows and is measured."""

    @property
    def type(self) -> str:
        """What it is."""
        ...

    @property
    def scores(self) -> tuple[str, ...]:
        """What it gives."""
        ...


@dataclass
class Board:
    """The scores as they come in, by row of the files."""

    rows: RolloutTable
    names: tuple[str, ...]
    failed: dict[int, list[FailedRow]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress: Progress
        order = reading_order(self.rows)
        self._places = np.empty(len(order), np.int64)
        self._places[order] = np.arange(len(order))
        self._columns = {name: np.full(len(order), np.nan) for name in self.names}
        self._texts: dict[str, str] = {}
        self._numbers = {name: i for i, name in enumerate(self.names)}
        self.requests = RowTexts(len(order), len(self.names), "requests")
        self.reasons = RowTexts(len(order), len(self.names), "reasons")

    def scored(
        self, row: Row, scorer: Giver, found: Mapping[str, float], *, from_journal: bool
    ) -> None:
        """Take a row's scores."""
        at = self._places[row.index]
        for name in scorer.scores:
            self._columns[name][at] = found[name]
        self.progress.succeeded(from_journal=from_journal)

    def lacks(self, row: Row, scorer: Giver, error: RowError, reason: str) -> None:
        """Take why a row has no scores."""
        reason = self._texts.setdefault(reason, reason)
        failed = FailedRow(error.kind, reason, row.where, error.hint, scorer.scores)
        self.failed.setdefault(row.index, []).append(failed)
        self.progress.failed(error.kind, f"{row.where}: {reason}")

    def asked(self, row: Row, scorer: Giver, found: Sequence[Exchange]) -> None:
        """Take what was asked for a row, and answered."""
        if found:
            items = compact(found)[1:-1].encode()
            self.requests.add(row.index, self._numbers[scorer.scores[0]], items)

    def explained(self, row: Row, scorer: Giver, reason: str) -> None:
        """Take why a row's scores are what they are."""
        item = compact({"scores": scorer.scores, "reason": reason}).encode()
        self.reasons.add(row.index, self._numbers[scorer.scores[0]], item)

    def column(self, name: str) -> NDArray[np.float64]:
        """Give a score of all rows, NaN where it is missing."""
        return self._columns[name]

    def flush(self) -> None:
        """Write what waits: what there is no room for is told as what the benchmark came to."""
        self.requests.flush()
        self.reasons.flush()

    def table(self) -> RolloutTable:
        """Give the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self._columns}
        return replace(
            self.rows,
            scores=recorded | self._columns,
            integers=self.rows.integers - set(self.names),
        )

    def failures(self, made: Sequence[Giver]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        in_order = [(index, f) for index in sorted(self.failed) for f in self.failed[index]]
        for scorer in made:
            mine = [(index, f) for index, f in in_order if f.scores == scorer.scores]
            if mine:
                counts = Counter(f.kind for _, f in mine)
                kinds = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
                examples = {f.kind: (index, f) for index, f in reversed(mine)}
                yield ScorerFailures(
                    scorer.type,
                    scorer.scores,
                    len(mine),
                    kinds,
                    tuple(_failure(*found) for found in mine[:_FIRST]),
                    len(self.rows),
                    {kind: _failure(*examples[kind]) for kind in kinds},
                )


def _failure(index: int, found: FailedRow) -> RowFailure:
    return RowFailure(index, found.where, found.kind, found.reason, found.hint or "")
