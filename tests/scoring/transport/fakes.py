"""A client over a script of answers: what takes the network's and the clock's place here."""

import asyncio
import json
import time
from contextlib import closing
from types import SimpleNamespace

from pytest_evalmetrics.scoring.transport import (
    Call,
    Journal,
    JournalMode,
    Transport,
    run_bounded,
    written_body,
)
from pytest_evalmetrics.scoring.transport.endpoints import Endpoint
from pytest_evalmetrics.scoring.transport.journal_file import JournalFile, KeptFailure
from pytest_evalmetrics.scoring.transport.origin_state import Fault, RetryPolicy
from pytest_evalmetrics.scoring.transport.secrets import Secret
from pytest_evalmetrics.scoring.transport.wire import (
    CallError,
    Clock,
    PaidAnswer,
    RawResponse,
    SendFailure,
)

JSON = {"Content-Type": "application/json"}
URL = "http://api.example/score"


def secret(value):
    return Secret("my-key", "MY_KEY", value)


WORD = "sk-s3cr3t-value"
KEY = secret(WORD)


class FakeTime:
    """Time that passes only by sleeping; chance that is always the same."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []
        self.clock = Clock(
            lambda: self.now, lambda: 1.7e9 + self.now, self.sleep, lambda: 0.5
        )

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def raw(body, content_type="application/json", status=200):
    return RawResponse(
        status, {"Content-Type": content_type} if content_type else {}, body
    )


def ok(body=None):
    return raw(json.dumps({"score": 1.0} if body is None else body).encode())


def status(code, message="", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return RawResponse(
        code, JSON | headers, json.dumps({"error": {"message": message}}).encode()
    )


def broken(kind, message="it broke", **more):
    """Make what comes of an attempt without an answer; it may pass."""
    fault = Fault.DOWN if kind == "refused" else Fault.BROKEN
    return SendFailure(kind, message, **{"fault": fault} | more)


class FakeSender:
    """Answers by a script: a response, an exception, or a function of the request, each once.

    The last one answers for ever.
    """

    def __init__(self, *script):
        self.script = list(script) or [ok()]
        self.bodies = []
        self.in_flight = 0
        self.closed = False

    async def send(self, _endpoint, payload):
        request = SimpleNamespace(body=payload)
        self.bodies.append(payload)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.in_flight += 1
        try:
            await asyncio.sleep(0)
            if callable(step):
                step = step(request)
                if asyncio.iscoroutine(step):
                    step = await step
            if isinstance(step, BaseException):
                raise step
            return step
        finally:
            self.in_flight -= 1

    async def close(self):
        self.closed = True


class Client:
    """A transport over a script, and its journal's file; called again, it is another run."""

    def __init__(self, path=None):
        self.path = path
        self.time = FakeTime()
        self.transport = self.sender = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.transport is not None:
            self.transport.close()
            assert self.sender is None or self.sender.closed or not self.sender.bodies
            self.transport = None

    def __call__(
        self,
        *script,
        mode="off",
        network=False,
        max_bytes=2**30,
        lease_s=30.0,
        **policy,
    ):
        """Start a run, after the end of the one before."""
        self.__exit__()
        wall = time.time if network else self.time.clock.wall
        journal = self.path and Journal(
            self.path,
            JournalMode(mode),
            max_bytes=max_bytes,
            lease_s=lease_s,
            wall=wall,
        )
        self.sender = None if network else FakeSender(*script)
        clock = None if network else self.time.clock
        policy = RetryPolicy(**policy)
        self.transport = Transport(
            journal, sender=self.sender, policy=policy, clock=clock
        )
        return self

    def call(self, body=None, *, occurrence=0, check=None, url=URL, **settings):
        payload = written_body({"a": 1} if body is None else body)
        endpoint = Endpoint(url, **settings)
        call = Call(endpoint, payload, occurrence=occurrence, label="test")
        return self.transport.call(call, check or (lambda _: None))

    def ask(self, body=None, **more):
        return self.run(self.call(body, **more))

    def run(self, coroutine):
        return self.transport.run(coroutine)

    def many(self, rows, parallelism, done=lambda *_: None, **settings):
        async def ask(row):
            try:
                outcome = await self.call(
                    {"row": row}, parallelism=parallelism, **settings
                )
            except CallError as error:
                outcome = error
            done(row, outcome)

        return run_bounded(ask, rows, parallelism)

    def ask_many(self, rows, parallelism, **settings):
        outcomes = {}
        self.run(self.many(rows, parallelism, outcomes.__setitem__, **settings))
        return outcomes

    @property
    def usage(self):
        return self.transport.usage.of("test")


def records_in(path):
    """Read the answers and failures that a journal has on disk, by key."""
    with closing(JournalFile(path, readonly=True)) as journal:
        return dict(journal.all())


def answers_in(path):
    """Count the answers that a journal has on disk."""
    return len(of_kind(path, PaidAnswer))


def failures_in(path):
    """List the failures that a journal has on disk, of calls without an answer."""
    return of_kind(path, KeptFailure)


def of_kind(path, kind):
    return [kept for kept in records_in(path).values() if isinstance(kept, kind)]
