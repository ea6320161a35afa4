"""``baseline: {rescore: true}``: the baseline's rows, kept and scored with today's ruler."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.data import RolloutTable
from pytest_evalmetrics.errors import BaselineError, RowError
from pytest_evalmetrics.pipeline.board import Board
from pytest_evalmetrics.pipeline.choosing import reading_order
from pytest_evalmetrics.reports import failed_row_notes
from pytest_evalmetrics.scorers import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_evalmetrics.scorers import BoundScorer

__all__ = ["KeptRow", "KeptRows", "rescored", "rows_kept"]

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
