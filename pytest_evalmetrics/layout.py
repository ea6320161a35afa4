"""JSON laid out for people: an object with one entry to a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["one_per_line"]


def one_per_line(entries: Mapping[str, Any], indent: int) -> str:
    """Write an object so that each of its entries is one line of a diff.

    Parameters
    ----------
    entries
        Builtins without NaN.
    indent
        Spaces before the object's closing brace.
    """
    if not entries:
        return "{}"
    pad = " " * (indent + 2)
    lines = ",\n".join(f"{pad}{_text(k)}: {_text(v)}" for k, v in entries.items())
    return f"{{\n{lines}\n{' ' * indent}}}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
