"""Intervals drawn in text: a change with 0 and the drop that matters, a value with its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.failure_lines import Picture


class Strokes(msgspec.Struct, frozen=True):
    """The characters of a picture."""

    begins: str
    runs: str
    value: str
    ends: str
    zero: str
    limit: str


LINES = Strokes("├", "─", "●", "┤", "│", "┊")
ASCII = Strokes("[", "-", "o", "]", "|", ":")


class Scale(msgspec.Struct, frozen=True):
    """The columns that stand for the values from `low` to `high`."""

    low: float
    high: float
    columns: int

    def column(self, value: float) -> int:
        """Return the column of a value."""
        span = self.high - self.low
        share = 0.5
        if span:
            share = (value - self.low) / span
        return round(share * (self.columns - 1))


def scale_of(pictures: Sequence[Picture], columns: int) -> Scale:
    """Return one scale for all pictures, with every mark on it."""
    marks: list[float] = []
    for picture in pictures:
        marks += _marks(picture)
    return Scale(min(marks), max(marks), columns)


_ALIKE = 8  # times that the larger of two changes on one scale may be the other


def share_scale(picture: Picture, first: Picture) -> bool:
    """Whether a scale that shows the first change shows the other one, too."""
    ratio = _extent(picture) / (_extent(first) or 1.0)
    return 1 / _ALIKE <= ratio <= _ALIKE


def _extent(picture: Picture) -> float:
    """Return the largest change that a picture shows."""
    return max(abs(picture.low), abs(picture.high))


def _marks(picture: Picture) -> list[float]:
    marks = [picture.low, picture.value, picture.high]
    if picture.shows_zero:
        marks.append(0.0)
    if picture.limit is not None:
        marks.append(picture.limit)
    return marks


def drawn(picture: Picture, scale: Scale, strokes: Strokes) -> str:
    """Draw one interval; of marks that share a column one is drawn, the value first."""
    cells = [" "] * scale.columns
    low = scale.column(picture.low)
    high = scale.column(picture.high)
    for column in range(low, high + 1):
        cells[column] = strokes.runs
    cells[low] = strokes.begins
    cells[high] = strokes.ends
    if picture.limit is not None:
        column = _free_column(picture, picture.limit, scale, cells)
        cells[column] = strokes.limit
    if picture.shows_zero:
        cells[scale.column(0.0)] = strokes.zero
    cells[scale.column(picture.value)] = strokes.value
    return "".join(cells).rstrip()


def _free_column(
    picture: Picture, limit: float, scale: Scale, cells: Sequence[str]
) -> int:
    """Return the column of the limit, or the next one where an end of the interval is in it."""
    column = scale.column(limit)
    for end in (picture.low, picture.high):
        is_taken = scale.column(end) == column and limit != end
        beside = column - 1
        if limit > end:
            beside = column + 1
        if is_taken and 0 <= beside < scale.columns and cells[beside] == " ":
            return beside
    return column


def legend(picture: Picture, strokes: Strokes) -> str:
    """Explain the marks: ``│ 0  ┊ gate: no drop >= 0.01``."""
    parts = []
    if picture.shows_zero:
        parts.append(f"{strokes.zero} 0")
    if picture.limit is None:
        parts.append(picture.text)
    else:
        parts.append(f"{strokes.limit} {picture.text}")
    return "  ".join(parts).rstrip()
