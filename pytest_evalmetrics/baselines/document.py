"""The baseline's file: made for reading in a pull request, the same bytes for the same run.

Key metrics first, then one line per task with its scores, then where it all came from.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.layout import one_per_line, spaced
from pytest_evalmetrics.masks import all_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.results import AgentResult

__all__ = [
    "SCHEMA_VERSION",
    "AgentDocument",
    "Document",
    "MetricDocument",
    "agent_document",
    "document",
    "render",
]

SCHEMA_VERSION = 1
_WHOLE = 2**53  # above it floats skip whole numbers


class MetricDocument(TypedDict, total=False):
    """A key metric: its value, what it rests on, and its interval for the reader."""

    value: float | None
    tasks: int
    rollouts: int
    interval: list[float | None]


class AgentDocument(TypedDict):
    """One agent's run: key metrics, and per task and score each rollout's number.

    ``ids`` is ``positions`` where task ids are no names; ``content`` is a hash per task.
    """

    key_metrics: dict[str, MetricDocument]
    tasks: dict[str, dict[str, list[float | None]]]
    ids: NotRequired[str]
    content: NotRequired[dict[str, str]]


class Document(TypedDict):
    """A whole baseline."""

    schema_version: int
    benchmark: str
    agents: dict[str, AgentDocument]
    provenance: dict[str, Any]


@collector_paused()
def agent_document(
    result: AgentResult, table: RolloutTable, columns: Iterable[str], *, gated: Sequence[str] = ()
) -> AgentDocument:
    """Describe one agent's run.

    Parameters
    ----------
    result
        What was computed.
    table
        The agent's rollouts.
    columns
        The scores to keep of each rollout, in this order: those that gated metrics are
        computed from.
    gated
        The gated metrics as they are written: they come first, and are there even where
        they are no key metrics.
    """
    first = {result.estimates[name].name: result.estimates[name].value for name in gated}
    # the order of the rest would be the order in which rows happen to name their scores
    values = first | dict(sorted(kv for kv in result.key_metrics.items() if kv[0] not in first))
    bounds = table.offsets.tolist()
    kept = {name: _plain(table.scores[name]) for name in columns}
    described: AgentDocument = {
        "key_metrics": {name: _metric(result, name, value) for name, value in values.items()},
        "tasks": {
            str(task): {name: column[start:stop] for name, column in kept.items()}
            for task, (start, stop) in zip(table.tasks, pairwise(bounds), strict=True)
        },
    }
    if table.positional:
        described["ids"] = "positions"
    contents = table.contents
    if contents is not None:
        texts = contents.astype(str).tolist()
        described["content"] = dict(zip(map(str, table.tasks), texts, strict=True))
    return described


def document(
    benchmark: str, agents: Mapping[str, AgentDocument], provenance: Mapping[str, Any]
) -> Document:
    """Put the whole baseline together, whatever the order in which rows name their agents."""
    return {
        "schema_version": SCHEMA_VERSION,
        "benchmark": benchmark,
        "agents": dict(sorted(agents.items())),
        "provenance": dict(provenance),
    }


@collector_paused()
def render(doc: Document) -> str:
    """Write a baseline as text: indented, but a metric, and a task, on one line."""
    agents = ",\n".join(
        f"    {spaced(agent)}: {{\n"
        f'      "key_metrics": {one_per_line(found["key_metrics"], 6)},\n'
        f'      "tasks": {one_per_line(found["tasks"], 6)}'
        + "".join(
            f',\n      "{key}": {text}'
            for key, text in (
                ("ids", spaced(found["ids"]) if "ids" in found else ""),
                ("content", one_per_line(found["content"], 6) if "content" in found else ""),
            )
            if text
        )
        + "\n    }"
        for agent, found in doc["agents"].items()
    )
    head = {"schema_version": doc["schema_version"], "benchmark": doc["benchmark"]}
    head_lines = one_per_line(head, 0).removesuffix("\n}")
    provenance = json.dumps(doc["provenance"], indent=2, ensure_ascii=False, allow_nan=False)
    return (
        f'{head_lines},\n  "agents": {{\n{agents}\n  }},\n'
        f'  "provenance": {provenance.replace(chr(10), chr(10) + "  ")}\n}}\n'
    )


def _metric(result: AgentResult, name: str, value: float) -> MetricDocument:
    estimate = result.estimates.get(name)
    found: MetricDocument = {"value": _number(value)}
    if estimate is not None:
        found |= {"tasks": estimate.tasks, "rollouts": estimate.rollouts}
        if estimate.interval is not None:
            ends = estimate.interval.low, estimate.interval.high
            found["interval"] = [_number(float(f"{end:.6g}")) for end in ends]
    return found


def _plain(column: NDArray[np.float64]) -> list[float | None]:
    """Write each whole number as such, and a missing value as null, row by row.

    What a row looks like must not depend on other rows: its line would change with theirs.
    """
    if all_of(np.abs(column) < _WHOLE):  # no NaN among them
        integers = column.astype(np.int64)
        if all_of(integers == column):
            rounded: list[float | None] = integers.tolist()
            return rounded
    absent = ~np.isfinite(column)
    safe = np.where(absent, 0.0, column)
    whole = (np.trunc(safe) == safe) & (np.abs(safe) < _WHOLE)
    plain: list[float | None] = [
        int(number) if is_whole else number
        for number, is_whole in zip(safe.tolist(), whole.tolist(), strict=True)
    ]
    for row in absent.nonzero()[0].tolist():
        plain[row] = None
    return plain


def _number(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < _WHOLE else value
