"""Benchmarks of unusual shapes: red without a cause, and collapses that stay green.

Each world draws a baseline and a run that is unchanged, or in which all is lost, or all of
one part. The cells are a table of calibration.py.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
from measuring import table as table_of
from simulated import GUARDS, MOST_FAILS, Cell, benchmark, passes, whole_gate

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.gates.sequential import Look, looks_between
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.pipeline.reducing import without
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, ExpectSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from simulated import Floats

    from pytest_evalmetrics.ext import RolloutTable
    from pytest_evalmetrics.spec import Benchmark

    Mask = NDArray[np.bool_]
    Ints = NDArray[np.int64]

_NONE = frozenset[str]()


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, the runs of its baseline, and the run that is judged."""

    asked: Benchmark
    before: tuple[RolloutTable, ...]
    run: RolloutTable
    looks: tuple[int, ...] = ()  # rollouts at which the run may stop early
    benchmarks: int = 1
    quarantined: frozenset[str] = _NONE


# by the share that is left: 1 where nothing changed, 0 of a collapse
World: TypeAlias = "Callable[[np.random.Generator, float], Case]"


def verdicts_of(case: Case) -> set[Verdict]:
    """Judge a run by all of its gates, at the last look that it takes."""
    asked = case.asked
    looks = case.looks or (int(case.run.counts.max()),)
    verdicts: set[Verdict] = set()
    for at, taken in enumerate(looks):
        so_far = without(case.run.where(case.run.sample < taken), case.quarantined)
        checks = whole_gate(
            asked,
            case.before,
            reduce_agent(plan(asked.spec), "agent", so_far),
            so_far,
            Look(looks, at) if case.looks else None,
            benchmarks=case.benchmarks,
            quarantined=case.quarantined,
        )
        verdicts = {check.verdict for check in checks}
        settled = [
            check.look.settled
            for check in checks
            if check.name not in GUARDS and check.look is not None
        ]
        if case.looks and ("fail" in settled or None not in settled):
            break
    return verdicts


def is_red(rng: np.random.Generator, *, world: World) -> bool:
    """Whether an unchanged run is red."""
    return any(verdict.fails for verdict in verdicts_of(world(rng, 1.0)))


def is_green(rng: np.random.Generator, *, world: World) -> bool:
    """Whether a collapse is not red."""
    return not any(verdict.fails for verdict in verdicts_of(world(rng, 0.0)))


def is_no_failure(rng: np.random.Generator, *, world: World) -> bool:
    """Whether a collapse does not fail; it may be inconclusive."""
    return Verdict.FAIL not in verdicts_of(world(rng, 0.0))


# -- rollouts ----------------------------------------------------------------------------


def rollouts(
    rewards: Floats,
    *,
    kept: Mask | None = None,
    lang: Ints | None = None,
    repo: Ints | None = None,
    names: tuple[int, ...] | None = None,
) -> RolloutTable:
    """Put the rewards of one agent into a table; a row is a task."""
    _, k = rewards.shape
    categories = {}
    for field, codes in (("lang", lang), ("repo", repo)):
        if codes is not None:
            labels = tuple(f"{field}{code}" for code in range(int(codes.max()) + 1))
            categories[field] = Category(np.repeat(codes, k).astype(np.int32), labels)
    table = table_of({"reward": rewards.ravel()}, k, tasks=names, categories=categories)
    return table if kept is None else table.where(kept.ravel())


def some_of(counts: Ints, most: int) -> Mask:
    """Keep the first rollouts of each task, shape (tasks, most)."""
    return np.arange(most) < counts[:, None]


def skills(rng: np.random.Generator, n: int) -> Floats:
    """Draw chances to pass, of which some are near 0, and more near 1."""
    return rng.beta(0.8, 0.4, n)


def one_run(
    rng: np.random.Generator, left: float, *, draw: Callable[[], Floats], worst: float
) -> tuple[RolloutTable, RolloutTable]:
    """Draw both sides by the same rule; of a collapse, each reward is at its worst."""
    before = draw()
    after = draw()
    is_lost = rng.random(after.shape) >= left
    after = np.where(is_lost, worst, after)
    return rollouts(before), rollouts(after)


# -- numbers of rollouts, copies, and kinds of rewards -------------------------------------


_ANY = ExpectSpec(rollouts="any")


def ragged_alike(rng: np.random.Generator, left: float) -> Case:
    """Tasks of 1, 2, 4 or 16 rollouts, the same numbers on both sides."""
    counts = rng.choice([1, 2, 4, 16], 60)
    chance = skills(rng, 60)
    kept = some_of(counts, 16)
    before = passes(rng, chance, 16)
    after = passes(rng, chance * left, 16)
    return Case(
        asked=benchmark(expect=_ANY),
        before=(rollouts(before, kept=kept),),
        run=rollouts(after, kept=kept),
    )


def ragged_crossed(rng: np.random.Generator, left: float) -> Case:
    """Tasks with many rollouts in the baseline have few in the run, and vice versa."""
    counts = rng.choice([1, 2, 8, 16], 60)
    others = np.where(counts > 4, 1, 12)
    chance = skills(rng, 60)
    before = passes(rng, chance, 16)
    after = passes(rng, chance * left, 16)
    return Case(
        asked=benchmark(expect=_ANY),
        before=(rollouts(before, kept=some_of(counts, 16)),),
        run=rollouts(after, kept=some_of(others, 16)),
    )


def ragged_by_skill(rng: np.random.Generator, left: float) -> Case:
    """Hard tasks have one rollout in the baseline and 16 in the run, easy ones the reverse."""
    chance = rng.beta(0.5, 0.5, 80)
    is_hard = chance < 0.5
    before = passes(rng, chance, 16)
    after = passes(rng, chance * left, 16)
    return Case(
        asked=benchmark(expect=_ANY),
        before=(rollouts(before, kept=some_of(np.where(is_hard, 1, 16), 16)),),
        run=rollouts(after, kept=some_of(np.where(is_hard, 16, 1), 16)),
    )


def half_copied(rng: np.random.Generator, left: float) -> Case:
    """The rollouts of every other task are copies of one."""

    def drawn(chance: Floats) -> RolloutTable:
        rewards = passes(rng, chance, 8)
        rewards[::2] = rewards[::2, :1]
        return rollouts(rewards)

    chance = rng.beta(1.0, 1.0, 60)
    return Case(asked=benchmark(), before=(drawn(chance),), run=drawn(chance * left))


def few_copied(rng: np.random.Generator, left: float) -> Case:
    """8 tasks x 8, of which half are copies."""

    def drawn(chance: Floats) -> RolloutTable:
        rewards = passes(rng, chance, 8)
        rewards[::2] = rewards[::2, :1]
        return rollouts(rewards)

    chance = rng.uniform(0.3, 1.0, 8)
    return Case(asked=benchmark(), before=(drawn(chance),), run=drawn(chance * left))


def halves(rng: np.random.Generator, left: float, *, n: int) -> Case:
    """Rewards of 0, .5 and 1."""
    chance = skills(rng, n)[:, None]
    before, after = one_run(
        rng, left, draw=lambda: rng.binomial(2, chance, (n, 4)) / 2, worst=0.0
    )
    return Case(asked=benchmark(), before=(before,), run=after)


def signed(rng: np.random.Generator, left: float) -> Case:
    """Rewards of -1, 0 and 1."""
    chance = skills(rng, 40)[:, None]
    before, after = one_run(
        rng, left, draw=lambda: rng.binomial(2, chance, (40, 4)) - 1.0, worst=-1.0
    )
    return Case(asked=benchmark(), before=(before,), run=after)


def negative(rng: np.random.Generator, left: float) -> Case:
    """Losses with a minus: all below 0, with a long tail."""
    size = rng.lognormal(0, 1, (50, 1))
    before, after = one_run(
        rng, left, draw=lambda: -size * rng.lognormal(0, 0.5, (50, 2)), worst=-1e4
    )
    return Case(asked=benchmark(), before=(before,), run=after)


def per_cent(rng: np.random.Generator, left: float, *, n: int) -> Case:
    """Whole rewards from 0 to 100."""
    chance = skills(rng, n)[:, None]
    before, after = one_run(
        rng,
        left,
        draw=lambda: rng.binomial(100, chance, (n, 4)).astype(float),
        worst=0.0,
    )
    return Case(asked=benchmark(), before=(before,), run=after)


def mostly_zero(rng: np.random.Generator, left: float) -> Case:
    """Costs of which nine in ten are 0; a collapse makes all of them large."""

    def drawn() -> Floats:
        return rng.lognormal(3, 1, (80, 3)) * (rng.random((80, 3)) < 0.1)

    before, after = one_run(rng, left, draw=drawn, worst=500.0)
    asked = benchmark(baseline=BaselineSpec(direction="lower"))
    return Case(asked=asked, before=(before,), run=after)


def rounding(rng: np.random.Generator, left: float) -> Case:
    """Equal rewards but for rounding, of order of summation."""

    def drawn() -> Floats:
        return 0.3 + rng.choice([-1, 0, 1], (30, 4)) * 5.6e-17

    before, after = one_run(rng, left, draw=drawn, worst=0.0)
    return Case(asked=benchmark(), before=(before,), run=after)


def tokens(rng: np.random.Generator, left: float) -> Case:
    """Millions of tokens, in cached runs of which most tasks repeat exactly."""
    size = np.round(rng.lognormal(14, 1, (40, 1)))

    def drawn() -> Floats:
        anew = rng.random((40, 1)) < 0.2
        other = np.round(size * rng.lognormal(0, 0.5, (40, 1)))
        return np.repeat(np.where(anew, other, size), 5, axis=1)

    before, after = one_run(rng, left, draw=drawn, worst=1e9)
    asked = benchmark(baseline=BaselineSpec(direction="lower"))
    return Case(asked=asked, before=(before,), run=after)


def long_runs(rng: np.random.Generator, left: float) -> Case:
    """Five tasks of 64 rollouts."""
    chance = rng.uniform(0.2, 0.95, 5)
    return Case(
        asked=benchmark(),
        before=(rollouts(passes(rng, chance, 64)),),
        run=rollouts(passes(rng, chance * left, 64)),
    )


# -- baselines at an end --------------------------------------------------------------------


def all_one(rng: np.random.Generator, left: float, *, n: int, k: int) -> Case:
    """Everything passed in the baseline; the run has a failure in a hundred."""
    after = passes(rng, np.full(n, 0.99 * left), k)
    return Case(
        asked=benchmark(), before=(rollouts(np.ones((n, k))),), run=rollouts(after)
    )


def all_zero(rng: np.random.Generator, left: float) -> Case:
    """No rollout had the error in the baseline; one in a hundred has it."""
    after = passes(rng, np.full(40, 1.0 - 0.99 * left), 4)
    asked = benchmark(baseline=BaselineSpec(direction="lower"))
    return Case(asked=asked, before=(rollouts(np.zeros((40, 4))),), run=rollouts(after))


def rare(rng: np.random.Generator, left: float) -> Case:
    """Four tasks of 300 pass, now and then."""
    chance = np.zeros(300)
    chance[:4] = rng.uniform(0.5, 1.0, 4)
    return Case(
        asked=benchmark(),
        before=(rollouts(passes(rng, chance, 8)),),
        run=rollouts(passes(rng, chance * left, 8)),
    )


# -- clusters and slices ----------------------------------------------------------------------


def in_clusters(
    rng: np.random.Generator, left: float, *, sizes: tuple[int, ...]
) -> Case:
    """Clusters of such sizes, whose chances move together."""
    repo = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.clip(skills(rng, len(repo)), 1e-6, 1 - 1e-6)
    logit = np.log(chance / (1 - chance)) + rng.normal(0, 0.5, len(sizes))[repo]
    now = 1 / (1 + np.exp(-logit))
    return Case(
        asked=benchmark(cluster="repo"),
        before=(rollouts(passes(rng, chance, 4), repo=repo),),
        run=rollouts(passes(rng, now * left, 4), repo=repo),
    )


def in_slices(
    rng: np.random.Generator, left: float, *, sizes: tuple[int, ...], k: int, lost: int
) -> Case:
    """Slices of such sizes, of which one loses all."""
    lang = np.repeat(np.arange(len(sizes)), sizes)
    chance = skills(rng, len(lang))
    chance[lang == lost] = rng.uniform(0.85, 1.0, sizes[lost])
    now = np.where(lang == lost, chance * left, chance)
    return Case(
        asked=benchmark(breakdown=("lang",)),
        before=(rollouts(passes(rng, chance, k), lang=lang),),
        run=rollouts(passes(rng, now, k), lang=lang),
    )


def sliced_clusters(rng: np.random.Generator, left: float) -> Case:
    """Five slices of 40 tasks, in clusters of four; one slice loses all."""
    lang = np.arange(200) % 5
    repo = np.arange(200) // 20 * 5 + lang
    chance = skills(rng, 200)
    now = np.where(lang == 2, chance * left, chance)
    return Case(
        asked=benchmark(breakdown=("lang",), cluster="repo"),
        before=(rollouts(passes(rng, chance, 4), lang=lang, repo=repo),),
        run=rollouts(passes(rng, now, 4), lang=lang, repo=repo),
    )


# -- families, metrics ------------------------------------------------------------------------


def one_of_thousand(
    rng: np.random.Generator, left: float, *, metric: str, n: int, k: int
) -> Case:
    """One of 1,000 benchmarks that share the level."""
    chance = rng.beta(2, 1, n)
    return Case(
        asked=benchmark(metric),
        before=(rollouts(passes(rng, chance, k)),),
        run=rollouts(passes(rng, chance * left, k)),
        benchmarks=1_000,
    )


def one_of_eight(rng: np.random.Generator, left: float) -> Case:
    """Eight scores of 12 tasks x 2, of which the last alone collapses."""

    def drawn(share: float) -> RolloutTable:
        columns = {}
        for place in range(8):
            chance = chances[place] * (share if place == 7 else 1.0)
            columns[f"s{place}"] = passes(rng, chance, 2).ravel()
        return table_of(columns, 2)

    chances = rng.uniform(0.6, 1.0, (8, 12))
    names = tuple(f"mean/s{place}" for place in range(8))
    return Case(
        asked=benchmark(*names, reward="s0"),
        before=(drawn(1.0),),
        run=drawn(left),
    )


# -- what is missing, added, removed -----------------------------------------------------------


def missing(rng: np.random.Generator, left: float, *, k: int) -> Case:
    """A tenth of the rewards of both sides are missing."""
    chance = skills(rng, 60)
    before = passes(rng, chance, k)
    after = passes(rng, chance * left, k)
    for rewards in (before, after):
        rewards[rng.random(rewards.shape) < 0.1] = np.nan
    expect = ExpectSpec(missing_reward="exclude", max_missing=0.3)
    return Case(
        asked=benchmark(expect=expect),
        before=(rollouts(before),),
        run=rollouts(after),
    )


def other_tasks(rng: np.random.Generator, left: float, *, runs: int) -> Case:
    """Each run of the baseline lacks other tasks; the run has some that no other has."""
    chance = skills(rng, 120)

    def drawn(first: int, last: int, share: float = 1.0) -> RolloutTable:
        names = tuple(range(first, last))
        return rollouts(passes(rng, chance[first:last] * share, 4), names=names)

    starts = [5 * run for run in range(runs)]
    return Case(
        asked=benchmark(baseline=BaselineSpec(min_coverage=0.7)),
        before=tuple(drawn(start, start + 90) for start in starts),
        run=drawn(15, 120, left),
    )


# -- rules, looks, quarantine --------------------------------------------------------------------


def large_max_drop(rng: np.random.Generator, left: float) -> Case:
    """`max_drop: 0.7` of an error rate of .2, where .8 is left to lose."""
    chance = rng.uniform(0.0, 0.4, 60)
    now = 1 - (1 - chance) * left
    settings = BaselineSpec(direction="lower", max_drop=0.7)
    return Case(
        asked=benchmark(baseline=settings),
        before=(rollouts(passes(rng, chance, 4)),),
        run=rollouts(passes(rng, now, 4)),
    )


def by_rule(
    rng: np.random.Generator, left: float, *, n: int, settings: dict[str, Any]
) -> Case:
    """Rates by a rule that states how much may be lost."""
    chance = rng.beta(0.4, 0.4, n)
    return Case(
        asked=benchmark(baseline=BaselineSpec(**settings)),
        before=(rollouts(passes(rng, chance, 4)),),
        run=rollouts(passes(rng, chance * left, 4)),
    )


def relative_near_zero(rng: np.random.Generator, left: float) -> Case:
    """`rule: relative` of an error that was never seen."""
    after = passes(rng, np.full(50, 1 - left), 4)
    settings = BaselineSpec(rule="relative", max_drop=0.1, direction="lower")
    return Case(
        asked=benchmark(baseline=settings),
        before=(rollouts(np.zeros((50, 4))),),
        run=rollouts(after),
    )


def early(
    rng: np.random.Generator, left: float, *, n: int, k: int, metric: str
) -> Case:
    """A run that may stop early."""
    chance = skills(rng, n)
    return Case(
        asked=benchmark(metric),
        before=(rollouts(passes(rng, chance, k)),),
        run=rollouts(passes(rng, chance * left, k)),
        looks=looks_between(max(k // 4, 1), k),
    )


def quarantined(rng: np.random.Generator, left: float) -> Case:
    """A third of the tasks are in quarantine, and broke in either case."""
    chance = skills(rng, 45)
    now = chance * left
    now[:15] = 0.0
    return Case(
        asked=benchmark(),
        before=(rollouts(passes(rng, chance, 8)),),
        run=rollouts(passes(rng, now, 8)),
        quarantined=frozenset(str(task) for task in range(15)),
    )


def dependent(rng: np.random.Generator, left: float) -> Case:
    """Rollouts of which the file says that they repeat each other."""
    chance = skills(rng, 30)

    def drawn(share: float) -> RolloutTable:
        return rollouts(np.repeat(passes(rng, chance * share, 1), 6, axis=1))

    return Case(
        asked=benchmark(independent=False),
        before=(drawn(1.0),),
        run=drawn(left),
    )


def several_runs(
    rng: np.random.Generator, left: float, *, m: int, copies: bool
) -> Case:
    """Several runs, of new rollouts or of copies but for one task in ten."""
    chance = skills(rng, 100)

    def drawn(share: float) -> RolloutTable:
        if not copies:
            return rollouts(passes(rng, chance * share, 4))
        fixed = (chance > 0.5).astype(float)
        flipped = rng.random(100) < 0.1
        rewards = np.where(flipped, 1 - fixed, fixed) * share
        return rollouts(np.repeat(rewards[:, None], 4, axis=1))

    return Case(
        asked=benchmark(),
        before=tuple(drawn(1.0) for _ in range(m)),
        run=drawn(left),
    )


def small(
    rng: np.random.Generator, left: float, *, n: int, k: tuple[int, int], metric: str
) -> Case:
    """A few tasks that mostly pass."""
    chance = rng.uniform(0.7, 1.0, n)
    return Case(
        asked=benchmark(metric),
        before=(rollouts(passes(rng, chance, k[0])),),
        run=rollouts(passes(rng, chance * left, k[1])),
    )


def graded_runs(rng: np.random.Generator, left: float, *, n: int, m: int) -> Case:
    """Grades from 0 to 5 of one rollout, against several runs that scatter."""
    chance = rng.uniform(0.4, 1.0, (n, 1))

    def drawn(share: float) -> RolloutTable:
        logit = np.log(chance / (1.0001 - chance)) + rng.normal(0, 0.3)
        grades = rng.binomial(5, 1 / (1 + np.exp(-logit))).astype(float)
        return rollouts(np.where(rng.random((n, 1)) < share, grades, 0.0))

    return Case(
        asked=benchmark(),
        before=tuple(drawn(1.0) for _ in range(m)),
        run=drawn(left),
    )


def slice_of_runs(rng: np.random.Generator, left: float, *, m: int) -> Case:
    """A slice of 20 of 200 x 4 that loses all, against several runs."""
    lang = np.repeat(np.arange(10), 20)
    chance = skills(rng, 200)
    chance[:20] = rng.uniform(0.8, 1.0, 20)

    def drawn(share: float) -> RolloutTable:
        shares = np.where(lang == 0, share, 1.0)
        return rollouts(passes(rng, chance * shares, 4), lang=lang)

    return Case(
        asked=benchmark(breakdown=("lang",)),
        before=tuple(drawn(1.0) for _ in range(m)),
        run=drawn(left),
    )


def single_of_runs(rng: np.random.Generator, left: float, *, m: int) -> Case:
    """One of 70 tasks x 10 breaks, against several runs."""
    chance = rng.uniform(0.2, 0.9, 70)
    chance[0] = 0.999

    def drawn(share: float) -> RolloutTable:
        shares = np.ones(70)
        shares[0] = share
        return rollouts(passes(rng, chance * shares, 10))

    return Case(
        asked=benchmark(),
        before=tuple(drawn(1.0) for _ in range(m)),
        run=drawn(left),
    )


def one_outlier(rng: np.random.Generator, left: float) -> Case:
    """Passes and failures of 50 x 4, and a single reward of 5 in the baseline."""
    chance = skills(rng, 50)
    before = passes(rng, chance, 4)
    before[3, 1] = 5.0
    return Case(
        asked=benchmark(),
        before=(rollouts(before),),
        run=rollouts(passes(rng, chance * left, 4)),
    )


def many_missing(rng: np.random.Generator, left: float) -> Case:
    """Four in ten rewards of the run are missing at random, as the file allows."""
    chance = skills(rng, 100)
    after = passes(rng, chance * left, 4)
    after[rng.random(after.shape) < 0.4] = np.nan
    expect = ExpectSpec(missing_reward="exclude", max_missing=0.5)
    return Case(
        asked=benchmark(expect=expect),
        before=(rollouts(passes(rng, chance, 4)),),
        run=rollouts(after),
    )


def sliced_early(rng: np.random.Generator, left: float) -> Case:
    """A slice of 20 of 100 x 16 loses all, in a run that may stop early."""
    lang = np.repeat(np.arange(5), 20)
    chance = skills(rng, 100)
    shares = np.where(lang == 0, left, 1.0)
    return Case(
        asked=benchmark(breakdown=("lang",)),
        before=(rollouts(passes(rng, chance, 16), lang=lang),),
        run=rollouts(passes(rng, chance * shares, 16), lang=lang),
        looks=looks_between(4, 16),
    )


def coins(
    rng: np.random.Generator, left: float, *, n: int, k: int, chance: float
) -> Case:
    """Tasks that are coins of one chance, whose rollouts are all copies."""

    def drawn(share: float) -> RolloutTable:
        of_tasks = passes(rng, np.full(n, chance * share), 1)
        return rollouts(np.repeat(of_tasks, k, axis=1))

    return Case(asked=benchmark(), before=(drawn(1.0),), run=drawn(left))


def missing_in_runs(rng: np.random.Generator, left: float, *, k: int) -> Case:
    """A twentieth of the rewards of three runs and of the run are missing."""
    chance = skills(rng, 60)

    def drawn(share: float) -> RolloutTable:
        rewards = passes(rng, chance * share, k)
        rewards[rng.random(rewards.shape) < 0.05] = np.nan
        return rollouts(rewards)

    expect = ExpectSpec(missing_reward="exclude", max_missing=0.3)
    return Case(
        asked=benchmark(expect=expect),
        before=tuple(drawn(1.0) for _ in range(3)),
        run=drawn(left),
    )


# -- the table -------------------------------------------------------------------------------


class Limits(msgspec.Struct, frozen=True):
    """A world, and the most that may go wrong in it, in per cent."""

    world: World
    green: float = 0.0  # of collapses
    unsure: float = 0.0  # of collapses: no failure


WORLDS: dict[str, Limits] = {
    "1, 2, 4 or 16 rollouts": Limits(ragged_alike),
    "many rollouts where the other side has few": Limits(ragged_crossed),
    "hard tasks 1 -> 16, easy ones 16 -> 1": Limits(ragged_by_skill),
    "every other task copied, 60 x 8": Limits(half_copied),
    "every other task copied, 8 x 8": Limits(few_copied),
    "rewards 0, .5, 1, 40 x 4": Limits(partial(halves, n=40)),
    "rewards 0, .5, 1, 5 x 4": Limits(partial(halves, n=5)),
    "rewards -1, 0, 1": Limits(signed),
    "rewards below 0, with a tail": Limits(negative),
    "rewards 0 to 100, 30 x 4": Limits(partial(per_cent, n=30)),
    "rewards 0 to 100, 4 x 4": Limits(partial(per_cent, n=4)),
    "costs, nine in ten 0": Limits(mostly_zero),
    "equal but for rounding": Limits(rounding),
    "millions of tokens, cached": Limits(tokens),
    "one reward of 5": Limits(one_outlier),
    "5 x 64": Limits(long_runs),
    "all passed, 30 x 4": Limits(partial(all_one, n=30, k=4)),
    "all passed, 3 x 2": Limits(partial(all_one, n=3, k=2)),
    "no error was seen": Limits(all_zero),
    "4 of 300 x 8 pass": Limits(rare),
    "two clusters of 20": Limits(partial(in_clusters, sizes=(20, 20))),
    "50 clusters of one": Limits(partial(in_clusters, sizes=(1,) * 50)),
    "a cluster of 180, 20 of one": Limits(partial(in_clusters, sizes=(180, *[1] * 20))),
    "one slice of 3 x 8, beside 29 and one of 170": Limits(
        partial(in_slices, sizes=(170, *[3] * 30), k=8, lost=7), green=10.0, unsure=10.0
    ),
    "a slice of 10 of 200 x 4": Limits(
        partial(in_slices, sizes=(10, 190), k=4, lost=0)
    ),
    "a slice of 10 of 200 x 1": Limits(
        partial(in_slices, sizes=(10, 190), k=1, lost=0)
    ),
    "a slice of 40, clusters of 4": Limits(sliced_clusters),
    "a slice of 20, 2 runs": Limits(partial(slice_of_runs, m=2)),
    "a slice of 20, stops early": Limits(sliced_early),
    "one of eight scores, 12 x 2": Limits(one_of_eight),
    "a tenth missing, 60 x 4": Limits(partial(missing, k=4)),
    "a tenth missing, 60 x 1": Limits(partial(missing, k=1)),
    "four in ten missing": Limits(many_missing),
    "a twentieth missing in 3 runs, 60 x 1": Limits(partial(missing_in_runs, k=1)),
    "other tasks in each of 3 runs": Limits(partial(other_tasks, runs=3)),
    "other tasks, one run": Limits(partial(other_tasks, runs=1)),
    "max_drop .7 of an error rate": Limits(large_max_drop),
    "relative, never seen": Limits(relative_near_zero),
    "absolute .2": Limits(
        partial(by_rule, n=100, settings={"rule": "absolute", "max_drop": 0.2})
    ),
    "noninferior .05": Limits(
        partial(by_rule, n=800, settings={"rule": "noninferior", "max_drop": 0.05})
    ),
    "statistical": Limits(partial(by_rule, n=100, settings={"rule": "statistical"})),
    "stops early, 30 x 8": Limits(partial(early, n=30, k=8, metric="mean_reward")),
    "stops early, 8 x 8": Limits(partial(early, n=8, k=8, metric="mean_reward")),
    "stops early, 4 x 16": Limits(
        partial(early, n=4, k=16, metric="mean_reward"), green=10.0, unsure=10.0
    ),
    "stops early, pass^4, 30 x 16": Limits(partial(early, n=30, k=16, metric="pass^4")),
    "a third in quarantine": Limits(quarantined),
    "independent: false": Limits(dependent),
    "3 runs": Limits(partial(several_runs, m=3, copies=False)),
    "2 runs of copies": Limits(partial(several_runs, m=2, copies=True)),
    "8 runs of copies": Limits(partial(several_runs, m=8, copies=True)),
    # by p < 0.002 beyond what three runs may differ by: three in four are found
    "one task of 70 x 10, 3 runs": Limits(
        partial(single_of_runs, m=3), green=40.0, unsure=40.0
    ),
    "4 tasks, 8 -> 1": Limits(
        partial(small, n=4, k=(8, 1), metric="own_mean"), unsure=50.0
    ),
    "6 tasks, 8 -> 1": Limits(
        partial(small, n=6, k=(8, 1), metric="median"), unsure=10.0
    ),
    "4 x 4": Limits(partial(small, n=4, k=(4, 4), metric="harmonic_mean"), unsure=10.0),
    "grades, 20 x 1, 2 runs": Limits(partial(graded_runs, n=20, m=2), unsure=100.0),
    "grades, 20 x 1, 4 runs": Limits(partial(graded_runs, n=20, m=4), unsure=10.0),
}
FAMILY_METRICS = (
    "mean_reward",
    "median",
    "pass^4",
    "pass@4",
    "worst_task",
    "harmonic_mean",
    "own_mean",
)
# three that pass and then do not are no proof: nothing shows that they are no copies
COINS = ((6, 8, 0.3), (10, 8, 0.2), (12, 4, 0.15))


def more() -> Iterator[Cell]:
    """Unusual benchmarks: no change, and a loss of everything, or of one part."""
    worlds = dict(WORLDS)
    for metric in FAMILY_METRICS:
        world = partial(one_of_thousand, metric=metric, n=40, k=8)
        worlds[f"one of 1,000 benchmarks: {metric}, 40 x 8"] = Limits(world)
    for row, limits in worlds.items():
        columns = (
            ("no change", is_red, MOST_FAILS),
            ("lost: no red", is_green, limits.green),
            ("lost: no failure", is_no_failure, limits.unsure),
        )
        for column, outcome, most in columns:
            run = partial(outcome, world=limits.world)
            yield Cell("more", row, column, run, 400, (0.0, most))
    for n, k, chance in COINS:
        run = partial(is_red, world=partial(coins, n=n, k=k, chance=chance))
        row = f"{n} coins of {chance:g} x {k}, copies"
        yield Cell("more", row, "no change", run, 400, (0.0, MOST_FAILS))
