"""Checks with the benchmarks that they are of, as summaries list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.reports import check_wording, run_wording, triage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport


class JudgedCheck(msgspec.Struct, frozen=True):
    """A check, and the benchmark that it is of."""

    result: BenchmarkResult
    check: Check
    other_agents: tuple[str, ...] = ()  # of which the same is said

    @property
    def line(self) -> int:
        """The line of the benchmark file that asks for it."""
        return self.check.line or self.result.line

    @property
    def name(self) -> str:
        """The benchmark, and the agents where it has several."""
        name = self.result.name
        if self.result.xfail:
            name += " (xfail)"
        agents = [agent for agent in (self.check.agent, *self.other_agents) if agent]
        if agents:
            name += f" / {', '.join(agents)}"
        return name

    def and_of(self, agent: str) -> JudgedCheck:
        """Say the same of another agent."""
        return structs.replace(self, other_agents=(*self.other_agents, agent))


def checks_of(report: RunReport) -> list[JudgedCheck]:
    """List all checks, in the order of their benchmarks."""
    checks: list[JudgedCheck] = []
    for result in report.benchmarks:
        checks += [JudgedCheck(result, check) for check in result.checks]
    return checks


def checks_by_evidence(report: RunReport) -> list[JudgedCheck]:
    """List all checks: those of the surest failing benchmarks first."""
    checks: list[JudgedCheck] = []
    for result in run_wording.by_evidence(report.benchmarks):
        in_turn = triage.in_turn(result.checks)
        checks += [JudgedCheck(result, check) for check in in_turn]
    return checks


def unmet_checks(report: RunReport) -> list[JudgedCheck]:
    """List the checks that do not hold: those of the surest benchmarks first."""
    unmet: list[JudgedCheck] = []
    for result in run_wording.by_evidence(report.benchmarks):
        in_turn = triage.in_turn(result.checks)
        unmet += [JudgedCheck(result, check) for check in check_wording.unmet(in_turn)]
    return unmet


def joined_by_reason(checks: Iterable[JudgedCheck]) -> list[JudgedCheck]:
    """Join the checks of a benchmark's agents that have the same reason."""
    joined: dict[tuple[str, ...], JudgedCheck] = {}
    for judged in checks:
        check = judged.check
        key = (
            judged.result.id,
            check.name,
            str(check.verdict),
            check_wording.own_reason(check),
            *check_wording.comparison_details(check),
        )
        if key in joined:
            joined[key] = joined[key].and_of(check.agent)
        else:
            joined[key] = judged
    return list(joined.values())
