"""Benchmarks and runs made by hand, and what is said of them."""

import json
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from pytest_evalmetrics import metrics
from pytest_evalmetrics.data import Category
from pytest_evalmetrics.ext import BenchmarkSpec, RolloutTable
from pytest_evalmetrics.pipeline.regressions import Judging, Reference
from pytest_evalmetrics.spec import Benchmark

SPEC = TypeAdapter(BenchmarkSpec)


def make_benchmark(**keys):
    """A benchmark that is gated against its baseline, with these keys."""
    known = {"name": "b", "rollouts": "runs.jsonl", "metrics": ["mean_reward"], "baseline": True}
    lines = {(): 1, ("baseline",): 9, ("baseline", "metrics", "mean/tokens"): 12}
    return Benchmark(SPEC.validate_json(json.dumps(known | keys)), Path("b.bench.yaml"), lines)


def make_table(rewards, *, tasks=None, labels=None, **scores):
    """One agent's rollouts; `labels` and `scores` have one value per row."""
    counts = [len(task) for task in rewards]
    columns = {"reward": [v for task in rewards for v in task], **scores}
    categories = {}
    for field, values in (labels or {}).items():
        known = list(dict.fromkeys(values))
        codes = np.array([known.index(v) for v in values], dtype=np.int32)
        categories[field] = Category(codes, tuple(known))
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), dtype=np.int32),
        tasks=tuple(range(len(rewards)) if tasks is None else tasks),
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]),
        scores={
            name: np.array([np.nan if v is None else v for v in column], dtype=np.float64)
            for name, column in columns.items()
        },
        categories=categories,
    )


def repeated(passing, failing, k=1):
    """So many tasks that always pass, and so many that never do."""
    return [[1.0] * k] * passing + [[0.0] * k] * failing


def judged(benchmark, runs, baseline, *, expected=0, hook=None, **reference):
    """Reduce each agent's run, and judge all against the baseline."""
    runs = {"agent": runs} if isinstance(runs, RolloutTable) else runs
    baseline = {"agent": baseline} if isinstance(baseline, RolloutTable) else baseline
    plan = metrics.plan(benchmark.spec, also=benchmark.spec.gated, line_of=benchmark.line_of)
    judging = Judging(benchmark, plan, Reference(baseline, **reference))
    for agent, table in runs.items():
        wanted = np.maximum(np.diff(table.offsets), expected)
        result = metrics.reduce_agent(plan, agent, table, expected=wanted, compute_metrics=hook)
        judging.add(result, table, agent=agent if len(runs) > 1 else "", expected=wanted)
    return judging.checks()
