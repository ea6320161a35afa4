"""A baseline's text, or an earlier run's report, back to numbers: trusted in nothing."""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.baselines.document import SCHEMA_VERSION, Document, render
from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.data import RolloutTable
from pytest_evalmetrics.data.content import SIZE
from pytest_evalmetrics.errors import BaselineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.baselines.document import AgentDocument

__all__ = ["is_edited", "parse", "stamped", "tables", "text_of", "values"]

# what a digest covers beside the numbers, where a baseline has it
_SEALED = ("ruler", "under_test", "gates", "rows")

_RECORD = "record a new one with --snapshot-update"
_BY_HAND = f"a baseline is not written by hand: {_RECORD}"


def text_of(path: Path, shown: str) -> str | None:
    """Read a baseline's file; None where there is none.

    Parameters
    ----------
    path
        The file.
    shown
        The file as messages name it.

    Raises
    ------
    BaselineError
        If it can't be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        what = f"this baseline is no UTF-8: {error.reason} at byte {error.start}"
    except OSError as error:
        what = f"this baseline can't be read: {error.strerror or error}"
    hint = "take it from version control again, or record a new one with --snapshot-update"
    raise BaselineError(what, file=shown, hint=hint)


@collector_paused()
def parse(text: str, *, file: str, benchmark: str | None = None) -> Document:
    """Read a baseline's text.

    Parameters
    ----------
    text
        The file's text.
    file
        The file as messages name it.
    benchmark
        Whose baseline it has to be; None for any.

    Raises
    ------
    BaselineError
        If it is no baseline, one of a version that is not known, or another benchmark's.
    """
    try:
        doc = msgspec.json.decode(text, type=Document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(text, error, file) from None
    if doc["schema_version"] != SCHEMA_VERSION:
        raise _other_version(doc["schema_version"], file)
    if benchmark is not None and doc["benchmark"] != benchmark:
        raise BaselineError(
            f"this is the baseline of {doc['benchmark']!r}, expected that of {benchmark!r}",
            file=file,
            hint=f"{_RECORD}; or, where the benchmark was renamed, rename it in this file too",
        )
    return doc


@collector_paused()
def tables(doc: Document, *, file: str) -> dict[str, RolloutTable]:
    """Turn a baseline into one table of rollouts per agent; task ids are text.

    Raises
    ------
    BaselineError
        If a task's scores differ in their names or lengths from those of the others.
    """
    return {agent: _table(agent, found, file) for agent, found in doc["agents"].items()}


def values(doc: Document, agent: str) -> dict[str, float]:
    """Return an agent's recorded key metrics, by name."""
    found = doc["agents"][agent]["key_metrics"] if agent in doc["agents"] else {}
    recorded = {name: metric.get("value") for name, metric in found.items()}
    return {name: value for name, value in recorded.items() if value is not None}


@collector_paused()
def stamped(doc: Document) -> Document:
    """Add a digest of the numbers, by which a later change of them is seen."""
    read = msgspec.json.decode(render(doc), type=Document)  # 1 and 1.0 are the same to a reader
    return {**doc, "provenance": {**doc["provenance"], "digest": _digest(read)}}


@collector_paused()
def is_edited(doc: Document) -> bool:
    """Whether a parsed baseline is not what was recorded, or lacks the digest that would say so.

    Such as after the merge of two branches that both recorded it: no marks of a conflict are
    left, and the tasks are a mixture of two runs.
    """
    return bool(doc["provenance"].get("digest") != _digest(doc))


def _digest(doc: Document) -> str:
    sealed = {key: doc["provenance"][key] for key in _SEALED if key in doc["provenance"]}
    data = msgspec.json.encode(doc["agents"], order="sorted")
    if sealed:
        data += msgspec.json.encode(sealed, order="sorted")
    return blake2b(data, digest_size=8).hexdigest()


def _unreadable(text: str, error: Exception, file: str) -> BaselineError:
    if "<<<<<<<" in text:
        line = text.count("\n", 0, text.index("<<<<<<<")) + 1
        return BaselineError(
            "this baseline holds the marks of a merge conflict",
            file=file,
            line=line,
            hint=f"take one side of it from version control, or {_RECORD}",
        )
    if not text.strip():
        return BaselineError("this baseline is empty", file=file, hint=_take_again())
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as broken:
        at = getattr(broken, "lineno", None)
        what = f"this baseline is no JSON: {broken}"
        return BaselineError(what, file=file, line=at, hint=_take_again())
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version is not None and version != SCHEMA_VERSION:
        return _other_version(version, file)
    return BaselineError(f"this is no baseline: {error}", file=file, hint=_BY_HAND)


def _take_again() -> str:
    return f"take it from version control again, or {_RECORD}"


def _other_version(version: object, file: str) -> BaselineError:
    return BaselineError(
        f"this baseline has the schema version {version!r}, and {SCHEMA_VERSION} is known",
        file=file,
        hint=f"{_RECORD}, or use the version of pytest-evalmetrics that wrote it",
    )


def _table(agent: str, found: AgentDocument, file: str) -> RolloutTable:
    rows = list(found["tasks"].values())
    names = tuple(rows[0]) if rows else ()
    counts = [len(row[names[0]]) if names and names[0] in row else 0 for row in rows]
    for task, row, count in zip(found["tasks"], rows, counts, strict=True):
        if len(row) != len(names) or any(
            len(row.get(name, "?" * (count + 1))) != count for name in names
        ):
            raise BaselineError(
                f"task {task!r} of {agent} has scores of different lengths or names",
                file=file,
                hint=_BY_HAND,
            )
    starts = np.cumsum([0, *counts])
    total = int(starts[-1])
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(total, dtype=np.int32),
        tasks=tuple(found["tasks"]),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.arange(total) - np.repeat(starts[:-1], counts),
        scores={name: _column(rows, name) for name in names},
        content=_contents(found, counts),
        positional=found.get("ids") == "positions",
    )


def _contents(found: AgentDocument, counts: Sequence[int]) -> NDArray[np.bytes_] | None:
    """Repeat the hash of each task's content for its rollouts; None where none is kept."""
    known = found.get("content")
    if not known:
        return None
    hashes = np.array([known.get(task, "") for task in found["tasks"]], dtype=f"S{SIZE}")
    return hashes.repeat(counts)


def _column(rows: Sequence[Mapping[str, Sequence[float | None]]], name: str) -> NDArray[np.float64]:
    """Put a score of all tasks together; null becomes NaN."""
    return np.array(list(chain.from_iterable([row[name] for row in rows])), dtype=np.float64)
