"""A failure as lines: what fits the terminal, within the lines that one failure may take."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import structs

from pytest_evalmetrics.failure_lines import Line, LineKind, Picture, Table, TaskLine
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import drawing, wording
from pytest_evalmetrics.reports.console import (
    beginning,
    both_ends,
    broken,
    columns_of,
    isolated,
    linked,
    opens_links,
    padded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.failure_lines import Failure

COLOURS = {
    Verdict.PASS: "green",
    Verdict.WARN: "yellow",
    Verdict.INCONCLUSIVE: "purple",
    Verdict.FAIL: "red",
}
_MOST = 13  # lines of a failure below its title, but with -v
# lines that one of a kind may take, but with -v
_LONGEST = {
    LineKind.REMARK: 1,
    LineKind.BESIDE: 1,
    LineKind.PART: 1,
    LineKind.SHARED: 1,
    LineKind.REASON: 3,
}
_ROWS = 4  # of a table, but with -v
_WIDE = 100  # columns for tasks where nothing limits them
_LEAST_REASON = 24  # columns of a reason that say something
_TASK = 24  # columns of a task's id
_PICTURE = 21  # columns of an interval
# the columns of a table that -v alone shows
_DETAILS = ("tasks", "worse", "better", "direction", "expected")


class Page(msgspec.Struct, frozen=True):
    """Where the whole of a failure is shown."""

    file: str  # for people: relative
    place: str  # of the benchmark in it: #/math.bench.yaml::math
    address: str  # the whole one, that a terminal opens


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a failure is shown, and in how many columns."""

    everything: bool = True  # checks that hold, the basis of each test, all names
    short: bool = False  # reasons and ways out alone
    width: int | None = None  # of a terminal; None leaves lines as they are
    page: Page | None = None
    opens_links: bool = False
    strokes: drawing.Strokes = drawing.LINES


def text_of(failure: Failure) -> str:
    """Write all of a failure."""
    return "\n".join(line.text for line in lines_of(failure, Shown()))


def lines_of(failure: Failure, shown: Shown) -> list[Line]:
    """Lay a failure out in lines; without -v the least important ones make room."""
    parts = list(_parts(failure, shown))
    if not shown.everything:
        _make_room(parts)
    lines = [line for part in parts for line in part.lines]
    begins = next((at for at, line in enumerate(lines) if line.text), 0)
    return lines[begins:]


class _Part(msgspec.Struct):
    """The lines of a block, and how soon they make room: 0 never."""

    lines: list[Line]
    goes: int = 0


# How soon further lines of a kind make room: a failure keeps its first reason and way out,
# its first task and its commands.
_TURNS = {
    LineKind.REASON: 4,
    LineKind.PART: 5,
    LineKind.BESIDE: 9,
    LineKind.HINT: 9,
    LineKind.REMARK: 11,
}
_PICTURE_TURN = 5
_TASK_TURN = 6
# of the first line of its kind
_FIRST_TURNS = {LineKind.BESIDE: 7, LineKind.SHARED: 8, LineKind.REMARK: 10}
_NEXT_PICTURE_TURN = 9


def _parts(failure: Failure, shown: Shown) -> Iterator[_Part]:
    seen: set[LineKind] = set()
    has_picture = False
    for _, group in groupby(failure.blocks, key=type):
        blocks = list(group)
        # pictures that follow each other share a scale, and tasks their columns
        pictures = [block for block in blocks if isinstance(block, Picture)]
        tasks = [block for block in blocks if isinstance(block, TaskLine)]
        if pictures and not shown.short:
            yield from _picture_parts(pictures, shown, is_first=not has_picture)
            has_picture = True
        if tasks and not shown.short:
            yield from _task_parts(tasks, shown)
        for block in blocks:
            if isinstance(block, Table) and not shown.short:
                yield _Part(list(_table_lines(block, shown)))
            elif isinstance(block, Line):
                yield _line_part(block, seen, shown)


def _make_room(parts: list[_Part]) -> None:
    """Keep what always stays, and of the rest what matters most and fits."""
    room = _MOST - sum(len(part.lines) for part in parts if not part.goes)
    by_importance = sorted(
        (part for part in parts if part.goes), key=lambda part: part.goes
    )
    for part in by_importance:
        if len(part.lines) <= room:
            room -= len(part.lines)
        else:
            part.lines = []


def _line_part(line: Line, seen: set[LineKind], shown: Shown) -> _Part:
    """Lay a line out; the first of its kind goes last, or not at all."""
    goes = _FIRST_TURNS.get(line.kind, 0)
    if line.kind in seen:
        goes = _TURNS.get(line.kind, 0)
    seen.add(line.kind)
    return _Part(list(_line(line, shown)), goes)


# -- lines -----------------------------------------------------------------------------------


def _line(line: Line, shown: Shown) -> Iterator[Line]:
    if not _is_shown(line, shown):
        return
    if line.kind is LineKind.MORE:
        yield from _more_lines(line, shown)
        return
    if line.kind is LineKind.COMMAND:
        yield line
        return
    text = line.text
    if shown.everything and line.full:
        text = line.full
    if shown.width is not None and not shown.everything:
        most = _LONGEST.get(line.kind)
        text = text if most is None else beginning(text, most * shown.width)
    for part in broken(text, shown.width):
        yield structs.replace(line, text=part)


def _is_shown(line: Line, shown: Shown) -> bool:
    if shown.short:
        return line.kind not in (LineKind.DETAIL, LineKind.REMARK, LineKind.MORE)
    if line.kind is LineKind.DETAIL:
        return shown.everything
    return True


def _more_lines(line: Line, shown: Shown) -> Iterator[Line]:
    """Say what is left out, and where it is."""
    if shown.page is None:
        if line.text:
            yield structs.replace(line, text=f"  ... {line.text} (-v shows more)")
        return
    lead = f"  ... {line.text}: " if line.text else "  more: "
    page = f"{shown.page.file}{shown.page.place}"
    fits = shown.width is None or columns_of(lead + page) <= shown.width
    if not fits:  # what fails comes first on the page
        page = shown.page.file
    target = linked(page, shown.page.address) if shown.opens_links else page
    yield structs.replace(line, text=f"{lead}{target}")


# -- tables ----------------------------------------------------------------------------------


def _table_lines(table: Table, shown: Shown) -> Iterator[Line]:
    rows = list(table.rows)
    more = 0
    if not shown.everything:
        if table.is_folded:
            return
        rows = [row for row in rows if row.verdict != Verdict.PASS]
        more = len(rows) - _ROWS
        rows = rows[:_ROWS]
    if not rows:
        return
    header, *lines = _fitted(table, [row.cells for row in rows], shown)
    if shown.everything:
        yield Line()
    yield Line(header)
    for line, row in zip(lines, rows, strict=True):
        yield Line(line, verdict=row.verdict)
    if more > 0:
        yield Line(f"... {more} more that are worse: -v")


def _fitted(table: Table, cells: Sequence[Sequence[str]], shown: Shown) -> list[str]:
    left_out = set() if shown.everything else set(_DETAILS)
    agent = table.header.index("agent")
    if not shown.everything and len({row[agent] for row in cells}) == 1:
        left_out.add("agent")  # the line above names it
    return wording.fitted_table(
        table.header, cells, shown.width, table.dispensable, left_out
    )


# -- pictures --------------------------------------------------------------------------------


def _picture_parts(
    pictures: Sequence[Picture], shown: Shown, *, is_first: bool
) -> Iterator[_Part]:
    """Draw intervals on one scale, and explain the marks beside the first."""
    scale = drawing.scale_of(pictures, _PICTURE)
    label_columns = max(columns_of(picture.label) for picture in pictures)
    explained = ""
    for at, picture in enumerate(pictures):
        label = padded(picture.label, label_columns) + "  " if label_columns else ""
        drawn = drawing.drawn(picture, scale, shown.strokes)
        words = drawing.legend(picture, shown.strokes)
        text = f"  {label}{drawn}"
        if words != explained:
            text = f"  {label}{drawn:<{_PICTURE}}  {words}"
            explained = words
        if shown.width is not None:
            text = beginning(text, shown.width)
        goes = _PICTURE_TURN if is_first and at == 0 else _NEXT_PICTURE_TURN
        yield _Part([Line(text.rstrip())], goes)


# -- tasks -----------------------------------------------------------------------------------


def _task_parts(tasks: Sequence[TaskLine], shown: Shown) -> Iterator[_Part]:
    names = [isolated(both_ends(task.task, _TASK)) for task in tasks]
    name_columns = max(map(columns_of, names))
    reward_columns = max(len(task.rewards) for task in tasks)
    for at, (task, name) in enumerate(zip(tasks, names, strict=True)):
        head = f"  {padded(name, name_columns)}  {task.rewards}"
        if task.has_answers:
            head = f"  {padded(name, name_columns)}  {task.rewards:<{reward_columns}}"
            room = (shown.width or _WIDE) - columns_of(head)
            head += _answers(task, room)
        # the first task stays
        yield _Part([Line(head.rstrip())], goes=_TASK_TURN if at else 0)


_LEAST = 6  # columns of an answer that say something


def _answers(task: TaskLine, room: int) -> str:
    """Write what was expected, before and now, in the columns that there are."""
    texts = {"now": task.now}
    if task.was is not None:
        texts = {"was": task.was, **texts}
    if task.expected:
        texts = {"expected": task.expected, **texts}
    labels = sum(columns_of(label) + 3 for label in texts)
    widths = _shared(
        [columns_of(text or _NOTHING) for text in texts.values()], room - labels
    )
    if widths is None:
        return ""
    parts = [
        f"{label} {isolated(both_ends(text or _NOTHING, width))}"
        for (label, text), width in zip(texts.items(), widths, strict=True)
    ]
    return "".join(f"  {part}" for part in parts)


_NOTHING = "nothing"


def _shared(wanted: Sequence[int], room: int) -> list[int] | None:
    """Share columns: whoever wants less leaves the rest to the others; None for too few."""
    if room < _LEAST * len(wanted):
        return None
    widths = list(wanted)
    open_ones = sorted(range(len(wanted)), key=lambda at: wanted[at])
    left = room
    for count, at in zip(range(len(open_ones), 0, -1), open_ones, strict=True):
        widths[at] = min(wanted[at], left // count)
        left -= widths[at]
    return widths


# -- how pytest asks for it ------------------------------------------------------------------


class _Writer(Protocol):
    """What of pytest's writer is used."""

    hasmarkup: bool

    @property
    def fullwidth(self) -> int:
        """The columns of the terminal."""

    def line(self, s: str = "", **markup: bool) -> None:
        """Write a line, in colour."""


def width_of(writer: _Writer) -> int | None:
    """Return the columns to fill; None for a log, whose reader has any number."""
    if writer.hasmarkup or sys.stdout.isatty() or "COLUMNS" in os.environ:
        return writer.fullwidth
    return None


def strokes_of(encoding: str | None) -> drawing.Strokes:
    """Return strokes that an encoding can write."""
    try:
        "".join(structs.astuple(drawing.LINES)).encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return drawing.ASCII
    return drawing.LINES


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
    page: Page | None = None

    @property
    def reprcrash(self) -> _Crash:
        """The line for the short test summary."""
        return _Crash(self._summary_line())

    def _summary_line(self) -> str:
        """Cut the reason for a terminal: pytest counts colours as columns, and cuts too late."""
        reason = self.failure.reason
        is_asked_for = self.everything or self.style == "line"
        if is_asked_for or not self.failure.benchmark or not sys.stdout.isatty():
            return reason
        room = shutil.get_terminal_size().columns - columns_of(
            f"FAILED {self.failure.benchmark} - "
        )
        return beginning(reason, room) if room >= _LEAST_REASON else reason

    def toterminal(self, tw: _Writer) -> None:
        """Write the text, verdicts in colour."""
        if self.style == "line":  # pytest writes the crash line
            return
        shown = Shown(
            everything=self.everything,
            short=self.style == "short",
            width=width_of(tw),
            page=self.page,
            opens_links=opens_links(os.environ, is_terminal=sys.stdout.isatty()),
            strokes=strokes_of(sys.stdout.encoding),
        )
        for line in lines_of(self.failure, shown):
            colour = {COLOURS[Verdict(line.verdict)]: True} if line.verdict else {}
            tw.line(line.text, **colour)

    def __str__(self) -> str:
        return text_of(self.failure)


def shown_paragraph(texts: Iterable[str], width: int | None) -> list[str]:
    """Break texts of any kind into lines that show what can't be printed."""
    return [
        line
        for text in texts
        for part in text.split("\n")
        for line in broken(visible(part), width)
    ]
