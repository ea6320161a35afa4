"""Data inside a page: nothing in it can end the element that holds it."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["as_data"]

# in JSON these stand in strings only, where an escape means the same
_ESCAPED = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def as_data(value: Any) -> bytes:
    """Write builtins as JSON for a ``<script type="application/json">``."""
    data = msgspec.json.encode(value)
    for character, escape in _ESCAPED:
        data = data.replace(character, escape)
    return data
