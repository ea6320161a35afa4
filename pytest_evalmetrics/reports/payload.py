"""A result as builtins and text: what crosses processes, and what the artifacts are made of."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final, NotRequired, TypedDict

import msgspec
import numpy as np

from pytest_evalmetrics.errors import ArtifactError, MetricError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.reports.html import page_pieces
from pytest_evalmetrics.run_folder import temporary_name
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES, MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_evalmetrics.data import RowScores
    from pytest_evalmetrics.results import BenchmarkResult

__all__ = [
    "Payload",
    "handover_folder",
    "leave",
    "payload_of",
    "remove_left",
    "rollout_lines",
    "row_lines",
    "take",
    "write_aggregates",
]

_PIECE = 2**20


def handover_folder() -> Path:
    """Name a folder that is this run's own; it is made when something is left there."""
    return Path(tempfile.gettempdir()) / temporary_name()


def leave(lines: Iterable[bytes], folder: Path) -> str:
    """Write lines to a file of their own, and give its path.

    Raises
    ------
    ArtifactError
        There is no room for them.
    """
    path = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=folder, suffix=".jsonl")
        with os.fdopen(handle, "wb", buffering=_PIECE) as file:
            file.writelines(lines)
    except BaseException as error:
        if path is not None:
            with suppress(OSError):
                Path(path).unlink()
        if isinstance(error, OSError):
            raise ArtifactError(
                f"the scores of the rows can't be kept in {folder.parent} for row_scores.jsonl: "
                f"{error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error
        raise
    return path


def take(path: str, into: IO[bytes]) -> int:
    """Copy what was left at a path to the end of a file, and remove it there.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    OSError
        It is not there, or can't be written.
    """
    size = 0
    try:
        with Path(path).open("rb") as file:
            while piece := file.read(_PIECE):
                into.write(piece)
                size += len(piece)
    finally:
        with suppress(OSError):
            Path(path).unlink()
    return size


def remove_left(folder: Path) -> None:
    """Remove the folder of a run, with what a worker that died has left in it."""
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


_GROUPS: Final = "group_level_metrics"  # the last of an entry, and nearly all of it
_INDENTED: Final = 4 * 2**20  # bytes; nobody reads more, and indenting makes it twice as many
_HELD: Final = 32 * 2**20  # bytes
GROUPS_FILE: Final = "group_level_metrics.json"
_MOST_GROUPS: Final = 100_000  # tasks of an entry; those of a larger one are in a file of their own


def _apart(
    aggregates: list[Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], int]:
    """Take entries of very many tasks out; return what is left, them, and how many tasks."""
    left: list[Mapping[str, Any]] = []
    large: list[Mapping[str, Any]] = []
    tasks = 0
    for aggregate in aggregates:
        groups = aggregate.get(_GROUPS, ())
        if len(groups) > _MOST_GROUPS:
            large.append({"agent_ref": aggregate["agent_ref"], _GROUPS: groups})
            left.append({**aggregate, _GROUPS: [], "group_level_metrics_in": GROUPS_FILE})
            tasks += len(groups)
        else:
            left.append(aggregate)
    return left, large, tasks


def write_aggregates(
    benchmark: str,
    aggregates: Iterable[Mapping[str, Any]],
    folder: Path | None = None,
    *,
    held: int = _HELD,
) -> tuple[str, str]:
    """Write the entries of one benchmark."""
    pieces = _pieces(benchmark, aggregates)
    text = bytearray()
    for piece in pieces:
        text += piece
        if folder is not None and len(text) > max(held, _INDENTED):
            return "", leave(itertools.chain([bytes(text)], pieces), folder)
    if len(text) <= _INDENTED:
        indented = msgspec.json.format(b"[" + text + b"]", indent=2)
        return indented[1:-1].strip(b"\n").decode(), ""
    return text.decode(), ""


def _pieces(benchmark: str, aggregates: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for number, aggregate in enumerate(aggregates):
        groups: Any = aggregate.get(_GROUPS)
        entry = {"benchmark": benchmark, **aggregate}
        if number:
            yield b","
        if not hasattr(groups, "pieces"):
            yield msgspec.json.encode(entry)
            continue
        del entry[_GROUPS]
        yield msgspec.json.encode(entry)[:-1]
        yield b',"%b":[' % _GROUPS.encode()
        for at, piece in enumerate(groups.pieces()):
            if at:
                yield b","
            yield piece
        yield b"]}"


_BLOCK = 1024  # rows that are turned into Python's numbers at once
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "latency_s", "cost")
_AGENT = "agent"  # where rows name none


def rollout_lines(found: RowScores) -> Iterator[bytes]:
    """Write one JSON object per rollout, in the order of the data set; one is held at a time.

    A line is the row, its answer as ``response``, its task, sample, agent, scores and usage.
    Under ``_evalmetrics`` it says what of that was no part of the row, and what ``sample``
    was: so that scorers which look at the file see what they saw when it was made.
    """
    if found.answers is None:
        return
    table = found.table
    order = np.arange(len(table)) if table.read_as is None else np.argsort(table.read_as)
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        columns = [(name, table.scores[name][rows].tolist()) for name in found.names]
        agent, task = table.agent[rows].tolist(), table.task[rows].tolist()
        sample = table.sample[rows].tolist()
        for at in range(len(rows)):
            kept = decode(found.answers(start + at))
            # NaN is the one number that is not equal to itself
            scores = {n: _number(n, c[at]) if c[at] == c[at] else None for n, c in columns}
            told = {
                "_ng_task_index": table.tasks[task[at]],
                "_ng_rollout_index": sample[at],
                **_agent(table.agents[agent[at]]),
                **{name: score for name, score in scores.items() if name not in _USAGE},
                "usage": {n: scores[n] for n in _USAGE if scores.get(n) is not None},
            }
            yield encode(_line(kept[0] if kept else {"item": {}}, told)) + b"\n"


def _number(name: str, value: float) -> float:
    return int(value) if name in COUNTED_SCORES else value


def _agent(name: str) -> dict[str, Any]:
    return {} if name == _AGENT else {"agent_ref": {"name": name}}


def _line(kept: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    item = kept["item"]
    mark: dict[str, Any] = {
        "added": [key for key in told if key not in item],
        "row": {key: item[key] for key in told if key in item},
    }
    mark |= {key: kept[key] for key in ("sample", "failed") if key in kept}
    return {**item, **told, MARK: mark}


def row_lines(benchmark: str, found: RowScores) -> Iterator[bytes]:
    """Write one JSON object per row, in the order of the files; one is held at a time."""
    table = found.table
    order = np.arange(len(table)) if table.read_as is None else np.argsort(table.read_as)
    encode = msgspec.json.Encoder().encode
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        columns = [(name, table.scores[name][rows].tolist()) for name in found.names]
        agent, task = table.agent[rows].tolist(), table.task[rows].tolist()
        sample = table.sample[rows].tolist()
        for at in range(len(rows)):
            index = start + at
            row: dict[str, Any] = {
                "benchmark": benchmark,
                "index": index,
                "agent": table.agents[agent[at]],
                "task": table.tasks[task[at]],
                "sample": sample[at],
                # NaN is the one number that is not equal to itself
                "scores": {name: c[at] if c[at] == c[at] else None for name, c in columns},
                "errors": [
                    {"scores": f.scores, "kind": f.kind, "reason": f.reason, "row": f.where}
                    for f in found.failed.get(index, ())
                ],
                "requests": msgspec.Raw(found.requests(index)),
            }
            reasons = found.reasons(index)
            if reasons != b"[]":
                row["reasons"] = msgspec.Raw(reasons)
            yield encode(row) + b"\n"


class Payload(TypedDict):
    """One benchmark, as it travels on pytest's report of its item."""

    entry: dict[str, Any]  # its entry of ``report.json``, without the scores of its tasks
    task_scores: list[str]  # those, as JSON text, one per agent
    # its entries of ``aggregate_metrics.json``, as JSON text: tens of megabytes for a large
    # benchmark, so it is made once, and written out without being parsed again
    aggregate: str
    # A file with these instead where they are larger still, see `handover`; else empty
    aggregate_file: str
    groups: str  # the same of ``group_level_metrics.json``; empty without very many tasks
    groups_file: str
    # A file with its lines of ``row_scores.jsonl``, see `handover`; empty without scorers
    row_file: str
    row_scores: str  # the lines themselves, where no folder is shared with who writes the artifacts
    # the same of its lines of ``rollouts.jsonl``; empty where nothing was generated
    rollout_file: str
    rollouts: str
    page: list[str]  # what ``report.html`` says of its tasks, as JSON texts, see `PagePieces`
    # what its calls took in this run; for the terminal, because it is another at each run
    usage: dict[str, Any]
    warnings: list[str]  # what the user should know of this run and not of the benchmark
    baseline: NotRequired[dict[str, Any]]  # the run as the history keeps it, where asked to


@collector_paused()
def payload_of(
    result: BenchmarkResult,
    task_scores: Mapping[str, Mapping[str, Any]],
    row_scores: RowScores | None = None,
    pictures: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    folder: Path | None = None,
) -> Payload:
    """Turn a result into builtins."""
    agents = tuple(replace(agent, aggregate={}) for agent in result.agents)
    entry: dict[str, Any] = {
        "id": result.id,
        "verdict": str(result.verdict),
        **msgspec.to_builtins(replace(result, agents=agents)),
    }
    for agent in entry["agents"]:
        del agent["aggregate"]
    if not entry["flips"]:  # of a benchmark that passes, or whose files hold no texts
        del entry["flips"]
    aggregates, large, tasks = _apart([agent.aggregate for agent in result.agents])
    if large:
        note = f"the entries of {tasks:,} tasks are in {GROUPS_FILE}, not in aggregate_metrics.json"
        entry["notes"] = [*entry["notes"], note]
    try:
        aggregate, aggregate_file = write_aggregates(result.id, aggregates, folder)
        groups, groups_file = write_aggregates(result.id, large, folder) if large else ("", "")
    except (TypeError, ValueError) as error:
        raise MetricError(
            f"the aggregate metrics of {result.name} can't be written as JSON: {error}",
            hint="let the hook pytest_evalmetrics_compute_metrics return builtins only",
        ) from error
    lines = () if row_scores is None else row_lines(result.id, row_scores)
    rollouts = () if row_scores is None or row_scores.answers is None else rollout_lines(row_scores)
    return {
        "entry": entry,
        "task_scores": [compact(task_scores[a.agent]) for a in result.agents],
        "aggregate": aggregate,
        "aggregate_file": aggregate_file,
        "groups": groups,
        "groups_file": groups_file,
        "row_file": leave(lines, folder) if lines and folder is not None else "",
        "row_scores": "" if folder is not None else b"".join(lines).decode(),
        "rollout_file": leave(rollouts, folder) if rollouts and folder is not None else "",
        "rollouts": "" if folder is not None else b"".join(rollouts).decode(),
        "page": page_pieces(pictures),
        "usage": {},
        "warnings": [],
    }
