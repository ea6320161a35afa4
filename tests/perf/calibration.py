"""How often the regression gate is red without cause, and how often it finds a true drop.

Simulated benchmarks go through the gate itself, with the rule that a benchmark gets which
says `baseline: true`. Prints Markdown tables; exits with 1 where a limit does not hold.

    python tests/perf/calibration.py            # about six minutes on one core
    python tests/perf/calibration.py --jobs 2
    python tests/perf/calibration.py --quick    # a tenth of the runs, with limits to match
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.data import Category, PairedMetric, RolloutTable, TaskRewards
from pytest_evalmetrics.gates import Gated, check_regression
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.pipeline.judging import Judging, Reference
from pytest_evalmetrics.pipeline.rules import rule_of
from pytest_evalmetrics.results import Verdict
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec
from pytest_evalmetrics.spec.baseline import BaselineSpec
from pytest_evalmetrics.spec.rollouts import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Chances = Callable[[np.random.Generator, tuple[int, int], float], tuple[Floats, Floats]]

TASKS, SAMPLES, DROPS = (50, 200, 1000), (1, 4, 8), (0.0, 0.02, 0.05)
IDENTICAL = 1_000
NO_CHANGE_RUNS, DROP_RUNS = 10_000, 4_000
MOST_FAILS, MOST_WARNS = 1.5, 5.9  # per cent of runs in which nothing changed
# the power that the plain t test at .01 has for a drop of 5 points, and what may lack
POWER = {(50, 1): 5, (50, 4): 17, (200, 1): 18, (200, 4): 69, (1000, 1): 81, (1000, 4): 100}
SLACK = 2.0
CHUNK = 2_000_000  # rollouts simulated at once


def simulated(**keys: Any) -> Benchmark:
    """A benchmark that is gated against its baseline."""
    known = {"name": "simulated", "rollouts": RolloutsSpec(path=("runs.jsonl",))}
    spec = BenchmarkSpec(**(known | {"baseline": BaselineSpec()} | keys))
    return Benchmark(spec, Path("simulated.bench.yaml"), {})


RULE = rule_of(simulated(), "mean_reward", bounded=True)


def steady(rng: np.random.Generator, shape: tuple[int, int], drop: float) -> tuple[Floats, Floats]:
    """Each task has a chance to pass, most are near 0 or 1; a drop takes its share of each."""
    before = rng.beta(0.4, 0.4, shape)
    return before, before * (1 - 2 * drop)


def churn(rng: np.random.Generator, shape: tuple[int, int], drop: float) -> tuple[Floats, Floats]:
    """One task in five truly changes, for the better or the worse, besides the drop."""
    before, after = steady(rng, shape, drop)
    anew = rng.beta(0.4, 0.4, shape) * (1 - 2 * drop)
    return before, np.where(rng.random(shape) < 0.2, anew, after)


def sparse(
    rng: np.random.Generator, shape: tuple[int, int], drop: float, share: float
) -> tuple[Floats, Floats]:
    """A task passes always or never, but for a few that are coins; a drop breaks tasks."""
    before = (rng.random(shape) < 0.5).astype(np.float64)
    after = np.where(rng.random(shape) < 2 * drop, 0.0, before)
    coins = rng.random(shape) < share
    return np.where(coins, 0.5, before), np.where(coins, 0.5 - drop, after)


KINDS: dict[str, Chances] = {
    "steady": steady,
    "churn": churn,
    "sparse flips, 3 % coins": partial(sparse, share=0.03),
    "sparse flips, 10 % coins": partial(sparse, share=0.1),
}


@dataclass(frozen=True)
class Cell:
    """One kind of benchmark, and what came out, in per cent of runs."""

    kind: str
    tasks: int
    samples: int
    drop: float
    runs: int
    fails: float = math.nan
    warns: float = math.nan
    plain: float = math.nan


def measure(cell: Cell) -> Cell:
    """Run one cell: the gate, and the plain paired t test at .01 on the same rewards."""
    place = list(KINDS).index(cell.kind)
    rng = np.random.default_rng([place, cell.tasks, cell.samples, round(1000 * cell.drop)])
    quantile = stats.t_ppf(0.99, cell.tasks - 1)
    fails = warns = plain = 0
    for before, after in passes(cell, rng):
        damage = (before - after) / cell.samples
        mean, se = damage.mean(axis=1), damage.std(axis=1, ddof=1) / math.sqrt(cell.tasks)
        plain += int((mean > quantile * se).sum())
        for one, other in zip(before, after, strict=True):
            (check,) = check_regression([Gated(paired(one, other, cell.samples), RULE)])
            fails += check.verdict is Verdict.FAIL
            warns += check.verdict in (Verdict.FAIL, Verdict.WARN)
    fails, warns, plain = (100 * count / cell.runs for count in (fails, warns, plain))
    return Cell(cell.kind, cell.tasks, cell.samples, cell.drop, cell.runs, fails, warns, plain)


def passes(cell: Cell, rng: np.random.Generator) -> Iterator[tuple[NDArray, NDArray]]:
    """Simulate how often each task passes on each side, some runs at a time."""
    rows = max(1, CHUNK // (cell.tasks * cell.samples))
    for start in range(0, cell.runs, rows):
        shape = min(rows, cell.runs - start), cell.tasks
        before, after = KINDS[cell.kind](rng, shape, cell.drop)
        yield rng.binomial(cell.samples, before), rng.binomial(cell.samples, after)


def paired(before: NDArray, after: NDArray, samples: int) -> PairedMetric:
    """Pair the mean rewards of two runs."""
    offsets = np.arange(len(before) + 1) * samples

    def rewards(count: NDArray) -> TaskRewards:
        return TaskRewards((np.arange(samples) < count[:, None]).astype(float).ravel(), offsets)

    means = before / samples, after / samples
    return PairedMetric(
        name="mean_reward",
        tasks=tuple(range(len(before))),
        baseline=means[0],
        current=means[1],
        value_baseline=float(means[0].mean()),
        value_current=float(means[1].mean()),
        rewards_baseline=rewards(before),
        rewards_current=rewards(after),
        bounded=True,
    )


def table(cells: list[Cell], drop: float) -> Iterator[str]:
    """Write the cells of one drop: per kind what fails, what warns too, and the plain t."""
    pairs = list(product(TASKS, SAMPLES))
    yield "| tasks / rollouts | " + " | ".join(f"{n}/{k}" for n, k in pairs) + " |"
    yield "|---|" + "---:|" * len(pairs)
    for kind in KINDS:
        found = {(c.tasks, c.samples): c for c in cells if (c.kind, c.drop) == (kind, drop)}
        for name, value in (("fails", "fails"), ("warns or fails", "warns"), ("plain t", "plain")):
            figures = (f"{getattr(found[pair], value):.1f}" for pair in pairs)
            yield f"| {kind}: {name} | " + " | ".join(figures) + " |"


def broken(cells: list[Cell]) -> Iterator[str]:
    """Say which limits do not hold; with few runs three standard errors are allowed for."""
    for c in cells:
        where = f"{c.kind}, {c.tasks}/{c.samples}"
        if c.drop == 0:
            for what, found, most in (("fail", c.fails, MOST_FAILS), ("warn", c.warns, MOST_WARNS)):
                few = c.runs < NO_CHANGE_RUNS
                slack = 300 * math.sqrt(most / 100 * (1 - most / 100) / c.runs) if few else 0.0
                if found > most + slack:
                    yield f"{where}: {found:.2f} % {what} without a change, {most} % are allowed"
        power = POWER.get((c.tasks, c.samples))
        if c.kind == "steady" and c.drop == max(DROPS) and power is not None:
            slack = SLACK if c.runs >= DROP_RUNS else SLACK + 300 * math.sqrt(0.25 / c.runs)
            if c.fails < power - slack:
                yield f"{where}: {c.fails:.1f} % of drops found, where the t test finds {power} %"


def identical(runs: int) -> int:
    """Compare random benchmarks with themselves, from tables to verdicts; count what is red."""
    rng = np.random.default_rng(0)
    names = ["mean_reward", "pass_rate", "pass@1", "median", "worst_task", "mean/tokens"]
    rules = ("practical", "statistical", "exact", "relative", "absolute")
    red = 0
    for _ in range(runs):
        n, counts = int(rng.integers(1, 300)), int(rng.integers(1, 9))
        counts = rng.integers(1, counts + 1, n) if rng.random() < 0.3 else np.full(n, counts)
        rewards = rng.random(counts.sum())
        rewards = (rewards < 0.7).astype(float) if rng.random() < 0.5 else rewards
        clusters = np.repeat(rng.integers(0, 20, n), counts).astype(np.int32)
        table = RolloutTable(
            agents=("agent",),
            agent=np.zeros(len(rewards), dtype=np.int32),
            tasks=tuple(range(n)),
            task=np.repeat(np.arange(n), counts),
            sample=np.zeros(len(rewards), dtype=np.int64),
            scores={"reward": rewards, "tokens": rng.integers(1, 999, len(rewards)).astype(float)},
            categories={"repo": Category(clusters, tuple(map(str, range(20))))},
        )
        benchmark = simulated(
            metrics=tuple(names),
            cluster="repo" if rng.random() < 0.3 else None,
            baseline=BaselineSpec(rule=str(rng.choice(rules)), max_drop=0.01),
        )
        made = plan(benchmark.spec)
        expected = np.diff(table.offsets)
        text = replace(table, tasks=tuple(map(str, table.tasks)), categories={})
        judging = Judging(benchmark, made, Reference({"agent": text}))
        judging.add(reduce_agent(made, "agent", table), table, agent="", expected=expected)
        red += any(check.verdict is not Verdict.PASS for check in judging.checks())
    return red


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args()
    part = 10 if asked.quick else 1
    cells = [
        Cell(kind, n, k, drop, (DROP_RUNS if drop else NO_CHANGE_RUNS) // part)
        for drop, kind, n, k in product(DROPS, KINDS, TASKS, SAMPLES)
    ]
    started = time.perf_counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(measure, cells))
    took = time.perf_counter() - started
    for drop in DROPS:
        what = f"A true drop of {100 * drop:.0f} points" if drop else "No change"
        runs = (DROP_RUNS if drop else NO_CHANGE_RUNS) // part
        print(f"### {what}: share of {runs:,} runs, in %\n")
        print("\n".join(table(found, drop)), end="\n\n")
    steadies = {(c.tasks, c.samples): c for c in found if (c.kind, c.drop) == ("steady", 0.05)}
    print("### A drop of 5 points against the t test's power that is to be reached\n")
    print("| tasks / rollouts | " + " | ".join(f"{n}/{k}" for n, k in POWER) + " |")
    print("|---|" + "---:|" * len(POWER))
    print("| to be reached | " + " | ".join(str(p) for p in POWER.values()) + " |")
    for name, value in (("plain t here", "plain"), ("the gate", "fails")):
        print(f"| {name} | " + " | ".join(f"{getattr(steadies[p], value):.1f}" for p in POWER), "|")
    red = identical(IDENTICAL // part)
    print(f"\n{IDENTICAL // part:,} benchmarks against themselves: {red} not PASS")
    print(f"{sum(c.runs for c in found):,} runs of the gate in {took:.0f} s")
    problems = list(broken(found)) + [f"{red} benchmarks are red against themselves"] * bool(red)
    print("\n".join(problems) or "every limit holds")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
