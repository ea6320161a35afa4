"""What is measured of each answer, beside its scores."""

from __future__ import annotations

from typing import Final

__all__ = ["COUNTED_SCORES", "GENERATED_SCORES"]

GENERATED_SCORES: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "latency_s",
    "cost",
    "truncated",
)
COUNTED_SCORES: Final = ("input_tokens", "output_tokens", "total_tokens", "truncated")
