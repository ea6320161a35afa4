"""Workers that are lost, or never come: what is paid twice, and who has the limit."""

from __future__ import annotations

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.engines.ray_scoring import Crew
from pytest_evalmetrics.registry import register_scorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engines.conftest import Bench, Endpoint

    from pytest_evalmetrics.engines.ray_engine import RayEngine

pytestmark = pytest.mark.ray

ROWS, AT_ONCE = 300, 16
BENCH = """
scorers:
  - type: remote
    url: {url}
    body: {{score: "{{{{ item.score }}}}"}}
    scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
    max_retries: 0
  - {{type: far-signing, folder: '{folder}'}}
reward: accuracy
params: {{parallelism: 16}}
"""


@register_scorer("far-signing")
class Signing:
    """Tells which processes are at work."""

    scores = ("signed",)

    def __init__(self, *, folder: str) -> None:
        self.folder = folder

    def score(self, row: Any) -> float:
        del row
        (Path(self.folder) / str(os.getpid())).touch()
        return 1.0


@pytest.fixture
def engine(ray_engine: RayEngine, monkeypatch: pytest.MonkeyPatch, request: Any) -> RayEngine:
    """Let these tests be the project whose modules go along."""
    monkeypatch.setattr(ray_engine, "_root", request.path.parent)
    return ray_engine


class Killer(threading.Thread):
    """Kills a worker each time that the endpoint has been asked so often."""

    def __init__(self, endpoint: Endpoint, folder: Path, after: list[int]) -> None:
        super().__init__(daemon=True)
        self.endpoint, self.folder, self.after = endpoint, folder, after
        self.killed: list[int] = []
        self.ends = threading.Event()

    def run(self) -> None:
        for posts in self.after:
            while self.endpoint.posts < posts and not self.ends.is_set():
                self.ends.wait(0.005)
            while not (others := self._others()) and not self.ends.is_set():
                self.ends.wait(0.005)
            if others:
                os.kill(others[0], signal.SIGKILL)
                self.killed.append(others[0])

    def _others(self) -> list[int]:
        return [int(p.name) for p in self.folder.iterdir() if int(p.name) not in self.killed]


def test_paid_twice_is_no_more_than_was_under_way(
    bench: Bench, endpoint: Endpoint, engine: RayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    bury = Crew._bury

    def noted(crew: Crew, seat: Any) -> None:
        held.append(seat.places.held.total())
        bury(crew, seat)

    monkeypatch.setattr(Crew, "_bury", noted)
    (bench.path / "workers").mkdir()
    url = endpoint.url("/score?latency=0.05")
    rows = [{"id": n, "score": n % 5} for n in range(ROWS)]
    bench.write(rows, BENCH.format(url=url, folder=bench.path / "workers"))
    killer = Killer(endpoint, bench.path / "workers", [40, 120])
    killer.start()
    try:
        found = bench.run(engine)  # without a journal: the run has what was paid for
    finally:
        killer.ends.set()
        killer.join()
    assert len(held) == len(killer.killed) == 2
    assert all(count <= AT_ONCE for count in held)
    assert 0 <= endpoint.posts - ROWS <= sum(held)
    assert [scores["accuracy"] for _, scores, _, _ in found.rows] == [
        repr(float(n % 5)) for n in range(ROWS)
    ]


class Together(BaseHTTPRequestHandler):
    """Answers nobody before so many ask at once."""

    protocol_version = "HTTP/1.1"
    barrier = threading.Barrier(AT_ONCE)
    met = False

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if not Together.met:
            self.barrier.wait(120)
            Together.met = True
        self.send_response(200)
        body = b'{"result": {"score": 1}}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def together() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Together)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    Together.barrier.abort()
    server.shutdown()
    server.server_close()
    serving.join()


def test_one_worker_alone_has_the_whole_limit(
    bench: Bench, together: str, engine: RayEngine
) -> None:
    class Holder:
        def ready(self) -> bool:
            return True

    ray = engine.cluster.ray
    holder = ray.remote(num_cpus=1)(Holder).remote()
    try:
        assert ray.get(holder.ready.remote())
        (bench.path / "workers").mkdir()
        rows = [{"id": n, "score": 1} for n in range(3 * AT_ONCE)]
        bench.write(rows, BENCH.format(url=together, folder=bench.path / "workers"))
        found = bench.run(engine)
        assert len(list((bench.path / "workers").iterdir())) == 1
        assert [scores["accuracy"] for _, scores, _, _ in found.rows] == ["1.0"] * 3 * AT_ONCE
    finally:
        ray.kill(holder)
