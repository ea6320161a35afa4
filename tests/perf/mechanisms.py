"""What each mechanism at import and of the garbage collector gains.

python tests/perf/mechanisms.py [pairs]

It installs the package as it is and without each of them, and compares the CPU time of
pytest runs in pairs. It prints medians and quartiles, and fails for nothing.
docs/decisions.md has the figures.
"""

from __future__ import annotations

import compileall
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
# mechanism -> the module that has it, its code, and the code without it
REMOVED = {
    "our byte code": (
        "plugin.py",
        "    if OurByteCode not in sys.meta_path:\n",
        "    if False:\n",
    ),
    "pauses of the collector": ("gc_pause.py", "    gc.disable()\n", ""),
    "imports on an empty stack": (
        "import_for_good.py",
        "        _on_new_stack(load)\n",
        "",
    ),
    "no thaw at exit": (
        "import_for_good.py",
        "        if file is not None and not file.startswith(installed):\n",
        "        if True:\n",
    ),
}
BENCHMARK = """
benchmark:
  name: large
  rollouts: {path: runs.jsonl, fields: {task: task, sample: sample}}
  metrics: [pass@1, mean/output_tokens]
  key_metrics: [pass@1]
  thresholds: {pass@1: ">= 0.5"}
"""


def install(folder: Path, mechanism: str = "") -> Path:
    """Install the package into a folder, without one mechanism, compiled as pip does."""
    command = ["pip", "install", "-q", "--no-deps", "--target", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    if mechanism:
        name, code, without = REMOVED[mechanism]
        module = folder / "pytest_evalmetrics" / name
        text = module.read_text()
        if code not in text:
            sys.exit(f"{name} has no {code!r} to remove")
        module.write_text(text.replace(code, without))
    compileall.compile_dir(folder, quiet=1, force=True)
    return folder


def forget_rewritten(installed: Path) -> None:
    """Delete the byte code that pytest has made: a run of CI begins without it."""
    for file in installed.rglob("*-pytest-*.pyc"):
        file.unlink()


def cpu_milliseconds(installed: Path, project: Path) -> float:
    """Return the CPU time of one run of pytest with this installation."""
    prefixes = ("PYTEST", "PYTHON", "CI")
    env = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    env["PYTHONPATH"] = str(installed)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(
        command, cwd=project, env=env, check=False, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user = after.ru_utime - before.ru_utime
    system = after.ru_stime - before.ru_stime
    return 1000 * (user + system)


def compare(
    label: str, whole: Path, without: Path, project: Path, *, pairs: int, cold: bool
) -> None:
    """Print the CPU time with and without a mechanism, and the differences of pairs."""
    times: dict[Path, list[float]] = {whole: [], without: []}
    for pair in range(pairs + 1):
        # what runs second is some milliseconds faster, so the order alternates
        order = (whole, without) if pair % 2 else (without, whole)
        for installed in order:
            if cold:
                forget_rewritten(installed)
            times[installed].append(cpu_milliseconds(installed, project))
    # the first pair filled the caches of the disk
    with_it = times[whole][1:]
    without_it = times[without][1:]
    gains = [b - a for a, b in zip(with_it, without_it, strict=True)]
    low, middle, high = statistics.quantiles(gains, n=4)
    print(
        f"{label}: {statistics.median(with_it):.0f} ms with it, "
        f"{statistics.median(without_it):.0f} ms without; "
        f"gain {middle:.0f} ms, quartiles {low:.0f} to {high:.0f}",
        flush=True,
    )


def make_projects(folder: Path) -> dict[str, Path]:
    """Write a project of one test, the example, and 25,000 tasks x 4."""
    idle = folder / "idle"
    idle.mkdir()
    (idle / "test_a.py").write_text("def test_a(): pass\n")
    digits = Path(shutil.copytree(ROOT / "examples" / "digits", folder / "digits"))
    large = folder / "large"
    large.mkdir()
    (large / "large.bench.yaml").write_text(BENCHMARK)
    rng = random.Random(1)
    with (large / "runs.jsonl").open("w") as file:
        for task in range(25_000):
            for sample in range(4):
                reward = int(rng.random() < 0.7)
                tokens = rng.randint(1, 999)
                row = {"task": f"t{task}", "sample": sample, "reward": reward}
                file.write(json.dumps({**row, "output_tokens": tokens}) + "\n")
    projects = {"idle": idle, "digits": digits, "large": large}
    for project in projects.values():
        (project / "pytest.ini").write_text("[pytest]\n")
    return projects


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = make_projects(folder)
        whole = install(folder / "whole")
        compiled = install(folder / "rewritten", "our byte code")
        for label, project, cold in (
            ("our byte code, first idle run", "idle", True),
            ("our byte code, first run of a benchmark", "digits", True),
            ("our byte code, later run of a benchmark", "digits", False),
        ):
            compare(label, whole, compiled, projects[project], pairs=pairs, cold=cold)
        running = install(folder / "running", "pauses of the collector")
        for label, project in (
            ("pauses, 800 rollouts", "digits"),
            ("pauses, 100,000 rollouts", "large"),
        ):
            compare(label, whole, running, projects[project], pairs=pairs, cold=False)
        for mechanism in ("imports on an empty stack", "no thaw at exit"):
            without = install(folder / mechanism.replace(" ", "-"), mechanism)
            digits = projects["digits"]
            compare(mechanism, whole, without, digits, pairs=pairs, cold=False)


if __name__ == "__main__":
    main()
