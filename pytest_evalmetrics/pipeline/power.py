"""What a benchmark can see, before it is run: the drop that its gate finds with 80 % power."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import metrics, rollouts, stats
from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.pipeline.anchoring import compares_with_history
from pytest_evalmetrics.pipeline.references import reference_of
from pytest_evalmetrics.pipeline.rewards import with_reward
from pytest_evalmetrics.pipeline.rules import gated_names, rule_of
from pytest_evalmetrics.results import Power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics import BoundMetric
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["power_of"]

_REPLICATES = 200
_DRAWN = 4_000_000  # samples in all replicates
_MOST = 1024  # rollouts per task that are worth telling
_UNIFORM = 1 / 6  # the mean of p (1 - p) for p uniform on [0, 1]: Miller 2024, section 3.1


def power_of(
    benchmark: Benchmark, snapshot: Callable[[], tuple[str, str] | None]
) -> Iterator[Power]:
    """Plan one benchmark from its baseline, else from its recorded rollouts.

    Parameters
    ----------
    benchmark
        The benchmark. Nothing of it is evaluated.
    snapshot
        Reads the committed baseline.

    Notes
    -----
    Var(d) = sigma_B^2 / K_B + sigma_C^2 / K_C, where a run repeats the baseline's tasks and no
    task truly changes (Miller 2024, arXiv 2411.00640, section 5); tasks that do change for the
    better and the worse add to it. sigma^2 comes from resampling each task's rollouts.
    """
    if benchmark.spec.scorers:
        names = tuple(name for s in benchmark.spec.scorers for name in s.score_names)
        benchmark = with_reward(benchmark, names)
    plan = metrics.plan(benchmark.spec, also=gated_names(benchmark), line_of=benchmark.line_of)
    try:
        tables, source = _tables(benchmark, plan, snapshot)
    except EvalMetricsError as error:
        yield _assumed(benchmark, error)
        return
    for agent, table in tables.items():
        for name in gated_names(benchmark):
            yield replace(_metric_power(benchmark, plan, name, table, source), agent=agent)


def _tables(
    benchmark: Benchmark, plan: metrics.Plan, snapshot: Callable[[], tuple[str, str] | None]
) -> tuple[dict[str, RolloutTable], str]:
    if benchmark.spec.baseline is not None and not compares_with_history(benchmark):
        reference = reference_of(benchmark, plan, snapshot)
        if reference is not None:
            return dict(reference.tables), "baseline"
    if benchmark.spec.scorers:
        raise DataError("it has to be scored first, and nothing is recorded of it yet")
    table = rollouts.load(
        benchmark.spec.rows,
        benchmark.file.parent,
        scores=plan.scores,
        categories=plan.categories,
    )
    return dict(table.by_agent()), "rollouts"


def _assumed(benchmark: Benchmark, error: EvalMetricsError) -> Power:
    """Tell what can be told of a benchmark that has never been run."""
    spec = benchmark.spec
    tasks = spec.expect.tasks.min if spec.expect.tasks is not None else 0
    k = spec.num_samples or 1
    name = gated_names(benchmark)[0]
    rule = rule_of(benchmark, name, bounded=True)
    if tasks < 2:  # noqa: PLR2004 - a variance needs two
        return Power("", "", tasks, k, math.nan, rule.max_drop, None, "nothing", error.message)
    se = math.sqrt(2 * _UNIFORM / k / tasks)
    return Power(
        agent="",
        metric=name,
        tasks=tasks,
        rollouts=k,
        mde=stats.mde_from_se(se, tasks - 1, alpha=rule.alpha),
        max_drop=rule.max_drop,
        needed=_needed(2 * _UNIFORM, tasks, rule.max_drop, rule.alpha),
        source="an even spread of pass rates",
    )


def _metric_power(
    benchmark: Benchmark, plan: metrics.Plan, name: str, table: RolloutTable, source: str
) -> Power:
    counts = np.diff(table.offsets)
    k = int(np.median(counts)) if len(counts) else 0
    try:
        metric = plan.names.bind(name)
        sample = metrics.Source(table, plan.spec.reward).sample(metric)
        bounded = metric.bounded or _on_unit(sample.rewards)
        rule = rule_of(benchmark, name, bounded=bounded)
        variance = _sampling_variance(metric, sample.rewards, k)
    except EvalMetricsError as error:
        return Power("", name, len(counts), k, math.nan, 0.0, None, source, error.message)
    n = len(sample.rewards)
    if variance is None or n < 2:  # noqa: PLR2004 - a variance needs two
        reason = "it is no mean over tasks" if variance is None else "there are too few tasks"
        return Power("", name, n, k, math.nan, rule.max_drop, None, source, reason)
    return Power(
        agent="",
        metric=name,
        tasks=n,
        rollouts=k,
        mde=stats.mde_from_se(math.sqrt(2 * variance / n), n - 1, alpha=rule.alpha),
        max_drop=rule.max_drop,
        needed=_needed(2 * variance * k, n, rule.max_drop, rule.alpha),
        source=source,
    )


def _on_unit(rewards: TaskRewards) -> bool:
    values = rewards.values
    return bool(len(values)) and bool(values.min() >= 0) and bool(values.max() <= 1)


def _sampling_variance(metric: BoundMetric, rewards: TaskRewards, k: int) -> float | None:
    """Estimate the variance of a task's value between runs, averaged over tasks.

    Each task's rollouts are resampled k at a time; n / (n - 1) makes up for the spread that
    n rollouts don't show. Single rollouts show none: the spread over all tasks bounds it.
    """
    parts = metric.parts(rewards)
    if parts is None or parts.combine is not None:
        return None
    counts = rewards.counts
    held = np.flatnonzero(parts.held)
    if not len(held) or int(counts[held].max()) == 1:
        return float(parts.values[held].var(ddof=1)) if len(held) > 1 else None
    rng = np.random.Generator(np.random.PCG64(0))
    replicates = max(20, min(_REPLICATES, _DRAWN // max(len(held) * k, 1)))
    offsets = np.arange(len(held) + 1) * k
    total, squares = np.zeros(len(held)), np.zeros(len(held))
    for _ in range(replicates):
        drawn = rng.random((len(held), k)) * counts[held][:, None]
        at = rewards.offsets[held][:, None] + drawn.astype(np.int64)
        found = metric.parts(TaskRewards(rewards.values[at].ravel(), offsets))
        if found is None:
            return None
        total += found.values
        squares += found.values**2
    variance = (squares / replicates - (total / replicates) ** 2) * replicates / (replicates - 1)
    seen = counts[held] > 1
    inflated = variance[seen] * counts[held][seen] / (counts[held][seen] - 1)
    return float(max(inflated.mean(), 0.0)) if any_of(seen) else None


def _needed(per_rollout: float, tasks: int, drop: float, alpha: float) -> int | None:
    if drop <= 0:
        return None
    unit = stats.mde_from_se(1.0, tasks - 1, alpha=alpha)
    needed = math.ceil(per_rollout / tasks / (drop / unit) ** 2 - 1e-9)
    return max(needed, 1) if needed <= _MOST else None
