"""What the answers of a model took, when they were paid for."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.transport import Tokens

if TYPE_CHECKING:
    from pytest_evalmetrics.transport import Price

__all__ = ["Spending"]


class Spending:
    """Adds up what answers took.

    All of it is known of an answer for good, and nothing depends on the order in which they
    come: so a run that was interrupted and went on, and one that is replayed, tell the same.
    """

    def __init__(self) -> None:
        self.calls = self.requests = self.without_tokens = 0
        self.prompt_tokens = self.completion_tokens = self.total_tokens = 0
        self._latencies = array("d")

    def add(self, attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        """Count an answer.

        Parameters
        ----------
        attempts
            Requests that it took.
        latency_s
            Seconds of the one that succeeded.
        tokens
            None where it doesn't say.
        """
        self.calls += 1
        self.requests += attempts
        self._latencies.append(latency_s)
        if tokens is None:
            self.without_tokens += 1
            return
        self.prompt_tokens += tokens.prompt
        self.completion_tokens += tokens.completion
        self.total_tokens += tokens.total

    def as_dict(self, price: Price | None) -> dict[str, Any]:
        """Sum it up: calls, requests, tokens, cost, latency.

        Parameters
        ----------
        price
            Of a million tokens; without one, or where an answer doesn't say its tokens, the
            cost is None.
        """
        tokens = Tokens(self.prompt_tokens, self.completion_tokens, self.total_tokens)
        known = price is not None and not self.without_tokens
        return {
            "calls": self.calls,
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "without_tokens": self.without_tokens,
            "cost": price.of(tokens) if known and price is not None else None,
            "latency_s": self._latency(),
        }

    def _latency(self) -> dict[str, float]:
        if not self._latencies:
            return {}
        sorted_ones = np.sort(np.frombuffer(self._latencies))
        p50, p95 = np.quantile(sorted_ones, [0.5, 0.95]).tolist()
        found = {"mean": sorted_ones.mean(), "p50": p50, "p95": p95, "max": sorted_ones[-1]}
        return {name: round(float(value), 6) for name, value in found.items()}
