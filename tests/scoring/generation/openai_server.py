"""An OpenAI-compatible server that says what it is told to, for loopback.

    python openai_server.py [port]      prints its port, then serves until it is ended

The last message tells how it answers: `mode=500 what is this?`; without a mode it repeats the
message. A sum such as `2 + 3` is answered right. `?latency=0.05` in the URL makes it slow.
Written on bare asyncio, so that it is faster than what is measured with it.
"""

import asyncio
import contextlib
import json
import re
import sys
import time
from urllib.parse import parse_qsl, urlsplit

MODE = re.compile(r"mode=(\w+)")
SUM = re.compile(r"(\d+) \+ (\d+)")
SEEN = {"posts": 0, "bodies": [], "keys": [], "in_flight": 0, "most_in_flight": 0}
SEEN |= {"first": 0.0, "last": 0.0}  # when
KEPT = 200  # bodies


def reply(status, body, kind="application/json"):
    lines = [
        f"HTTP/1.1 {status} Reason",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def completion(text, *, finish="stop", usage=True, **message):
    """Word an answer as chat completions do."""
    answered = {"role": "assistant", "content": text, **message}
    body = {
        "id": "c-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": answered, "finish_reason": finish}],
    }
    if usage:
        size = len(str(text or "").split()) or 1
        body["usage"] = {
            "prompt_tokens": 10,
            "completion_tokens": size,
            "total_tokens": 10 + size,
        }
    return reply(200, json.dumps(body).encode())


def response(text, body, mode):
    """Word an answer as OpenAI's Responses API does."""
    parts = [{"type": "output_text", "text": text, "annotations": []}]
    items = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]
    if mode == "tools":
        name = body["tools"][0]["name"]
        arguments = json.dumps({"of": text})
        call = {"type": "function_call", "call_id": "t", "name": name}
        items.append({**call, "arguments": arguments})
    elif mode != "thoughts":
        items.append({"type": "message", "role": "assistant", "content": parts})
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    answered = {"id": "r-1", "object": "response", "model": "m", "usage": usage}
    answered |= {"status": "completed", "error": None, "output": items}
    if mode == "length":
        answered["status"] = "incomplete"
        answered["incomplete_details"] = {"reason": "max_output_tokens"}
    return reply(200, json.dumps(answered).encode())


def anthropic(text, body, mode):
    """Word an answer as Anthropic's messages do."""
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "x"}]
    if mode == "tools":
        name = body["tools"][0]["name"]
        blocks.append(
            {"type": "tool_use", "id": "t", "name": name, "input": {"of": text}}
        )
    elif mode != "thoughts":
        blocks.append({"type": "text", "text": text})
    reason = {"length": "max_tokens", "tools": "tool_use"}.get(mode, "end_turn")
    answered = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": reason,
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }
    return reply(200, json.dumps(answered).encode())


def as_text(body):
    if "prompt" in body:
        return str(body["prompt"])
    turns = body.get("messages") or body["input"]
    content = turns[-1]["content"]
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content)


def answer(path, body):  # noqa: PLR0911 - one return for each mode
    asked = as_text(body)
    match = MODE.search(asked)
    text = MODE.sub("", asked).strip()
    total = SUM.search(text)
    if total:
        text = str(int(total[1]) + int(total[2]))
    if path.endswith("/responses"):
        return response(text, body, match and match[1])
    if path.endswith("/messages"):
        return anthropic(text, body, match and match[1])
    if path.endswith("/completions") and not path.endswith("/chat/completions"):
        choice = {"index": 0, "text": f" {text}", "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        return reply(200, json.dumps({"choices": [choice], "usage": usage}).encode())
    match match and match[1]:
        case "500":
            return reply(500, b'{"error": {"message": "out of memory"}}')
        case "401":
            return reply(401, b'{"error": {"message": "no such key"}}')
        case "length":
            return completion(text, finish="length")
        case "cut":  # it never came to its answer
            return completion("hm, let me think", finish="length")
        case "empty":
            return reply(200, b'{"choices": []}')
        case "refuse":
            return completion(None, refusal="I can't help with that")
        case "filter":
            return completion("", finish="content_filter")
        case "tools":
            name = body["tools"][0]["function"]["name"]
            call = {"id": "t", "type": "function"}
            call["function"] = {"name": name, "arguments": json.dumps({"of": text})}
            return completion(None, finish="tool_calls", tool_calls=[call])
        case "think":
            return completion(f"let me see</think>no</think>\n\n{text}\n")
        case "apart":
            return completion(text, reasoning_content="let me see")
        case "stream":
            return reply(200, b"data: {}\n\n", "text/event-stream")
        case "nousage":
            return completion(text, usage=False)
        case "count":
            return completion(str(SEEN["posts"]))
    return completion(text)


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, _version = first.split(" ")
            headers = {
                k.lower(): v.strip() for k, _, v in (ln.partition(":") for ln in lines)
            }
            sent = await reader.readexactly(int(headers.get("content-length", 0)))
            parts = urlsplit(target)
            if method == "GET":
                writer.write(reply(200, json.dumps(SEEN).encode()))
                if parts.query == "reset":
                    SEEN.update(
                        posts=0, first=0.0, bodies=[], keys=[], most_in_flight=0
                    )
                continue
            SEEN["posts"] += 1
            SEEN["last"] = time.perf_counter()
            SEEN["first"] = SEEN["first"] or SEEN["last"]
            SEEN["in_flight"] += 1
            SEEN["most_in_flight"] = max(SEEN["most_in_flight"], SEEN["in_flight"])
            body = json.loads(sent)
            if len(SEEN["bodies"]) < KEPT:
                SEEN["bodies"].append(body)
                key = headers.get("authorization") or headers.get("x-api-key")
                SEEN["keys"].append(key)
            try:
                latency = float(dict(parse_qsl(parts.query)).get("latency", 0))
                if latency:
                    await asyncio.sleep(latency)
            finally:
                SEEN["in_flight"] -= 1
            writer.write(answer(parts.path, body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        pass  # the client went away
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def main(port):
    server = await asyncio.start_server(
        serve, "127.0.0.1", port, backlog=512, limit=2**24
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - how its starter learns it
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
