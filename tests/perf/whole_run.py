"""The whole pytest run over a large rollouts file, against its limit and a peer.

80,000 rows of 4 KiB with ten numeric fields, 10,000 tasks x 8. In one run, alternating,
medians of three: our `pytest`; plain `json.loads` over the lines of the same file; and one
pandas `describe` per task, which is how NeMo Gym reduces (measured on a sample of the
tasks, extrapolated). Prints ratios; asserts nothing.

    python tests/perf/whole_run.py
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TASKS, SAMPLES, ROUNDS, DESCRIBED = 10_000, 8, 3, 300
UNSET = (
    "background",
    "include",
    "instructions",
    "max_tool_calls",
    "metadata",
    "model",
    "previous_response_id",
    "prompt",
    "reasoning",
    "service_tier",
    "store",
    "user",
)
OTHERS = ("-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:pytest_cov")  # not ours
BENCH = """
benchmark:
  name: large
  rollouts: rollouts.jsonl
  num_samples: 8
  metrics: [mean_reward, pass_rate, pass@1, pass@4, pass^4]
  expect: {tasks: 10000}
  thresholds: {pass@1: ">= 0.1"}
"""


def write_rollouts(path: Path) -> None:
    """Write the file: rows as NeMo Gym records them, about 4 KiB, ten numeric fields."""
    rng = np.random.default_rng(0)
    words = ["the", "answer", "is", "because", "therefore", "step", "42", "naïve", '"so"', "\n"]
    text = " ".join(rng.choice(words, 1200).tolist())
    unset = dict.fromkeys(UNSET)
    params = {**unset, "max_output_tokens": 1024, "temperature": 0.7, "top_p": 0.95, "tools": []}
    with path.open("w", encoding="utf-8") as file:
        for task in range(TASKS):
            asked = rng.integers(0, 2500, 2).tolist()  # the same for all rollouts of a task
            for sample in range(SAMPLES):
                cut = rng.integers(0, 2500, 4).tolist()
                usage = rng.integers(10, 4000, 3).tolist()
                row = {
                    "responses_create_params": {
                        **params,
                        "input": [
                            {"role": "system", "content": text[asked[0] : asked[0] + 250]},
                            {"role": "user", "content": text[asked[1] : asked[1] + 400]},
                        ],
                    },
                    "response": {
                        "id": f"resp_{task}_{sample}",
                        "created_at": 1777330101.0,
                        **unset,
                        "object": "response",
                        "output": [
                            {
                                "id": f"msg_{task}_{sample}",
                                "type": kind,
                                "status": "completed",
                                "content": [
                                    {
                                        "type": "output_text",
                                        "text": text[cut[i] : cut[i] + 650],
                                        "annotations": [],
                                        "logprobs": None,
                                    }
                                ],
                            }
                            for i, kind in enumerate(("reasoning", "message", "message"))
                        ],
                        "parallel_tool_calls": True,
                        "tool_choice": "auto",
                        "usage": {
                            "input_tokens": usage[0],
                            "input_tokens_details": {"cached_tokens": 0},
                            "output_tokens": usage[1],
                            "output_tokens_details": {"reasoning_tokens": 0},
                            "total_tokens": usage[2],
                        },
                    },
                    "reward": float(rng.random() < 0.6),
                    "accuracy": bool(rng.random() < 0.6),
                    "format_score": round(float(rng.random()), 4),
                    "length_penalty": round(float(rng.normal()), 6),
                    "turns": int(rng.integers(1, 9)),
                    "latency_s": round(float(rng.gamma(2, 3)), 3),
                    "cost_usd": round(float(rng.gamma(2, 0.001)), 6),
                    "expected_answer": "forty-two",
                    "_ng_task_index": task,
                    "_ng_rollout_index": sample,
                    "agent_ref": {"type": "responses_api_agents", "name": "agent"},
                }
                file.write(json.dumps(row) + "\n")


def run_pytest(folder: Path) -> tuple[float, float, float]:
    """Run pytest; return wall seconds, CPU seconds, peak MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *OTHERS, str(folder)],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        sys.exit("the benchmark did not pass")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def json_loads(path: Path) -> float:
    """Time plain json.loads over the lines."""
    started = time.perf_counter()
    with path.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - started


def pandas_describe(path: Path) -> float:
    """Time one describe per task, for all tasks, from some of them."""
    import pandas as pd  # noqa: PLC0415 - the peer

    rows = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            rows.append(
                {k: v for k, v in row.items() if isinstance(v, int | float)}
                | row["response"]["usage"]
            )
            if len(rows) == DESCRIBED * SAMPLES:
                break
    groups = [group for _, group in pd.DataFrame(rows).groupby("_ng_task_index")]
    started = time.process_time()
    for group in groups:
        group.describe()
    return (time.process_time() - started) * TASKS / DESCRIBED


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "rollouts.jsonl"
        write_rollouts(path)
        (folder / "large.bench.yaml").write_text(BENCH, encoding="utf-8")
        size = path.stat().st_size / 1e6
        ours, plain = [], []
        run_pytest(folder)  # writes the bytecode
        for _ in range(ROUNDS):
            ours.append(run_pytest(folder))
            plain.append(json_loads(path))
        wall, cpu, peak = (statistics.median(column) for column in zip(*ours, strict=True))
        loads = statistics.median(plain)
        described = pandas_describe(path)
    print(f"{size:.0f} MB, {TASKS} tasks x {SAMPLES}")
    print(
        f"pytest, whole run     {wall:6.2f} s wall, {cpu:6.2f} s CPU, "
        f"peak {peak:.0f} MiB (limit 250)"
    )
    print(f"json.loads            {loads:6.2f} s       ratio {wall / loads:.3f} (limit 0.6)")
    print(
        f"pandas describe       {described:6.1f} s CPU   ratio 1/{described / cpu:.0f} (limit 1/40)"
    )
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"(this script itself peaked at {own:.0f} MiB)")


if __name__ == "__main__":
    main()
