"""Short sketches of answers, which tell how alike two answers are without their texts.

A sketch is a hash of the normalised text, by which equal answers are known, and the
twelve smallest hashes of its words, from which the Jaccard index of the words of two
answers is estimated (bottom-k sketches: Cohen and Kaplan 2007).
"""

from __future__ import annotations

import base64
from functools import lru_cache
from hashlib import blake2b
from typing import Final

_WORDS: Final = 12  # hashes of words that are kept
_BYTES: Final = 2  # of a word's hash
_TEXT: Final = 5  # bytes of the text's hash
_NO_SKETCH: Final = ""


def sketch(answer: str) -> str:
    """Sketch an answer; empty for an empty one."""
    words = answer.lower().split()
    if not words:
        return _NO_SKETCH
    text = " ".join(words)
    whole = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_TEXT).digest()
    smallest = sorted(set(map(_word_hash, words)))[:_WORDS]
    data = whole + b"".join(smallest)
    return base64.b64encode(data).decode().rstrip("=")


@lru_cache(maxsize=100_000)
def _word_hash(word: str) -> bytes:
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


class Sketch:
    """A sketch that was read.

    Attributes
    ----------
    text
        The hash of the normalised answer.
    words
        The smallest hashes of its words, ascending.
    """

    def __init__(self, written: str) -> None:
        padded = written + "=" * (-len(written) % 4)
        data = base64.b64decode(padded) if written else b""
        self.text = data[:_TEXT]
        rest = data[_TEXT:]
        self.words = [
            rest[start : start + _BYTES] for start in range(0, len(rest), _BYTES)
        ]


def distance(first: Sketch, second: Sketch) -> float:
    """Estimate the Jaccard distance of the words of two answers; 0 for equal answers."""
    if first.text == second.text:
        return 0.0
    ours = set(first.words)
    theirs = set(second.words)
    both = sorted(ours | theirs)
    # of answers with few words the sketches hold all of them
    if len(ours) == _WORDS or len(theirs) == _WORDS:
        both = both[:_WORDS]
    if not both:
        return 1.0
    shared = sum(word in ours and word in theirs for word in both)
    return 1.0 - shared / len(both)
