"""What pytest shows of a failure: lines, tables, pictures and tasks, with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads the types
from enum import StrEnum

import msgspec


class LineKind(StrEnum):
    """What a line is for."""

    PLAIN = "plain"  # a title, or a test's own line
    REASON = "reason"  # why a check does not hold
    BESIDE = "beside"  # what a change's row in the table does not say
    PART = "part"  # one kind of rows that have no score
    DETAIL = "detail"  # of the reason above it
    SHARED = "shared"  # what the tasks that got worse have in common
    HINT = "hint"  # the way out
    REMARK = "remark"  # a change or a note
    COMMAND = "command"  # to copy: never broken
    MORE = "more"  # what is left out, and where it is


class Line(msgspec.Struct, frozen=True, tag="line"):
    """One line without its end."""

    text: str = ""
    kind: LineKind = LineKind.PLAIN
    verdict: str = ""  # of the check that it is about
    full: str = ""  # the same with every name, where `text` has the first ones


class Row(msgspec.Struct, frozen=True):
    """One check in a table; `cells` has one text for each name in the header."""

    cells: Sequence[str]
    verdict: str


class Table(msgspec.Struct, frozen=True, tag="table"):
    """Checks in columns."""

    header: Sequence[str]
    rows: Sequence[Row]
    # the columns that a narrow terminal goes without, the first to go first
    dispensable: Sequence[str] = ()
    # whether the reasons say it shorter, so that -v alone shows it
    is_folded: bool = False


class Picture(msgspec.Struct, frozen=True, tag="picture"):
    """An interval on a scale, in the metric's unit."""

    low: float
    value: float
    high: float
    # the change or the value that matters: a bound, or a drop
    limit: float | None
    shows_zero: bool  # of a change; a value has no zero of interest
    label: str  # the metric's name, where several are drawn
    text: str  # of the limit


class TaskLine(msgspec.Struct, frozen=True, tag="task"):
    """A task that got worse, with its rewards and its answers on both sides."""

    task: str
    rewards: str  # before and now: 2/2 -> 0/2
    expected: str = ""
    was: str | None = ""  # None if the baseline keeps no answers
    now: str = ""
    has_answers: bool = False  # else there are no texts of either side


Block = Line | Table | Picture | TaskLine


class Failure(msgspec.Struct, frozen=True):
    """A failure as a whole."""

    reason: str  # for the one line of pytest's short summary
    blocks: Sequence[Block]
    # the benchmark's id, where a page has one; else empty
    benchmark: str = ""
