"""``summary.md``: the run for the reviewer of a pull request, the verdict first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.comparison import comparison_details
from pytest_evalmetrics.reports.numbers import number
from pytest_evalmetrics.reports.trend import sparkline, trends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["summary"]

_SIGNS = {"PASS": "✅", "WARN": "⚠️", "INCONCLUSIVE": "❔", "FAIL": "❌"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_PASSING_SHOWN = 50  # rows of passing metrics; a page has to open
_TRENDS_SHOWN = 50
_LAST_VALUES = 5


def summary(report: Mapping[str, Any]) -> str:
    """Write the summary.

    Parameters
    ----------
    report
        The report's document.

    Returns
    -------
    str
        Markdown; nothing that a benchmark's file or its rows say is interpreted.
    """
    benchmarks = report["benchmarks"]
    verdicts = [entry["verdict"] for entry in benchmarks]
    counted = ", ".join(f"{verdicts.count(v)} {v}" for v in _SIGNS if v in verdicts)
    lost = report["not_evaluated"]
    if lost:
        counted += f", {len(lost)} not evaluated"
    lines = [f"## {_SIGNS[report['verdict']]} Benchmarks: {report['verdict']}", "", counted, ""]
    rows = list(_rows(benchmarks))
    if rows:
        lines += [
            "| | benchmark | metric | value | 95 % interval | baseline | change | expected |",
            "|---|---|---|---|---|---|---|---|",
            *_shown(rows),
            "",
        ]
    for entry in benchmarks:
        lines += _details(entry)
    lines += _trends(report)
    lines += [f"- {_SIGNS['INCONCLUSIVE']} {_plain(item)} was not evaluated" for item in lost]
    return "\n".join(lines).rstrip() + "\n"


def _rows(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each gated metric's verdict and its row."""
    for entry in benchmarks:
        known = {agent["agent"]: agent["estimates"] for agent in entry["agents"]}
        for check in entry["checks"]:
            if check["gate"] in ("expect", "data") and check["verdict"] == "PASS":
                continue
            agent = check["agent"] or next(iter(known), "")
            estimate = check["estimate"] or known.get(agent, {}).get(check["name"])
            evidence = check["evidence"]
            cells = (
                _SIGNS[check["verdict"]],
                _plain(entry["name"] + (f" / {check['agent']}" if check["agent"] else "")),
                _plain(check["name"]),
                number(estimate["value"] if estimate else check["value"]),
                _interval(estimate),
                number(evidence.get("baseline")),
                _change(evidence),
                _plain(check["bound"]),
            )
            yield check["verdict"], f"| {' | '.join(cells)} |"


def _shown(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Put what failed first, and leave out what passes beyond a page."""
    telling = [row for verdict, row in rows if verdict != "PASS"]
    passing = [row for verdict, row in rows if verdict == "PASS"]
    more = len(passing) - _PASSING_SHOWN
    return telling + passing[:_PASSING_SHOWN] + ([f"| | and {more} more |"] if more > 0 else [])


def _details(entry: Mapping[str, Any]) -> list[str]:
    lines = []
    for check in entry["checks"]:
        if check["verdict"] == "PASS" or not check["reason"]:
            continue
        told = f"{_SIGNS[check['verdict']]} {_html(entry['name'])}: {_html(check['reason'])}"
        lines += [
            "<details>",
            f"<summary>{told}</summary>",
            "",
            *(f"- {_plain(line)}" for line in comparison_details(check["evidence"])),
            *([f"- {_plain(check['hint'])}"] if check["hint"] else []),
            f"- {_plain(entry['file'])}, line {check['line'] or entry['line']}",
            "",
            "</details>",
            "",
        ]
    return lines


def _trends(report: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {_plain(entry['name'] + (f' / {agent}' if agent else ''))} | {_plain(name)} "
        f"| {sparkline(values)} | {', '.join(map(number, values[-_LAST_VALUES:]))} |"
        for entry, agent, name, values in trends(report)
    ]
    if not rows:
        return []
    more = len(rows) - _TRENDS_SHOWN
    return [
        "### The last runs",
        "",
        "| benchmark | metric | trend | last values |",
        "|---|---|---|---|",
        *rows[:_TRENDS_SHOWN],
        *([f"| and {more} more | | | |"] if more > 0 else []),
        "",
    ]


def _interval(estimate: Mapping[str, Any] | None) -> str:
    found = estimate["interval"] if estimate else None
    return f"{number(found['low'])} to {number(found['high'])}" if found else ""


def _change(evidence: Mapping[str, Any]) -> str:
    if evidence.get("baseline") is None or evidence.get("current") is None:
        return ""
    change = evidence["current"] - evidence["baseline"]
    p = evidence.get("p_adjusted")
    sure = "" if p is None else f" (p = {p:.2g})"
    return ("+" if change > 0 else "") + number(change) + sure


def _plain(text: str) -> str:
    """Escape what Markdown would interpret."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _html(text: str) -> str:
    escaped = " ".join(str(text).split())
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        escaped = escaped.replace(character, entity)
    return escaped
