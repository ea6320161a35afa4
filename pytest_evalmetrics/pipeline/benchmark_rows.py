"""The rows of a benchmark: those to evaluate, those to keep, and their texts."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import errors
from pytest_evalmetrics.config.declarations import undeclared_when_read
from pytest_evalmetrics.errors import BaselineError, DataError, RowError
from pytest_evalmetrics.layout import many, natural_key
from pytest_evalmetrics.model.results import Attempt, Flip
from pytest_evalmetrics.model.rollout_table import (
    HASH_SIZE,
    RolloutTable,
    Row,
    RowScores,
    TaskId,
    content_hash,
)
from pytest_evalmetrics.model.scoring_notes import (
    DefaultReward,
    DrawnGroup,
    DrawnSample,
    KeysInTaskIds,
    LimitedRows,
)
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of
from pytest_evalmetrics.pipeline.row_texts import (
    KEPT_REASON,
    RowTexts,
    hidden,
    texts_of,
)
from pytest_evalmetrics.pipeline.seen_rows import SeenRows, content_of
from pytest_evalmetrics.reports.html.conversations import TaskConversations
from pytest_evalmetrics.reports.html.picture import means
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec.sources import FilesSpec, Rounds, SampleSpec

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.pipeline.template_trials import TemplateTrials
    from pytest_evalmetrics.scoring.door import Engine
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, FieldMap
    from pytest_evalmetrics.transcripts import Turn

# a row as scorers see it, and why it can't be scored
ScorerInput: TypeAlias = tuple[Row, RowError | None]

_WORSE: Final = 100  # tasks
_BETTER: Final = 30
_ATTEMPTS: Final = 4  # of a task, on each side
_ALL: Final = 300_000  # characters of a benchmark, so that its page stays small
_RESTORE: Final = (
    "restore it from version control, or record a new baseline with "
    "`pytest --evalmetrics-update`"
)


# -- the reward ------------------------------------------------------------------------------


def with_reward(
    benchmark: Benchmark,
    names: tuple[str, ...] | None = None,
    measured: tuple[str, ...] = (),
) -> Benchmark:
    """Set the reward: the benchmark's own, else the only score, or the scorer's strictest."""
    spec = benchmark.spec
    if names is None:
        names = tuple(name for scorer in spec.scorers for name in scorer.score_names)
        if not names:
            return benchmark
    scores = (*names, *measured)
    is_written = ("reward",) in benchmark.lines
    if is_written and spec.dataset is not None and spec.reward not in scores:
        guess = errors.did_you_mean(spec.reward, scores, what="they give")
        message = f"no scorer gives the reward {spec.reward!r}; {guess}"
        raise DataError(message, line=benchmark.line_of("reward"))
    # scorers that are not made yet have no names
    if is_written or spec.reward in scores or not names:
        return benchmark
    reward = default_reward(spec) or _only_score(benchmark, names)
    benchmark = benchmark.but(reward=reward)
    for question in undeclared_when_read(benchmark.spec):
        raise DataError(question.message, line=benchmark.line_of(*question.path))
    return benchmark


def _only_score(benchmark: Benchmark, names: Sequence[str]) -> str:
    """Return the only score that scorers give beside the columns of their own metrics."""
    columns: list[Collection[str]] = []
    for scorer in benchmark.spec.scorers:
        columns.extend(getattr(scorer, "columns", {}).values())
    scores = [name for name in names if not any(name in column for column in columns)]
    if len(scores) == 1:
        return scores[0]
    if not scores:
        scores = list(names)
    message = f"the scorers give {', '.join(scores)}: nothing says which of them the metrics reduce"
    raise DataError(
        message, hint=f"write `reward: {scores[0]}`", line=benchmark.line_of("scorers")
    )


def default_reward(spec: BenchmarkSpec) -> str:
    """Return the score that the only scorer of a benchmark has for its reward; empty for none."""
    if len(spec.scorers) != 1:
        return ""
    name: str = getattr(spec.scorers[0], "default_reward", "")
    return name


def reward_notes(benchmark: Benchmark) -> list[Note]:
    """Note which of a scorer's scores is the reward, where the benchmark does not say it."""
    name = default_reward(benchmark.spec)
    if not name or ("reward",) in benchmark.lines:
        return []
    return [DefaultReward(score=name, scorer=benchmark.spec.scorers[0].type)]


# -- which rows ------------------------------------------------------------------------------


class Chosen(msgspec.Struct, frozen=True):
    """The rows that are evaluated."""

    # one row per rollout. `read_as` numbers them in the order of the files: the samples of
    # the first chosen row, then those of the second.
    table: RolloutTable
    # numbers of the chosen rows in the files, ascending, shape (chosen,)
    rows: NDArray[np.int64]
    samples: int  # rollouts of each row
    notes: tuple[Note, ...]
    partial: bool  # ``params.limit_samples`` leaves some out
    frame: RolloutTable | None = None  # the sampling frame: what ``sample:`` draws from
    # whether the templates were filled in with all rows of the files
    tried: bool = False


def with_hidden_ids(chosen: Chosen, hide: Callable[[str], str]) -> Chosen:
    """Hide keys in the ids of tasks: people read ids in baselines and reports."""
    table = chosen.table
    written = "\n".join(map(str, table.tasks))
    if hide(written) == written:
        return chosen
    written_ids = [str(task) for task in table.tasks]
    hidden = _hidden_apart(written_ids, hide)
    count = sum(name != task for name, task in zip(hidden, written_ids, strict=True))
    places = {name: at for at, name in enumerate(sorted(hidden))}
    order = np.array([places[name] for name in hidden], np.int64)[table.task]
    read_as = np.arange(len(table)) if table.read_as is None else table.read_as
    renamed = structs.replace(table, tasks=tuple(places), task=order, read_as=read_as)
    return structs.replace(
        chosen,
        table=renamed.where(np.lexsort((order, table.agent))),
        notes=(*chosen.notes, KeysInTaskIds(count)),
    )


def _hidden_apart(ids: Sequence[str], hide: Callable[[str], str]) -> list[str]:
    """Hide keys in ids; those that are the same without their keys get a number."""
    hidden = [hide(task) for task in ids]
    taken = set(ids) & set(hidden)
    count = 0
    names = []
    for task, short in zip(ids, hidden, strict=True):
        name = short
        if short != task:
            count += 1
            number = count
            while name in taken:
                name = f"{short} ({number})"
                number += 1
            taken.add(name)
        names.append(name)
    return names


def choose(
    benchmark: Benchmark,
    plan: Plan,
    given: Sequence[str],
    engine: Engine | None = None,
    *,
    only_tasks: frozenset[str] | None = None,
    trials: TemplateTrials | None = None,
) -> Chosen:
    """Read the numbers of the rows, without the scores `given`, and select rows to evaluate.

    The templates of `trials` are filled in with all rows where the format allows it.
    """
    spec = benchmark.spec
    hashes = spec.dataset is not None and (
        spec.baseline is not None or spec.sample is not None
    )
    seen = SeenRows(spec, hashes=hashes, trials=trials)
    visitor = seen if seen.wants_rows else None
    table = rollouts_of(benchmark, plan, engine=engine, given=given, visitor=visitor)
    read = len(table)
    _refuse_repeated_tasks(spec, table)
    if hashes:
        table = _with_content(benchmark, table, seen)
    selected = _select(spec, table, only_tasks)
    chosen = _chosen(spec, table, selected)
    return structs.replace(chosen, tried=seen.count == read)


class _Selected(msgspec.Struct, frozen=True):
    """Which rows of a table are evaluated."""

    taken: NDArray[np.bool_]  # shape (rows of the table,)
    notes: tuple[Note, ...]
    partial: bool  # ``params.limit_samples`` leaves some out
    frame: RolloutTable | None  # see `Chosen`


def _select(
    spec: BenchmarkSpec, table: RolloutTable, only_tasks: frozenset[str] | None
) -> _Selected:
    """Select the rows to evaluate: the first ones, a sample of the tasks, or tasks by name."""
    available, rank = _of_dataset(spec, table)
    limit = min(available, spec.params.limit_samples or available)
    taken = rank < limit
    notes: list[Note] = []
    frame = None
    if spec.sample is not None:
        frame = table.where(rank < available)
        drawn, note = draw(frame, spec.sample)
        notes.append(note)
        taken &= _of_tasks(table, set(drawn.tasks))
    if only_tasks is not None:
        named = {task for task in table.tasks if str(task) in only_tasks}
        taken &= _of_tasks(table, named)
    if spec.answers is None and isinstance(spec.num_samples, Rounds):
        taken &= first_rollouts(table, spec.num_samples)
    if limit < available:
        notes.append(LimitedRows(taken=limit, rows=available))
    return _Selected(
        taken=taken, notes=tuple(notes), partial=limit < available, frame=frame
    )


def _of_dataset(
    spec: BenchmarkSpec, table: RolloutTable
) -> tuple[int, NDArray[np.int64]]:
    """Return how many rows a data set offers, and the rank of each row among all."""
    rank = reading_order(table)
    size = len(table)
    if spec.dataset is None:
        return size, rank
    if spec.dataset.chosen_with is not None:
        rank = _shuffled(size, spec.dataset.chosen_with)[rank]
    return min(size, spec.dataset.limit or size), rank


def _of_tasks(table: RolloutTable, tasks: Collection[TaskId]) -> NDArray[np.bool_]:
    """Find the rows of some tasks."""
    is_one = np.array([task in tasks for task in table.tasks], dtype=bool)
    return is_one[table.task]


def _chosen(spec: BenchmarkSpec, table: RolloutTable, selected: _Selected) -> Chosen:
    """Take the selected rows of a table, each as often as it is answered."""
    taken = selected.taken
    order = reading_order(table)
    is_answered = spec.answers is not None
    if not taken.all() or is_answered:
        sources = tuple(
            structs.replace(source, row_is_line=False) for source in table.sources
        )
        table = structs.replace(table.where(taken), sources=sources)
    rows = np.sort(order[taken])
    read_as = np.searchsorted(rows, order[taken]).astype(np.int64)
    table = structs.replace(table, read_as=read_as)
    samples = (spec.num_samples or 1) if is_answered else 1
    if samples > 1:
        table = _repeated(table, samples)
    return Chosen(
        table=table,
        rows=rows,
        samples=samples,
        notes=selected.notes,
        partial=selected.partial,
        frame=selected.frame,
    )


def _repeated(table: RolloutTable, samples: int) -> RolloutTable:
    """Give each row of a table so many samples."""
    attempts = np.tile(np.arange(samples), len(table))
    repeated = table.where(np.repeat(np.arange(len(table)), samples))
    read_as = reading_order(repeated) * samples + attempts
    return structs.replace(repeated, sample=attempts, read_as=read_as)


def rows_of(benchmark: Benchmark, chosen: Chosen) -> Iterator[Row]:
    """Read the files again, and yield each chosen row once per answer."""
    spec = benchmark.spec
    table = chosen.table
    recorded = spec.dataset is None
    order = np.argsort(reading_order(table), kind="stable")
    # a view gives plain integers, one by one, in half the time of an array
    columns = (table.task, table.agent, table.sample)
    tasks, agents, samples = (column[order].data for column in columns)
    number = 0
    for index, (where, item) in enumerate(records(spec.rows, benchmark.file.parent)):
        if number == len(chosen.rows):
            break
        if index != chosen.rows[number]:
            continue
        first = number * chosen.samples
        for at in range(first, first + chosen.samples):
            agent = table.agents[agents[at]]
            task = table.tasks[tasks[at]]
            sample_data = item if recorded else {}
            yield Row(at, agent, task, samples[at], item, sample_data, where)
        number += 1
    if number != len(chosen.rows):
        counts = f"{many(number, 'row')}, after {len(chosen.rows)}"
        message = f"the rows' files changed while they were read: {counts}"
        raise DataError(message, hint="run again when nothing writes to them")


def reading_order(table: RolloutTable) -> NDArray[np.int64]:
    """Return which row of the files each row of a table was."""
    if table.read_as is None:
        raise ValueError("a table of no file has no rows to score")
    return table.read_as


def _with_content(
    benchmark: Benchmark, table: RolloutTable, seen: SeenRows
) -> RolloutTable:
    """Add a hash of the content of each task of a data set, taken from its first row."""
    contents: Iterable[str] = seen.contents
    if seen.count != len(table):  # the rows did not go by while the numbers were read
        contents = (
            content_hash(content_of(benchmark.spec, row))
            for _, row in records(benchmark.spec.rows, benchmark.file.parent)
        )
    tasks = np.empty(len(table), np.int64)
    tasks[reading_order(table)] = table.task
    hashes: dict[int, str] = {}
    for task, content in zip(tasks.tolist(), contents, strict=True):
        hashes.setdefault(task, content)
    if not any(hashes.values()):
        return table
    of_task = np.array(
        [hashes[task] for task in range(len(hashes))], dtype=f"S{HASH_SIZE}"
    )
    return structs.replace(table, content=of_task[table.task])


def _refuse_repeated_tasks(spec: BenchmarkSpec, table: RolloutTable) -> None:
    """Refuse a task in several rows of a data set if nothing calls these attempts."""
    answered = spec.answers is not None
    dataset = spec.dataset
    attempts = (
        dataset is None
        or dataset.fields.sample is not None
        or spec.num_samples is not None
    )
    if not answered and (attempts or spec.expect.rollouts is not None):
        return
    again = (np.diff(table.task) == 0) & (np.diff(table.agent) == 0)
    if again.any():
        task = table.tasks[table.task[np.flatnonzero(again)[0]]]
        hint = (
            "say which key tells them apart: dataset: {path: ..., fields: {task: KEY}}"
        )
        done = "answered"
        if not answered:
            done = "scored"
            hint += "; or, where they are attempts at one task, num_samples"
        message = (
            f"the task {task!r} occurs in several rows, of which each would be {done} "
            "as a task of its own"
        )
        raise DataError(message, hint=hint)


def _shuffled(rows: int, seed: int) -> NDArray[np.int64]:
    """Rank rows in an order that depends only on the seed and the row's number."""
    # A hash, for NumPy's generators may change: SplitMix64, G. L. Steele, D. Lea, C. H. Flood,
    # "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
    first = (seed % 2**32) * 2**32 + 1
    with np.errstate(over="ignore"):
        z = np.arange(first, first + rows, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.argsort(np.argsort(z, kind="stable"), kind="stable").astype(np.int64)


# -- a part of the tasks, or of their rollouts --------------------------------------------------


def draw(table: RolloutTable, spec: SampleSpec) -> tuple[RolloutTable, Note]:
    """Take some of the tasks of a table, by a hash of the seed and their content; with a note."""
    total = len(table.tasks)
    size = min(spec.tasks, total)
    members = _members_of_groups(table, spec.by)
    sizes = {group: len(tasks) for group, tasks in members.items()}
    counts = _shares(sizes, size)
    order = _order_of_draw(table, spec.seed)
    is_drawn = np.zeros(total, dtype=bool)
    for group, tasks in members.items():
        ranked = sorted(tasks, key=order.__getitem__)
        is_drawn[ranked[: counts[group]]] = True
    note = DrawnSample(drawn=size, tasks=total)
    if spec.by in table.categories:
        groups = [DrawnGroup(name, counts[name], sizes[name]) for name in members]
        note = structs.replace(note, by=spec.by, groups=tuple(groups))
    if is_drawn.all():
        return table, note
    return table.where(is_drawn[table.task]), note


def _members_of_groups(table: RolloutTable, by: str | None) -> dict[str, list[int]]:
    """List the places of each group's tasks, by its label; one group without a field."""
    category = None
    if by is not None:
        category = table.categories.get(by)
    if category is None:
        return {"": list(range(len(table.tasks)))}
    first_rows = np.unique(table.task, return_index=True)[1]
    members: dict[str, list[int]] = {}
    for place, code in enumerate(category.codes[first_rows].tolist()):
        members.setdefault(category.labels[code], []).append(place)
    return dict(sorted(members.items()))


def _shares(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """Share out a sample among groups by their sizes, by the largest remainders."""
    total = sum(sizes.values())
    counts = {}
    remainders = {}
    for group, members in sizes.items():
        counts[group], remainders[group] = divmod(members * size, total)
    largest_first = sorted(sizes, key=remainders.__getitem__, reverse=True)
    for group in largest_first[: size - sum(counts.values())]:
        counts[group] += 1
    return counts


def _order_of_draw(table: RolloutTable, seed: int) -> list[tuple[bytes, str]]:
    """Return what orders the tasks of a draw: a hash of the seed and their content, or their id."""
    names = [str(task) for task in table.tasks]
    contents = [b""] * len(names)
    if table.content is not None:
        first_rows = np.unique(table.task, return_index=True)[1]
        contents = table.content[first_rows].tolist()
    order = []
    for name, content in zip(names, contents, strict=True):
        key = f"{seed}\0{content.decode() or name}".encode()
        order.append((blake2b(key, digest_size=8).digest(), name))
    return order


def first_rollouts(table: RolloutTable, rounds: Rounds) -> NDArray[np.bool_]:
    """Find the rollouts of each task that a look sees, shape (rows,)."""
    rows = np.arange(len(table))
    begins = np.diff(table.task, prepend=-1) | np.diff(table.agent, prepend=-1)
    rank = rows - np.maximum.accumulate(np.where(begins != 0, rows, 0))
    at = int(rank.argmax()) if len(rank) else -1
    if at >= 0 and rank[at] >= rounds.most:
        has = f"task {table.tasks[table.task[at]]} has {rank[at] + 1} rollouts"
        hint = "look for another run's rollouts in the files; or set num_samples"
        raise DataError(
            f"{has}, more than num_samples: {{max: {rounds.most}}}", hint=hint
        )
    return rank < rounds


# -- the rows that a baseline keeps ----------------------------------------------------------


class _KeptRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row as a scorer sees it; without `sample_data` that is the item itself."""

    agent: str
    task: str
    sample: int
    item: dict[str, object]
    sample_data: dict[str, object] | None = None
    failed: tuple[str, str] | None = None


def keep(
    rows: Iterable[ScorerInput], table: RolloutTable
) -> tuple[bytes, dict[str, object]]:
    """Compress the rows of a table, in its order, and describe them."""
    order = reading_order(table)
    places = dict(zip(order.tolist(), range(len(order)), strict=True))
    lines = [b""] * len(order)
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for row, failure in rows:
        if row.index in places:
            lines[places[row.index]] = encode(_kept(row, failure))
    data = b"".join(line + b"\n" for line in lines)
    digest = blake2b(data, digest_size=8).hexdigest()
    return _compressed(data), {"count": len(lines), "digest": digest}


def _kept(row: Row, failure: RowError | None) -> _KeptRow:
    kept = _KeptRow(
        agent=row.agent, task=str(row.task), sample=row.sample, item=dict(row.item)
    )
    sample_data = dict(row.sample_data)
    if sample_data != kept.item:
        kept = structs.replace(kept, sample_data=sample_data)
    if failure is not None:
        kept = structs.replace(kept, failed=(failure.kind, failure.message))
    return kept


def _compressed(data: bytes) -> bytes:
    """Compress bytes as each version of Python does: `gzip.compress` names the system in some."""
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
        file.write(data)
    return packed.getvalue()


def kept_rows(
    data: bytes | None,
    recorded: Mapping[str, object],
    tables: Mapping[str, RolloutTable],
) -> tuple[list[ScorerInput], dict[str, list[int]]]:
    """Read the kept rows of a baseline; return them, and the places of each agent's."""
    if data is None:
        raise BaselineError("the file with the baseline's rows is gone", hint=_RESTORE)
    rows, digest = _decoded(data)
    places = {
        agent: [row.index for row, _ in rows if row.agent == agent] for agent in tables
    }
    is_whole = digest == recorded.get("digest")
    for agent, table in tables.items():
        tasks = [rows[place][0].task for place in places[agent]]
        is_whole = is_whole and tasks == [str(table.tasks[at]) for at in table.task]
    if not is_whole:
        raise BaselineError(
            "the file holds other rows than the baseline's", hint=_RESTORE
        )
    return rows, places


def _decoded(data: bytes) -> tuple[list[ScorerInput], str]:
    """Read kept rows, and compute their digest."""
    rows: list[ScorerInput] = []
    try:
        text = gzip.decompress(data)
        kept_ones = msgspec.json.Decoder(_KeptRow).decode_lines(text)
        rows += [_as_scored(kept, index) for index, kept in enumerate(kept_ones)]
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        reason = f"the file with the baseline's rows can't be read: {error}"
        raise BaselineError(reason, hint=_RESTORE) from None
    return rows, blake2b(text, digest_size=8).hexdigest()


def _as_scored(kept: _KeptRow, index: int) -> ScorerInput:
    sample_data = kept.sample_data
    if sample_data is None:
        sample_data = kept.item
    row = Row(
        index=index,
        agent=kept.agent,
        task=kept.task,
        sample=kept.sample,
        item=kept.item,
        sample_data=sample_data,
        where=f"the baseline's row {index + 1}",
    )
    failure = None
    if kept.failed is not None:
        failure = RowError(*kept.failed)
    return row, failure


def texts_alone(
    rows: Iterable[ScorerInput],
    scores: RowScores | None,
    hide: Callable[[str], str],
    fields: FieldMap | None = None,
) -> Iterator[ScorerInput]:
    """Reduce rows to their texts and judges' reasons, for a later run to show."""
    for row, _ in rows:
        whole = {**row.item, **row.sample_data}
        texts = texts_of(whole, fields=fields, scores=scores, index=row.index)
        shown = {
            "prompt": hide(texts.prompt),
            "response": hide(texts.answer),
            "reference": hide(texts.reference),
            KEPT_REASON: hide(texts.reason),
        }
        item = {key: text for key, text in shown.items() if text}
        yield structs.replace(row, item=item, sample_data={}), None


def recorded_rows(
    spec: FilesSpec,
    wanted: Iterable[int] | None = None,
    *,
    base: Path,
    table: RolloutTable,
    most: float = math.inf,
) -> Iterator[ScorerInput]:
    """Read the wanted rows again, each with its task, from files of at most so many bytes."""
    size = sum(source.size or 0 for source in table.sources)
    if table.read_as is None or size > most:
        return
    places = dict(zip(table.read_as.tolist(), range(len(table)), strict=True))
    if wanted is not None:
        places = {index: places[index] for index in wanted}
    for index, (_, item) in enumerate(records(spec, base)):
        at = places.get(index)
        if at is None:
            continue
        agent = table.agents[table.agent[at]]
        task = table.tasks[table.task[at]]
        yield Row(index, agent, task, int(table.sample[at]), item), None


# -- the tasks that changed most -------------------------------------------------------------


class AnswerSide(msgspec.Struct, frozen=True):
    """One side of a comparison, with where its rows are."""

    table: RolloutTable
    rows: Callable[[Collection[int]], Iterable[ScorerInput]] = lambda _: ()
    kept: bytes | None = None  # the rows beside a committed baseline, compressed
    scores: RowScores | None = None  # with the reasons of judges
    fields: FieldMap | None = None  # that name the texts of a row


class FlippedTask(msgspec.Struct, frozen=True):
    """A task that changed, and the conversations of its attempts."""

    flip: Flip
    conversations: TaskConversations

    @property
    def has_text(self) -> bool:
        """Whether any attempt has a text to show."""
        attempts = (*self.flip.now, *self.flip.before)
        return any(attempt.text for attempt in attempts)


class _SideOfTask(msgspec.Struct, frozen=True):
    """The attempts of one side at a task."""

    prompt: str
    reference: str
    attempts: tuple[Attempt, ...]
    turns: dict[str, tuple[Turn, ...]]  # by the attempt's number

    @property
    def size(self) -> int:
        """The number of characters."""
        texts = [len(attempt.text) + len(attempt.reason) for attempt in self.attempts]
        return sum(texts)


def flips_of(
    agent: str,
    now: AnswerSide,
    was: AnswerSide,
    at: Sequence[int] | NDArray[np.int64] | None,
    reward: str,
    *,
    lower: bool,
    hide: Callable[[str], str] = str,
) -> list[FlippedTask]:
    """Show the tasks that changed most, the worse first; `at` are their places in the baseline."""
    if reward not in now.table.scores or reward not in was.table.scores:
        return []
    tasks = _changed_most(now.table, was.table, at, reward, lower=lower)
    if not tasks:  # the files are not read again for nothing
        return []
    try:
        ours = _sides(now, [task for task, _ in tasks], reward, hide)
        theirs = _sides(was, [task for _, task in tasks], reward, hide)
    except errors.EvalMetricsError:
        # the files have changed since, or have no rows of their own
        return []
    flips = []
    left = _ALL
    for (task, _), after, before in zip(tasks, ours, theirs, strict=True):
        flipped = _flipped(agent, str(now.table.tasks[task]), before, after)
        texts = (flipped.flip.prompt, flipped.flip.reference)
        left -= sum(map(len, texts)) + after.size + before.size
        if left < 0:
            break
        if flipped.has_text:
            flips.append(flipped)
    return flips


def _flipped(
    agent: str, task: str, before: _SideOfTask, after: _SideOfTask
) -> FlippedTask:
    flip = Flip(
        agent=agent,
        task=task,
        prompt=after.prompt or before.prompt,
        reference=after.reference or before.reference,
        before=before.attempts,
        now=after.attempts,
    )
    return FlippedTask(flip, TaskConversations(before.turns, after.turns))


class PairedRow(msgspec.Struct, frozen=True):
    """The worst row of a task that both sides have."""

    item: dict[str, object]
    reason: str  # of its score
    is_worse: bool


def worst_rows(
    now: AnswerSide,
    was: RolloutTable,
    at: Sequence[int] | NDArray[np.int64] | None,
    reward: str,
    *,
    lower: bool,
) -> list[PairedRow]:
    """Read the worst row of each paired task; none where rows can't be read again."""
    table = now.table
    if table.read_as is None or not {reward} <= table.scores.keys() & was.scores.keys():
        return []
    places = np.arange(len(table.tasks)) if at is None else np.asarray(at)
    is_paired = places >= 0
    before = means(was, reward)[places[is_paired]]
    change = means(table, reward)[is_paired] - before
    is_worse = (change > 0) if lower else (change < 0)
    worst: dict[int, bool] = {}  # the row's number -> whether its task is worse
    for task, got_worse in zip(
        np.flatnonzero(is_paired).tolist(), is_worse.tolist(), strict=True
    ):
        span = slice(int(table.offsets[task]), int(table.offsets[task + 1]))
        rewards = table.scores[reward][span]
        if np.isnan(rewards).all():
            continue
        place = np.nanargmax(rewards) if lower else np.nanargmin(rewards)
        worst[int(table.read_as[span][place])] = got_worse
    rows = []
    for row, _ in now.rows(worst.keys()):
        if row.index in worst:
            item = {**row.item, **row.sample_data}
            texts = texts_of(item, scores=now.scores, index=row.index)
            rows.append(PairedRow(item, texts.reason, worst[row.index]))
    return rows


def _changed_most(
    now: RolloutTable,
    was: RolloutTable,
    at: Sequence[int] | NDArray[np.int64] | None,
    reward: str,
    *,
    lower: bool,
) -> list[tuple[int, int]]:
    """Return the places of tasks on both sides: those that lost most, then those that gained."""
    places = np.arange(len(now.tasks)) if at is None else np.asarray(at)
    there = np.flatnonzero(places >= 0)
    change = means(now, reward)[there] - means(was, reward)[places[there]]
    change = np.where(np.isfinite(change), -change if lower else change, 0.0)
    worse = _lowest(change, there, now.tasks)[:_WORSE]
    better = _lowest(-change, there, now.tasks)[:_BETTER]
    chosen = [*worse, *better]
    return [(int(there[place]), int(places[there[place]])) for place in chosen]


def _lowest(
    change: NDArray[np.float64], there: NDArray[np.intp], tasks: Sequence[TaskId]
) -> list[int]:
    """Return the places of the changes below 0: the lowest first, ties in natural order."""
    names = [natural_key(tasks[place]) for place in there.tolist()]
    return sorted(
        np.flatnonzero(change < 0).tolist(),
        key=lambda place: (change[place], names[place]),
    )


def _sides(
    side: AnswerSide, tasks: list[int], reward: str, hide: Callable[[str], str]
) -> list[_SideOfTask]:
    spans = [_telling_rows(side.table, task, reward) for task in tasks]
    texts = _texts(side, [at for span in spans for at in span])
    return [_side_of_task(side.table, span, texts, reward, hide) for span in spans]


def _telling_rows(table: RolloutTable, task: int, reward: str) -> list[int]:
    """Choose the rows of a task that are shown: the best, the worst and the first ones."""
    span = list(range(int(table.offsets[task]), int(table.offsets[task + 1])))
    if len(span) <= _ATTEMPTS:
        return span
    # a task that changed has a reward on both sides
    rewards = table.scores[reward][span]
    extremes = [span[int(np.nanargmax(rewards))], span[int(np.nanargmin(rewards))]]
    chosen = dict.fromkeys((*extremes, *span))
    return sorted(list(chosen)[:_ATTEMPTS])


def _side_of_task(
    table: RolloutTable,
    span: Sequence[int],
    texts: Mapping[int, RowTexts],
    reward: str,
    hide: Callable[[str], str],
) -> _SideOfTask:
    attempts = []
    turns = {}
    prompt = ""
    reference = ""
    for at in span:
        shown = hidden(texts.get(at, RowTexts()), hide)
        if not prompt and not reference:
            prompt = shown.prompt
            reference = shown.reference
        value = float(table.scores[reward][at])
        sample = int(table.sample[at])
        attempt = Attempt(
            sample=sample,
            reward=None if np.isnan(value) else value,
            text=shown.answer,
            reason=shown.reason,
        )
        attempts.append(attempt)
        if shown.turns:
            turns[str(sample)] = shown.turns
    return _SideOfTask(prompt, reference, tuple(attempts), turns)


def _texts(side: AnswerSide, wanted: list[int]) -> dict[int, RowTexts]:
    """Find the texts of rows, as far as they are kept."""
    table = side.table
    texts: dict[int, RowTexts] = {}
    keys = {
        (str(table.tasks[table.task[at]]), int(table.sample[at])): at for at in wanted
    }
    indexes: set[int] = set()
    if table.read_as is not None:
        indexes.update(table.read_as[wanted].tolist())
    rows = side.rows(indexes) if side.kept is None else _decoded(side.kept)[0]
    for row, _ in rows:
        at = keys.get((str(row.task), row.sample))
        if at is None or row.agent not in table.agents:
            continue
        texts[at] = texts_of(
            {**row.item, **row.sample_data},
            fields=side.fields,
            scores=side.scores,
            index=row.index,
        )
        if len(texts) == len(keys):
            break
    return texts
