"""How long reducing takes: our whole reduction against pandas, in one run.

``python tests/perf/reducing.py``; takes about a minute. ``python tests/perf/reducing.py large``
reduces ten million samples once, and takes 3 GB. The ratios are what to keep:
a machine's speed drifts, and all figures of a run drift with it.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from pytest_evalmetrics.data import RolloutTable, TaskRewards
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.metrics.basestats import StatisticsByTask, pooled_statistics
from pytest_evalmetrics.metrics.groups import Completeness, GroupEntries
from pytest_evalmetrics.metrics.lookup import Names
from pytest_evalmetrics.spec import BenchmarkSpec

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS, SAMPLES, FIELDS = 100_000, 10, 10
LARGE_TASKS = 1_000_000
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


def large() -> None:
    """Measure ten million samples once, CPU seconds."""
    made = table(LARGE_TASKS, SAMPLES, FIELDS)
    rewards = TaskRewards(made.scores["reward"], made.offsets)
    names = Names()
    print(f"{LARGE_TASKS:,} tasks x {SAMPLES} rollouts x {FIELDS} fields, CPU seconds")
    for label, run in (
        ("base statistics by task, as arrays", lambda: StatisticsByTask(made).of(0, LARGE_TASKS)),
        ("base statistics, pooled", lambda: pooled_statistics(made)),
        ("pass@1", lambda: names.bind("pass@1").value(rewards)),
        ("pass@5", lambda: names.bind("pass@5").value(rewards)),
        ("pass^5", lambda: names.bind("pass^5").value(rewards)),
        ("mean_reward", lambda: names.bind("mean_reward").value(rewards)),
    ):
        started = time.process_time()
        run()
        line(label, time.process_time() - started)


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
    by_task = seconds(lambda: StatisticsByTask(made).of(0, TASKS))
    pooled = seconds(lambda: pooled_statistics(made))
    completeness = Completeness.of(made, "reward")
    whole = seconds(lambda: reduce_agent(plan(spec), "agent", made))
    line("base statistics by task, as arrays", by_task)
    line("base statistics pooled", pooled)
    line("those by task, as the text of the artifact", seconds(
        lambda: sum(map(len, GroupEntries(made, "agent", completeness).pieces()))
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
    few_entries = seconds(
        lambda: list(GroupEntries(small, "agent", Completeness.of(small, "reward")))
    )
    line("10,000 entries x 50 statistics", few_entries)

    count = 10_000_000
    values = (np.random.default_rng(1).random(count) < 0.3).astype(np.float64)
    many = TaskRewards(values, np.arange(0, count + 1, SAMPLES))
    print(f"{count:,} samples, {len(many):,} tasks")
    for name in ("pass@1", "pass@5", "pass^5", "max@5", "mean_reward", "pass_rate"):
        line(name, seconds(partial(names.bind(name).value, many)))


if __name__ == "__main__":
    main()
