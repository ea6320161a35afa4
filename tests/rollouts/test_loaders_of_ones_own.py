"""Loaders of one's own, found by a run of pytest: in a conftest.py, and in another package."""

import pytest

PAIRS = '''
import numpy as np

from pytest_evalmetrics.rollouts import Chunk

class Pairs:
    """Reads lines such as `task 0.5`."""

    def __init__(self, request):
        self.request = request

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
'''
BENCH = """
benchmark:
  name: math
  rollouts: {path: runs.txt, format: pairs}
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.75"}
"""


def install(folder, entry_point):
    """Lay out a package as pip does."""
    info = folder / "pairs_loader-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs-loader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pytest_evalmetrics.loaders]\npairs = {entry_point}\n")


@pytest.fixture
def site(tmp_path_factory, monkeypatch):
    """A folder that the run finds packages in."""
    folder = tmp_path_factory.mktemp("site")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.mark.parametrize(("rows", "verdict"), [("a 1\nb 0.5\n", 0), ("a 1\nb 0.25\n", 1)])
def test_it_reads_and_gates(project, site, rows, verdict):
    install(site, "pairs_loader:Pairs")
    (site / "pairs_loader.py").write_text(PAIRS)
    project.write("math.bench.yaml", BENCH)
    project.write("runs.txt", rows)
    result = project.run()
    assert result.ret == verdict, result.stdout.str()
    (entry,) = project.report()["benchmarks"]
    assert entry["verdict"] == ("FAIL" if verdict else "PASS")
    mean = sum(float(line.split()[1]) for line in rows.splitlines()) / 2
    assert f"mean_reward {mean:.4f}, 2 tasks, 2 rollouts" in result.stdout.str()


def test_what_a_loader_stumbles_over_is_told(project, site):
    install(site, "pairs_loader:Pairs")
    (site / "pairs_loader.py").write_text(PAIRS)
    project.write("math.bench.yaml", BENCH)
    project.write("runs.txt", "a 1\nb\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*runs.txt*its loader can't read this: ValueError*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_package_that_does_not_import_is_named(project, site):
    install(site, "no_such_module_of_pairs:Pairs")
    project.write("math.bench.yaml", BENCH)
    project.write("runs.txt", "a 1\n")
    result = project.run()
    assert result.ret != pytest.ExitCode.OK
    assert "no_such_module_of_pairs" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
