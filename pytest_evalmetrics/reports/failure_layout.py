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
    limited,
    linked,
    opens_links,
    padded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.failure_lines import Block, Failure

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
    LineKind.REASON: 4,
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
    lines: list[Line] = []
    for part in parts:
        lines += part.lines
    # parts that are not shown leave no gap above the first
    while lines and not lines[0].text:
        lines.pop(0)
    return lines


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
        if pictures and not shown.short:
            yield from _picture_parts(pictures, shown, is_first=not has_picture)
            has_picture = True
        for block in blocks:
            if isinstance(block, Line):
                goes = _turn_of(block, is_first=block.kind not in seen)
                seen.add(block.kind)
                yield _Part(list(_line(block, shown)), goes)
        if not shown.short:
            yield from _details(blocks, shown)


def _details(blocks: Sequence[Block], shown: Shown) -> Iterator[_Part]:
    """Lay out the tasks and tables among blocks of one kind."""
    tasks = [block for block in blocks if isinstance(block, TaskLine)]
    if tasks:
        yield from _task_parts(tasks, shown)
    for block in blocks:
        if isinstance(block, Table):
            yield _Part(list(_table_lines(block, shown)))


def _turn_of(line: Line, *, is_first: bool) -> int:
    """Return how soon a line makes room; the first of its kind goes last, or not at all."""
    if is_first:
        return _FIRST_TURNS.get(line.kind, 0)
    return _TURNS.get(line.kind, 0)


def _make_room(parts: list[_Part]) -> None:
    """Keep what always stays, and of the rest what matters most and fits."""
    staying = [part for part in parts if not part.goes]
    going = [part for part in parts if part.goes]
    room = _MOST - sum(len(part.lines) for part in staying)
    for part in sorted(going, key=lambda part: part.goes):
        if len(part.lines) <= room:
            room -= len(part.lines)
        else:
            part.lines = []


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
    for text in _broken(line, shown):
        yield structs.replace(line, text=text)


def _broken(line: Line, shown: Shown) -> list[str]:
    """Break the whole text of a line for -v, else what the lines of its kind may hold."""
    if shown.everything:
        return broken(line.full or line.text, shown.width)
    lines = broken(line.text, shown.width)
    most = _LONGEST.get(line.kind, len(lines))
    return limited(lines, most, shown.width)


def _is_shown(line: Line, shown: Shown) -> bool:
    if shown.short:
        return line.kind not in (LineKind.DETAIL, LineKind.REMARK, LineKind.MORE)
    if line.kind is LineKind.DETAIL:
        return shown.everything
    return True


def _more_lines(line: Line, shown: Shown) -> Iterator[Line]:
    """Say what is left out, and where it is."""
    if shown.page is not None:
        yield structs.replace(line, text=_link_line(line.text, shown.page, shown))
    elif line.text:
        yield structs.replace(line, text=f"  ... {line.text} (-v shows more)")


def _link_line(hidden: str, page: Page, shown: Shown) -> str:
    """Write the page where the rest is, behind the number of hidden tasks."""
    lead = "  more: "
    if hidden:
        lead = f"  ... {hidden}: "
    target = f"{page.file}{page.place}"
    if shown.width is not None and columns_of(lead + target) > shown.width:
        target = page.file  # what fails comes first on the page
    if shown.opens_links:
        target = linked(target, page.address)
    return f"{lead}{target}"


# -- tables ----------------------------------------------------------------------------------


def _table_lines(table: Table, shown: Shown) -> Iterator[Line]:
    """Write a table: without -v the first rows that are worse, unless it is folded."""
    rows = list(table.rows)
    more = 0
    if not shown.everything:
        if table.is_folded:
            return
        worse = [row for row in rows if row.verdict != Verdict.PASS]
        rows = worse[:_ROWS]
        more = len(worse) - len(rows)
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
    left_out: set[str] = set()
    if not shown.everything:
        left_out.update(_DETAILS)
        agent = table.header.index("agent")
        agents = {row[agent] for row in cells}
        if len(agents) == 1:  # the line above names it
            left_out.add("agent")
    return wording.fitted_table(
        table.header, cells, shown.width, table.dispensable, left_out
    )


# -- pictures --------------------------------------------------------------------------------


def _picture_parts(
    pictures: Sequence[Picture], shown: Shown, *, is_first: bool
) -> Iterator[_Part]:
    """Draw intervals on one scale, and explain the marks beside the first."""
    scale = drawing.scale_of(pictures, _PICTURE)
    goes = _NEXT_PICTURE_TURN
    if is_first:
        goes = _PICTURE_TURN
    explained = ""
    for label, picture in zip(_labels(pictures), pictures, strict=True):
        text = f"  {label}{drawing.drawn(picture, scale, shown.strokes)}"
        legend = drawing.legend(picture, shown.strokes)
        if legend != explained:
            width = columns_of(f"  {label}") + _PICTURE
            text = f"{padded(text, width)}  {legend}"
            explained = legend
        if shown.width is not None:
            text = beginning(text, shown.width)
        yield _Part([Line(text.rstrip())], goes)
        goes = _NEXT_PICTURE_TURN


def _labels(pictures: Sequence[Picture]) -> list[str]:
    """Return the labels of pictures in equal columns; empty if none has one."""
    width = max(columns_of(picture.label) for picture in pictures)
    if not width:
        return [""] * len(pictures)
    return [f"{padded(picture.label, width)}  " for picture in pictures]


# -- tasks -----------------------------------------------------------------------------------


def _task_parts(tasks: Sequence[TaskLine], shown: Shown) -> Iterator[_Part]:
    names = [isolated(both_ends(task.task, _TASK)) for task in tasks]
    name_columns = max(map(columns_of, names))
    reward_columns = max(len(task.rewards) for task in tasks)
    goes = 0  # the first task stays
    for name, task in zip(names, tasks, strict=True):
        text = f"  {padded(name, name_columns)}  {task.rewards}"
        if task.has_answers:
            text += " " * (reward_columns - len(task.rewards))
            room = (shown.width or _WIDE) - columns_of(text)
            text += _answers(task, room)
        yield _Part([Line(text.rstrip())], goes)
        goes = _TASK_TURN


_LEAST = 6  # columns of an answer that say something


def _answers(task: TaskLine, room: int) -> str:
    """Write what was expected, before and now, in the columns that there are."""
    texts = {}
    if task.expected:
        texts["expected"] = task.expected
    if task.was is not None:
        texts["was"] = task.was or _NOTHING
    texts["now"] = task.now or _NOTHING
    labels = sum(columns_of(f"  {label} ") for label in texts)
    wanted = [columns_of(text) for text in texts.values()]
    widths = _shared_columns(wanted, room - labels)
    if widths is None:
        return ""
    line = ""
    for label, width in zip(texts, widths, strict=True):
        line += f"  {label} {isolated(both_ends(texts[label], width))}"
    return line


def _shared_columns(wanted: Sequence[int], room: int) -> list[int] | None:
    """Share columns: whoever wants less leaves the rest to the others; None for too few."""
    if room < _LEAST * len(wanted):
        return None
    widths = list(wanted)
    waiting = len(wanted)
    left = room
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        widths[at] = min(wanted[at], left // waiting)
        left -= widths[at]
        waiting -= 1
    return widths


_NOTHING = "nothing"


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
        lead = f"FAILED {self.failure.benchmark} - "
        room = shutil.get_terminal_size().columns - columns_of(lead)
        if room < _LEAST_REASON:
            return reason
        return beginning(reason, room)

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
            markup = {}
            if line.verdict:
                colour = COLOURS[Verdict(line.verdict)]
                markup[colour] = True
            tw.line(line.text, **markup)

    def __str__(self) -> str:
        return text_of(self.failure)


def shown_paragraph(texts: Iterable[str], width: int | None) -> list[str]:
    """Break texts of any kind into lines that show what can't be printed."""
    lines = []
    for text in texts:
        for part in text.split("\n"):
            lines += broken(visible(part), width)
    return lines
