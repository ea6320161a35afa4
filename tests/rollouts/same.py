"""Whether two tables are the same, to the bit."""

from dataclasses import fields

import numpy as np

from pytest_evalmetrics.data import Category


def bits(value):
    """Make builtins of what a table holds; arrays as their type and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return [(name, bits(each)) for name, each in value.items()]  # their order counts
    if isinstance(value, Category):
        return bits(value.codes), value.labels
    return value


def all_bits(table):
    return {field.name: bits(getattr(table, field.name)) for field in fields(table)}
