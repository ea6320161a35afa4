"""Time and peak memory of gating a million tasks.

Each case runs in a process of its own, so that its peak is its own; what numpy, the project and
the two tables take alone is printed beside it. The baseline's ids are text, as in its file, and
the run's are whole numbers.

    python tests/perf/gating.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.ext import RolloutTable

TASKS, MIB = 1_000_000, 1024.0  # ru_maxrss counts KiB on Linux
SECONDS, PEAK = 3.0, 300.0


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
    from pytest_evalmetrics.ext import RolloutTable  # noqa: PLC0415 - a case's own process

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
    from pytest_evalmetrics.ext import (  # noqa: PLC0415
        AgentResult,
        BenchmarkSpec,
        Estimate,
    )
    from pytest_evalmetrics.pipeline.regressions import Judging, Reference  # noqa: PLC0415
    from pytest_evalmetrics.spec import Benchmark  # noqa: PLC0415
    from pytest_evalmetrics.spec.gate_keys import BaselineSpec  # noqa: PLC0415
    from pytest_evalmetrics.spec.sources import RolloutsSpec  # noqa: PLC0415

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
    check = next(one for one in judging.checks() if one.name == metric)
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
    print("within" if holds else "over", f"{SECONDS:.0f} s and {PEAK:.0f} MiB")
    return holds


def main() -> int:
    """Measure."""
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2])
        return 0
    return int(not million())


if __name__ == "__main__":
    sys.exit(main())
