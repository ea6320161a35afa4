"""Clusters whose heads are killed in the middle of runs."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from scoring.engines.conftest import ALONE, STORE, Endpoint
from scoring.generation.running import rows

pytestmark = pytest.mark.ray

HEAD = f"""
import sys
from ray.cluster_utils import Cluster
head = {{"num_cpus": 1, "object_store_memory": {STORE}, **{ALONE}}}
cluster = Cluster(initialize_head=True, head_node_args=head)
node = cluster.head_node
pids = [each.process.pid for kind in ("gcs_server", "raylet") for each in node.all_processes[kind]]
print(cluster.address, *pids, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
ROWS, ANSWERED = 60, 20
BENCH = """
benchmark:
  name: far
  dataset: data.jsonl
  scorers:
    - type: remote
      url: {url}
      timeout_seconds: 300
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
{more}  reward: accuracy
  params: {{parallelism: 4}}
"""
OWN = "    - {type: 'own_scorers:one'}\n"


class Head:
    """A head of its own; `pids` are its store and its raylet."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            text=True,
        )

    def wait(self):
        self.address, *pids = self.process.stdout.readline().split()
        self.pids = [int(pid) for pid in pids]

    def lose(self, count):
        for pid in self.pids[:count]:
            os.kill(pid, signal.SIGKILL)

    def kill(self):
        self.process.kill()
        self.process.communicate()


class Far:
    """A project with an endpoint that answers the first calls, and the others when it is let."""

    def __init__(self, folder, head, more):
        self.folder, self.head = folder, head
        self.endpoint, self.run = Endpoint(), None
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
        (folder / "own_scorers.py").write_text("def one(item):\n    return 1.0\n")
        rows(folder / "data.jsonl", [{"id": n, "score": n % 2} for n in range(ROWS)])
        url = self.endpoint.url(f"/score?held={ANSWERED}")
        (folder / "a.bench.yaml").write_text(BENCH.format(url=url, more=more))

    def start(self, *options):
        command = [sys.executable, "-m", "pytest", "-q", *options]
        self.run = subprocess.Popen(
            command, cwd=self.folder, stdout=-1, stderr=-2, text=True
        )

    def end(self):
        return self.run.communicate(timeout=120)[0]  # Ray itself says nothing of it

    def kill(self):
        self.endpoint.kill()
        if self.run is not None and self.run.poll() is None:
            self.run.kill()
            self.run.communicate()

    def read(self, name):
        return json.loads(
            (self.folder / "evalmetrics" / name).read_text(encoding="utf-8")
        )


def test_a_dead_head_is_reported_and_paid_answers_are_kept(tmp_path):
    pytest.importorskip("ray")
    with ExitStack() as stack:
        storeless, gone = heads = [Head(), Head()]
        runs = [
            Far(tmp_path / "calls", storeless, ""),
            Far(tmp_path / "own-scorer", storeless, OWN),
            Far(tmp_path / "all-of-it", gone, OWN),
        ]
        for process in (*heads, *runs):
            stack.callback(process.kill)
        for head in heads:
            head.wait()
        for run in runs:
            address = ("--evalmetrics-ray-address", run.head.address)
            run.start("--evalmetrics-engine", "ray", *address)
        while any(
            run.endpoint.posts < ANSWERED + 4 and run.run.poll() is None for run in runs
        ):
            time.sleep(0.05)
        storeless.lose(1)
        gone.lose(2)
        for run in runs:
            # lines are as wide as the terminal
            text = " ".join(run.end().split())
            assert run.run.returncode == 1, text
            assert f"the head of the Ray cluster ({run.head.address}) is gone" in text
            assert "1 failed" in text
            assert run.read("run.json")["state"] == "finished"
            (entry,) = run.read("report.json")["benchmarks"]
            assert entry["verdict"] == "INCONCLUSIVE"
            assert run.endpoint.posts == ANSWERED + 4
            run.endpoint.seen("?release")
            run.start()
        for run in runs:
            text = run.end()
            assert run.run.returncode == 0, text
            assert (
                run.endpoint.posts == ROWS + 4
            )  # only what was under way is paid again
