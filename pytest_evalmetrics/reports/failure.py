"""A failing benchmark in pytest's section of failures."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Protocol

import msgspec

from pytest_evalmetrics.failure_lines import Failure, Line, LineKind, Row, Table
from pytest_evalmetrics.layout import capped, many, visible
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, wording
from pytest_evalmetrics.reports.sentences import bound_of, hint_of, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.results import (
        Attempt,
        BenchmarkResult,
        Check,
        Flip,
    )

    Blocks = Iterator[Line | Table]

COLOURS = {
    Verdict.PASS: "green",
    Verdict.WARN: "yellow",
    Verdict.INCONCLUSIVE: "purple",
    Verdict.FAIL: "red",
}
_NOTES = 3  # of a kind
_FLIPS = 3  # tasks of an agent
_EXCERPT = 24  # characters of an answer
_INDENT = " " * 8  # of a line that is broken
_VALUES = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
_COMPARED = (
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
# the reason below the table says them too
_DISPENSABLE = ("direction", "tasks", "expected", "better", "worse", "95% interval")

# -- what it holds ---------------------------------------------------------------------------


def failure_of_result(result: BenchmarkResult) -> Failure:
    """Explain a benchmark that failed, for the reader of a CI log."""
    outcome = "failed" if result.verdict is Verdict.FAIL else "could not be judged"
    blocks: list[Line | Table] = [Line(visible(f"{result.name} {outcome}"))]
    if result.failed_rows:  # the reason for missing rewards below
        groups = wording.failed_row_groups(result.failed_rows)
        blocks += [Line(), *map(Line, groups)]
    blocks += _tables(result.checks)
    blocks += _reasons(result)
    remarks = [f"changed: {visible(text)}" for text in result.changes]
    blocks += _paragraph(remarks)
    blocks += _paragraph(f"note: {visible(note)}" for note in _notes(result))
    return Failure(_first_reason(result), blocks)


def failure_of_words(words: str) -> Failure:
    """Show the words of an error as they are."""
    lines = words.split("\n")
    return Failure(lines[0], [Line(line) for line in lines])


def joined(failures: Sequence[Failure]) -> Failure:
    """Show several failures of one test, the first one as the summary."""
    blocks: list[Line | Table] = []
    for failure in failures:
        blocks += [Line(), *failure.blocks]
    return Failure(failures[0].reason, blocks[1:])


def below_the_call(call: Iterable[str], failure: Failure) -> Failure:
    """Show a failure below the test's own lines that it comes from."""
    return Failure(failure.reason, [*map(Line, call), Line(), *failure.blocks])


def _paragraph(remarks: Iterable[str]) -> Blocks:
    lines = [Line(text, LineKind.REMARK) for text in remarks]
    if lines:
        yield Line(kind=LineKind.REMARK)
    yield from lines


def _first_reason(result: BenchmarkResult) -> str:
    """Say the reason of the first check that does not hold."""
    for check in result.checks:
        if check.verdict.fails and (reason := reason_of(check)):
            prefix = "" if check.verdict is Verdict.FAIL else f"{check.verdict}: "
            return visible(f"{prefix}{check_wording.of_agent(check)}{reason}")
    return visible(result.name)


def _reasons(result: BenchmarkResult) -> Blocks:
    """Write why each check does not hold, and the way out where it is not the next one's."""
    failing = [
        check
        for check in result.checks
        if check.verdict is not Verdict.PASS and reason_of(check)
    ]
    hints = [hint_of(check) for check in failing]
    shown: set[str] = set()  # agents whose tasks are shown
    for check, hint, following in zip(failing, hints, [*hints[1:], ""], strict=True):
        yield Line()
        yield Line(_reason(result, check), LineKind.REASON, check.verdict)
        for line in check_wording.comparison_details(check):
            yield Line(f"    {visible(line)}", LineKind.DETAIL)
        agent = check_wording.checked_agent(result, check)
        if check.comparison is not None and agent not in shown:
            shown.add(agent)
            yield from _worst_tasks(result, check)
        if hint and hint != following:
            yield from (
                Line(line, LineKind.HINT) for line in f"  -> {hint}".split("\n")
            )


def _reason(result: BenchmarkResult, check: Check) -> str:
    where = f"{result.file}:{check.line}: " if check.line else ""
    reason = f"{check_wording.of_agent(check)}{reason_of(check)}"
    return visible(f"{check.verdict}  {where}{reason}")


def _notes(result: BenchmarkResult) -> list[str]:
    """List the notes that no reason holds; of a note about every agent the first ones."""
    explained = set(wording.failed_row_notes(result.failed_rows))
    kinds: dict[str, list[str]] = {}
    for note in result.notes:
        if note not in explained:
            kinds.setdefault(note.partition(":")[0], []).append(note)
    notes: list[str] = []
    for several in kinds.values():
        more = many(len(several) - _NOTES, "more such note")
        notes += capped(several, _NOTES, f"and {more}, in report.json")
    return notes


# -- tasks that got worse --------------------------------------------------------------------


def _worst_tasks(result: BenchmarkResult, check: Check) -> Blocks:
    """Show the tasks that got worse most: rewards and, where there are texts, answers."""
    if check.comparison is None:
        return
    agent = check_wording.checked_agent(result, check)
    flips = {flip.task: flip for flip in result.flips if flip.agent == agent}
    for change in check.comparison.worst_tasks[:_FLIPS]:
        parts = [f"task {check_wording.flip_text(change)}"]
        flip = flips.get(str(change.task))
        if flip is not None:
            parts += _answers(flip)
        yield Line(visible(f"    {'  '.join(parts)}"), LineKind.FLIP)


def _answers(flip: Flip) -> Iterator[str]:
    if flip.reference:
        yield f"expected {_excerpt(flip.reference)}"
    before, now = _answer(flip.before), _answer(flip.now)
    if before or now:
        yield f"was {_excerpt(before)}"
        yield f"now {_excerpt(now)}"


def _answer(attempts: Sequence[Attempt]) -> str:
    return next((attempt.text for attempt in attempts if attempt.text), "")


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _EXCERPT:
        return line or "nothing"
    half = (_EXCERPT - 3) // 2  # agents conclude at the end
    return f"{line[:half]}...{line[-half:]}"


# -- tables ----------------------------------------------------------------------------------


def _tables(checks: Sequence[Check]) -> Blocks:
    """Write a table of values with thresholds, and one of comparisons with a baseline."""
    values = []
    compared = []
    for check in checks:
        if check_wording.is_set_against_reference(check):
            compared.append(Row(_compared_row(check), check.verdict))
        elif check.bound is not None and check.gate is not Gate.DATA:
            values.append(Row(_value_row(check), check.verdict))
    if values:
        yield Table(_VALUES, values)
    if compared:
        yield Table(_COMPARED, compared, _DISPENSABLE)


def _value_row(check: Check) -> tuple[str, ...]:
    value, interval = check_wording.measured(check, check.estimate)
    tasks = "" if check.estimate is None else str(check.estimate.tasks)
    head = (str(check.verdict), check.agent, check.name)
    return (*head, value, interval, tasks, bound_of(check))


def _compared_row(check: Check) -> tuple[str, ...]:
    baseline, now = check_wording.sides_of(check)
    change, low, high = check_wording.change_of(check)
    interval = ""
    if low is not None and high is not None:
        interval = f"[{wording.signed(low)}, {wording.signed(high)}]"
    p = check_wording.p_value(check)
    counts = check_wording.task_counts(check)
    return (
        str(check.verdict),
        check.agent,
        check.name,
        wording.number(baseline),
        wording.number(now),
        wording.signed(change),
        interval,
        "" if p is None else f"{p:.2g}",
        *(("", "", "") if counts is None else map(str, counts)),
        check_wording.better_way(check),
        bound_of(check),
    )


# -- how it is shown -------------------------------------------------------------------------


class Shown(msgspec.Struct, frozen=True):
    """How much of a failure is shown, and in how many columns."""

    passing: bool = True  # checks that hold, and the basis of each test
    short: bool = False  # reasons and ways out alone
    width: int | None = None  # of a terminal; None leaves lines as they are


def lines_of(failure: Failure, shown: Shown) -> Iterator[Line]:
    """Lay a failure out in lines; a table begins with an empty one."""
    for block in failure.blocks:
        if isinstance(block, Table):
            if not shown.short:
                yield from _table_lines(block, shown)
        elif _is_shown(block, shown):
            yield from _broken(block, shown.width)


def text_of(failure: Failure) -> str:
    """Write all of a failure."""
    return "\n".join(line.text for line in lines_of(failure, Shown()))


def _is_shown(line: Line, shown: Shown) -> bool:
    if shown.short:
        return line.kind not in (LineKind.DETAIL, LineKind.FLIP, LineKind.REMARK)
    if line.kind is LineKind.DETAIL:
        return shown.passing
    return True


def _table_lines(table: Table, shown: Shown) -> Iterator[Line]:
    rows = table.rows
    if not shown.passing:
        rows = [row for row in rows if row.verdict != Verdict.PASS]
    if not rows:
        return
    header, *lines = _fitted(table, [row.cells for row in rows], shown.width)
    yield Line()
    yield Line(header)
    for line, row in zip(lines, rows, strict=True):
        yield Line(line, verdict=row.verdict)


def _fitted(
    table: Table, cells: Sequence[Sequence[str]], width: int | None
) -> list[str]:
    """Align the columns, without those that the width has no room for."""
    left_out: set[str] = set()
    lines = wording.table(table.header, cells)
    for name in table.dispensable:
        if width is None or max(map(len, lines)) <= width:
            break
        left_out.add(name)
        kept = [i for i, column in enumerate(table.header) if column not in left_out]
        lines = wording.table(
            [table.header[i] for i in kept], [[row[i] for i in kept] for row in cells]
        )
    return lines


def _broken(line: Line, width: int | None) -> Iterator[Line]:
    """Break a line between words."""
    for text in broken(line.text, width):
        yield msgspec.structs.replace(line, text=text)


def broken(text: str, width: int | None) -> list[str]:
    """Break a text between words, below its own indentation."""
    if width is None or len(text) <= width:
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Writer(Protocol):
    """What of pytest's writer is used."""

    hasmarkup: bool

    @property
    def fullwidth(self) -> int:
        """The columns of the terminal."""

    def line(self, line: str = "", **markup: bool) -> None:
        """Write a line, in colour."""


class _Crash(msgspec.Struct, frozen=True):
    """The location and message that pytest's short summary and JUnit read."""

    message: str
    path: str = ""
    lineno: int = 0

    def __str__(self) -> str:  # --tb=line
        return self.message


class FailureText(msgspec.Struct, frozen=True):
    """A failure as pytest asks for it: its one line, its text, and how it is written."""

    failure: Failure
    style: str = "long"  # of --tb
    everything: bool = False  # -v

    @property
    def reprcrash(self) -> _Crash:
        """The line for the short test summary."""
        return _Crash(self.failure.reason)

    def toterminal(self, tw: _Writer) -> None:
        """Write the text, verdicts in colour."""
        if self.style == "line":  # pytest writes the crash line
            return
        width = tw.fullwidth - 1 if tw.hasmarkup else None
        shown = Shown(self.everything, self.style == "short", width)
        for line in lines_of(self.failure, shown):
            colour = {COLOURS[Verdict(line.verdict)]: True} if line.verdict else {}
            tw.line(line.text, **colour)

    def __str__(self) -> str:
        return text_of(self.failure)
