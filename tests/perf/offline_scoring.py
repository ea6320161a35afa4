"""Scorers that call nothing: alone, and a whole pytest run, against `json.loads` over the rows.

20,000 agent conversations of some 2 KB with four tool calls each. Alone: each scorer over rows
that are parsed already. Whole: `pytest` over the file from its start to its end, less what it
takes over one row. In one run, alternating, medians of three. Prints; asserts nothing.

    python tests/perf/offline_scoring.py [rows]
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.ext import Row
from pytest_evalmetrics.scorers import Terms, make_scorers
from pytest_evalmetrics.scorers.text_scorers import ExactMatchSpec
from pytest_evalmetrics.scorers.tool_call_scorers import ToolCallAccuracySpec, ToolCallingSpec

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
ROUNDS, LIMIT = 3, 10_000
CALLS = 4
SPECS = {
    "tool_call_accuracy": ToolCallAccuracySpec(type="tool_call_accuracy"),
    "flexible": ToolCallAccuracySpec(type="tool_call_accuracy", strict_order=False),
    "tool-calling": ToolCallingSpec(type="tool-calling", reference="{{tool_calls}}"),
    "exact-match": ExactMatchSpec(type="exact-match", candidate="{{ item.answer }}"),
}
BENCH = """\
benchmark:
  name: perf
  dataset: {path: data.jsonl, fields: {task: task}}
  scorers:
    - {type: tool_call_accuracy}
    - {type: tool-calling, reference: "{{tool_calls}}"}
  reward: tool_call_accuracy
  metrics: mean_reward
  expect: {rollouts: any}
"""


def row(index: int) -> dict[str, Any]:
    """Make a conversation; every third call of every tenth row is wrong."""
    calls = [
        {"name": f"tool_{n}", "args": {"city": "Paris", "day": index % 7, "unit": "celsius"}}
        for n in range(CALLS)
    ]
    said = [
        {"type": "ai", "content": f"Calling {call['name']} " * 10, "tool_calls": [call]}
        for call in calls
    ]
    wanted = json.loads(json.dumps(calls))
    if index % 10 == 0:
        wanted[2]["args"]["city"] = "Rome"
    form = [{"function": {"name": c["name"], "arguments": json.dumps(c["args"])}} for c in calls]
    return {
        "task": index % 100,  # few: what is reported of each task is not scoring's
        "user_input": [{"type": "human", "content": "What will it be like? " * 10}, *said],
        "reference_tool_calls": wanted,
        "tool_calls": [{"function": {"name": c["name"], "arguments": c["args"]}} for c in wanted],
        "response": {"choices": [{"message": {"role": "assistant", "tool_calls": form}}]},
        "reference": "The Paris of the north",
        "answer": "Paris of North",
    }


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def pytest_run(folder: Path) -> None:
    """Run pytest, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def project(folder: Path, lines: list[str]) -> None:
    """Write a data set and its benchmark."""
    folder.mkdir()
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "a.bench.yaml").write_text(BENCH)


def main() -> None:
    """Measure and print."""
    lines = [json.dumps(row(index)) for index in range(ROWS)]
    rows = [Row(i, "a", i, 0, json.loads(line)) for i, line in enumerate(lines)]
    made = {name: make_scorers([spec], Terms(), lambda *_: 1)[0] for name, spec in SPECS.items()}
    alone: dict[str, list[float]] = {name: [] for name in made}
    parse: list[float] = []
    whole: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder / "all", lines)
        project(folder / "one", lines[:1])
        pytest_run(folder / "one")  # warm: byte code
        gc.freeze()  # the rows of all rounds are no work for the collector
        for _ in range(ROUNDS):
            parse.append(timed(lambda: deque(map(json.loads, lines), maxlen=0)))
            for kind, scorer in made.items():
                alone[kind].append(
                    timed(lambda score=scorer.score: deque(map(score, rows), maxlen=0))
                )
            start = timed(lambda: pytest_run(folder / "one"))
            whole.append(timed(lambda: pytest_run(folder / "all")) - start)
    base = statistics.median(parse)
    print(f"{ROWS} rows of {len(lines[0])} bytes, {CALLS} calls each")
    print(f"json.loads            {ROWS / base:8.0f} rows/s")
    for kind, found in alone.items():
        seconds = statistics.median(found)
        print(
            f"{kind:20}  {ROWS / seconds:8.0f} rows/s, {seconds / base:5.2f} of json.loads "
            f"(limit {LIMIT} rows/s)"
        )
    seconds = statistics.median(whole)
    print(
        f"pytest, two scorers   {ROWS / seconds:8.0f} rows/s, {seconds / base:5.2f} of json.loads, "
        "without start and end"
    )


if __name__ == "__main__":
    main()
