"""The terminal: a failing benchmark, one line per benchmark at a run's end, the plan's table."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import capped, listed, many, visible
from pytest_evalmetrics.model.results import BenchmarkResult, Power, Verdict
from pytest_evalmetrics.reports import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Entry = Mapping[str, Any]
    Lines = Iterator[tuple[str, str | None]]  # with a colour

# -- a benchmark that fails ------------------------------------------------------------------

_NOTES = 3  # of a kind
_VALUES = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
_COMPARED = (
    *("verdict", "agent", "metric", "baseline", "now", "change", "95% interval"),
    *("p", "tasks", "worse", "better", "direction", "expected"),
)


def failure_text(result: BenchmarkResult) -> str:
    """Explain a benchmark that failed, for the reader of a CI log."""
    checks = msgspec.to_builtins(result.checks)
    outcome = "failed" if result.verdict is Verdict.FAIL else "could not be judged"
    parts = [visible(f"{result.name} {outcome}")]
    if result.failed_rows:  # the reason for missing rewards below
        parts += ["", *wording.failed_row_groups(result.failed_rows)]
    parts += _tables(checks)
    reasons = [c for c in checks if c["verdict"] != "PASS" and c["reason"]]
    for check, following in zip(reasons, [*reasons[1:], None], strict=True):
        where = f"{result.file}:{check['line']}: " if check["line"] else ""
        reason = wording.of_agent(check) + check["reason"]
        parts += ["", visible(f"{check['verdict']}  {where}{reason}")]
        parts += [
            f"    {visible(line)}"
            for line in wording.comparison_details(check["evidence"])
        ]
        if check["hint"] and (following is None or following["hint"] != check["hint"]):
            parts.append(f"  -> {check['hint']}")
    if result.changes:
        parts += ["", *(f"changed: {visible(text)}" for text in result.changes)]
    explained = set(wording.failed_row_notes(result.failed_rows))
    kinds: dict[str, list[str]] = {}
    for note in result.notes:
        if note not in explained:
            kinds.setdefault(note.partition(":")[0], []).append(note)
    notes = []
    for several in kinds.values():  # a note about every agent repeats
        more = many(len(several) - _NOTES, "more such note")
        notes += capped(several, _NOTES, f"and {more}, in report.json")
    if notes:
        parts += ["", *(f"note: {visible(note)}" for note in notes)]
    return "\n".join(parts)


def _tables(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Write a table of values with thresholds, and one of comparisons with a baseline."""
    values, compared = [], []
    for check in checks:
        head = (check["verdict"], check["agent"], check["name"])
        if evidence := check["evidence"]:
            change, *interval = wording.change_of(evidence)
            p = wording.p_value(evidence)
            sides = evidence.get("baseline"), evidence.get("current", check["value"])
            row = (
                *(*head, *map(wording.number, sides), wording.signed(change)),
                ""
                if None in interval
                else f"[{', '.join(map(wording.signed, interval))}]",
                "" if p is None else f"{p:.2g}",
                *(str(evidence.get(key, "")) for key in ("tasks", "worse", "better")),
                *(wording.better_way(evidence), check["bound"]),
            )
            compared.append(row)
        elif check["bound"] and check["gate"] != "data":
            tasks = str((check["estimate"] or {}).get("tasks", ""))
            measured = wording.measured(check, check["estimate"])
            values.append((*head, *measured, tasks, check["bound"]))
    for header, rows in ((_VALUES, values), (_COMPARED, compared)):
        yield from ("", *wording.table(header, rows)) if rows else ()


_REASON = re.compile(r"(?P<verdict>FAIL|INCONCLUSIVE)  (?:\S+:\d+: )?(?P<reason>\S.*)")
_LONG = (
    "verdict ",
    "changed:",
    "note:",
)  # lines that --tb=short leaves to the artifacts


class _Crash(msgspec.Struct, frozen=True):
    """The location and message that pytest's short summary and JUnit read."""

    message: str
    path: str = ""
    lineno: int = 0

    def __str__(self) -> str:  # --tb=line
        return self.message


class FailureText(msgspec.Struct, frozen=True):
    """A failure as pytest shows it: the text, and its first reason as the summary."""

    text: str
    style: str = "long"  # of --tb

    @property
    def reprcrash(self) -> _Crash:
        """The line for the short test summary."""
        for before, line in pairwise(self.text.splitlines()):
            # a row of a table looks the same, but follows no empty line
            if not before and (match := _REASON.fullmatch(line)):
                prefix = "" if match["verdict"] == "FAIL" else f"{match['verdict']}: "
                return _Crash(prefix + match["reason"])
        call, _, rest = self.text.partition("\n\n")  # of a test: its line comes first
        return _Crash((rest if "\n> " in call else call).partition("\n")[0])

    def toterminal(self, tw: Any) -> None:
        """Write the text, verdicts in colour."""
        lines = self.text.splitlines()
        if self.style == "line":  # pytest writes the crash line
            return
        if self.style == "short":
            parts = [
                part for part in self.text.split("\n\n") if not part.startswith(_LONG)
            ]
            lines = [
                line
                for line in "\n".join(parts).splitlines()
                if not line.startswith("    ")
            ]
        for line in lines:
            red = line.startswith(("FAIL", "INCONCLUSIVE"))
            tw.line(
                line,
                red=red,
                yellow=line.startswith("WARN"),
                green=line.startswith("PASS"),
            )

    def __str__(self) -> str:
        return self.text


# -- the end of a run ------------------------------------------------------------------------

_COLOURS = {"PASS": "green", "WARN": "yellow", "INCONCLUSIVE": "red", "FAIL": "red"}
_METRICS_NAMED = 3  # on a benchmark's line; all of them are in the report
_AGENTS_SHOWN = 3
_OTHERS_SHOWN = 10
_BLIND_NAMED = 5
_MANY = 5  # benchmarks; from so many on, the expected false alarms are mentioned
_WIDTH = 156  # two lines of a narrow terminal
_PASSING_SHOWN = 30  # lines of passing benchmarks; -v shows all


def section(
    report: Mapping[str, Any], written: Sequence[str], *, verbosity: int
) -> list[tuple[str, str | None]]:
    """Write the section: lines, each with a colour or None; with -q one line for all benchmarks."""
    return [
        (visible(line), colour) for line, colour in _lines(report, written, verbosity)
    ]


def _lines(report: Mapping[str, Any], written: Sequence[str], verbosity: int) -> Lines:
    entries = report["benchmarks"]
    red = wording.failing(report)
    for head, *rest in wording.triage(report) if verbosity <= 0 else ():
        yield head, "red"
        for text in filter(None, rest):
            line = " ".join(text.split())
            cut = line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."
            yield f"    {cut}", None
    if verbosity < 0:
        total = many(len(entries), "benchmark")
        yield f"{total}: {wording.verdict_counts(report)}", _COLOURS[report["verdict"]]
        yield from ((line, None) for line in wording.recorded_count(entries))
    elif verbosity == 0 and len(red) > wording.FOLDED:
        yield from _strongest(entries, red, written)
    else:
        yield from _each(entries, everything=verbosity > 0)
    if verbosity >= 0:
        yield from _without_result(report, everything=verbosity > 0)
    if verbosity == 0:
        yield from ((f"note: {note}", None) for note in _common_notes(entries))
    yield from ((f"note: {note}", None) for note in _blind_gates(entries))
    if (
        verbosity >= 0
        and len(entries) >= _MANY
        and (chance := wording.false_alarms(entries))
    ):
        yield f"note: {chance}", None
    if written:
        yield f"artifacts: {', '.join(written)}", None


def _each(entries: Sequence[Entry], *, everything: bool) -> Lines:
    """Write each benchmark's line, and what belongs to it; the first of those that pass."""
    # a new baseline is always reported
    passing = [
        e
        for e in entries
        if e["verdict"] == "PASS" and not e["recorded"].get("written")
    ]
    hidden = (
        set() if everything else {entry["id"] for entry in passing[_PASSING_SHOWN:]}
    )
    for entry in (entry for entry in entries if entry["id"] not in hidden):
        yield _line(entry), "yellow" if entry["xfail"] else _COLOURS[entry["verdict"]]
        details = [*(_details(entry) if everything else _task_lists(entry))]
        details += [f"changed: {text}" for text in entry.get("changes", ())]
        details += wording.recorded_lines(entry["recorded"])
        details += wording.judge_lines(entry.get("judges", ()))
        yield from ((f"    {text}", None) for text in details)
    if hidden:
        yield f"... and {len(hidden)} more that pass (-v shows them)", "green"


def _strongest(
    entries: Sequence[Entry], red: Sequence[Entry], written: Sequence[str]
) -> Lines:
    """Write the benchmarks with the strongest evidence, and count the others."""
    for entry in red[: wording.FOLDED]:
        yield _line(entry), _COLOURS[entry["verdict"]]
    named = [path for path in written if path.endswith(("summary.md", "report.html"))]
    where = f"{named[0]}, or -v shows them" if named else "-v shows them"
    yield f"... and {len(red) - wording.FOLDED} more that fail: {where}", "red"
    ids = {entry["id"] for entry in red}
    others = Counter(
        "known failures" if e["xfail"] else e["verdict"]
        for e in entries
        if e["id"] not in ids
    )
    if others:
        counts = ", ".join(f"{count} {what}" for what, count in others.items())
        yield f"... and {counts} (-v shows them)", None
    yield from ((line, None) for line in wording.recorded_count(entries))


def _line(entry: Entry) -> str:
    parts = [
        f"{entry['verdict']:<12}  {entry['id']}"
        + (" (xfail)" if entry["xfail"] else "")
    ]
    failing_agents = {c["agent"] for c in entry["checks"] if c["verdict"] != "PASS"}
    agents = []
    for agent in sorted(
        entry["agents"], key=lambda a: a["agent"] not in failing_agents
    ):
        headline = wording.headline_metrics(entry, agent).items()
        metrics = [f"{name} {wording.number(value)}" for name, value in headline]
        named = f"{agent['agent']}: " if len(entry["agents"]) > 1 else ""
        counts = [many(agent["tasks"], "task"), many(agent["rollouts"], "rollout")]
        counts += [f"{agent['missing']} missing"] if agent["missing"] else []
        agents.append(named + ", ".join([*metrics[:_METRICS_NAMED], *counts]))
    more = many(len(agents) - _AGENTS_SHOWN, "more agent")
    parts += capped(agents, _AGENTS_SHOWN, f"and {more}")
    if not agents:
        reasons = [
            c["reason"] for c in entry["checks"] if c["verdict"] == entry["verdict"]
        ]
        parts += reasons[:1]
    return "  ".join(parts)


def _task_lists(entry: Entry) -> Iterator[str]:
    """List the tasks that differ from the baseline's where the benchmark passes all the same."""
    for check in entry["checks"]:
        passes = check["verdict"] == "PASS" and check["reason"]
        if passes and check.get("evidence", {}).get("task_list"):
            yield wording.of_agent(check) + check["reason"]


def _details(entry: Entry) -> Iterator[str]:
    for check in entry["checks"]:
        line = f"{check['verdict']:<12}  {wording.of_agent(check)}{check['name']}"
        if check["bound"]:
            line += (
                f" {' '.join(filter(None, wording.measured(check, check['estimate'])))}"
            )
            line += f" (expected {check['bound']})"
        yield line + (f": {check['reason']}" if check["reason"] else "")
    yield from (f"note: {note}" for note in entry["notes"])


def _blind_gates(entries: Iterable[Entry]) -> Iterator[str]:
    """Name the gates that pass, and could not have failed for want of tasks."""
    blind: dict[str, list[str]] = {}
    for entry in entries:
        for check in entry["checks"]:
            evidence = check.get("evidence", {})
            tests = evidence.get("rule") in ("practical", "statistical")
            if tests and evidence.get("blind") and check["verdict"] == "PASS":
                blind.setdefault(evidence["blind"], []).append(
                    f"{entry['name']} {check['name']}"
                )
    for reason, names in blind.items():
        yield f"blind: {listed(names, _BLIND_NAMED)}: {reason}"


def _common_notes(entries: Iterable[Entry]) -> Iterator[str]:
    """Write each kind of note once, with one example."""
    kinds: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry["notes"]:
            kinds.setdefault(note.partition(":")[0], []).append(
                f"{entry['id']}: {note}"
            )
    for first, *more in kinds.values():
        yield first + (
            f" (and {many(len(more), 'more such note')}: -v)" if more else ""
        )


def _without_result(report: Mapping[str, Any], *, everything: bool) -> Lines:
    lost = [f"INCONCLUSIVE  {item}  {why}" for item, why in wording.lost_ones(report)]
    skipped = [
        f"{'SKIPPED':<12}  {s['id']}  {s['reason']}" for s in report.get("skipped", ())
    ]
    listed_apart = (
        (lost, "that were not evaluated", "red"),
        (skipped, "skipped", "yellow"),
    )
    for lines, what, colour in listed_apart:
        most = len(lines) if everything else _OTHERS_SHOWN
        rest = f"... and {{}} more {what} (-v shows them)"
        yield from ((line, colour) for line in capped(lines, most, rest))


# -- the plan --------------------------------------------------------------------------------

_PLAN = (
    *("benchmark", "agent", "metric", "tasks", "rollouts"),
    *("detects a drop of", "max_drop", "rollouts needed", "by"),
)
_PLAN_NOTE = (
    "A drop is detected with 80 % power if only sampling varies between runs; rollouts needed "
    "are those of each task, on both sides, that detect max_drop."
)


def power_table(planned: Sequence[tuple[str, Sequence[Power]]]) -> list[str]:
    """Write one line per benchmark and gated metric."""
    rows, notes = [], []
    for item, powers in planned:
        several = len({p.agent for p in powers}) > 1
        for p in powers:
            is_known = math.isfinite(p.mde)
            needed = "more than 1024" if p.needed is None else str(p.needed)
            rows.append(
                (
                    *(
                        item,
                        p.agent if several else "",
                        p.metric,
                        str(p.tasks),
                        str(p.rollouts),
                    ),
                    *(
                        wording.number(p.mde) if is_known else "?",
                        wording.number(p.max_drop),
                    ),
                    *(needed if is_known and p.max_drop > 0 else "-", p.source),
                )
            )
            if p.reason:
                notes.append(
                    f"note: {item}: {p.metric + ': ' if p.metric else ''}{p.reason}"
                )
    return [*wording.table(_PLAN, rows), "", _PLAN_NOTE, *map(visible, notes)]
