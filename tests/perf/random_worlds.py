"""Random benchmarks in which nothing changed: cells of calibration.py's tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from measuring import table as table_of
from simulated import GUARDS, MOST_FAILS, Cell, benchmark, whole_gate

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.gates.sequential import Look, looks_between
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.pipeline.reducing import without
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, ExpectSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulated import Floats

    from pytest_evalmetrics.ext import Check, RolloutTable
    from pytest_evalmetrics.spec import Benchmark

WORLDS = 200
KINDS = ("passes", "passes", "grades", "shares", "normal", "latency", "pareto")
RATES = ("passes", "shares")
COUNTS = (1, 2, 3, 4, 8, 16)
METRICS = ("mean_reward", "mean_reward", "median", "worst_task", "harmonic_mean")
FAMILY = 5  # benchmarks that share the level
MARGIN = 0.05  # of `noninferior`
LOST = 0.03  # of rewards that are missing
QUARANTINED = 0.1  # of tasks


class RandomWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark of a random kind; each of its runs draws other tasks.

    Attributes
    ----------
    kind
        The distribution of rewards.
    tasks, before, now
        Tasks, and rollouts of each in a baseline's run and in the run.
    shape
        Tasks are alike if it is large, and near 0 or 1 if it is small.
    metrics
        The gated metrics; of several scores their means.
    scores, slices, clusters, runs, benchmarks
        How many: scores, values of `breakdown:`, clusters (0 for none), runs of the
        baseline, and benchmarks that share the level.
    shift
        The standard deviation between runs, in logits.
    lower_is_better, copies, missing, ragged, quarantine, early, noninferior
        The direction; whether the rollouts of a task are copies of one; whether rewards
        are missing at random; whether tasks have fewer rollouts than others; whether
        tasks are in quarantine; whether the run may stop early; and whether the rule is
        `noninferior`, where all tasks lose the margin and no run may pass.
    """

    kind: str
    tasks: int
    before: int
    now: int
    shape: float
    metrics: tuple[str, ...]
    scores: int = 1
    slices: int = 0
    clusters: int = 0
    runs: int = 1
    benchmarks: int = 1
    shift: float = 0.0
    lower_is_better: bool = False
    copies: bool = False
    missing: bool = False
    ragged: bool = False
    quarantine: bool = False
    early: bool = False
    noninferior: bool = False

    @property
    def name(self) -> str:
        """The world in words."""
        parts = [self.kind, ", ".join(self.metrics) if self.scores == 1 else ""]
        parts.append(f"{self.tasks} tasks")
        parts.append(f"{self.before} -> {self.now}")
        parts.append(f"shape {self.shape:g}")
        counted = {
            "metrics": self.scores,
            "slices": self.slices,
            "clusters": self.clusters,
            "runs": self.runs,
            "benchmarks": self.benchmarks,
        }
        parts += [f"{count} {what}" for what, count in counted.items() if count > 1]
        if self.shift:
            parts.append(f"run sd {self.shift:g} logit")
        flags = {
            "lower is better": self.lower_is_better,
            "copies": self.copies,
            "missing rewards": self.missing,
            "unequal rollouts": self.ragged,
            "quarantine": self.quarantine,
            "stops early": self.early,
            "noninferior": self.noninferior,
        }
        parts += [what for what, holds in flags.items() if holds]
        return ", ".join(part for part in parts if part)


def random_world(seed: int) -> RandomWorld:
    """Draw a world."""
    rng = np.random.default_rng(seed)

    def happens(chance: float) -> bool:
        return bool(rng.random() < chance)

    kind = str(rng.choice(KINDS))
    is_cost = kind in ("latency", "pareto")
    tasks = int(np.exp(rng.uniform(np.log(2), np.log(800))))
    before = int(rng.choice(COUNTS))
    now = before if happens(0.5) else int(rng.choice(COUNTS))
    shape = float(rng.choice([0.3, 1.0, 5.0]))
    slices = int(rng.choice([0, 0, 3, 12]))
    clusters = max(tasks // 8, 2) if happens(0.25) and tasks >= 20 else 0
    runs = int(rng.choice([1, 1, 1, 2, 5]))
    # noise between runs is in no test of one run
    shift = 0.0
    if runs > 1:
        shift = float(rng.choice([0.0, 0.3]))
    scores = int(rng.choice([1, 1, 3, 8]))
    metrics = tuple(f"mean/s{place}" for place in range(scores))
    if scores == 1:
        metrics = (str(rng.choice(METRICS)),)
        if is_cost and metrics[0] in ("worst_task", "harmonic_mean"):
            metrics = ("mean_reward",)
    lower = is_cost or (happens(0.3) and metrics[0].startswith("mean"))
    is_mean = metrics[0].startswith("mean")
    copies = happens(0.15)
    ragged = happens(0.15) and before > 1 and now > 1
    noninferior = (
        happens(0.25)
        and kind in RATES
        and metrics == ("mean_reward",)
        and not clusters
        and not shift
        and not lower
    )
    return RandomWorld(
        kind=kind,
        tasks=tasks,
        before=before,
        now=now,
        shape=shape,
        metrics=metrics,
        scores=scores,
        slices=slices,
        clusters=clusters,
        runs=runs,
        benchmarks=FAMILY if happens(0.15) and tasks <= 200 else 1,
        shift=shift,
        lower_is_better=lower,
        copies=copies,
        missing=happens(0.15),
        ragged=ragged,
        quarantine=happens(0.15) and tasks >= 10,
        early=happens(0.2) and now >= 4 and is_mean and not ragged,
        noninferior=noninferior,
    )


class _Drawn(msgspec.Struct, frozen=True):
    """The tasks of one benchmark of a world: their skills, shape (scores, tasks)."""

    world: RandomWorld
    skills: Floats

    def run(
        self, rng: np.random.Generator, rollouts: int, drop: float = 0.0
    ) -> RolloutTable:
        """Draw one run, whose chances are lower by a share."""
        world = self.world
        shift = np.full(world.tasks, rng.normal(0, world.shift))
        places = np.arange(world.tasks)
        repos = places % max(world.clusters, 1)
        if world.clusters:
            shift = shift + rng.normal(0, 0.5, world.clusters)[repos]
        columns = {}
        for place, skill in enumerate(self.skills):
            size = (world.tasks, 1 if world.copies else rollouts)
            values = _values(rng, world.kind, skill * (1 - drop), shift, size)
            values = np.broadcast_to(values, (world.tasks, rollouts)).copy()
            if world.missing:
                values[rng.random(values.shape) < LOST] = np.nan
            columns[f"s{place}"] = values.ravel()
        groups = max(world.slices, 1)
        lang = np.repeat(places % groups, rollouts).astype(np.int32)
        repo = np.repeat(repos, rollouts).astype(np.int32)
        table = table_of(
            columns,
            rollouts,
            categories={
                "lang": Category(lang, tuple(f"g{number}" for number in range(groups))),
                "repo": Category(
                    repo, tuple(f"r{number}" for number in range(int(repo.max()) + 1))
                ),
            },
        )
        if world.ragged:
            # each task keeps its first rollout, and half of the others
            kept = (table.sample == 0) | (rng.random(len(table.sample)) < 0.5)
            table = table.where(kept)
        return table


def _values(
    rng: np.random.Generator,
    kind: str,
    skill: Floats,
    shift: Floats,
    size: tuple[int, int],
) -> Floats:
    logit = np.log(skill / (1 - skill)) + shift
    chance = (1 / (1 + np.exp(-logit)))[:, None]
    if kind == "passes":
        return (rng.random(size) < chance).astype(float)
    if kind == "grades":
        return rng.binomial(5, np.broadcast_to(chance, size)).astype(float)
    if kind == "shares":
        return rng.beta(4 * chance, 4 * (1 - chance), size)
    if kind == "normal":
        return logit[:, None] + rng.normal(0, 1, size)
    scale = np.exp(logit)[:, None]
    if kind == "latency":
        return scale * rng.lognormal(0, 0.7, size)
    return scale * (1 + rng.pareto(1.5, size))


def _benchmark(world: RandomWorld) -> Benchmark:
    keys: dict[str, Any] = {"reward": "s0"}
    if world.slices:
        keys["breakdown"] = ("lang",)
    if world.clusters:
        keys["cluster"] = "repo"
    keys["expect"] = ExpectSpec(
        rollouts="any" if world.ragged else None,
        missing_reward="exclude" if world.missing else None,
        max_missing=0.2 if world.missing else None,
    )
    keys["baseline"] = BaselineSpec(
        direction="lower" if world.lower_is_better else "higher",
        rule="noninferior" if world.noninferior else None,
        max_drop=MARGIN if world.noninferior else None,
    )
    return benchmark(*world.metrics, **keys)


def checks_of(world: RandomWorld, rng: np.random.Generator) -> list[Check]:
    """Judge one benchmark of a world, with the tasks, baseline and run that it draws."""
    shape = 0.4 * world.shape
    skills = rng.beta(shape, shape, (world.scores, world.tasks))
    drawn = _Drawn(world, np.clip(skills, 1e-6, 1 - 1e-6))
    drop = 0.0
    if world.noninferior:
        drop = min(MARGIN / float(drawn.skills[0].mean()), 1 - 1e-6)
    before = [drawn.run(rng, world.before) for _ in range(world.runs)]
    after = drawn.run(rng, world.now, drop)
    quarantined = frozenset[str]()
    if world.quarantine:
        count = max(round(QUARANTINED * world.tasks), 1)
        quarantined = frozenset(str(task) for task in after.tasks[:count])
    asked = _benchmark(world)
    looks = (world.now,)
    if world.early:
        looks = looks_between(max(world.now // 4, 1), world.now)
    checks: list[Check] = []
    for at, taken in enumerate(looks):
        so_far = without(after.where(after.sample < taken), quarantined)
        checks = whole_gate(
            asked,
            before,
            reduce_agent(plan(asked.spec), "agent", so_far),
            so_far,
            Look(looks, at) if world.early else None,
            benchmarks=world.benchmarks,
            quarantined=quarantined,
        )
        if world.early and _is_settled(checks):
            break
    return checks


def _is_settled(checks: list[Check]) -> bool:
    states = [
        check.look.settled
        for check in checks
        if check.name not in GUARDS and check.look is not None
    ]
    return "fail" in states or None not in states


def is_wrong(rng: np.random.Generator, *, seed: int) -> bool:
    """Whether an unchanged run fails; by `noninferior` whether one with a drop passes."""
    world = random_world(seed)
    for _ in range(world.benchmarks):
        checks = checks_of(world, rng)
        if world.noninferior:
            judged = [check for check in checks if check.name not in GUARDS]
            if all(check.verdict is Verdict.PASS for check in judged):
                return True
        elif any(check.verdict is Verdict.FAIL for check in checks):
            return True
    return False


def random() -> Iterator[Cell]:
    """No change, 200 benchmarks of random kinds."""
    for seed in range(WORLDS):
        run = partial(is_wrong, seed=seed)
        row = f"{seed}: {random_world(seed).name}"
        yield Cell("random", row, "no change", run, 400, (0.0, MOST_FAILS))
