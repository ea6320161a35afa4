"""What pytest shows of a failure: lines and tables of known kinds, with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads the types
from enum import StrEnum

import msgspec


class LineKind(StrEnum):
    """What a line is for."""

    PLAIN = "plain"  # a title, or a test's own line
    REASON = "reason"  # why a check does not hold
    DETAIL = "detail"  # of the reason above it
    FLIP = "flip"  # a task that got worse
    HINT = "hint"  # the way out
    REMARK = "remark"  # a change or a note


class Line(msgspec.Struct, frozen=True, tag="line"):
    """One line without its end."""

    text: str = ""
    kind: LineKind = LineKind.PLAIN
    verdict: str = ""  # of the check that it is about


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


class Failure(msgspec.Struct, frozen=True):
    """A failure as a whole."""

    reason: str  # for the one line of pytest's short summary
    blocks: Sequence[Line | Table]
