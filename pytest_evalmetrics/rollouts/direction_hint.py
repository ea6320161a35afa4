"""A guess for files that `init` and `inspect` propose: which scores should be low.

Nothing but a proposal rests on it, which says so: the direction of a gated metric is
declared, see `config.declarations`.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LOW: Final = frozenset(
    (
        "bias",
        "cer",
        "cost",
        "distance",
        "duration",
        "error",
        "errors",
        "fail",
        "failed",
        "failure",
        "failures",
        "hallucination",
        "hallucinations",
        "harm",
        "harmful",
        "incorrect",
        "invalid",
        "latency",
        "loss",
        "mae",
        "mistake",
        "mistakes",
        "mse",
        "perplexity",
        "rmse",
        "seconds",
        "time",
        "toxic",
        "toxicity",
        "violation",
        "violations",
        "wer",
        "wrong",
    )
)


def should_be_low(name: str) -> bool:
    """Guess from the last word of a score's name whether less of it is better."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return bool(words) and words[-1] in _LOW
