"""Whole pytest runs on a real cluster: the same files, whatever happens to a node."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.ray

SECRET = "a-secret-that-is-written-nowhere"  # noqa: S105 - of nobody
FILES = ("report.json", "aggregate_metrics.json", "rollouts.jsonl")
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
  model: {{url: "{model}", name: m, api_key_secret: far-key}}
  prompt_template: "{{{{ output }}}} {{{{ n % 7 }}}}"
  reward: accuracy
  params: {{parallelism: 24}}
  expect: {{max_missing: 50%}}
  thresholds: {{mean_reward: ">= 0.1"}}
"""
ROWS = 300
CALLS = 2 * ROWS  # of the model, and of the scorer that is remote
TIMES = re.compile("latency|time_per_task").search


class Far:
    """A project with a scorer in its conftest.py, and one in a module of its own."""

    def __init__(self, project, endpoint, model, address):
        self.path, self.endpoint, self.model = project.path, endpoint, model
        self.options = [
            "--evalmetrics-engine",
            "ray",
            "--evalmetrics-ray-address",
            address,
        ]
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
            [
                {"id": n, "n": n, "score": n % 5 / 4, "output": "x" * (n % 45)}
                for n in range(ROWS)
            ],
        )
        url, model = endpoint.url("/score?latency=0.1"), f"{model.url}?latency=0.1"
        project.write("a.bench.yaml", BENCH.format(url=url, model=model))

    @property
    def posts(self):
        return self.endpoint.posts + self.model.posts

    def start(self, output, *options):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--evalmetrics-output",
            f"{output}/",
        ]
        return subprocess.Popen(
            [*command, *options],
            cwd=self.path,
            env={**os.environ, "FAR_KEY": SECRET},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, run, status=0):
        try:
            text, _ = run.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            raise
        assert run.returncode == status, text
        return text

    def same(self, one, other):
        for name in FILES:
            assert (self.path / one / name).read_bytes() == (
                self.path / other / name
            ).read_bytes()

    def alike(self, one, other):
        """Compare but for the seconds that answers took."""
        for name in FILES:
            assert _untimed(self.path / one / name) == _untimed(
                self.path / other / name
            )


def _untimed(path):
    text = path.read_text(encoding="utf-8")
    return [
        _without(json.loads(t))
        for t in (text.splitlines() if ".jsonl" in path.name else [text])
    ]


def _without(value):
    if isinstance(value, list):
        return [_without(item) for item in value]
    if not isinstance(value, dict):
        return value
    if TIMES(str(value.get("name"))):
        return None
    return {key: _without(item) for key, item in value.items() if not TIMES(key)}


@pytest.fixture
def far(project, endpoint, model, nodes):
    return Far(project, endpoint, model, nodes.address)


def test_a_node_that_is_gone_in_the_middle_loses_nothing_that_was_paid(far, nodes):
    far.end(far.start("here", "--evalmetrics-no-journal"))
    assert far.posts == CALLS
    kinds = {f["scorer"]: f["kinds"] for f in _entry(far.path / "here")["failed_rows"]}
    assert kinds == {"length": {"too-long": ROWS // 45 * 4}}

    victim = nodes.add()
    (far.path / "workers").write_text("3", encoding="utf-8")  # one on each node
    run = far.start("there", *far.options)
    deadline = time.monotonic() + 100
    while len(list(far.path.glob("*.worker"))) < 3 or far.posts < CALLS + 120:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    nodes.kill(victim)
    text = far.end(run)
    assert "Traceback" not in text
    far.alike("here", "there")
    assert (
        far.posts == 2 * CALLS
    )  # they are made by the run's own process, whoever is lost

    (far.path / "workers").unlink()

    # all that was paid for is in the journal, and another engine finds it there
    far.end(far.start("later"))
    assert far.posts == 2 * CALLS
    far.same("there", "later")

    written = [
        f for where in (far.path, nodes.folder) for f in where.rglob("*") if f.is_file()
    ]
    assert any("worker" in file.name for file in written)  # its logs
    for file in written:
        assert SECRET.encode() not in file.read_bytes(), file


def _entry(folder):
    (entry,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))[
        "benchmarks"
    ]
    return entry


def test_a_missing_cluster_is_reported(far):
    options = [*far.options[:3], "127.0.0.1:1"]
    run = far.start("out", *options)
    text = far.end(run, status=1)
    assert "the Ray cluster 127.0.0.1:1 can't be used" in text
    assert "--evalmetrics-ray-address names another" in text
    assert far.endpoint.posts == 0
