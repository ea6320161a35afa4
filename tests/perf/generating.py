"""A whole pytest run over an online benchmark, against a bare loop over the same client.

2,000 rows, each answered four times by a server process on loopback after 50 ms, 128 at once.
Bare: 128 workers over one aiohttp session that parse the JSON. Ours: `pytest` from its start to
its end: prompts rendered, answers journaled, read, scored, reduced, reported, rollouts.jsonl
written. Also the peak memory over 2,000, 8,000 and 20,000 rollouts.
In one run, alternating, medians of three. Prints; asserts nothing.

    python tests/perf/generating.py [rows]
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
import urllib.request
from pathlib import Path

import aiohttp

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
SAMPLES, AT_ONCE, LATENCY_S, ROUNDS = 4, 128, 0.05, 3
SERVER = Path(__file__).parents[1] / "generation" / "openai_server.py"
BENCH = """\
benchmark:
  name: perf
  dataset: data.jsonl
  num_samples: {samples}
  model: {{url: "{url}", name: m, format: chat}}
  prompt_template:
    - {{role: system, content: be short}}
    - {{role: user, content: "{{{{ question }}}}"}}
  params: {{parallelism: {at_once}}}
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
  expect: {{tasks: {rows}}}
"""


def row(index: int) -> dict[str, object]:
    """Make a row of some 1 KB."""
    text = "Natalia sold clips to her friends. " * 20
    return {"id": index, "question": f"{text}{index} + 1", "answer": str(index + 1)}


async def bare(url: str) -> None:
    """Run bounded workers over one session: what there is to reach."""
    jobs = iter([index for index in range(ROWS) for _ in range(SAMPLES)])
    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for index in jobs:
                messages = [
                    {"role": "system", "content": "be short"},
                    {"role": "user", "content": row(index)["question"]},
                ]
                async with session.post(url, json={"model": "m", "messages": messages}) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def project(folder: Path, rows: int, url: str, samples: int = SAMPLES) -> Path:
    """Write a data set and its benchmark."""
    folder.mkdir()
    with (folder / "data.jsonl").open("w") as file:
        file.writelines(json.dumps(row(i)) + "\n" for i in range(rows))
    text = BENCH.format(at_once=AT_ONCE, url=url, samples=samples, rows=rows)
    (folder / "a.bench.yaml").write_text(text)
    return folder


def pytest_run(folder: Path, *args: str) -> tuple[float, float, float]:
    """Return wall and CPU seconds, and the peak of the resident memory in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *args], cwd=folder, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest failed: {process.returncode}")
    wall = time.perf_counter() - started
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def rate(address: str) -> float:
    """Return the requests per second between the first and the last one that the server saw."""
    with urllib.request.urlopen(f"{address}?reset", timeout=30) as response:  # noqa: S310 - loopback
        seen = json.load(response)
    return seen["posts"] / ((seen["last"] - seen["first"]) or 1.0)


def main() -> None:
    """Measure and print."""
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1/chat/completions"
    url = f"{address}?latency={LATENCY_S}"
    bares, ours, asking = [], [], []
    rollouts = ROWS * SAMPLES
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            whole = project(folder / "all", ROWS, url)
            one = project(folder / "one", 1, url, 1)
            asyncio.run(bare(url))  # warm: imports, the server's code
            start = statistics.median(pytest_run(one)[0] for _ in range(ROUNDS))
            start_cpu = pytest_run(one)[1]
            rate(address)
            for _ in range(ROUNDS):
                began, cpu_began = time.perf_counter(), time.process_time()
                asyncio.run(bare(url))
                bares.append(time.perf_counter() - began)
                bare_cpu = time.process_time() - cpu_began
                rates = [rate(address)]
                ours.append(pytest_run(whole, "--evalmetrics-refresh"))
                rates.append(rate(address))
                asking.append(rates[1] / rates[0])
            again = pytest_run(whole)
            peaks = {
                rows * SAMPLES: pytest_run(project(folder / f"m{rows}", rows, address))[2]
                for rows in (500, 2_000, 5_000)
            }
    finally:
        server.terminate()
        server.wait()
    wall, cpu, _ = (statistics.median(column) for column in zip(*ours, strict=True))
    ratio = statistics.median(b / o[0] for b, o in zip(bares, ours, strict=True))
    print(f"{ROWS} rows x {SAMPLES}, {AT_ONCE} at once, {LATENCY_S * 1e3:.0f} ms")
    print(f"bare    {rollouts / statistics.median(bares):6.0f} rollouts/s")
    print(f"pytest  {rollouts / wall:6.0f} rollouts/s, {start:.2f} s of {wall:.2f} s for one alone")
    inner = statistics.median(asking)
    print(f"ratio   {inner:6.2f} from the first request to the last (limit 0.80)")
    print(f"ratio   {ratio:6.2f} of the whole run, with pytest's start and the reports")
    each = (cpu - start_cpu) / rollouts * 1e3
    print(f"CPU     {each:6.3f} ms per rollout, bare {bare_cpu / rollouts * 1e3:.3f}")
    print(
        f"again   {rollouts / again[0]:6.0f} rollouts/s from the journal, {again[0]:.2f} s in all"
    )
    print("memory  " + ", ".join(f"{n} rollouts {mb:.1f} MiB" for n, mb in peaks.items()))


if __name__ == "__main__":
    main()
