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
        share = (value - self.low) / span if span else 0.5
        return round(share * (self.columns - 1))


def scale_of(pictures: Sequence[Picture], columns: int) -> Scale:
    """Return one scale for all pictures, with every mark on it."""
    marks = [mark for picture in pictures for mark in _marks(picture)]
    return Scale(min(marks), max(marks), columns)


def _marks(picture: Picture) -> list[float]:
    marks = [picture.low, picture.value, picture.high]
    if picture.shows_zero:
        marks.append(0.0)
    if picture.limit is not None:
        marks.append(picture.limit)
    return marks


def drawn(picture: Picture, scale: Scale, strokes: Strokes) -> str:
    """Draw one interval; marks that share a column are drawn once, the value first."""
    cells = [" "] * scale.columns
    low, high = scale.column(picture.low), scale.column(picture.high)
    for column in range(low, high + 1):
        cells[column] = strokes.runs
    cells[low] = strokes.begins
    cells[high] = strokes.ends
    if picture.limit is not None:
        cells[scale.column(picture.limit)] = strokes.limit
    if picture.shows_zero:
        cells[scale.column(0.0)] = strokes.zero
    cells[scale.column(picture.value)] = strokes.value
    return "".join(cells).rstrip()


def legend(picture: Picture, strokes: Strokes) -> str:
    """Explain the marks: ``│ 0  ┊ gate: no drop >= 0.01``."""
    parts = [f"{strokes.zero} 0"] if picture.shows_zero else []
    limit = "" if picture.limit is None else f"{strokes.limit} "
    parts.append(f"{limit}{picture.text}")
    return "  ".join(parts).rstrip()
