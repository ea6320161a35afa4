"""Record journal.jsonl.gz again: run the benchmarks against a judge that counts words.

    python examples/judge/record.py

The judge compares words instead of asking a model, so its answers are the same everywhere.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
PORT = 8399  # part of the URL, which is part of the journal's key
WARM = {"happy", "glad", "sorry", "thank", "thanks", "welcome", "please"}


def words(text: str) -> set[str]:
    """Split a text into its words."""
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def rating(texts: dict[str, str]) -> dict[str, object]:
    """Rate answer A by the share of B's words in it."""
    first, other = words(texts["answer_a"]), words(texts["answer_b"])
    share = len(first & other) / len(other)
    found = 4 if share >= 0.6 else 2 if share >= 0.25 else 0
    return {"reasoning": f"{share:.0%} of the words of B are in A", "rating": found}


def tone(text: str, model: str) -> dict[str, object]:
    """Look for warm words; a strict judge requires two."""
    answer = words(json.loads(re.findall("^Answer: (.*)$", text, re.MULTILINE)[0]))
    warm = len(answer & WARM)
    if warm >= (2 if model.startswith("strict") else 1):
        return {"tone": "warm"}
    return {"tone": "plain" if len(answer) > 5 else "rude"}


class Judge(BaseHTTPRequestHandler):
    """Chat completions of OpenAI's API."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Answer one question."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        found = rating(lines[0]) if lines else tone(text, body["model"])
        content = json.dumps(found)
        tokens = {
            "prompt_tokens": len(text) // 4,
            "completion_tokens": len(content) // 4,
        }
        choice = {
            "message": {"role": "assistant", "content": content},
            "finish_reason": "stop",
        }
        answer = json.dumps({"choices": [choice], "usage": tokens}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def main() -> None:
    """Start the judge, run the benchmarks, and export the journal."""
    ThreadingHTTPServer.request_queue_size = (
        128  # a refused connection would wait a second
    )
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            str(HERE),
            "-o",
            f"cache_dir={folder}/cache",
        ]
        command += ["--evalmetrics-output", f"{folder}/", "-p", "no:xdist"]
        command += ["--evalmetrics-journal-export", str(HERE / "journal.jsonl.gz")]
        said = {**os.environ, "JUDGE_RECORDS": "1"}
        subprocess.run(command, check=True, env=said)  # noqa: S603 - our own command
    server.shutdown()


if __name__ == "__main__":
    main()
