"""Reading a score out of a value that an endpoint gave."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

from pytest_evalmetrics.errors import RowError

__all__ = ["as_number", "shown", "within"]

_SHOWN = 160


def as_number(value: Any, what: str) -> float:
    """Read a number: ``0.25``, ``"0.25"`` and ``true`` are some."""
    if value is None:
        raise RowError("no-score", f"{what} is null")
    number = math.nan
    if isinstance(value, bool | int | float | str):
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise RowError("no-number", f"{what} is {shown(value)}, expected a finite number")
    return number


def within(name: str, number: float, low: float | None, high: float | None) -> float:
    """Give a number that is within its bounds, of which either may lack."""
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = " and ".join(
            f"{word} {bound:.12g}"
            for word, bound in (("at least", low), ("at most", high))
            if bound is not None
        )
        raise RowError("out-of-range", f"{name} is {number:.12g}, expected {bounds}")
    return number


def shown(value: Any) -> str:
    """Write a value for a message, cut short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
