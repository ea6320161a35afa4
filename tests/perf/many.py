"""A run over 1,000 small benchmarks: how much of it is pytest itself.

A small benchmark is a YAML file of its own with 20 tasks of four rollouts, key metrics and a
threshold, such as a team keeps one of for each skill; with a committed baseline, and without one.
Ten files with a hundred benchmarks of 200 tasks each stand for larger ones. The run is that of
CI: pytest's own settings, a JUnit file, all of our artifacts, and no other plugins.

What is pytest itself is seen from the stack (`shares.py`): its start, its own code and pluggy's,
whoever calls it; imports and whatever runs below our code are not. It is the process's own CPU
seconds that are split up. Each case is run by one process and by two workers of pytest-xdist.
Beside it stand whole runs over as many items of ours that do nothing, and over as many ordinary
test functions, a file each. Prints; asserts nothing. Best of three; of the shares the median of
five runs, and what they lie between.

    python tests/perf/many.py
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from measuring import ROUNDS, pytest_run, write_rollouts
from shares import PYTEST, SHARES

BENCHMARKS, SAMPLED = 1_000, 5
WALL = "wall"
CASES = (
    ("a file each, 20 tasks x 4, compared with baselines", 1_000, 20, True),
    ("a file each, 20 tasks x 4, without a baseline", 1_000, 20, False),
    ("in ten files, 200 tasks x 4, compared with baselines", 10, 200, True),
)
NO_OP = """
def pytest_collection_finish(session):
    for item in session.items:
        type(item).runtest = lambda self: None
"""


def write_benchmarks(folder, files, tasks, *, baseline):
    """Write 1,000 benchmarks in so many files, each task with four rollouts."""
    rng = np.random.default_rng(0)
    folder.joinpath("runs").mkdir()
    for file in range(files):
        lines = ["benchmarks:"]
        for number in range(file, BENCHMARKS, files):
            write_rollouts(folder / f"runs/b{number}.jsonl", rng, rng.beta(0.4, 0.4, tasks))
            lines += [
                f"  - name: b{number}",
                f"    rollouts: runs/b{number}.jsonl",
                "    num_samples: 4",
                "    metrics: [pass@1, pass@4]",
                f"    expect: {{tasks: {tasks}}}",
                '    thresholds: {pass@1: ">= 0.01"}',
                *(["    baseline: true"] if baseline else []),
            ]
        folder.joinpath(f"many{file}.bench.yaml").write_text("\n".join(lines), encoding="utf-8")


def run(folder, *args, **environ):
    # red: those that do nothing are not evaluated
    passed = f"{BENCHMARKS} passed in".encode()
    return pytest_run(folder, "--junitxml", "junit.xml", *args, may_print=passed, **environ)


def best(folder, *args):
    """Run it a few times; give the one that took the least time."""
    return min(run(folder, *args) for _ in range(ROUNDS))


def shares(folder):
    """Tell what a run's CPU seconds go to, and what it takes on the wall."""
    path = folder / "shares.json"
    here = str(Path(__file__).parent)
    wall = run(folder, "-p", "shares", PYTHONPATH=here, **{SHARES: str(path)}).wall
    return {WALL: wall, **json.loads(path.read_text(encoding="utf-8"))}


def measure(label, folder):
    """Time runs over benchmarks, and what pytest takes for as many items."""
    print(f"{BENCHMARKS:,} benchmarks, {label}")
    wall, cpu, peak = best(folder)
    print(f"  one process: {wall:.2f} s, {cpu:.2f} s CPU, peak {peak:.0f} MiB")
    wall, cpu, peak = best(folder, "-n", "2")
    print(f"  -n 2: {wall:.2f} s, {cpu:.2f} s CPU, peak of the controller {peak:.0f} MiB")
    # of the same run: from one to the next the machine may be another
    runs = sorted((shares(folder) for _ in range(SAMPLED)), key=lambda s: s[PYTEST] / s[WALL])
    spent = runs[SAMPLED // 2]
    wall, whole = spent.pop(WALL), spent.pop("whole")
    for step, seconds in sorted(spent.items(), key=lambda each: (each[0] != PYTEST, -each[1])):
        print(f"    {step:<22}{seconds:6.2f} s CPU {seconds / whole:5.0%}")
    part = [f"{each[PYTEST] / each.get(WALL, wall):.0%}" for each in (runs[0], spent, runs[-1])]
    print(f"    pytest itself is {part[1]} of the time on the wall ({part[0]} to {part[2]})")
    (folder / "conftest.py").write_text(NO_OP, encoding="utf-8")
    print(f"  as many items of ours that do nothing: {best(folder)[0]:.2f} s")


def ordinary():
    """Time as many test functions, a file each."""
    with tempfile.TemporaryDirectory() as name:
        for number in range(BENCHMARKS):
            text = "def test_it():\n    assert True\n"
            Path(name, f"test_{number}.py").write_text(text, encoding="utf-8")
        run(Path(name))  # which rewrites their asserts
        print(f"{BENCHMARKS:,} test functions, a file each\n  {best(Path(name))[0]:.2f} s")


def main():
    """Measure."""
    for label, files, tasks, baseline in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            write_benchmarks(folder, files, tasks, baseline=baseline)
            if baseline:
                run(folder, "--snapshot-update")
            measure(label, folder)
    ordinary()


if __name__ == "__main__":
    main()
