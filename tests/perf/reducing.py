"""How long reducing takes: our whole reduction against pandas, in one run.

``python tests/perf/reducing.py``; takes about a minute. ``python tests/perf/reducing.py large``
reduces ten million samples, beside the fastest strategies that there are on one core (numpy over
blocks of tasks without a thought of what may be missing; Polars and DuckDB where they are
installed), and takes 6 GB. The ratios are what to keep: a machine's speed drifts, and all figures
of a run drift with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, RolloutTable, TaskRewards
from pytest_evalmetrics.metrics import Names, plan, reduce_agent
from pytest_evalmetrics.metrics.base_statistics import Counts, GroupEntries, pooled_statistics

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS, SAMPLES, FIELDS = 100_000, 10, 10
LARGE = ((100_000, 100), (1_000_000, 10))  # tasks, rollouts of each
ROUNDS = 3
KS = (1, 2, 3, 5, 8, 10)
GROUPBY_TASKS, DESCRIBE_TASKS = 20_000, 200  # what is measured of pandas, and scaled up
STATISTICS = ("mean", "max", "min", "median", "std")


def table(tasks: int, samples: int, fields: int) -> RolloutTable:
    """Make rollouts with a 0/1 reward and further numeric fields."""
    rng = np.random.default_rng(0)
    rows = tasks * samples
    scores = {"reward": (rng.random(rows) < 0.6).astype(np.float64)}
    scores |= {f"field_{i}": rng.normal(size=rows) for i in range(1, fields)}
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(rows, dtype=np.int32),
        tasks=tuple(range(tasks)),
        task=np.repeat(np.arange(tasks), samples),
        sample=np.tile(np.arange(samples), tasks),
        scores=scores,
    )


def entries(made: RolloutTable) -> GroupEntries:
    """Make the entries of the tasks."""
    return GroupEntries(made, "agent", Counts.of(made, "reward"))


def seconds(run: Callable[[], Any], times: int = 3) -> float:
    """Time a call, the median of a few."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return median(found)


def describe(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Describe one task as NeMo Gym does."""
    return {name: getattr(frame, name)() for name in STATISTICS}


def line(what: str, took: float, ours: float | None = None) -> None:
    """Print a figure, and how many times ours it is."""
    print(f"{what:<66}{took:>9.3f} s" + (f"{took / ours:>9.1f} x" if ours else ""))


def cpu(run: Callable[[], Any]) -> float:
    """Take the least CPU seconds of a few runs."""
    found = []
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        found.append(time.process_time() - started)
    return min(found)


def blocks(made: RolloutTable, samples: int) -> None:
    """Compute the five statistics by task with numpy, one block of tasks for each field."""
    for column in made.scores.values():
        block = column.reshape(-1, samples)
        ordered = np.sort(block, axis=1)
        _ = block.mean(axis=1), block.std(axis=1, ddof=1), ordered[:, 0], ordered[:, -1]
        _ = (ordered[:, (samples - 1) // 2] + ordered[:, samples // 2]) / 2


def whole_columns(made: RolloutTable) -> None:
    """Compute them over all rollouts with numpy."""
    for column in made.scores.values():
        _ = column.mean(), column.std(ddof=1), column.min(), column.max(), np.median(column)


def polars(made: RolloutTable) -> Callable[[], Any]:
    """Compute them by task with Polars."""
    import polars as pl  # noqa: PLC0415 - a peer

    frame = pl.DataFrame({"task": made.task, **made.scores})
    wanted = [getattr(pl.col(n), s)().alias(f"{s}/{n}") for n in made.scores for s in STATISTICS]
    return lambda: frame.group_by("task").agg(wanted)


def duckdb(made: RolloutTable) -> Callable[[], Any]:
    """Compute them by task with DuckDB."""
    import duckdb as db  # noqa: PLC0415 - a peer

    kinds = ("avg", "max", "min", "median", "stddev_samp")
    wanted = ", ".join(f"{kind}({name})" for name in made.scores for kind in kinds)
    connection = db.connect(config={"threads": 1})
    connection.register("rows", {"task": made.task, **made.scores})
    return lambda: connection.sql(f"select {wanted} from rows group by task").fetchnumpy()  # noqa: S608


def large() -> None:
    """Measure ten million samples, CPU seconds."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    for tasks, samples in LARGE:
        made = table(tasks, samples, FIELDS)
        print(f"{tasks:,} tasks x {samples} rollouts x {FIELDS} fields, CPU seconds, best of three")
        by_task = cpu(lambda made=made, n=tasks: entries(made).statistics(0, n))
        pooled = cpu(partial(pooled_statistics, made))
        line("base statistics by task", by_task)
        line("    numpy over blocks of tasks", cpu(partial(blocks, made, samples)), by_task)
        for peer in (polars, duckdb):
            if importlib.util.find_spec(peer.__name__):
                line(f"    {peer.__name__}", cpu(peer(made)), by_task)
        line("base statistics, pooled", pooled)
        line("    numpy over whole columns", cpu(partial(whole_columns, made)), pooled)
        rewards = TaskRewards(made.scores["reward"], made.offsets)
        for name in ("pass@1", "pass@5", "pass^5", "mean_reward"):
            metric = Names().bind(name)
            line(name, cpu(lambda metric=metric, given=rewards: metric.value(given)))


def main() -> None:
    """Measure."""
    if sys.argv[1:] == ["large"]:
        large()
        return
    made = table(TASKS, SAMPLES, FIELDS)
    metrics = ["mean_reward", "pass_rate", *(f"pass@{k}" for k in KS)]
    spec = TypeAdapter(BenchmarkSpec).validate_json(
        json.dumps({"name": "perf", "rollouts": "none.jsonl", "metrics": metrics})
    )
    print(f"{TASKS:,} tasks x {SAMPLES} rollouts x {FIELDS} fields, {len(metrics)} metrics")
    by_task = seconds(lambda: entries(made).statistics(0, TASKS))
    pooled = seconds(lambda: pooled_statistics(made))
    whole = seconds(lambda: reduce_agent(plan(spec), "agent", made))
    line("base statistics by task, as arrays", by_task)
    line("base statistics pooled", pooled)
    line("those by task, as the text of the artifact", seconds(
        lambda: sum(map(len, entries(made).pieces()))
    ))  # fmt: skip
    line("everything: estimates, intervals, aggregate entry", whole)

    names = Names()
    rewards = made.rewards("reward")
    bound = [names.bind(f"pass@{k}") for k in KS]
    line(f"pass@k for {len(KS)} k", seconds(lambda: [m.value(rewards) for m in bound]))

    frame = pd.DataFrame(made.scores)
    frame["task"] = made.task
    part = frame[frame["task"] < GROUPBY_TASKS]
    scale = TASKS / GROUPBY_TASKS
    grouped = seconds(lambda: part.groupby("task").agg(list(STATISTICS)), times=1) * scale
    line(f"pandas: groupby.agg of the five, {GROUPBY_TASKS:,} tasks scaled", grouped, by_task)
    few = frame[frame["task"] < DESCRIBE_TASKS]
    scale = TASKS / DESCRIBE_TASKS
    alone = scale * seconds(
        lambda: [describe(g.drop(columns=["task"])) for _, g in few.groupby("task")], times=1
    )
    line(f"pandas: one description per task, {DESCRIBE_TASKS} tasks scaled", alone, by_task)
    line("    and against everything of ours", alone, whole)

    small = table(10_000, 8, FIELDS)
    few_entries = seconds(lambda: list(entries(small)))
    line("10,000 entries x 50 statistics", few_entries)

    count = 10_000_000
    values = (np.random.default_rng(1).random(count) < 0.3).astype(np.float64)
    many = TaskRewards(values, np.arange(0, count + 1, SAMPLES))
    print(f"{count:,} samples, {len(many):,} tasks")
    for name in ("pass@1", "pass@5", "pass^5", "max@5", "mean_reward", "pass_rate"):
        line(name, seconds(partial(names.bind(name).value, many)))


if __name__ == "__main__":
    main()
