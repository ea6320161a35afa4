"""What a run cost: calls, tokens, seconds, money, per label."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.transport.answers import Answer

__all__ = ["Price", "Tokens", "Usage", "UsageTally", "tokens_of"]

# what an answer's `usage` calls them: chat completions, then responses and messages
_PROMPT, _COMPLETION = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call."""

    prompt: int
    completion: int
    total: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency."""

    prompt: float
    completion: float

    def of(self, tokens: Tokens) -> float:
        """Give the price of a call."""
        return (tokens.prompt * self.prompt + tokens.completion * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Usage:
    """What one label used.

    Attributes
    ----------
    calls
        Answers, also those of the journal.
    from_journal
        Answers that cost nothing now.
    requests
        HTTP requests that were sent in this run for the answers, retries included.
    failed
        Calls that ended in an error.
    prompt_tokens, completion_tokens, total_tokens
        Of the answers that say so, also those of the journal: the same for a run that was
        interrupted and for one that was not.
    without_tokens
        Answers that don't say how many tokens they took: the sums are without them.
    latency_s, max_latency_s
        Seconds, of the attempts that succeeded, when they were paid for.
    cost, cost_now
        Of all calls, and of those that were sent in this run; None without a price, or
        where an answer doesn't say its tokens.
    """

    calls: int = 0
    from_journal: int = 0
    requests: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    without_tokens: int = 0
    latency_s: float = 0.0
    max_latency_s: float = 0.0
    cost: float | None = None
    cost_now: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give it as builtins, for a report."""
        return asdict(self)


def tokens_of(body: Any) -> Tokens | None:
    """Read the tokens that an answer says it took; None where it does not."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage, _PROMPT), _count(usage, _COMPLETION)
    if prompt is None and completion is None:
        return None
    both = (prompt or 0) + (completion or 0)
    total = _count(usage, ("total_tokens",))
    return Tokens(prompt or 0, completion or 0, both if total is None else total)


class _Sums:
    """The running sums of one label."""

    def __init__(self) -> None:
        self.calls = self.from_journal = self.requests = self.failed = 0
        self.prompt = self.completion = self.total = self.without = 0
        self.latency = self.longest = 0.0
        self.cost = self.now_cost = 0.0
        self.priced = self.unpriced = self.now_unpriced = 0


class UsageTally:
    """Adds usage up per label.

    Parameters
    ----------
    prices
        Per label; a label without one has no cost.
    """

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = dict(prices or {})
        self._sums: dict[str, _Sums] = {}

    def answered(self, label: str, answer: Answer, price: Price | None = None) -> None:
        """Count an answer.

        Parameters
        ----------
        label
            What it is counted under.
        answer
            The answer.
        price
            Of its tokens; default the label's.
        """
        sums = self._of(label)
        sums.calls += 1
        sums.latency += answer.latency_s
        sums.longest = max(sums.longest, answer.latency_s)
        live = not answer.from_journal
        if live:
            sums.requests += answer.attempts
        else:
            sums.from_journal += 1
        tokens = tokens_of(answer.body)
        price = price or self._prices.get(label)
        if tokens is None or price is None:
            sums.unpriced += 1
            sums.now_unpriced += live
        else:
            sums.priced += 1
            cost = price.of(tokens)
            sums.cost += cost
            sums.now_cost += cost if live else 0.0
        if tokens is None:
            sums.without += 1
            return
        sums.prompt += tokens.prompt
        sums.completion += tokens.completion
        sums.total += tokens.total

    def failed(self, label: str, requests: int) -> None:
        """Count a call that ended in an error after so many requests."""
        sums = self._of(label)
        sums.failed += 1
        sums.requests += requests

    def cost_now(self) -> float | None:
        """Give what this run cost so far; None if some of it has no known price."""
        costs = [self._cost(label, now=True) for label in self._sums]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    def by_label(self) -> dict[str, Usage]:
        """Give the sums, per label."""
        return {
            label: Usage(
                calls=s.calls,
                from_journal=s.from_journal,
                requests=s.requests,
                failed=s.failed,
                prompt_tokens=s.prompt,
                completion_tokens=s.completion,
                total_tokens=s.total,
                without_tokens=s.without,
                latency_s=s.latency,
                max_latency_s=s.longest,
                cost=self._cost(label),
                cost_now=self._cost(label, now=True),
            )
            for label, s in self._sums.items()
        }

    def _of(self, label: str) -> _Sums:
        sums = self._sums.get(label)
        if sums is None:
            sums = self._sums[label] = _Sums()
        return sums

    def _cost(self, label: str, *, now: bool = False) -> float | None:
        s = self._sums[label]
        if s.unpriced if not now else s.now_unpriced:
            return None
        if not s.priced and label not in self._prices:
            return None
        return s.now_cost if now else s.cost


def _count(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name)
        if type(value) is int and value >= 0:  # of JSON: True is none
            return value
    return None
