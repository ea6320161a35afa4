"""The keys at the start of a JSON file, by which a format is recognised."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ENOUGH", "keys_of"]

ENOUGH: Final = 1 << 18  # bytes in which every format shows what it is
_DEPTH = 2  # of the keys that are of interest
_token = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[{}\[\]:]', re.DOTALL).finditer


def keys_of(text: bytes) -> tuple[frozenset[str], bool]:
    """List the keys of the first object in a text that may be cut off."""
    found: set[str] = set()
    opened: list[tuple[bytes, str]] = []  # each open bracket, and the path of its key
    path = key = ""
    for match in _token(text):
        token = match.group()
        if token in (b"{", b"["):
            in_list = bool(opened) and opened[-1][0] == b"["
            path = opened[-1][1] if in_list else _joined(path, key)
            opened.append((token, path))
            key = ""
        elif token in (b"}", b"]"):
            if opened:
                opened.pop()
            if token == b"}" and not any(bracket == b"{" for bracket, _ in opened):
                return frozenset(found), True
            path = opened[-1][1] if opened else ""
        elif token == b":":
            if path.count(".") < _DEPTH - 1:
                found.add(_joined(path, key))
        else:
            key = token[1:].removesuffix(b'"').decode(errors="replace")
    return frozenset(found), False


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
