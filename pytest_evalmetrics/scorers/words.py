"""Texts as question answering compares them: without case, punctuation and articles."""

from __future__ import annotations

import re
import string

__all__ = ["normalised"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Normalise a text as SQuAD's evaluation does (Rajpurkar et al. 2016).

    Lower case; without ASCII punctuation; without a, an, the; single spaces.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
