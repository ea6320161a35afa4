"""The words of the names of fields."""

from __future__ import annotations

import re
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(text.split())


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Split a name into its words: ``isCorrect`` and ``is_correct`` -> is, correct."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W\d_]+\d*|\d+", spaced))


def last_part(path: str) -> str:
    """Return the last key of a dotted path."""
    return path.rpartition(".")[2]
