"""Simulated runs: tables of rollouts that go through the pipeline to verdicts.

What the tables of calibration.py share: benchmarks, worlds of tasks, and cells.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from measuring import table as table_of
from msgspec import structs

from pytest_evalmetrics import register_metric
from pytest_evalmetrics.ext import BenchmarkSpec
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.pipeline.comparing import ComparisonTerms, compare_agents
from pytest_evalmetrics.pipeline.judging import judge_comparisons
from pytest_evalmetrics.pipeline.reducing import AgentRun
from pytest_evalmetrics.pipeline.references import Reference
from pytest_evalmetrics.spec import Benchmark
from pytest_evalmetrics.spec.gate_keys import BaselineSpec
from pytest_evalmetrics.spec.sources import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.ext import Check, RolloutTable
    from pytest_evalmetrics.gates.sequential import Look

    Floats = NDArray[np.float64]

GUARDS = ("single_tasks", "slices")  # checks beside those of metrics
MOST_FAILS = 1.5  # per cent of runs in which nothing changed
LEAST_RUNS = 40  # of a cell


@register_metric("harmonic_mean")
class HarmonicMean:
    """A smooth metric that is not a mean over tasks."""

    name = "harmonic_mean"

    def compute(self, task_rewards: Sequence[Sequence[float]]) -> float:
        return len(task_rewards) / sum(
            1 / (0.1 + sum(t) / len(t)) for t in task_rewards
        )


@register_metric("own_mean")
class OwnMean:
    """mean_reward, as somebody else would write it."""

    name = "own_mean"

    def compute(self, task_rewards: Sequence[Sequence[float]]) -> float:
        return sum(sum(t) / len(t) for t in task_rewards) / len(task_rewards)


def benchmark(*metrics: str, **keys: Any) -> Benchmark:
    """A benchmark that is gated against its baseline."""
    defaults = {"name": "simulated", "rollouts": RolloutsSpec(path=("runs.jsonl",))}
    defaults |= {"metrics": metrics or ("mean_reward",), "baseline": BaselineSpec()}
    return Benchmark(
        BenchmarkSpec(**(defaults | keys)), Path("simulated.bench.yaml"), {}
    )


def table(rewards: Floats, clusters: NDArray[np.int64] | None = None) -> RolloutTable:
    """Rollouts of one agent; one row of `rewards` per task."""
    _, k = rewards.shape
    categories = {}
    if clusters is not None:
        codes = np.repeat(clusters, k).astype(np.int32)
        categories["repo"] = Category(
            codes, tuple(map(str, range(int(clusters.max()) + 1)))
        )
    return table_of({"reward": rewards.ravel()}, k, categories=categories)


def judged(
    asked: Benchmark,
    before: Floats | Sequence[Floats],
    after: Floats,
    clusters: NDArray[np.int64] | None = None,
) -> list[Check]:
    """Hold a run against its baseline, of one run or of several."""
    several = [before] if isinstance(before, np.ndarray) else before
    return compared(
        asked, [table(each, clusters) for each in several], table(after, clusters)
    )


def gate(
    asked: Benchmark,
    before: Sequence[RolloutTable],
    result: Any,
    run: RolloutTable,
    look: Look | None = None,
) -> list[Check]:
    """Hold what was computed of a table against its baseline's; the checks of metrics."""
    checks = whole_gate(asked, before, result, run, look)
    return [check for check in checks if check.name not in GUARDS]


def whole_gate(
    asked: Benchmark,
    before: Sequence[RolloutTable],
    result: Any,
    run: RolloutTable,
    look: Look | None = None,
    *,
    benchmarks: int = 1,
    quarantined: frozenset[str] = frozenset(),
) -> list[Check]:
    """The same with the checks of single tasks and of slices."""
    reference = Reference(runs={"agent": tuple(before)})
    terms = ComparisonTerms(
        benchmark=asked,
        plan=plan(asked.spec),
        reference=reference,
        quarantined=quarantined,
    )
    agents = compare_agents(terms, [AgentRun(result, run, run.counts)])
    return judge_comparisons(terms, agents, benchmarks=benchmarks, look=look)


def compared(
    asked: Benchmark,
    before: Sequence[RolloutTable],
    run: RolloutTable,
    look: Look | None = None,
) -> list[Check]:
    """Hold a table against those of its baseline."""
    return gate(asked, before, reduce_agent(plan(asked.spec), "agent", run), run, look)


def passes(rng: np.random.Generator, chance: Floats, k: int) -> Floats:
    """Draw k rollouts of tasks that pass with such chances."""
    return (rng.random((len(chance), k)) < chance[:, None]).astype(float)


def steady(rng: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    """Each task has a chance to pass, most are near 0 or 1; a drop takes its share of each."""
    before = rng.beta(0.4, 0.4, n)
    return before, before * (1 - 2 * drop)


def churn(rng: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    """One task in five truly changes, for the better or the worse, besides the drop."""
    before, after = steady(rng, n, drop)
    anew = rng.beta(0.4, 0.4, n) * (1 - 2 * drop)
    return before, np.where(rng.random(n) < 0.2, anew, after)


def coins(
    rng: np.random.Generator, n: int, drop: float, share: float = 0.1
) -> tuple[Floats, ...]:
    """A task passes always or never, but for a few that are coins; a drop breaks tasks."""
    before = (rng.random(n) < 0.5).astype(float)
    after = np.where(rng.random(n) < 2 * drop, 0.0, before)
    tossed = rng.random(n) < share
    return np.where(tossed, 0.5, before), np.where(tossed, 0.5 - drop, after)


def alike(
    rng: np.random.Generator, n: int, drop: float, chance: float
) -> tuple[Floats, Floats]:
    """All tasks pass with one chance."""
    del rng
    return np.full(n, chance), np.full(n, chance - drop)


class Cell(msgspec.Struct, frozen=True):
    """One kind of benchmark: what it is called, how it is run, and what may come out."""

    table: str
    row: str
    column: str
    run: Callable[[np.random.Generator], float]
    runs: int
    limits: tuple[float, float] = (0.0, 100.0)
    percent: float = math.nan


def measure(cell: Cell, scale: float) -> Cell:
    """Run one cell."""
    seed = [ord(letter) for letter in f"{cell.table}{cell.row}{cell.column}"]
    rng = np.random.default_rng(seed)
    runs = max(LEAST_RUNS, round(cell.runs * scale))
    outcomes = np.array([cell.run(rng) for _ in range(runs)], dtype=float)
    # a drop that nothing is stated of has no power
    stated = outcomes[~np.isnan(outcomes)]
    percent = 100 * float(stated.mean()) if len(stated) else math.nan
    return structs.replace(cell, runs=runs, percent=percent)
