"""``summary.md``: the run for the reviewer of a pull request, the verdict first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.reports.comparison import better_way, comparison_details
from pytest_evalmetrics.reports.lost import lost_ones
from pytest_evalmetrics.reports.numbers import false_alarms, number
from pytest_evalmetrics.reports.trend import sparkline, trends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    _Told: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]  # an entry, and a check of it

__all__ = ["summary"]

_SIGNS = {"PASS": "✅", "WARN": "⚠️", "INCONCLUSIVE": "❔", "FAIL": "❌"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_LIVE = re.compile(r"(\$|(?<!\w)@(?=\w))")  # GitHub's formulas and mentions: no backslash helps
_PASSING_SHOWN = 50  # rows of passing metrics; a page has to open
_SKIPPED_SHOWN = 100
_TELLING_SHOWN = 500  # of the others; GitHub drops a summary of more than 1 MiB
_DETAILS_SHOWN = 100
_CHANGES_SHOWN = 100
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
    lost, skipped = lost_ones(report), report.get("skipped", ())
    title = f"## {_SIGNS[report['verdict']]} Benchmarks: {report['verdict']}"
    lines = [title, "", _counted(report), ""]
    chance = false_alarms(benchmarks)
    if chance:
        lines += [f"{chance}.", ""]
    told = list(_telling(benchmarks))
    if told:
        lines += [
            "| | benchmark | metric | value | 95 % interval | baseline | change | expected |",
            "|---|---|---|---|---|---|---|---|",
            *_shown(told),
            "",
        ]
    lines += _changes(benchmarks)
    details = [text for entry in benchmarks for text in _details(entry)]
    lines += [line for text in details[:_DETAILS_SHOWN] for line in text]
    if len(details) > _DETAILS_SHOWN:
        lines += [f"{many(len(details) - _DETAILS_SHOWN, 'more reason', 'is')} in report.json.", ""]
    lines += _trends(report)
    not_evaluated = f"- {_SIGNS['INCONCLUSIVE']} "
    lines += [f"{not_evaluated}{_plain(item)} {why}" for item, why in lost[:_TELLING_SHOWN]]
    if len(lost) > _TELLING_SHOWN:
        lines.append(f"{not_evaluated}and {len(lost) - _TELLING_SHOWN} more were not evaluated")
    lines += [
        f"- {_plain(s['id'])} was skipped: {_plain(s['reason'])}" for s in skipped[:_SKIPPED_SHOWN]
    ]
    if len(skipped) > _SKIPPED_SHOWN:
        lines.append(f"- and {len(skipped) - _SKIPPED_SHOWN} more were skipped")
    return "\n".join(lines).rstrip() + "\n"


def _counted(report: Mapping[str, Any]) -> str:
    benchmarks = report["benchmarks"]
    verdicts = [entry["verdict"] for entry in benchmarks]
    parts = [f"{verdicts.count(v)} {v}" for v in _SIGNS if v in verdicts]
    known = sum(entry["xfail"] and entry["verdict"] not in ("PASS", "WARN") for entry in benchmarks)
    if known:
        parts[-1] += f" ({known} known, by xfail)"
    others = ("not_evaluated", "skipped", "deselected")
    parts += [f"{len(report[key])} {key.replace('_', ' ')}" for key in others if report.get(key)]
    return ", ".join(parts)


def _telling(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[_Told]:
    """Yield each gated metric's check, and what else does not hold."""
    for entry in benchmarks:
        for check in entry["checks"]:
            if check["verdict"] != "PASS" or check["gate"] not in ("expect", "data"):
                yield entry, check


def _shown(told: Sequence[_Told]) -> list[str]:
    """Put what failed first, and leave out what passes beyond a page."""
    telling = [each for each in told if each[1]["verdict"] != "PASS"]
    passing = [each for each in told if each[1]["verdict"] == "PASS"]
    return [*_first(telling, _TELLING_SHOWN, ""), *_first(passing, _PASSING_SHOWN, " that pass")]


def _first(told: Sequence[_Told], most: int, what: str) -> list[str]:
    more = len(told) - most
    rows = [_row(entry, check) for entry, check in told[:most]]
    return rows + ([f"| | and {more} more{what} |"] if more > 0 else [])


def _row(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    known = {agent["agent"]: agent["estimates"] for agent in entry["agents"]}
    agent = check["agent"] or next(iter(known), "")
    estimate = check["estimate"] or known.get(agent, {}).get(check["name"])
    evidence = check["evidence"]
    cells = (
        _SIGNS[check["verdict"]],
        _plain(_named(entry, check["agent"])),
        _plain(check["name"]),
        number(estimate["value"] if estimate else check["value"]),
        _interval(estimate),
        number(evidence.get("baseline")),
        _change(evidence),
        _plain(", ".join(filter(None, (check["bound"], better_way(evidence))))),
    )
    return f"| {' | '.join(cells)} |"


def _named(entry: Mapping[str, Any], agent: str) -> str:
    known = " (xfail)" if entry["xfail"] else ""
    return f"{entry['name']}{known}" + (f" / {agent}" if agent else "")


def _details(entry: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the folded lines of each check that does not hold."""
    for check in entry["checks"]:
        told = check["verdict"] != "PASS" or check["evidence"].get("task_list")
        if not told or not check["reason"]:
            continue
        named = _html(_named(entry, check["agent"]))
        yield [
            "<details>",
            f"<summary>{_SIGNS[check['verdict']]} {named}: {_html(check['reason'])}</summary>",
            "",
            *(f"- {_plain(line)}" for line in comparison_details(check["evidence"])),
            *([f"- {_plain(check['hint'])}"] if check["hint"] else []),
            f"- {_plain(entry['file'])}, line {check['line'] or entry['line']}",
            "",
            "</details>",
            "",
        ]


def _changes(benchmarks: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what differs from the baselines beside the numbers."""
    found = [
        f"- {_plain(entry['name'])}: {_plain(text)}"
        for entry in benchmarks
        for text in entry.get("changes", ())
    ]
    more = len(found) - _CHANGES_SHOWN
    return [
        *(["Changed since the baseline:", ""] if found else []),
        *found[:_CHANGES_SHOWN],
        *([f"- and {more} more, in report.json"] if more > 0 else []),
        *([""] if found else []),
    ]


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
    return _inert(_SPECIAL.sub(r"\\\1", _one_line(text)))


def _one_line(text: str) -> str:
    return visible(" ".join(str(text).split()))


def _html(text: str) -> str:
    escaped = _one_line(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        escaped = escaped.replace(character, entity)
    return _inert(escaped)


def _inert(text: str) -> str:
    return _LIVE.sub(r"<span>\1</span>", text)
