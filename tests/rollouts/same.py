"""Whether two tables are the same, to the bit."""

import msgspec
import numpy as np


def bits(value):
    """Make builtins of what a table holds; arrays as their type and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return [
            (name, bits(each)) for name, each in value.items()
        ]  # their order counts
    if isinstance(value, msgspec.Struct):
        return [bits(getattr(value, name)) for name in value.__struct_fields__]
    return value


def all_bits(table):
    return {name: bits(getattr(table, name)) for name in table.__struct_fields__}
