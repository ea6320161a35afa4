"""Loaders of one's own, found by a run of pytest: in a conftest.py, and in another package."""

import pytest

PAIRS = """
import numpy as np

from pytest_evalmetrics.rollouts import Chunk

class Pairs:
    def __init__(self, request):
        pass

    def read(self, source):
        with source.open() as stream:
            rows = [line.split() for line in stream.read().decode().splitlines()]
        yield Chunk(
            places=np.arange(1, len(rows) + 1),
            task=[task for task, _ in rows],
            sample=[None] * len(rows),
            agent=[None] * len(rows),
            scores={"reward": np.array([float(reward) for _, reward in rows])},
        )
"""
BENCH = """
benchmark:
  name: math
  rollouts: {path: runs.txt, format: pairs}
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.75"}
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Lay out a package as pip does, in a folder that the run finds packages in."""

    def lay_out(entry_point):
        info = tmp_path / "pairs_loader-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs-loader\nVersion: 1.0\n")
        points = f"[pytest_evalmetrics.loaders]\npairs = {entry_point}\n"
        (info / "entry_points.txt").write_text(points)
        (tmp_path / "pairs_loader.py").write_text(PAIRS)

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lay_out


def test_it_reads_and_gates_and_what_it_stumbles_over_is_told(project, install):
    install("pairs_loader:Pairs")
    project.write("math.bench.yaml", BENCH)
    project.write("runs.txt", "a 1\nb 0.5\n")
    project.run_apart().assert_outcomes(passed=1)
    assert project.aggregate()[0]["agent_metrics"]["mean/reward"] == 0.75
    project.write("runs.txt", "a 1\nb\n")
    result = project.run_apart()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*runs.txt*its loader can't read this: ValueError*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_package_that_does_not_import_is_named(project, install):
    install("no_such_module_of_pairs:Pairs")
    project.write("math.bench.yaml", BENCH)
    project.write("runs.txt", "a 1\n")
    result = project.run_apart()
    assert result.ret != pytest.ExitCode.OK
    assert "no_such_module_of_pairs" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
