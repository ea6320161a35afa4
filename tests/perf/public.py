"""The public benchmarks: a few figures of each commit, kept in docs/benchmarks.json.

python tests/perf/public.py            measure this commit, and write the page
python tests/perf/public.py --page     write the page from the figures that are kept

It takes about a minute. Everything is CPU time, so that other processes of the machine
disturb it less; the least of several rounds is kept.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
SHOWN = 6  # commits, the newest first

# name -> what it is, and its unit
FIGURES = {
    "idle_ms": ("what an installed plugin adds to a run without benchmarks", "ms"),
    "offline_over_peers": (
        "a run of one recorded benchmark, over importing what it uses of others",
        "times",
    ),
    "read_over_json": (
        "reading rollouts of 4 KiB into a table, over `json.loads` of their lines",
        "times",
    ),
    "gate_ms": (
        "gating 1,000 tasks of 4 rollouts against another run, beyond gating 100",
        "ms",
    ),
}

INTRODUCTION = """\
# Benchmarks

A few figures of the plugin's cost, by commit. `python tests/perf/public.py` measures the commit that is checked out,
adds it to [benchmarks.json](benchmarks.json), and writes this page. All are CPU times, the least of several rounds;
starts are compared by medians, and ratios are of two sides that ran in turn. Figures of different machines can't be compared, so each column names its own.
[Scaling](scaling.md) has the times and memory of large runs.

"""


def measure() -> dict[str, float]:
    """Measure every figure."""
    from starting import (
        IMPORTED,
        idle_milliseconds,
        make_projects,
        over_peers,
    )

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = make_projects(folder)
        env = {"PYTHONPYCACHEPREFIX": str(folder / "byte-code")}
        return {
            "idle_ms": idle_milliseconds(projects["idle"], env),
            "offline_over_peers": over_peers(
                projects["offline"], IMPORTED["imported and used"], env, turns=5
            ),
            "read_over_json": reading_over_json(folder),
            "gate_ms": gating_milliseconds(folder, env),
        }


def reading_over_json(folder: Path) -> float:
    """Return the time of reading 4,000 rows of 4 KiB over that of json.loads of their lines."""
    from measuring import cpu
    from reading import text

    from pytest_evalmetrics.rollouts import load
    from pytest_evalmetrics.spec import RolloutsSpec

    path = folder / "rollouts.jsonl"
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for row in range(4_000):
            record = {
                "_ng_task_index": row // 8,
                "_ng_rollout_index": row % 8,
                "reward": row % 2,
                "response": text(rng, 4_000),
            }
            file.write(json.dumps(record) + "\n")
    spec = RolloutsSpec(path=(path.name,))
    ours = cpu(lambda: load(spec, folder, scores=("reward",), categories=()))
    lines = path.read_bytes().splitlines()
    theirs = cpu(lambda: [json.loads(line) for line in lines])
    return ours / theirs


def gating_milliseconds(folder: Path, env: dict[str, str]) -> float:
    """Return what gating 1,000 tasks takes beyond gating 100."""
    from starting import cpu_seconds

    times = []
    for tasks in (100, 1_000):
        project = folder / f"gate-{tasks}"
        project.mkdir()
        (project / "pytest.ini").write_text("[pytest]\n")
        write_gate(project, tasks)
        arguments = ("--evalmetrics-output=",)
        rounds = [cpu_seconds(project, arguments, env) for _ in range(4)]
        times.append(min(rounds[1:]))
    return 1000 * (times[1] - times[0])


def write_gate(project: Path, tasks: int) -> None:
    """Write two runs and a benchmark that gates the one against the other."""
    for name in ("old", "new"):
        with (project / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for task in range(tasks):
                for sample in range(4):
                    reward = int((task + sample) % 3 > 0)
                    row = {"task": f"t{task}", "sample": sample, "reward": reward}
                    file.write(json.dumps(row) + "\n")
    fields = "{task: task, sample: sample}"
    (project / "a.bench.yaml").write_text(
        "benchmark:\n"
        "  name: a\n"
        f"  rollouts: {{path: new.jsonl, fields: {fields}}}\n"
        "  thresholds: {mean_reward: '>= 0.1'}\n"
        f"  baseline: {{rollouts: {{path: old.jsonl, fields: {fields}}}}}\n"
    )


# -- what is kept ----------------------------------------------------------------------------


class Entry(msgspec.Struct, frozen=True):
    """The figures of one commit, by their names."""

    commit: str
    date: str
    python: str
    machine: str
    figures: dict[str, float]


def entry_of(figures: dict[str, float]) -> Entry:
    """Describe the figures of the commit that is checked out."""
    return Entry(
        commit=git("rev-parse", "--short=10", "HEAD"),
        date=datetime.now(UTC).date().isoformat(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        figures={name: float(f"{value:.3g}") for name, value in figures.items()},
    )


def git(*arguments: str) -> str:
    """Ask git about the checkout."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def kept_entries() -> list[Entry]:
    """Read the entries, the oldest first."""
    if not KEPT.exists():
        return []
    return msgspec.json.decode(KEPT.read_bytes(), type=list[Entry])


def page(entries: list[Entry]) -> str:
    """Write the page: a row for each figure, a column for each of the newest commits."""
    shown = entries[: -SHOWN - 1 : -1]
    heads = ["figure", "unit", *(f"`{entry.commit}`" for entry in shown)]
    rows = [heads, ["---"] * len(heads)]
    for name, (what, unit) in FIGURES.items():
        rows.append([what, unit, *(figure(entry, name) for entry in shown)])
    rows += [
        ["date", "", *(entry.date for entry in shown)],
        ["Python", "", *(entry.python for entry in shown)],
        ["machine", "", *(entry.machine for entry in shown)],
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return INTRODUCTION + "\n".join(lines) + "\n"


def figure(entry: Entry, name: str) -> str:
    """Write a figure; a dash where an older commit did not measure it."""
    if name not in entry.figures:
        return "-"
    return f"{entry.figures[name]:.3g}"


def main() -> None:
    entries = kept_entries()
    if "--page" not in sys.argv:
        entry = entry_of(measure())
        others = [kept for kept in entries if kept.commit != entry.commit]
        entries = [*others, entry]
        data = msgspec.json.format(msgspec.json.encode(entries))
        KEPT.write_bytes(data + b"\n")
    PAGE.write_text(page(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
