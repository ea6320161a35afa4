"""Recorded rollouts as one Parquet file, which loads faster."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_table import MISSING, RolloutTable
from pytest_evalmetrics.rollouts.parquet import NOTES, must_have_pyarrow
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.spec import RolloutsSpec
from pytest_evalmetrics.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.pyarrow_types import ArrowColumn


_TASK = "_ng_task_index"
_SAMPLE = "_ng_rollout_index"
_AGENT = "agent_ref.name"
_INT64: Final = 2.0**63


def to_parquet(
    pattern: str,
    target: str,
    base: Path,
    labels: Sequence[str] = (),
    *,
    describe: Callable[[Note], str],
) -> str:
    """Read rollouts, and write their numbers into one Parquet file; return a summary.

    `describe` writes a note of the rollouts in a line.
    """
    # before a large run is read
    must_have_pyarrow("it takes pyarrow to write a Parquet file", target)
    import pyarrow as pa  # an extra

    table = _loaded(pattern, base, labels)
    try:
        with replacing(base / target) as file:
            _write(table, file)
            written = RolloutsSpec(path=(file.name,))
            read_back = load(written, base, scores=(), categories=labels)
            _must_be_the_same(table, read_back, target)
    except (OSError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"this can't be written: {why}", file=target) from error
    kept = [*table.scores, *labels]
    notes = "".join(f"{describe(note)}\n" for note in table.notes)
    rollouts = many(len(table), "rollout")
    tasks = many(len(table.tasks), "task")
    return f"{notes}{target}: {rollouts} of {tasks}, {', '.join(kept)}\n"


def _loaded(pattern: str, base: Path, labels: Sequence[str]) -> RolloutTable:
    """Read rollouts as most benchmarks do: the only score of a format is then the reward, too."""
    spec = RolloutsSpec(path=(pattern,))
    try:
        return load(spec, base, scores=("reward",), categories=labels)
    except DataError:
        return load(spec, base, scores=(), categories=labels)


def _write(table: RolloutTable, file: IO[bytes]) -> None:
    import pyarrow as pa  # an extra
    import pyarrow.parquet as pq

    columns: dict[str, ArrowColumn] = {}
    for (kind, name), column in _arrow_columns(table).items():
        if kind == "score":
            # of the label with this name: the scores keep their order
            columns.pop(name, None)
            columns[name] = column.cast(_stored_type(table, name))
        else:
            columns[name] = column
    metadata = {NOTES: msgspec.json.encode(table.notes)}
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), file)
    file.flush()


def _arrow_columns(table: RolloutTable) -> dict[tuple[str, str], ArrowColumn]:
    """Make columns by kind and name, as NeMo Gym names its keys, in the order of the files."""
    import pyarrow as pa  # an extra

    order = np.arange(len(table))
    if table.read_as is not None:
        order = np.argsort(table.read_as)
    tasks = np.array(table.tasks, object)[table.task[order]]
    agents = np.array(table.agents, object)[table.agent[order]]
    columns: dict[tuple[str, str], ArrowColumn] = {
        ("column", _TASK): pa.array(tasks.tolist()),
        ("column", _SAMPLE): pa.array(table.sample[order]),
        ("column", _AGENT): pa.array(agents.tolist()),
    }
    for name, category in table.categories.items():
        labels = [None if label == MISSING else label for label in category.labels]
        texts = np.array(labels, object)[category.codes[order]]
        columns["label", name] = pa.array(texts.tolist(), pa.string())
    for name, column in table.scores.items():
        # NaN is null
        columns["score", name] = pa.array(column[order], from_pandas=True)
    return columns


def _stored_type(table: RolloutTable, name: str) -> str:
    """Choose the type of a score; one that is a label, too, has to keep how it is written."""
    label = table.categories.get(name)
    texts: set[str] = set()
    if label is not None:
        texts = set(label.labels) - {MISSING}
    if texts and texts <= {"true", "false"}:
        return "bool"
    are_whole_texts = all(text.lstrip("-").isdecimal() for text in texts)
    if name not in table.integers and not (texts and are_whole_texts):
        return "double"
    column = table.scores[name]
    largest = np.abs(column[~np.isnan(column)]).max(initial=0)
    return "int64" if largest < _INT64 else "uint64"


def _must_be_the_same(table: RolloutTable, read: RolloutTable, shown: str) -> None:
    """Refuse rollouts that are read back as other ones than were written."""
    columns = _arrow_columns(table)
    read_back = _arrow_columns(read)
    wrong = []
    for (kind, name), column in columns.items():
        if column != read_back.get((kind, name)):
            wrong.append(f"the {kind} {name!r}")
    wrong += [f"the score {name!r}" for name in sorted(table.integers ^ read.integers)]
    if list(table.scores) != list(read.scores):
        wrong.append("the list of scores")
    if wrong:
        raise DataError(
            f"these rollouts can't be kept as Parquet columns: {', '.join(wrong)} would not be "
            "read back as it is",
            file=shown,
            hint="is a score or a label named as one of our own columns, or with a leading _? "
            "read the files as they are",
        )
