"""What the two hooks see and give: rows as mappings, and further aggregate metrics.

They are NeMo Gym's ``compute_metrics`` and ``get_key_metrics``. Here they are plain
callables; which plugins implement them is not this package's to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.calling import call, is_number

if TYPE_CHECKING:
    from pytest_evalmetrics.data import RolloutTable

__all__ = ["ComputeMetrics", "KeyMetrics", "additions", "chosen", "rows_by_task"]

ComputeMetrics = Callable[[list[list[dict[str, Any]]]], Any]
KeyMetrics = Callable[[Mapping[str, Any]], Any]
_COMPUTE = "hook pytest_evalmetrics_compute_metrics"
_CHOOSE = "hook pytest_evalmetrics_key_metrics"


def rows_by_task(table: RolloutTable) -> list[list[dict[str, Any]]]:
    """Build one list per task with one mapping per rollout, as the hook's page promises."""
    columns: dict[str, list[Any]] = {
        "_ng_task_index": [table.tasks[i] for i in table.task.tolist()],
        "_ng_rollout_index": table.sample.tolist(),
    }
    for name, category in table.categories.items():
        columns[name] = [category.labels[i] for i in category.codes.tolist()]
    for name, column in table.scores.items():
        number = int if name in table.integers else float
        columns[name] = [number(v) if v == v else None for v in column.tolist()]  # noqa: PLR0124 - NaN
    names = tuple(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    bounds = table.offsets.tolist()
    return [rows[a:b] for a, b in pairwise(bounds)]


def additions(
    hook: ComputeMetrics, table: RolloutTable, taken: Mapping[str, Any]
) -> dict[str, Any]:
    """Ask the hook for further aggregate metrics."""
    given = call(_COMPUTE, "its call", hook, hook, rows_by_task(table))
    answers = [given] if isinstance(given, Mapping) or given is None else list(given)
    found: dict[str, Any] = {}
    for answer in answers:
        if answer is None:
            continue
        if not isinstance(answer, Mapping):
            raise MetricError(
                f"{_COMPUTE} returned {type(answer).__name__}, where a mapping or None is expected"
            )
        for name, value in answer.items():
            if not isinstance(name, str):
                raise MetricError(f"{_COMPUTE} gave a name that is no text: {name!r}")
            if name in taken or name in found:
                raise MetricError(
                    f"{_COMPUTE} gave {name!r}, which there is already",
                    hint="give it another name: a metric has one meaning",
                )
            found[name] = _plain(name, value)
    return found


def _plain(name: str, value: Any) -> Any:
    """Turn a value into builtins that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise MetricError(
                f"{_COMPUTE} gave {name!r} = {float(value)}, where a finite number is expected",
                hint="leave out what is not defined, or raise an exception that says why",
            )
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{name}[{at}]", item) for at, item in enumerate(value)]
    raise MetricError(
        f"{_COMPUTE} gave {name!r} as {type(value).__name__}, which JSON can't hold",
        hint="give numbers, text, lists and mappings",
    )


def chosen(hook: KeyMetrics, agent_metrics: Mapping[str, Any]) -> dict[str, float | None] | None:
    """Ask the hook for the headline metrics."""
    given = call(_CHOOSE, "its call", hook, hook, dict(agent_metrics))
    if given is None:
        return None
    if isinstance(given, str):
        return {given: None}
    if isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
        return dict.fromkeys(given)
    if not isinstance(given, Mapping):
        raise MetricError(
            f"{_CHOOSE} returned {type(given).__name__}, where a mapping or names are expected"
        )
    keys: dict[str, float | None] = {}
    for name, value in given.items():
        if name not in agent_metrics:
            if not is_number(value) or not math.isfinite(value):
                raise MetricError(
                    f"{_CHOOSE} gave {name!r} = {value!r}, where a finite number is expected"
                )
            keys[str(name)] = float(value)
        elif value == agent_metrics[name]:
            keys[name] = None
        else:
            raise MetricError(
                f"{_CHOOSE} gave {name!r} = {value!r}, which is {agent_metrics[name]!r}",
                hint="give a number that is made anew a name of its own",
            )
    return keys
