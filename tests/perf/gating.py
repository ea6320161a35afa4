"""Time and peak memory of gating a million tasks, and of 1,000 benchmarks in one pytest run.

Each case of a million tasks runs in a process of its own, so that its peak is its own; what
numpy, the project and the two tables take alone is printed beside it. The baseline's ids are
text, as in its file, and the run's are whole numbers.

    python tests/perf/gating.py               # both
    python tests/perf/gating.py tasks         # a million tasks
    python tests/perf/gating.py benchmarks    # 1,000 benchmarks of 200 tasks x 4, with a
                                              # baseline and without, and of 5 x 4; each beside
                                              # 1,000 items of pytest that do nothing
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
CASES_OF_RUNS = (("with a baseline", 200, True), ("without", 200, False), ("of 20 rows", 5, False))
BARE = """
import pytest, yaml

class Item(pytest.Item):
    def runtest(self): pass
    def reportinfo(self): return self.path, 0, self.name

class File(pytest.File):
    def collect(self):
        for entry in yaml.safe_load(self.path.read_text())["benchmarks"]:
            yield Item.from_parent(self, name=entry["name"])

def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".yaml":
        return File.from_parent(parent, path=file_path)
"""


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


def write_benchmarks(folder: Path, tasks: int = 200, *, baseline: bool = True) -> None:
    """Write 1,000 benchmarks in ten files, each task with four rollouts."""
    rng = np.random.default_rng(0)
    folder.joinpath("runs").mkdir()
    for file in range(FILES):
        lines = ["defaults:", "  num_samples: 4", f"  expect: {{tasks: {tasks}}}"]
        lines += ["  baseline: true"] if baseline else []
        lines += ["  metrics: [pass@1, pass@4]", "benchmarks:"]
        for number in range(file, BENCHMARKS, FILES):
            lines += [f"  - name: b{number}", f"    rollouts: runs/b{number}.jsonl"]
            write_rollouts(folder / f"runs/b{number}.jsonl", rng, rng.beta(0.4, 0.4, tasks))
        folder.joinpath(f"many{file}.bench.yaml").write_text("\n".join(lines), encoding="utf-8")


def write_rollouts(path: Path, rng: np.random.Generator, chances: np.ndarray) -> None:
    """Write one run."""
    passes = (rng.random((len(chances), 4)) < chances[:, None]).astype(int).tolist()
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
    """Time runs over 1,000 benchmarks, and what a bare pytest takes for as many items."""
    holds = True
    for label, tasks, baseline in CASES_OF_RUNS[: 1 if profile else None]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_benchmarks(folder, tasks, baseline=baseline)
            print(f"{BENCHMARKS:,} benchmarks of {tasks} tasks x 4 in one run, {label}")
            if baseline:
                recorded = pytest_run(folder, "-m", "pytest", "--snapshot-update")[1]
                print(f"  recording the baselines {recorded:6.2f} s CPU")
            if profile:
                stats = folder / "profile.out"
                pytest_run(folder, "-m", "cProfile", "-o", str(stats), "-m", "pytest")
                show(stats)
                return True
            wall, cpu, peak = pytest_run(folder, "-m", "pytest")
            print(f"  the run                 {cpu:6.2f} s CPU, {wall:.1f} s, peak {peak:.0f} MiB")
            bare = bare_run(folder)
            print(f"  a bare pytest           {bare:6.2f} s CPU, {bare / cpu:.0%} of it")
            shares(folder)
            holds &= wall < RUN_SECONDS
    print("within" if holds else "over", f"{RUN_SECONDS:.0f} s")
    return holds


def bare_run(folder: Path) -> float:
    """Time as many items that do nothing, CPU seconds."""
    bare = folder / "bare"
    bare.mkdir()
    for file in folder.glob("*.yaml"):
        (bare / file.name).write_bytes(file.read_bytes())
    (bare / "conftest.py").write_text(BARE, encoding="utf-8")
    return pytest_run(bare, "-m", "pytest", "-p", "no:evalmetrics")[1]


def shares(folder: Path) -> None:
    """Print what a run's CPU seconds go to; the clocks themselves take some."""
    found = folder / "shares.json"
    before = dict(os.environ)
    os.environ.update(PYTHONPATH=str(Path(__file__).parent), EVALMETRICS_SHARES=str(found))
    try:
        pytest_run(folder, "-m", "pytest", "-p", "shares", "--ignore", str(folder / "bare"))
    finally:
        os.environ.clear()
        os.environ.update(before)
    spent = json.loads(found.read_text(encoding="utf-8"))
    whole = spent.pop("whole")
    spent = {"pytest itself and imports": whole - sum(spent.values()), **spent}
    for step, seconds in sorted(spent.items(), key=lambda each: -each[1]):
        print(f"    {step:<26}{seconds:6.2f} s CPU {seconds / whole:5.0%}")


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
