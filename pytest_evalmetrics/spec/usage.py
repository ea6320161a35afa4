"""What a run writes of each answer, beside its scores."""

from __future__ import annotations

from typing import Final

__all__ = ["COUNTED_SCORES", "GENERATED_SCORES", "MARK"]

GENERATED_SCORES: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "latency_s",
    "cost",
    "truncated",
)
# the key of a rollout under which it says what scorers are to see, or why there is nothing
MARK: Final = "_evalmetrics"
COUNTED_SCORES: Final = ("input_tokens", "output_tokens", "total_tokens", "truncated")
