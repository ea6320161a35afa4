"""The text of a failing benchmark: every check, the reasons, the flipped tasks, the way out."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import capped, listed, many, visible
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports.lines import (
    better_way,
    change_of,
    failed_row_groups,
    failed_row_notes,
    interval,
    number,
    of_agent,
    p_value,
    signed,
    table,
)
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.results import BenchmarkResult

_NAMED = 10  # tasks that a line names
_REWARDS = 8  # of a task
_NOTES = 3  # of a kind
_VALUES = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
_COMPARED = (
    *("verdict", "agent", "metric", "baseline", "now", "change", "95% interval"),
    *("p", "tasks", "worse", "better", "direction", "expected"),
)
_ANNOUNCED = {
    Verdict.FAIL: "failed",
    Verdict.INCONCLUSIVE: "could not be judged",
    Verdict.WARN: "passed with a warning",
    Verdict.PASS: "passed",
}


def failure_text(result: BenchmarkResult) -> str:
    """Explain a benchmark that failed, for the reader of a CI log."""
    checks = msgspec.to_builtins(result.checks)
    parts = [visible(f"{result.name} {_ANNOUNCED[result.verdict]}")]
    if result.failed_rows:  # what is missing below is missing for this reason
        parts += ["", *failed_row_groups(result.failed_rows)]
    values = [_value_cells(c) for c in checks if _has_value(c)]
    compared = [_compared_cells(c) for c in checks if c["evidence"]]
    for header, rows in ((_VALUES, values), (_COMPARED, compared)):
        parts += ["", *table(header, rows)] if rows else []
    reasons = [c for c in checks if c["verdict"] != "PASS" and c["reason"]]
    for check, following in zip(reasons, [*reasons[1:], None], strict=True):
        where = f"{result.file}:{check['line']}: " if check["line"] else ""
        parts += ["", visible(f"{check['verdict']}  {where}{of_agent(check)}{check['reason']}")]
        parts += [f"    {visible(line)}" for line in comparison_details(check["evidence"])]
        if check["hint"] and (following is None or following["hint"] != check["hint"]):
            parts.append(f"  -> {check['hint']}")
    if result.changes:
        parts += ["", *(f"changed: {visible(text)}" for text in result.changes)]
    explained = set(failed_row_notes(result.failed_rows))
    kinds: dict[str, list[str]] = {}
    for note in result.notes:
        if note not in explained:
            kinds.setdefault(note.partition(":")[0], []).append(note)
    notes = [line for kind in kinds.values() for line in _first_notes(kind)]
    if notes:
        parts += ["", *(f"note: {visible(note)}" for note in notes)]
    return "\n".join(parts)


def _has_value(check: Mapping[str, Any]) -> bool:
    return check["gate"] != "data" and not check["evidence"] and bool(check["bound"])


def _value_cells(check: Mapping[str, Any]) -> tuple[str, ...]:
    head = (check["verdict"], check["agent"], check["name"])
    if (estimate := check["estimate"]) is None:
        return (*head, number(check["value"]), "", "", check["bound"])
    bounds = estimate["interval"] or {}
    shown = interval(bounds.get("low"), bounds.get("high"))
    return (*head, number(estimate["value"]), shown, str(estimate["tasks"]), check["bound"])


def _compared_cells(check: Mapping[str, Any]) -> tuple[str, ...]:
    evidence = check["evidence"]
    change, low, high = change_of(evidence)
    p = p_value(evidence)
    return (
        *(check["verdict"], check["agent"], check["name"]),
        *(number(evidence.get("baseline")), number(evidence.get("current", check["value"]))),
        signed(change),
        "" if low is None or high is None else f"[{signed(low)}, {signed(high)}]",
        "" if p is None else f"{p:.2g}",
        *(str(evidence.get(key, "")) for key in ("tasks", "worse", "better")),
        better_way(evidence),
        check["bound"],
    )


def _first_notes(notes: Sequence[str]) -> list[str]:
    """Give the first notes of a kind: what is said of every agent is said of many."""
    more = many(len(notes) - _NOTES, "more such note")
    return capped(notes, _NOTES, f"and {more}, in report.json")


def comparison_details(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Say which tasks flipped, what the test rests on, and what it could have detected."""
    worst = evidence.get("worst_tasks") or []
    if worst:
        flips = [
            f"{t['task']} ({_rewards(t['baseline'])} -> {_rewards(t['current'])})" for t in worst
        ]
        yield f"worse: task {listed(flips, len(flips), evidence['worse'])}"
    if evidence.get("test"):
        units, tasks = evidence.get("units"), evidence["tasks"]
        clustered = f" in {many(units, 'cluster')}" if units and units != tasks else ""
        yield (
            f"{evidence['test']} over {many(tasks, 'task')}{clustered}, "
            f"{many(evidence['rollouts_baseline'], 'rollout')} before and "
            f"{evidence['rollouts_current']} now{_adjusted(evidence)}"
        )
    if evidence.get("mde"):
        yield f"80 % power to see a loss of {number(evidence['mde'])} or more"
    if evidence.get("unseen_flips"):
        yield f"no task differs; up to {evidence['unseen_flips']:.1%} of the tasks may flip unseen"
    for key, what in (("added", "only in this run"), ("removed", "only in the baseline")):
        if count := evidence.get(key):
            named = listed(evidence[f"{key}_tasks"], _NAMED, count)
            yield f"{many(count, 'task', 'is')} {what}: {named}"
    if excluded := evidence.get("excluded_tasks"):
        yield f"without a value on one side, and left out: task {listed(excluded, _NAMED)}"


def _rewards(rewards: Sequence[float]) -> str:
    return " ".join(capped([number(r) for r in rewards], _REWARDS, "..."))


def _adjusted(evidence: Mapping[str, Any]) -> str:
    p, adjusted = evidence.get("p"), evidence.get("p_adjusted")
    if p is None or adjusted is None or adjusted <= p * 1.0000001:
        return ""
    return f"; p = {adjusted:.2g} adjusted for the other metrics"


# -- what pytest shows -----------------------------------------------------------------------

_REASON = re.compile(r"(?P<verdict>FAIL|INCONCLUSIVE)  (?:\S+:\d+: )?(?P<reason>\S.*)")
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
            parts = [part for part in self.text.split("\n\n") if not part.startswith(_LONG)]
            lines = [line for line in "\n".join(parts).splitlines() if not line.startswith("    ")]
        for line in lines:
            red = line.startswith(("FAIL", "INCONCLUSIVE"))
            tw.line(line, red=red, yellow=line.startswith("WARN"), green=line.startswith("PASS"))

    def __str__(self) -> str:
        return self.text
