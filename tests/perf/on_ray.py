"""What Ray costs and gives on this one machine: a cluster of two nodes, against local runs.

Reading 347 MB of rollouts; scoring 4,000 rows by a local endpoint that answers in 20 ms, 64 at
once; scoring 400 rows by a function that thinks for 10 ms. In one run, medians of three. Prints
seconds and ratios; asserts nothing.

    python tests/perf/on_ray.py
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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whole_run import write_rollouts

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.engines.ray_engine import RayEngine
from pytest_evalmetrics.pipeline import evaluate
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.spec import RolloutsSpec
from pytest_evalmetrics.transport import Journal, Progress, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS, ASKED, THOUGHT = 3, 4000, 400
ASKING = """
    - type: remote
      url: http://127.0.0.1:{port}/
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: score, parser: {{type: json, json_path: $.score}}}}]
"""
BENCH = """
benchmark:
  name: {name}
  dataset: {{path: data.jsonl, limit: {rows}}}
  scorers:{scorer}
  metrics: mean_reward
  params: {{parallelism: 64}}
"""


@register_scorer("thinking")
class Thinking:
    """Takes 10 ms of a core."""

    scores = ("thought",)

    def score(self, row: Any) -> float:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return float(row.index % 2)


class Runtime:
    """A run with a new journal."""

    replays = False

    def __init__(self, folder: str) -> None:
        self._transport = Transport(Journal(Path(folder) / "journal.sqlite3"))

    def transport(self) -> Transport:
        return self._transport

    @contextmanager
    def progress(self, total: int) -> Iterator[Progress]:
        yield Progress(total=total)


async def serve() -> None:
    """Answer every POST in 20 ms; a process of its own."""
    from aiohttp import web  # noqa: PLC0415 - in that process alone

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(0.02)
        return web.json_response({"score": body["score"]})

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def score(path: Path, engine: RayEngine | None) -> None:
    (benchmark,) = load_benchmarks(path, shown=path.name)
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(folder)
        found = evaluate(benchmark, item_id="x::x", runtime=runtime, engine=engine)
        runtime.transport().close()
    if any(check.verdict.fails for check in found.result.checks):
        raise SystemExit(found.result.checks)


def compare(what: str, work: Callable[[RayEngine | None], Any], engine: RayEngine) -> None:
    times: dict[str, list[float]] = {"local": [], "ray": []}
    for _ in range(ROUNDS):
        times["local"].append(timed(lambda: work(None)))
        times["ray"].append(timed(lambda: work(engine)))
    here, there = statistics.median(times["local"]), statistics.median(times["ray"])
    print(f"{what:42} local {here:6.2f} s, ray {there:6.2f} s, ratio {there / here:.2f}")


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
        return
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    start = time.perf_counter()
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - after its settings

    print(f"import {time.perf_counter() - start:.2f} s")

    server = subprocess.Popen(
        [sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True
    )
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        for _ in range(2):
            nodes.add_node(num_cpus=1)
        assert server.stdout
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), nodes.address, port)
    finally:
        nodes.shutdown()
        server.kill()


def measure(folder: Path, address: str, port: int) -> None:
    write_rollouts(folder / "rollouts.jsonl")
    rows = "".join(json.dumps({"id": n, "score": n % 2}) + "\n" for n in range(ASKED))
    (folder / "data.jsonl").write_text(rows, encoding="utf-8")
    asking, thinking = folder / "asking.bench.yaml", folder / "thinking.bench.yaml"
    scorer = ASKING.format(port=port)
    asking.write_text(BENCH.format(name="asking", rows=ASKED, scorer=scorer), encoding="utf-8")
    thinking.write_text(
        BENCH.format(name="thinking", rows=THOUGHT, scorer=" [{type: thinking}]"),
        encoding="utf-8",
    )
    spec = RolloutsSpec(path=("rollouts.jsonl",))

    def read(engine: RayEngine | None) -> None:
        load(spec, folder, scores=["reward"], reader=None if engine is None else engine.read)

    engine = RayEngine(address, folder)
    try:
        compare_all(engine, read, asking, thinking)
    finally:
        print(f"shutdown {timed(engine.close):.2f} s")


def compare_all(
    engine: RayEngine, read: Callable[[RayEngine | None], None], asking: Path, thinking: Path
) -> None:
    print(f"connect {timed(engine.prepare):.2f} s")
    print(f"the first tasks {timed(lambda: read(engine)):.2f} s, the start of workers included")
    compare("read 347 MB", read, engine)
    compare(f"{ASKED} calls of 20 ms, 64 at once", lambda e: score(asking, e), engine)
    compare(f"{THOUGHT} rows of 10 ms of a core", lambda e: score(thinking, e), engine)


if __name__ == "__main__":
    main()
