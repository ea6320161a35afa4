"""The gate of slices: the tasks of one value of ``breakdown:`` that got worse fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.comparison import Slice, SliceTest, check_each
from pytest_evalmetrics.layout import natural_key
from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.reasons import (
    DependentRollouts,
    Reason,
    WorseSlice,
    WorseSlices,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.comparison import Comparison

# the share of a benchmark's alpha that slices get, where there are any: the whole loses
# less than two points of power
SLICES_SHARE: Final = 0.12
_NAMED = 10  # slices, and tasks of each, that a reason names
_SLACK = 1e-9


class SlicesToTest(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's slices of its gated metric."""

    agent: str  # where a benchmark has several
    slices: tuple[Slice, ...]
    alpha: float  # of the benchmark: slices get a share of it
    line: int | None = None  # of the benchmark file


def check_slices(
    agents: Sequence[SlicesToTest],
    *,
    benchmarks: int = 1,
    acceptance: Acceptance = Acceptance.SNAPSHOT,
) -> list[Check]:
    """Judge whether any slice got worse, one check an agent.

    Parameters
    ----------
    agents
        The slices of all agents, which share the level.
    benchmarks
        How many benchmarks of the run share the level.
    acceptance
        How an intended change is accepted.
    """
    if not agents:
        return []
    alpha = float(f"{SLICES_SHARE * agents[0].alpha:.12g}") / benchmarks
    every = [one for agent in agents for one in agent.slices]
    tests = check_each(every, alpha)
    checks = []
    for agent in agents:
        own = set(map(id, agent.slices))
        of_agent = [test for test in tests if id(test.slice) in own]
        checks.append(_check(agent, of_agent, alpha=alpha, acceptance=acceptance))
    return checks


def _check(
    agent: SlicesToTest,
    tests: Sequence[SliceTest],
    *,
    alpha: float,
    acceptance: Acceptance,
) -> Check:
    worse = [test for test in tests if test.p < alpha and _matters(test.comparison)]
    doubts = [test.doubt for test in worse]
    reasons: list[Reason] = []
    verdict = Verdict.PASS
    if worse:
        named = tuple(_worse_slice(test) for test in worse[:_NAMED])
        reasons.append(WorseSlices(slices=named, count=len(worse), of=len(tests)))
        # a proof that nothing puts in doubt fails, whatever the others are worth
        verdict = Verdict.FAIL
        if None not in doubts:
            verdict = Verdict.WARN
            reasons += [DependentRollouts(doubt) for doubt in doubts[:1] if doubt]
    return Check(
        gate=Gate.BASELINE,
        name="slices",
        verdict=verdict,
        agent=agent.agent,
        value=len(worse),
        bound=SlicesBound(alpha),
        reasons=tuple(reasons),
        line=agent.line,
        acceptance=acceptance,
    )


def _matters(comparison: Comparison) -> bool:
    """Check whether the drop is one that the rule of the whole is about."""
    rule = comparison.rule
    is_limited = rule.rule is RuleName.PRACTICAL and not comparison.lost_all
    return not is_limited or comparison.drop >= rule.max_drop - _SLACK


def _worse_slice(test: SliceTest) -> WorseSlice:
    comparison = test.comparison
    # without the shift between runs that it was tested beyond
    pair = test.slice.compared.pair
    damage = comparison.damage
    fell = sorted(
        np.flatnonzero(damage > 0).tolist(),
        key=lambda place: (-damage[place], natural_key(pair.tasks[place])),
    )
    tasks = [str(pair.tasks[place]) for place in fell[:_NAMED]]
    return WorseSlice(
        name=pair.name,
        before=_six_digits(pair.value_baseline),
        now=_six_digits(pair.value_current),
        p=_six_digits(test.p),
        tasks=len(pair.tasks),
        worse=comparison.worse,
        worst=tuple(tasks),
    )


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
