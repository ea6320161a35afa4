"""``rollouts.jsonl``: what was generated, in the form that ``rollouts:`` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.spec.metric_names import COUNTED_SCORES, MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.data import RowScores

__all__ = ["rollout_lines"]

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
