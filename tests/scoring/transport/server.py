"""A small HTTP server with every fault there is, for loopback.

    python server.py [port]      prints its port, then serves until it is ended

Written on bare asyncio, so that it can break HTTP where it should. What is asked is in the
query: `/ok?latency=0.02`, `/status?code=404`.
"""

import asyncio
import contextlib
import gzip
import json
import sys
import time
from urllib.parse import parse_qsl, urlsplit


class Seen:
    """What the server saw: requests per path, and connections."""

    def __init__(self):
        self.paths = {}
        self.connections = 0
        self.started = time.monotonic()
        self.in_flight = 0
        self.tokens = None
        self.filled = 0.0

    def takes_token(self, rate, burst):
        """Take a token of a bucket that fills at a rate, if there is one."""
        now = time.monotonic()
        if self.tokens is None:
            self.tokens = burst
            self.filled = now
        self.tokens = min(burst, self.tokens + (now - self.filled) * rate)
        self.filled = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


def reply(status, body, **headers):
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(body)}"]
    headers = {"Content_Type": "application/json"} | headers
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def as_json(value):
    return reply(200, json.dumps(value).encode())


SCORE = b'{"score": 1.0}'
PACKED = gzip.compress(SCORE * 50)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
# answers that are not what their head says, or hardly
LIES = {
    "a longer body": reply(200, SCORE) + b"EXTRA\r\n\r\n",
    "a shorter body": reply(200, SCORE).replace(b"Length: 14", b"Length: 99"),
    "two lengths": reply(200, SCORE, CONTENT_LENGTH="5"),
    "no length": b"HTTP/1.0 200 OK\r\n\r\n" + SCORE,
    "a length that is no number": reply(200, SCORE).replace(b"14", b"many"),
    "gzip": reply(200, SCORE, Content_Encoding="gzip"),
    "an encoding of its own": reply(200, SCORE, Content_Encoding="zippy"),
    "half of the gzip": reply(200, PACKED[:-20], Content_Encoding="gzip"),
    "half of the chunks": CHUNKED + b"e\r\n" + SCORE[:6],
    "a chunk's size": CHUNKED + b"zz\r\n" + SCORE + b"\r\n0\r\n\r\n",
    "utf-16": reply(200, SCORE, Content_Type="application/json; charset=utf-16"),
    "a charset of its own": reply(200, SCORE, Content_Type="text/json; charset=zippy"),
    "a charset that is no text": reply(
        200, SCORE, Content_Type="text/json; charset=base64"
    ),
    "no content type": b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + SCORE,
    "3 MB of spaces": reply(200, b" " * 3_000_000),
    "3 MB of spaces before it": reply(200, b" " * 3_000_000 + SCORE),
    "zeros": reply(200, b"\0" * 100),
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "a head without an end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    "a page of a 503": reply(
        503,
        b"<html><head><title>503 Service Temporarily Unavailable</title></head></html>",
        Content_Type="text/html",
    ),
}


async def answer(  # noqa: PLR0911, PLR0917 - one return for each path
    path, query, headers, body, seen, writer
):
    """Give the answer; None where the connection is to be closed."""
    match path:
        case "/ok":
            await asyncio.sleep(float(query.get("latency", 0)))
            return as_json({"score": 1.0, "n": seen.paths["/ok"]})
        case "/bucket":
            if not seen.takes_token(float(query["rate"]), float(query["burst"])):
                return reply(429, b"{}")
            await asyncio.sleep(float(query.get("latency", 0.005)))
            return as_json({"score": 1.0})
        case "/crowd":
            if seen.in_flight >= int(query["capacity"]):
                asked = (
                    {"Retry_After": query["retry_after"]}
                    if "retry_after" in query
                    else {}
                )
                return reply(429, b"{}", **asked)
            seen.in_flight += 1
            try:
                await asyncio.sleep(float(query.get("latency", 0.02)))
            finally:
                seen.in_flight -= 1
            return as_json({"score": 1.0})
        case "/down":  # from its first request on
            if seen.paths["/down"] == 1:
                seen.started = time.monotonic()
            age = time.monotonic() - seen.started
            if float(query["since"]) <= age < float(query["until"]):
                return reply(500, b"{}")
            await asyncio.sleep(float(query.get("latency", 0)))
            return as_json({"score": 1.0})
        case "/echo":
            return as_json({"text": body.decode()})
        case "/cookie":
            content = json.dumps({"cookie": headers.get("cookie")}).encode()
            return reply(200, content, Set_Cookie="a=b; Path=/")
        case "/status":
            return reply(int(query["code"]), b'{"detail": "no such evaluator"}')
        case "/redirect":
            return reply(
                int(query.get("code", 307)), b"", Location=query.get("to", "/ok")
            )
        case "/garbage":
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            await writer.drain()
            return None
        case "/cut":  # half of what was promised
            writer.write(reply(200, b'{"score": 1.0, "text": "abcdefgh"}')[:-12])
            await writer.drain()
            return None
        case "/lie":
            writer.write(LIES[query["about"]])
            await writer.drain()
            return None
        case "/close":
            return None
        case "/drip":
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
            )
            for _ in range(1000):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)
            return b""
        case "/huge":
            size, code = int(query["bytes"]), query.get("code", "200")
            head = f"HTTP/1.1 {code} OK\r\nContent-Type: application/json\r\n"
            if "chunked" in query:
                writer.write((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
            else:
                writer.write((head + f"Content-Length: {size}\r\n\r\n").encode())
            for _ in range(0, size, 65536):
                writer.write(
                    b"10000\r\n" + b" " * 65536 + b"\r\n"
                    if "chunked" in query
                    else b" " * 65536
                )
                await writer.drain()
            if "chunked" in query:
                writer.write(b"0\r\n\r\n")
            return b""
        case "/gzip":
            packed = gzip.compress(b" " * int(query["bytes"]) + b"1")
            return reply(200, packed, Content_Encoding="gzip")
        case "/seen":
            if "reset" in query:
                seen.paths, seen.connections = {}, 0
            return as_json({"paths": seen.paths, "connections": seen.connections})
    return reply(404, b'{"error": "no such path"}')


async def serve(reader, writer, seen):
    seen.connections += 1
    try:
        while True:
            start = await reader.readexactly(1)
            if start == b"\x16":  # TLS says hello: answered as others do who speak none
                writer.write(reply(400, b""))
                break
            head = start + await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            _method, target, _version = first.split(" ")
            headers = {
                k.lower(): v.strip()
                for k, _, v in (line.partition(":") for line in lines if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            parts = urlsplit(target)
            seen.paths[parts.path] = seen.paths.get(parts.path, 0) + 1
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            out = await answer(parts.path, query, headers, body, seen, writer)
            if out is None:
                break
            writer.write(out)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        pass  # the client went away, or spoke TLS
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def main(port):
    seen = Seen()
    server = await asyncio.start_server(
        lambda reader, writer: serve(reader, writer, seen),
        "127.0.0.1",
        port,
        backlog=512,
        limit=2**24,
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - how its starter learns it
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
