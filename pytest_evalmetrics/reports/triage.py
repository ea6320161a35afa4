"""Why a run is red: the checks that fail, grouped by cause, the strongest evidence first."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import many, of_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FOLDED", "failing", "folded", "strength", "triage"]

FOLDED = 10  # failing benchmarks that a log shows one by one
_EXPLAINED = 2  # of more of them
_GROUPED = 5  # with fewer of them, each is read by itself
_CAUSES_SHOWN = 8
_PARTS_SHOWN = 6
_RED = ("FAIL", "INCONCLUSIVE")
_PLACE = re.compile(r"^\S+:\d+: ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\w.%-]*")


class _Cause(msgspec.Struct):
    """What several benchmarks fail for."""

    verdict: str
    agent: str
    metrics: list[str]
    parts: list[str]
    ids: list[str]  # of the benchmarks, the strongest evidence first
    text: str  # the first one's reason

    @property
    def command(self) -> str:
        """The command that evaluates the first benchmark alone, and explains it."""
        return f"pytest {shlex.quote(self.ids[0])}"


def strength(check: Mapping[str, Any]) -> tuple[int, float, float]:
    """Rank a check: the verdict, then the p value, then the loss."""
    evidence = check.get("evidence", {})
    p = evidence.get("p_adjusted")
    return (
        _RED.index(check["verdict"]) if check["verdict"] in _RED else len(_RED),
        1.0 if p is None else p,
        -(evidence.get("drop") or 0.0),
    )


def failing(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the benchmarks that make the run red, the strongest evidence first."""
    red = [e for e in report["benchmarks"] if e["verdict"] in _RED and not e["xfail"]]
    return sorted(red, key=lambda entry: min(map(strength, entry["checks"]), default=(2, 1.0, 0.0)))


def _causes(report: Mapping[str, Any]) -> list[_Cause]:
    """Group failing checks by verdict, agent and metric; without a number, by the reason."""
    several = len({a["agent"] for entry in report["benchmarks"] for a in entry["agents"]}) > 1
    groups: dict[tuple[str, ...], _Cause] = {}
    found = [(entry, check) for entry in failing(report) for check in entry["checks"]]
    for entry, check in sorted(found, key=lambda pair: strength(pair[1])):
        if check["verdict"] not in _RED:
            continue
        agents = [a["agent"] for a in entry["agents"]]
        agent = check["agent"] or (agents[0] if len(agents) == 1 else "")
        metric, _, part = check["name"].partition("[")
        reason = _PLACE.sub("", check["reason"])
        kind = metric if check["verdict"] == "FAIL" else _VARYING.sub("_", reason)
        key = (check["verdict"], agent, kind)
        cause = groups.setdefault(
            key, _Cause(check["verdict"], agent if several else "", [], [], [], reason)
        )
        for values, value in (
            (cause.metrics, metric if check["verdict"] == "FAIL" else ""),
            (cause.parts, part.removesuffix("]")),
            (cause.ids, entry["id"]),
        ):
            if value and value not in values:
                values.append(value)
    return sorted(_joined(groups), key=lambda c: (_RED.index(c.verdict), -len(c.ids)))


def folded(report: Mapping[str, Any]) -> set[str]:
    """Name the failing benchmarks whose explanation a log omits, where there are many."""
    red = {entry["id"] for entry in failing(report)}
    if len(red) <= FOLDED:
        return set()
    return red - {cause.ids[0] for cause in _causes(report)[:_EXPLAINED]}


def _joined(groups: Mapping[tuple[str, ...], _Cause]) -> Iterator[_Cause]:
    """Make one cause of the metrics that the same benchmarks of an agent fail for."""
    same: dict[tuple[str, str, frozenset[str]], _Cause] = {}
    for cause in groups.values():
        first = same.setdefault((cause.verdict, cause.agent, frozenset(cause.ids)), cause)
        if first is not cause and cause.verdict == "FAIL":
            first.metrics += cause.metrics
            first.parts += [part for part in cause.parts if part not in first.parts]
        else:
            yield cause


def triage(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Say for each cause whom it concerns, the strongest case, and a command for that."""
    red = len(failing(report))
    if red < _GROUPED:
        return []
    groups = _causes(report)
    lines = []
    for cause in groups[:_CAUSES_SHOWN]:
        where = ", ".join([*filter(None, [cause.agent]), *cause.metrics])
        more = f" and {len(cause.parts) - _PARTS_SHOWN} more"
        parts = ", ".join(cause.parts[:_PARTS_SHOWN])
        parts += more if len(cause.parts) > _PARTS_SHOWN else ""
        head = f"{cause.verdict} {of_many(len(cause.ids), red, 'failing benchmark')}"
        head += (f": {where}" if where else "") + (f", in {parts}" if parts else "")
        name = cause.ids[0].rpartition("::")[2]
        lines.append((head, f"first {name}: {cause.text}", cause.command))
    if len(groups) > _CAUSES_SHOWN:
        lines.append((f"and {many(len(groups) - _CAUSES_SHOWN, 'more cause')}", "", ""))
    return lines
