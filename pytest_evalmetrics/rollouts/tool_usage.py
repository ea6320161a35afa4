"""What a rollout used, by the names that other tools have for time, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values

if TYPE_CHECKING:
    from pytest_evalmetrics.json_types import JsonValue

_USED: Final = {  # names of a call's usage in other tools
    "prompt_tokens": "input_tokens prompt_tokens n_input_tokens inputTokenCount prompt",
    "completion_tokens": "output_tokens completion_tokens n_output_tokens outputTokenCount "
    "completion",
    "cached_tokens": "cached_tokens cached_input_tokens input_tokens_cache_read "
    "cache_read_tokens n_cache_tokens cached",
    "total_tokens": "total_tokens total",
    "cost_usd": "cost cost_usd total_cost tokenCost",
}
_USAGE_KEYS: Final = {name: keys.split() for name, keys in _USED.items()}
USAGE: Final = ("latency_s", *_USAGE_KEYS)


def usage(
    *holders: JsonValue, latency_s: JsonValue = None, latency_ms: JsonValue = None
) -> dict[str, float]:
    """Add up the usage that the holders state, as the names of `USAGE` without unknown ones."""
    took = json_values.number(latency_ms)
    amounts = {
        "latency_s": json_values.number(latency_s) if took is None else took / 1000
    }
    for name, keys in _USAGE_KEYS.items():
        stated = [json_values.first(holder, *keys) for holder in holders]
        amounts[name] = json_values.total(stated)
    if None not in (amounts.get("prompt_tokens"), amounts.get("completion_tokens")):
        amounts.pop("total_tokens", None)
    return {name: amount for name, amount in amounts.items() if amount is not None}
