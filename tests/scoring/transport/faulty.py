"""A server whose answers fail at random, from a seed; it counts what it was paid for.

    python faulty.py SEED REFUSED      prints its port, then serves until it is ended

One of REFUSED rows can't be scored at all. A row is paid for when its whole answer was written. `/seen` tells how often each row was.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from random import Random

from server import as_json, reply

HANGS_S = 0.3
OUTAGE_EVERY_S = 4.0
OUTAGE_S = 0.4


class Faulty:
    """Random faults, and the count of the answers."""

    def __init__(self, seed, refused):
        self.refused = refused
        self.random = Random(seed)  # noqa: S311 - no secret
        self.paid = Counter()
        self.started = time.monotonic()

    def fault(self):
        """Draw a fault; None for a right answer."""
        if (
            time.monotonic() - self.started
        ) % OUTAGE_EVERY_S > OUTAGE_EVERY_S - OUTAGE_S:
            return "500"
        drawn = self.random.random()
        kinds = ("500", "502", "429", "503", "in 200", "cut", "closed", "hangs")
        place = int(drawn / 0.01)
        return kinds[place] if place < len(kinds) else None


async def answer(faulty, row, writer):  # noqa: PLR0911 - one return for each fault
    """Give the answer; None where the connection is to be closed."""
    if row % faulty.refused == 0:
        return reply(400, b'{"error": {"message": "this row can not be scored"}}')
    right = as_json({"score": row})
    match faulty.fault():
        case "in 200":
            return reply(200, b'{"error": {"code": 429, "message": "slow down"}}')
        case "cut":
            writer.write(right[:-3])
            await writer.drain()
            return None
        case "closed":
            return None
        case "hangs":
            await asyncio.sleep(HANGS_S)
        case "429":
            return reply(429, b"{}", Retry_After="0.1")
        case None:
            await asyncio.sleep(0.01)
        case status:
            return reply(int(status), b'{"error": "at random"}')
    faulty.paid[row] += 1
    return right


async def serve(reader, writer, faulty):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.decode("latin-1").split("\r\n"):
                name, _, value = line.partition(":")
                if name.lower() == "content-length":
                    length = int(value)
            body = await reader.readexactly(length)
            if head.startswith(b"GET /seen"):
                out = as_json(faulty.paid)
            else:
                out = await answer(faulty, json.loads(body)["row"], writer)
            if out is None:
                break
            writer.write(out)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client was killed
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def main(seed, refused):
    faulty = Faulty(seed, refused)
    server = await asyncio.start_server(
        lambda reader, writer: serve(reader, writer, faulty),
        "127.0.0.1",
        0,
        backlog=512,
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - how its starter learns it
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*map(int, sys.argv[1:])))
