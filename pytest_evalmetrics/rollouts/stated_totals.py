"""Totals that a file states beside its rows, and that its rows have to give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.json_types import JsonValue

# the first line of a file of scores of the Berkeley Function-Calling Leaderboard, which lists the
# failures alone
_COUNTS: Final = frozenset({"accuracy", "correct_count", "total_count"})


def failures_stated(row: Mapping[str, JsonValue]) -> int | None:
    """Read how many failures a file lists by its own count; None if the row counts nothing."""
    if not row.keys() >= _COUNTS:
        return None
    correct = json_values.number(row["correct_count"])
    total = json_values.number(row["total_count"])
    if correct is None or total is None:
        return None
    return int(total - correct)
