"""An endpoint that scores what it is told to, for loopback, in a process of its own.

    python endpoint.py [port]      prints its port, then serves until it is ended

A row says what it wants: `score` is answered, `mode` breaks the answer. Every POST is counted.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

HTML = (
    b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>x</body></html>"
)
LOCK = threading.Lock()
SEEN = {"posts": 0, "keys": []}
# what comes after `held` posts waits for a GET of `/?release`, also after one of `/?hold`
RELEASED = threading.Event()


def nat(item):
    """Answer as a server of the NeMo Agent Toolkit does."""
    match item.get("mode"):
        case "crash":
            reasoning = {"error": "Evaluator error: no judge"}
            return {
                "success": True,
                "result": {"id": "1", "score": 0.0, "reasoning": reasoning},
            }
        case "false":
            return {
                "success": False,
                "result": None,
                "error": "the evaluator timed out",
            }
        case "null":
            return {
                "success": True,
                "result": {"id": "1", "score": None, "reasoning": {}},
            }
    return {
        "success": True,
        "result": {"id": "1", "score": item["score"], "reasoning": {"m": "x"}},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # head and body are sent apart: the body would wait 40 ms for the head to be acknowledged
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def respond(self, status, body, kind="application/json", **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.endswith("?release"):
            RELEASED.set()
        if self.path.endswith("?hold"):
            RELEASED.clear()
        with LOCK:
            self.respond(200, json.dumps(SEEN).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        with LOCK:
            SEEN["posts"] += 1
            posts = SEEN["posts"]
            SEEN["keys"].append(self.headers.get("Authorization"))
        time.sleep(float(query.get("latency", 0)))
        if posts > int(query.get("held", posts)):
            RELEASED.wait()
        if parts.path == "/gone":
            self.respond(404, b'{"detail": "no evaluator of that name"}')
        elif parts.path == "/moved":
            self.respond(307, b"", Location="http://127.0.0.1:1/elsewhere")
        elif parts.path == "/count":
            self.respond(200, json.dumps({"result": {"score": posts}}).encode())
        elif parts.path == "/evaluate/item":
            self.respond(200, json.dumps(nat(body["item"])).encode())
        elif body.get("mode") == "html":
            self.respond(200, HTML, "text/html")
        elif body.get("mode") == "nan":
            self.respond(200, b'{"result": {"score": NaN}}')
        elif body.get("mode") == "500":
            self.respond(500, b'{"error": "out of memory"}')
        elif body.get("mode") == "422":
            self.respond(422, b'{"detail": "no such evaluator"}')
        elif body.get("mode") == "close":
            self.close_connection = True
        else:
            self.respond(
                200, json.dumps({"result": {"score": body.get("score")}}).encode()
            )


def main(port):
    ThreadingHTTPServer.request_queue_size = 512
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(server.server_address[1], flush=True)  # noqa: T201 - how its starter learns it
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
