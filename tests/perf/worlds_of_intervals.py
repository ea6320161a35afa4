"""Worlds in which an interval's ends miss the truth: cells of calibration.py's tables."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from simulated import Cell, benchmark, judged, passes, table

from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.metrics.intervals import estimate
from pytest_evalmetrics.metrics.samples import Sample
from pytest_evalmetrics.spec.gate_keys import BaselineSpec
from pytest_evalmetrics.stats import labelled_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.ext import RolloutTable

    Ends = tuple[float, float] | None

MISSES = (0.0, 3.5)  # per cent on a side, of which 2.5 are nominal
SIDES = ("above", "below")


def misses(
    rng: np.random.Generator,
    *,
    ends: Callable[[np.random.Generator], Ends],
    truth: float,
    side: str,
) -> float:
    """Whether an interval lies on one side of the truth; NaN where there is none."""
    interval = ends(rng)
    if interval is None:
        return math.nan
    low, high = interval
    return low > truth + 1e-12 if side == "above" else high < truth - 1e-12


def both_sides(
    name: str,
    row: str,
    ends: Callable[[np.random.Generator], Ends],
    truth: float,
    runs: int,
) -> Iterator[Cell]:
    """Count the misses on either side."""
    for side in SIDES:
        run = partial(misses, ends=ends, truth=truth, side=side)
        yield Cell(name, row, side, run, runs, MISSES)


def of_metric(run: RolloutTable, metric: str, **keys: str) -> Ends:
    """Return the interval of one run's metric."""
    asked = benchmark(metric, baseline=None, **keys)
    result = reduce_agent(plan(asked.spec), "agent", run)
    interval = next(iter(result.estimates.values())).interval
    return None if interval is None else (interval.low, interval.high)


# -- one run ----------------------------------------------------------------------------------


def of_equal_tasks(rng: np.random.Generator, *, n: int, k: int, chance: float) -> Ends:
    """The mean of tasks that all pass with one chance."""
    return of_metric(table(passes(rng, np.full(n, chance), k)), "mean_reward")


def of_mixed_tasks(
    rng: np.random.Generator, *, n: int, k: int, shape: tuple[float, float], metric: str
) -> Ends:
    """A metric of tasks whose chances are drawn."""
    return of_metric(table(passes(rng, rng.beta(*shape, n), k)), metric)


def of_clusters(
    rng: np.random.Generator,
    *,
    count: int,
    size: int,
    k: int,
    icc: float,
    chance: float,
) -> Ends:
    """The mean of tasks whose clusters have a chance each."""
    codes = np.repeat(np.arange(count), size)
    spread = 1 / icc - 1
    chances = rng.beta(chance * spread, (1 - chance) * spread, count)[codes]
    return of_metric(
        table(passes(rng, chances, k), codes), "mean_reward", cluster="repo"
    )


def of_values(
    rng: np.random.Generator,
    *,
    n: int,
    of: str,
) -> Ends:
    """The mean of values of one rollout a task, of a score without a range."""
    drawn, _ = SKEWED[of]
    metric = plan(benchmark("mean_reward").spec).names.bind("mean_reward")
    rewards = TaskRewards(drawn(rng, n), np.arange(n + 1))
    sample = Sample(rewards, tuple(range(n)), clusters=None, score="reward", missing=0)
    interval = estimate(metric, sample).interval
    return None if interval is None else (interval.low, interval.high)


SKEWED: dict[
    str, tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], float]
] = {
    "normal": (lambda rng, n: rng.normal(10, 2, n), 10.0),
    "uniform": (lambda rng, n: 5 * rng.random(n), 2.5),
    "Student's t, df 3": (lambda rng, n: rng.standard_t(3, n), 0.0),
    "lognormal .5": (lambda rng, n: rng.lognormal(0, 0.5, n), math.exp(0.125)),
    "lognormal 1": (lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5)),
    "minus lognormal 1": (lambda rng, n: -rng.lognormal(0, 1, n), -math.exp(0.5)),
    "lognormal 1.5": (lambda rng, n: rng.lognormal(0, 1.5, n), math.exp(1.125)),
    "exponential": (lambda rng, n: rng.exponential(2, n), 2.0),
    "gamma .5": (lambda rng, n: rng.gamma(0.5, 4, n), 2.0),
    "gamma .2": (lambda rng, n: rng.gamma(0.2, 10, n), 2.0),
    "Pareto 3": (lambda rng, n: 10 * rng.pareto(3, n), 5.0),
}
# no interval of a mean holds for these with so few values: what is measured, and no more
BEYOND = {
    ("lognormal 1", 10): 5.5,
    ("minus lognormal 1", 10): 5.5,
    ("lognormal 1.5", 10): 7.5,
    ("lognormal 1.5", 20): 5.5,
    ("gamma .5", 10): 5.0,
    ("gamma .2", 10): 9.0,
    ("gamma .2", 20): 5.0,
    ("Pareto 3", 10): 5.0,
    ("Pareto 3", 20): 4.5,
    ("Pareto 3", 50): 4.5,
    ("Pareto 3", 200): 5.0,
}


def skewed_means() -> Iterator[Cell]:
    """Intervals of means that are no rates: above, or below, the true value."""
    for n in (10, 20, 50, 200):
        for name, (_, truth) in SKEWED.items():
            ends = partial(of_values, n=n, of=name)
            most = BEYOND.get((name, n), MISSES[1])
            for side in SIDES:
                run = partial(misses, ends=ends, truth=truth, side=side)
                column = f"{n} values, {side}"
                yield Cell("skewed_means", name, column, run, 4_000, (0.0, most))


def of_median(rng: np.random.Generator, *, n: int) -> Ends:
    """The median of lognormal values."""
    return of_metric(table(rng.lognormal(0, 1, (n, 1))), "median")


def of_labels(
    rng: np.random.Generator, *, labelled: int, share: float, good: float, bad: float
) -> Ends:
    """The mean that labels would have, of a judge that passes good and bad rows so often."""
    truth = (rng.random(1_000) < share) * 1.0
    judged_rows = (rng.random(1_000) < np.where(truth > 0, good, bad)) * 1.0
    labels = np.where(np.arange(1_000) < labelled, truth, np.nan)
    result = labelled_mean(judged_rows, labels, np.arange(1_000))
    return result.low, result.high


def intervals() -> Iterator[Cell]:
    """Intervals of one run that lie above, or below, the true value."""
    for n, k, chance in ((20, 1, 0.8), (50, 4, 0.95), (200, 8, 0.99), (100, 4, 0.02)):
        ends = partial(of_equal_tasks, n=n, k=k, chance=chance)
        row = f"mean, {n} x {k}, p = {chance:g}"
        yield from both_sides("intervals", row, ends, chance, 1_000)
    for n, k, shape in ((20, 4, (0.4, 0.4)), (50, 8, (0.4, 0.4)), (50, 4, (4.0, 0.2))):
        ends = partial(of_mixed_tasks, n=n, k=k, shape=shape, metric="mean_reward")
        row = f"mean, {n} x {k}, Beta{shape}"
        truth = shape[0] / (shape[0] + shape[1])
        yield from both_sides("intervals", row, ends, truth, 1_000)
    for count, size, k, icc, chance in (
        (5, 10, 1, 0.3, 0.8),
        (10, 20, 1, 0.1, 0.9),
        (20, 5, 4, 0.3, 0.9),
        (12, 42, 1, 0.2, 0.5),
    ):
        ends = partial(of_clusters, count=count, size=size, k=k, icc=icc, chance=chance)
        row = f"mean, {count} clusters of {size} x {k}, p = {chance:g}"
        yield from both_sides("intervals", row, ends, chance, 1_000)
    for n in (10, 20, 50):
        ends = partial(of_mixed_tasks, n=n, k=4, shape=(0.4, 0.4), metric="own_mean")
        yield from both_sides("intervals", f"own mean, {n} x 4", ends, 0.5, 300)
        yield from both_sides(
            "intervals", f"median, {n} x 1", partial(of_median, n=n), 1.0, 1_000
        )
    judges = {
        "agrees in 90 %": (0.7, 0.9, 0.1),
        "lenient": (0.7, 0.98, 0.5),
        "lenient, few bad rows": (0.95, 0.97, 0.3),
        "harsh": (0.5, 0.6, 0.01),
    }
    for name, (share, good, bad) in judges.items():
        for labelled in (30, 100):
            ends = partial(
                of_labels, labelled=labelled, share=share, good=good, bad=bad
            )
            row = f"labelled mean, {labelled} labels, {name}"
            yield from both_sides("intervals", row, ends, share, 1_000)


# -- the difference of two runs ---------------------------------------------------------------


def of_drop(
    rng: np.random.Generator, *, n: int, k: tuple[int, int], chance: float, drop: float
) -> Ends:
    """The drop of tasks that all pass with one chance."""
    before = passes(rng, np.full(n, chance), k[0])
    after = passes(rng, np.full(n, chance - drop), k[1])
    (check,) = judged(benchmark(), before, after)
    return _ends_of(check.comparison.drop_low, check.comparison.drop_high)


def of_median_rise(rng: np.random.Generator, *, n: int) -> Ends:
    """The rise of a median of latencies that all take half as long again."""
    size = rng.lognormal(0, 1, (n, 1))
    before = size * rng.lognormal(0, 0.3, (n, 1))
    after = 1.5 * size * rng.lognormal(0, 0.3, (n, 1))
    asked = benchmark("median", baseline=BaselineSpec(direction="lower"))
    (check,) = judged(asked, before, after)
    return _ends_of(check.comparison.drop_low, check.comparison.drop_high)


def _ends_of(low: float | None, high: float | None) -> Ends:
    return None if low is None or high is None else (low, high)


def drop_intervals() -> Iterator[Cell]:
    """Intervals of a drop that lie above, or below, the true one."""
    worlds = [
        (50, (8, 1), 0.9, 0.0),
        (200, (8, 1), 0.95, 0.0),
        (50, (1, 8), 0.95, 0.0),
        (200, (8, 8), 0.99, 0.0),
        (20, (1, 1), 0.9, 0.0),
        (50, (4, 4), 0.9, 0.1),
        (200, (8, 1), 0.95, 0.05),
    ]
    for n, k, chance, drop in worlds:
        ends = partial(of_drop, n=n, k=k, chance=chance, drop=drop)
        row = f"{n} tasks, {k[0]} -> {k[1]}, p = {chance:g}, a drop of {drop:g}"
        yield from both_sides("drop_intervals", row, ends, drop, 1_000)
    for n in (50, 200):
        row = f"median, {n} x 1, 1.5 times"
        ends = partial(of_median_rise, n=n)
        yield from both_sides("drop_intervals", row, ends, 0.5, 200)


INTERVALS = (intervals, skewed_means, drop_intervals)
