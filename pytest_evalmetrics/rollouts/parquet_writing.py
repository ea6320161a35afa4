"""Recorded rollouts as one Parquet file, which loads faster."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_table import MISSING, RolloutTable
from pytest_evalmetrics.rollouts.parquet import NOTES, pyarrow_or_hint
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.run_folder import replacing
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.notes import Note


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
    pa = pyarrow_or_hint(
        "it takes pyarrow to write a Parquet file", target
    )  # before a large run is read
    spec = RolloutsSpec(path=(pattern,))
    try:  # as most benchmarks read it: the only score of a format is then the reward, too
        table = load(spec, base, scores=("reward",), categories=labels)
    except DataError:
        table = load(spec, base, scores=(), categories=labels)
    try:
        with replacing(base / target) as file:
            _write(table, file, pa)
            written = RolloutsSpec(path=(file.name,))
            _must_be_the_same(
                table, load(written, base, scores=(), categories=labels), target, pa
            )
    except (OSError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"this can't be written: {why}", file=target) from error
    kept = [*table.scores, *labels]
    notes = "".join(f"{describe(note)}\n" for note in table.notes)
    rollouts = many(len(table), "rollout")
    tasks = many(len(table.tasks), "task")
    return f"{notes}{target}: {rollouts} of {tasks}, {', '.join(kept)}\n"


def _write(table: RolloutTable, file: IO[bytes], pa: Any) -> None:
    import pyarrow.parquet as pq  # an extra

    columns: dict[str, Any] = {}
    for (kind, name), column in _arrow_columns(table, pa).items():
        if kind == "score":
            columns.pop(
                name, None
            )  # of the label with this name: the scores keep their order
            columns[name] = column.cast(_stored_type(table, name))
        else:
            columns[name] = column
    metadata = {NOTES: msgspec.json.encode(table.notes)}
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), file)
    file.flush()


def _arrow_columns(table: RolloutTable, pa: Any) -> dict[tuple[str, str], Any]:
    """Make columns by kind and name, as NeMo Gym names its keys, in the order of the files."""
    order = slice(None) if table.read_as is None else np.argsort(table.read_as)
    tasks = np.array(table.tasks, object)[table.task[order]]
    agents = np.array(table.agents, object)[table.agent[order]]
    columns = {
        ("column", _TASK): pa.array(tasks.tolist()),
        ("column", _SAMPLE): pa.array(table.sample[order]),
        ("column", _AGENT): pa.array(agents.tolist()),
    }
    for name, category in table.categories.items():
        texts = np.array(
            [None if text == MISSING else text for text in category.labels], object
        )
        columns["label", name] = pa.array(
            texts[category.codes[order]].tolist(), pa.string()
        )
    for name, column in table.scores.items():
        columns["score", name] = pa.array(
            column[order], from_pandas=True
        )  # NaN is null
    return columns


def _stored_type(table: RolloutTable, name: str) -> str:
    """Choose the type of a score; one that is a label, too, has to keep how it is written."""
    column = table.scores[name]
    label = table.categories.get(name)
    texts = set() if label is None else set(label.labels) - {MISSING}
    if texts and texts <= {"true", "false"}:
        return "bool"
    if name in table.integers or (
        texts and all(x.lstrip("-").isdecimal() for x in texts)
    ):
        return (
            "int64" if (np.abs(column[~np.isnan(column)]) < _INT64).all() else "uint64"
        )
    return "double"


def _must_be_the_same(
    table: RolloutTable, read: RolloutTable, shown: str, pa: Any
) -> None:
    columns = _arrow_columns(table, pa)
    read_back = _arrow_columns(read, pa)
    wrong = [
        f"the {key[0]} {key[1]!r}"
        for key in columns
        if columns[key] != read_back.get(key)
    ]
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
