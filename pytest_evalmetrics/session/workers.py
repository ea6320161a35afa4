"""pytest-xdist: what crosses from its workers to the process that writes the artifacts.

A worker leaves its selection on its first report, and what it finds at its end in the output
that xdist carries; both as builtins. Large results go through a folder that all share.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_evalmetrics import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FOLDER = pytest.StashKey[Path]()
_WORKERS_FOLDER = "evalmetrics_folder"
_NUMBER = "evalmetrics_number"  # of a worker, among those that run at a time
_SELECTION = "evalmetrics_selection"  # of a worker, on its first report
_UNUSED = "evalmetrics_unused"  # baselines that a worker found unused
_REQUIRED = "evalmetrics_required"  # benchmarks with a required tag, of a worker


class _Run(Protocol):
    """The session that hears of workers."""

    def add_collected(self, nodeids: Iterable[str]) -> str:
        """Record items of a worker; return why the run is refused, or an empty text."""
        ...

    def add_from_worker(
        self, unused: Iterable[str], required: dict[str, list[str]]
    ) -> None:
        """Record what a worker found."""
        ...


class WorkerHooks:
    """pytest-xdist's hooks, in the process that starts its workers."""

    def __init__(self, config: pytest.Config, run: _Run) -> None:
        self._config = config
        self._run = run
        self._started = time.time()
        self._numbers: dict[Any, int] = {}  # of the workers that run

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its number, and one on this machine the run's folder for large results."""
        number = self._first_free_number()
        self._numbers[node] = number
        node.workerinput[_NUMBER] = number
        if node.gateway.spec.popen:
            folder = str(shared_folder(self._config))
            budget = str(Path(folder, "budget.sqlite3"))
            node.workerinput |= {
                _WORKERS_FOLDER: folder,
                settings.SHARED_BUDGET: (budget, self._started),
            }
        elif self._config.getoption("evalmetrics_budget"):
            raise pytest.UsageError(
                "--evalmetrics-budget: workers elsewhere can't share a budget"
            )

    def _first_free_number(self) -> int:
        """Return a number for a worker: one that replaces another has the other's."""
        number = 0
        while number in self._numbers.values():
            number += 1
        return number

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(
        self,
        node: Any,  # noqa: ARG002 - the hook's
        ids: Sequence[str],
    ) -> None:
        """Record what a worker has collected, and refuse a folder that another run uses."""
        refusal = self._run.add_collected(ids)
        if refusal:
            pytest.exit(refusal, returncode=pytest.ExitCode.USAGE_ERROR)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found; one that died has left nothing."""
        self._numbers.pop(node, None)
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        self._run.add_from_worker(output.get(_UNUSED, ()), output.get(_REQUIRED, {}))


def place_of(config: pytest.Config) -> tuple[int, int]:
    """Return the number of this process among those that run tests, and their count."""
    given = getattr(config, "workerinput", {})
    if _NUMBER not in given:
        return 0, 1
    return given[_NUMBER], given["workercount"]


def hand_over(
    config: pytest.Config, unused: Sequence[str], required: dict[str, list[str]]
) -> None:
    """Leave what a worker found at its end."""
    output: dict[str, object] = getattr(config, "workeroutput", {})
    output[_UNUSED] = unused
    output[_REQUIRED] = required


# -- the selection of a worker ---------------------------------------------------------------


def put_selection(
    report: pytest.TestReport, tests: Sequence[str], present: Sequence[str]
) -> None:
    """Leave a worker's selection on a report: its tests with checks, and all that there is."""
    vars(report)[_SELECTION] = (tests, present)


def take_selection(report: pytest.TestReport) -> tuple[Sequence[str], Sequence[str]]:
    """Take a worker's selection off a report; both parts are empty without one."""
    selection: tuple[Sequence[str], Sequence[str]] = vars(report).pop(
        _SELECTION, ((), ())
    )
    return selection


def worker_of(report: pytest.TestReport) -> str:
    """Name the worker that a report comes from; empty without one."""
    name: str = getattr(report, "worker_id", "")
    return name


# -- the folder of all processes -------------------------------------------------------------


def shared_folder(config: pytest.Config) -> Path | None:
    """Return the folder for files on their way to the session; None without one."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        if _WORKERS_FOLDER in given:
            return Path(given[_WORKERS_FOLDER])
        return None
    if _FOLDER not in config.stash:  # the folder is made when a file is first needed
        from pytest_evalmetrics.whole_files import temporary_name

        config.stash[_FOLDER] = Path(tempfile.gettempdir(), temporary_name())
    return config.stash[_FOLDER]


def remove_shared_folder(config: pytest.Config) -> None:
    """Remove the folder, with the files of a worker that died."""
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)
