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
from pytest_evalmetrics.reports.html.page import page_texts
from pytest_evalmetrics.run_folder import write_whole
from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES, MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from pytest_evalmetrics.model.baseline import AgentDocument
    from pytest_evalmetrics.model.results import BenchmarkResult
    from pytest_evalmetrics.model.rollout_table import RowScores

GROUPS_FILE: Final = "group_level_metrics.json"
_GROUPS: Final = "group_level_metrics"  # the last of an entry, and nearly all of it
_MOST_GROUPS: Final = (
    100_000  # tasks of an entry; those of a larger one are in a file of their own
)
# bytes; larger texts are passed between processes in a file, and are not indented
_LARGE: Final = 4 * 2**20
_PIECE: Final = 2**20


class Payload(TypedDict):
    """One benchmark, as it travels on pytest's report of its item."""

    # The texts are made once and never parsed again, each for the artifact of its name: `about`,
    # `brief` and `tasks` are of the page; `task_scores` has two lines per agent: scores, content.

    entry: dict[
        str, Any
    ]  # its entry of ``report.json``, without the scores of its tasks
    texts: dict[str, str]  # by kind
    files: dict[str, str]  # kind -> the file that holds a large text instead
    # the usage of its calls in this run; for the terminal, because it differs with each run
    usage: dict[str, Any]
    warnings: list[str]  # about this run, not about the benchmark
    baseline: NotRequired[
        dict[str, Any]
    ]  # the run as the history keeps it, where asked to


@collector_paused()
def payload_of(
    result: BenchmarkResult,
    documents: Mapping[str, AgentDocument],
    row_scores: RowScores | None,
    pictures: Mapping[str, Mapping[str, Any]],
    folder: Path | None,
) -> Payload:
    """Turn a result into builtins and texts; `folder` is the one that processes share."""
    agents = tuple(structs.replace(agent, aggregate={}) for agent in result.agents)
    entry: dict[str, Any] = {
        "id": result.id,
        "verdict": str(result.verdict),
        **msgspec.to_builtins(structs.replace(result, agents=agents)),
    }
    for agent in entry["agents"]:
        del agent["aggregate"]
        agent["task_ids"] = documents[agent["agent"]].ids or "names"
    if not entry["flips"]:  # the benchmark passes, or its files hold no texts
        del entry["flips"]
    aggregates, large = _apart([agent.aggregate for agent in result.agents])
    if large:
        tasks = sum(len(aggregate[_GROUPS]) for aggregate in large)
        note = f"the entries of {tasks:,} tasks are in {GROUPS_FILE}, not in aggregate_metrics.json"
        entry["notes"] = [*entry["notes"], note]
    try:
        handed = {
            "aggregate": write_aggregates(result.id, aggregates, folder),
            "groups": write_aggregates(result.id, large, folder),
        }
    except (TypeError, ValueError) as error:
        message = (
            f"the aggregate metrics of {result.name} can't be written as JSON: {error}"
        )
        hint = "let the hook pytest_evalmetrics_compute_metrics return builtins only"
        raise MetricError(message, hint=hint) from error
    if row_scores is not None:
        handed["row_scores"] = _hand_over(row_lines(result.id, row_scores), folder)
        handed["rollouts"] = _hand_over(rollout_lines(row_scores), folder)
    kept = [documents[agent.agent] for agent in result.agents]
    scores = "\n".join(
        compact(value) for each in kept for value in (each.tasks, each.content)
    )
    texts = {kind: text for kind, (text, _) in handed.items()}
    return {
        "entry": entry,
        "texts": {"task_scores": scores, **texts, **page_texts(pictures)},
        "files": {kind: path for kind, (_, path) in handed.items() if path},
        "usage": {},
        "warnings": [],
    }


# -- texts and files on their way ------------------------------------------------------------


def _hand_over(pieces: Iterable[bytes], folder: Path | None) -> tuple[str, str]:
    """Join the pieces of a text; write a large one to a file of the folder, and return its path."""
    pieces = iter(pieces)
    text = bytearray()
    for piece in pieces:
        text += piece
        if folder is not None and len(text) > _LARGE:
            return "", leave(itertools.chain([bytes(text)], pieces), folder)
    return text.decode(), ""


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
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - lives as long as we do
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
    aggregates: list[Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Take the tasks of entries with very many of them out; return the entries, and the tasks."""
    left: list[Mapping[str, Any]] = []
    large: list[Mapping[str, Any]] = []
    for aggregate in aggregates:
        groups = aggregate.get(_GROUPS, ())
        if len(groups) > _MOST_GROUPS:
            large.append({"agent_ref": aggregate["agent_ref"], _GROUPS: groups})
            left.append(
                {**aggregate, _GROUPS: [], "group_level_metrics_in": GROUPS_FILE}
            )
        else:
            left.append(aggregate)
    return left, large


def write_aggregates(
    benchmark: str, aggregates: Iterable[Mapping[str, Any]], folder: Path | None = None
) -> tuple[str, str]:
    """Write the entries of one benchmark: the text, or the file that holds it."""
    text, path = _hand_over(_pieces(benchmark, aggregates), folder)
    if text and len(text) <= _LARGE:
        text = msgspec.json.format(f"[{text}]", indent=2)[1:-1].strip("\n")
    return text, path


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


# -- rows ------------------------------------------------------------------------------------

_BLOCK = 1024  # rows that are turned into Python's numbers at once
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "latency_s", "cost")
_AGENT = "agent"  # where rows name none


def _scored_rows(
    scored: RowScores,
) -> Iterator[tuple[int, str, int | str, int, dict[str, Any]]]:
    """Yield each row's index, agent, task, sample and scores, in the order of the files."""
    table = scored.table
    order = (
        np.arange(len(table)) if table.read_as is None else np.argsort(table.read_as)
    )
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        columns = [table.scores[name][rows].tolist() for name in scored.names]
        keys = [
            column[rows].tolist() for column in (table.agent, table.task, table.sample)
        ]
        for at, (agent, task, sample) in enumerate(zip(*keys, strict=True)):
            # NaN is the one number that is not equal to itself
            values = (
                column[at] if column[at] == column[at] else None for column in columns
            )
            scores = dict(zip(scored.names, values, strict=True))
            yield start + at, table.agents[agent], table.tasks[task], sample, scores


def rollout_lines(scored: RowScores) -> Iterator[bytes]:
    """Write one JSON object per rollout, in the order of the data set; one is held at a time."""
    # ``_evalmetrics`` holds ``sample`` and all that is no part of the row, so that scorers of this
    # file see the same as when it was written.
    if scored.answers is None:
        return
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    for index, agent, task, sample, scores in _scored_rows(scored):
        for name in COUNTED_SCORES:
            if scores.get(name) is not None:
                scores[name] = int(scores[name])
        added = {
            "_ng_task_index": task,
            "_ng_rollout_index": sample,
            **({} if agent == _AGENT else {"agent_ref": {"name": agent}}),
            **{name: score for name, score in scores.items() if name not in _USAGE},
            "usage": {
                name: scores[name] for name in _USAGE if scores.get(name) is not None
            },
        }
        kept: dict[str, Any] = next(iter(decode(scored.answers(index))), {"item": {}})
        item = kept["item"]
        mark: dict[str, Any] = {
            "added": [key for key in added if key not in item],
            "row": {key: item[key] for key in added if key in item},
            **{key: kept[key] for key in ("sample", "failed") if key in kept},
        }
        yield encode({**item, **added, MARK: mark}) + b"\n"


def row_lines(benchmark: str, scored: RowScores) -> Iterator[bytes]:
    """Write one JSON object per row, in the order of the files; one is held at a time."""
    encode = msgspec.json.Encoder().encode
    for index, agent, task, sample, scores in _scored_rows(scored):
        row: dict[str, Any] = {
            "benchmark": benchmark,
            "index": index,
            "agent": agent,
            "task": task,
            "sample": sample,
            "scores": scores,
            "errors": [
                {"scores": lacking, "kind": f.kind, "reason": f.reason, "row": f.row}
                for lacking, f in scored.failed.get(index, {}).items()
            ],
            "requests": msgspec.Raw(scored.requests(index)),
        }
        reasons = scored.reasons(index)
        if reasons != b"[]":
            row["reasons"] = msgspec.Raw(reasons)
        yield encode(row) + b"\n"
