"""A result as builtins and texts: what crosses processes, and is kept until the run's end."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError, MetricError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.model.results import BenchmarkResult
from pytest_evalmetrics.model.run_notes import TaskGroupsApart
from pytest_evalmetrics.reports.html.page import page_texts
from pytest_evalmetrics.reports.report_json import result_document
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES, MARK
from pytest_evalmetrics.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.baseline import AgentDocument
    from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores, TaskId
    from pytest_evalmetrics.reports.html.picture import Picture

    Aggregate = Mapping[str, Any]  # NeMo Gym's entry of one agent

GROUPS_FILE: Final = "group_level_metrics.json"
_GROUPS: Final = "group_level_metrics"  # the last of an entry, and nearly all of it
# tasks of an entry; those of a larger one are in a file of their own
_MOST_GROUPS: Final = 100_000
# bytes; larger texts are passed between processes in a file, and are not indented
_LARGE: Final = 4 * 2**20
_PIECE: Final = 2**20


class Payload(TypedDict):
    """One benchmark, as it travels on pytest's report of its item: builtins alone."""

    # The texts are made once and never parsed again, each for the artifact of its name:
    # `about`, `brief` and `tasks` are of the page; `task_scores` has two lines per
    # agent: scores, content.

    entry: dict[str, Any]  # a `BenchmarkResult`, with its verdict; see `result_of`
    texts: dict[str, str]  # by kind
    files: dict[str, str]  # kind -> the file that holds a large text instead
    # the totals of its calls in this run; for the terminal, because it differs with each
    # run; empty if nothing was called
    usage: dict[str, Any]
    warnings: list[str]  # about this run, not about the benchmark
    # the run as the history keeps it, where asked to
    baseline: NotRequired[dict[str, Any]]


class Handed(msgspec.Struct, frozen=True):
    """A text on its way to another process: itself, or the file that holds it."""

    text: str = ""
    path: str = ""


@collector_paused()
def payload_of(
    result: BenchmarkResult,
    documents: Mapping[str, AgentDocument],
    row_scores: RowScores | None,
    pictures: Mapping[str, Picture],
    folder: Path | None,
) -> Payload:
    """Turn a result into builtins and texts; `folder` is the one that processes share."""
    aggregates, large = _apart([agent.aggregate for agent in result.agents])
    handed = _handed_aggregates(result, aggregates, large, folder)
    if row_scores is not None:
        handed["row_scores"] = _hand_over(row_lines(result.id, row_scores), folder)
        handed["rollouts"] = _hand_over(rollout_lines(row_scores), folder)
    notes = list(result.notes)
    if large:
        tasks = sum(len(aggregate[_GROUPS]) for aggregate in large)
        notes.append(TaskGroupsApart(tasks, GROUPS_FILE))
    scores = []
    agents = []
    for agent in result.agents:
        document = documents[agent.agent]
        scores += [compact(document.tasks), compact(document.content)]
        ids = document.ids or "names"
        agents.append(structs.replace(agent, task_ids=ids, aggregate={}))
    reported = structs.replace(result, agents=tuple(agents), notes=tuple(notes))
    texts = {"task_scores": "\n".join(scores)}
    texts |= {kind: text.text for kind, text in handed.items()}
    texts |= page_texts(pictures)
    return {
        "entry": result_document(reported),
        "texts": texts,
        "files": {kind: text.path for kind, text in handed.items() if text.path},
        "usage": {},
        "warnings": [],
    }


def _handed_aggregates(
    result: BenchmarkResult,
    aggregates: Sequence[Aggregate],
    large: Sequence[Aggregate],
    folder: Path | None,
) -> dict[str, Handed]:
    """Write NeMo Gym's entries, and the tasks of very large ones."""
    try:
        return {
            "aggregate": write_aggregates(result.id, aggregates, folder),
            "groups": write_aggregates(result.id, large, folder),
        }
    except (TypeError, ValueError) as error:
        what = f"the aggregate metrics of {result.name}"
        hint = "let the hook pytest_evalmetrics_compute_metrics return builtins only"
        message = f"{what} can't be written as JSON: {error}"
        raise MetricError(message, hint=hint) from error


def result_of(payload: Payload) -> BenchmarkResult:
    """Return the result that a payload carries, without NeMo Gym's aggregates."""
    return msgspec.convert(payload["entry"], BenchmarkResult)


# -- texts and files on their way ------------------------------------------------------------


def _hand_over(pieces: Iterable[bytes], folder: Path | None) -> Handed:
    """Join the pieces of a text, or write a large one to a file of the folder."""
    pieces = iter(pieces)
    text = bytearray()
    for piece in pieces:
        text += piece
        if folder is not None and len(text) > _LARGE:
            whole = itertools.chain([bytes(text)], pieces)
            return Handed(path=leave(whole, folder))
    return Handed(text=text.decode())


def leave(pieces: Iterable[bytes], folder: Path) -> str:
    """Write a text to a file of its own, and return its path; ArtifactError without room for it."""
    path = folder / f"{os.urandom(8).hex()}.jsonl"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, pieces)
    except OSError as error:
        raise _no_room("a benchmark", folder.parent, error) from error
    return str(path)


def _no_room(of: str, folder: str | Path, error: OSError) -> ArtifactError:
    where = f"the results of {of} can't be kept in {folder}: {error.strerror or error}"
    hint = "free some room, or name another folder in the environment as TMPDIR"
    return ArtifactError(f"no artifact is written: {where}", hint=hint)


class Artifacts:
    """The texts of finished benchmarks, in a temporary file until the run's end."""

    def __init__(self, in_memory: int = 32 * 2**20) -> None:
        # it lives as long as we do
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115
        # benchmark -> kind -> where its text starts in the file, and its length
        self._places: dict[str, dict[str, tuple[int, int]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a full disk was reported where it was written
            self._spool.close()

    def add(self, item_id: str, payload: Payload) -> None:
        """Keep one benchmark's texts, in place of earlier ones; ArtifactError without room."""
        places = {}
        try:
            for kind, text in payload["texts"].items():
                start = self._spool.seek(0, os.SEEK_END)
                places[kind] = start, self._spool.write(text.encode())
            for kind, path in payload["files"].items():
                start = self._spool.seek(0, os.SEEK_END)
                with Path(path).open("rb") as file:
                    shutil.copyfileobj(file, self._spool, _PIECE)
                Path(path).unlink()
                places[kind] = start, self._spool.tell() - start
        except OSError as error:
            raise _no_room(item_id, tempfile.gettempdir(), error) from error
        self._places[item_id] = places

    def ids(self, kind: str) -> list[str]:
        """List the benchmarks that have a text of a kind."""
        return sorted(item for item in self._places if self.size(item, kind))

    def size(self, item_id: str, kind: str) -> int:
        """Return the size of a text in bytes; 0 if it is absent."""
        return self._places.get(item_id, {}).get(kind, (0, 0))[1]

    def read(self, item_id: str, kind: str) -> bytes:
        """Return a text; empty if it is absent."""
        return b"".join(self.pieces(item_id, kind))

    def pieces(self, item_id: str, kind: str) -> Iterator[bytes]:
        """Read a text piece by piece."""
        start, length = self._places.get(item_id, {}).get(kind, (0, 0))
        self._spool.seek(start)
        for done in range(0, length, _PIECE):
            yield self._spool.read(min(_PIECE, length - done))


# -- NeMo Gym's entries ----------------------------------------------------------------------


def _apart(
    aggregates: Sequence[Aggregate],
) -> tuple[list[Aggregate], list[Aggregate]]:
    """Take the tasks of entries with very many of them out; return the entries, and the tasks."""
    left: list[Aggregate] = []
    large: list[Aggregate] = []
    for aggregate in aggregates:
        groups = aggregate.get(_GROUPS, ())
        if len(groups) <= _MOST_GROUPS:
            left.append(aggregate)
            continue
        large.append({"agent_ref": aggregate["agent_ref"], _GROUPS: groups})
        left.append({**aggregate, _GROUPS: [], "group_level_metrics_in": GROUPS_FILE})
    return left, large


def write_aggregates(
    benchmark: str, aggregates: Iterable[Aggregate], folder: Path | None = None
) -> Handed:
    """Write the entries of one benchmark."""
    handed = _hand_over(_pieces(benchmark, aggregates), folder)
    if not handed.text or len(handed.text) > _LARGE:
        return handed
    text = msgspec.json.format(f"[{handed.text}]", indent=2)
    return Handed(text=text[1:-1].strip("\n"))


def _pieces(benchmark: str, aggregates: Iterable[Aggregate]) -> Iterator[bytes]:
    for number, aggregate in enumerate(aggregates):
        if number:
            yield b","
        groups: Any = aggregate.get(_GROUPS)
        entry = {"benchmark": benchmark, **aggregate}
        if hasattr(groups, "pieces"):
            del entry[_GROUPS]
            yield msgspec.json.encode(entry)[:-1]
            yield b',"%b":[' % _GROUPS.encode()
            yield from _separated(groups.pieces())
            yield b"]}"
        else:
            yield msgspec.json.encode(entry)


def _separated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces with commas between them."""
    for at, piece in enumerate(pieces):
        if at:
            yield b","
        yield piece


# -- rows ------------------------------------------------------------------------------------

_BLOCK = 1024  # rows that are turned into Python's numbers at once
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "latency_s", "cost")
_AGENT = "agent"  # where rows name none


class _ScoredRow(msgspec.Struct, frozen=True):
    """A row with its scores; None where one is missing."""

    index: int  # in the order of the files
    agent: str
    task: TaskId
    sample: int
    scores: dict[str, float | None]


def _scored_rows(scored: RowScores) -> Iterator[_ScoredRow]:
    """Yield the rows in the order of the files."""
    table = scored.table
    order = np.arange(len(table))
    if table.read_as is not None:
        order = np.argsort(table.read_as)
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        agents = table.agent[rows].tolist()
        tasks = table.task[rows].tolist()
        samples = table.sample[rows].tolist()
        columns = [_column(table, name, rows) for name in scored.names]
        for at in range(len(rows)):
            values = [column[at] for column in columns]
            yield _ScoredRow(
                index=start + at,
                agent=table.agents[agents[at]],
                task=table.tasks[tasks[at]],
                sample=samples[at],
                scores=dict(zip(scored.names, values, strict=True)),
            )


def _column(
    table: RolloutTable, score: str, rows: NDArray[np.int64]
) -> list[float | None]:
    """Return a score of some rows as Python's numbers; None where it is missing."""
    values = table.scores[score][rows]
    column: list[float | None] = values.tolist()
    for at in np.flatnonzero(np.isnan(values)).tolist():
        column[at] = None
    return column


def rollout_lines(scored: RowScores) -> Iterator[bytes]:
    """Write one JSON object per rollout, in the order of the data set; one is held at a time."""
    # `_evalmetrics` holds `sample` and all that is no part of the row, so that scorers
    # of this file see the same as when it was written.
    if scored.answers is None:
        return
    encoder = msgspec.json.Encoder()
    decoder = msgspec.json.Decoder(list[dict[str, Any]])
    for row in _scored_rows(scored):
        added = _added_keys(row)
        answers = decoder.decode(scored.answers(row.index))
        kept: dict[str, Any] = {"item": {}}
        if answers:
            kept = answers[0]
        item = kept["item"]
        mark: dict[str, object] = {
            "added": [key for key in added if key not in item],
            "row": {key: item[key] for key in added if key in item},
        }
        mark |= {key: kept[key] for key in ("sample", "failed") if key in kept}
        yield encoder.encode({**item, **added, MARK: mark}) + b"\n"


def _added_keys(row: _ScoredRow) -> dict[str, object]:
    """Return what a rollout's line has beside the row's own keys."""
    added: dict[str, object] = {
        "_ng_task_index": row.task,
        "_ng_rollout_index": row.sample,
    }
    if row.agent != _AGENT:
        added["agent_ref"] = {"name": row.agent}
    scores = _with_whole_counts(row.scores)
    usage: dict[str, float] = {}
    for name in _USAGE:
        used = scores.pop(name, None)
        if used is not None:
            usage[name] = used
    return {**added, **scores, "usage": usage}


def _with_whole_counts(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Write counts as integers."""
    whole: dict[str, float | None] = {}
    for name, score in scores.items():
        if score is not None and name in COUNTED_SCORES:
            whole[name] = int(score)
        else:
            whole[name] = score
    return whole


class _RowError(msgspec.Struct, frozen=True):
    """Why a row lacks scores, in row_scores.jsonl."""

    scores: tuple[str, ...]
    kind: str
    reason: str
    row: str


class _RowLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of row_scores.jsonl."""

    benchmark: str
    index: int
    agent: str
    task: TaskId
    sample: int
    scores: dict[str, float | None]
    errors: list[_RowError]
    requests: msgspec.Raw  # JSON arrays
    reasons: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def row_lines(benchmark: str, scored: RowScores) -> Iterator[bytes]:
    """Write one JSON object per row, in the order of the files; one is held at a time."""
    encoder = msgspec.json.Encoder()
    for row in _scored_rows(scored):
        failed = scored.failed.get(row.index, {})
        line = _RowLine(
            benchmark=benchmark,
            index=row.index,
            agent=row.agent,
            task=row.task,
            sample=row.sample,
            scores=row.scores,
            errors=[
                _RowError(lacking, failure.kind, failure.reason, failure.row)
                for lacking, failure in failed.items()
            ],
            requests=msgspec.Raw(scored.requests(row.index)),
            reasons=_raw(scored.reasons(row.index)),
        )
        yield encoder.encode(line) + b"\n"


def _raw(reasons: bytes) -> msgspec.Raw | msgspec.UnsetType:
    """Put a JSON array into a line, which has none of an empty one."""
    if reasons == b"[]":
        return msgspec.UNSET
    return msgspec.Raw(reasons)
