"""What a failing benchmark prints: every check, the reasons, the flipped tasks, the way out."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports.lines import (
    failed_row_groups,
    failed_row_notes,
    interval,
    number,
    table,
)
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.results import BenchmarkResult, Check

__all__ = [
    "FailureText",
    "better_way",
    "checks_table",
    "comparison_details",
    "comparison_table",
    "failure_text",
]

_LISTED = 10  # tasks that a line names


def comparison_table(checks: Sequence[Check]) -> list[str]:
    """One line per gated metric: both sides, the change, and what it rests on."""
    header = (
        "verdict",
        "agent",
        "metric",
        "baseline",
        "now",
        "change",
        "95% interval",
        "p",
        "tasks",
        "worse",
        "better",
        "direction",
        "expected",
    )
    return table(header, [_row(c) for c in checks])


def better_way(evidence: Mapping[str, Any]) -> str:
    """Say which way is better: ``higher is better``; empty where nothing is compared."""
    direction = evidence.get("direction")
    return f"{direction} is better" if direction else ""


def comparison_details(evidence: Mapping[str, Any]) -> list[str]:
    """Say which tasks flipped, on what the test rests, and what it could have seen."""
    lines = []
    worst = evidence.get("worst_tasks") or []
    if worst:
        flips = ", ".join(
            f"{t['task']} ({_rewards(t['baseline'])} -> {_rewards(t['current'])})" for t in worst
        )
        hidden = evidence["worse"] - len(worst)
        lines.append(f"worse: task {flips}" + (f" and {hidden} more" if hidden > 0 else ""))
    if evidence.get("test"):
        clustered = f" in {many(evidence['units'], 'cluster')}" if _clustered(evidence) else ""
        lines.append(
            f"{evidence['test']} over {many(evidence['tasks'], 'task')}{clustered}, "
            f"{many(evidence['rollouts_baseline'], 'rollout')} before and "
            f"{evidence['rollouts_current']} now{_adjusted(evidence)}"
        )
    if evidence.get("mde"):
        lines.append(f"80 % power to see a loss of {number(evidence['mde'])} or more")
    if evidence.get("unseen_flips"):
        lines.append(
            f"no task differs; up to {evidence['unseen_flips']:.1%} of the tasks may flip unseen"
        )
    for key, what in (("added", "only in this run"), ("removed", "only in the baseline")):
        if evidence.get(key):
            named = _listed(evidence[f"{key}_tasks"], evidence[key])
            lines.append(f"{many(evidence[key], 'task', 'is')} {what}: {named}")
    if evidence.get("excluded_tasks"):
        named = _listed(evidence["excluded_tasks"], len(evidence["excluded_tasks"]))
        lines.append(f"without a value on one side, and left out: task {named}")
    return lines


def _row(check: Check) -> tuple[str, ...]:
    found = check.evidence
    drop = found.get("drop")
    change = None if drop is None else -drop if found.get("direction") != "lower" else drop
    bounds = _change_bounds(found)
    return (
        str(check.verdict),
        check.agent,
        check.name,
        number(found.get("baseline")),
        number(found.get("current", check.value)),
        "" if change is None else _signed(change),
        "" if bounds is None else f"[{_signed(bounds[0])}, {_signed(bounds[1])}]",
        _p(found),
        str(found.get("tasks", "")),
        str(found.get("worse", "")),
        str(found.get("better", "")),
        better_way(found),
        check.bound,
    )


def _change_bounds(found: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = found.get("drop_low"), found.get("drop_high")
    if low is None or high is None:
        return None
    return (low, high) if found.get("direction") == "lower" else (-high, -low)


def _signed(value: float) -> str:
    text = number(value)
    return text if value <= 0 else f"+{text}"


def _rewards(rewards: Sequence[float]) -> str:
    return " ".join(number(r) for r in rewards[:8]) + (" ..." if len(rewards) > 8 else "")  # noqa: PLR2004 - a line


def _clustered(evidence: Mapping[str, Any]) -> bool:
    return bool(evidence.get("units")) and evidence["units"] != evidence["tasks"]


def _adjusted(evidence: Mapping[str, Any]) -> str:
    p, adjusted = evidence.get("p"), evidence.get("p_adjusted")
    if p is None or adjusted is None or adjusted <= p * 1.0000001:
        return ""
    return f"; p = {adjusted:.2g} adjusted for the other metrics"


def _p(evidence: Mapping[str, Any]) -> str:
    p = evidence.get("p_adjusted", evidence.get("p"))
    return "" if p is None else f"{p:.2g}"


def _listed(tasks: Sequence[object], of: int) -> str:
    more = f" and {of - _LISTED} more" if of > _LISTED else ""
    return ", ".join(map(str, tasks[:_LISTED])) + more


_REASON = re.compile(r"(?P<verdict>FAIL|INCONCLUSIVE)  (?:\S+:\d+: )?(?P<reason>\S.*)")
_NOTES_SHOWN = 3  # of a kind
_ANNOUNCED = {
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "could not be judged",
    Verdict.WARN: "passed with a warning",
    Verdict.PASS: "passed",
}


def checks_table(checks: Sequence[Check]) -> list[str]:
    """One line per check, aligned; the comparisons with a baseline in a table of their own."""
    plain = [c for c in checks if c.gate != "data" and not c.evidence and c.bound]
    compared = [c for c in checks if c.evidence]
    header = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
    rows = [
        (
            str(c.verdict),
            c.agent,
            c.name,
            number(c.estimate.value if c.estimate else c.value),
            interval(c.estimate),
            str(c.estimate.tasks) if c.estimate else "",
            c.bound,
        )
        for c in plain
    ]
    lines = table(header, rows) if rows else []
    if compared:
        lines += [*([""] if lines else []), *comparison_table(compared)]
    return lines


def failure_text(result: BenchmarkResult) -> str:
    """Explain a benchmark that failed, for the reader of a CI log."""
    parts = [visible(f"{result.name} {_ANNOUNCED[result.verdict]}")]
    if result.failed_rows:  # what is missing below is missing for this reason
        parts += ["", *failed_row_groups(result.failed_rows)]
    rows = checks_table(result.checks)
    if rows:
        parts += ["", *rows]
    telling = [c for c in result.checks if c.verdict is not Verdict.PASS and c.reason]
    for i, check in enumerate(telling):
        where = f"{result.file}:{check.line}: " if check.line else ""
        of = f"{check.agent}: " if check.agent else ""
        parts += ["", visible(f"{check.verdict}  {where}{of}{check.reason}")]
        parts += [f"    {visible(line)}" for line in comparison_details(check.evidence)]
        following = telling[i + 1] if i + 1 < len(telling) else None
        if check.hint and (following is None or following.hint != check.hint):
            parts.append(f"  -> {check.hint}")
    if result.changes:
        parts += ["", *(f"changed: {visible(text)}" for text in result.changes)]
    told = set(failed_row_notes(result.failed_rows))
    notes = [note for note in result.notes if note not in told]
    if notes:
        parts += ["", *(f"note: {visible(note)}" for note in _folded(notes))]
    return "\n".join(parts)


def _folded(notes: Sequence[str]) -> list[str]:
    """Give the first few of each kind: what is said of every agent is said of many."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        kinds.setdefault(note.partition(":")[0], []).append(note)
    shown = []
    for found in kinds.values():
        shown += found[:_NOTES_SHOWN]
        if len(found) > _NOTES_SHOWN:
            shown.append(f"and {many(len(found) - _NOTES_SHOWN, 'more such note')}, in report.json")
    return shown


_LONG = ("verdict ", "changed:", "note:")  # what --tb=short leaves to the artifacts


@record
class _Crash:
    """What pytest's short summary and JUnit read of a failure."""

    message: str
    path: str = ""
    lineno: int = 0

    def __str__(self) -> str:  # --tb=line
        return self.message


@record
class FailureText:
    """A failure as pytest shows it: the text, and its first reason as the summary."""

    text: str
    style: str = "long"  # of --tb

    @property
    def reprcrash(self) -> _Crash:
        """The line for the short test summary."""
        for before, line in pairwise(self.text.splitlines()):
            # a row of a table looks alike, but has no empty line before it
            if not before and (told := _REASON.fullmatch(line)):
                prefix = "" if told["verdict"] == "FAIL" else f"{told['verdict']}: "
                return _Crash(prefix + told["reason"])
        call, _, rest = self.text.partition("\n\n")  # of a test: its line comes first
        return _Crash((rest if "\n> " in call else call).partition("\n")[0])

    def toterminal(self, tw: Any) -> None:
        """Write the text, verdicts in colour."""
        for line in self._lines():
            red = line.startswith(("FAIL", "INCONCLUSIVE"))
            tw.line(line, red=red, yellow=line.startswith("WARN"), green=line.startswith("PASS"))

    def _lines(self) -> list[str]:
        if self.style == "line":  # pytest writes the crash line
            return []
        if self.style != "short":
            return self.text.splitlines()
        parts = [p for p in self.text.split("\n\n") if not p.startswith(_LONG)]
        return [line for p in parts for line in p.splitlines() if not line.startswith("    ")]

    def __str__(self) -> str:
        return self.text
