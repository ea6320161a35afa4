"""The rows of a benchmark that are evaluated, and which of their scores is the reward."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import errors, rollouts
from pytest_evalmetrics.data import HASH_SIZE, RolloutTable, Row, content_hash
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.records import record
from pytest_evalmetrics.rollouts.foreign import lookup
from pytest_evalmetrics.rollouts.recorded import TASK_KEYS, records
from pytest_evalmetrics.spec.sources import Rounds, SampleSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.rollouts.recorded import Reader
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

_NAMED = 6  # groups that a sample's note names
# a row that already holds an answer changes with each run; these are what was asked
_ASKED = ("question", "query", "problem", "instruction", "user_input", "input", "reference")


def with_reward(
    benchmark: Benchmark,
    names: tuple[str, ...] | None = None,
    measured: tuple[str, ...] = (),
) -> Benchmark:
    """Settle the reward: what the benchmark says, else the only score there is.

    `names` are the scores that scorers give, None where they have not been made.
    """
    spec = benchmark.spec
    if names is None:
        names = tuple(name for scorer in spec.scorers for name in scorer.score_names)
        if not names:
            return benchmark
    given = (*names, *measured)
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
        return benchmark.but(reward=names[0])
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
    frame: RolloutTable | None = None  # the sampling frame: what ``sample:`` draws from

    @property
    def files_rows(self) -> NDArray[np.int64]:
        """Which row of the files each rollout is, shape (rollouts,)."""
        return self.rows.repeat(self.samples)


def choose(
    benchmark: Benchmark, plan: Plan, given: Sequence[str], reader: Reader | None = None
) -> Chosen:
    """Read the numbers of the rows, without the scores `given`, and choose what is evaluated."""
    spec = benchmark.spec
    table = _table(benchmark, plan, given, reader)
    answered = spec.answers is not None
    _refuse_repeated_tasks(spec, table)
    if spec.dataset is not None and (spec.baseline is not None or spec.sample is not None):
        table = _with_content(benchmark, table)
    size, order = len(table), reading_order(table)
    rank = order
    if spec.dataset is not None:
        if spec.dataset.chosen_with is not None:
            rank = _shuffled(size, spec.dataset.chosen_with)[order]
        size = min(size, spec.dataset.limit or size)
    limit = min(size, spec.params.limit_samples or size)
    taken = rank < limit
    notes, frame = [], None
    if spec.sample is not None:
        frame = table.where(rank < size)
        drawn, note = draw(frame, spec.sample)
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
    if limit < size:
        note = "incomplete on purpose: params.limit_samples takes the first "
        notes.append(f"{note}{of_many(limit, size, 'row')}, and no baseline is recorded")
    if samples > 1:
        attempts = np.tile(np.arange(samples), len(table))
        table = table.where(np.repeat(np.arange(len(table)), samples))
        read_as = reading_order(table) * samples + attempts
        table = replace(table, sample=attempts, read_as=read_as)
    return Chosen(table, rows, samples, tuple(notes), limit < size, frame)


def rows_of(benchmark: Benchmark, chosen: Chosen) -> Iterator[Row]:
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


def _with_content(benchmark: Benchmark, table: RolloutTable) -> RolloutTable:
    """Give each task of a data set a hash of its content, that of its first row."""
    spec, fields = benchmark.spec, benchmark.spec.rows.fields
    tasks, hashes = np.empty(len(table), np.int64), dict[int, str]()
    tasks[reading_order(table)] = table.task
    rows = records(spec.rows, benchmark.file.parent)
    for task, (_, row) in zip(tasks.tolist(), rows, strict=True):
        if task in hashes:
            continue
        content: Any
        if fields.content is not None:
            content = [lookup(row, path) for path in fields.content]
        elif spec.answers is not None:  # its rows are nothing but tasks
            ids = (*TASK_KEYS, fields.task)
            content = {key: value for key, value in row.items() if key not in ids}
        else:
            content = {key: row[key] for key in _ASKED if key in row} or None
        hashes[task] = content_hash(content)
    if not any(hashes.values()):
        return table
    of_task = np.array([hashes[task] for task in range(len(hashes))], dtype=f"S{HASH_SIZE}")
    return replace(table, content=of_task[table.task])


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


# -- a part of the tasks, or of their rollouts --------------------------------------------------


def draw(table: RolloutTable, spec: SampleSpec) -> tuple[RolloutTable, str]:
    """Take some of the tasks of a table; return them, and a note.

    Tasks are ranked by a hash of the seed and of their content, else their id, so that other rows
    don't change which are first. Groups have shares by the method of largest remainders.
    """
    first = np.unique(table.task, return_index=True)[1]
    contents = np.zeros(len(first), "S1") if table.content is None else table.content[first]
    keys = [
        content.decode() or str(task)
        for content, task in zip(contents.tolist(), table.tasks, strict=True)
    ]
    by = None if spec.by is None else table.categories.get(spec.by)
    codes = np.zeros(len(first), np.int64) if by is None else by.codes[first]
    ranked: dict[int, list[tuple[bytes, str, int]]] = {}
    for at, (key, code) in enumerate(zip(keys, codes.tolist(), strict=True)):
        digest = blake2b(f"{spec.seed}\0{key}".encode(), digest_size=8).digest()
        ranked.setdefault(code, []).append((digest, str(table.tasks[at]), at))
    total, size = len(first), min(spec.tasks, len(first))
    names = {code: "" if by is None else by.labels[code] for code in ranked}
    groups = sorted(ranked, key=names.__getitem__)
    shares = [divmod(len(ranked[code]) * size, total) for code in groups]
    counts = {code: whole for code, (whole, _) in zip(groups, shares, strict=True)}
    by_rest = sorted(range(len(groups)), key=lambda at: -shares[at][1])
    for at in by_rest[: size - sum(counts.values())]:
        counts[groups[at]] += 1
    taken = np.zeros(total, dtype=bool)
    for code, count in counts.items():
        taken[[at for _, _, at in sorted(ranked[code])[:count]]] = True
    note = f"sample: {of_many(size, total, 'task')}"
    if by is not None:
        shown = [f"{names[c]} {counts[c]} of {len(ranked[c])}" for c in groups[:_NAMED]]
        more = ["..."] if len(groups) > _NAMED else []
        note += f", by {spec.by}: {', '.join([*shown, *more])}"
    return table if taken.all() else table.where(taken[table.task]), note


def first_rollouts(table: RolloutTable, rounds: Rounds) -> NDArray[np.bool_]:
    """Find the rollouts of each task that a look sees, shape (rows,)."""
    rows = np.arange(len(table))
    begins = np.diff(table.task, prepend=-1) | np.diff(table.agent, prepend=-1)
    rank = rows - np.maximum.accumulate(np.where(begins != 0, rows, 0))
    if len(rank) and int(rank.max()) >= rounds.most:
        at = int(rank.argmax())
        raise DataError(
            f"task {table.tasks[table.task[at]]} has {rank[at] + 1} rollouts, more than "
            f"num_samples: {{max: {rounds.most}}}",
            hint="look for another run's rollouts in the files; or set num_samples",
        )
    return rank < rounds
