"""How long 1,000 benchmark files take to collect, and what an idle run pays.

python tests/perf/collecting.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES, ROUNDS, IDLE_ROUNDS = 1000, 3, 15
BENCH = (
    """# yaml-language-server: $schema=benchmark.schema.json
benchmark:
  name: math-{i}
  description: Grade-school maths, four rollouts a task, one of many such files
  tags: [nightly, maths]
  rollouts: {{path: runs/math-{i}/*.jsonl, fields: {{task: id, reward: result.score}}}}
  num_samples: 4
  metrics: [mean_reward, pass_rate, pass@1, pass@4, pass^4, worst_task]
  key_metrics: [pass@1, mean/output_tokens]
  breakdown: [difficulty, topic]
  expect: {{tasks: 164, max_missing: 2%, missing_reward: exclude}}
  thresholds:
    pass@1: ">= 0.70"
    pass@4: {{min: 0.8, bound: lower}}
    mean/output_tokens: {{max: 2000}}
"""
    + "  # a remark, as such files have them\n" * 20
)


def collect(folder: Path, *args: str) -> tuple[float, float]:
    """Collect; return wall and CPU seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(FILES):
            (folder / f"m{i}.bench.yaml").write_text(BENCH.format(i=i), encoding="utf-8")
        walls = [collect(folder)[0] for _ in range(ROUNDS)]
        print(f"collect {FILES} files: {statistics.median(walls):.2f} s (limit 3 s)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_x.py").write_text("def test_x(): pass\n", encoding="utf-8")
        extra = []
        for _ in range(IDLE_ROUNDS):
            _, with_us = collect(folder)
            _, without = collect(folder, "-p", "no:evalmetrics")
            extra.append((with_us - without) * 1000)
        print(f"idle: {statistics.median(extra):+.1f} ms of CPU (limit 5 ms), median of pairs")


if __name__ == "__main__":
    main()
