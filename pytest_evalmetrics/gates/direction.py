"""Which way is good: known for tokens, cost and time by the name of what is measured."""

from __future__ import annotations

import re

__all__ = ["less_is_better"]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TIME = re.compile(
    "time|latenc(?:y|ies)|durations?|elapsed|runtime|ttft|seconds?|secs?|milliseconds?|millis|ms"
    "|minutes?|hours?"
)
_SPENT = re.compile(f"tokens|costs?|usd|dollars?|prices?|expenses?|{_TIME.pattern}")
_COUNTED = re.compile("count|usage|used|total|number")  # a token alone may be of a match
# what a number is, whatever else it is named after
_GAIN = re.compile(
    "accuracy|acc|scores?|rewards?|success|correct|f1|precision|recall|match|rate|efficiency"
    "|sav(?:ed|ings?)|remaining|throughput|pass(?:ed)?|ok"
)
_RATES = re.compile(r"pass_rate|pass@[0-9]+|pass\^[0-9]+")


def less_is_better(metric: str, score: str | None = None) -> bool:
    """Whether a smaller value of a metric is the better one, as far as its name tells.

    Parameters
    ----------
    metric
        What is computed: ``mean``, ``tokens_per_task``, ``pass@1``.
    score
        Of which score, if of any: ``output_tokens``, ``latency_s``.

    Examples
    --------
    >>> less_is_better("mean", "output_tokens"), less_is_better("mean", "tokens_per_second")
    (True, False)
    """
    if _RATES.fullmatch(metric):  # a rate of passing, whatever it is that has to pass
        return False
    return any(_is_spent(name) for name in (metric, score) if name)


def _is_spent(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if "per" in words:
        at = words.index("per")
        words, per = words[:at], words[at + 1 :]
        if (_any(_TIME, per) or per[:1] in (["s"], ["min"])) and "tokens" in words:
            return False  # a speed
    if _any(_GAIN, words):
        return False
    if "token" in words:
        return words[-1] == "token" or _any(_COUNTED, words)
    return _any(_SPENT, words)


def _any(kind: re.Pattern[str], words: list[str]) -> bool:
    return any(kind.fullmatch(word) for word in words)
