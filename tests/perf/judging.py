"""Rows a second of the agentic metrics, at a judge that takes 50 ms, with 16 rows in flight.

`pytest` from its start to its end, less a run over one row. With EVALMETRICS_RAGAS_PYTHON the same
rows by RAGAS, in its own environment, without its start. Prints; asserts nothing.

    python tests/perf/judging.py [rows]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1]
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
LATENCY_S, ROUNDS = 0.05, 3
MESSAGES = [
    {"type": "human", "content": "[[topics: a, b, c]] [[refused: b]] [[goal: x]] [[end: x]]"},
    {"type": "ai", "content": "Well. " * 50},
]
SCORERS = {
    "topic": ("f1", "topic_adherence", {"user_input": MESSAGES, "reference_topics": ["a", "b"]}),
    "goal": ("goal", "agent_goal_accuracy", {"user_input": MESSAGES, "reference": "x"}),
    "answer": (
        "answer",
        "answer_accuracy",
        {"user_input": "?", "response": "[[rating: 4]]", "reference": "[[rating: 2]]"},
    ),
}


def seconds(folder: Path, kind: str, row: dict[str, object], rows: int, url: str) -> float:
    """Return the wall seconds of a whole run."""
    lines = [json.dumps({**row, "n": n}) + "\n" for n in range(rows)]
    (folder / "data.jsonl").write_text("".join(lines))
    judge = json.dumps({"url": f"{url}/v1/chat/completions?latency={LATENCY_S}", "name": "judge"})
    (folder / "a.bench.yaml").write_text(
        f"benchmark:\n  name: perf\n  dataset: data.jsonl\n  params: {{parallelism: 16}}\n"
        f"  scorers: [{{type: {kind}, judge_model: {judge}}}]\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--evalmetrics-no-journal"]
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def of_ragas(python: str, url: str) -> dict[str, float]:
    """Return rows a second by RAGAS."""
    rows = {name: [row] * ROWS for name, _, row in SCORERS.values()}
    peer = HERE / "scorers" / "ragas_peer.py"
    process = subprocess.run(
        [python, str(peer), f"{url}/slow/v1"],
        input=json.dumps(rows),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {name: ROWS / s for name, s in json.loads(process.stdout)["seconds"].items()}


def main() -> None:
    """Measure and print."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "scorers" / "judge.py")], stdout=subprocess.PIPE, text=True
    )
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    python = os.environ.get("EVALMETRICS_RAGAS_PYTHON")
    try:
        theirs = of_ragas(python, url) if python else {}
        with tempfile.TemporaryDirectory() as name:
            for metric, (peer, kind, row) in SCORERS.items():
                found = []
                for _ in range(ROUNDS):
                    start = seconds(Path(name), kind, row, 1, url)
                    whole = seconds(Path(name), kind, row, ROWS, url)
                    found.append(ROWS / (whole - start))
                rate = statistics.median(found)
                beside = f", RAGAS {theirs[peer]:5.1f}" if theirs else ""
                print(f"{metric:7} {rate:6.1f} rows/s{beside}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
