"""Whether two tables are the same, to the bit."""

from dataclasses import fields, is_dataclass

import numpy as np


def bits(value):
    """Make builtins of what a table holds; arrays as their type and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return [
            (name, bits(each)) for name, each in value.items()
        ]  # their order counts
    if is_dataclass(value):
        return [bits(getattr(value, field.name)) for field in fields(value)]
    return value


def all_bits(table):
    return {field.name: bits(getattr(table, field.name)) for field in fields(table)}
