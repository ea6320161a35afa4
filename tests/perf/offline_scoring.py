"""Scorers that call nothing: alone, and a whole pytest run, against `json.loads` over the rows.

20,000 agent conversations of some 2 KB with four tool calls each. Alone: each scorer over rows
that are parsed already. Whole: `pytest` over the file from its start to its end, less what it
takes over one row. In one run, alternating, medians of three. Prints; asserts nothing.

    python tests/perf/offline_scoring.py [rows]
"""

import gc
import json
import sys
import tempfile
from collections import deque
from functools import partial
from pathlib import Path
from statistics import median

from measuring import ROUNDS, pytest_run, wall
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, Row, Terms
from pytest_evalmetrics.scoring.scorers import make_scorers

LIMIT, CALLS = 10_000, 4
BENCHMARK = {
    "name": "perf",
    "dataset": {"path": "data.jsonl", "fields": {"task": "task"}},
    "reward": "tool_call_accuracy",
    "metrics": "mean_reward",
    "expect": {"rollouts": "any"},
}
WHOLE = (
    {"type": "tool_call_accuracy"},
    {"type": "tool-calling", "reference": "{{tool_calls}}"},
)
SCORERS = {
    "tool_call_accuracy": WHOLE[0],
    "flexible": {**WHOLE[0], "strict_order": False},
    "tool-calling": WHOLE[1],
    "exact-match": {
        "type": "exact-match",
        "candidate": "{{ item.answer }}",
        "reference": "{{ item.reference }}",
    },
}


def row(index):
    """Make a conversation; every third call of every tenth row is wrong."""
    calls = [
        {
            "name": f"tool_{n}",
            "args": {"city": "Paris", "day": index % 7, "unit": "celsius"},
        }
        for n in range(CALLS)
    ]
    turns = [
        {"type": "ai", "content": f"Calling {call['name']} " * 10, "tool_calls": [call]}
        for call in calls
    ]
    wanted = json.loads(json.dumps(calls))
    if index % 10 == 0:
        wanted[2]["args"]["city"] = "Rome"
    form = [
        {"function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
        for c in calls
    ]
    return {
        "task": index % 100,  # few: what is reported of each task is not scoring's
        "user_input": [
            {"type": "human", "content": "What will it be like? " * 10},
            *turns,
        ],
        "reference_tool_calls": wanted,
        "tool_calls": [
            {"function": {"name": c["name"], "arguments": c["args"]}} for c in wanted
        ],
        "response": {
            "choices": [{"message": {"role": "assistant", "tool_calls": form}}]
        },
        "reference": "The Paris of the north",
        "answer": "Paris of North",
    }


def benchmark(*scorers):
    return json.dumps({"benchmark": {**BENCHMARK, "scorers": scorers}})  # JSON is YAML


def build(scorer):
    spec = TypeAdapter(BenchmarkSpec).validate_json(
        json.dumps({"name": "perf", "dataset": "data.jsonl", "scorers": [scorer]})
    )
    return make_scorers(spec.scorers, Terms(), lambda *_: 1)[0]


def project(folder, lines):
    """Write a data set and its benchmark."""
    folder.mkdir()
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "a.bench.yaml").write_text(benchmark(*WHOLE))
    return folder


def main(count):
    """Measure and print."""
    lines = [json.dumps(row(index)) for index in range(count)]
    rows = [Row(i, "a", i, 0, json.loads(line)) for i, line in enumerate(lines)]
    works = {"json.loads": partial(map, json.loads, lines)}
    works |= {
        name: partial(map, build(spec).score, rows) for name, spec in SCORERS.items()
    }
    times = {name: [] for name in (*works, "pytest, two scorers")}
    with tempfile.TemporaryDirectory() as name:
        every, one = (
            project(Path(name, "all"), lines),
            project(Path(name, "one"), lines[:1]),
        )
        pytest_run(one)  # warm: byte code
        gc.freeze()  # the rows of all rounds are no work for the collector
        for _ in range(ROUNDS):
            for kind, work in works.items():
                times[kind].append(wall(lambda work=work: deque(work(), maxlen=0)))
            start = pytest_run(one).wall
            times["pytest, two scorers"].append(pytest_run(every).wall - start)
    print(f"{count} rows of {len(lines[0])} bytes, {CALLS} calls each")
    base = median(times["json.loads"])
    for kind, took in times.items():
        seconds = median(took)
        print(
            f"{kind:20}  {count / seconds:8.0f} rows/s, {seconds / base:5.2f} of json.loads"
        )
    print(f"each scorer has to do {LIMIT} rows/s; pytest is without its start and end")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
