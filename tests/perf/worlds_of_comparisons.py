"""Worlds in which two runs, or many, are compared: cells of calibration.py's tables."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from measuring import table as table_of
from msgspec import structs
from simulated import (
    MOST_FAILS,
    Cell,
    benchmark,
    churn,
    compared,
    judged,
    passes,
    steady,
    table,
    whole_gate,
)

from pytest_evalmetrics.compare import _equivalence
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.gates.sequential import Look, looks_between
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.pipeline.gate_settings import rule_of
from pytest_evalmetrics.run_series import first_worse
from pytest_evalmetrics.spec.gate_keys import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulated import Floats

    from pytest_evalmetrics.ext import RolloutTable

UNCHANGED = (0.0, MOST_FAILS)


# -- one extreme rollout ------------------------------------------------------------------


def with_hang(
    rng: np.random.Generator, *, n: int, k: int, side: str, slower: float
) -> bool:
    """Whether a run fails whose tasks are slower, where one rollout of a side hung."""
    size = rng.lognormal(1, 0.5, (n, 1))
    before = size * rng.lognormal(0, 0.2, (n, k))
    after = slower * size * rng.lognormal(0, 0.2, (n, k))
    if side == "baseline":
        before[0, 0] = 600.0
    if side == "run":
        after[0, 0] = 600.0
    (check,) = judged(
        benchmark(baseline=BaselineSpec(direction="lower")), before, after
    )
    return check.verdict is Verdict.FAIL


def with_rare_hangs(rng: np.random.Generator, *, n: int, k: tuple[int, int]) -> bool:
    """Whether an unchanged run fails of which one rollout in a hundred hangs."""
    size = rng.lognormal(1, 0.5, (n, 1))
    sides = []
    for rollouts in k:
        values = size * rng.lognormal(0, 0.3, (n, rollouts))
        values[rng.random((n, rollouts)) < 0.01] = 600.0
        sides.append(values)
    (check,) = judged(benchmark(baseline=BaselineSpec(direction="lower")), *sides)
    return check.verdict is Verdict.FAIL


def hangs() -> Iterator[Cell]:
    """A hang of 600 s in a run whose tasks are 30 % slower, and unchanged runs that hang."""
    for n, k in ((50, 4), (200, 1), (200, 4)):
        for side in ("neither", "run", "baseline"):
            run = partial(with_hang, n=n, k=k, side=side, slower=1.3)
            column = f"30 % slower, hang of {side}"
            yield Cell("hangs", f"{n} x {k}", column, run, 300, (97.0, 100.0))
    for n, k in ((20, (4, 4)), (200, (4, 4)), (50, (1, 8)), (50, (8, 1))):
        run = partial(with_rare_hangs, n=n, k=k)
        row = f"{n} tasks, {k[0]} -> {k[1]}"
        yield Cell("hangs", row, "1 % hang, no change", run, 1_000, UNCHANGED)


# -- rewards that are no passes, and few tasks ----------------------------------------------


def of_other_rewards(
    rng: np.random.Generator, *, kind: str, n: int, k: tuple[int, int]
) -> bool:
    """Whether an unchanged run of grades, latencies or costs fails."""
    size = rng.lognormal(1, 0.7, (n, 1))
    chance = rng.beta(0.4, 0.4, (n, 1))
    sides = []
    for rollouts in k:
        if kind == "grades":
            values = rng.binomial(5, np.broadcast_to(chance, (n, rollouts))) * 1.0
        elif kind == "latencies":
            values = size * rng.lognormal(0, 0.5, (n, rollouts))
        else:
            values = size * (1 + rng.pareto(1.5, (n, rollouts)))
        sides.append(values)
    direction = "higher" if kind == "grades" else "lower"
    asked = benchmark(baseline=BaselineSpec(direction=direction))
    before, after = map(table, sides)
    result = reduce_agent(plan(asked.spec), "agent", after)
    checks = whole_gate(asked, [before], result, after)
    return any(check.verdict is Verdict.FAIL for check in checks)


def other_rewards() -> Iterator[Cell]:
    """No change, grades, latencies and costs with a tail of Pareto(1.5)."""
    sizes = ((10, (4, 4)), (20, (4, 4)), (50, (1, 8)), (50, (8, 1)), (200, (1, 1)))
    for kind in ("grades", "latencies", "costs"):
        for n, k in sizes:
            run = partial(of_other_rewards, kind=kind, n=n, k=k)
            row = f"{n} tasks, {k[0]} -> {k[1]}"
            yield Cell("other_rewards", row, kind, run, 1_000, UNCHANGED)


def of_few_tasks(rng: np.random.Generator, *, n: int, k: int) -> bool:
    """Whether a run of few tasks fails, one in five of which is drawn anew."""
    one, other = churn(rng, n, 0.0)
    (check,) = judged(benchmark(), passes(rng, one, k), passes(rng, other, k))
    return check.verdict is Verdict.FAIL


def few_tasks() -> Iterator[Cell]:
    """Few tasks, one in five of which is drawn anew (churn): no change of the mean."""
    for n in (3, 5, 7, 10):
        for k in (4, 10):
            run = partial(of_few_tasks, n=n, k=k)
            yield Cell("few_tasks", f"{n} tasks", f"x {k}", run, 1_000, UNCHANGED)


def becomes_milder(rng: np.random.Generator, *, kind: str) -> float:
    """Whether a failure ends as rollouts of the run get worse; NaN without a failure."""
    n = int(rng.integers(3, 60))
    rollouts = int(rng.integers(1, 5))
    size = rng.lognormal(0, 1, (n, 1))

    def drawn(scale: float) -> Floats:
        if kind == "passes":
            chance = np.clip(0.8 * scale, 0, 1)
            return (rng.random((n, rollouts)) < chance) * 1.0
        if kind == "grades":
            return rng.binomial(5, 0.8 * scale, (n, rollouts)) * 1.0
        if kind == "normal":
            return np.log(size) + scale + rng.normal(0, 0.5, (n, rollouts))
        return -size * rng.lognormal(0, 0.5, (n, rollouts)) / scale

    before = drawn(1.0)
    after = drawn(float(rng.uniform(0.2, 0.9)))
    asked = benchmark(baseline=BaselineSpec(direction="higher"))
    if not any(check.verdict is Verdict.FAIL for check in judged(asked, before, after)):
        return math.nan
    is_worse = rng.random(after.shape) < rng.choice([0.02, 0.2])
    lowest = {"passes": 0.0, "grades": 0.0}.get(kind, float(after.min() - 600))
    worse = np.where(is_worse, lowest, after)
    checks = judged(asked, before, worse)
    return not any(check.verdict is Verdict.FAIL for check in checks)


def monotone() -> Iterator[Cell]:
    """Failures that end as random rollouts of the run get worse."""
    for kind in ("passes", "grades", "normal", "latencies"):
        run = partial(becomes_milder, kind=kind)
        yield Cell("monotone", kind, "milder", run, 2_000, (0.0, 0.0))


# -- a reference beside each run ------------------------------------------------------------


def over_reference(
    rng: np.random.Generator, *, n: int, k: tuple[int, int], of_reference: int
) -> bool:
    """Whether an unchanged run is red that is measured beside a pinned system."""
    own = rng.beta(0.4, 0.4, n)
    pinned = rng.beta(0.4, 0.4, n)

    def drawn(rollouts: int) -> RolloutTable:
        rewards = passes(rng, own, rollouts)
        level = passes(rng, pinned, of_reference).mean(axis=1, keepdims=True)
        columns = {
            "reward": rewards.ravel(),
            "over_reference": (rewards - level).ravel(),
        }
        return table_of(columns, rollouts)

    asked = benchmark("mean/over_reference", baseline=BaselineSpec(direction="higher"))
    before = drawn(k[0])
    after = drawn(k[1])
    result = reduce_agent(plan(asked.spec), "agent", after)
    checks = whole_gate(asked, [before], result, after)
    return any(check.verdict.fails for check in checks)


def references() -> Iterator[Cell]:
    """No change over a reference that has fewer rollouts than the run."""
    sizes = [
        (5, (8, 8), 1),
        (5, (16, 16), 2),
        (10, (8, 8), 1),
        (50, (8, 8), 1),
        (50, (8, 2), 1),
        (200, (4, 4), 1),
    ]
    for n, k, of_reference in sizes:
        run = partial(over_reference, n=n, k=k, of_reference=of_reference)
        row = f"{n} tasks, {k[0]} -> {k[1]}"
        column = (
            f"{of_reference} rollout{'s' if of_reference > 1 else ''} of the reference"
        )
        yield Cell("references", row, column, run, 1_500, UNCHANGED)


# -- few tasks that stop early --------------------------------------------------------------


def stopped_early(rng: np.random.Generator, *, n: int, k: int, kind: str) -> bool:
    """Whether an unchanged run of few tasks, or of copies, is red that may stop early."""
    chance = rng.beta(0.4, 0.4, n)
    if kind == "copies":
        before = np.repeat(passes(rng, chance, 1), k, axis=1)
        after = np.repeat(passes(rng, chance, 1), k, axis=1)
    else:
        before = passes(rng, chance, k)
        after = passes(rng, chance, k)
    looks = looks_between(max(k // 4, 1), k)
    for at, taken in enumerate(looks):
        look = Look(looks, at)
        (check,) = compared(benchmark(), [table(before)], table(after[:, :taken]), look)
        if check.look is None or check.look.settled:
            break
    return check.verdict.fails


def early_few() -> Iterator[Cell]:
    """No change, few tasks or copies of one rollout, in runs that may stop early."""
    for n, k in ((3, 8), (5, 8), (10, 16), (20, 8)):
        for kind in ("independent", "copies"):
            run = partial(stopped_early, n=n, k=k, kind=kind)
            yield Cell("early_few", f"{n} x {k}", kind, run, 500, UNCHANGED)


# -- a drop of the margin -------------------------------------------------------------------


def sides_at_margin(
    rng: np.random.Generator, n: int, k: tuple[int, int], chance: float, margin: float
) -> tuple[Floats, Floats]:
    """Draw both sides, of which the second is worse by the margin; 0 for steady tasks."""
    if not chance:
        before, after = steady(rng, n, margin)
    else:
        before = np.full(n, chance)
        after = before - margin
    return passes(rng, before, k[0]), passes(rng, after, k[1])


def is_noninferior(
    rng: np.random.Generator,
    *,
    n: int,
    k: tuple[int, int],
    chance: float,
    margin: float,
) -> bool:
    """Whether a drop of the margin passes as no worse than it."""
    asked = benchmark(baseline=BaselineSpec(rule="noninferior", max_drop=margin))
    (check,) = judged(asked, *sides_at_margin(rng, n, k, chance, margin))
    return check.verdict is Verdict.PASS


def is_equivalent(
    rng: np.random.Generator,
    *,
    n: int,
    k: tuple[int, int],
    chance: float,
    margin: float,
) -> bool:
    """Whether `compare --margin` finds a change of the margin equivalent."""
    sides = sides_at_margin(rng, n, k, chance, margin)
    asked = benchmark(baseline=BaselineSpec(rule="statistical"))
    (check,) = judged(asked, *sides)
    p = _equivalence(check.comparison, margin)
    return p is not None and p < 0.05


def margins() -> Iterator[Cell]:
    """A true drop of the margin: passes of `noninferior`, and `compare --margin`."""
    worlds = [
        (20, (1, 1), 0.95, 0.05),
        (50, (1, 1), 0.95, 0.05),
        (200, (1, 1), 0.99, 0.01),
        (50, (8, 8), 0.97, 0.02),
        (200, (4, 4), 0.98, 0.02),
        (50, (8, 1), 0.95, 0.05),
        (50, (1, 8), 0.95, 0.05),
        (200, (4, 4), 0.0, 0.05),
    ]
    for n, k, chance, margin in worlds:
        tasks = f"p = {chance:g}" if chance else "steady"
        row = f"{n} tasks, {k[0]} -> {k[1]}, {tasks}, margin {margin:g}"
        world = {"n": n, "k": k, "chance": chance, "margin": margin}
        passing = partial(is_noninferior, **world)
        yield Cell("margins", row, "noninferior passes", passing, 2_000, (0.0, 1.0))
        alike = partial(is_equivalent, **world)
        yield Cell("margins", row, "equivalent", alike, 1_000, (0.0, 5.0))


# -- many runs and benchmarks ----------------------------------------------------------------


def any_of_many(rng: np.random.Generator, *, benchmarks: int, runs: int) -> bool:
    """Whether `compare` finds any of so many unchanged benchmarks worse in any run."""
    asked = benchmark()
    for _ in range(benchmarks):
        chance = rng.beta(0.4, 0.4, 50)
        before = table(passes(rng, chance, 4))
        for _ in range(runs):
            after = table(passes(rng, chance, 4))
            result = reduce_agent(plan(asked.spec), "agent", after)
            checks = whole_gate(
                asked, [before], result, after, benchmarks=benchmarks * runs
            )
            if any(check.verdict is Verdict.FAIL for check in checks):
                return True
    return False


def has_culprit(
    rng: np.random.Generator,
    *,
    runs: int,
    size: tuple[int, int],
    sd: float,
    drop: float = 0.0,
) -> bool:
    """Whether `culprit` names a run among those of a system, the last of which may drop."""
    n, k = size
    asked = benchmark()
    skill = 0.1 + 0.8 * rng.beta(0.4, 0.4, n)
    shifts = rng.normal(0, sd, runs)
    shifts[runs // 2 :] -= drop
    tables = [table(passes(rng, np.clip(skill + shift, 0, 1), k)) for shift in shifts]
    names = [str(run) for run in range(runs)]
    rule = rule_of(asked, "mean_reward", bounded=True)
    rule = structs.replace(rule)
    _, p = first_worse(
        plan(asked.spec), "mean_reward", tables, names, rule, may_be_rate=True
    )
    return p < rule.alpha


def many() -> Iterator[Cell]:
    """Many benchmarks, and many runs: any finding where nothing changed."""
    for benchmarks, runs in ((60, 1), (20, 3)):
        run = partial(any_of_many, benchmarks=benchmarks, runs=runs)
        row = f"compare, {benchmarks} benchmarks of 50 x 4, {runs} candidates"
        yield Cell("many", row, "no change", run, 150, UNCHANGED)
    for runs, size, sd in (
        (5, (1_319, 1), 0.0),
        (5, (1_319, 1), 0.02),
        (3, (200, 4), 0.02),
        (12, (200, 4), 0.01),
    ):
        row = f"culprit, {runs} runs of {size[0]:,} x {size[1]}, sd {100 * sd:g} points"
        none = partial(has_culprit, runs=runs, size=size, sd=sd)
        yield Cell("many", row, "no change", none, 1_000, UNCHANGED)
    drop = partial(has_culprit, runs=12, size=(200, 4), sd=0.0, drop=0.1)
    yield Cell("many", "culprit, 12 runs of 200 x 4", "10 points", drop, 300, (70, 100))


COMPARISONS = (
    hangs,
    other_rewards,
    few_tasks,
    monotone,
    references,
    early_few,
    margins,
    many,
)
