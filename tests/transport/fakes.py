"""What takes the network's and the clock's place in the tests of this room."""

import asyncio
import json
import sqlite3
from contextlib import closing

from pytest_evalmetrics.transport import Clock, RawResponse

JSON = {"Content-Type": "application/json"}


class FakeTime:
    """Time that passes only by sleeping; chance that is always the same."""

    def __init__(self, random=0.5):
        self.now = 1000.0
        self.slept = []
        self.random = random

    @property
    def clock(self):
        return Clock(lambda: self.now, lambda: 1.7e9 + self.now, self.sleep, lambda: self.random)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def ok(body=None, **headers):
    return RawResponse(
        200, JSON | headers, json.dumps({"score": 1.0} if body is None else body).encode()
    )


def status(code, said="", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return RawResponse(code, JSON | headers, json.dumps({"error": {"message": said}}).encode())


class FakeSender:
    """Answers by a script: a response, an exception, or a function of the request, each once.

    The last one answers for ever.
    """

    def __init__(self, *script):
        self.script = list(script) or [ok()]
        self.requests = []
        self.closed = False

    async def send(self, request):
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        await asyncio.sleep(0)
        if callable(step):
            step = step(request)
            if asyncio.iscoroutine(step):
                step = await step
        if isinstance(step, BaseException):
            raise step
        return step

    async def close(self):
        self.closed = True


def answers_in(path):
    """Count the answers that a journal has on disk."""
    with closing(sqlite3.connect(path)) as db:
        (count,) = db.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)
