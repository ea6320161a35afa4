"""A recorded run kept as Parquet columns, for those who gate large runs often."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.rollouts.arrow import NOTES, Parquet
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.seam import Request
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.rollouts.table import MISSING, TableBuilder
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import Category, RolloutTable

__all__ = ["to_parquet", "write_parquet"]

_TASK, _SAMPLE, _AGENT = "_ng_task_index", "_ng_rollout_index", "agent_ref.name"
_BOOLEANS: Final = {"true": True, "false": False, MISSING: None}
_INT64: Final = 2.0**63


def to_parquet(pattern: str, target: str, base: Path, labels: Sequence[str] = ()) -> str:
    """Read rollouts, and write their numbers into one Parquet file."""
    _arrow(target)  # before a large run is read
    spec = RolloutsSpec(path=(pattern,))
    try:  # as most benchmarks read it: the only score of a format is then the reward, too
        table = load(spec, base, scores=("reward",), categories=labels)
    except DataError:
        table = load(spec, base, scores=(), categories=labels)
    write_parquet(table, base / target, shown=target)
    kept = [*table.scores, *labels]
    notes = "".join(f"{note}\n" for note in table.notes)
    rollouts, tasks = many(len(table), "rollout"), many(len(table.tasks), "task")
    return f"{notes}{target}: {rollouts} of {tasks}, {_list(kept)}\n"


def write_parquet(table: RolloutTable, path: Path, *, shown: str) -> None:
    """Write a table such that reading the file gives the same table, its sources aside."""
    pa, pq = _arrow(shown)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        pq.write_table(_columns(table, pa), temporary)
        _must_be_the_same(table, Path(temporary), shown)
        Path(temporary).chmod(0o666 & ~_umask())  # such a file is its owner's alone at first
        Path(temporary).replace(path)
    except (OSError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"this can't be written: {why}", file=shown) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _arrow(shown: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and only where it is asked for
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise DataError(
            "it takes pyarrow to write a Parquet file",
            file=shown,
            hint='install it: pip install "pytest-evalmetrics[parquet]"',
        ) from error
    return pa, pq


def _columns(table: RolloutTable, pa: Any) -> Any:
    """Make the columns, named as NeMo Gym names its keys, in the order of the files."""
    order = slice(None) if table.read_as is None else np.argsort(table.read_as)
    tasks = np.array(table.tasks, object)[table.task[order]]
    columns = {
        _TASK: pa.array(tasks.tolist()),
        _SAMPLE: pa.array(table.sample[order]),
        _AGENT: pa.array(np.array(table.agents, object)[table.agent[order]].tolist()),
    }
    for name, category in table.categories.items():
        columns[name] = pa.array(_labels(category)[order].tolist(), pa.string())
    for name, column in table.scores.items():
        kind = _kind(column, table.categories.get(name), whole=name in table.integers)
        values = column[order]
        absent = np.isnan(values)
        held: NDArray[Any] = np.where(absent, 0, values).astype(kind)
        columns.pop(name, None)  # the scores keep their order
        columns[name] = pa.array(held, mask=absent)
    made = pa.table(columns)
    return made.replace_schema_metadata({NOTES: json.dumps(table.notes).encode()})


def _kind(column: NDArray[np.float64], label: Category | None, *, whole: bool) -> type:
    """Choose what a score is kept as; one that is a label too has to keep how it is written."""
    texts = set() if label is None else set(label.labels) - {MISSING}
    if texts and texts <= _BOOLEANS.keys():
        return np.bool_
    if whole or (texts and all(text.lstrip("-").isdecimal() for text in texts)):
        return np.int64 if all_of(np.abs(column[~np.isnan(column)]) < _INT64) else np.uint64
    return np.float64


def _labels(category: Category) -> NDArray[Any]:
    texts = [None if text == MISSING else text for text in category.labels]
    return np.array(texts, object)[category.codes]


def _must_be_the_same(table: RolloutTable, path: Path, shown: str) -> None:
    request = Request(FieldMap(), categories=tuple(table.categories))
    source = open_source(RolloutFile(path, shown))
    builder = TableBuilder(request)
    for chunk in Parquet(request).read(source):
        builder.add(source, chunk)
    other = builder.build()
    wrong = _differences(table, other)
    if wrong:
        raise DataError(
            f"these rollouts can't be kept as Parquet columns: {_list(wrong)} would not be read "
            "back as it is",
            file=shown,
            hint="is a score or a label named as one of our own columns, or with a leading _? "
            "read the files as they are",
        )


def _differences(one: RolloutTable, other: RolloutTable) -> list[str]:
    wrong = [
        name
        for name in ("agents", "agent", "tasks", "task", "sample")
        if not np.array_equal(getattr(one, name), getattr(other, name))
    ]
    if list(one.scores) != list(other.scores):
        return [*wrong, "the list of scores"]
    for name, column in one.scores.items():
        same = np.array_equal(column, other.scores[name], equal_nan=True)
        if not same or (name in one.integers) != (name in other.integers):
            wrong.append(f"the score {name!r}")
    for name, category in one.categories.items():
        if not np.array_equal(_labels(category), _labels(other.categories[name])):
            wrong.append(f"the label {name!r}")
    return wrong


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
