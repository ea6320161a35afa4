"""The rates of calls: against a bare aiohttp client, and of endpoints that limit or fail.

`rate`: rows scored by a server on loopback (20 ms, 64 at once), with the journal and without, in
turns with as many workers over one aiohttp session. Start and end are what a run over one row
takes. `start`: how long 100,000 rows of 4 KB take until the first is asked. `limits`: the whole
time at an endpoint that limits the rate or the calls in flight, or is down, against the least time
that it allows. Prints; asserts nothing.

    python tests/perf/scoring.py rate [rows] | start [rows] | limits
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import aiohttp
from calling import Scoring, bare, project
from measuring import BARE, ROUNDS, pytest_run, served, wall
from scoring.transport.fakes import Client

JOURNAL = ("--evalmetrics-journal=journal.log", "--evalmetrics-refresh")
MODES = {"journal": JOURNAL, "none": ("--evalmetrics-no-journal",)}


def rate(rows):
    """Measure the rate with the journal and without, against the bare client."""
    bares = []
    ones = []
    ours = {mode: [] for mode in MODES}
    with served(Scoring.server) as server, tempfile.TemporaryDirectory() as name:
        url = f"{server}{Scoring.path}?latency={Scoring.latency}"
        whole = project(Scoring, Path(name, "all"), rows, url)
        one = project(Scoring, Path(name, "one"), 1, url)

        def loop():
            asyncio.run(bare(Scoring, url, rows))

        loop()  # warm: imports, the server's code
        for _ in range(ROUNDS):
            bares.append(wall(loop))
            ones.append(pytest_run(one, *JOURNAL))
            for mode, options in MODES.items():
                ours[mode].append(pytest_run(whole, *options))
    print(f"{rows} rows, {Scoring.at_once} at once, {Scoring.latency * 1e3:.0f} ms")
    print(f"bare     {rows / median(bares):6.0f} rows/s")
    for mode, runs in ours.items():
        inner = [run.wall - one.wall for run, one in zip(runs, ones, strict=True)]
        cpu = [run.cpu - one.cpu for run, one in zip(runs, ones, strict=True)]
        ratios = [b / seconds for b, seconds in zip(bares, inner, strict=True)]
        print(
            f"{mode:8} {rows / median(inner):6.0f} rows/s, ratio {median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}, limit 0.80), "
            f"CPU {min(cpu) / rows * 1e3:.3f} ms a row (limit 0.30)"
        )


def start(rows):
    """Measure the time from pytest's start to the first request."""
    with tempfile.TemporaryDirectory() as name:
        for count in (1, rows):
            seconds = [_first_request_s(Path(name), count) for _ in range(ROUNDS)]
            print(f"{count:7} rows: first request after {min(seconds):.2f} s at best")


def _first_request_s(folder, rows):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/ok"
        shared = {"name": "perf", "metrics": ["mean_reward"]}
        spec = {"benchmark": Scoring.benchmark(url, rows) | shared}
        (folder / "a.bench.yaml").write_text(json.dumps(spec))  # JSON is YAML
        row = {"reference": "r" * 200, "output": "o" * 200, "trace": "x" * 3500}
        with (folder / "data.jsonl").open("w") as file:
            file.writelines(json.dumps({"task": i} | row) + "\n" for i in range(rows))
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *BARE, JOURNAL[0]],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        connection, _ = listener.accept()
        connection.recv(100)
        seconds = time.perf_counter() - started
        process.kill()
        process.wait()
        connection.close()
        return seconds


LIMITS = {
    # the query, the rows, and the least seconds that it allows; None for a bare client's with
    # as many workers as it takes calls
    "50 a second": ("/bucket?rate=50&burst=50", 600, 11.0),
    "10 a second": ("/bucket?rate=10&burst=10", 110, 10.0),
    "8 at once": ("/crowd?capacity=8", 3000, None),
    "8 at once, Retry-After: 1": ("/crowd?capacity=8&retry_after=1", 3000, None),
    "down for 20 s": ("/down?since=0.5&until=20.5&latency=0.02", 3000, 20.9),
}


def limits():
    """Measure the time at endpoints that limit or fail, over the real client."""
    for what, (path, rows, given_s) in LIMITS.items():
        with served(Scoring.server) as server:
            url = f"{server}{path}"
            least_s = given_s
            if least_s is None:
                least_s = wall(lambda url=url, rows=rows: asyncio.run(posts(url, rows)))
            lost = 0

            def done(_row, outcome):
                nonlocal lost
                lost += isinstance(outcome, Exception)

            with Client() as client:
                client(network=True)
                started = time.perf_counter()
                client.run(client.many(range(rows), 64, done, url=url))
                seconds = time.perf_counter() - started
            print(
                f"{what:27} {rows} rows, {lost} lost, {seconds:5.1f} s, "
                f"{seconds / least_s:.2f} of the least"
            )


async def posts(url, rows, workers=8):
    """Send the rows by a bare client."""
    jobs = iter(range(rows))
    connector = aiohttp.TCPConnector(limit=workers)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work():
            for row in jobs:
                async with session.post(url, json={"row": row}) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(work() for _ in range(workers)))


if __name__ == "__main__":
    what, *counts = sys.argv[1:]
    if what == "rate":
        rate(int(*counts or ["10000"]))
    elif what == "start":
        start(int(*counts or ["100000"]))
    else:
        limits()
