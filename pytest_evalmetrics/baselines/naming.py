"""File names for baselines: one name per benchmark, on every file system."""

from __future__ import annotations

import re
from hashlib import blake2b

__all__ = ["file_name"]

_PLAIN = re.compile(r"[A-Za-z0-9_.+ -]")
_LONGEST = 100
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def file_name(benchmark: str) -> str:
    """Escape a benchmark's name, so that no two share a file.

    Whatever is not a plain character is written as ``%`` and its UTF-8 in hexadecimal. What
    gets too long is cut and marked with a digest.

    Examples
    --------
    >>> file_name("mmlu/physics")
    'mmlu%2Fphysics'
    """
    escaped = "".join(c if _PLAIN.fullmatch(c) else _hex(c) for c in benchmark)
    if escaped.startswith(".") or escaped.endswith((".", " ")) or _RESERVED.fullmatch(escaped):
        escaped = _hex(escaped[0]) + escaped[1:-1] + _hex(escaped[-1]) * (len(escaped) > 1)
    if len(escaped) <= _LONGEST:
        return escaped
    digest = blake2b(benchmark.encode(), digest_size=8).hexdigest()
    return f"{escaped[:_LONGEST].rstrip('. ')}%{digest}"


def _hex(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
