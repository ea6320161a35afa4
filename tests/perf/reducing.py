"""How long reducing takes: our whole reduction against pandas, in one run.

``python tests/perf/reducing.py``; takes about a minute. ``python tests/perf/reducing.py large``
reduces ten million samples, beside the fastest strategies that there are on one core (numpy over
blocks of tasks without a thought of what may be missing; Polars and DuckDB where they are
installed), and takes 6 GB. The ratios are what to keep: a machine's speed drifts, and all figures
of a run drift with it.
"""

import importlib.util
import json
import os
import sys
from functools import partial

import numpy as np
import pandas as pd
from measuring import cpu, graded
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, TaskRewards
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.metrics.base_statistics import GroupEntries, pooled_statistics

TASKS, SAMPLES, FIELDS = 100_000, 10, 10
LARGE = ((100_000, 100), (1_000_000, 10))  # tasks, rollouts of each
KS = (1, 2, 3, 5, 8, 10)
GROUPBY_TASKS, DESCRIBE_TASKS = 20_000, 200  # what is measured of pandas, and scaled up
STATISTICS = ("mean", "max", "min", "median", "std")


def planned(metrics):
    asked = {"name": "perf", "rollouts": "none.jsonl", "metrics": metrics}
    return plan(TypeAdapter(BenchmarkSpec).validate_json(json.dumps(asked)))


def entries(table):
    """Make the entries of the tasks."""
    return GroupEntries(table, "agent", np.zeros(len(table.tasks), dtype=int))


def line(what, took, ours=None):
    """Print a figure, and how many times ours it is."""
    print(f"{what:<66}{took:>9.3f} s" + (f"{took / ours:>9.1f} x" if ours else ""))


def blocks(table, samples):
    """Compute the five statistics by task with numpy, one block of tasks for each field."""
    for column in table.scores.values():
        block = column.reshape(-1, samples)
        ordered = np.sort(block, axis=1)
        _ = block.mean(axis=1), block.std(axis=1, ddof=1), ordered[:, 0], ordered[:, -1]
        _ = (ordered[:, (samples - 1) // 2] + ordered[:, samples // 2]) / 2


def whole_columns(table):
    """Compute them over all rollouts with numpy."""
    for column in table.scores.values():
        _ = (
            column.mean(),
            column.std(ddof=1),
            column.min(),
            column.max(),
            np.median(column),
        )


def polars(table):
    """Compute them by task with Polars."""
    import polars as pl  # a peer

    frame = pl.DataFrame({"task": table.task, **table.scores})
    wanted = [
        getattr(pl.col(n), s)().alias(f"{s}/{n}")
        for n in table.scores
        for s in STATISTICS
    ]
    return lambda: frame.group_by("task").agg(wanted)


def duckdb(table):
    """Compute them by task with DuckDB."""
    import duckdb as db  # a peer

    kinds = ("avg", "max", "min", "median", "stddev_samp")
    wanted = ", ".join(f"{kind}({name})" for name in table.scores for kind in kinds)
    connection = db.connect(config={"threads": 1})
    connection.register("rows", {"task": table.task, **table.scores})
    return lambda: connection.sql(
        f"select {wanted} from rows group by task"
    ).fetchnumpy()


def large(sizes=LARGE):
    """Measure ten million samples."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    for tasks, samples in sizes:
        table = graded(tasks, samples, FIELDS)
        print(
            f"{tasks:,} tasks x {samples} rollouts x {FIELDS} fields, CPU seconds, best of three"
        )
        by_task = cpu(lambda table=table: entries(table).statistics.of(table.offsets))
        pooled = cpu(partial(pooled_statistics, table))
        line("base statistics by task", by_task)
        line(
            "    numpy over blocks of tasks",
            cpu(partial(blocks, table, samples)),
            by_task,
        )
        for peer in (polars, duckdb):
            if importlib.util.find_spec(peer.__name__):
                line(f"    {peer.__name__}", cpu(peer(table)), by_task)
        line("base statistics, pooled", pooled)
        line("    numpy over whole columns", cpu(partial(whole_columns, table)), pooled)
        rewards = TaskRewards(table.scores["reward"], table.offsets)
        metrics = ["pass@1", "pass@5", "pass^5", "max@5", "mean_reward", "pass_rate"]
        names = planned(metrics).names
        for name in metrics:
            line(name, cpu(partial(names.bind(name).value, rewards)))


def against_pandas(tasks=TASKS):
    """Measure all that is made of a million samples."""
    table = graded(tasks, SAMPLES, FIELDS)
    metrics = ["mean_reward", "pass_rate", *(f"pass@{k}" for k in KS)]
    print(
        f"{tasks:,} tasks x {SAMPLES} rollouts x {FIELDS} fields, {len(metrics)} metrics"
    )
    by_task = cpu(lambda: entries(table).statistics.of(table.offsets))
    whole = cpu(lambda: reduce_agent(planned(metrics), "agent", table))
    line("base statistics by task, as arrays", by_task)
    line("base statistics pooled", cpu(partial(pooled_statistics, table)))
    text = cpu(lambda: sum(map(len, entries(table).pieces())))
    line("those by task, as the text of the artifact", text)
    line("everything: estimates, intervals, aggregate entry", whole)

    frame = pd.DataFrame(table.scores)
    frame["task"] = table.task
    few = frame[frame["task"] < GROUPBY_TASKS].groupby("task")
    grouped = cpu(lambda: few.agg(list(STATISTICS)), times=1) * tasks / GROUPBY_TASKS
    line(
        f"pandas: groupby.agg of the five, {GROUPBY_TASKS:,} tasks scaled",
        grouped,
        by_task,
    )
    groups = [
        group.drop(columns=["task"])
        for _, group in frame[frame["task"] < DESCRIBE_TASKS].groupby("task")
    ]
    # as NeMo Gym does
    described = cpu(
        lambda: [getattr(g, name)() for g in groups for name in STATISTICS], times=1
    )
    alone = described * tasks / DESCRIBE_TASKS
    line(
        f"pandas: one description per task, {DESCRIBE_TASKS} tasks scaled",
        alone,
        by_task,
    )
    line("    and against everything of ours (limit 40)", alone, whole)


if __name__ == "__main__":
    large() if sys.argv[1:] == ["large"] else against_pandas()
