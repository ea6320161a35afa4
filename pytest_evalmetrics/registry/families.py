"""Names that stand for many: ``pass@{k}`` is the family of ``pass@1``, ``pass@2`` ..."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_family", "numbers_in"]

_PLACE = re.compile(r"\{(\w+)\}")


def is_family(pattern: str, name: str) -> bool:
    """Whether a name is how one writes a family itself: ``pass@{k}``, and ``pass@k``."""
    return "{" in pattern and name in (pattern, _PLACE.sub(r"\1", pattern))


def numbers_in(pattern: str, name: str) -> dict[str, int] | None:
    """Find the numbers that make a name one of a family.

    Parameters
    ----------
    pattern
        The family: ``pass@{k}``.
    name
        A name: ``pass@3``.

    Returns
    -------
    dict or None
        ``{"k": 3}``; None where the name is none of the family, or the pattern is no family's.
    """
    if "{" not in pattern:
        return None
    match = _members(pattern).fullmatch(name)
    return None if match is None else {k: int(v) for k, v in match.groupdict().items()}


@lru_cache(maxsize=64)  # each benchmark asks for the same
def _members(pattern: str) -> re.Pattern[str]:
    parts = _PLACE.split(pattern)
    return re.compile(
        "".join(
            f"(?P<{part}>[1-9][0-9]*)" if i % 2 else re.escape(part) for i, part in enumerate(parts)
        )
    )
