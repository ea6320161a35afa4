"""Benchmarks and tables of rollouts, made by hand."""

import json

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, RolloutTable
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category

SPEC = TypeAdapter(BenchmarkSpec)


def make_spec(**keys):
    source = {} if "dataset" in keys else {"rollouts": "runs.jsonl"}
    return SPEC.validate_json(json.dumps({"name": "b", **source, **keys}))


def make_table(
    rewards, *, tasks=None, labels=None, integers=(), score="reward", **scores
):
    """Make one agent's table; `labels` and `scores` hold one value per row."""
    counts = [len(task) for task in rewards]
    flat = {score: [v for task in rewards for v in task], **scores}
    categories = {}
    for field, values in (labels or {}).items():
        distinct = list(dict.fromkeys(values))
        categories[field] = Category(
            np.array([distinct.index(v) for v in values], dtype=np.int32),
            tuple(distinct),
        )
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), dtype=np.int32),
        tasks=tuple(range(len(rewards)) if tasks is None else tasks),
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]),
        scores={
            name: np.array(
                [np.nan if v is None else v for v in column], dtype=np.float64
            )
            for name, column in flat.items()
        },
        integers=frozenset(integers),
        categories=categories,
    )


@pytest.fixture(scope="session")
def table():
    return make_table


@pytest.fixture(scope="session")
def planned():
    """Look up the metrics of a benchmark with these keys."""
    return lambda **keys: plan(make_spec(**keys))


@pytest.fixture(scope="session")
def reduced():
    """Compute the metrics of a benchmark with these keys from a table."""

    def reduced(
        table, *, agent="agent", expected=None, notes=None, line_of=None, **keys
    ):
        metrics = plan(make_spec(**keys), line_of=line_of)
        return reduce_agent(metrics, agent, table, expected=expected, notes=notes)

    return reduced
