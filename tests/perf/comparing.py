"""CPU time of one comparison of 1,000 tasks x 8 rollouts, from pairing to its checks.

python tests/perf/comparing.py [runs of each kind]

It prints the median of each kind of rewards and metric, and the median and the 95th
percentile of all, which are to stay below 30 ms. A metric without a vectorised form is
listed apart: its own code is called some 2,400 times.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from simulated import benchmark, passes, steady, table, whole_gate

from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.spec.gate_keys import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulated import Floats

TASKS = 1_000
ROLLOUTS = 8
LIMIT_MS = 30
DROPS = (0.0, 0.02, 0.05)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Rewards, and the metrics and the baseline that compare them."""

    name: str
    draw: Callable[..., tuple[Floats, Floats]]
    metrics: tuple[str, ...] = ("mean_reward",)
    direction: str | None = None
    rollouts: int = ROLLOUTS  # of each task of the run
    runs: int = 1  # of the baseline
    clusters: int = 0
    slices: int = 0


def rates(
    rng: np.random.Generator, drop: float, rollouts: int
) -> tuple[Floats, Floats]:
    before, after = steady(rng, TASKS, drop)
    return passes(rng, before, ROLLOUTS), passes(rng, after, rollouts)


def fifths(
    rng: np.random.Generator, drop: float, rollouts: int
) -> tuple[Floats, Floats]:
    before, after = steady(rng, TASKS, drop)
    return (
        rng.binomial(5, before[:, None], (TASKS, ROLLOUTS)) / 5,
        rng.binomial(5, after[:, None], (TASKS, rollouts)) / 5,
    )


def grades(
    rng: np.random.Generator, drop: float, rollouts: int
) -> tuple[Floats, Floats]:
    means = rng.normal(0, 1, (TASKS, 1))
    before = rng.normal(means, 0.5, (TASKS, ROLLOUTS))
    return before, rng.normal(means - drop, 0.5, (TASKS, rollouts))


def latencies(
    rng: np.random.Generator, drop: float, rollouts: int
) -> tuple[Floats, Floats]:
    sizes = rng.lognormal(1, 0.5, (TASKS, 1))
    before = sizes * rng.lognormal(0, 0.3, (TASKS, ROLLOUTS))
    return before, (1 + 4 * drop) * sizes * rng.lognormal(0, 0.3, (TASKS, rollouts))


KINDS = (
    Kind(name="rates", draw=rates),
    Kind(name="rates, 8 -> 4 rollouts", draw=rates, rollouts=4),
    Kind(name="rates, 8 -> 1 rollouts", draw=rates, rollouts=1),
    Kind(name="rates, 40 clusters", draw=rates, clusters=40),
    Kind(name="rates, 12 slices", draw=rates, slices=12),
    Kind(name="rates, 5 baseline runs", draw=rates, runs=5),
    Kind(name="pass@4", draw=rates, metrics=("pass@4",)),
    Kind(
        name="four metrics",
        draw=rates,
        metrics=("mean_reward", "pass@1", "pass@4", "pass^4"),
    ),
    Kind(name="worst task", draw=rates, metrics=("worst_task",)),
    Kind(name="scores in fifths", draw=fifths),
    Kind(name="median of fifths", draw=fifths, metrics=("median",)),
    Kind(name="median of grades", draw=grades, metrics=("median",)),
    Kind(name="grades", draw=grades, direction="higher"),
    Kind(name="latencies", draw=latencies, direction="lower"),
    Kind(name="p95 of latencies", draw=latencies, metrics=("p95",), direction="lower"),
)
OWN = Kind(
    name="an own metric",
    draw=rates,
    metrics=("harmonic_mean",),
    direction="higher",
)


def compare_once(kind: Kind, drop: float, seed: int) -> float:
    """Return the CPU milliseconds of one comparison."""
    rng = np.random.default_rng(seed)
    before, after = kind.draw(rng, drop, kind.rollouts)
    baseline = [before]
    for _ in range(kind.runs - 1):
        again, _ = kind.draw(rng, 0.0, kind.rollouts)
        baseline.append(again)
    labels = None
    if kind.clusters or kind.slices:
        labels = rng.integers(0, kind.clusters or kind.slices, TASKS)
    asked = benchmark(
        *kind.metrics,
        key_metrics=kind.metrics,
        baseline=BaselineSpec(direction=kind.direction),
        cluster="repo" if kind.clusters else None,
        breakdown=("repo",) if kind.slices else (),
    )
    run = table(after, labels)
    tables = [table(rewards, labels) for rewards in baseline]
    result = reduce_agent(plan(asked.spec), "agent", run)
    started = time.process_time()
    whole_gate(asked, tables, result, run)
    return 1000 * (time.process_time() - started)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    times = []
    for kind in KINDS:
        compare_once(kind, 0.0, runs)  # which imports what it needs
        of_kind = [
            compare_once(kind, drop, seed) for drop in DROPS for seed in range(runs)
        ]
        print(f"{kind.name:<24}{statistics.median(of_kind):7.1f} ms", flush=True)
        times += of_kind
    times.sort()
    high = times[int(0.95 * len(times))]
    print(
        f"all: median {statistics.median(times):.1f} ms, 95th percentile {high:.1f} ms "
        f"(limit {LIMIT_MS} ms)"
    )
    print(f"{OWN.name:<24}{compare_once(OWN, 0.02, 1):7.1f} ms")


if __name__ == "__main__":
    main()
