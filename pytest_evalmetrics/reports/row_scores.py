"""``row_scores.jsonl``: what scorers gave to each row, and why a row lacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.layout import compact

if TYPE_CHECKING:
    from pytest_evalmetrics.data import RowScores

__all__ = ["row_lines"]


def row_lines(benchmark: str, found: RowScores) -> str:
    """Write one JSON object per row, in the order of the files.

    Parameters
    ----------
    benchmark
        The pytest item.
    found
        The scores, and what was asked for them.
    """
    table = found.table
    order = np.arange(len(table)) if table.read_as is None else np.argsort(table.read_as)
    columns = [(name, table.scores[name].tolist()) for name in found.names]
    agent, task, sample = table.agent.tolist(), table.task.tolist(), table.sample.tolist()
    lines = []
    for index, at in enumerate(order.tolist()):
        row = {
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
        lines.append(compact(row) + "\n")
    return "".join(lines)
