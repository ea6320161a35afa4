"""Worlds whose runs differ by a factor, as latencies do: cells of calibration.py's tables."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from simulated import GUARDS, MOST_FAILS, Cell, benchmark, table, whole_gate

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.spec.gate_keys import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from simulated import Floats

    from pytest_evalmetrics.ext import Check

SIZES = ((70, 4), (200, 1))
RUNS = (2, 3, 5, 10)
LOG_SDS = (0.0, 0.1, 0.3)
POWER = (75.0, 85.0)  # per cent that find the stated drop
WITHIN = 0.5  # log standard deviation of the rollouts of a task


class Latencies:
    """The tasks of a benchmark, whose runs are slower or faster as a whole."""

    def __init__(
        self, rng: np.random.Generator, size: tuple[int, int], log_sd: float
    ) -> None:
        self.rng = rng
        self.of_tasks = rng.lognormal(0, 0.7, size[0])[:, None]
        self.size = size
        self.log_sd = log_sd

    def run(self, times: float = 1.0) -> Floats:
        """Draw a run that is slower by a factor."""
        of_run = self.rng.normal(0, self.log_sd)
        return times * self.of_tasks * self.rng.lognormal(of_run, WITHIN, self.size)


def _checks(
    before: list[Floats], now: Floats, *, metric: str, run_noise: float | None
) -> list[Check]:
    asked = benchmark(
        metric, baseline=BaselineSpec(direction="lower", run_noise=run_noise)
    )
    run = table(now)
    result = reduce_agent(plan(asked.spec), "agent", run)
    return whole_gate(asked, [table(each) for each in before], result, run)


def unchanged_fails(
    rng: np.random.Generator,
    *,
    size: tuple[int, int],
    m: int,
    log_sd: float,
    metric: str = "mean_reward",
    declared: bool = False,
) -> bool:
    """Whether a run fails that is as slow as the baseline's."""
    latencies = Latencies(rng, size, log_sd)
    before = [latencies.run() for _ in range(m)]
    run_noise = log_sd if declared else None
    checks = _checks(before, latencies.run(), metric=metric, run_noise=run_noise)
    return any(check.verdict is Verdict.FAIL for check in checks)


def finds_stated(
    rng: np.random.Generator,
    *,
    size: tuple[int, int],
    m: int,
    log_sd: float,
    metric: str = "mean_reward",
    declared: bool = False,
) -> float:
    """Whether a rise as large as was stated is found; NaN where none was."""
    latencies = Latencies(rng, size, log_sd)
    before = [latencies.run() for _ in range(m)]
    run_noise = log_sd if declared else None

    def check_of(now: Floats) -> Check:
        checks = _checks(before, now, metric=metric, run_noise=run_noise)
        return next(check for check in checks if check.name not in GUARDS)

    facts = check_of(latencies.run()).comparison
    if facts is None or facts.detectable_drop is None or facts.baseline is None:
        return math.nan
    times = 1 + facts.detectable_drop / facts.baseline
    return check_of(latencies.run(times)).verdict is Verdict.FAIL


def factors() -> Iterator[Cell]:
    """Runs that differ by a factor: no change, and a rise of the size that is stated."""
    for size, m, log_sd in product(SIZES, RUNS, LOG_SDS):
        row = f"{size[0]} x {size[1]}, {m} runs, log sd {log_sd:g}"
        world = {"size": size, "m": m, "log_sd": log_sd}
        none = partial(unchanged_fails, **world)
        yield Cell("factors", row, "no change", none, 1_000, (0.0, MOST_FAILS))
        rise = partial(finds_stated, **world)
        yield Cell("factors", row, "stated rise", rise, 600, POWER)
