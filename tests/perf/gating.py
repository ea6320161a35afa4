"""Time and peak memory of gating a million tasks, and of 1,000 benchmarks in one pytest run.

Each case of a million tasks runs in a process of its own, so that its peak is its own; what
numpy, the project and the two tables take alone is printed beside it. The baseline's ids are
text, as in its file, and the run's are whole numbers.

    python tests/perf/gating.py               # both
    python tests/perf/gating.py tasks         # a million tasks
    python tests/perf/gating.py benchmarks    # 1,000 benchmarks of 200 tasks x 4
    python tests/perf/gating.py profile       # where the time of these goes
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.data import RolloutTable

TASKS, MIB = 1_000_000, 1024.0  # ru_maxrss counts KiB on Linux
SECONDS, PEAK = 3.0, 300.0
BENCHMARKS, FILES, RUN_SECONDS = 1_000, 10, 20.0


def flips(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One rollout of each task, 0 or 1; one in ten flips."""
    before = (rng.random(TASKS) < 0.7).astype(np.float64)
    return before, np.where(rng.random(TASKS) < 0.1, 1 - before, before)


def grades(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Grades from 0 to 20: 441 pairs of them."""
    before = rng.integers(0, 21, TASKS) / 20
    return before, np.clip(before + rng.integers(-2, 3, TASKS) / 20, 0, 1)


def scores(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Continuous scores: as many distinct values as tasks."""
    before = rng.random(TASKS)
    return before, np.clip(before + rng.normal(0, 0.2, TASKS), 0, 1)


CASES: dict[str, tuple[str, Callable[..., Any], bool]] = {
    "the mean of flips": ("mean_reward", flips, False),
    "the mean of scores": ("mean_reward", scores, False),
    "the mean, 5 % of tasks gone": ("mean_reward", flips, True),
    "the median of grades": ("median", grades, False),
    "the worst task of grades": ("worst_task", grades, False),
}


def table(column: np.ndarray, ids: tuple[int | str, ...]) -> RolloutTable:
    """One rollout of each task."""
    from pytest_evalmetrics.data import RolloutTable  # noqa: PLC0415 - a case's own process

    n = len(column)
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(n, dtype=np.int32),
        tasks=ids,
        task=np.arange(n),
        sample=np.zeros(n, dtype=np.int64),
        scores={"reward": column},
    )


def one(name: str) -> None:
    """Print the seconds, the peak, and the peak before the gate, in MiB."""
    from pytest_evalmetrics import metrics  # noqa: PLC0415 - a case's own process
    from pytest_evalmetrics.pipeline.judging import Judging, Reference  # noqa: PLC0415
    from pytest_evalmetrics.results import AgentResult, Estimate  # noqa: PLC0415
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec  # noqa: PLC0415
    from pytest_evalmetrics.spec.baseline import BaselineSpec  # noqa: PLC0415
    from pytest_evalmetrics.spec.rollouts import RolloutsSpec  # noqa: PLC0415

    metric, make, some_gone = CASES[name]
    before, after = make(np.random.default_rng(0))
    gone = TASKS // 20 if some_gone else 0
    run = table(after[gone:], tuple(range(gone, TASKS)))
    baseline = table(before, tuple(map(str, range(TASKS))))
    del before, after
    spec = BenchmarkSpec(
        name="million",
        rollouts=RolloutsSpec(path=("runs.jsonl",)),
        metrics=(metric,),
        baseline=BaselineSpec(),
    )
    made = metrics.plan(spec)
    estimate = Estimate(metric, 0.5, len(run), len(run))
    result = AgentResult("agent", len(run), len(run), 0, {metric: estimate}, {}, {})
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    started = time.perf_counter()
    judging = Judging(
        Benchmark(spec, Path("million.bench.yaml"), {}), made, Reference({"agent": baseline})
    )
    judging.add(result, run, agent="", expected=np.ones(len(run), dtype=np.int64))
    (check,) = judging.checks()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    print(json.dumps([seconds, peak, held, str(check.verdict), check.evidence["test"]]))


def million() -> bool:
    """Run every case; whether all hold."""
    print(f"{'a million tasks: pairing and gate':<36}{'seconds':>8}{'peak MiB':>10}{'before':>8}")
    holds = True
    for name in CASES:
        command = [sys.executable, __file__, "one", name]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak, held, verdict, test = json.loads(out)
        holds &= seconds < SECONDS and peak < PEAK
        print(f"{name:<36}{seconds:>8.2f}{peak:>10.0f}{held:>8.0f}  {verdict}, {test}")
    print("within" if holds else "over", f"{SECONDS:.0f} s and {PEAK:.0f} MiB\n")
    return holds


def write_benchmarks(folder: Path) -> None:
    """Write 1,000 benchmarks in ten files, each with 200 tasks of four rollouts."""
    rng = np.random.default_rng(0)
    folder.joinpath("runs").mkdir()
    for file in range(FILES):
        lines = ["defaults:", "  num_samples: 4", "  expect: {tasks: 200}", "  baseline: true"]
        lines += ["  metrics: [pass@1, pass@4]", "benchmarks:"]
        for number in range(file, BENCHMARKS, FILES):
            lines += [f"  - name: b{number}", f"    rollouts: runs/b{number}.jsonl"]
            write_rollouts(folder / f"runs/b{number}.jsonl", rng, rng.beta(0.4, 0.4, 200))
        folder.joinpath(f"many{file}.bench.yaml").write_text("\n".join(lines), encoding="utf-8")


def write_rollouts(path: Path, rng: np.random.Generator, chances: np.ndarray) -> None:
    """Write one run."""
    passes = (rng.random((200, 4)) < chances[:, None]).astype(int).tolist()
    rows = (
        f'{{"_ng_task_index": {t}, "_ng_rollout_index": {s}, "reward": {r}}}\n'
        for t, task in enumerate(passes)
        for s, r in enumerate(task)
    )
    path.write_text("".join(rows), encoding="utf-8")


def pytest_run(folder: Path, *args: str) -> tuple[float, float, float]:
    """Run pytest; return wall seconds, CPU seconds, peak MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *args, "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        sys.exit(f"pytest ended with {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB


def benchmarks(*, profile: bool = False) -> bool:
    """Record 1,000 baselines, then time the run that is compared with them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_benchmarks(folder)
        recorded = pytest_run(folder, "-m", "pytest", "--snapshot-update")[0]
        print(f"{BENCHMARKS:,} benchmarks of 200 tasks x 4, two gated metrics each, in one run")
        print(f"recording the baselines  {recorded:6.1f} s")
        if profile:
            stats = folder / "profile.out"
            pytest_run(folder, "-m", "cProfile", "-o", str(stats), "-m", "pytest")
            show(stats)
            return True
        wall, cpu, peak = pytest_run(folder, "-m", "pytest")
    print(f"gating them              {wall:6.1f} s, {cpu:.1f} s CPU, peak {peak:.0f} MiB")
    print("within" if wall < RUN_SECONDS else "over", f"{RUN_SECONDS:.0f} s")
    return wall < RUN_SECONDS


def show(path: Path) -> None:
    """Print what a profiled run spends its time on."""
    import pstats  # noqa: PLC0415 - only here

    found = pstats.Stats(str(path))
    found.sort_stats("cumulative").print_stats("pytest_evalmetrics|syrupy", 45)
    found.sort_stats("tottime").print_stats(25)


def main() -> int:
    """Measure what is asked for."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "both"
    if asked == "one":
        one(sys.argv[2])
        return 0
    holds = [million()] if asked in ("both", "tasks") else []
    if asked in ("both", "benchmarks", "profile"):
        holds.append(benchmarks(profile=asked == "profile"))
    return int(not all(holds))


if __name__ == "__main__":
    sys.exit(main())
