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

    Parameters
    ----------
    benchmark
        The name.

    Returns
    -------
    str
        Plain ASCII, without a suffix. Any other character is written as ``%`` and its UTF-8
        in hexadecimal, as in a URL. What gets too long is cut, and ends in a digest of 64
        bits. Names that differ by case alone differ here by case alone.

    Examples
    --------
    >>> file_name("mmlu/physics")
    'mmlu%2Fphysics'
    """
    parts = [c if _PLAIN.fullmatch(c) else _hex(c) for c in benchmark]
    if parts and parts[0] == ".":  # hidden
        parts[0] = _hex(".")
    if parts and parts[-1] in (".", " "):  # which Windows drops
        parts[-1] = _hex(parts[-1])
    if _RESERVED.fullmatch("".join(parts)):  # devices of Windows
        parts[0] = _hex(parts[0])
    escaped = "".join(parts)
    if len(escaped) <= _LONGEST:
        return escaped
    digest = blake2b(_utf8(benchmark), digest_size=8).hexdigest()
    return f"{escaped[:_LONGEST]}%{digest}"


def _hex(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in _utf8(character))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
