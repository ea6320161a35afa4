"""Start time: imports and CPU of small runs beside plain pytest, in the same run.

python tests/perf/starting.py

It prints ratios and milliseconds, and fails for nothing.
"""

from __future__ import annotations

import collections
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from golden.fake import Fake  # noqa: E402 - of the tests

PEERS = {
    "pytest",
    "_pytest",
    "pluggy",
    "numpy",
    "pydantic",
    "pydantic_core",
    "yaml",
    "syrupy",
}
BARE = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-p", "no:cov", "-p", "no:hypothesispytest"),
)
OFFLINE = """
benchmark: {name: a, rollouts: runs.jsonl, thresholds: {mean_reward: '>= 1'}}
"""
COMPARED = """
benchmark:
  name: a
  rollouts: runs.jsonl
  thresholds: {mean_reward: ">= 0.1"}
  baseline: {max_drop: 0.05}
"""
SCORED = """
benchmark:
  name: a
  dataset: rows.jsonl
  scorers:
    - {type: answer_accuracy, judge_model: {url: "URL/start/v1", name: judge}}
  thresholds: {mean_reward: ">= 1"}
"""
# what an offline run may load of others: their modules, and with what pydantic loads when
# it is first used; a run without scorers loads its core alone
IMPORTED = {
    "imported": "import pytest, numpy, pydantic, yaml, syrupy",
    "imported and used": "import pytest, numpy, pydantic, yaml, syrupy;"
    "pydantic.TypeAdapter, pydantic.Field, pydantic.AfterValidator, pytest.main",
}
OWN = re.compile(r"import time: +(\d+) \| +\d+ \| +(\S+)")


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    """Return the environment without what would change a run."""
    prefixes = ("PYTEST", "PYTHON", "CI", "GIT")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    return kept | extra


def run_bare(folder: Path, arguments: list[str], env: dict[str, str]) -> str:
    """Run Python, and return what it wrote to stderr."""
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean_environment(env),
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr


def cpu_seconds(folder: Path, arguments: tuple[str, ...], env: dict[str, str]) -> float:
    """Measure the CPU time of one run of pytest, which has to succeed."""
    return cpu_of(["-m", "pytest", *BARE, *arguments], folder, env)


def cpu_of(arguments: list[str], folder: Path, env: dict[str, str]) -> float:
    """Measure the CPU time of one run of Python, which has to succeed."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=clean_environment(env), stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} in {folder}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def make_projects(folder: Path) -> dict[str, Path]:
    """Write offline benchmarks, a judged one, an idle project and plain tests."""
    names = ("offline", "compared", "judged", "idle", "plain")
    projects = {name: folder / name for name in names}
    for path in projects.values():
        path.mkdir()
        (path / "pytest.ini").write_text("[pytest]\n")
    (projects["offline"] / "a.bench.yaml").write_text(OFFLINE)
    row = '{"_ng_task_index": 0, "reward": 1}\n'
    (projects["offline"] / "runs.jsonl").write_text(row)
    (projects["compared"] / "a.bench.yaml").write_text(COMPARED)
    rows = [
        f'{{"_ng_task_index": {task}, "reward": {int(task % 3 > 0)}}}\n'
        for task in range(50)
    ]
    (projects["compared"] / "runs.jsonl").write_text("".join(rows))
    record = ("--evalmetrics-update", "--evalmetrics-output=")
    cpu_seconds(projects["compared"], record, {})
    fake = Fake()
    fake.begin("start", [{"say": {"reasoning": "so", "rating": 4}}])
    (projects["judged"] / "a.bench.yaml").write_text(SCORED.replace("URL", fake.url))
    (projects["judged"] / "rows.jsonl").write_text(
        '{"user_input": "q", "response": "r", "reference": "r"}\n'
    )
    (projects["idle"] / "test_a.py").write_text("def test_a(): pass\n")
    three = "".join(f"def test_{name}(): pass\n" for name in "abc")
    (projects["plain"] / "test_digits.py").write_text("import numpy\n" + three)
    (projects["plain"] / "test_scored.py").write_text(
        "import aiohttp, jinja2, numpy, pydantic\n\ndef test_a(): pass\n"
    )
    # in a project of its own, as the plain tests are
    digits = Path(shutil.copytree(ROOT / "examples" / "digits", folder / "digits"))
    (digits / "pytest.ini").touch()
    projects["digits"] = digits
    return projects


def over_peers(
    folder: Path, imported: str, env: dict[str, str], turns: int = 9
) -> float:
    """Return the CPU time of an offline run over that of importing its peers alone."""
    ours, theirs = [], []
    for _ in range(turns + 1):
        ours.append(cpu_seconds(folder, ("--evalmetrics-output=",), env))
        theirs.append(cpu_of(["-c", imported], folder, env))
    return statistics.median(ours[1:]) / statistics.median(theirs[1:])


def import_share(folder: Path, env: dict[str, str]) -> float:
    """Return the self time of our imports over that of the peers': the least of five."""
    shares = []
    for _ in range(6):
        arguments = ["-X", "importtime", "-m", "pytest", *BARE]
        times: collections.Counter[str] = collections.Counter()
        for microseconds, module in OWN.findall(run_bare(folder, arguments, env)):
            times[module.partition(".")[0]] += int(microseconds)
        shares.append(times["pytest_evalmetrics"] / sum(times[peer] for peer in PEERS))
    return min(shares[1:])


def imported_modules(folder: Path) -> int:
    """Count the package's modules that an offline run imports."""
    arguments = ["-X", "importtime", "-m", "pytest", *BARE]
    found = OWN.findall(run_bare(folder, arguments, {}))
    return len({name for _, name in found if name.startswith("pytest_evalmetrics")})


def least_ratio(
    with_us: tuple[Path, tuple[str, ...]],
    plain: tuple[Path, tuple[str, ...]],
    env: dict[str, str],
    pairs: int = 7,
) -> float:
    """Return the least CPU time of our runs over that of plain ones, run in turn."""
    ours, theirs = [], []
    for _ in range(pairs):
        ours.append(cpu_seconds(*with_us, env))
        theirs.append(cpu_seconds(*plain, env))
    return min(ours) / min(theirs)


def idle_milliseconds(folder: Path, env: dict[str, str], turns: int = 40) -> float:
    """Return what the plugin adds to an idle start: the difference of medians."""
    without_plugin = ("-p", "no:evalmetrics")
    with_us, without = [], []
    for turn in range(turns):
        # what runs second is some milliseconds faster, so the order alternates
        if turn % 2:
            without.append(cpu_seconds(folder, without_plugin, env))
            with_us.append(cpu_seconds(folder, (), env))
        else:
            with_us.append(cpu_seconds(folder, (), env))
            without.append(cpu_seconds(folder, without_plugin, env))
    added = statistics.median(with_us[2:]) - statistics.median(without[2:])
    return 1000 * added


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = make_projects(folder)
        environments = {
            # a folder that stays empty: everything is compiled at each start
            "no byte code": {
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPYCACHEPREFIX": str(folder / "empty"),
            },
            "byte code": {"PYTHONPYCACHEPREFIX": str(folder / "byte-code")},
        }
        print(
            f"modules imported by an offline run: {imported_modules(projects['offline'])}"
        )
        for label, env in environments.items():
            for state, imported in IMPORTED.items():
                ratio = over_peers(projects["offline"], imported, env)
                print(
                    f"CPU of an offline run over its peers {state}, {label}: {ratio:.2f}"
                )
            ratio = over_peers(projects["compared"], IMPORTED["imported"], env)
            print(
                f"the same with a baseline, over its peers imported, {label}: {ratio:.2f}"
            )
            share = import_share(projects["offline"], env)
            print(f"self time of our imports over the peers', {label}: {share:.2f}")
            output = (f"--evalmetrics-output={folder}/out/",)
            plain = ("-p", "no:evalmetrics", "test_digits.py")
            ratio = least_ratio(
                (projects["digits"], output), (projects["plain"], plain), env
            )
            print(f"CPU of examples/digits over plain pytest, {label}: {ratio:.2f}")
            plain = ("-p", "no:evalmetrics", "test_scored.py")
            ratio = least_ratio(
                (projects["judged"], ()), (projects["plain"], plain), env
            )
            print(f"CPU of a scored run over plain pytest, {label}: {ratio:.2f}")
            added = idle_milliseconds(projects["idle"], env)
            print(f"ms that an idle start pays, {label}: {added:.1f}", flush=True)


if __name__ == "__main__":
    main()
