"""A cluster whose head is killed in the middle of a run."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.ray

HEAD = """
import sys
from ray.cluster_utils import Cluster
head = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
cluster = Cluster(initialize_head=True, head_node_args=head)
node = cluster.head_node
pids = [each.process.pid for kind in ("gcs_server", "raylet") for each in node.all_processes[kind]]
print(cluster.address, *pids, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
ROWS = 200
BENCH = """
benchmark:
  name: far
  dataset: data.jsonl
  scorers:
    - type: remote
      url: {url}
      body: {{score: "{{{{ item.score }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
{more}  reward: accuracy
  params: {{parallelism: 4}}
"""


@contextmanager
def head():
    """Start a head of its own; give its address and the processes that make it."""
    pytest.importorskip("ray")
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        text=True,
    )
    assert process.stdout
    address, *pids = process.stdout.readline().split()
    try:
        yield address, [int(pid) for pid in pids]
    finally:
        process.kill()
        process.communicate()


OWN = "    - {type: 'own_scorers:one'}\n"


@pytest.mark.parametrize(
    ("killed", "more"),
    [(slice(1), ""), (slice(1), OWN), (slice(2), OWN)],
    ids=["its store, beside calls", "its store", "all of it"],
)
def test_a_dead_head_is_said_and_what_was_paid_is_kept(project, endpoint, killed, more):
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.write("own_scorers.py", "def one(item):\n    return 1.0\n")
    project.rows("data.jsonl", [{"id": n, "score": n % 2} for n in range(ROWS)])
    url = endpoint.url("/score?latency=0.1")
    project.write("a.bench.yaml", BENCH.format(url=url, more=more))
    command = [sys.executable, "-m", "pytest", "-q"]
    with head() as (address, pids):
        far = ["--evalmetrics-engine", "ray", "--evalmetrics-ray-address", address]
        run = subprocess.Popen([*command, *far], cwd=project.path, stdout=-1, stderr=-2, text=True)
        while endpoint.posts < 20 and run.poll() is None:
            time.sleep(0.05)
        for pid in pids[killed]:
            os.kill(pid, signal.SIGKILL)
        said, _ = run.communicate(timeout=55)  # Ray itself takes a minute, and says nothing
    assert run.returncode == 1, said
    assert f"the head of the Ray cluster ({address}) is gone" in said
    assert "1 failed" in said
    state = json.loads((project.path / "evalmetrics/run.json").read_text(encoding="utf-8"))
    assert state["state"] == "finished"
    (entry,) = json.loads((project.path / "evalmetrics/report.json").read_text())["benchmarks"]
    assert entry["verdict"] == "INCONCLUSIVE"
    paid = endpoint.posts
    assert 20 <= paid < ROWS
    subprocess.run(command, cwd=project.path, check=True, capture_output=True)
    assert endpoint.posts <= ROWS + 4  # no more than what was under way is paid again
