"""The part of the rows that a run takes: the tasks of ``sample:``, the rollouts of a round."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import of_many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.spec.sources import Rounds, SampleSpec

_NAMED = 6  # groups that the note names


def draw(table: RolloutTable, spec: SampleSpec) -> tuple[RolloutTable, str]:
    """Take some of the tasks of a table; returns them, and a note.

    Each task has a rank by a hash of the seed and of its content, or of its id where no content is
    known: neither the order of the rows nor other tasks change which ones are first. Of each group
    as many of the first ones are taken as it has a share in all tasks (largest remainders).
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
