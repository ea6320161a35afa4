"""How fast recorded rollouts are read, against json.loads and the fastest library there is.

Run as ``python tests/perf/reading.py [rows]``. Every side is measured in processes of its
own. On one core, in CPU seconds, medians of three: ours reads the files into a table; the
standard library only calls ``json.loads`` on every line; and msgspec's structs over one
buffer find all numeric columns, as ours does, but check, number and sort nothing. Then ours
in wall seconds, by one process and by as many as there are cores.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_evalmetrics.rollouts.large import usable_cores

ROOT = Path(__file__).parents[2]
SAMPLES = 8  # rollouts of each task
RUNS = 3

_PROSE = (
    "the of and to in a is that for it as was with be by on not he this have from or had an "
    "they which one you were all there would their we him been has when who will no more if out "
    "so up said what its about than into them can only other time new some could these two may "
    "first then do any like my now over such our even most made after also did many off before "
    "must well back through years much where your way down should because long each just state "
    "those too number equation answer therefore since function value remainder divide multiply "
    "prime factor triangle angle probability expected model token reward gradient policy "
    "rollout sample benchmark consider suppose assume hence contradiction integer polynomial "
    "coefficient sequence converge matrix vector "
)
_PIECES = (
    "\n\n",
    "\n- ",
    "\n\n**Step {n}.** ",
    "$x_{{{n}}} = \\frac{{{n}}}{{7}}$",
    '"{n}"',
    "`f({n})`",
    "{n}",
    "\n```python\ndef solve(n):\n    return {n} * n\n```\n",
    "\\boxed{{{n}}}",
)


def text(rng: random.Random, size: int) -> str:
    """Write prose with some mathematics, quotes and code, as a model answers."""
    words = _PROSE.split()
    parts: list[str] = []
    length = 0
    while length < size:
        if rng.random() < 0.06:
            part = rng.choice(_PIECES).format(n=rng.randrange(1000))
        else:
            part = rng.choice(words) + rng.choice(("", "", "", "", "", ",", "."))
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)


def row(rng: random.Random, texts: list[str], task: int, sample: int) -> dict[str, Any]:
    """Make a row of some 4 KiB as NeMo Gym records it, with 10 numbers."""
    tokens = rng.randrange(50, 4000), rng.randrange(10, 9000)
    return {
        "responses_create_params": {
            "input": [{"role": "user", "content": texts[task % len(texts)][:600]}],
            "max_output_tokens": 4096,
            "temperature": 1.0,
        },
        "response": {
            "id": f"resp_{rng.getrandbits(128):032x}",
            "created_at": 1754921600.0 + task,
            "error": None,
            "object": "response",
            "output": [
                {
                    "id": f"rs_{rng.getrandbits(64):016x}",
                    "type": "reasoning",
                    "summary": [{"text": rng.choice(texts), "type": "summary_text"}],
                    "encrypted_content": None,
                },
                {
                    "id": f"msg_{rng.getrandbits(64):016x}",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [
                        {
                            "annotations": [],
                            "text": rng.choice(texts),
                            "type": "output_text",
                            "logprobs": None,
                        }
                    ],
                },
            ],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": tokens[0],
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": tokens[1],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": sum(tokens),
            },
        },
        "reward": float(rng.random() < 0.6),
        "is_correct": rng.random() < 0.6,
        "turns_used": rng.randrange(9),
        "latency": rng.random() * 30,
        "judge_score": rng.random(),
        "format_score": rng.choice([0, 1]),
        "length_penalty": -rng.random(),
        "expected_answer": str(rng.randrange(100)),
        "extracted_answer": rng.choice([str(rng.randrange(100)), None]),
        "verifier": "math_verify",
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "agent_ref": {"type": "responses_api_agents", "name": "math_agent"},
    }


def write(path: Path, rows: int, seed: int = 1) -> None:
    """Write a file of rollouts, sorted by task and sample."""
    rng = random.Random(seed)  # noqa: S311 - text to read, no secret
    texts = [text(rng, 1250) for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        for index in range(rows):
            file.write(json.dumps(row(rng, texts, *divmod(index, SAMPLES))) + "\n")


_OURS = """
import resource, sys, time
from pathlib import Path
from pytest_evalmetrics.rollouts import builtin_loaders, load
from pytest_evalmetrics.spec import RolloutsSpec
path = Path(sys.argv[1])
start, wall = time.process_time(), time.perf_counter()
table = load(RolloutsSpec(path=(path.name,)), path.parent, scores=["reward"])
took = time.process_time() - start
wall = time.perf_counter() - wall
assert len(table.scores) == 10, list(table.scores)
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, wall)
"""
_THEIRS = """
import json, resource, sys, time
start = time.process_time()
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0)
"""
_MSGSPEC = """
import json, resource, sys, time
from array import array
from operator import attrgetter
import msgspec, numpy

NUMBER = float | int | bool | None

def learn(rows, known):
    for row in rows:
        for key, value in row.items():
            if isinstance(value, (int, float)) or key not in known:
                known[key] = isinstance(value, (int, float))
        for key, value in row["response"]["usage"].items():
            if isinstance(value, (int, float)):
                known["response"] = known.setdefault("usage of response", {})
                known["response"][key] = True
    return known

def struct(known):
    usage = msgspec.defstruct(
        "Usage", [(f"u{i}", NUMBER, None) for i, _ in enumerate(known["response"])],
        rename={f"u{i}": k for i, k in enumerate(known["response"])}, gc=False)
    response = msgspec.defstruct("Response", [("usage", usage | None, None)], gc=False)
    fields = [k for k in known if k not in ("usage of response",)]
    types = [response if k == "response" else NUMBER if known[k] else msgspec.Raw for k in fields]
    row = msgspec.defstruct(
        "Row", [(f"f{i}", t | None if t is response else t, None if t is not msgspec.Raw
        else msgspec.Raw(b"null")) for i, t in enumerate(types)],
        rename={f"f{i}": k for i, k in enumerate(fields)}, forbid_unknown_fields=True, gc=False)
    numbers = [f"f{i}" for i, t in enumerate(types) if t is NUMBER]
    numbers += [f"f{fields.index('response')}.usage.u{i}" for i, _ in enumerate(known["response"])]
    return msgspec.json.Decoder(row), attrgetter(*numbers), numbers

start = time.process_time()
known = {}
buffer = bytearray(1 << 18)
columns, left = [], 0
with open(sys.argv[1], "rb", buffering=0) as file:
    head = [json.loads(line) for _, line in zip(range(64), file)]
    file.seek(0)
    decoder, get, numbers = struct(learn(head, known))
    columns = [array("d") for _ in numbers]
    while got := file.readinto(memoryview(buffer)[left:]):
        end = buffer.rfind(b"\\n", 0, left + got) + 1
        rows = decoder.decode_lines(memoryview(buffer)[:end])
        for column, values in zip(columns, zip(*map(get, rows))):
            column.frombytes(numpy.array(values, float).tobytes())
        left = left + got - end
        buffer[:left] = buffer[end : end + left]
assert len(columns) == 12, numbers
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0)
"""


def measure(program: str, path: Path, processes: int = 1) -> tuple[float, float, float]:
    """Run a program on a file in a process of its own: CPU seconds, peak MiB, wall seconds."""
    output = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EVALMETRICS_PROCESSES": str(processes)},
    ).stdout
    seconds, peak, wall = map(float, output.split())
    return seconds, peak, wall


def main(rows: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        write(path, rows)
        size = path.stat().st_size
        # alternately, so that a drift of the machine's speed meets both
        runs = [[measure(p, path) for p in (_OURS, _THEIRS, _MSGSPEC)] for _ in range(RUNS)]
        cores = usable_cores()
        walls = [(measure(_OURS, path)[2], measure(_OURS, path, cores)[2]) for _ in range(RUNS)]
    ours, theirs, fastest = (statistics.median(run[side][0] for run in runs) for side in range(3))
    ratio = statistics.median(us[0] / them[0] for us, them, _ in runs)
    times = statistics.median(us[0] / other[0] for us, _, other in runs)
    peak = max(us[1] for us, _, _ in runs)
    one, several = (statistics.median(column) for column in zip(*walls, strict=True))
    print(f"{rows} rows, {size / 1e6:.0f} MB, {size / rows:.0f} bytes a row, 10 numbers in each")
    print(f"load()                    {ours:6.2f} s  {size / ours / 1e9:5.2f} GB/s")
    print(f"json.loads over the lines {theirs:6.2f} s  {size / theirs / 1e9:5.2f} GB/s")
    print(f"msgspec, columns found    {fastest:6.2f} s  {size / fastest / 1e9:5.2f} GB/s")
    print(f"ratio to json.loads {ratio:.3f}; to msgspec {times:.2f} (limit 1.3)")
    print(f"peak of load()'s process {peak:.0f} MiB")
    print(
        f"wall, {cores} processes against one: {several:.2f} s, {one:.2f} s, {one / several:.2f} x"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80_000)
