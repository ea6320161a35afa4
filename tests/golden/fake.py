"""A loopback HTTP server that answers by the rules of a case, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Fake:
    """One server for all cases: the first part of a path names the case."""

    def __init__(self) -> None:
        self.rules: dict[str, list[dict[str, Any]]] = {}
        self.requests: dict[str, list[dict[str, Any]]] = {}
        self.lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # head and body are sent apart: the body would wait 40 ms for the head to be acknowledged
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                text = self.rfile.read(
                    int(self.headers.get("Content-Length", 0))
                ).decode()
                status, headers, body = fake.answer(self.path, dict(self.headers), text)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self, case: str, rules: list[dict[str, Any]]) -> None:
        """Set the rules of a case, and forget what it has asked."""
        with self.lock:
            self.rules[case] = [dict(rule) for rule in rules]
            self.requests[case] = []

    def answer(
        self, path: str, headers: dict[str, str], text: str
    ) -> tuple[int, Any, bytes]:
        """Answer by the first rule that has what the request has, and is not used up."""
        _, case, rest = path.split("/", 2)
        with self.lock:
            request = {"path": f"/{rest}", "headers": headers, "body": json.loads(text)}
            self.requests.setdefault(case, []).append(request)
            for rule in self.rules.get(case, []):
                wanted = rule.get("has", [])
                wanted = [wanted] if isinstance(wanted, str) else wanted
                path_fits = rule.get("path", request["path"]) == request["path"]
                if (
                    path_fits
                    and all(w in text for w in wanted)
                    and rule.get("times", 1) > 0
                ):
                    if "times" in rule:
                        rule["times"] -= 1
                    break
            else:
                return 418, {}, b'{"error": "no rule of the case answers this"}'
        if "text" in rule:
            body = rule["text"].encode()
        else:
            body = json.dumps(rule["json"] if "json" in rule else chat(rule)).encode()
        headers = {"Content-Type": "application/json"} | rule.get("headers", {})
        return rule.get("status", 200), headers, body


def chat(rule: dict[str, Any]) -> dict[str, Any]:
    """Make a chat completion of what a rule says."""
    say = rule["say"]
    message = {
        "role": "assistant",
        "content": say if isinstance(say, str) else json.dumps(say),
    }
    return {
        "id": "chatcmpl-1",
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "message": message | rule.get("message", {}),
                "finish_reason": rule.get("finish", "stop"),
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
