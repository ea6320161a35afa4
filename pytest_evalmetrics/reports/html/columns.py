"""Columns of a table as what a page draws: tasks' means, their attempts, numbers in short."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.masks import all_of, any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

    _Floats = NDArray[np.float64]
    _Ints = NDArray[np.int64]
    _Bools = NDArray[np.bool_]

__all__ = ["ByTask", "coded", "means", "numbers", "pairs"]

_STEPS = 24  # per axis, where tasks' values are too many to show each
_WHOLE = 1e15  # above it a float is written with an exponent
_LOOKED_AT = 4096
_REPEATED = 32  # values
_DIGITS = 6
_EXACT = 22  # powers of ten up to this one are exact as floats
_NEAR = 1e-6  # of a half: many times what multiplying may be off by


class ByTask:
    """The rows of some tasks, one list per task."""

    def __init__(self, table: RolloutTable, tasks: _Ints, most: int) -> None:
        there = np.maximum(tasks, 0)
        starts = table.offsets[there]
        counts = np.minimum(table.offsets[there + 1] - starts, most) if len(tasks) else starts
        counts = np.where(tasks < 0, 0, counts)
        ends = counts.cumsum()
        shift = (starts - (ends - counts)).repeat(counts)
        self.rows: _Ints = np.arange(len(shift)) + shift
        self._bounds = [0, *ends.tolist()]
        self._there = (tasks >= 0).tolist()
        same = len(counts) > 0 and all_of(counts == counts[0]) and all(self._there)
        self._each = int(counts[0]) if same else 0  # rows of every task; 0 where they differ

    def split(self, flat: Sequence[Any]) -> list[Any]:
        """Split what there is of each row; None for a task that is not there."""
        if self._each and len(flat) == self._bounds[-1]:
            return list(map(list, zip(*[iter(flat)] * self._each, strict=True)))
        return [
            list(flat[a:b]) if there else None
            for there, (a, b) in zip(self._there, pairwise(self._bounds), strict=True)
        ]


def means(table: RolloutTable, score: str) -> _Floats:
    """Return the mean of each task's finite values, shape (tasks,); NaN where it has none."""
    column = table.scores[score]
    known = np.isfinite(column)
    n = len(table.tasks)
    values = column if all_of(known) else np.where(known, column, 0.0)
    sums = np.bincount(table.task, weights=values, minlength=n)
    counts = np.bincount(table.task[known], minlength=n)
    found: _Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return found


def coded(values: _Floats, most: int) -> tuple[_Floats, _Ints] | None:
    """Find the few values that there are, and which of them each one is."""
    levels = np.unique(values[:_LOOKED_AT])
    if len(values) > _LOOKED_AT and len(levels) <= most:
        # of a million values a sort takes longer than this
        codes = np.searchsorted(levels, values)
        others = levels[np.minimum(codes, len(levels) - 1)] != values
        if not any_of(others):
            return levels, codes
        levels = np.unique(np.append(levels, values[others]))
    if len(levels) > most or not len(values):
        return None
    return levels, levels.searchsorted(values)


def pairs(was: _Floats, now: _Floats) -> list[list[float | None]]:
    """Count the tasks by (before, after); on a grid where the values are many."""
    n = len(was)
    if not n:
        return []
    both = np.round(np.concatenate([was, now]), 9)
    found = coded(both, _STEPS + 1)
    if found is None:
        low, high = float(both.min()), float(both.max())
        if not np.isfinite(high - low):
            return []  # too far apart for floating-point numbers
        codes = np.round((both - low) / (high - low) * _STEPS).astype(np.int64)
        levels = np.linspace(low, high, _STEPS + 1)
    else:
        levels, codes = found
    width = len(levels)
    counts = np.bincount(codes[:n] * width + codes[n:], minlength=width * width)
    shown = numbers(levels)
    return [
        [shown[at // width], shown[at % width], int(counts[at])]
        for at in np.flatnonzero(counts).tolist()
    ]


def numbers(values: _Floats) -> list[float | None]:
    """Write numbers in six digits, whole ones as such; None where one is not finite."""
    finite = np.isfinite(values)
    if all_of(finite) and all_of(np.abs(values) < _WHOLE) and all_of(values == np.trunc(values)):
        whole: list[float | None] = values.astype(np.int64).tolist()
        return whole
    if len(values) <= 2 * _REPEATED:
        return [_number(x) for x in values.tolist()]
    found = coded(values, _REPEATED) if all_of(finite) else None
    if found is not None:  # such as the means of four rollouts: each is written once
        written = numbers(found[0])
        return [written[code] for code in found[1].tolist()]
    rounded, sure = _in_six_digits(values)
    listed: list[float | None] = rounded.tolist()
    for at in np.flatnonzero(~sure).tolist():
        listed[at] = _number(float(values[at]))
    return listed


def _number(x: float) -> float | None:
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < _WHOLE else float(f"{x:.{_DIGITS}g}")


def _in_six_digits(values: _Floats) -> tuple[_Floats, _Bools]:
    """Round as text does, and tell where that is sure: not of halves, whole or extreme numbers.

    A whole number of at most 2**53 times or through an exact power of ten is the float next
    to the decimal number: what reading the text gives.
    """
    with np.errstate(all="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        power = 10.0 ** np.minimum(np.abs(places), _EXACT)
        scaled = np.where(places >= 0, values * power, values / power)
        digits = np.rint(scaled)
        rounded = np.where(places >= 0, digits / power, digits * power)
        size, half = np.abs(digits), np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5)
        sure = (size >= 10 ** (_DIGITS - 1)) & (size <= 10**_DIGITS) & (half > _NEAR)
    return rounded, sure & (np.abs(places) <= _EXACT) & (values != np.trunc(values))
