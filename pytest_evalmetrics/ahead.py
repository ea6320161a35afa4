"""Benchmarks that are evaluated before their turn, by cores that have nothing else to do.

Only such as nobody could tell the difference of: recorded rollouts of this machine, and what
the package itself offers. Where anything is out of the ordinary (an error, a file that is new
or changes, code of the user's) a benchmark waits for its turn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines.naming import baseline_file, shown_below
from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.helpers.count import processes
from pytest_evalmetrics.pipeline.ahead import AT_A_TIME, Evaluations, Outcome, Task
from pytest_evalmetrics.pipeline.rules import gated_names
from pytest_evalmetrics.rollouts.digest import digest
from pytest_evalmetrics.rollouts.files import is_url
from pytest_evalmetrics.rollouts.seam import loaders
from pytest_evalmetrics.settings import engine_name, evaluates_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.helpers.processes import Helpers
    from pytest_evalmetrics.helpers.shared import Shared
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["FEWEST", "begin", "take", "warm_up"]

FEWEST: Final = 100  # benchmarks: helpers take half a second to start
_HELPERS: Final = 4  # what pytest does between two benchmarks takes as long as a third of one
_LEAD: Final = 16  # times some benchmarks
_AHEAD = pytest.StashKey["_Ahead"]()
_COLLECTED = pytest.StashKey[int]()
_HOOKS = ("compute_metrics", "key_metrics", "benchmark_finished")


class BenchmarkItem(Protocol):
    """A benchmark's item, of a floor above."""

    nodeid: str
    benchmark: Benchmark


class _Ahead:
    """What is under way, by the items' ids."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        self._shared: Shared | None = None
        self._tasks: dict[str, tuple[int, Benchmark]] = {}
        self._ready: tuple[int, list[Outcome | None]] = (-1, [])
        self._process = os.getpid()

    def begin(self, tasks: Sequence[Task]) -> None:
        from pytest_evalmetrics.helpers.shared import Shared  # noqa: PLC0415 - there are many

        try:
            self._shared = Shared(Evaluations(tasks), self._helpers, lead=_LEAD)
        except OSError:  # no room for what they tell each other
            return
        self._tasks = {task.label: (n, task.benchmark) for n, task in enumerate(tasks)}

    def take(self, label: str) -> Outcome | None:
        if label not in self._tasks or os.getpid() != self._process:
            return None
        number, benchmark = self._tasks.pop(label)
        try:
            found = self._outcome(*divmod(number, AT_A_TIME))
        except Exception:  # noqa: BLE001 - then it is evaluated at its turn
            return None
        return found if found is not None and _digest(benchmark) == found.files else None

    def _outcome(self, some: int, at: int) -> Outcome | None:
        if self._shared is not None and some != self._ready[0]:
            with collector_paused():  # of a thousand objects none is garbage
                self._ready = some, self._shared.get(some)
        return self._ready[1][at]

    def close(self) -> None:
        self._tasks.clear()
        if os.getpid() == self._process:
            (self._shared or self._helpers).close()


def warm_up(config: pytest.Config, benchmarks: int) -> None:
    """Start helpers while benchmarks are still being collected: they take their time to start.

    Parameters
    ----------
    config
        The run.
    benchmarks
        How many more were collected.
    """
    found = config.stash.get(_COLLECTED, 0) + benchmarks
    config.stash[_COLLECTED] = found
    if found < FEWEST or found - benchmarks >= FEWEST or not _may(config):
        return
    try:
        count = min(processes() - 1, _HELPERS)
    except EvalMetricsError:  # a setting that means nothing: whoever reads large files says so
        return
    if count < 1:
        return
    from pytest_evalmetrics.helpers.processes import Helpers  # noqa: PLC0415 - there are many

    ahead = _Ahead(Helpers(count, ["pytest_evalmetrics.pipeline.ahead"]))
    config.add_cleanup(ahead.close)
    config.stash[_AHEAD] = ahead


def begin(config: pytest.Config, items: Sequence[BenchmarkItem]) -> None:
    """Let helpers begin with a run's benchmarks, if they are many.

    Parameters
    ----------
    config
        The run.
    items
        The benchmarks that it runs, in that order.
    """
    ahead = config.stash.get(_AHEAD, None)
    if ahead is None:
        return
    found = [(item.nodeid, item.benchmark) for item in items if _is_plain(item.benchmark)]
    # what a conftest.py of a folder offers is known by now
    if len(found) < FEWEST or not (_may(config) and _all_ours()):
        ahead.close()
        return
    ahead.begin(
        [Task(label, benchmark, _baseline(config, benchmark)) for label, benchmark in found]
    )


def take(item: pytest.Item) -> Outcome | None:
    """Give what came of an item's benchmark; None where it is to be evaluated now."""
    ahead = item.config.stash.get(_AHEAD, None)
    return None if ahead is None else ahead.take(item.nodeid)


def _may(config: pytest.Config) -> bool:
    """Whether the run asks for nothing that an item alone can see to."""
    options: Any = config.option
    return not (
        hasattr(config, "workerinput")  # which benchmarks a worker of xdist runs, it hears late
        or engine_name(config) != "local"
        or evaluates_nothing(config)
        or config.getoption("runxfail", default=False)
        or getattr(options, "update_snapshots", False)
        or getattr(options, "update_new_snapshots_only", False)
        or any(getattr(config.hook, f"pytest_evalmetrics_{n}").get_hookimpls() for n in _HOOKS)
    )


def _is_plain(benchmark: Benchmark) -> bool:
    """Whether it only reads files of this machine and takes what goes by a name."""
    spec = benchmark.spec
    named = (*spec.metrics, *spec.thresholds, *gated_names(benchmark))
    return not (
        spec.runs
        or spec.skip is not False
        or (spec.baseline is not None and not spec.baseline.committed)
        or any(map(is_url, spec.rows.path))
        or any(":" in name for name in named)
    )


def _all_ours() -> bool:
    """Whether there is no metric or loader of the user's: only here may it do what it likes."""
    return all(
        kind.is_builtin(name) for kind in (registry.metrics, loaders) for name in kind.names()
    )


def _digest(benchmark: Benchmark) -> bytes | None:
    return digest(benchmark.spec.rows, benchmark.file.parent)


def _baseline(config: pytest.Config, benchmark: Benchmark) -> tuple[Any, str] | None:
    if benchmark.spec.baseline is None:
        return None
    path = baseline_file(benchmark.file, benchmark.spec.name)
    return path, shown_below(path, config.rootpath)
