"""How often the regression gate is red without cause, and how often it finds a true drop.

Simulated runs go from tables of rollouts through the pipeline to verdicts, with the rule that
a benchmark gets which says `baseline: true`. Prints the tables of docs/calibration.md; exits
with 1 where a limit does not hold.

    python tests/perf/calibration.py --jobs 2           # some hours; --scale 0.1 a tenth
    python tests/perf/calibration.py --jobs 2 --quick   # half a minute, with limits to match
    python tests/perf/calibration.py --only unequal     # one table
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measuring import table as table_of
from msgspec import structs
from pydantic import TypeAdapter
from random_worlds import random
from scipy.stats import binom
from simulated import (
    GUARDS,
    MOST_FAILS,
    Cell,
    alike,
    benchmark,
    churn,
    coins,
    compared,
    judged,
    measure,
    passes,
    steady,
    table,
    whole_gate,
)
from worlds_of_comparisons import COMPARISONS, many
from worlds_of_factors import factors
from worlds_of_history import history
from worlds_of_intervals import INTERVALS, intervals
from worlds_of_losses import losses, ragged
from worlds_of_more import more
from worlds_of_verdicts import verdicts

from pytest_evalmetrics.ext import BenchmarkSpec, Verdict
from pytest_evalmetrics.gates.sequential import Look, looks_between
from pytest_evalmetrics.metrics import SampleSource, plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.pipeline.power import power_of_tables
from pytest_evalmetrics.pipeline.references import pool
from pytest_evalmetrics.spec import Benchmark
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, ExpectSpec
from pytest_evalmetrics.stats.drift import last_shift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.ext import Check, RolloutTable
    from pytest_evalmetrics.model.results import Power

    Floats = NDArray[np.float64]

POWER = 80.0, 5.0  # per cent at the stated drop, and how far off it may be
# power of the plain t test at .01 for a drop of 5 points
FOUND = {
    (50, 1): 5,
    (50, 4): 17,
    (200, 1): 18,
    (200, 4): 69,
    (1000, 1): 81,
    (1000, 4): 100,
}
LAYOUTS = {
    "231, 75, 44, ... 1": (231, 75, 44, 34, 32, 22, 22, 19, 10, 8, 2, 1),
    "100 and ten of 10": (100, *[10] * 10),
    "12 x 42": (42,) * 12,
    "20 x 10": (10,) * 20,
    "5 x 10": (10,) * 5,
    "200, 100, 66, ... 6": tuple(200 // i for i in range(1, 31)),
}


def red(
    rng: np.random.Generator, *, world: Any, n: int, k: tuple[int, int], drop: float
) -> bool:
    """Whether a run fails against its baseline."""
    one, other = world(rng, n, drop)
    (check,) = judged(benchmark(), passes(rng, one, k[0]), passes(rng, other, k[1]))
    return check.verdict is Verdict.FAIL


def unequal() -> Iterator[Cell]:
    """No change, unequal numbers of rollouts."""
    worlds = {
        f"p = {p}": partial(alike, chance=p) for p in (0.02, 0.05, 0.3, 0.95, 0.98)
    }
    for n, k in product(
        (5, 10, 50, 200, 1000), ((8, 1), (16, 1), (1, 8), (1, 4), (8, 4), (3, 2))
    ):
        for name, world in (worlds | {"Beta(.4, .4)": steady}).items():
            run = partial(red, world=world, n=n, k=k, drop=0.0)
            runs = 2_000 if n < 1000 else 1_000
            row = f"{n} tasks, {k[0]} -> {k[1]}"
            yield Cell("unequal", row, name, run, runs, (0.0, MOST_FAILS))


def equal() -> Iterator[Cell]:
    """Equal numbers of rollouts: no change, and a drop of 5 points."""
    for n, k in product((50, 200, 1000), (1, 4, 8)):
        for name, world in {
            "steady": steady,
            "churn": churn,
            "10 % coins": coins,
        }.items():
            none = partial(red, world=world, n=n, k=(k, k), drop=0.0)
            row = f"{n} tasks x {k}"
            yield Cell(
                "equal", row, f"{name}: no change", none, 2_000, (0.0, MOST_FAILS)
            )
        drop = partial(red, world=steady, n=n, k=(k, k), drop=0.05)
        least = FOUND.get((n, k), 0) - 2.0
        yield Cell("equal", row, "steady: 5 points", drop, 2_000, (least, 100.0))


def of_metric(
    rng: np.random.Generator, *, metric: str, n: int, k: int, kind: str = "passes"
) -> bool:
    """Whether an unchanged benchmark of such a metric fails."""
    if kind == "passes":
        chance = rng.beta(2, 2, n)
        sides = [passes(rng, chance, k) for _ in range(2)]
    elif kind == "near-binary":
        sides = [
            (rng.random((n, k)) < 0.7) + 0.01 * rng.random((n, k)) for _ in range(2)
        ]
    else:
        skill = rng.random((n, 1))
        sides = [skill + rng.normal(0, 0.3, (n, k)) for _ in range(2)]
    (check,) = judged(benchmark(metric), *sides)
    return check.verdict is Verdict.FAIL


def metrics() -> Iterator[Cell]:
    """No change, metrics that are no mean, from two tasks on."""
    for n in (2, 3, 4, 5, 6, 8, 10, 20, 30, 50):
        for metric in ("harmonic_mean", "median", "own_mean", "worst_task", "pass^4"):
            run = partial(of_metric, metric=metric, n=n, k=4)
            runs = 2_000 if n < 20 else 600
            yield Cell(
                "metrics", f"{n} tasks x 4", metric, run, runs, (0.0, MOST_FAILS)
            )
        for kind in ("near-binary", "normal"):
            run = partial(of_metric, metric="mean_reward", n=n, k=1, kind=kind)
            cell = f"mean_reward, {kind}, x 1"
            yield Cell("metrics", f"{n} tasks x 4", cell, run, 2_000, (0.0, MOST_FAILS))


def clustered(rng: np.random.Generator, *, sizes: Sequence[int], shock: float) -> bool:
    """Whether a run fails in which each cluster's chances moved together, for better or worse."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.clip(rng.beta(0.4, 0.4, len(codes)), 1e-9, 1 - 1e-9)
    logit = np.log(chance / (1 - chance)) + rng.normal(0, shock, len(sizes))[codes]
    sides = passes(rng, chance, 4), passes(rng, 1 / (1 + np.exp(-logit)), 4)
    (check,) = judged(benchmark(cluster="repo"), *sides, codes)
    return check.verdict is Verdict.FAIL


def clusters() -> Iterator[Cell]:
    """Clusters that are few or of unequal size, with a shock of their own."""
    for (name, sizes), shock in product(LAYOUTS.items(), (0.0, 0.5, 1.0)):
        run = partial(clustered, sizes=sizes, shock=shock)
        yield Cell("clusters", name, f"shock {shock:g}", run, 1_500, (0.0, MOST_FAILS))


POWERED: dict[str, tuple[Any, int, int, str]] = {
    "200 x 4": (steady, 200, 4, "mean_reward"),
    "50 x 8": (steady, 50, 8, "mean_reward"),
    "200 x 1": (steady, 200, 1, "mean_reward"),
    "20 x 4": (steady, 20, 4, "mean_reward"),
    "100 x 2, p = .95": (partial(alike, chance=0.95), 100, 2, "mean_reward"),
    "200 x 8, pass^4": (steady, 200, 8, "pass^4"),
    "200 x 1, 10 % coins": (coins, 200, 1, "mean_reward"),
    "1000 x 1": (steady, 1000, 1, "mean_reward"),
    "30 x 1, normal": (None, 30, 1, "mean_reward"),
}


def at_stated_drop(
    rng: np.random.Generator, *, world: str, planned: bool, memory: dict[float, float]
) -> float:
    """Whether a true drop of the size that was stated before is found; NaN where none was."""
    kind, n, k, metric = POWERED[world]
    asked = benchmark(metric)
    if kind is None:
        skill = rng.random((n, 1))
        sides = [skill + rng.normal(0, 0.1, (n, k)) for _ in range(4)]
    else:
        one, _ = kind(rng, n, 0.0)
        sides = [passes(rng, one, k) for _ in range(2)]
    if planned:
        (power,) = power_of_tables(asked, {"agent": table(sides[0])})
        stated = _stated_by(power)
    else:
        (check,) = judged(asked, sides[0], sides[1])
        stated = check.comparison.detectable_drop
    if stated is None or math.isnan(stated):
        return math.nan
    if kind is None:
        (check,) = judged(asked, sides[2], sides[3] - stated)
        return check.verdict is Verdict.FAIL
    key = round(float(stated), 3)
    if (
        key not in memory
    ):  # what this world has to lose for the metric to fall that much
        memory[key] = _loss(kind, metric, key)
    state = rng.bit_generator.state  # the same tasks, with and without the drop
    one, other = kind(
        np.random.default_rng(state["state"]["state"] % 2**32), n, memory[key]
    )
    (check,) = judged(asked, passes(rng, one, k), passes(rng, other, k))
    return check.verdict is Verdict.FAIL


def _stated_by(power: Power) -> float:
    """Return the drop that a plan states; NaN for an upper limit, which is found more often."""
    return math.nan if power.is_worst else power.mde


@dataclass(frozen=True)
class Stated:
    """A world whose gate states a drop that is then made to happen."""

    sides: Callable[[np.random.Generator], Sides]
    asked: Benchmark
    benchmarks: int = 1
    runs: int = 2_000


@dataclass(frozen=True)
class Sides:
    """A baseline, an unchanged run, and how a run is drawn that lost so much."""

    before: tuple[RolloutTable, ...]
    unchanged: RolloutTable
    dropped: Callable[[float], RolloutTable]


def rates(
    rng: np.random.Generator, *, n: int, k: int, m: int = 1, sd: float = 0.0
) -> Sides:
    """Passes of steady tasks; each of m runs shifts as a whole."""
    skill = rng.beta(0.4, 0.4, n)
    skill = 0.1 + 0.8 * skill if sd else skill

    def drawn(share: float = 0.0) -> RolloutTable:
        chance = np.clip(skill * (1 - share) + rng.normal(0, sd), 0, 1)
        return table(passes(rng, chance, k))

    return Sides(
        before=tuple(drawn() for _ in range(m)),
        unchanged=drawn(),
        dropped=lambda drop: drawn(min(drop / float(skill.mean()), 1.0)),
    )


def scores(rng: np.random.Generator, *, count: int) -> Sides:
    """Several scores of 200 tasks x 4, of which the first alone drops."""
    skills = [rng.beta(0.4, 0.4, 200) for _ in range(count)]

    def drawn(share: float = 0.0) -> RolloutTable:
        columns = {}
        for place, skill in enumerate(skills):
            chance = skill * (1 - share) if place == 0 else skill
            columns[f"s{place}"] = passes(rng, chance, 4).ravel()
        return table_of(columns, 4)

    mean = float(skills[0].mean())
    return Sides(
        before=(drawn(),),
        unchanged=drawn(),
        dropped=lambda drop: drawn(min(drop / mean, 1.0)),
    )


def latencies(rng: np.random.Generator, *, n: int, within: float) -> Sides:
    """Latencies of one rollout a task, which grow in proportion."""
    size = rng.lognormal(0, 0.7, n)

    def drawn(share: float = 0.0) -> RolloutTable:
        spread = rng.lognormal(-(within**2) / 2, within, n)
        return table((size * (1 + share) * spread)[:, None])

    mean = float(size.mean())
    return Sides(
        before=(drawn(),), unchanged=drawn(), dropped=lambda drop: drawn(drop / mean)
    )


def stated_worlds() -> dict[str, Stated]:
    """The worlds beyond those of one small benchmark by itself."""
    one = benchmark()
    lower = benchmark(baseline=BaselineSpec(direction="lower"))
    many = partial(rates, n=200, k=4)
    worlds = {
        "1 of 20 benchmarks, 200 x 4": Stated(many, one, benchmarks=20),
        "1 of 100 benchmarks, 200 x 4": Stated(many, one, benchmarks=100),
        "below max_drop, 10,000 x 4": Stated(partial(rates, n=10_000, k=4), one),
        "below max_drop, 14,000 x 1": Stated(partial(rates, n=14_000, k=1), one),
        "latency, 200 x 1": Stated(partial(latencies, n=200, within=0.3), lower),
        "latency, 50 x 1": Stated(partial(latencies, n=50, within=0.3), lower),
        "latency, lognormal 1, 200 x 1": Stated(
            partial(latencies, n=200, within=1.0), lower
        ),
    }
    for count in (3, 10):
        names = tuple(f"mean/s{place}" for place in range(count))
        sides = partial(scores, count=count)
        worlds[f"1 of {count} metrics, 200 x 4"] = Stated(
            sides, benchmark(*names, reward="s0")
        )
    for m in (2, 5, 10):
        sides = partial(rates, n=200, k=4, m=m, sd=0.02)
        worlds[f"{m} runs, sd 2 points, 200 x 4"] = Stated(sides, one)
    return worlds


def finds_stated(rng: np.random.Generator, *, world: str, planned: bool) -> float:
    """Whether a drop of the size that was stated before is found; NaN where none was."""
    given = stated_worlds()[world]
    sides = given.sides(rng)

    def first_check(run: RolloutTable) -> Check:
        result = reduce_agent(plan(given.asked.spec), "agent", run)
        checks = whole_gate(
            given.asked, sides.before, result, run, benchmarks=given.benchmarks
        )
        return next(check for check in checks if check.name not in GUARDS)

    if planned:
        powers = power_of_tables(
            given.asked,
            {"agent": pool(sides.before)},
            recorded={"agent": sides.before},
            benchmarks=given.benchmarks,
        )
        stated = _stated_by(next(iter(powers)))
    else:
        stated = first_check(sides.unchanged).comparison.detectable_drop
    if stated is None or math.isnan(stated):
        return math.nan
    return first_check(sides.dropped(float(stated))).verdict is Verdict.FAIL


def bisected(too_low: Callable[[float], bool], high: float, steps: int) -> float:
    """Find where something is no longer too low."""
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return low


def _loss(kind: Any, metric: str, drop: float) -> float:
    power = 4 if metric == "pass^4" else 1

    def fall(middle: float) -> float:
        one, other = kind(np.random.default_rng(0), 100_000, middle)
        return float((one**power - np.clip(other, 0, 1) ** power).mean())

    return bisected(lambda middle: fall(middle) < drop, 0.5, 20)


def power() -> Iterator[Cell]:
    """The chance to find a drop of the size that was said to be found in 80 %."""
    for world, planned in product(POWERED, (False, True)):
        memory: dict[float, float] = {}
        run = partial(at_stated_drop, world=world, planned=planned, memory=memory)
        limits = POWER[0] - POWER[1], POWER[0] + POWER[1]
        yield Cell("power", world, "plan" if planned else "gate", run, 2_000, limits)
    for world, given in stated_worlds().items():
        for planned in (False, True):
            run = partial(finds_stated, world=world, planned=planned)
            column = "plan" if planned else "gate"
            yield Cell("power", world, column, run, given.runs, limits)


def named(rng: np.random.Generator, *, names: tuple[str, ...], drop: float) -> bool:
    """Whether any of several metrics fails, 200 tasks x 4."""
    one, other = steady(rng, 200, drop)
    checks = judged(benchmark(*names), passes(rng, one, 4), passes(rng, other, 4))
    return any(check.verdict is Verdict.FAIL for check in checks)


def family() -> Iterator[Cell]:
    """Several metrics in one benchmark."""
    alone = ("mean_reward",)
    four = ("mean_reward", "pass@1", "pass_rate", "mean/reward")
    other = ("mean_reward", "pass@4", "pass^4", "median")
    for names, drop in product((alone, four, other), (0.0, 0.05)):
        run = partial(named, names=names, drop=drop)
        limits = (
            (67.0, 100.0)
            if drop and names != other
            else (0.0, 100.0 if drop else MOST_FAILS)
        )
        column = "5 points" if drop else "no change"
        yield Cell("family", ", ".join(names), column, run, 2_000, limits)


def of_runs(
    rng: np.random.Generator, *, size: tuple[int, int], m: int, sd: float, drop: float
) -> bool:
    """Whether a run fails against m earlier ones, each of which shifted as a whole."""
    n, k = size
    skill = rng.beta(0.4, 0.4, n)
    skill = 0.1 + 0.8 * skill if sd else skill  # room to shift
    shifts = rng.normal(0, sd, m + 1)
    shifts[m] -= drop
    chances = [np.clip(skill + s, 0, 1) if sd else skill * (1 + 2 * s) for s in shifts]
    *before, after = (passes(rng, chance, k) for chance in chances)
    (check,) = judged(benchmark(), before, after)
    return check.verdict is Verdict.FAIL


def of_shifted_runs(
    rng: np.random.Generator, *, size: tuple[int, int], m: int, kind: str
) -> bool:
    """Whether a run fails against m earlier ones, all shifted otherwise than by points."""
    n, k = size
    if kind == "logit .3":
        skill = np.clip(rng.beta(0.4, 0.4, n), 1e-9, 1 - 1e-9)
        logits = np.log(skill / (1 - skill)) + rng.normal(0, 0.3, (m + 1, 1))
        *before, after = (passes(rng, 1 / (1 + np.exp(-row)), k) for row in logits)
        (check,) = judged(benchmark(), before, after)
        return check.verdict is Verdict.FAIL
    within = 0.3 if kind == "tokens, sd 3 %" else 0.8
    of_runs = 0.03 if kind == "tokens, sd 3 %" else 0.1
    size_of_task = rng.lognormal(6, 0.7, (n, 1))
    *before, after = (
        size_of_task * rng.lognormal(shift, within, (n, k))
        for shift in rng.normal(0, of_runs, m + 1)
    )
    asked = benchmark(baseline=BaselineSpec(direction="lower"))
    (check,) = judged(asked, before, after)
    return check.verdict is Verdict.FAIL


def runs() -> Iterator[Cell]:
    """Noise between runs: no change, and a drop of 5 points, with baselines of several runs."""
    sizes = ((200, 4), (1319, 1), (1319, 4))
    for size, m in product(sizes, (1, 2, 3, 4, 5, 6, 8, 10)):
        row = f"{size[0]:,} x {size[1]}, {m} run{'s' if m > 1 else ''}"
        for sd in (0.0, 0.005, 0.01, 0.02):
            none = partial(of_runs, size=size, m=m, sd=sd, drop=0.0)
            most = 100.0 if sd and m == 1 else MOST_FAILS
            yield Cell(
                "runs", row, f"no change, sd {100 * sd:g}", none, 1_000, (0.0, most)
            )
        for kind in ("logit .3", "tokens, sd 3 %", "latency, sd 10 %"):
            none = partial(of_shifted_runs, size=size, m=m, kind=kind)
            most = 100.0 if m == 1 else MOST_FAILS
            yield Cell("runs", row, f"no change, {kind}", none, 1_000, (0.0, most))
        if size == (200, 4):
            least = {1: 67.0, 5: 25.0, 8: 60.0, 10: 70.0}.get(m, 0.0)
            run = partial(of_runs, size=size, m=m, sd=0.0, drop=0.05)
            yield Cell("runs", row, "5 points", run, 1_000, (least, 100.0))


KEYS: dict[str, dict[str, str | int]] = {
    "macro F1": {
        "type": "f1",
        "gold": "gold",
        "predicted": "answer",
        "average": "macro",
    },
    "ndcg@5": {"type": "ndcg_at_k", "relevance": "gain", "score": "score", "k": 5},
}


def rows(
    rng: np.random.Generator, skill: Floats, k: int, metric: str, loss: float
) -> RolloutTable:
    """Rollouts of one run with k of each task: latencies, labels, or documents of queries."""
    n = len(skill)
    rollouts = table(np.ones((n, k)))
    if metric == "p95":
        values = rng.gamma(2, 0.5 + skill[:, None], (n, k)) * (1 + loss)
        return structs.replace(rollouts, scores={"reward": values.ravel()})
    if metric == "ndcg@5":
        gain = np.random.default_rng(n).integers(0, 3, (n, k)).astype(float)
        gain[:, 0] = 2.0
        score = gain * (0.5 + skill[:, None]) * (1 - loss) + rng.normal(0, 1, (n, k))
        return structs.replace(
            rollouts, scores={"gain": gain.ravel(), "score": score.ravel()}
        )
    gold = np.repeat(np.random.default_rng(n).choice(4, n, p=[0.5, 0.25, 0.15, 0.1]), k)
    right = rng.random((n, k)) < (0.4 + 0.6 * skill[:, None]) * (1 - loss)
    answer = np.where(right.ravel(), gold, rng.integers(0, 4, n * k))
    labels = tuple("abcd")
    columns = {"gold": gold, "answer": answer}
    categories = {c: Category(v.astype(np.int32), labels) for c, v in columns.items()}
    return structs.replace(rollouts, scores={}, categories=categories)


def of_rows(
    rng: np.random.Generator,
    *,
    metric: str,
    n: int,
    k: int,
    memory: dict[float, float] | None,
) -> float:
    """Whether a run over rows fails: unchanged, or after the drop that was stated before."""
    if metric == "p95":
        asked = benchmark("p95", baseline=BaselineSpec(direction="lower"))
    else:
        text = json.dumps(
            {"name": "b", "rollouts": "r", "metrics": [{"it": KEYS[metric]}]}
        )
        spec = TypeAdapter(BenchmarkSpec).validate_json(text)
        asked = Benchmark(
            replace(spec, baseline=BaselineSpec()), Path("b.bench.yaml"), {}
        )
    skill = rng.beta(0.8, 0.8, n)
    before, after = (rows(rng, skill, k, metric, 0.0) for _ in range(2))
    (check,) = compared(asked, [before], after)
    if memory is None:
        return check.verdict is Verdict.FAIL
    stated = check.comparison.detectable_drop
    if stated is None:
        return math.nan
    key = round(float(stated), 2 if metric == "p95" else 3)
    if key not in memory:
        memory[key] = _row_loss(asked, metric, k, key)
    (check,) = compared(asked, [before], rows(rng, skill, k, metric, memory[key]))
    return check.verdict is Verdict.FAIL


def _row_loss(asked: Benchmark, metric: str, k: int, drop: float) -> float:
    skill = np.random.default_rng(0).beta(0.8, 0.8, 20_000)
    metric_of = plan(asked.spec).names.bind(asked.spec.metrics[0])

    def value(loss: float) -> float:
        run = rows(np.random.default_rng(1), skill, k, metric, loss)
        return metric_of.value(SampleSource(run, "reward").sample(metric_of).rewards)

    whole = value(0.0)
    return bisected(lambda middle: abs(value(middle) - whole) < drop, 1.0, 12)


def over_rows() -> Iterator[Cell]:
    """Metrics over rows: no change, and a drop of the size that was said to be found in 80 %."""
    sizes = {
        "p95": ((50, 1), (200, 1), (100, 4)),
        "macro F1": ((50, 1), (200, 1), (100, 4)),
    }
    for metric, cells in {**sizes, "ndcg@5": ((20, 10), (50, 10), (200, 10))}.items():
        for n, k in cells:
            row = f"{metric}, {n} tasks x {k}"
            none = partial(of_rows, metric=metric, n=n, k=k, memory=None)
            yield Cell("over_rows", row, "no change", none, 2_000, (0.0, MOST_FAILS))
            memory: dict[float, float] = {}
            drop = partial(of_rows, metric=metric, n=n, k=k, memory=memory)
            limits = (
                60.0 if metric == "ndcg@5" else 70.0,
                90.0,
            )  # of queries each loses its own
            yield Cell("over_rows", row, "stated drop", drop, 600, limits)


def in_rounds(
    rng: np.random.Generator, *, n: int, k: tuple[int, int], drop: float, what: str
) -> float:
    """Whether a run that may stop early fails, what that adds to a whole one, or what it saves."""
    one, other = steady(rng, n, drop)
    before, after = passes(rng, one, k[0]), passes(rng, other, k[1])
    looks = looks_between(max(k[1] // 4, 1), k[1])
    for at, taken in enumerate(looks):
        run = table(after[:, :taken])
        (check,) = compared(benchmark(), [table(before)], run, Look(looks, at))
        if check.look.settled:
            break
    if what == "saved":
        return 1 - taken / k[1]
    fails = check.verdict is Verdict.FAIL
    if what == "fails":
        return fails
    (whole,) = judged(benchmark(), before, after)
    return (whole.verdict is Verdict.FAIL) - fails


def early() -> Iterator[Cell]:
    """Runs that stop as soon as the gate is sure, in rounds of a quarter of the rollouts."""
    sizes = {
        (200, 8, 8): (50, 35, 65),
        (50, 8, 8): (45, 0, 0),
        (1000, 8, 8): (45, 60, 60),
    }
    for (n, *k), saved in (sizes | {(200, 4, 8): (45, 30, 60)}).items():
        for drop, least in zip((0.0, 0.05, 0.1), saved, strict=True):
            change = f"{100 * drop:g} points" if drop else "no change"
            row = f"{n:,} tasks, {k[0]} -> {k[1]}, {change}"
            for what, limits in {
                "fails": (0.0, 100.0 if drop else MOST_FAILS),
                "lost": (-100.0, 5.0),
                "saved": (least, 100.0),
            }.items():
                run = partial(in_rounds, n=n, k=(k[0], k[1]), drop=drop, what=what)
                yield Cell("early", row, what, run, 1_000 if n < 1000 else 300, limits)


def shifted(
    rng: np.random.Generator, *, m: int, sd: float, located: bool = False
) -> float:
    """Whether a shift after m unchanged runs is found within ten; NaN after a false alarm."""
    values = rng.normal(size=m + (10 if sd else 0))
    values[m:] -= sd
    if sd and last_shift(values[:m].tolist()) is not None:
        return math.nan
    shift = last_shift(values.tolist())
    if not located:
        return shift is not None
    return math.nan if shift is None else shift.first <= m <= shift.last


def of_autoregression(rng: np.random.Generator, *, r: float, only_sure: bool) -> bool:
    """Whether 30 runs of a first-order autoregression ever show a shift."""
    values = rng.normal(size=30) * math.sqrt(1 - r * r)
    values[0] /= math.sqrt(1 - r * r)
    for place in range(1, 30):
        values[place] += r * values[place - 1]
    shifts = [last_shift(values[:end].tolist()) for end in range(8, 31)]
    return any(
        shift is not None and (shift.is_sure or not only_sure) for shift in shifts
    )


def drift() -> Iterator[Cell]:
    """Drift over the history: shifts that are found within ten runs, and false alarms."""
    for m in (10, 20, 50, 100):
        row = f"after {m} unchanged runs"
        for sd in (1.0, 2.0, 3.0):
            # few runs don't show whether they resemble each other
            least = {1.0: 0.0, 2.0: 50.0 if m < 20 else 75.0, 3.0: 80.0}[sd]
            run = partial(shifted, m=m, sd=sd)
            yield Cell("drift", row, f"{sd:g} sd", run, 1_000, (least, 100.0))
        run = partial(shifted, m=m, sd=2.0, located=True)
        yield Cell(
            "drift", row, "2 sd: its range holds the run", run, 1_000, (90.0, 100.0)
        )
        most = 100 * (1 - 0.995 ** (m - 7)) + 1.0  # one in 200 runs, from the eighth on
        run = partial(shifted, m=m, sd=0.0)
        yield Cell("drift", row, "a false alarm until then", run, 2_000, (0.0, most))
    nominal = 100 * (1 - 0.995**23)
    for r in (0.0, 0.3, 0.5, 0.8):
        for only_sure, column in ((False, "warns"), (True, "fails")):
            run = partial(of_autoregression, r=r, only_sure=only_sure)
            limits = (0.0, nominal + 3 if only_sure else 100.0)
            row = f"30 runs with an autocorrelation of {r:g}"
            yield Cell("drift", row, column, run, 400, limits)


def labelled(rewards: Floats, groups: int) -> RolloutTable:
    """Rollouts of one agent whose tasks belong to so many groups in turn."""
    n, k = rewards.shape
    codes = np.repeat(np.arange(n) % groups, k).astype(np.int32)
    names = tuple(f"g{group}" for group in range(groups))
    return table_of(
        {"reward": rewards.ravel()}, k, categories={"lang": Category(codes, names)}
    )


def is_red(asked: Benchmark, before: Floats, after: Floats, groups: int = 0) -> float:
    """Whether any check fails, or can't be judged: what a user sees."""
    if groups:
        one, other = labelled(before, groups), labelled(after, groups)
    else:
        one, other = table(before), table(after)
    result = reduce_agent(plan(asked.spec), "agent", other)
    checks = whole_gate(asked, [one], result, other)
    return any(check.verdict.fails for check in checks)


def unchanged(rng: np.random.Generator, *, n: int, k: int, groups: int = 0) -> float:
    """Whether an unchanged run is red, with both guards on."""
    chance = rng.beta(0.4, 0.4, n)
    asked = benchmark(breakdown=("lang",)) if groups else benchmark()
    return is_red(asked, passes(rng, chance, k), passes(rng, chance, k), groups)


def copied(rng: np.random.Generator, *, n: int, solvable: int, metric: str) -> float:
    """Whether an unchanged run of which all rollouts of a task are copies is red."""
    chance = np.zeros(n)
    chance[:solvable] = rng.uniform(0.1, 0.9, solvable)
    sides = [np.repeat(passes(rng, chance, 1), 8, axis=1) for _ in range(2)]
    return is_red(benchmark(metric), *sides)


def copied_coins(rng: np.random.Generator, *, n: int, k: int) -> float:
    """Whether an unchanged run is red whose tasks are coins, and all rollouts copies."""
    chance = np.full(n, 0.5)
    sides = [np.repeat(passes(rng, chance, 1), k, axis=1) for _ in range(2)]
    return is_red(benchmark(), *sides)


def clusters_as_one(rng: np.random.Generator, *, groups: int, up: float) -> float:
    """Whether an unchanged run is red whose clusters of 10 x 2 pass or fail as one."""
    codes = np.repeat(np.arange(groups), 10)
    passed = [rng.random(groups) < up for _ in range(2)]
    before, after = (
        np.repeat(one[codes][:, None], 2, axis=1).astype(float) for one in passed
    )
    checks = judged(benchmark(cluster="repo"), before, after, codes)
    return any(check.verdict.fails for check in checks)


def burst(rng: np.random.Generator, *, n: int) -> float:
    """Whether bursts that shift all rollouts of a task of a run turn it red."""
    sides = [
        0.5 + 0.05 * (rng.normal(size=(n, 1)) + rng.normal(size=(n, 8)))
        for _ in range(2)
    ]
    return is_red(benchmark(), *sides)


def with_break(rng: np.random.Generator, *, left: int) -> float:
    """Whether one of 70 tasks that vary fails the run as it breaks."""
    chance = rng.uniform(0.1, 0.9, 70)
    before, after = passes(rng, chance, 10), passes(rng, chance, 10)
    before[0] = 1
    after[0] = np.arange(10) < left
    return is_red(benchmark(), before, after)


def with_drop(rng: np.random.Generator, *, groups: int) -> float:
    """Whether a drop of 5 points over 200 tasks x 4 is found with both guards on."""
    one, other = steady(rng, 200, 0.05)
    asked = benchmark(breakdown=("lang",)) if groups else benchmark()
    return is_red(asked, passes(rng, one, 4), passes(rng, other, 4), groups)


def guards() -> Iterator[Cell]:
    """Single tasks, slices and few tasks: red without a cause, and what is found."""
    none = (0.0, MOST_FAILS)
    cells: dict[tuple[str, str], tuple[Any, tuple[float, float]]] = {
        ("70 tasks x 10", "no change"): (partial(unchanged, n=70, k=10), none),
        ("200 tasks x 4, 5 slices", "no change"): (
            partial(unchanged, n=200, k=4, groups=5),
            none,
        ),
        ("200 tasks x 8, 20 slices", "no change"): (
            partial(unchanged, n=200, k=8, groups=20),
            none,
        ),
        ("3 tasks x 1", "no change"): (partial(unchanged, n=3, k=1), none),
        ("5 tasks x 8", "no change"): (partial(unchanged, n=5, k=8), none),
        ("3 tasks x 8, copies", "no change"): (
            partial(copied, n=3, solvable=3, metric="mean_reward"),
            none,
        ),
        ("5 of 100 tasks x 8, copies", "no change"): (
            partial(copied, n=100, solvable=5, metric="mean_reward"),
            none,
        ),
        ("50 tasks x 8, worst_task, copies", "no change"): (
            partial(copied, n=50, solvable=50, metric="worst_task"),
            none,
        ),
        ("5 tasks x 8, bursts", "no change"): (partial(burst, n=5), none),
        ("70 tasks x 10", "one task 10 -> 0"): (
            partial(with_break, left=0),
            (90.0, 100.0),
        ),
        ("70 tasks x 10", "one task 10 -> 1"): (
            partial(with_break, left=1),
            (90.0, 100.0),
        ),
        ("200 tasks x 4", "a drop of 5 points"): (
            partial(with_drop, groups=0),
            (67.0, 100.0),
        ),
        ("200 tasks x 4, 5 slices", "a drop of 5 points"): (
            partial(with_drop, groups=5),
            (66.0, 100.0),
        ),
    }
    for (row, column), (run, limits) in cells.items():
        yield Cell("guards", row, column, run, 600, limits)
    for n, k in product((3, 4, 5, 6), (2, 4, 8)):
        run = partial(copied_coins, n=n, k=k)
        # three coins that are up and then down are a collapse, 1.6 % of runs
        limits = (0.0, 100 / 64) if n == 3 else none
        yield Cell("guards", f"{n} coins x {k}, copies", "no change", run, 600, limits)
    for n, up in product((3, 4, 5, 6), (0.5, 0.8)):
        run = partial(clusters_as_one, groups=n, up=up)
        limits = (0.0, 100 / 64) if n == 3 else none
        row = f"{n} clusters x 10 x 2 that pass as one, of {up:g}"
        yield Cell("guards", row, "no change", run, 600, limits)


def failing(asked: Benchmark, before: RolloutTable, run: RolloutTable) -> set[str]:
    """Name the checks that fail."""
    result = reduce_agent(plan(asked.spec), "agent", run)
    checks = whole_gate(asked, [before], result, run)
    return {check.name for check in checks if check.verdict is Verdict.FAIL}


def confirmed(
    rng: np.random.Generator, *, n: int, k: int, drop: float, rounds: int
) -> bool:
    """Whether a run fails in its first round, and in both rounds by `confirm:`."""
    one, other = steady(rng, n, drop)
    before, first = passes(rng, one, k), passes(rng, other, k)
    if drop < 0:  # one task of those that vary breaks
        one = rng.uniform(0.1, 0.9, n)
        other = np.where(np.arange(n) == 0, 0.0, one)
        before, first = passes(rng, one, k), passes(rng, other, k)
        before[0] = 1.0
    # both rounds together have unequal numbers of rollouts
    expect = ExpectSpec(rollouts="any")
    failed = failing(benchmark(), table(before), table(first))
    if rounds == 1 or not failed:
        return bool(failed)
    damage = before.mean(axis=1) - first.mean(axis=1)
    worse = damage > 0
    order = np.lexsort((rng.random(n), damage))
    others = order[~worse[order]][: int(worse.sum())]
    is_drawn = worse.copy()
    is_drawn[others] = True
    second = passes(rng, other, k)
    kept = np.concatenate(
        (np.ones((n, k), dtype=bool), np.repeat(is_drawn[:, None], k, axis=1)), axis=1
    )
    both = ragged(np.concatenate((first, second), axis=1), kept)
    again = failing(benchmark(expect=expect), table(before), both) & failed
    drop_again = (before.mean(axis=1) - second.mean(axis=1))[is_drawn].mean()
    return bool(again - {"mean_reward"}) or ("mean_reward" in again and drop_again > 0)


def confirm() -> Iterator[Cell]:
    """A failure that one more round has to confirm: no change, and what is found."""
    for n, k in ((50, 8), (200, 4), (200, 8), (70, 10)):
        for drop, row in ((0.0, "no change"), (0.05, "5 points"), (-1.0, "one task")):
            if drop < 0 and (n, k) != (70, 10):
                continue
            for rounds, column in ((1, "first round"), (2, "both rounds")):
                run = partial(confirmed, n=n, k=k, drop=drop, rounds=rounds)
                limits = (0.0, 100.0 if drop else MOST_FAILS)
                yield Cell("confirm", f"{n} x {k}, {row}", column, run, 1_000, limits)


TABLES = (
    guards,
    unequal,
    equal,
    metrics,
    clusters,
    power,
    family,
    runs,
    factors,
    history,
    losses,
    verdicts,
    over_rows,
    early,
    drift,
    random,
    more,
    confirm,
    *COMPARISONS,
    *INTERVALS,
)


def collapses() -> Iterator[str]:
    """What a total collapse is called, by numbers of tasks and rollouts."""
    yield "| every rollout 1 -> 0 | 1 rollout a task | 2 | 4 | 8 |"
    yield "|---|---|---|---|---|"
    for n in (1, 2, 3, 4, 5, 6, 7, 20):
        row = [
            judged(benchmark(), np.ones((n, k)), np.zeros((n, k)))[0]
            for k in (1, 2, 4, 8)
        ]
        yield f"| {n} tasks | " + " | ".join(str(c.verdict) for c in row) + " |"


def written(cells: Sequence[Cell]) -> Iterator[str]:
    """Write one table."""
    columns = list(dict.fromkeys(c.column for c in cells))
    yield "| |" + "".join(f" {column} |" for column in columns)
    yield "|---|" + "---:|" * len(columns)
    for row in dict.fromkeys(c.row for c in cells):
        percents = {c.column: c.percent for c in cells if c.row == row}
        values = (
            ""
            if c not in percents
            else "none"
            if math.isnan(percents[c])
            else f"{percents[c]:.1f}"
            for c in columns
        )
        yield f"| {row} | " + " | ".join(values) + " |"


_CHANCE = 0.00135  # one-sided, as beyond three standard errors


def broken(cell: Cell) -> str:
    """Say which limit does not hold, allowing for few runs by the binomial distribution."""
    low, high = cell.limits
    if math.isnan(cell.percent):  # nothing was stated
        return ""
    found = round(cell.percent * cell.runs / 100)
    is_exact = cell.runs >= 5_000
    too_high = cell.percent > high and (
        is_exact or binom.sf(found - 1, cell.runs, max(high / 100, 0.002)) < _CHANCE
    )
    too_low = cell.percent < low and (
        is_exact or binom.cdf(found, cell.runs, min(low / 100, 0.998)) < _CHANCE
    )
    if not too_high and not too_low:
        return ""
    limit = high if too_high else low
    found_text = f"{cell.percent:.2f} %, limit {limit} %"
    return f"{cell.table}: {cell.row}, {cell.column}: {found_text}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="fewer runs of fewer cells"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--only", choices=[t.__name__ for t in TABLES], help="one table"
    )
    parser.add_argument(
        "--scale", type=float, help="a multiple of the runs of each cell"
    )
    asked = parser.parse_args()
    tables = [t for t in TABLES if asked.only in (None, t.__name__)]
    # each table keeps a cell
    step, scale = (24, 0.05) if asked.quick else (1, 1.0)
    steps = {random: 100, intervals: 22, many: 6} if asked.quick else {}
    scale = asked.scale or scale
    cells = []
    for table_of_cells in tables:
        every = steps.get(table_of_cells, step)
        cells += list(table_of_cells())[::every]
    started = time.perf_counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        measured = list(pool.map(partial(measure, scale=scale), cells, chunksize=2))
    for each in tables:
        print(f"### {(each.__doc__ or '').rstrip('.')}\n")
        mine = [c for c in measured if c.table == each.__name__]
        if not asked.quick:
            print("\n".join(written(mine)), end="\n\n")
        counts = Counter(c.runs for c in mine)
        print(f"{len(mine)} cells of {min(counts)} to {max(counts)} runs;", end=" ")
        worst = max(mine, key=lambda c: c.percent)
        print(f"the largest: {worst.row}, {worst.column}")
        print(
            f"{min(c.percent for c in mine):.1f} to {max(c.percent for c in mine):.1f} %\n"
        )
    if asked.only is None:
        print("\n".join(collapses()), end="\n\n")
    print(
        f"{sum(c.runs for c in measured):,} runs in {time.perf_counter() - started:.0f} s"
    )
    problems = [problem for cell in measured if (problem := broken(cell))]
    print("\n".join(problems) or "every limit holds")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
