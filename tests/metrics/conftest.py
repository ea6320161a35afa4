"""Benchmarks and tables of rollouts, made by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.data import Category
from pytest_evalmetrics.ext import BenchmarkSpec, RolloutTable
from pytest_evalmetrics.metrics import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.ext import TaskId

SPEC = TypeAdapter(BenchmarkSpec)


def make_spec(**keys: Any) -> BenchmarkSpec:
    return SPEC.validate_json(json.dumps({"name": "b", "rollouts": "runs.jsonl", **keys}))


def make_table(
    rewards: Sequence[Sequence[float | None]],
    *,
    tasks: Sequence[TaskId] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    integers: Sequence[str] = (),
    score: str = "reward",
    **scores: Sequence[float | None],
) -> RolloutTable:
    """Make one agent's table; `labels` and `scores` hold one value per row."""
    counts = [len(task) for task in rewards]
    flat = {score: [v for task in rewards for v in task], **scores}
    categories = {}
    for field, values in (labels or {}).items():
        known = list(dict.fromkeys(values))
        categories[field] = Category(
            np.array([known.index(v) for v in values], dtype=np.int32), tuple(known)
        )
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), dtype=np.int32),
        tasks=tuple(range(len(rewards)) if tasks is None else tasks),
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]),
        scores={
            name: np.array([np.nan if v is None else v for v in column], dtype=np.float64)
            for name, column in flat.items()
        },
        integers=frozenset(integers),
        categories=categories,
    )


@pytest.fixture(scope="session")
def table() -> Callable[..., RolloutTable]:
    return make_table


@pytest.fixture(scope="session")
def spec() -> Callable[..., BenchmarkSpec]:
    return make_spec


@pytest.fixture(scope="session")
def planned() -> Callable[..., Any]:
    """Look up the metrics of a benchmark with these keys."""
    return lambda **keys: plan(make_spec(**keys))
