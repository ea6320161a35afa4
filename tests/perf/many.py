"""A run over 1,000 small benchmarks: how much of it is pytest itself.

A small benchmark is a YAML file of its own with 20 tasks of four rollouts, key metrics and a
threshold, such as a team keeps one of for each skill; with a committed baseline, and without one.
Ten files with a hundred benchmarks of 200 tasks each stand for larger ones. The run is that of
CI: pytest's own settings, a JUnit file, all of our artifacts, and no other plugins.

Each case is run by one process and by two workers of pytest-xdist. Beside it stand whole runs over
as many items of ours that do nothing, and over as many ordinary test functions, a file each.
Prints; asserts nothing. Best of three.

    python tests/perf/many.py
"""

import tempfile
from pathlib import Path

import numpy as np
from measuring import ROUNDS, pytest_run, write_rollouts

BENCHMARKS = 1_000
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
            write_rollouts(
                folder / f"runs/b{number}.jsonl", rng, rng.beta(0.4, 0.4, tasks)
            )
            lines += [
                f"  - name: b{number}",
                f"    rollouts: runs/b{number}.jsonl",
                "    num_samples: 4",
                "    metrics: [pass@1, pass@4]",
                f"    expect: {{tasks: {tasks}}}",
                '    thresholds: {pass@1: ">= 0.01"}',
                *(["    baseline: true"] if baseline else []),
            ]
        folder.joinpath(f"many{file}.bench.yaml").write_text(
            "\n".join(lines), encoding="utf-8"
        )


def run(folder, *args):
    # red: those that do nothing are not evaluated
    passed = f"{BENCHMARKS} passed in".encode()
    return pytest_run(folder, "--junitxml", "junit.xml", *args, may_print=passed)


def best(folder, *args):
    """Run it a few times; give the one that took the least time."""
    return min(run(folder, *args) for _ in range(ROUNDS))


def measure(label, folder):
    """Time runs over benchmarks, and what pytest takes for as many items."""
    print(f"{BENCHMARKS:,} benchmarks, {label}")
    wall, cpu, peak = best(folder)
    print(f"  one process: {wall:.2f} s, {cpu:.2f} s CPU, peak {peak:.0f} MiB")
    wall, cpu, peak = best(folder, "-n", "2")
    print(
        f"  -n 2: {wall:.2f} s, {cpu:.2f} s CPU, peak of the controller {peak:.0f} MiB"
    )
    (folder / "conftest.py").write_text(NO_OP, encoding="utf-8")
    print(f"  as many items of ours that do nothing: {best(folder)[0]:.2f} s")


def ordinary():
    """Time as many test functions, a file each."""
    with tempfile.TemporaryDirectory() as name:
        for number in range(BENCHMARKS):
            text = "def test_it():\n    assert True\n"
            Path(name, f"test_{number}.py").write_text(text, encoding="utf-8")
        run(Path(name))  # which rewrites their asserts
        print(
            f"{BENCHMARKS:,} test functions, a file each\n  {best(Path(name))[0]:.2f} s"
        )


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
