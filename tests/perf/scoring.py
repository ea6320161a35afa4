"""A whole pytest run over a scored benchmark, against a bare loop over the same client.

10,000 rows, a server process on loopback that answers after 20 ms, 64 at once. Bare: 64 workers
over one aiohttp session that parse the JSON. Ours: `pytest` from its start to its end: the data
set is read, each row's body rendered, called, journaled, its score found, reduced, reported.
Also a second run from the journal alone, and the peak memory over 2,000, 10,000 and 50,000 rows.
Only the plugins that come with the package are loaded: what others cost is not ours.
Start and end are what a run over one row takes, which is called for too.
In one run, alternating, medians of three. Prints; asserts nothing.

    python tests/perf/scoring.py [rows]
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
AT_ONCE, LATENCY_S, ROUNDS = 64, 0.02, 3
SIZES = (2_000, 10_000, 50_000)  # of which the peak memory is looked at
PLUGINS = ("-p", "syrupy", "-p", "pytest_evalmetrics.plugin")
SERVER = Path(__file__).parents[1] / "transport" / "server.py"
BENCH = """\
benchmark:
  name: perf
  dataset: {{path: data.jsonl, fields: {{task: task}}}}
  params: {{parallelism: {at_once}}}
  scorers:
    - type: remote
      url: {url}
      body: {{reference: "{{{{ item.reference }}}}", output: "said: {{{{ item.output }}}}"}}
      scores: [{{name: score, parser: {{type: json, json_path: $.score}}, minimum: 0, maximum: 1}}]
  metrics: mean_reward
  expect: {{rollouts: any}}
"""


def row(index: int) -> dict[str, object]:
    """Make a row of some 2 KB."""
    return {
        "task": index % 100,  # few: what is reported of each task is not scoring's
        "reference": "The capital is Paris. " * 10,
        "output": f"Paris {index} " * 20,
        "trace": "so it goes " * 140,
    }


async def bare(url: str) -> None:
    """Run bounded workers over one session: what there is to reach."""
    rows = iter(range(ROWS))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:

        async def work() -> None:
            for index in rows:
                sent = row(index)
                body = {"reference": sent["reference"], "output": f"said: {sent['output']}"}
                async with session.post(url, json=body) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def project(folder: Path, rows: int, url: str) -> None:
    """Write a data set and its benchmark."""
    folder.mkdir()
    with (folder / "data.jsonl").open("w") as file:
        file.writelines(json.dumps(row(i)) + "\n" for i in range(rows))
    text = BENCH.format(at_once=AT_ONCE, url=url)
    (folder / "a.bench.yaml").write_text(text)


def pytest_run(folder: Path, *args: str) -> tuple[float, float, float]:
    """Return wall and CPU seconds, and the peak of the resident memory in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS, *args],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest failed: {process.returncode}")
    wall = time.perf_counter() - started
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/ok?latency={LATENCY_S}"
    bares, ours, ones = [], [], []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            project(folder / "all", ROWS, url)
            for size in SIZES:
                project(folder / str(size), size, url.partition("?")[0])  # at full speed
            project(folder / "one", 1, url)
            asyncio.run(bare(url))  # warm: imports, the server's code
            peaks = {size: pytest_run(folder / str(size))[2] for size in SIZES}
            for _ in range(ROUNDS):
                ones.append(pytest_run(folder / "one", "--evalmetrics-refresh"))
                began = time.perf_counter()
                asyncio.run(bare(url))
                bares.append(time.perf_counter() - began)
                ours.append(pytest_run(folder / "all", "--evalmetrics-refresh"))
            again = pytest_run(folder / "all")
    finally:
        server.terminate()
        server.wait()
    wall, cpu, _ = (statistics.median(column) for column in zip(*ours, strict=True))
    start, start_cpu, _ = (statistics.median(column) for column in zip(*ones, strict=True))
    ratio = statistics.median(b / o[0] for b, o in zip(bares, ours, strict=True))
    inner = statistics.median(b / (o[0] - start) for b, o in zip(bares, ours, strict=True))
    print(f"{ROWS} rows, {AT_ONCE} at once, {LATENCY_S * 1e3:.0f} ms")
    print(f"bare    {ROWS / statistics.median(bares):6.0f} rows/s")
    print(f"pytest  {ROWS / wall:6.0f} rows/s, {start:.2f} s of {wall:.2f} s for one row alone")
    print(f"ratio   {ratio:6.2f} whole run, {inner:.2f} without start and end (limit 0.80)")
    print(f"CPU     {(cpu - start_cpu) / ROWS * 1e3:6.3f} ms per row (limit 1)")
    print(f"again   {ROWS / again[0]:6.0f} rows/s from the journal, {again[0]:.2f} s in all")
    shown = ", ".join(f"{peak:.1f} MiB at {size} rows" for size, peak in peaks.items())
    print(f"memory  {shown}")


if __name__ == "__main__":
    main()
