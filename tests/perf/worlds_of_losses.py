"""Worlds in which a run loses rollouts or tasks: cells of calibration.py's tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs
from simulated import MOST_FAILS, Cell, benchmark, passes, table, whole_gate

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, ExpectSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from simulated import Floats

    from pytest_evalmetrics.ext import Check, RolloutTable

    Mask = NDArray[np.bool_]

SIZES = ((200, 4), (30, 4), (1_000, 1))


def ragged(rewards: Floats, kept: Mask) -> RolloutTable:
    """Rollouts of one agent without those that are not kept; a task may lose all."""
    whole = table(rewards)
    task = np.repeat(np.arange(len(rewards)), rewards.shape[1])[kept.ravel()]
    held, places = np.unique(task, return_inverse=True)
    return structs.replace(
        whole,
        task=places.astype(np.int64),
        tasks=tuple(whole.tasks[at] for at in held.tolist()),
        sample=whole.sample[kept.ravel()],
        agent=whole.agent[kept.ravel()],
        scores={"reward": rewards.ravel()[kept.ravel()]},
    )


def checks_with_loss(
    before: Floats, now: Floats, lost: Mask, *, allowed: str
) -> list[Check]:
    """Judge a run that lost rollouts in a way that its file allows."""
    run = ragged(now, ~lost)
    if allowed == "exclude":
        expect = ExpectSpec(missing_reward="exclude", max_missing=0.4)
        asked = benchmark(expect=expect)
        run = table(np.where(lost, np.nan, now))
    elif allowed == "any":
        asked = benchmark(expect=ExpectSpec(rollouts="any"))
    else:
        asked = benchmark(baseline=BaselineSpec(min_coverage=0.5))
    result = reduce_agent(plan(asked.spec), "agent", run)
    return whole_gate(asked, [table(before)], result, run)


def at_random(
    rng: np.random.Generator, *, size: tuple[int, int], allowed: str, share: float
) -> bool:
    """Whether an unchanged run is red that lost rollouts, or tasks, at random."""
    n, k = size
    chance = rng.beta(0.4, 0.4, n)
    before = passes(rng, chance, k)
    now = passes(rng, chance, k)
    lost = rng.random(now.shape) < share
    if allowed == "min_coverage":
        gone = rng.random(n) < share
        lost = np.repeat(gone[:, None], k, axis=1)
    checks = checks_with_loss(before, now, lost, allowed=allowed)
    return any(check.verdict.fails for check in checks)


def failing_ones(
    rng: np.random.Generator, *, size: tuple[int, int], allowed: str, told: bool
) -> bool:
    """Whether a run is red, or `told`: warns at least, whose chances fell by a fifth.

    Half of the rollouts that fail are lost; where tasks may be lost, a fifth of those
    that mostly passed break and are gone.
    """
    n, k = size
    chance = rng.beta(0.4, 0.4, n)
    before = passes(rng, chance, k)
    if allowed == "min_coverage":
        now = passes(rng, chance, k)
        gone = (chance > 0.5) & (rng.random(n) < 0.2)
        lost = np.repeat(gone[:, None], k, axis=1)
    else:
        now = passes(rng, 0.8 * chance, k)
        lost = (now == 0) & (rng.random(now.shape) < 0.5)
    verdicts = {
        check.verdict for check in checks_with_loss(before, now, lost, allowed=allowed)
    }
    is_red = any(verdict.fails for verdict in verdicts)
    return is_red or (told and Verdict.WARN in verdicts)


def losses() -> Iterator[Cell]:
    """Rollouts and tasks that are lost: at random, and where they fail."""
    for n, k in SIZES:
        for allowed in ("exclude", "any", "min_coverage"):
            row = f"{allowed}, {n:,} x {k}"
            # a task whose only rollout is lost is a lost task
            if allowed == "any" and k == 1:
                continue
            for share in (0.01, 0.05, 0.1, 0.2):
                run = partial(at_random, size=(n, k), allowed=allowed, share=share)
                column = f"at random, {100 * share:g} %"
                yield Cell("losses", row, column, run, 800, (0.0, MOST_FAILS))
            # 30 tasks of four rollouts prove little, and three lost tasks nothing
            is_small = n == 30
            for told, column in ((False, "where it fails"), (True, "the same, told")):
                run = partial(failing_ones, size=(n, k), allowed=allowed, told=told)
                least = 80.0
                if is_small and (allowed == "min_coverage" or not told):
                    least = 0.0
                yield Cell("losses", row, column, run, 300, (least, 100.0))
