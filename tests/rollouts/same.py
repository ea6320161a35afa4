"""Whether two tables are the same, to the bit."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data import Category

if TYPE_CHECKING:
    from pytest_evalmetrics.ext import RolloutTable


def bits(value: Any) -> Any:
    """Make builtins of what a table holds; arrays as their type and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return [(name, bits(each)) for name, each in value.items()]  # their order counts
    if isinstance(value, Category):
        return bits(value.codes), value.labels
    return value


def all_bits(table: RolloutTable) -> dict[str, Any]:
    return {field.name: bits(getattr(table, field.name)) for field in fields(table)}
