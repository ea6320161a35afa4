"""What it takes to read the package, and to start it: each figure beside its limit.

python tests/perf/house.py            prints all rows; takes two minutes
python tests/perf/house.py --counts   the rows that no clock decides
python tests/perf/house.py --check    fails where one of these is worse than in house.json
python tests/perf/house.py --update   records them there
"""

from __future__ import annotations

import ast
import collections
import compileall
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
PACKAGE = ROOT / "pytest_evalmetrics"
RECORDED = Path(__file__).with_suffix(".json")
PEERS = ("pytest", "_pytest", "pluggy", "numpy", "pydantic", "pydantic_core", "yaml", "syrupy")
BARE = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:cov",
    "-p",
    "no:hypothesispytest",
)

# The files whose functions run, from the start of pytest to its end, and the modules imported then.
PROBE = """
import json, sys, threading, pytest

FILES = set()

def trace(frame, event, arg):
    code = frame.f_code
    if "pytest_evalmetrics" in code.co_filename and code.co_flags & 1:  # no module, no class body
        FILES.add(code.co_filename)

class Probe:
    def pytest_unconfigure(self):
        own = sorted(m for m in sys.modules if m.split(".")[0] == "pytest_evalmetrics")
        print("PROBE" + json.dumps([sorted(FILES), own]))

sys.setprofile(trace)
threading.setprofile(trace)
sys.exit(pytest.main(sys.argv[1:], plugins=[Probe()]))
"""
OFFLINE = "benchmark: {name: a, rollouts: runs.jsonl, thresholds: {mean_reward: '>= 1'}}\n"
SCORED = """
benchmark:
  name: a
  dataset: rows.jsonl
  scorers: [{type: answer_accuracy, judge_model: {url: "URL/house/v1", name: judge}}]
  thresholds: {mean_reward: ">= 1"}
"""


def modules() -> dict[str, Path]:
    """Find the package's modules by their dotted name."""
    paths = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST, everywhere: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Give the imports that run: of the module's level, or those in functions too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif everywhere or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(child, everywhere)


def graph(everywhere: bool) -> dict[str, set[str]]:
    """Say which modules of the package each of them imports."""
    paths = modules()
    edges: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in imports(tree(path), everywhere):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                base = ".".join(package.split(".")[: 1 - node.level or None]) if node.level else ""
                module = ".".join(filter(None, (base, node.module)))
                targets = [
                    inner if (inner := f"{module}.{alias.name}") in paths else module
                    for alias in node.names
                ]
            edges[name] |= {t for t in targets if t in paths and t != name}
    return edges


def longest(edges: dict[str, set[str]]) -> int:
    """Count the modules of the longest chain; what closes a circle is passed over."""
    done: dict[str, int] = {}
    open_: set[str] = set()

    def length(name: str) -> int:
        if name in done:
            return done[name]
        open_.add(name)
        done[name] = 1 + max((length(n) for n in sorted(edges[name]) if n not in open_), default=0)
        open_.discard(name)
        return done[name]

    return max(map(length, sorted(edges)))


def repeated(names: Iterator[str]) -> list[str]:
    return sorted(name for name, count in collections.Counter(names).items() if count > 1)


def public_classes() -> Iterator[str]:
    for path in modules().values():
        names = {n.name for n in tree(path).body if isinstance(n, ast.ClassDef)}
        yield from (name for name in names if not name.startswith("_"))


def names_from_inside() -> int:
    """Count what the tests import from below the package and its public modules."""
    public = {"pytest_evalmetrics", "pytest_evalmetrics.ext", "pytest_evalmetrics.errors"}
    count = 0
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "") not in public:
                inside = (node.module or "").split(".")[0] == "pytest_evalmetrics"
                count += len(node.names) if inside else 0
    return count


def lines(folder: Path) -> int:
    return sum(p.read_bytes().count(b"\n") for p in folder.rglob("*.py"))


# -- runs


def environment(**more: str) -> dict[str, str]:
    """Keep out what would change a run; no byte code is written beside the package."""
    prefixes = ("PYTEST", "PYTHON", "CI", "GIT")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    return kept | (more or {"PYTHONDONTWRITEBYTECODE": "1"})


def probe(folder: Path) -> tuple[int, int]:
    """Count the files that ran for a benchmark, and the modules that were imported."""
    command = [sys.executable, "-c", PROBE, *BARE, "-p", "no:cacheprovider"]
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment()
    )
    if "1 passed" not in run.stdout:
        sys.exit(f"the probe's run failed:\n{run.stdout}{run.stderr}")
    files, names = json.loads(run.stdout.partition("PROBE")[2].partition("\n")[0])
    return len(files), len(names)


def projects(folder: Path) -> tuple[Path, Path, Path, Path]:
    """Write an offline benchmark, a judged one, an empty folder and plain tests."""
    from golden.fake import Fake  # noqa: PLC0415 - a script

    folders = tuple(folder / name for name in ("offline", "judged", "idle", "plain"))
    for path in folders:
        path.mkdir()
        (path / "pytest.ini").write_text("[pytest]\n")
    offline, judged, idle, plain = folders
    (offline / "a.bench.yaml").write_text(OFFLINE)
    (offline / "runs.jsonl").write_text('{"_ng_task_index": 0, "reward": 1}\n')
    fake = Fake()
    fake.begin("house", [{"say": {"reasoning": "so", "rating": 4}}])
    (judged / "a.bench.yaml").write_text(SCORED.replace("URL", fake.url))
    (judged / "rows.jsonl").write_text('{"user_input": "q", "response": "r", "reference": "r"}\n')
    (idle / "test_a.py").write_text("def test_a(): pass\n")
    three = "".join(f"def test_{c}(): pass\n" for c in "abc")
    (plain / "test_digits.py").write_text("import numpy\n" + three)
    (plain / "test_scored.py").write_text(
        "import aiohttp, jinja2, numpy, pydantic\n\ndef test_a(): pass\n"
    )
    return offline, judged, idle, plain


def cpu(folder: Path, *arguments: str, **env: str) -> float:
    """Measure the processor's seconds of a run of pytest."""
    command = [sys.executable, "-m", "pytest", *BARE, *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environment(**env), stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} in {folder}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def least_ratio(one: Callable[[], float], other: Callable[[], float], times: int = 7) -> float:
    pairs = [(one(), other()) for _ in range(times)]
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


def import_ratio(folder: Path, **env: str) -> float:
    """Compare the self time of our imports with that of the peers': the least of five runs."""
    ratios = []
    for _ in range(6):
        command = [sys.executable, "-X", "importtime", "-m", "pytest", *BARE]
        run = subprocess.run(
            command, cwd=folder, env=environment(**env), capture_output=True, text=True, check=False
        )
        times = collections.Counter[str]()
        for us, name in re.findall(r"import time: +(\d+) \| +\d+ \| +(\S+)", run.stderr):
            times[name.partition(".")[0]] += int(us)
        ratios.append(times["pytest_evalmetrics"] / sum(times[peer] for peer in PEERS))
    return min(ratios[1:])


def counts(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Give the rows that no clock decides: what, how many, the limit."""
    offline, judged, _, _ = projects(folder)
    yield "lines of the package", lines(PACKAGE), 36_000
    yield "modules", len(modules()), 200
    yield "longest chain of imports", longest(graph(everywhere=False)), 12
    yield "longest chain, those in functions too", longest(graph(everywhere=True)), 31
    files, imported = probe(offline)
    yield "own files run for one reward", files, 80
    yield "own files run for a judge's answer", probe(judged)[0], 120
    yield "own modules imported by an offline run", imported, 90
    stems = (p.stem for p in modules().values() if p.stem != "__init__")
    yield "basenames that occur twice", len(repeated(stems)), 0
    yield "public class names that occur twice", len(repeated(public_classes())), 0
    yield "names that tests import from inside", names_from_inside(), 250
    yield "lines of tests", lines(ROOT / "tests"), 32_000


def timings(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Give the rows that a clock decides."""
    folder.mkdir()
    offline, judged, idle, plain = projects(folder)
    cold = {"PYTHONDONTWRITEBYTECODE": "1"}
    compileall.compile_dir(PACKAGE, quiet=1)  # as pip does; pytest itself would ignore it
    warm = {"PYTHONPYCACHEPREFIX": str(folder / "byte-code")}
    yield "import time against the peers', cold", import_ratio(offline, **cold), 0.4
    yield "import time against the peers', warm", import_ratio(offline, **warm), 0.4
    # in a project of its own, as the plain tests are: ours loads pytester, and has more to walk
    example = shutil.copytree(ROOT / "examples" / "digits", folder / "digits")
    (example / "pytest.ini").touch()
    digits = least_ratio(
        lambda: cpu(example, f"--evalmetrics-output={folder}/out/", **warm),
        lambda: cpu(plain, "-p", "no:evalmetrics", "test_digits.py", **warm),
    )
    yield "CPU of examples/digits against plain pytest", digits, 2.0
    scored = least_ratio(
        lambda: cpu(judged, **warm),
        lambda: cpu(plain, "-p", "no:evalmetrics", "test_scored.py", **warm),
    )
    yield "CPU of a scored run against plain pytest", scored, 1.6
    for name, env in (("cold", cold), ("warm", warm)):
        with_it, without = [], []
        for turn in range(40):  # in turn first and second: what runs second is some ms faster
            sides = [(with_it, ()), (without, ("-p", "no:evalmetrics"))][:: (-1) ** turn]
            for times, arguments in sides:
                times.append(cpu(idle, *arguments, **env))
        added = 1000 * (statistics.median(with_it[2:]) - statistics.median(without[2:]))
        yield f"ms of an idle start, medians of 38, {name}", added, 5


def main(arguments: list[str]) -> int:
    before = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    worse, recorded = [], {}
    with tempfile.TemporaryDirectory() as name:
        rows = counts(Path(name))
        print(f"{'':46} {'now':>9} {'limit':>9}")
        for what, value, limit in rows:
            print(
                f"{what:46} {value:>9,} {limit:>9,}{'' if value <= limit else '  above'}",
                flush=True,
            )
            recorded[what] = value
            if value > max(limit, before.get(what, limit)):
                worse.append(f"{what}: {value:,}, and {before.get(what, limit):,} before")
        if not arguments:
            for what, value, limit in timings(Path(name) / "timed"):
                mark = "" if value <= limit else "  above"
                print(f"{what:46} {value:>9.2f} {limit:>9}{mark}", flush=True)
    if "--update" in arguments:
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    elif "--check" in arguments and worse:
        print("got worse (python tests/perf/house.py --update records it):", *worse, sep="\n  ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
