"""Whole pytest runs on a real cluster: the same files, whatever happens to a node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project
    from engines.conftest import Endpoint, Nodes

pytestmark = pytest.mark.ray

SECRET = "a-secret-that-is-written-nowhere"  # noqa: S105 - of nobody
FILES = ("report.json", "aggregate_metrics.json", "row_scores.jsonl")
CONFTEST = """
import os
import time
from pathlib import Path

from helpers.doubling import doubled
from pytest_evalmetrics import RowError, register_scorer

FACTOR = 3
HERE = Path(__file__).parent

def meet():
    expected = HERE / "workers"  # a number; each worker waits until so many are at work
    if expected.exists():
        (HERE / f"{os.getpid()}.worker").touch()
        while len(list(HERE.glob("*.worker"))) < int(expected.read_text()):
            time.sleep(0.01)

@register_scorer("length")
class Length:
    scores = ("length",)

    def __init__(self, *, at_most=100):
        self.at_most = at_most

    def score(self, row):
        meet()
        if len(row.item["output"]) > self.at_most:
            raise RowError("too-long", "the output is too long", hint="say less")
        return FACTOR * doubled(len(row.item["output"]))
"""
BENCH = """
benchmark:
  name: far
  dataset: data.jsonl
  scorers:
    - type: remote
      url: {url}
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
      api_key_secret: far-key
    - {{type: length, at_most: 40}}
    - {{type: "own_scorers:shortness", least: 1}}
  reward: accuracy
  params: {{parallelism: 24}}
  expect: {{max_missing: 50%}}
  thresholds: {{mean_reward: ">= 0.1"}}
"""
ROWS = 300


class Far:
    """A project with a scorer in its conftest.py, and one in a module of its own."""

    def __init__(self, project: Project, endpoint: Endpoint, address: str) -> None:
        self.path, self.endpoint = project.path, endpoint
        self.options = ["--evalmetrics-engine", "ray", "--evalmetrics-ray-address", address]
        project.write("pytest.ini", "[pytest]\npythonpath = .\n")
        project.write("conftest.py", CONFTEST)
        project.write("helpers/__init__.py", "")
        project.write("helpers/doubling.py", "def doubled(n):\n    return 2 * n\n")
        project.write(
            "own_scorers.py",
            "from helpers.doubling import doubled\n"
            "def shortness(item, *, least):\n    return least / (1 + doubled(item['n']))\n",
        )
        project.rows(
            "data.jsonl",
            [{"id": n, "n": n, "score": n % 5 / 4, "output": "x" * (n % 45)} for n in range(ROWS)],
        )
        project.write("a.bench.yaml", BENCH.format(url=endpoint.url("/score?latency=0.1")))

    def start(self, output: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--evalmetrics-output", f"{output}/"]
        return subprocess.Popen(
            [*command, *options],
            cwd=self.path,
            env={**os.environ, "FAR_KEY": SECRET},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, run: subprocess.Popen[str], status: int = 0) -> str:
        try:
            text, _ = run.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            raise
        assert run.returncode == status, text
        return text

    def same(self, one: str, other: str) -> None:
        for name in FILES:
            assert (self.path / one / name).read_bytes() == (self.path / other / name).read_bytes()


@pytest.fixture
def far(project: Project, endpoint: Endpoint, nodes: Nodes) -> Far:
    return Far(project, endpoint, nodes.address)


def test_a_node_that_is_gone_in_the_middle_loses_nothing_that_was_paid(
    far: Far, nodes: Nodes
) -> None:
    far.end(far.start("here", "--evalmetrics-no-journal"))
    assert far.endpoint.posts == ROWS
    kinds = {f["scorer"]: f["kinds"] for f in _entry(far.path / "here")["failed_rows"]}
    assert kinds == {"length": {"too-long": ROWS // 45 * 4}}

    victim = nodes.add()
    (far.path / "workers").write_text("3", encoding="utf-8")  # one on each node
    run = far.start("there", *far.options)
    deadline = time.monotonic() + 100
    while len(list(far.path.glob("*.worker"))) < 3 or far.endpoint.posts < ROWS + 60:
        assert run.poll() is None
        assert time.monotonic() < deadline
    nodes.kill(victim)
    text = far.end(run)
    assert "Traceback" not in text
    far.same("here", "there")
    again = far.endpoint.posts - 2 * ROWS
    assert 0 <= again <= 16  # no more than the victim had: twice its share of the calls

    (far.path / "workers").unlink()

    # all that was paid for is in the journal, and another engine finds it there
    paid = far.endpoint.posts
    far.end(far.start("later"))
    assert far.endpoint.posts == paid
    far.same("here", "later")

    written = [f for where in (far.path, nodes.folder) for f in where.rglob("*") if f.is_file()]
    assert any("worker" in file.name for file in written)  # its logs
    for file in written:
        assert SECRET.encode() not in file.read_bytes(), file


def _entry(folder: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]]
    (found,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["benchmarks"]
    return found


def test_a_cluster_that_is_not_there_is_said(far: Far) -> None:
    options = [*far.options[:3], "127.0.0.1:1"]
    run = far.start("out", *options)
    text = far.end(run, status=1)
    assert "the Ray cluster 127.0.0.1:1 can't be used" in text
    assert "--evalmetrics-ray-address names another" in text
    assert far.endpoint.posts == 0
