"""Endpoints in simulated time: hours of outages and rate limits pass in milliseconds."""

import asyncio
from types import SimpleNamespace

from scoring.transport.fakes import ok, status

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.scoring.transport import run_bounded, written_body
from pytest_evalmetrics.scoring.transport.exchange import RetryingSender
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.wire import Clock, SendFailure

LATENCY_S = 0.02


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer as soon as nothing else is to be done."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0

    def time(self):
        return self.now

    def _run_once(self):
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


class SimulatedServer:
    """An endpoint that answers after a latency; `refuse` may answer at once instead."""

    def __init__(self, loop, latency_s=LATENCY_S):
        self.loop = loop
        self.latency_s = latency_s
        self.in_flight = 0
        self.requests = 0
        self.refusals = 0
        self.started = loop.time()

    @property
    def age_s(self):
        return self.loop.time() - self.started

    def refuse(self, _row):
        """Return what is answered in place of a result, or None."""

    async def send(self, _endpoint, payload):
        self.requests += 1
        refusal = self.refuse(int(payload))
        if refusal is not None:
            self.refusals += 1
            await asyncio.sleep(0.002)
            if isinstance(refusal, Exception):
                raise refusal
            return refusal
        self.in_flight += 1
        try:
            await asyncio.sleep(self.latency_s)
        finally:
            self.in_flight -= 1
        return ok()

    async def close(self):
        pass


class TokenBucket(SimulatedServer):
    """Lets so many calls a second through, and answers 429 to the others."""

    def __init__(self, loop, rate, burst, latency_s=LATENCY_S, headers=None):
        super().__init__(loop, latency_s)
        self.rate = rate
        self.burst = burst
        self.headers = headers or {}
        self.tokens = float(burst)
        self.filled_at = loop.time()

    def refuse(self, _row):
        now = self.loop.time()
        self.tokens = min(self.burst, self.tokens + (now - self.filled_at) * self.rate)
        self.filled_at = now
        if self.tokens < 1.0:
            return status(429, "slow down", **self.headers)
        self.tokens -= 1.0
        return None

    def ideal_s(self, rows):
        return max(0, rows - self.burst) / self.rate


class Crowded(SimulatedServer):
    """Bears so many calls at once, and answers 429 to the others."""

    def __init__(self, loop, capacity, latency_s=LATENCY_S, headers=None):
        super().__init__(loop, latency_s)
        self.capacity = capacity
        self.headers = headers or {}

    def refuse(self, _row):
        if self.in_flight >= self.capacity:
            return status(429, "too many at once", **self.headers)
        return None

    def ideal_s(self, rows):
        return rows * self.latency_s / self.capacity


class Down(SimulatedServer):
    """Fails between two moments."""

    def __init__(self, loop, since, until, failure, latency_s=LATENCY_S):
        super().__init__(loop, latency_s)
        self.since = since
        self.until = until
        self.failure = failure

    def refuse(self, _row):
        return self.failure() if self.since <= self.age_s < self.until else None


def refused():
    return SendFailure("refused", "host:80 refused the connection", fault=Fault.DOWN)


def run_calls(make_server, rows, parallelism=64, policy=None, **settings):
    """Send a call for each row; return the failures, the seconds it took, and the server."""
    loop = VirtualLoop()
    server = make_server(loop)
    clock = Clock(
        monotonic=loop.time, wall=loop.time, sleep=asyncio.sleep, random=lambda: 0.5
    )
    sender = RetryingSender(server, policy, clock)
    endpoint = Endpoint("http://host/score", parallelism=parallelism, **settings)
    failures = {}
    attempts = {}

    async def call(row):
        try:
            answer = await sender.send(endpoint, written_body(row))
            attempts[row] = answer.attempts
        except CallError as error:
            failures[row] = error
            if error.fatal:
                raise

    fatal = None
    try:
        loop.run_until_complete(run_bounded(call, range(rows), parallelism))
    except CallError as error:
        fatal = error
    finally:
        loop.close()
    return SimpleNamespace(
        failures=failures,
        fatal=fatal,
        seconds=loop.now - 1000.0,
        server=server,
        attempts=attempts,
    )
