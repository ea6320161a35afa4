"""What the scripts here share: runs of pytest, tables and files of rollouts, and their timing."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pytest_evalmetrics.ext import RolloutTable

ROUNDS = 3
MIB = 1024.0  # ru_maxrss counts KiB on Linux
TESTS = Path(__file__).parents[1]
BARE = ("-p", "no:cacheprovider", "-p", "no:pytest_cov", "-p", "no:hypothesispytest")


class Used(NamedTuple):
    """Seconds on the wall and of the CPU, and MiB at the peak."""

    wall: float
    cpu: float
    peak: float


def pytest_run(folder, *args, may_print=None, **environ):
    """Run pytest without the plugins of others; it may fail only if it says so."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *BARE, *args],
        cwd=folder,
        env=kept | environ,
        stdout=subprocess.PIPE,
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if status and (may_print is None or may_print not in output):
        sys.exit(output.decode()[-2000:])
    return Used(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB)


@contextmanager
def served(script):
    """Start a server of the tests, and give its address."""
    command = [sys.executable, str(TESTS / script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


def wall(work):
    """Return the seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cpu(work, times=ROUNDS):
    """Return the least CPU seconds of a few runs."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def table(scores, samples=1, tasks=None, categories=None):
    """Make rollouts of one agent, so many of each task, from columns sorted by task."""
    rows = len(next(iter(scores.values())))
    n = rows // samples
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(rows, dtype=np.int32),
        tasks=tuple(range(n)) if tasks is None else tasks,
        task=np.repeat(np.arange(n), samples),
        sample=np.tile(np.arange(samples), n),
        scores=scores,
        categories=categories or {},
    )


def graded(tasks, samples, fields):
    """Make a table of a 0/1 reward and further numeric fields."""
    rng = np.random.default_rng(0)
    rows = tasks * samples
    scores = {"reward": (rng.random(rows) < 0.6).astype(np.float64)}
    scores |= {f"field_{i}": rng.normal(size=rows) for i in range(1, fields)}
    return table(scores, samples)


def write_rollouts(path, rng, chances):
    """Write a run of tasks that pass with such chances, four rollouts of each."""
    passes = (rng.random((len(chances), 4)) < chances[:, None]).astype(int).tolist()
    rows = (
        f'{{"_ng_task_index": {t}, "_ng_rollout_index": {s}, "reward": {r}}}\n'
        for t, task in enumerate(passes)
        for s, r in enumerate(task)
    )
    path.write_text("".join(rows), encoding="utf-8")
