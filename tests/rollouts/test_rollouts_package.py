"""The way in, and the seam at which formats plug in."""

import subprocess
import sys

import numpy as np
import pytest
from perf.reading import write

from pytest_evalmetrics import rollouts
from pytest_evalmetrics.ext import Chunk
from pytest_evalmetrics.rollouts import loaders, register_loader


def test_what_the_package_offers():
    assert rollouts.__all__ == sorted(set(rollouts.__all__))
    assert all(hasattr(rollouts, name) for name in rollouts.__all__)
    assert {"Chunk", "Loader", "Request", "load", "loaders", "register_loader"} <= {
        *rollouts.__all__
    }


def test_the_formats_of_rows_are_known_by_name():
    assert {"json", "jsonl"} <= set(loaders.names())


class Pairs:
    """Reads `task reward` lines: a format of one's own in a dozen lines."""

    def __init__(self, request):
        self.request = request

    def read(self, source):
        with source.open() as stream:
            rows = [line.split() for line in stream]
        yield Chunk(
            places=np.arange(1, len(rows) + 1),
            task=[row[0].decode() for row in rows],
            sample=[None] * len(rows),
            agent=[None] * len(rows),
            scores={"reward": np.array([float(row[1]) for row in rows])},
        )


@pytest.mark.parametrize("registered", [True, False])
def test_a_format_of_ones_own(folder, registered, monkeypatch):
    folder.write("b 1\na 0.5\nb 0\n", "pairs.txt")
    if registered:
        monkeypatch.setattr(loaders, "_entries", loaders._entries[:])
        register_loader("pairs")(Pairs)
        name = "pairs"
    else:
        module = sys.modules[__name__]
        monkeypatch.setitem(sys.modules, "pairs_of_mine", module)
        name = "pairs_of_mine:Pairs"
    table = folder.load("pairs.txt", format=name, scores=["reward"])
    assert table.tasks == ("a", "b")
    assert table.scores["reward"].tolist() == [0.5, 1, 0]
    assert table.sample.tolist() == [0, 0, 1]


def test_importing_the_package_reads_no_format():
    program = (
        "import sys, pytest_evalmetrics.rollouts\n"
        "assert 'pytest_evalmetrics.rollouts.builtin_loaders' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_file_that_speed_is_measured_on(folder):
    path = folder.path / "runs.jsonl"
    write(path, 96)
    assert 4096 < path.stat().st_size / 96 < 4700
    table = folder.load(scores=["reward"])
    assert len(table) == 96
    assert len(table.tasks) == 12
    assert len(table.scores) == 10
    assert not any(np.isnan(column).any() for column in table.scores.values())
