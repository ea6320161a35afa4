"""Calls per second through the whole client, against a bare loop over aiohttp.

10,000 POSTs to a server process on loopback that answers after 20 ms, 64 at once. Ours:
bounded rows, limits, retries, secrets, a journal on disk that keeps every answer. Bare: 64
workers over one aiohttp session that parse the JSON. In one run, alternating, medians of
three. Prints rates, CPU per row and the growth of the peak memory; asserts nothing.

    python tests/perf/http_calls.py [rows]
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import aiohttp

from pytest_evalmetrics.transport import (
    Call,
    Endpoint,
    Journal,
    Occurrences,
    Progress,
    Transport,
    run_bounded,
)

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
AT_ONCE, LATENCY_S, ROUNDS = 64, 0.02, 3
SERVER = Path(__file__).parents[1] / "transport" / "server.py"


def row(index: int) -> dict[str, object]:
    """Make a row of some 300 bytes."""
    return {
        "id": index,
        "reference": "The capital is Paris. " * 5,
        "output": f"Paris {index} " * 10,
    }


async def bare(url: str) -> None:
    """Run bounded workers over one session: what there is to reach."""
    rows = iter(range(ROWS))
    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for index in rows:
                async with session.post(url, json=row(index)) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def ours(url: str, journal: Path) -> None:
    """Run the whole client."""
    endpoint = Endpoint(url, parallelism=AT_ONCE)
    occurrences, progress = Occurrences(), Progress("perf", ROWS)

    def calls():
        for index in range(ROWS):
            call = Call(endpoint, row(index), kind="perf/1", label="perf")
            yield call, occurrences.next(call.payload)

    with Transport(Journal(journal)) as transport:

        async def ask(item):
            call, occurrence = item
            return await transport.call(call, occurrence=occurrence)

        def done(_item, answer) -> None:
            progress.succeeded(from_journal=answer.from_journal)

        transport.run(run_bounded(ask, calls(), AT_ONCE, done))


def timed(run, *args) -> tuple[float, float]:
    """Return wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run(*args)
    return time.perf_counter() - wall, time.process_time() - cpu


def peak_mib() -> float:
    """Return the peak of the resident memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/ok?latency={LATENCY_S}"
    bares, fulls, again = [], [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bare(url))  # warm: imports, the server's code
            before = peak_mib()
            for number in range(ROUNDS):
                bares.append(timed(lambda: asyncio.run(bare(url))))
                fulls.append(timed(ours, url, Path(folder) / f"{number}.sqlite3"))
            grown = peak_mib() - before
            again = timed(ours, url, Path(folder) / "0.sqlite3")
            size = (Path(folder) / "0.sqlite3").stat().st_size / 2**20
            tracemalloc.start()
            ours(url, Path(folder) / "traced.sqlite3")
            traced = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        server.terminate()
        server.wait()
    (bare_wall, bare_cpu), (wall, cpu) = (
        [statistics.median(column) for column in zip(*runs, strict=True)] for runs in (bares, fulls)
    )
    ratio = statistics.median(b[0] / f[0] for b, f in zip(bares, fulls, strict=True))
    print(f"{ROWS} rows, {AT_ONCE} at once, {LATENCY_S * 1e3:.0f} ms")
    print(f"bare    {ROWS / bare_wall:6.0f} rows/s  {bare_cpu / ROWS * 1e3:.3f} ms CPU per row")
    print(f"ours    {ROWS / wall:6.0f} rows/s  {cpu / ROWS * 1e3:.3f} ms CPU per row (limit 1)")
    print(f"ratio   {ratio:6.2f} (limit 0.80)")
    print(f"again   {ROWS / again[0]:6.0f} rows/s from the journal ({size:.1f} MiB)")
    print(f"memory  {grown:6.1f} MiB resident over a bare run; Python's own peak {traced:.1f} MiB")


if __name__ == "__main__":
    main()
