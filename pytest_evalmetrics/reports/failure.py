"""What a failing benchmark prints: every check, the reasons, the way out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.reports.comparison import comparison_details, comparison_table
from pytest_evalmetrics.reports.failed_rows import failed_row_groups, failed_row_notes
from pytest_evalmetrics.reports.numbers import interval, number, table
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.results import BenchmarkResult, Check

__all__ = ["FailureText", "checks_table", "failure_text"]

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


@dataclass(frozen=True, slots=True)
class _Crash:
    """What pytest's short summary and JUnit read of a failure."""

    message: str
    path: str = ""
    lineno: int = 0


@dataclass(frozen=True, slots=True)
class FailureText:
    """A failure as pytest shows it: the text, and its first reason as the summary."""

    text: str

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
        for line in self.text.splitlines():
            red = line.startswith(("FAIL", "INCONCLUSIVE"))
            tw.line(line, red=red, yellow=line.startswith("WARN"), green=line.startswith("PASS"))

    def __str__(self) -> str:
        return self.text
