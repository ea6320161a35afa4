"""What a Ray cluster of two local nodes takes and gives, against one process and the same bytes.

Run as ``python tests/perf/on_ray.py [rows] [rounds]`` in an environment with the extra ``ray``; 250,000
rows of some 4 KiB (1 GB), three rounds. A head without a core and two nodes with one core each run on
this machine, before anything is timed. Two benchmarks are run on them and in one process, by turns:
recorded rollouts that are only read, and rows that a function of the project's scores in two
milliseconds of CPU each. Of each it prints the wall seconds of `pytest` (medians), their ratio, and
whether the artifacts are the same bytes.
"""

import os
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

from measuring import ROUNDS, pytest_run
from reading import write

READ = """
benchmark:
  name: read
  rollouts: rollouts.jsonl
  metrics: [mean_reward, pass@1, pass@4]
  thresholds: {pass@1: ">= 0.1"}
"""
SCORED = """
benchmark:
  name: scored
  rollouts: few.jsonl
  reward: slow
  scorers: [{python: "slow:slow"}]
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.1"}
"""
SLOW = """
import time

def slow(item):
    end = time.process_time() + 0.002
    while time.process_time() < end:
        pass
    return float(item["is_correct"])
"""
FEW = 5_000  # rows that are scored
STORE = 200 * 2**20  # bytes of a node's object store


def cluster():
    """Start a head without a core, and two nodes with one each."""
    from ray.cluster_utils import Cluster  # a second to import

    nodes = Cluster()
    nodes.add_node(num_cpus=0, object_store_memory=STORE, include_dashboard=False)
    for _ in range(2):
        nodes.add_node(num_cpus=1, object_store_memory=STORE)
    return nodes


def project(folder, rows):
    """Write the rollouts, the scorer and the benchmarks."""
    write(folder / "rollouts.jsonl", rows)
    with (folder / "rollouts.jsonl").open(encoding="utf-8") as whole:
        lines = [next(whole) for _ in range(min(FEW, rows))]
    (folder / "few.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    for name, text in (("read", READ), ("scored", SCORED)):
        (folder / f"{name}.bench.yaml").write_text(text, encoding="utf-8")


def artifact(folder, name):
    """Return the bytes of a run's metrics."""
    return (folder / name / "aggregate_metrics.json").read_bytes()


def compare(folder, name, address, rounds):
    """Time a benchmark on the cluster and in one process, by turns, and print both."""
    file = f"{name}.bench.yaml"
    on_ray = ("--evalmetrics-engine=ray", f"--evalmetrics-ray-address={address}")
    alone = []
    with_ray = []
    for _ in range(rounds):
        alone.append(pytest_run(folder, file, "--evalmetrics-output=alone/").wall)
        with_ray.append(
            pytest_run(folder, file, *on_ray, "--evalmetrics-output=ray/").wall
        )
    same = artifact(folder, "alone") == artifact(folder, "ray")
    one = median(alone)
    two = median(with_ray)
    print(
        f"{name}: one process {one:.2f} s, two nodes {two:.2f} s, ratio {two / one:.2f}; "
        f"the same bytes: {'yes' if same else 'NO'}"
    )


def main(rows, rounds):
    """Measure both benchmarks."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    warnings.simplefilter("ignore")  # Ray's own
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        project(place, rows)
        nodes = cluster()
        try:
            for name in ("read", "scored"):
                compare(place, name, nodes.address, rounds)
        finally:
            nodes.shutdown()


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [250_000, ROUNDS][len(given) :]))
