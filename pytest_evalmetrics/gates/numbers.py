"""Thresholds on other numbers than the reward: do the rollouts have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.gates.completeness import policy_of
from pytest_evalmetrics.layout import of_many
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.results import AgentResult, Estimate
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["check_numbers", "few_numbers"]


def check_numbers(benchmark: Benchmark, agent: str, result: AgentResult) -> Iterator[Check]:
    """Check that the numbers under thresholds are there; the reward has checks of its own."""
    spec = benchmark.spec
    _, limit = policy_of(spec.expect)
    told = set()
    for name in spec.thresholds:
        found = result.estimates[name]
        of = found.score or found.name
        if not _lacks(found, spec.reward) or (of, found.missing) in told:
            continue
        told.add((of, found.missing))
        total = found.missing + found.rollouts
        share = found.missing / total
        holds = share <= limit
        reason = f"{_without(found)}, {share * 100:.3g} %"
        if not holds and limit:
            reason += f", more than {limit * 100:.3g} %"
        yield Check(
            "expect",
            f"missing/{of}",
            Verdict.PASS if holds else Verdict.FAIL,
            agent=agent,
            value=share,
            bound=f"<= {limit:.12g}",
            reason=f"{reason}: left out"
            if holds
            else f"{reason}: {found.name} is of the others alone",
            hint=""
            if holds
            else "complete the run; or say how many may lack it: expect: {max_missing: 2%}",
            line=benchmark.line_of("thresholds", name),
        )


def few_numbers(benchmark: Benchmark, agent: str, result: AgentResult) -> list[str]:
    """Say which other metrics that the benchmark lists rest on a part of the rollouts."""
    spec = benchmark.spec
    listed = dict.fromkeys((*spec.metrics, *(spec.key_metrics or ())))
    of = f"{agent}: " if agent else ""
    return [
        f"{of}{found.name} is of {found.rollouts} rollouts: {_without(found)}"
        for name in listed
        if name not in spec.thresholds and _lacks(found := result.estimates[name], spec.reward)
    ]


def _lacks(found: Estimate, reward: str) -> bool:
    return found.missing > 0 and found.score != reward


def _without(found: Estimate) -> str:
    what = f"no finite {found.score}" if found.score else f"nothing that {found.name} reads"
    total = found.missing + found.rollouts
    return f"{of_many(found.missing, total, 'rollout', 'has')} {what}"
