"""The two hooks of a project: further aggregate metrics, and the choice of headline metrics.

They are NeMo Gym's ``compute_metrics`` and ``get_key_metrics``, here plain callables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.metric import call, is_number

if TYPE_CHECKING:
    from pytest_evalmetrics.model.rollout_table import RolloutTable

ComputeMetrics = Callable[[list[list[dict[str, object]]]], list[object]]
KeyMetrics = Callable[[Mapping[str, object]], object]
_COMPUTE = "hook pytest_evalmetrics_compute_metrics"
_CHOOSE = "hook pytest_evalmetrics_key_metrics"


def added_metrics(
    hook: ComputeMetrics, table: RolloutTable, taken: Mapping[str, object]
) -> dict[str, object]:
    """Call the hook for further aggregate metrics, none of which may be `taken`."""
    added: dict[str, object] = {}
    for metrics in call(_COMPUTE, "its call", hook, hook, _rows_by_task(table)):
        if not isinstance(metrics, Mapping):
            kind = type(metrics).__name__
            raise MetricError(
                f"{_COMPUTE} returned {kind}, where a mapping or None is expected"
            )
        for name, value in metrics.items():
            if not isinstance(name, str):
                raise MetricError(f"{_COMPUTE} gave a name that is not text: {name!r}")
            if name in taken or name in added:
                raise MetricError(
                    f"{_COMPUTE} gave {name!r}, which there is already",
                    hint="give it another name: a metric has one meaning",
                )
            added[name] = _plain(name, value)
    return added


def chosen_keys(
    hook: KeyMetrics, agent_metrics: Mapping[str, object]
) -> dict[str, float | None] | None:
    """Call the hook for the headline metrics; None if it chooses none.

    The value of a name is None where it is an aggregate metric's.
    """
    answer = call(_CHOOSE, "its call", hook, hook, dict(agent_metrics))
    if answer is None:
        return None
    if isinstance(answer, str):
        return {answer: None}
    if isinstance(answer, Sequence) and all(isinstance(name, str) for name in answer):
        return dict.fromkeys(answer)
    if not isinstance(answer, Mapping):
        kind = type(answer).__name__
        raise MetricError(
            f"{_CHOOSE} returned {kind}, where a mapping or names are expected"
        )
    return {
        str(name): _chosen_value(name, value, agent_metrics)
        for name, value in answer.items()
    }


def _chosen_value(
    name: object, value: object, agent_metrics: Mapping[str, object]
) -> float | None:
    """Check the value of a chosen metric: a number of its own, or the aggregate one's."""
    gave = f"{_CHOOSE} gave {name!r} = {value!r}"
    if name not in agent_metrics:
        if not is_number(value) or not math.isfinite(value):
            raise MetricError(f"{gave}, where a finite number is expected")
        return float(value)
    stated = agent_metrics[str(name)]
    if value != stated:
        raise MetricError(
            f"{gave}, which is {stated!r}",
            hint="give a number that is made anew a name of its own",
        )
    return None


def _rows_by_task(table: RolloutTable) -> list[list[dict[str, object]]]:
    """Build one list per task with one mapping per rollout, as the hook's page promises."""
    columns: dict[str, list[object]] = {
        "_ng_task_index": [table.tasks[place] for place in table.task.tolist()],
        "_ng_rollout_index": table.sample.tolist(),
    }
    for name, category in table.categories.items():
        columns[name] = [category.labels[code] for code in category.codes.tolist()]
    for name, column in table.scores.items():
        number = int if name in table.integers else float
        columns[name] = [
            None if math.isnan(value) else number(value) for value in column.tolist()
        ]
    names = tuple(columns)
    rows = [
        dict(zip(names, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]
    return [rows[start:stop] for start, stop in pairwise(table.offsets.tolist())]


def _finite(name: str, value: float) -> float:
    if math.isfinite(value):
        return value
    raise MetricError(
        f"{_COMPUTE} gave {name!r} = {value}, where a finite number is expected",
        hint="leave out what is not defined, or raise an exception that says why",
    )


def _plain(name: str, value: object) -> object:
    """Turn a value into builtins that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return _finite(name, float(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{name}[{at}]", item) for at, item in enumerate(value)]
    message = (
        f"{_COMPUTE} gave {name!r} as {type(value).__name__}, which JSON can't hold"
    )
    raise MetricError(message, hint="give numbers, text, lists and mappings")
