"""Comparisons of a million rollouts: each is to take less than 3 s and 350 MiB.

A case is one benchmark as a user may write it, and is measured in a process of its own:
its two tables are made, and the clock starts when they are compared. The memory is the
peak of the whole process, with both tables, their tasks' ids (text on the baseline's
side, as a baseline has them), Python and NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from measuring import table
from simulated import benchmark, whole_gate

from pytest_evalmetrics.ext import AgentResult, Estimate
from pytest_evalmetrics.model.rollout_table import Category, RolloutTable
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, ExpectSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.spec import Benchmark

    Floats = NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

SECONDS = 3.0
MEBIBYTES = 350.0
QUARANTINED = 100  # tasks


def flips(rng: np.random.Generator, rollouts: int) -> tuple[Floats, Floats]:
    """Draw passes; one in ten changes."""
    before = (rng.random(rollouts) < 0.7).astype(np.float64)
    return before, np.where(rng.random(rollouts) < 0.1, 1 - before, before)


def grades(rng: np.random.Generator, rollouts: int) -> tuple[Floats, Floats]:
    """Draw grades from 0 to 20: 441 pairs of them."""
    before = rng.integers(0, 21, rollouts) / 20
    return before, np.clip(before + rng.integers(-2, 3, rollouts) / 20, 0, 1)


def scores(rng: np.random.Generator, rollouts: int) -> tuple[Floats, Floats]:
    """Draw continuous scores: as many distinct values as rollouts."""
    before = rng.random(rollouts)
    return before, np.clip(before + rng.normal(0, 0.2, rollouts), 0, 1)


def latencies(rng: np.random.Generator, rollouts: int) -> tuple[Floats, Floats]:
    """Draw seconds, which have no upper end."""
    before = rng.lognormal(1, 0.5, rollouts)
    return before, before * rng.lognormal(0, 0.3, rollouts)


class LargeCase(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of a million rollouts on each side."""

    draw: Draw = flips
    metrics: tuple[str, ...] = ("mean_reward",)
    rollouts: int = 1  # of each task
    rollouts_now: int | None = None  # the same of the run, where it has fewer
    gone: float = 0.0  # the share of tasks that the run lacks
    lost: float = 0.0  # the share of the run's rollouts that have no reward
    labels: int = 0  # values of a field of the rows
    by_cluster: bool = False  # whether that field is `cluster:`, not `breakdown:`
    runs: int = 1  # of the baseline
    quarantined: int = 0  # tasks
    rule: str = "practical"
    max_drop: float | None = None
    direction: str | None = None
    any_rollouts: bool = False  # whether the file allows any number


CASES = {
    "mean of flips": LargeCase(),
    "mean of scores": LargeCase(draw=scores),
    "mean of latencies": LargeCase(draw=latencies, direction="lower"),
    "mean, 5 % of tasks gone": LargeCase(gone=0.05),
    "mean, 5 % of rewards missing": LargeCase(lost=0.05),
    "mean, relative rule": LargeCase(rule="relative", max_drop=0.02),
    "mean, 100 tasks in quarantine": LargeCase(quarantined=QUARANTINED),
    "mean, 5 slices": LargeCase(labels=5),
    "mean, 1,000 clusters": LargeCase(labels=1_000, by_cluster=True),
    "mean, 3 baseline runs": LargeCase(runs=3),
    "3 metrics": LargeCase(metrics=("mean_reward", "pass_rate", "median")),
    "median of grades": LargeCase(draw=grades, metrics=("median",)),
    "median of scores": LargeCase(draw=scores, metrics=("median",)),
    "worst of grades": LargeCase(draw=grades, metrics=("worst_task",)),
    "p95 of latencies": LargeCase(draw=latencies, metrics=("p95",), direction="lower"),
    "pass@1": LargeCase(metrics=("pass@1",)),
    "x 4: mean of flips": LargeCase(rollouts=4),
    "x 4: mean of grades": LargeCase(draw=grades, rollouts=4),
    "x 4: mean of latencies": LargeCase(draw=latencies, rollouts=4, direction="lower"),
    "x 4: pass@2": LargeCase(rollouts=4, metrics=("pass@2",)),
    "x 4: pass^4": LargeCase(rollouts=4, metrics=("pass^4",)),
    "x 4: worst of grades": LargeCase(draw=grades, rollouts=4, metrics=("worst_task",)),
    "x 4: median of grades": LargeCase(draw=grades, rollouts=4, metrics=("median",)),
    "x 4: 3 metrics": LargeCase(
        rollouts=4, metrics=("mean_reward", "pass@2", "pass^4")
    ),
    "x 4: 5 slices": LargeCase(rollouts=4, labels=5),
    "x 4: 1,000 clusters": LargeCase(rollouts=4, labels=1_000, by_cluster=True),
    "x 4: 3 baseline runs": LargeCase(rollouts=4, runs=3),
    "x 4 -> 2 rollouts": LargeCase(rollouts=4, rollouts_now=2),
    "x 4 -> 2 rollouts of grades": LargeCase(draw=grades, rollouts=4, rollouts_now=2),
    "x 4: 5 % of rewards missing": LargeCase(rollouts=4, lost=0.05),
    "x 4: any number of rollouts": LargeCase(rollouts=4, lost=0.05, any_rollouts=True),
}


def prepared(name: str, rollouts: int) -> Callable[[], object]:
    """Make the tables of a case, and return its comparison."""
    case = CASES[name]
    rng = np.random.default_rng(0)
    tasks = rollouts // case.rollouts
    before, after = case.draw(rng, rollouts)
    if case.lost:
        after[rng.random(rollouts) < case.lost] = np.nan
    labels = rng.integers(0, case.labels, tasks) if case.labels else None
    run = _run_of(case, after, tasks, labels)
    del after
    ids = tuple(map(str, range(tasks)))
    baseline = [_table(before, ids, case.rollouts, labels)]
    for _ in range(case.runs - 1):
        again, _ = case.draw(rng, rollouts)
        # the runs of a baseline share the texts of their ids
        baseline.append(_table(again, (*ids,), case.rollouts, labels))
    del before
    asked = _benchmark(case)
    estimates = {
        metric: Estimate(metric, 0.5, len(run.tasks), len(run), score="reward")
        for metric in case.metrics
    }
    result = AgentResult("agent", len(run), len(run), 0, estimates, {}, {})
    quarantined = frozenset(map(str, range(case.quarantined)))
    return lambda: whole_gate(asked, baseline, result, run, quarantined=quarantined)


def _run_of(
    case: LargeCase, after: Floats, tasks: int, labels: NDArray[np.int64] | None
) -> RolloutTable:
    rollouts = case.rollouts_now or case.rollouts
    rewards = after.reshape(tasks, case.rollouts)[:, :rollouts]
    first = max(round(case.gone * tasks), case.quarantined)
    ids = tuple(range(first, tasks))
    return _table(
        rewards[first:].ravel(),
        ids,
        rollouts,
        None if labels is None else labels[first:],
    )


def _table(
    rewards: Floats,
    tasks: tuple[int | str, ...],
    rollouts: int,
    labels: NDArray[np.int64] | None,
) -> RolloutTable:
    categories = {}
    if labels is not None:
        names = tuple(map(str, range(int(labels.max()) + 1)))
        codes = np.repeat(labels, rollouts).astype(np.int32)
        categories["field"] = Category(codes, names)
    made = table({"reward": rewards}, rollouts, tasks, categories)
    lacking = np.isnan(rewards)
    return made.where(~lacking) if lacking.any() and rollouts > 1 else made


def _benchmark(case: LargeCase) -> Benchmark:
    baseline = BaselineSpec(
        rule=case.rule, max_drop=case.max_drop, direction=case.direction
    )
    expect = ExpectSpec()
    if case.any_rollouts:
        expect = ExpectSpec(rollouts="any", missing_reward="exclude")
    has_slices = bool(case.labels) and not case.by_cluster
    return benchmark(
        *case.metrics,
        key_metrics=case.metrics,
        baseline=baseline,
        expect=expect,
        cluster="field" if case.by_cluster else None,
        breakdown=("field",) if has_slices else (),
    )
