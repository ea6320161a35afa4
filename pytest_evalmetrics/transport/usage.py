"""What calls take: tokens, seconds and money, and the progress of a run."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.transport.wire import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pytest_evalmetrics.transport.wire import Answer

__all__ = ["Price", "Progress", "ProgressState", "Tokens", "Usage", "UsageTally", "tokens_of"]

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
    """What one label used."""

    calls: int = 0  # answers, also those of the journal
    from_journal: int = 0  # answers that cost nothing now
    requests: int = 0  # HTTP requests that were sent in this run for the answers, retries included
    failed: int = 0  # calls that ended in an error
    # of the answers that say so, also those of the journal: the same for a run that was
    # interrupted and for one that was not
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    # answers that don't say how many tokens they took: the sums are without them
    without_tokens: int = 0
    latency_s: float = 0.0  # seconds, of the attempts that succeeded, when they were paid for
    max_latency_s: float = 0.0
    # of all calls, and of those that were sent in this run; None without a price, or where an
    # answer doesn't say its tokens
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
    """Adds usage up per label."""

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = dict(prices or {})
        self._sums: dict[str, _Sums] = {}

    def answered(self, label: str, answer: Answer, price: Price | None = None) -> None:
        """Count an answer."""
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
        return math.fsum(known) if known and len(known) == len(costs) else None

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


_WINDOW_S = 30.0  # the rate is that of the last half minute
_SAMPLES = 60


@dataclass(frozen=True, slots=True)
class ProgressState:
    """How far a run is."""

    label: str  # what runs
    done: int  # rows that have ended, well or not
    total: int | None  # all rows; None where nobody knows yet
    failed: Mapping[str, int]  # rows that ended in an error, per category
    examples: Mapping[str, str]  # the first message of each category
    from_journal: int  # rows that were answered without a call
    elapsed_s: float  # seconds since the start
    rate: float | None  # rows per second that were called for, lately; None before there is one
    left_s: float | None  # seconds that are left at this rate; None where it can't be told
    cost: float | None  # what it has cost so far; None where it is not known
    unit: str = "rows"  # what is counted

    @property
    def text(self) -> str:
        """One line for a log."""
        whole = f"/{self.total} ({self.done / self.total:.0%})" if self.total else ""
        one = (self.total or self.done) == 1
        parts = [f"{self.done}{whole} {self.unit.removesuffix('s') if one else self.unit}"]
        if self.from_journal:
            parts.append(f"{self.from_journal} from the journal")
        if self.failed:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.failed.items())
            parts.append(f"{sum(self.failed.values())} failed ({kinds})")
        if self.rate is not None:
            parts.append(f"{self.rate:.3g} {self.unit}/s")
        if self.left_s is not None and self.done != self.total:
            parts.append(f"{_duration(self.left_s)} left")
        else:
            parts.append(_duration(self.elapsed_s))
        if self.cost is not None:
            parts.append(f"cost {self.cost:.4g}")
        return f"{self.label}: {', '.join(parts)}" if self.label else ", ".join(parts)


class Progress:
    """Counts rows, and says now and then how far the run is."""

    def __init__(
        self,
        label: str = "",
        total: int | None = None,
        *,
        emit: Callable[[str], None] | None = None,
        on_change: Callable[[ProgressState], None] | None = None,
        cost: Callable[[], float | None] | None = None,
        every_s: float = 5.0,
        frame_s: float = 0.1,
        clock: Clock | None = None,
    ) -> None:
        self.label = label
        self.total = total
        self.unit = "rows"
        self._emit, self._on_change, self._cost = emit, on_change, cost
        self._every_s, self._frame_s = every_s, frame_s
        self._now = (clock or Clock()).monotonic
        self._start = self._emitted = self._now()
        self._shown = float("-inf")
        self._done = self._from_journal = 0
        self._failed: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        # (when, rows called for until then), some of the last half minute
        self._called: deque[tuple[float, int]] = deque([(self._start, 0)])

    def succeeded(self, *, from_journal: bool = False) -> None:
        """Count a row that has its scores."""
        self._done += 1
        self._from_journal += from_journal
        self.tick()

    def failed(self, kind: str, example: str = "") -> None:
        """Count a row that ended in an error."""
        self._done += 1
        self._failed[kind] = self._failed.get(kind, 0) + 1
        self._examples.setdefault(kind, example)
        self.tick()

    def tick(self) -> None:
        """Say how far the run is, if it is time."""
        now = self._now()
        if now - self._called[-1][0] >= _WINDOW_S / _SAMPLES:
            self._called.append((now, self._done - self._from_journal))
            # one sample older than the window stays: the rate is always over all of it
            while len(self._called) > 2 and now - self._called[1][0] > _WINDOW_S:  # noqa: PLR2004
                self._called.popleft()
        if self._on_change is not None and now - self._shown >= self._frame_s:
            self._shown = now
            self._on_change(self.state())
        if self._emit is not None and now - self._emitted >= self._every_s:
            self._emitted = now
            self._emit(self.state().text)

    def finish(self) -> None:
        """Show the last state, whenever the last one was; and log it if any was logged."""
        state = self.state()
        if self._on_change is not None:
            self._on_change(state)
        if self._emit is not None and self._emitted > self._start:
            self._emit(state.text)

    def state(self) -> ProgressState:
        """Give the counts as they are now."""
        now = self._now()
        then, called = self._called[0]
        recent = self._done - self._from_journal - called
        rate = recent / (now - then) if recent > 0 and now > then else None
        left = None
        if self.total is not None and rate is not None:
            left = max(0, self.total - self._done) / rate
        return ProgressState(
            label=self.label,
            done=self._done,
            total=self.total,
            failed=dict(self._failed),
            examples=dict(self._examples),
            from_journal=self._from_journal,
            elapsed_s=now - self._start,
            rate=rate,
            left_s=left,
            cost=self._cost() if self._cost is not None else None,
            unit=self.unit,
        )

    @asynccontextmanager
    async def ticking(self, clock: Clock | None = None) -> AsyncIterator[None]:
        """Tick while something runs, so that a run that hangs says so too."""
        sleep = (clock or Clock()).sleep

        async def tick_on() -> None:
            while True:
                await sleep(min(self._every_s, 1.0))
                self.tick()

        task = asyncio.ensure_future(tick_on())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.finish()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, over = divmod(minutes, 60)
    return f"{hours} h {over:02} min" if hours else f"{minutes} min {rest:02} s"
