"""How time and memory grow: with rows, tasks, metrics, benchmarks and cores.

Every case runs in a process of its own, so that its peak is its own; the best of three,
because whatever else a machine does only ever adds. Beside ours stand the limits (reading the
bytes, and ``json.loads`` over the lines) and, where they are installed, peers that read the
same file. The slope is that of the logarithms: 1 is linear. Prints; asserts nothing.

    python tests/perf/curves.py                  # 1e4 to 1e6 rows of 1 KiB
    python tests/perf/curves.py --full           # 1e7 rows too: 10 GB of disk
    python tests/perf/curves.py --only tasks     # rows, peers, volume, tasks, metrics, benchmarks
    python tests/perf/curves.py --only volume    # 1, 5 and 20 GB of 1 GB files, hard-linked;
                                                 # no more than 5 with --most 5
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[2]
ROUNDS, SAMPLES, FIELDS, MIB = 3, 8, 10, 1024.0
WORDS = "therefore the remainder of n by seven is three, and so the answer holds for all n. " * 9
GB_ROWS = 1_000_000
PEERS = ("pandas", "polars", "duckdb")
Figures = tuple[float, float, float]  # wall and CPU seconds, MiB at the peak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def write(path: Path, rows: int, *, numbered: bool = True) -> None:
    """Write rows of about 1 KiB with ten numbers."""
    extra = {f"field_{i}": 0.0 for i in range(1, FIELDS)}
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            row: dict[str, Any] = {"_ng_task_index": i // SAMPLES, "reward": float(i % 3 == 0)}
            if numbered:
                row["_ng_rollout_index"] = i % SAMPLES
            row |= {name: (i * 7919 + at) % 10007 / 7 for at, name in enumerate(extra)}
            row["response"] = {"output": WORDS[: 600 + i % 100]}
            file.write(json.dumps(row) + "\n")


# -- the cases, each in a process of its own ------------------------------------------------


def case_load(path: str) -> Callable[[], object]:
    """Read with ours."""
    from pytest_evalmetrics.rollouts import builtin_loaders, load  # noqa: F401, PLC0415 - a case's own
    from pytest_evalmetrics.spec import RolloutsSpec  # noqa: PLC0415

    spec = RolloutsSpec(path=(path,))
    return lambda: load(spec, Path("/"), scores=["reward"])


def case_bytes(path: str) -> Callable[[], object]:
    """Read the bytes alone."""
    buffer = bytearray(1 << 20)

    def run() -> None:
        with Path(path).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return run


def case_json(path: str) -> Callable[[], object]:
    """Call json.loads on every line."""

    def run() -> None:
        with Path(path).open("rb") as file:
            for line in file:
                json.loads(line)

    return run


def case_pandas(path: str) -> Callable[[], object]:
    """Read with pandas."""
    import pandas as pd  # noqa: PLC0415

    return lambda: pd.read_json(path, lines=True)


def case_polars(path: str) -> Callable[[], object]:
    """Read with Polars, the numbers alone."""
    import polars as pl  # noqa: PLC0415

    frame = pl.scan_ndjson(path)
    names = ["_ng_task_index", "_ng_rollout_index", "reward"]
    names += [f"field_{i}" for i in range(1, FIELDS)]
    return lambda: frame.select(names).collect()


def case_duckdb(path: str) -> Callable[[], object]:
    """Read with DuckDB, the numbers alone."""
    import duckdb  # noqa: PLC0415

    query = f"select columns('^(_ng_.*|reward|field_.*)$') from read_json('{path}')"  # noqa: S608
    return lambda: duckdb.sql(query).fetchnumpy()


def case_reduce(tasks: str, metrics: str) -> Callable[[], object]:
    """Reduce a table of so many tasks by so many metrics, and write its aggregate."""
    from reducing import table  # noqa: PLC0415

    from pytest_evalmetrics.ext import BenchmarkSpec  # noqa: PLC0415
    from pytest_evalmetrics.metrics import plan, reduce_agent  # noqa: PLC0415
    from pytest_evalmetrics.reports.payload import write_aggregates  # noqa: PLC0415
    from pytest_evalmetrics.spec import RolloutsSpec  # noqa: PLC0415

    made = table(int(tasks), SAMPLES, FIELDS)
    names = ["mean_reward", *(f"pass@{k}" for k in range(1, SAMPLES + 1)), "pass_rate"]
    names += [f"pass^{k}" for k in range(1, SAMPLES + 1)] + [f"max@{k}" for k in range(1, 8)]
    spec = BenchmarkSpec(
        name="curves",
        rollouts=RolloutsSpec(path=("none.jsonl",)),
        metrics=tuple(names[: int(metrics)]),
    )

    def run() -> None:
        found = reduce_agent(plan(spec), "agent", made)
        with tempfile.TemporaryDirectory() as folder:
            write_aggregates("curves", [found.aggregate], Path(folder))

    return run


def case_pytest(folder: str) -> Callable[[], object]:
    """Run pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)


def measure(name: str, *args: object, processes: int | None = None) -> Figures:
    """Run a case in a process of its own."""
    env = {**os.environ}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])  # peers lie there
    if processes is not None:
        env["EVALMETRICS_PROCESSES"] = str(processes)
    command = [sys.executable, __file__, "case", name, *map(str, args)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, env=env).stdout)
        for _ in range(ROUNDS)
    ]
    walls, cpus, peaks = zip(*runs, strict=True)
    return min(walls), min(cpus), max(peaks)


def case(name: str, *args: str) -> None:
    """Run one case here."""
    run = globals()[f"case_{name}"](*args)
    before, started = time.process_time(), time.perf_counter()
    run()
    wall = time.perf_counter() - started
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used) - before
    own, others = (each.ru_maxrss / MIB for each in used)
    print(json.dumps([wall, cpu, own + others if name == "load" else max(own, others)]))


# -- the curves -----------------------------------------------------------------------------


def curve(what: str, sizes: Iterable[int], figures: Callable[[int], dict[str, Figures]]) -> None:
    """Print a table, a line for each size, and the slopes."""
    found = {size: figures(size) for size in sizes}
    names = list(next(iter(found.values())))
    print(f"\n{what:>12}" + "".join(f"{name:>26}" for name in names))
    print(f"{'':>12}" + f"{'wall s':>10}{'CPU s':>9}{'MiB':>7}" * len(names))
    for size, row in found.items():
        cells = "".join(
            f"{wall:>10.3f}{cpu:>9.3f}{peak:>7.0f}" for wall, cpu, peak in (row[n] for n in names)
        )
        print(f"{size:>12,}{cells}")
    (low, first), *_, (high, last) = found.items()
    run = math.log(high / low)
    slopes = [[math.log(last[n][i] / first[n][i]) / run for i in range(3)] for n in names]
    print(f"{'slope':>12}" + "".join(f"{a:>10.2f}{b:>9.2f}{c:>7.2f}" for a, b, c in slopes))


def rows(folder: Path, largest: int) -> None:
    """Reading, against the limits."""
    cores = len(os.sched_getaffinity(0))

    def figures(count: int) -> dict[str, Figures]:
        path = folder / "rows.jsonl"
        write(path, count)
        return {
            "one process": measure("load", path, processes=1),
            f"{cores} processes": measure("load", path, processes=cores),
            "the bytes": measure("bytes", path),
            "json.loads": measure("json", path),
        }

    curve("rows", [n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= largest], figures)


def peers(folder: Path, _: int) -> None:
    """Reading, against whoever reads the same."""
    path = folder / "peers.jsonl"
    write(path, 300_000)
    size = path.stat().st_size
    print(f"\n300,000 rows, {size / 1e6:.0f} MB\n{'':>12}{'wall s':>10}{'CPU s':>9}{'MiB':>7}")
    cases = ["load", "json", *(peer for peer in PEERS if importlib.util.find_spec(peer))]
    for name in cases:
        wall, cpu, peak = measure(name, path)
        label = "ours" if name == "load" else name
        print(f"{label:>12}{wall:>10.2f}{cpu:>9.2f}{peak:>7.0f}")


def volume(folder: Path, _: int) -> None:
    """Read 1, 5 and 20 GB: one file under many names, rows numbered as they come."""
    first = folder / "volume-0.jsonl"
    write(first, GB_ROWS, numbered=False)

    def figures(gigabytes: int) -> dict[str, Figures]:
        for number in range(1, gigabytes):
            path = folder / f"volume-{number}.jsonl"
            if not path.exists():
                path.hardlink_to(first)
        return {"ours": measure("load", folder / "volume-*.jsonl")}

    print(f"\n{first.stat().st_size / 1e9:.2f} GB a file, {GB_ROWS:,} rows in each")
    most = int(sys.argv[sys.argv.index("--most") + 1]) if "--most" in sys.argv else 20
    curve("files", [n for n in (1, 5, 20) if n <= most], figures)


def tasks(_: Path, largest: int) -> None:
    """Reduce more and more tasks."""
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= largest]
    curve("tasks", sizes, lambda n: {"8 rollouts, 10 fields": measure("reduce", n, 5)})


def metrics(_: Path, __: int) -> None:
    """Reduce by more and more metrics."""
    curve("metrics", (1, 5, 25), lambda n: {"10,000 tasks": measure("reduce", 10_000, n)})


def benchmarks(folder: Path, _: int) -> None:
    """Run more and more small benchmarks."""
    from many import write_rollouts  # noqa: PLC0415
    from numpy.random import default_rng  # noqa: PLC0415

    def figures(count: int) -> dict[str, Figures]:
        here = folder / f"benchmarks-{count}"
        (here / "runs").mkdir(parents=True)
        rng = default_rng(0)
        lines = ["defaults: {num_samples: 4, metrics: [pass@1, pass@4]}", "benchmarks:"]
        for i in range(count):
            write_rollouts(here / f"runs/b{i}.jsonl", rng, rng.beta(0.4, 0.4, 200))
            lines.append(f"  - {{name: b{i}, rollouts: runs/b{i}.jsonl}}")
        (here / "many.bench.yaml").write_text("\n".join(lines), encoding="utf-8")
        return {"200 tasks x 4 each": measure("pytest", here)}

    curve("benchmarks", (10, 100, 1000), figures)


def main() -> None:
    """Measure what is asked for."""
    if sys.argv[1:2] == ["case"]:
        case(*sys.argv[2:])
        return
    largest = 10_000_000 if "--full" in sys.argv else 1_000_000
    curves = {each.__name__: each for each in (rows, peers, volume, tasks, metrics, benchmarks)}
    asked = [sys.argv[sys.argv.index("--only") + 1]] if "--only" in sys.argv else None
    if {"-h", "--help"} & {*sys.argv} or not {*(asked or ())} <= curves.keys():
        sys.exit(__doc__)
    for name, each in curves.items():
        if each is not volume if asked is None else name in asked:
            with tempfile.TemporaryDirectory() as folder:
                each(Path(folder), largest)


if __name__ == "__main__":
    main()
