"""Why a run is red: the checks that fail, grouped by cause, the strongest evidence first."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import listed, many, of_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOLDED = 10  # failing benchmarks that a log shows one by one
_EXPLAINED = 2  # of more of them
_GROUPED = 5  # with fewer of them, each is read by itself
_CAUSES_SHOWN = 8
_PARTS_SHOWN = 6
_RED = ("FAIL", "INCONCLUSIVE")
_PLACE = re.compile(r"^\S+:\d+: ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\w.%-]*")


def strength(check: Mapping[str, Any]) -> tuple[int, float, float]:
    """Rank a check: the verdict, then the p value, then the loss."""
    evidence = check.get("evidence", {})
    p = evidence.get("p_adjusted")
    rank = _RED.index(check["verdict"]) if check["verdict"] in _RED else len(_RED)
    return rank, 1.0 if p is None else p, -(evidence.get("drop") or 0.0)


def failing(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the benchmarks that make the run red, the strongest evidence first."""
    red = [e for e in report["benchmarks"] if e["verdict"] in _RED and not e["xfail"]]
    return sorted(red, key=lambda entry: min(map(strength, entry["checks"]), default=(2, 1.0, 0.0)))


def folded(report: Mapping[str, Any]) -> set[str]:
    """Name the failing benchmarks whose explanation a log omits, where there are many."""
    red = {entry["id"] for entry in failing(report)}
    if len(red) <= FOLDED:
        return set()
    return red - {next(iter(cause.ids)) for cause in _causes(report)[:_EXPLAINED]}


def triage(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Say for each cause whom it concerns, the strongest case, and a command for that."""
    red = len(failing(report))
    if red < _GROUPED:
        return []
    causes = _causes(report)
    lines = []
    for cause in causes[:_CAUSES_SHOWN]:
        where = ", ".join(filter(None, [cause.agent, *cause.metrics]))
        head = f"{cause.verdict} {of_many(len(cause.ids), red, 'failing benchmark')}"
        head += f": {where}" if where else ""
        head += f", in {listed(list(cause.parts), _PARTS_SHOWN)}" if cause.parts else ""
        first = next(iter(cause.ids))
        case = f"first {first.rpartition('::')[2]}: {cause.reason}"
        lines.append((head, case, f"pytest {shlex.quote(first)}"))
    if len(causes) > _CAUSES_SHOWN:
        lines.append((f"and {many(len(causes) - _CAUSES_SHOWN, 'more cause')}", "", ""))
    return lines


class _Cause(msgspec.Struct):
    """A reason that several benchmarks fail for; the keys are in the order of their evidence."""

    verdict: str
    agent: str
    reason: str  # of the first benchmark
    metrics: dict[str, None] = {}
    parts: dict[str, None] = {}  # of broken-down metrics
    ids: dict[str, None] = {}  # of the benchmarks


def _causes(report: Mapping[str, Any]) -> list[_Cause]:
    """Group failing checks by verdict, agent and metric; without a number, by the reason."""
    several = len({a["agent"] for entry in report["benchmarks"] for a in entry["agents"]}) > 1
    causes: dict[tuple[str, ...], _Cause] = {}
    checks = [(entry, check) for entry in failing(report) for check in entry["checks"]]
    for entry, check in sorted(checks, key=lambda pair: strength(pair[1])):
        verdict = check["verdict"]
        if verdict not in _RED:
            continue
        agents = [a["agent"] for a in entry["agents"]]
        agent = check["agent"] or (agents[0] if len(agents) == 1 else "")
        metric, _, part = check["name"].partition("[")
        reason = _PLACE.sub("", check["reason"])
        kind = metric if verdict == "FAIL" else _VARYING.sub("_", reason)
        new = _Cause(verdict, agent if several else "", reason)
        cause = causes.setdefault((verdict, agent, kind), new)
        cause.ids[entry["id"]] = None
        if verdict == "FAIL":
            cause.metrics[metric] = None
        if part:
            cause.parts[part.removesuffix("]")] = None
    return sorted(_joined(causes.values()), key=lambda c: (_RED.index(c.verdict), -len(c.ids)))


def _joined(causes: Iterable[_Cause]) -> Iterator[_Cause]:
    """Make one cause of the metrics that the same benchmarks of an agent fail for."""
    same: dict[tuple[str, str, frozenset[str]], _Cause] = {}
    for cause in causes:
        first = same.setdefault((cause.verdict, cause.agent, frozenset(cause.ids)), cause)
        if first is not cause and cause.verdict == "FAIL":
            first.metrics |= cause.metrics
            first.parts |= cause.parts
        else:
            yield cause
