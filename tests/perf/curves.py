"""How time and memory grow: with rows, tasks, metrics, benchmarks and cores.

Every case runs in a process of its own, so that its peak is its own; the best of three,
because whatever else a machine does only ever adds. Beside ours stand the limits (reading the
bytes, and ``json.loads`` over the lines) and, where they are installed, peers that read the
same file. The slope is that of the logarithms: 1 is linear. Prints; asserts nothing.

    python tests/perf/curves.py                  # 1e4 to 1e6 rows of 1 KiB
    python tests/perf/curves.py --full           # 1e7 rows too: 10 GB of disk
    python tests/perf/curves.py --only tasks     # rows, peers, tasks, metrics, gates, benchmarks
    python tests/perf/curves.py --only volume    # 1 and 5 GB of 1 GB files, hard-linked;
                                                 # with --full 20 GB too
"""

import argparse
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

import numpy as np
from large_comparisons import CASES, MEBIBYTES, SECONDS
from measuring import MIB, ROUNDS, TESTS, graded, pytest_run, write_rollouts

SAMPLES, FIELDS = 8, 10
WORDS = (
    "therefore the remainder of n by seven is three, and so the answer holds for all n. "
    * 9
)
GB_ROWS = 1_000_000
PEERS = ("pandas", "polars", "duckdb")


def write(path, rows, *, numbered=True):
    """Write rows of about 1 KiB with ten numbers."""
    extra = {f"field_{i}": 0.0 for i in range(1, FIELDS)}
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            row = {"_ng_task_index": i // SAMPLES, "reward": float(i % 3 == 0)}
            if numbered:
                row["_ng_rollout_index"] = i % SAMPLES
            row |= {name: (i * 7919 + at) % 10007 / 7 for at, name in enumerate(extra)}
            row["response"] = {"output": WORDS[: 600 + i % 100]}
            file.write(json.dumps(row) + "\n")


# -- the cases, each in a process of its own ------------------------------------------------


def case_load(path):
    """Read with ours."""
    from pytest_evalmetrics.rollouts import load  # a case's own
    from pytest_evalmetrics.spec import RolloutsSpec

    spec = RolloutsSpec(path=(path,))
    return lambda: load(spec, Path("/"), scores=["reward"])


def case_bytes(path):
    """Read the bytes alone."""
    buffer = bytearray(1 << 20)

    def run():
        with Path(path).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return run


def case_json(path):
    """Call json.loads on every line."""

    def run():
        with Path(path).open("rb") as file:
            for line in file:
                json.loads(line)

    return run


def case_pandas(path):
    """Read with pandas."""
    import pandas as pd

    return lambda: pd.read_json(path, lines=True)


def case_polars(path):
    """Read with Polars, the numbers alone."""
    import polars as pl

    frame = pl.scan_ndjson(path)
    names = ["_ng_task_index", "_ng_rollout_index", "reward"]
    names += [f"field_{i}" for i in range(1, FIELDS)]
    return lambda: frame.select(names).collect()


def case_duckdb(path):
    """Read with DuckDB, the numbers alone."""
    import duckdb

    query = f"select columns('^(_ng_.*|reward|field_.*)$') from read_json('{path}')"
    return lambda: duckdb.sql(query).fetchnumpy()


def case_reduce(tasks, metrics):
    """Reduce a table of so many tasks by so many metrics, and write its aggregate."""
    from simulated import benchmark

    from pytest_evalmetrics.metrics import plan, reduce_agent
    from pytest_evalmetrics.reports.payload import write_aggregates

    rollouts = graded(int(tasks), SAMPLES, FIELDS)
    names = ["mean_reward", *(f"pass@{k}" for k in range(1, SAMPLES + 1)), "pass_rate"]
    names += [f"pass^{k}" for k in range(1, SAMPLES + 1)] + [
        f"max@{k}" for k in range(1, 8)
    ]
    spec = benchmark(*names[: int(metrics)], baseline=None).spec

    def run():
        result = reduce_agent(plan(spec), "agent", rollouts)
        with tempfile.TemporaryDirectory() as folder:
            write_aggregates("curves", [result.aggregate], Path(folder))

    return run


def case_gate(name, rollouts):
    """Gate so many rollouts as a case of `large_comparisons` does."""
    from large_comparisons import prepared

    return prepared(name, int(rollouts))


def measure(name, *args, processes=None):
    """Run a case in a process of its own."""
    env = {**os.environ}
    env["PYTHONPATH"] = os.pathsep.join(
        [str(TESTS.parent), env.get("PYTHONPATH", "")]
    )  # peers lie there
    if processes is not None:
        env["EVALMETRICS_PROCESSES"] = str(processes)
    command = [sys.executable, __file__, "case", name, *map(str, args)]
    runs = [
        json.loads(
            subprocess.run(command, check=True, capture_output=True, env=env).stdout
        )
        for _ in range(ROUNDS)
    ]
    walls, cpus, peaks = zip(*runs, strict=True)
    return min(walls), min(cpus), max(peaks)


def case(name, *args):
    """Run one case here."""
    run = globals()[f"case_{name}"](*args)
    before, started = time.process_time(), time.perf_counter()
    run()
    wall = time.perf_counter() - started
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    cpu = sum(each.ru_utime + each.ru_stime for each in used) - before
    print(json.dumps([wall, cpu, sum(each.ru_maxrss for each in used) / MIB]))


# -- the curves -----------------------------------------------------------------------------


def curve(what, sizes, figures):
    """Print a table, a line for each size, and the slopes."""
    rows = {size: figures(size) for size in sizes}
    names = list(next(iter(rows.values())))
    print(f"\n{what:>12}" + "".join(f"{name:>26}" for name in names))
    print(f"{'':>12}" + f"{'wall s':>10}{'CPU s':>9}{'MiB':>7}" * len(names))
    for size, row in rows.items():
        cells = "".join(
            f"{wall:>10.3f}{cpu:>9.3f}{peak:>7.0f}"
            for wall, cpu, peak in (row[n] for n in names)
        )
        print(f"{size:>12,}{cells}")
    (low, first), *_, (high, last) = rows.items()
    run = math.log(high / low)
    slopes = [
        [math.log(last[n][i] / first[n][i]) / run for i in range(3)] for n in names
    ]
    print(
        f"{'slope':>12}"
        + "".join(f"{a:>10.2f}{b:>9.2f}{c:>7.2f}" for a, b, c in slopes)
    )


def rows(folder, largest):
    """Reading, against the limits."""
    cores = len(os.sched_getaffinity(0))

    def figures(count):
        path = folder / "rows.jsonl"
        write(path, count)
        return {
            "one process": measure("load", path, processes=1),
            f"{cores} processes": measure("load", path, processes=cores),
            "the bytes": measure("bytes", path),
            "json.loads": measure("json", path),
        }

    curve(
        "rows",
        [n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= largest],
        figures,
    )


def peers(folder, _):
    """Reading, against whoever reads the same."""
    path = folder / "peers.jsonl"
    write(path, 300_000)
    size = path.stat().st_size
    print(
        f"\n300,000 rows, {size / 1e6:.0f} MB\n{'':>12}{'wall s':>10}{'CPU s':>9}{'MiB':>7}"
    )
    cases = [
        "load",
        "json",
        *(peer for peer in PEERS if importlib.util.find_spec(peer)),
    ]
    for name in cases:
        wall, cpu, peak = measure(name, path)
        label = "ours" if name == "load" else name
        print(f"{label:>12}{wall:>10.2f}{cpu:>9.2f}{peak:>7.0f}")


def volume(folder, largest):
    """Read some GB: one file under many names, rows numbered as they come."""
    first = folder / "volume-0.jsonl"
    write(first, GB_ROWS, numbered=False)

    def figures(gigabytes):
        for number in range(1, gigabytes):
            path = folder / f"volume-{number}.jsonl"
            if not path.exists():
                path.hardlink_to(first)
        return {"ours": measure("load", folder / "volume-*.jsonl")}

    print(f"\n{first.stat().st_size / 1e9:.2f} GB a file, {GB_ROWS:,} rows in each")
    curve("files", (1, 5, 20) if largest > 1_000_000 else (1, 5), figures)


def tasks(_, largest):
    """Reduce more and more tasks."""
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= largest]
    curve("tasks", sizes, lambda n: {"8 rollouts, 10 fields": measure("reduce", n, 5)})


def metrics(_, __):
    """Reduce by more and more metrics."""
    curve(
        "metrics", (1, 5, 25), lambda n: {"10,000 tasks": measure("reduce", 10_000, n)}
    )


def gates(_, largest):
    """Gate more and more tasks, then a million rollouts in all ways beside the limits."""
    sizes = [n for n in (10_000, 100_000, 1_000_000) if n <= largest]
    name = "mean of flips"
    curve("tasks", sizes, lambda n: {name: measure("gate", name, n)})
    print(f"\n{'1,000,000 rollouts':<32}{'CPU s':>8}{'limit':>7}{'MiB':>7}{'limit':>7}")
    for name in CASES:
        _, cpu, peak = measure("gate", name, 1_000_000)
        print(
            f"{name:<32}{cpu:>8.2f}{cpu / SECONDS:>7.2f}"
            f"{peak:>7.0f}{peak / MEBIBYTES:>7.2f}",
            flush=True,
        )


def benchmarks(folder, largest):
    """Run more and more small benchmarks."""

    def figures(count):
        here = folder / f"benchmarks-{count}"
        (here / "runs").mkdir(parents=True)
        rng = np.random.default_rng(0)
        lines = ["defaults: {num_samples: 4, metrics: [pass@1, pass@4]}", "benchmarks:"]
        for i in range(count):
            write_rollouts(here / f"runs/b{i}.jsonl", rng, rng.beta(0.4, 0.4, 200))
            lines.append(f"  - {{name: b{i}, rollouts: runs/b{i}.jsonl}}")
        (here / "many.bench.yaml").write_text("\n".join(lines), encoding="utf-8")
        walls, cpus, peaks = zip(
            *(pytest_run(here, "-q") for _ in range(ROUNDS)), strict=True
        )
        return {"200 tasks x 4 each": (min(walls), min(cpus), max(peaks))}

    curve("benchmarks", [n for n in (10, 100, 1000) if n <= largest], figures)


CURVES = {
    each.__name__: each
    for each in (rows, peers, volume, tasks, metrics, gates, benchmarks)
}


def main():
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ten million rows")
    parser.add_argument(
        "--only", choices=CURVES, help="all but volume where it is not given"
    )
    asked = parser.parse_args()
    chosen = (
        [asked.only] if asked.only else [name for name in CURVES if name != "volume"]
    )
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            CURVES[name](Path(folder), 10_000_000 if asked.full else 1_000_000)


if __name__ == "__main__":
    case(*sys.argv[2:]) if sys.argv[1:2] == ["case"] else main()
