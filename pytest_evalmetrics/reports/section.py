"""The terminal: one line per benchmark at the end of a run, and the plan's table."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.reports.lines import (
    false_alarms,
    judge_lines,
    lost_ones,
    number,
    recorded_count,
    recorded_lines,
    table,
)
from pytest_evalmetrics.reports.triage import FOLDED, failing, triage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.results import Power

__all__ = ["power_table", "section"]

_COLOURS = {"PASS": "green", "WARN": "yellow", "INCONCLUSIVE": "red", "FAIL": "red"}
_NAMED = 3  # key metrics on a benchmark's line; all of them are in the report
_AGENTS_SHOWN = 3
_OTHERS_SHOWN = 10
_BLIND_SHOWN = 5
_MANY = 5  # benchmarks of which a false alarm is likely enough to be told
_WIDTH = 156
_PASSING_SHOWN = 30  # lines of passing benchmarks; -v shows all


def section(
    report: dict[str, Any], written: Sequence[str], *, verbosity: int
) -> list[tuple[str, str | None]]:
    """Write the section.

    Parameters
    ----------
    report
        The report's document.
    written
        The artifacts' paths, as they are shown.
    verbosity
        pytest's: below 0 one line for all, above 0 the notes of every benchmark too.

    Returns
    -------
    list of (line, colour or None)
    """
    entries = report["benchmarks"]
    red = failing(report)
    lines: list[tuple[str, str | None]] = []
    if verbosity <= 0:
        for head, *rest in triage(report):
            lines.append((head, "red"))
            lines += [(f"    {_cut(text)}", None) for text in rest if text]
    if verbosity < 0:
        lines.append((_count(entries, report), _COLOURS[report["verdict"]]))
        counted = recorded_count([entry["recorded"] for entry in entries])
        lines += [(counted, None)] if counted else []
    elif verbosity == 0 and len(red) > FOLDED:
        lines += _folded(entries, red, written)
    else:
        lines += _each(entries, everything=verbosity > 0)
    if verbosity >= 0:
        lines += _others(report, everything=verbosity > 0)
    if verbosity == 0:
        lines += [(f"note: {note}", None) for note in _common_notes(entries)]
    lines += [(f"note: {note}", None) for note in _blind_gates(entries)]
    chance = false_alarms(entries)
    if chance and verbosity >= 0 and len(entries) >= _MANY:
        lines.append((f"note: {chance}", None))
    if written:
        lines.append(("artifacts: " + ", ".join(written), None))
    return [(visible(line), colour) for line, colour in lines]


def _each(
    entries: Sequence[dict[str, Any]], *, everything: bool
) -> Iterator[tuple[str, str | None]]:
    """Write each benchmark's line, and what belongs to it."""
    shown, hidden = _shown(entries, everything=everything)
    for entry in shown:
        yield _line(entry), "yellow" if entry["xfail"] else _COLOURS[entry["verdict"]]
        details = _details(entry) if everything else _task_lists(entry)
        details += [f"changed: {text}" for text in entry.get("changes", ())]
        details += recorded_lines(entry["recorded"])
        details += judge_lines(entry.get("judges", ()))
        yield from ((f"    {text}", None) for text in details)
    if hidden:
        yield f"... and {hidden} more that pass (-v shows them)", "green"


def _folded(
    entries: Sequence[dict[str, Any]], red: Sequence[dict[str, Any]], written: Sequence[str]
) -> Iterator[tuple[str, str | None]]:
    """Write the benchmarks with the strongest evidence, and count the others."""
    for entry in red[:FOLDED]:
        yield _line(entry), _COLOURS[entry["verdict"]]
    yield f"... and {len(red) - FOLDED} more that fail: {_where(written)}", "red"
    ids = {entry["id"] for entry in red}
    others = Counter(
        "known failures" if e["xfail"] else e["verdict"] for e in entries if e["id"] not in ids
    )
    if others:
        counts = ", ".join(f"{count} {what}" for what, count in others.items())
        yield f"... and {counts} (-v shows them)", None
    if counted := recorded_count([entry["recorded"] for entry in entries]):
        yield counted, None


def _where(written: Sequence[str]) -> str:
    """Name the file that has what the terminal folds."""
    named = [path for path in written if path.endswith(("summary.md", "report.html"))]
    return f"{named[0]}, or -v shows them" if named else "-v shows them"


def _cut(text: str) -> str:
    """Shorten a line to two lines of a narrow terminal; all of it is in the report."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _shown(
    entries: Sequence[dict[str, Any]], *, everything: bool
) -> tuple[list[dict[str, Any]], int]:
    # a new baseline is always told
    passing = [e for e in entries if e["verdict"] == "PASS" and not e["recorded"].get("written")]
    hidden = 0 if everything else max(0, len(passing) - _PASSING_SHOWN)
    left_out = {e["id"] for e in passing[len(passing) - hidden :]}
    return [e for e in entries if e["id"] not in left_out], hidden


def _line(entry: dict[str, Any]) -> str:
    parts = [f"{entry['verdict']:<12}  {entry['id']}" + (" (xfail)" if entry["xfail"] else "")]
    several = len(entry["agents"]) > 1
    failing = {c["agent"] for c in entry["checks"] if c["verdict"] != "PASS"}
    agents = sorted(entry["agents"], key=lambda a: a["agent"] not in failing)  # those first
    for agent in agents[:_AGENTS_SHOWN]:
        named = [
            f"{name} {number(value)}" for name, value in _headline_metrics(entry, agent)[:_NAMED]
        ]
        counts = f"{many(agent['tasks'], 'task')}, {many(agent['rollouts'], 'rollout')}"
        if agent["missing"]:
            counts += f", {agent['missing']} missing"
        parts.append((f"{agent['agent']}: " if several else "") + ", ".join([*named, counts]))
    if len(agents) > _AGENTS_SHOWN:
        parts.append(f"and {many(len(agents) - _AGENTS_SHOWN, 'more agent')}")
    if not agents:
        reasons = [c["reason"] for c in entry["checks"] if c["verdict"] == entry["verdict"]]
        parts.append(reasons[0] if reasons else "")
    return "  ".join(parts)


def _headline_metrics(entry: dict[str, Any], agent: dict[str, Any]) -> list[tuple[str, float]]:
    """Key metrics, those that are gated first."""
    gated = {c["name"] for c in entry["checks"] if c["gate"] != "expect"}
    found = list(agent["key_metrics"].items())
    telling = [item for item in found if item[0] in gated or not item[0].startswith("mean/")]
    return sorted(telling or found, key=lambda item: item[0] not in gated)


def _task_lists(entry: dict[str, Any]) -> list[str]:
    """List the tasks that differ from the baseline's where the benchmark passes all the same."""
    return [
        f"{check['agent']}: {check['reason']}" if check["agent"] else check["reason"]
        for check in entry["checks"]
        if check["verdict"] == "PASS"
        and check.get("evidence", {}).get("task_list")
        and check["reason"]
    ]


def _details(entry: dict[str, Any]) -> list[str]:
    lines = []
    for check in entry["checks"]:
        of = f"{check['agent']}: " if check["agent"] else ""
        estimate = check["estimate"]
        value = estimate["value"] if estimate else check["value"]
        interval = (estimate or {}).get("interval")
        sure = f" [{number(interval['low'])}, {number(interval['high'])}]" if interval else ""
        reason = f": {check['reason']}" if check["reason"] else ""
        lines.append(
            f"{check['verdict']:<12}  {of}{check['name']} {number(value)}{sure} "
            f"(expected {check['bound']}){reason}"
            if check["bound"]
            else f"{check['verdict']:<12}  {of}{check['name']}{reason}"
        )
    return lines + [f"note: {note}" for note in entry["notes"]]


def _blind_gates(entries: Iterable[dict[str, Any]]) -> list[str]:
    """Name the gates that pass, and could not have failed for want of tasks."""
    blind: dict[str, list[str]] = {}
    for entry in entries:
        for check in entry["checks"]:
            evidence = check.get("evidence", {})
            tests = evidence.get("rule") in ("practical", "statistical")
            if tests and evidence.get("blind") and check["verdict"] == "PASS":
                blind.setdefault(evidence["blind"], []).append(f"{entry['name']} {check['name']}")
    lines = []
    for reason, names in blind.items():
        more = f" and {len(names) - _BLIND_SHOWN} more" if len(names) > _BLIND_SHOWN else ""
        lines.append(f"blind: {', '.join(names[:_BLIND_SHOWN])}{more}: {reason}")
    return lines


def _common_notes(entries: Iterable[dict[str, Any]]) -> list[str]:
    """Say each kind of note once, with one example."""
    seen: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry["notes"]:
            seen.setdefault(note.partition(":")[0], []).append(f"{entry['id']}: {note}")
    return [
        found[0]
        + (f" (and {many(len(found) - 1, 'more such note')}: -v)" if len(found) > 1 else "")
        for found in seen.values()
    ]


def _others(report: dict[str, Any], *, everything: bool) -> Iterator[tuple[str, str | None]]:
    """List what has no result: what was not evaluated, and what was skipped."""
    lost = [f"INCONCLUSIVE  {item}  {told}" for item, told in lost_ones(report)]
    skipped = [f"{'SKIPPED':<12}  {s['id']}  {s['reason']}" for s in report.get("skipped", ())]
    for found, what, colour in (
        (lost, "that were not evaluated", "red"),
        (skipped, "skipped", "yellow"),
    ):
        shown = found if everything else found[:_OTHERS_SHOWN]
        yield from ((line, colour) for line in shown)
        if len(found) > len(shown):
            yield f"... and {len(found) - len(shown)} more {what} (-v shows them)", colour


def _count(entries: Sequence[dict[str, Any]], report: dict[str, Any]) -> str:
    lost, skipped = report["not_evaluated"], report.get("skipped", ())
    verdicts = [e["verdict"] for e in entries]
    counted = [f"{verdicts.count(v)} {v}" for v in _COLOURS if v in verdicts]
    if lost:
        counted.append(f"{len(lost)} not evaluated")
    if skipped:
        counted.append(f"{len(skipped)} skipped")
    return f"{many(len(entries), 'benchmark')}: " + ", ".join(counted)


def power_table(planned: Sequence[tuple[str, Sequence[Power]]]) -> list[str]:
    """Write one line per benchmark and gated metric."""
    header = (
        "benchmark",
        "agent",
        "metric",
        "tasks",
        "rollouts",
        "sees a drop of",
        "max_drop",
        "rollouts needed",
        "by",
    )
    rows, notes = [], []
    for item, powers in planned:
        several = len({p.agent for p in powers}) > 1
        for p in powers:
            rows.append(
                (
                    item,
                    p.agent if several else "",
                    p.metric,
                    str(p.tasks),
                    str(p.rollouts),
                    number(p.mde) if math.isfinite(p.mde) else "?",
                    number(p.max_drop),
                    _needed(p),
                    p.source,
                )
            )
            if p.reason:
                notes.append(f"note: {item}: {p.metric + ': ' if p.metric else ''}{p.reason}")
    told = (
        "A drop is seen with 80 % power where no task truly changes; rollouts needed are those of "
        "each task, on both sides, that see max_drop."
    )
    return [*table(header, rows), "", told, *map(visible, notes)]


def _needed(power: Power) -> str:
    if power.max_drop <= 0 or not math.isfinite(power.mde):
        return "-"
    return str(power.needed) if power.needed is not None else "more than 1024"
