"""Usage of calls (tokens, seconds and money), its limits, and the progress of a run."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections import Counter, defaultdict, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.layout import amount, many
from pytest_evalmetrics.scoring.transport.wire import Answer, Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.spec.model_keys import PriceSpec


class Tokens(msgspec.Struct, frozen=True):
    """Tokens of one call."""

    # all of the prompt, also what the provider's cache holds
    prompt: int
    completion: int
    total: int
    # tokens of the prompt that came from the provider's cache, and that were put into it
    cache_read: int = 0
    cache_write: int = 0

    def cost(self, price: PriceSpec) -> float:
        """Return the price of the call."""
        of_read = price.input
        if price.cache_read is not None:
            of_read = price.cache_read
        of_write = price.input
        if price.cache_write is not None:
            of_write = price.cache_write
        uncached = self.prompt - self.cache_read - self.cache_write
        millions = (
            uncached * price.input
            + self.cache_read * of_read
            + self.cache_write * of_write
            + self.completion * price.output
        )
        return millions / 1e6


class Usage(msgspec.Struct):
    """The usage of one label."""

    # answers, also those of the journal
    calls: int = 0
    # answers that cost nothing now
    from_journal: int = 0
    # HTTP requests that were sent in this run for the answers, retries included
    requests: int = 0
    # calls that ended in an error
    failed: int = 0
    # of the answers that give them, also those of the journal: the same for a run that was
    # interrupted and for one that was not
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    # answers that don't give their tokens: the sums are without them
    without_tokens: int = 0
    # seconds, of the attempts that succeeded, when they were paid for
    latency_s: float = 0.0
    # of all calls, and of those that were sent in this run; None without a price, or where an
    # answer doesn't give its tokens
    cost: float | None = None
    cost_now: float | None = None


def tokens_of(body: JsonValue) -> Tokens | None:
    """Read the tokens of an answer; None if it does not give them."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    # the names in chat completions, then those in responses and messages
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    if prompt is None and completion is None:
        return None
    completion = completion or 0
    read = _count(usage, "cache_read_input_tokens") or 0
    write = _count(usage, "cache_creation_input_tokens") or 0
    prompt = _with_cached(prompt or 0, read + write, usage)
    if not read:
        read = min(prompt, _cached_of_details(usage))
    total = max(prompt + completion, _count(usage, "total_tokens") or 0)
    return Tokens(
        prompt=prompt,
        completion=completion,
        total=total,
        cache_read=read,
        cache_write=write,
    )


def _with_cached(prompt: int, cached: int, usage: JsonObject) -> int:
    """Return the tokens of the whole prompt, with those of the provider's cache."""
    if "prompt_tokens" in usage:
        # it includes them, as LiteLLM writes an answer of Anthropic's
        return max(prompt, cached)
    # Anthropic's input_tokens are without them
    return prompt + cached


def _cached_of_details(usage: JsonObject) -> int:
    """Read the tokens of the provider's cache where OpenAI's APIs give them."""
    for key in ("prompt_tokens_details", "input_tokens_details"):
        details = usage.get(key)
        if isinstance(details, dict):
            cached = _count(details, "cached_tokens")
            if cached:
                return cached
    return 0


def _count(usage: JsonObject, *names: str) -> int | None:
    """Return the first whole number under some names; in JSON, true is none and 12.0 is 12."""
    for name in names:
        value = usage.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value >= 0 and value % 1 == 0:
            return int(value)
    return None


class UsageTally:
    """Adds usage up per label."""

    def __init__(self) -> None:
        # an unknown cost is NaN here
        self._usage: defaultdict[str, Usage] = defaultdict(Usage)
        self._currencies: set[str] = set()

    def answered(
        self, label: str, answer: Answer, price: PriceSpec | None = None
    ) -> None:
        """Count an answer."""
        usage = self._usage[label]
        tokens = tokens_of(answer.body)
        sent_now = not answer.from_journal
        usage.calls += 1
        usage.latency_s += answer.latency_s
        if sent_now:
            usage.requests += answer.attempts
        else:
            usage.from_journal += 1
        if tokens is None:
            usage.without_tokens += 1
        else:
            usage.prompt_tokens += tokens.prompt
            usage.completion_tokens += tokens.completion
            usage.total_tokens += tokens.total
        cost = math.nan
        if price is not None:
            self._currencies.add(price.currency)
            if tokens is not None:
                cost = tokens.cost(price)
        usage.cost = (usage.cost or 0.0) + cost
        if sent_now:
            usage.cost_now = (usage.cost_now or 0.0) + cost
        elif not math.isnan(cost):
            # a priced answer of the journal costs nothing now, which is known
            usage.cost_now = usage.cost_now or 0.0

    def failed(self, label: str, requests: int) -> None:
        """Count a call that ended in an error after so many requests."""
        self._usage[label].failed += 1
        self._usage[label].requests += requests

    def cost_now(self) -> float | None:
        """Return the cost of this run so far, or None if a price is unknown."""
        costs: list[float] = []
        for usage in self._usage.values():
            if usage.cost_now is None or math.isnan(usage.cost_now):
                return None
            costs.append(usage.cost_now)
        return math.fsum(costs) if costs else None

    @property
    def currency(self) -> str:
        """The currency of the prices; empty if there is none, or several."""
        if len(self._currencies) == 1:
            return next(iter(self._currencies))
        return ""

    def cost_text(self) -> str:
        """Write the cost of this run so far, in its currency; empty if a price is unknown."""
        cost = self.cost_now()
        if cost is None:
            return ""
        return f"{amount(cost)} {self.currency}".rstrip()

    def of(self, label: str) -> Usage:
        """Return the sums of a label."""
        usage = self._usage.get(label, Usage())
        return structs.replace(
            usage, cost=_known(usage.cost), cost_now=_known(usage.cost_now)
        )


def _known(cost: float | None) -> float | None:
    return None if cost is None or math.isnan(cost) else cost


class Budget:
    """Counts what calls use against limits; with a file, what all processes of a run use."""

    def __init__(
        self,
        # of ``requests``, ``tokens``, ``cost`` and ``seconds``: the limit, and its words
        limits: Mapping[str, tuple[float, str]],
        # a SQLite file that the run's processes share
        path: Path | None = None,
        # of the seconds, since 1970; else with the first call
        started: float | None = None,
    ) -> None:
        self.limits = limits
        # rollouts that have sent nothing yet
        self.begun = 0
        self._spent = {"requests": 0.0, "tokens": 0.0, "cost": 0.0}
        self._started = started
        self._db: sqlite3.Connection | None = None
        if path is not None:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            self._db = _shared_counts(path)

    def spent(self) -> dict[str, float]:
        """Return the usage so far, by the names of the limits."""
        now = time.time()
        if self._started is None:
            self._started = now
        if self._db is not None:
            row = self._db.execute(
                "SELECT requests, tokens, cost FROM spent"
            ).fetchone()
            self._spent = dict(zip(self._spent, row, strict=True))
        return {**self._spent, "seconds": now - self._started}

    def used_up(self) -> str:
        """Return the limit that is reached, in words; empty while none is."""
        spent = self.spent()
        spent["requests"] += self.begun  # each sends one request at least
        for name, (limit, words) in self.limits.items():
            if spent[name] >= limit:
                return words
        return ""

    def add(self, requests: int, tokens: int, cost: float) -> None:
        """Count a call that was sent."""
        if self._db is not None:
            self._db.execute(
                "UPDATE spent SET requests = requests + ?, tokens = tokens + ?, cost = cost + ?",
                (requests, tokens, cost),
            )
        for name, value in zip(self._spent, (requests, tokens, cost), strict=True):
            self._spent[name] += value

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()

    @property
    def text(self) -> str:
        """The usage so far, for the progress: ``1.2 of 5 usd spent``."""
        spent = self.spent()
        spent["seconds"] /= 60  # the run's are written in minutes
        used = (
            f"{amount(spent[name])} of {words}"
            for name, (_, words) in self.limits.items()
        )
        return f"{', '.join(used)} spent"


def _shared_counts(path: Path) -> sqlite3.Connection:
    """Open the file in which the processes of a run count together."""
    db = sqlite3.connect(
        path, timeout=30, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "CREATE TABLE IF NOT EXISTS spent (run PRIMARY KEY, requests, tokens, cost)"
    )
    db.execute("INSERT OR IGNORE INTO spent VALUES (1, 0, 0, 0)")
    return db


class Forecast(msgspec.Struct, frozen=True):
    """The expected usage of the calls that are still to be made; None for an unknown part."""

    calls: float
    tokens: float | None = None
    cost: float | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, usage: Usage, calls: float, parallelism: int) -> Forecast:
        """Expect of each call what those so far took on average, whenever they were paid for."""
        if not usage.calls:
            return cls(calls)
        counted = usage.calls - usage.without_tokens
        tokens = None
        if counted:
            tokens = usage.total_tokens / counted * calls
        cost = None
        if usage.cost is not None:
            cost = usage.cost / usage.calls * calls
        latency_s = usage.latency_s / usage.calls
        return cls(
            calls=calls,
            tokens=tokens,
            cost=cost,
            seconds=latency_s * calls / parallelism,
        )

    @property
    def text(self) -> str:
        """In words: ``120 calls, about 34000 tokens, a cost of 0.12, 3 min 20 s``."""
        parts = [many(round(self.calls), "call")]
        if self.calls and self.tokens is not None:
            parts.append(f"about {self.tokens:.3g} tokens")
        if self.calls and self.cost is not None:
            parts.append(f"a cost of about {self.cost:.3g}")
        if self.calls and self.seconds is not None:
            parts.append(f"about {duration(self.seconds)}")
        return ", ".join(parts)


_SAMPLE_S = 1.0
_SAMPLES = 60  # the rate is that of the last minute
_TICK_S = 1.0
_FEW = 5  # rows, of which no rate is made


class Progress:
    """Counts rows, and reports the progress of a run now and then.

    Parameters
    ----------
    label
        The benchmark.
    total
        The number of rows; None if it is unknown.
    report
        Is called with the progress every `every_s` seconds.
    calls, cost
        Return the number of answers so far, and what they cost in words; empty if unknown.
    """

    def __init__(
        self,
        label: str = "",
        total: int | None = None,
        *,
        report: Callable[[Progress], None] | None = None,
        every_s: float = 30.0,
        calls: Callable[[], int] = lambda: 0,
        cost: Callable[[], str] = lambda: "",
        budget: Budget | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.label = label
        self.total = total
        self.unit = "rows"
        self.done = 0
        self.from_journal = 0
        self.failures: Counter[str] = Counter()  # rows with an error, by category
        # the name and the mean so far of the benchmark's reward; None before there is any
        self.score: Callable[[], tuple[str, float] | None] = lambda: None
        self._report = report
        self._every_s = every_s
        self._calls = calls
        self._cost = cost
        self._budget = budget
        self._clock = clock or Clock()
        self._start = self._clock.monotonic()
        self._reported = self._start
        # when, and how many rows were called for until then
        self._called = deque([(self._start, 0)], maxlen=_SAMPLES)

    def succeeded(self, *, from_journal: bool = False) -> None:
        """Count a row that has its scores."""
        self.done += 1
        self.from_journal += from_journal
        self.tick()

    def failed(self, kind: str) -> None:
        """Count a row that ended in an error."""
        self.done += 1
        self.failures[kind] += 1
        self.tick()

    def tick(self) -> None:
        """Report if it is time."""
        now = self._clock.monotonic()
        if now - self._called[-1][0] >= _SAMPLE_S:
            self._called.append((now, self.done - self.from_journal))
        if self._report is not None and now - self._reported >= self._every_s:
            self._reported = now
            self._report(self)

    @property
    def share(self) -> float | None:
        """The share of rows that are done; None if their number is unknown."""
        return self.done / self.total if self.total else None

    @property
    def text(self) -> str:
        """The progress in one line, behind its label."""
        if self.label:
            return f"{self.label}: {self.details}"
        return self.details

    @property
    def details(self) -> str:
        """The progress in one line: ``120/400 rows (30%), accuracy 0.71 so far, ...``."""
        return ", ".join(self._parts())

    def _count(self) -> str:
        """Write how many rows are done, of how many."""
        unit = self.unit
        if (self.total or self.done) == 1:
            unit = unit.removesuffix("s")
        if self.total:
            return f"{self.done}/{self.total} {unit} ({self.share:.0%})"
        return f"{self.done} {unit}"

    def _parts(self) -> Iterator[str]:
        yield self._count()
        score = self.score()
        if score is not None:
            name, value = score
            yield f"{name} {value:.3g} so far"
        yield self._time()
        calls = self._calls()
        if calls:
            yield many(calls, "call")
        if self.from_journal:
            yield f"{self.from_journal} from the journal"
        if self.failures:
            kinds = ", ".join(
                f"{kind} {count}" for kind, count in self.failures.items()
            )
            yield f"{self.failures.total()} failed ({kinds})"
        cost = self._cost()
        if self._budget is not None:
            yield self._budget.text
        elif cost:
            yield f"cost {cost}"

    def _time(self) -> str:
        """Say how long the rest takes at the rate of the last minute; else how long it took."""
        now = self._clock.monotonic()
        then, called = self._called[0]
        recent = self.done - self.from_journal - called
        if self.total is None or self.done == self.total:
            return duration(now - self._start)
        if recent < min(_FEW, self.total) or now <= then:
            return f"{duration(now - self._start)} so far"
        rate = recent / (now - then)
        return f"{duration(max(0, self.total - self.done) / rate)} left"

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Tick every second inside of it, so that a run that hangs is reported too."""

        async def tick_on() -> None:
            while True:
                await self._clock.sleep(_TICK_S)
                self.tick()

        task = asyncio.ensure_future(tick_on())
        try:
            yield
        finally:
            task.cancel()
            if self._report is not None and self._reported > self._start:
                self._report(self)  # the last state, if any was reported


def duration(seconds: float) -> str:
    """Write seconds for people."""
    minutes, rest = divmod(round(seconds), 60)
    hours, over = divmod(minutes, 60)
    if hours:
        return f"{hours} h {over:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{rest} s"
