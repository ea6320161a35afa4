"""What the files of other tools hold, taken as numbers, times and names."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from datetime import datetime
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.rollouts.seam import Request

__all__ = [
    "agree",
    "asked",
    "distinct",
    "flat",
    "lookup",
    "mapping",
    "number",
    "objects",
    "seconds",
    "slim",
    "total",
    "usage",
]

_INSTRUCTING: Final = ("system", "developer")
_UNASKED: Final = ("id", "source", "metadata")  # of a message
_TOLERANCE: Final = 1e-6  # tools round what they print


def usage(
    *,
    latency_s: float | None = None,
    prompt_tokens: float | None = None,
    completion_tokens: float | None = None,
    cached_tokens: float | None = None,
    total_tokens: float | None = None,
    cost_usd: float | None = None,
) -> dict[str, float | None]:
    """Name what a rollout took in the one way that all formats share.

    Parameters
    ----------
    latency_s
        Seconds that the model or the agent was at work, without setting up and grading.
    prompt_tokens
        What was read, with what came from a cache.
    completion_tokens
        What was written.
    cached_tokens
        What of the prompt came from a cache.
    total_tokens
        Both together, where only that is known.
    cost_usd
        Dollars.
    """
    both = prompt_tokens is not None and completion_tokens is not None
    named = {
        "latency_s": latency_s,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "cached_tokens": cached_tokens,
        "total_tokens": None if both else total_tokens,
        "cost_usd": cost_usd,
    }
    return {name: amount for name, value in named.items() if (amount := number(value)) is not None}


def mapping(value: Any) -> dict[str, Any]:
    """Take a value as an object; what is none is an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Take the objects of a list; what is no list has none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """Take a value as a number; None for what is none. Whole numbers stay whole."""
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float):
        return None
    try:
        float(value)
    except OverflowError:
        return math.inf
    return value


def total(values: Iterable[Any]) -> float | None:
    """Add what is a number; None where nothing is."""
    found = [n for v in values if (n := number(v)) is not None]
    return reduce(add, found) if found else None  # sum() adds otherwise from Python 3.12 on


def seconds(text: Any) -> float | None:
    """Read a time such as ``2026-08-25T03:42:29.858Z``; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def lookup(record: Any, path: str) -> Any:
    """Follow a dotted path; a key that holds dots comes first. None where it leads nowhere."""
    if isinstance(record, dict):
        if path in record:
            return record[path]
        for end in [i for i, sign in enumerate(path) if sign == "."][::-1]:
            if path[:end] in record:
                found = lookup(record[path[:end]], path[end + 1 :])
                if found is not None:
                    return found
    elif isinstance(record, list):
        head, _, rest = path.partition(".")
        if head.isdecimal() and int(head) < len(record):
            return lookup(record[int(head)], rest) if rest else record[int(head)]
    return None


def asked(messages: Any) -> Any:
    """Reduce a conversation to the question: no system prompt, and no ids of messages.

    The system prompt belongs to the agent under test, which may change.
    """
    if not isinstance(messages, list):
        return messages
    return [
        {k: v for k, v in message.items() if k not in _UNASKED}
        if isinstance(message, dict)
        else message
        for message in messages
        if not (isinstance(message, dict) and message.get("role") in _INSTRUCTING)
    ]


def slim(record: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Leave of a record what a benchmark may ask for: its keys, and the values behind paths."""
    if request.whole:
        return dict(record)
    fields = request.fields
    paths = (
        *(fields.task, fields.sample, fields.agent, fields.reward, *fields.scores.values()),
        *(fields.content or ()),
    )
    wanted = [path for path in (*paths, *request.categories) if path is not None]
    return {
        key: value if any(p == key or p.startswith(f"{key}.") for p in wanted) else None
        for key, value in record.items()
    }


def agree(one: float, other: float) -> bool:
    """Whether two aggregates are the same, but for rounding."""
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def distinct(
    names: Sequence[str], contents: Sequence[Any], show: Callable[[Any], str]
) -> list[str]:
    """Tell tasks of the same name apart by what they hold.

    Parameters
    ----------
    names
        The name that each rollout's task has in the file.
    contents
        What the task is: rollouts of the same name and content are attempts at one task.
    show
        Says in short what it is.

    Returns
    -------
    list of str
        The names, with the content where it takes that to tell two tasks apart.
    """
    keys = [json.dumps(content, sort_keys=True, default=str) for content in contents]
    known: dict[str, set[str]] = defaultdict(set)
    for name, key in zip(names, keys, strict=True):
        known[name].add(key)
    return [
        name if len(known[name]) == 1 else f"{name} [{show(content)}]"
        for name, content in zip(names, contents, strict=True)
    ]


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Take settings apart (``provider id`` -> ``m``), without what is not set."""
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        value = {str(n): each for n, each in enumerate(value)}
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(f"{name} {key}".strip(), inner)
    elif value is not None and value not in ("", []):
        yield name, value
