"""How fast recorded rollouts are read, alone and in a whole run, against json.loads and msgspec.

Run as ``python tests/perf/reading.py [rows]``; 80,000 rows of some 4 KiB, eight of each task. Every
side is measured in processes of its own. On one core, in CPU seconds, medians of three: ours reads
the files into a table; the standard library only calls ``json.loads`` on every line; and msgspec's
structs over one buffer find all numeric columns, as ours does, but check, number and sort nothing.
Then ours in wall seconds, by one process and by as many as there are cores, and all of `pytest`,
with what it takes for one task: that start weighs the more, the faster a machine parses JSON.
"""

import json
import random
import subprocess
import sys
import tempfile
from os import environ, sched_getaffinity
from pathlib import Path
from statistics import median

from measuring import ROUNDS, TESTS, pytest_run

SAMPLES = 8  # rollouts of each task
BENCH = """
benchmark:
  name: large
  rollouts: rollouts.jsonl
  num_samples: 8
  metrics: [mean_reward, pass_rate, pass@1, pass@4, pass^4]
  expect: {{tasks: {tasks}}}
  thresholds: {{pass@1: ">= 0.1"}}
"""

_PROSE = (
    "the of and to in a is that for it as was with be by on not he this have from or had an "
    "they which one you were all there would their we him been has when who will no more if out "
    "so up said what its about than into them can only other time new some could these two may "
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


def text(rng, size):
    """Write prose with some mathematics, quotes and code, as a model answers."""
    words = _PROSE.split()
    parts = []
    length = 0
    while length < size:
        if rng.random() < 0.06:
            part = rng.choice(_PIECES).format(n=rng.randrange(1000))
        else:
            part = rng.choice(words) + rng.choice(("", "", "", "", "", ",", "."))
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)


def row(rng, texts, task, sample):
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


def write(path, rows):
    """Write a file of rollouts, sorted by task and sample."""
    rng = random.Random(1)
    texts = [text(rng, 1250) for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        for index in range(rows):
            file.write(json.dumps(row(rng, texts, *divmod(index, SAMPLES))) + "\n")


_OURS = """
import resource, sys, time
from pathlib import Path
from pytest_evalmetrics.rollouts import load
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
start, wall = time.process_time(), time.perf_counter()
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
took, wall = time.process_time() - start, time.perf_counter() - wall
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, wall)
"""
_MSGSPEC = """
import json, resource, sys, time
from array import array
from operator import attrgetter
import msgspec, numpy

NUMBER = float | int | bool | None

def learn(rows, kinds):
    for row in rows:
        for key, value in row.items():
            if isinstance(value, (int, float)) or key not in kinds:
                kinds[key] = isinstance(value, (int, float))
        for key, value in row["response"]["usage"].items():
            if isinstance(value, (int, float)):
                kinds["response"] = kinds.setdefault("usage of response", {})
                kinds["response"][key] = True
    return kinds

def struct(kinds):
    usage = msgspec.defstruct(
        "Usage", [(f"u{i}", NUMBER, None) for i, _ in enumerate(kinds["response"])],
        rename={f"u{i}": k for i, k in enumerate(kinds["response"])}, gc=False)
    response = msgspec.defstruct("Response", [("usage", usage | None, None)], gc=False)
    fields = [k for k in kinds if k not in ("usage of response",)]
    types = [response if k == "response" else NUMBER if kinds[k] else msgspec.Raw for k in fields]
    row = msgspec.defstruct(
        "Row", [(f"f{i}", t | None if t is response else t, None if t is not msgspec.Raw
        else msgspec.Raw(b"null")) for i, t in enumerate(types)],
        rename={f"f{i}": k for i, k in enumerate(fields)}, forbid_unknown_fields=True, gc=False)
    numbers = [f"f{i}" for i, t in enumerate(types) if t is NUMBER]
    numbers += [f"f{fields.index('response')}.usage.u{i}" for i, _ in enumerate(kinds["response"])]
    return msgspec.json.Decoder(row), attrgetter(*numbers), numbers

start = time.process_time()
kinds = {}
buffer = bytearray(1 << 18)
columns, left = [], 0
with open(sys.argv[1], "rb", buffering=0) as file:
    head = [json.loads(line) for _, line in zip(range(64), file)]
    file.seek(0)
    decoder, get, numbers = struct(learn(head, kinds))
    columns = [array("d") for _ in numbers]
    while count := file.readinto(memoryview(buffer)[left:]):
        end = buffer.rfind(b"\\n", 0, left + count) + 1
        rows = decoder.decode_lines(memoryview(buffer)[:end])
        for column, values in zip(columns, zip(*map(get, rows))):
            column.frombytes(numpy.array(values, float).tobytes())
        left = left + count - end
        buffer[:left] = buffer[end : end + left]
assert len(columns) == 12, numbers
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0)
"""


def measure(program, path, processes=1):
    """Run a program on a file in a process of its own: CPU seconds, peak MiB, wall seconds."""
    output = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={
            **environ,
            "PYTHONPATH": str(TESTS.parent),
            "EVALMETRICS_PROCESSES": str(processes),
        },
    ).stdout
    return tuple(map(float, output.split()))


def write_project(folder, rows):
    """Write a benchmark over so many rows; return the path of its rollouts."""
    folder.mkdir()
    path = folder / "rollouts.jsonl"
    write(path, rows)
    path.with_name("large.bench.yaml").write_text(
        BENCH.format(tasks=-(-rows // SAMPLES))
    )
    return path


def main(rows):
    """Print the figures."""
    cores = len(sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "large"
        path = write_project(folder, rows)
        one_task = write_project(Path(name) / "small", SAMPLES).parent
        size = path.stat().st_size
        pytest_run(folder, "-p", "no:xdist")  # writes the byte code
        # alternately, so that a drift of the machine's speed meets all
        runs = [
            (
                *(measure(program, path) for program in (_OURS, _THEIRS, _MSGSPEC)),
                measure(_OURS, path, cores),
                pytest_run(folder, "-p", "no:xdist"),
                pytest_run(one_task, "-p", "no:xdist"),
            )
            for _ in range(ROUNDS)
        ]
    print(
        f"{rows} rows, {size / 1e6:.0f} MB, {size / rows:.0f} bytes a row, 10 numbers in each"
    )
    for side, what in enumerate(
        ("load()", "json.loads over the lines", "msgspec, columns found")
    ):
        seconds = median(run[side][0] for run in runs)
        print(f"{what:<25} {seconds:6.2f} s  {size / seconds / 1e9:5.2f} GB/s")
    ratio, times = (median(run[0][0] / run[side][0] for run in runs) for side in (1, 2))
    print(f"ratio to json.loads {ratio:.3f}; to msgspec {times:.2f} (limit 1.3)")
    print(f"peak of load()'s process {max(run[0][1] for run in runs):.0f} MiB")
    one, several = (median(run[side][2] for run in runs) for side in (0, 3))
    print(
        f"wall, {cores} processes against one: {several:.2f} s, {one:.2f} s, {one / several:.2f} x"
    )
    wall, cpu, peak = map(median, zip(*(run[4] for run in runs), strict=True))
    print(
        f"pytest, whole run {wall:.2f} s wall, {cpu:.2f} s CPU, peak {peak:.0f} MiB (limit 250)"
    )
    ratio = median(run[4].wall / run[1][2] for run in runs)
    print(f"ratio of its wall to json.loads {ratio:.3f} (limit 0.6)")
    start = median(run[5].cpu for run in runs)
    ratio = median((run[4].cpu - run[5].cpu) / run[1][0] for run in runs)
    print(
        f"a run over one task {start:.2f} s CPU; ratio of the rest to json.loads {ratio:.3f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80_000)
