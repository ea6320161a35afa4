"""Why a run is red: the checks that fail, grouped by cause."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.rollout_table import UNNAMED_AGENT
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.check_wording import checked_agent, is_by_numbers
from pytest_evalmetrics.reports.sentences import reason_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, Check

FOLDED = 5  # failing benchmarks that a log shows one by one
_ROOM = 45  # lines for the first of each cause, where there are more of them
_LINES = 14  # of a regression
_FEW_LINES = 4  # of what could not be judged
_GROUPED = 5  # with fewer of them, each is read by itself
_CAUSES_SHOWN = 8
_PARTS_SHOWN = 6
_RED = (Verdict.FAIL, Verdict.INCONCLUSIVE)  # the strongest first


def strength(check: Check) -> tuple[int, float, float]:
    """Rank a check: the verdict, then the p value, then the loss."""
    rank = len(_RED)
    if check.verdict in _RED:
        rank = _RED.index(check.verdict)
    facts = check.comparison
    p = 1.0
    drop = 0.0
    if facts is not None:
        if facts.p_adjusted is not None:
            p = facts.p_adjusted
        if facts.drop is not None:
            drop = facts.drop
    return rank, p, -drop


def evidence(check: Check) -> tuple[int, float, float]:
    """Rank a check as `strength` does, one of slices or tasks by the surest of them."""
    rank, p, loss = strength(check)
    for reason in check.reasons:
        match reason:
            case kinds.WorseSlices(slices=slices):
                p = min(p, *(one.p for one in slices))
            case kinds.WorseTasks(tasks=tasks):
                p = min(p, *(one.p for one in tasks))
    return rank, p, loss


def in_turn(checks: Iterable[Check]) -> list[Check]:
    """Order the checks of a benchmark for a reader.

    The worst verdict comes first; of these the agent with the surest check, its slices and
    single tasks before its metrics, which keep their order: the headline is the first.
    """
    checks = list(checks)
    surest: dict[str, tuple[int, float, float]] = {}
    for check in checks:
        own = evidence(check)
        surest[check.agent] = min(own, surest.get(check.agent, own))

    def turn(check: Check) -> tuple[int, tuple[int, float, float], bool]:
        rank, _, _ = strength(check)
        is_of_metric = check.comparison is not None
        return rank, surest[check.agent], is_of_metric

    return sorted(checks, key=turn)


def leading(result: BenchmarkResult) -> Check | None:
    """Return the check to name where a benchmark has one line; None without any.

    It has the worst verdict, and is of the agent with the surest check.
    """
    checks = [check for check in result.checks if check.verdict is result.verdict]
    if result.verdict is Verdict.PASS:
        checks = [check for check in checks if _turn_of(check) in _OF_METRICS]
    if not checks:
        return None
    surest = in_turn(checks)[0]
    of_agent = [check for check in checks if check.agent == surest.agent]
    return min(of_agent, key=_turn_of)


_OF_METRICS = (1, 2)


def _turn_of(check: Check) -> int:
    """Order the checks of an agent for one line.

    Without all rollouts no number counts. A compared metric says most; its slices and single
    tasks say more than a line holds.
    """
    if check.gate in (Gate.EXPECT, Gate.DATA):
        return 0
    if check.gate is Gate.BASELINE and check.comparison is not None:
        return 1
    if check.gate is Gate.THRESHOLD:
        return 2
    return 3


def failing(results: Sequence[BenchmarkResult]) -> list[BenchmarkResult]:
    """List the benchmarks that make the run red, the strongest evidence first."""
    red = [result for result in results if result.verdict in _RED and not result.xfail]
    return sorted(red, key=_strongest)


def _strongest(result: BenchmarkResult) -> tuple[int, float, float]:
    return min(map(strength, result.checks))


def folded(results: Sequence[BenchmarkResult]) -> set[str]:
    """Return the failing benchmarks that a log does not explain, if there are many."""
    red = {result.id for result in failing(results)}
    if len(red) <= FOLDED:
        return set()
    explained: set[str] = set()
    room = _ROOM
    for cause in _causes(results):
        room -= _lines_of(cause)
        if room < 0:
            break
        explained.add(cause.first)
    return red - explained


def _lines_of(cause: _Cause) -> int:
    """Return the lines that the first benchmark of a cause may take."""
    if cause.metrics:
        return _LINES
    return _FEW_LINES  # without metrics it could not be judged


class CauseLines(msgspec.Struct, frozen=True, array_like=True):
    """What a summary says of a cause."""

    head: str  # the benchmarks that it concerns
    case: str = ""  # the strongest one
    command: str = ""  # that runs it
    first: str = ""  # the strongest one's id


def triage(results: Sequence[BenchmarkResult]) -> list[CauseLines]:
    """Describe each cause, if there are many failures."""
    red = len(failing(results))
    if red < _GROUPED:
        return []
    causes = _causes(results)
    is_grouped = any(len(cause.ids) > 1 for cause in causes)
    if red <= FOLDED and not is_grouped:  # then each benchmark says it by itself
        return []
    lines = [_described(cause, red) for cause in causes[:_CAUSES_SHOWN]]
    if len(causes) > _CAUSES_SHOWN:
        more = many(len(causes) - _CAUSES_SHOWN, "more cause")
        lines.append(CauseLines(f"and {more}"))
    return lines


def _described(cause: _Cause, red: int) -> CauseLines:
    name = cause.first.rpartition("::")[2]
    if len(cause.ids) == 1:
        head = f"{cause.verdict} {name}"
        case = cause.reason
    else:
        head = f"{cause.verdict} {of_many(len(cause.ids), red, 'failing benchmark')}"
        case = f"first {name}: {cause.reason}"
    where = (*cause.agents, *cause.metrics)
    if where:
        head += f": {', '.join(where)}"
    if cause.parts:
        head += f", in {listed(cause.parts, _PARTS_SHOWN)}"
    command = f"pytest {shlex.quote(cause.first)}"
    return CauseLines(head, case, command, cause.first)


# -- grouping --------------------------------------------------------------------------------


class _Case(msgspec.Struct, frozen=True):
    """A check that fails."""

    result: BenchmarkResult
    check: Check

    @property
    def metric(self) -> str:
        """The metric's name, without the part of the tasks that it is of."""
        return self.check.name.partition("[")[0]

    @property
    def part(self) -> str:
        """The part of the tasks; empty for all."""
        return self.check.name.partition("[")[2].removesuffix("]")


class _Cause(msgspec.Struct, frozen=True):
    """A reason that several benchmarks fail for, in the order of their evidence."""

    verdict: Verdict
    agents: tuple[str, ...]  # empty if the run has one
    kind: Hashable  # what makes it a cause of its own, beside agents and metrics
    reason: str  # of the first benchmark
    metrics: tuple[str, ...]  # that fall
    parts: tuple[str, ...]  # of broken-down metrics
    ids: tuple[str, ...]  # of the benchmarks

    @property
    def first(self) -> str:
        """The benchmark with the strongest evidence."""
        return self.ids[0]


def _causes(results: Sequence[BenchmarkResult]) -> list[_Cause]:
    """Group failing checks: drops by agent and metric, others by their reason, too."""
    cases = sorted(_cases(results), key=lambda case: strength(case.check))
    groups: dict[Hashable, list[_Case]] = {}
    for case in cases:
        agent = checked_agent(case.result, case.check)
        key = (case.check.verdict, agent, case.metric, _kinds(case.check))
        groups.setdefault(key, []).append(case)
    agents = {agent.agent for result in results for agent in result.agents}
    several = len(agents) > 1
    causes = [_cause(group, several=several) for group in groups.values()]
    joined = _joined_agents(_joined_metrics(causes))
    joined.sort(key=lambda cause: (_RED.index(cause.verdict), -len(cause.ids)))
    return joined


def _cases(results: Sequence[BenchmarkResult]) -> Iterator[_Case]:
    for result in failing(results):
        for check in result.checks:
            if check.verdict in _RED:
                yield _Case(result, check)


def _kinds(check: Check) -> Hashable:
    """Return what makes two checks of a metric one cause."""
    if check.verdict is Verdict.FAIL:
        return check.gate, is_by_numbers(check)
    return tuple(_kind(reason) for reason in check.reasons)


def _kind(reason: kinds.Reason) -> Hashable:
    match reason:
        case kinds.Failed(words=words) | kinds.NotComparable(words=words):
            return type(reason), words
        case kinds.HookFailed(error=error):
            return type(reason), error
        case kinds.InvalidKey(path=path):
            return type(reason), path
        case kinds.MeasurementChanged(changes=changes):
            return type(reason), changes
    return type(reason)


def _cause(cases: Sequence[_Case], *, several: bool) -> _Cause:
    """Describe the checks that fail for one reason; `several` agents are named."""
    first = cases[0]
    agent = checked_agent(first.result, first.check)
    agents: tuple[str, ...] = ()
    if several and agent not in ("", UNNAMED_AGENT):
        agents = (agent,)
    metrics: tuple[str, ...] = ()
    if first.check.verdict is Verdict.FAIL:
        metrics = (first.metric,)
    return _Cause(
        verdict=first.check.verdict,
        agents=agents,
        kind=_kinds(first.check),
        reason=reason_of(_without_place(first.check)),
        metrics=metrics,
        parts=_distinct([case.part for case in cases if case.part]),
        ids=_distinct([case.result.id for case in cases]),
    )


def _without_place(check: Check) -> Check:
    """Leave out the file in which an error occurred: others have the same one elsewhere."""
    reasons: list[kinds.Reason] = []
    for reason in check.reasons:
        if isinstance(reason, kinds.Failed):
            reasons.append(structs.replace(reason, place=""))
        else:
            reasons.append(reason)
    return structs.replace(check, reasons=tuple(reasons))


def _joined_metrics(causes: Sequence[_Cause]) -> list[_Cause]:
    """Join the metrics that the same benchmarks of an agent fail for."""
    joined: dict[Hashable, _Cause] = {}
    for at, cause in enumerate(causes):
        key: Hashable = at
        if cause.metrics:
            key = (cause.verdict, cause.agents, frozenset(cause.ids))
        first = joined.get(key)
        if first is None:
            joined[key] = cause
            continue
        joined[key] = structs.replace(
            first,
            metrics=_distinct((*first.metrics, *cause.metrics)),
            parts=_distinct((*first.parts, *cause.parts)),
        )
    return list(joined.values())


def _joined_agents(causes: Sequence[_Cause]) -> list[_Cause]:
    """Join the agents that fail for the same reason in the same benchmarks."""
    joined: dict[Hashable, _Cause] = {}
    for cause in causes:
        key = (
            cause.verdict,
            cause.kind,
            frozenset(cause.metrics),
            frozenset(cause.parts),
            frozenset(cause.ids),
        )
        first = joined.get(key)
        if first is None:
            joined[key] = cause
        else:
            agents = _distinct((*first.agents, *cause.agents))
            joined[key] = structs.replace(first, agents=agents)
    return list(joined.values())


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
