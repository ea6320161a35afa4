"""Benchmarks of a text and rows of a few numbers, for the stages of an evaluation."""

import json
from pathlib import Path

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.pipeline import loading

FIELDS = "{task: task, sample: sample, agent: agent}"


def write_rows(folder, name, rewards, agent="agent", **columns):
    """Append one row a rollout: a task is a list of rewards, `None` is a missing one."""
    lines = []
    for task, samples in enumerate(rewards):
        for sample, reward in enumerate(samples):
            row = {"agent": agent, "task": f"t{task}", "sample": sample}
            row |= {column: values[task] for column, values in columns.items()}
            row["reward"] = reward
            lines.append(json.dumps(row) + "\n")
    with Path(folder / name).open("a", encoding="utf-8") as file:
        file.writelines(lines)


def benchmark(folder, keys=""):
    """Read a benchmark of `new.jsonl` with further keys, one a line."""
    lines = [
        "benchmark:",
        "  name: math",
        f"  rollouts: {{path: new.jsonl, fields: {FIELDS}}}",
        *(f"  {line}" for line in keys.splitlines()),
    ]
    path = folder / "math.bench.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (read,) = load_benchmarks(path, shown="math.bench.yaml")
    return read


def against(name="old.jsonl", rest=""):
    """Return the key that compares with another run's rows."""
    return f"baseline: {{rollouts: {{path: {name}, fields: {FIELDS}}}{rest}}}"


def given(asked, **settings):
    return EvaluationInput(benchmark=asked, item_id="math.bench.yaml::math", **settings)


def no_scoring(_benchmark):
    raise AssertionError("recorded rollouts are not scored")


def read(asked, table=None):
    prepared = loading.prepare(asked, no_scoring)
    return loading.read_rows(prepared, table=table, engine=None, has_hooks=False)


def load(asked):
    """Load a benchmark of recorded rollouts; return its rows, and what is evaluated."""
    rows = read(asked)
    return rows, loading.arrange(rows, no_scoring)
