"""Time and peak memory of the paired bootstrap in its three regimes, and of pass@k.

Run it as a script. Each case runs in a process of its own, so that its peak is its own;
the baseline of numpy and the input alone is printed beside it. The last lines compare
with the plain loop, one index vector of all tasks per replicate, in the same run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024.0  # ru_maxrss counts KiB on Linux
SECONDS, PEAK = 3.0, 300.0  # what a million tasks may take


def flips(n: int) -> np.ndarray:
    """Differences of four 0/1 rollouts a side: nine distinct values."""
    rng = np.random.default_rng(0)
    return (rng.binomial(4, 0.7, n) - rng.binomial(4, 0.69, n)) / 4


def scores(n: int) -> np.ndarray:
    """Continuous differences: as many distinct values as tasks."""
    return np.random.default_rng(0).normal(0.001, 0.4, n)


def bootstrap(d: np.ndarray, draws: int = 9_999) -> object:
    return stats.paired_bootstrap(d, seed=1, alternative="greater", alpha=0.5, draws=draws)


def clustered(d: np.ndarray) -> object:
    labels = np.arange(d.size) // 10
    return stats.paired_bootstrap(d, seed=1, clusters=labels, alternative="greater", alpha=0.5)


def near_alpha(d: np.ndarray) -> object:
    return bootstrap(d, 99_990)


def plain_loop(d: np.ndarray, draws: int = 9_999) -> object:
    rng = np.random.default_rng(1)
    return [d[rng.integers(0, d.size, d.size)].mean() for _ in range(draws)]


def pass_at_8(n: int) -> object:
    passes = np.random.default_rng(0).integers(0, 17, n)
    start = time.perf_counter()
    stats.pass_at_k(16, passes, 8)
    return time.perf_counter() - start


CASES: dict[str, tuple[Callable[[int], np.ndarray], Callable[[np.ndarray], object], int]] = {
    "few distinct values": (flips, bootstrap, 1_000_000),
    "index vectors": (scores, bootstrap, 2_048),
    "random blocks": (scores, bootstrap, 1_000_000),
    "random blocks of clusters": (scores, clustered, 1_000_000),
    "few distinct, p near alpha": (flips, near_alpha, 1_000_000),
    "index vectors, p near alpha": (scores, near_alpha, 2_048),
    "random blocks, p near alpha": (scores, near_alpha, 1_000_000),
}


def one(name: str) -> None:
    """Print the seconds, the peak, and the peak before the call, in MiB."""
    make, run, n = CASES[name]
    d = make(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    start = time.perf_counter()
    run(d)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    print(f"{seconds} {peak} {before}")


def main() -> int:
    failed = False
    head = "9,999 draws (99,990 near alpha)"
    print(f"{head:<32}{'tasks':>10}{'seconds':>9}{'peak MiB':>10}{'before':>8}")
    for name, (_, _, n) in CASES.items():
        command = [sys.executable, __file__, name]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak, before = map(float, out.split())
        failed |= seconds > SECONDS or peak > PEAK
        print(f"{name:<32}{n:>10,}{seconds:>9.2f}{peak:>10.0f}{before:>8.0f}")
    print("\nagainst the plain loop, 20,000 tasks, 9,999 draws")
    for name, make in (("few distinct values", flips), ("random blocks", scores)):
        d = make(20_000)
        took = []
        for run in (bootstrap, plain_loop):
            start = time.perf_counter()
            run(d, 9_999)
            took.append(time.perf_counter() - start)
        print(f"{name:<32}{took[0]:.3f} s against {took[1]:.3f} s: {took[1] / took[0]:.0f} times")
    print(f"\npass@8 of 10,000,000 tasks of 16 rollouts: {pass_at_8(10_000_000):.2f} s")
    print("over the limit" if failed else f"within {SECONDS:.0f} s and {PEAK:.0f} MiB")
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(sys.argv[1])
    else:
        sys.exit(main())
