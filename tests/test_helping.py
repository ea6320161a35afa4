"""Helpers for a run over many benchmarks: when they are started, and when they are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.helping import FEWEST

if TYPE_CHECKING:
    from conftest import Project

# what is looked at, and how many helpers are started; a machine with a single core has two here
CONFTEST = """
import json, pathlib
from pytest_evalmetrics import helping
from pytest_evalmetrics.helpers import count, processes

count.usable_cores = lambda: 2
told = {"looked_at": [], "helpers": []}
scandir = helping.os.scandir

class Os:
    def __getattr__(self, name):
        return getattr(real, name)

    def scandir(self, folder):
        told["looked_at"].append(pathlib.Path(folder).name)
        return scandir(folder)

real, helping.os = helping.os, Os()

class Counted(processes.Helpers):
    def __init__(self, count, modules=()):
        told["helpers"].append(count)
        super().__init__(0)

processes.Helpers = Counted

def pytest_unconfigure(config):
    pathlib.Path(__file__).with_name("told.json").write_text(json.dumps(told))
"""
SKIPPED = "benchmark: {name: b, rollouts: none.jsonl, skip: true}\n"


@pytest.fixture
def folders(project: Project) -> Project:
    """Two folders with few benchmark files, and one with many."""
    project.write("conftest.py", CONFTEST)
    for folder, files in (("a", 3), ("b", 2), ("many", FEWEST)):
        for number in range(files):
            project.write(f"{folder}/{number:03}.bench.yaml", SKIPPED)
    return project


def told_in(project: Project) -> dict[str, list[Any]]:
    told: dict[str, list[Any]] = json.loads((project.path / "told.json").read_text())
    return told


@pytest.mark.parametrize(
    ("args", "looked_at", "helpers"),
    [
        ((), ["a", "b", "many"], [1]),
        (("a", "b"), ["a", "b"], []),
        (("many", "a"), ["many"], [1]),
        (("many/007.bench.yaml",), ["many"], []),
        (("many/007.bench.yaml::b", "a"), ["many", "a"], []),
        (("many", "--co"), ["many"], []),
        (("many", "--snapshot-update"), ["many"], []),
    ],
)
def test_a_folder_is_looked_at_once(
    folders: Project, args: tuple[str, ...], looked_at: list[str], helpers: list[int]
) -> None:
    folders.pytester._monkeypatch.setenv("EVALMETRICS_PROCESSES", "2")
    folders.run(*args)
    assert told_in(folders) == {"looked_at": looked_at, "helpers": helpers}


@pytest.mark.parametrize("processes", ["1", "none"])
def test_without_a_core_to_spare_there_are_none(folders: Project, processes: str) -> None:
    folders.pytester._monkeypatch.setenv("EVALMETRICS_PROCESSES", processes)
    folders.run("many")
    assert told_in(folders)["helpers"] == []
