"""Random benchmarks of every kind of gate: no worse run is judged more mildly.

    python tests/perf/worlds_of_verdicts.py --pairs 2000

draws benchmarks with one or two agents, tasks in quarantine, tasks that must pass, early
looks, six rules, metrics of which less is better, slices and clusters. Each is judged, and
again after rollouts of its run got worse, or those of its baseline better. Prints the pairs
of which a failure became none, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from measuring import table as table_of
from msgspec import structs
from simulated import MOST_FAILS, Cell, benchmark

from pytest_evalmetrics import gates
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.gates import SingleTasks
from pytest_evalmetrics.gates.sequential import Look, looks_between
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.pipeline.comparing import ComparisonTerms, compare_agents
from pytest_evalmetrics.pipeline.judging import judge_comparisons
from pytest_evalmetrics.pipeline.reducing import AgentRun, without
from pytest_evalmetrics.pipeline.references import Reference
from pytest_evalmetrics.spec.gate_keys import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulated import Floats

    from pytest_evalmetrics.ext import Check, RolloutTable
    from pytest_evalmetrics.spec import Benchmark

_AGENTS = ("a", "b")
_NO_NAMES = SingleTasks(unknown=(), entries={}, must_pass=frozenset())
RULES = ("practical", "statistical", "absolute", "relative", "exact", "noninferior")
TESTED = ("practical", "statistical")


def _passes(rng: np.random.Generator, skill: Floats, shape: tuple[int, int]) -> Floats:
    return (rng.random(shape) < skill).astype(float)


def _shares(rng: np.random.Generator, skill: Floats, shape: tuple[int, int]) -> Floats:
    return rng.beta(4 * skill, 4 * (1 - skill), shape)


def _grades(rng: np.random.Generator, skill: Floats, shape: tuple[int, int]) -> Floats:
    return rng.binomial(5, skill, shape).astype(float)


def _normal(rng: np.random.Generator, skill: Floats, shape: tuple[int, int]) -> Floats:
    return 4 * skill + rng.normal(0, 1, shape)


def _latencies(
    rng: np.random.Generator, skill: Floats, shape: tuple[int, int]
) -> Floats:
    return (0.2 + skill) * rng.lognormal(0, 0.7, shape)


def _costs(rng: np.random.Generator, skill: Floats, shape: tuple[int, int]) -> Floats:
    return (0.2 + skill) * (1 + rng.pareto(1.5, shape))


Draw: TypeAlias = "Callable[[np.random.Generator, Floats, tuple[int, int]], Floats]"
KINDS: dict[str, Draw] = {
    "passes": _passes,
    "shares": _shares,
    "grades": _grades,
    "normal": _normal,
    "latency": _latencies,
    "cost": _costs,
}
RATES = ("passes", "shares")


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark of a random kind."""

    kind: str
    tasks: int
    rollouts: tuple[int, int]  # of a task, in the baseline and in the run
    rule: str
    is_lower_better: bool
    agents: tuple[str, ...]
    quarantined: frozenset[str]  # ids of tasks
    must_pass: frozenset[int]  # tasks
    look: Look | None  # of a run that may stop early
    groups: int
    is_clustered: bool
    max_drop: float

    @property
    def sign(self) -> float:
        """1 where more is better, else -1."""
        return -1.0 if self.is_lower_better else 1.0

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark file's keys."""
        direction = "lower" if self.is_lower_better else "higher"
        max_drop = None if self.rule in TESTED else self.max_drop
        settings = BaselineSpec(rule=self.rule, direction=direction, max_drop=max_drop)
        return benchmark(
            "mean_reward",
            baseline=settings,
            breakdown=("lang",) if self.groups else (),
            cluster="repo" if self.is_clustered else None,
        )


def random_gate(rng: np.random.Generator, *, rules: Sequence[str] = RULES) -> Gate:
    """Draw a benchmark."""
    kind = str(rng.choice(list(KINDS)))
    tasks = int(np.exp(rng.uniform(np.log(3), np.log(120))))
    rollouts = (int(rng.choice([1, 2, 4, 8])), int(rng.choice([1, 2, 4, 8])))
    look = None
    if rollouts[1] >= 4 and rng.random() < 0.5:
        looks = looks_between(rollouts[1] // 4, rollouts[1])
        look = Look(looks, int(rng.integers(len(looks))))
        rollouts = (rollouts[0], looks[look.at])
    is_lower = kind in ("latency", "cost") or rng.random() < 0.3
    held = rng.permutation(tasks)
    quarantined = held[: int(rng.choice([0, 0, 1, tasks // 4]))]
    must_pass = held[-int(rng.choice([1, 2])) :] if rng.random() < 0.3 else held[:0]
    return Gate(
        kind=kind,
        tasks=tasks,
        rollouts=rollouts,
        rule=str(rng.choice(list(rules))),
        is_lower_better=is_lower,
        agents=_AGENTS[: int(rng.choice([1, 2]))],
        quarantined=frozenset(str(task) for task in quarantined.tolist()),
        # what passes is a reward from 1: of others, more of it is better
        must_pass=frozenset() if is_lower else frozenset(must_pass.tolist()),
        look=look,
        groups=int(rng.choice([0, 0, 3])),
        is_clustered=bool(tasks >= 16 and rng.random() < 0.2),
        max_drop=float(rng.choice([0.01, 0.05, 0.2])),
    )


def rollouts_of(gate: Gate, rewards: Floats) -> RolloutTable:
    """Put the rewards of one agent into a table; a row is a task."""
    n, k = rewards.shape
    places = np.arange(n)
    lang = np.repeat(places % max(gate.groups, 1), k).astype(np.int32)
    repo = np.repeat(places % 8, k).astype(np.int32)
    categories = {
        "lang": Category(lang, tuple(map(str, range(max(gate.groups, 1))))),
        "repo": Category(repo, tuple(map(str, range(8)))),
    }
    return table_of({"reward": rewards.ravel()}, k, categories=categories)


def checks_of(
    gate: Gate, before: Sequence[Floats], after: Sequence[Floats]
) -> list[Check]:
    """Judge the runs of all agents by all gates."""
    asked = gate.benchmark
    planned = plan(asked.spec)
    recorded = {}
    runs = []
    checks: list[Check] = []
    for agent, then, now in zip(gate.agents, before, after, strict=True):
        whole = rollouts_of(gate, now)
        gated = without(whole, gate.quarantined)
        recorded[agent] = (rollouts_of(gate, then),)
        result = reduce_agent(planned, agent, gated)
        shown = agent if len(gate.agents) > 1 else ""
        runs.append(AgentRun(result, gated, gated.counts, shown))
        named = structs.replace(_NO_NAMES, must_pass=gate.must_pass)
        checks += gates.check_single_tasks(
            named, asked.spec, whole, agent=shown, line_of=asked.line_of
        )
    terms = ComparisonTerms(
        benchmark=asked,
        plan=planned,
        reference=Reference(runs=recorded),
        quarantined=gate.quarantined,
    )
    compared = compare_agents(terms, runs)
    return checks + judge_comparisons(terms, compared, look=gate.look)


class Pair(msgspec.Struct, frozen=True):
    """Rewards of both sides, by agent; and the same, worse."""

    before: tuple[Floats, ...]
    after: tuple[Floats, ...]
    better_before: tuple[Floats, ...]
    worse_after: tuple[Floats, ...]


def random_pair(gate: Gate, rng: np.random.Generator) -> Pair:
    """Draw runs that lost something or nothing, and make some of their rollouts worse."""
    draw = KINDS[gate.kind]
    before = []
    after = []
    better_before = []
    worse_after = []
    lost = float(rng.choice([0.0, 0.1, 0.3, 1.0]))
    for _ in gate.agents:
        skill = np.clip(rng.beta(0.6, 0.6, (gate.tasks, 1)), 0.01, 0.99)
        then = draw(rng, skill, (gate.tasks, gate.rollouts[0]))
        now = draw(rng, skill, (gate.tasks, gate.rollouts[1]))
        spread = float(then.std()) or 1.0
        size = spread * float(rng.choice([0.1, 1.0, 600.0]))
        now = _within(gate, now - gate.sign * lost * spread * _some(rng, now, 1.0))
        before.append(then)
        after.append(now)
        improved = then + gate.sign * size * _some(rng, then)
        worse = now - gate.sign * size * _some(rng, now)
        better_before.append(_within(gate, improved))
        worse_after.append(_within(gate, worse))
    return Pair(tuple(before), tuple(after), tuple(better_before), tuple(worse_after))


def _some(
    rng: np.random.Generator, rewards: Floats, share: float | None = None
) -> Floats:
    """Choose the rollouts that change: 1, and 0 for the others."""
    chance = float(rng.choice([0.0, 0.02, 0.2, 1.0])) if share is None else share
    return (rng.random(rewards.shape) < chance).astype(float)


def _within(gate: Gate, rewards: Floats) -> Floats:
    if gate.kind in RATES:
        return np.clip(rewards, 0, 1)
    return rewards


def milder(gate: Gate, pair: Pair) -> str:
    """Name what is judged more mildly though it is worse; empty if nothing is."""
    first = checks_of(gate, pair.before, pair.after)
    second = checks_of(gate, pair.better_before, pair.worse_after)
    if _is_settled_failure(first) and not _is_settled_failure(second):
        return "a look that is sure of a failure"
    if Verdict.FAIL not in {check.verdict for check in first}:
        return ""
    if any(check.verdict.fails for check in second):
        return ""
    failed = [check.name for check in first if check.verdict is Verdict.FAIL]
    return f"a failure of {', '.join(failed)}"


def _is_settled_failure(checks: Sequence[Check]) -> bool:
    return any(
        check.look is not None and check.look.settled == "fail" for check in checks
    )


def is_red_unchanged(rng: np.random.Generator) -> bool:
    """Whether an unchanged run of a random benchmark with a tested rule is red."""
    gate = random_gate(rng, rules=TESTED)
    # a task that must pass fails by itself
    gate = structs.replace(gate, must_pass=frozenset())
    draw = KINDS[gate.kind]
    skills = [
        np.clip(rng.beta(0.6, 0.6, (gate.tasks, 1)), 0.01, 0.99) for _ in gate.agents
    ]
    before = [draw(rng, skill, (gate.tasks, gate.rollouts[0])) for skill in skills]
    after = [draw(rng, skill, (gate.tasks, gate.rollouts[1])) for skill in skills]
    return any(check.verdict.fails for check in checks_of(gate, before, after))


def verdicts() -> Iterator[Cell]:
    """Random benchmarks with agents, quarantine, looks and directions: no change."""
    row = "agents, quarantine, looks, directions"
    limits = (0.0, MOST_FAILS)
    yield Cell("verdicts", row, "no change", is_red_unchanged, 2_000, limits)


def main() -> int:
    """Search for a worse run that is judged more mildly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    found = Counter[str]()
    failures = 0
    for seed in range(asked.first, asked.first + asked.pairs):
        rng = np.random.default_rng(seed)
        gate = random_gate(rng)
        pair = random_pair(gate, rng)
        problem = milder(gate, pair)
        failures += Verdict.FAIL in {
            check.verdict for check in checks_of(gate, pair.before, pair.after)
        }
        if problem:
            found[problem] += 1
            print(f"seed {seed}: {problem} of {gate}")
    print(
        f"{asked.pairs:,} pairs, of which {failures:,} failed: {found.total()} milder"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
