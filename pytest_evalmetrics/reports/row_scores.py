"""``row_scores.jsonl``: what scorers gave to each row, and why a row lacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.data import RowScores

__all__ = ["row_lines"]

_BLOCK = 1024  # rows that are turned into Python's numbers at once


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
