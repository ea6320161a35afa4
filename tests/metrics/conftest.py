"""Benchmarks and tables of rollouts, made by hand."""

import json

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.data import Category
from pytest_evalmetrics.ext import BenchmarkSpec, RolloutTable
from pytest_evalmetrics.metrics import plan

SPEC = TypeAdapter(BenchmarkSpec)


def make_spec(**keys):
    return SPEC.validate_json(json.dumps({"name": "b", "rollouts": "runs.jsonl", **keys}))


def make_table(rewards, *, tasks=None, labels=None, integers=(), score="reward", **scores):
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
def table():
    return make_table


@pytest.fixture(scope="session")
def spec():
    return make_spec


@pytest.fixture(scope="session")
def planned():
    """Look up the metrics of a benchmark with these keys."""
    return lambda **keys: plan(make_spec(**keys))
