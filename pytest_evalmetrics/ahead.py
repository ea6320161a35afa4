"""Benchmarks that are evaluated before their turn, by cores that have nothing else to do.

Only such as nobody could tell the difference of: recorded rollouts of this machine, and what
the package itself offers. Where anything is out of the ordinary (an error, a file that is new
or changes, code of the user's) a benchmark waits for its turn.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines.naming import baseline_file, shown_below
from pytest_evalmetrics.helping import FEWEST, helpers_of, is_heard, may_help, were_foreseen
from pytest_evalmetrics.pipeline.ahead import Queue, Task
from pytest_evalmetrics.pipeline.picturing import PICTURED
from pytest_evalmetrics.pipeline.rules import gated_names
from pytest_evalmetrics.rollouts.files import is_url
from pytest_evalmetrics.rollouts.seam import loaders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.pipeline.ahead import Outcome
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["begin", "hand_in", "take"]


class BenchmarkItem(Protocol):
    """A benchmark's item, of a floor above."""

    @property
    def nodeid(self) -> str:
        """Its id."""
        ...

    benchmark: Benchmark
    detailed: bool


class _Ahead:
    """What a run has evaluated ahead."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._met = 0
        self._waiting: list[BenchmarkItem] = []  # to become many
        self._queue: Queue | None = None
        self._over = False
        self._process = os.getpid()

    def hand_in(self, items: Sequence[BenchmarkItem]) -> None:
        if self._over:
            return
        _choose_detailed(items, self._met)
        self._met += len(items)
        self._waiting += items
        if self._queue is None and (were_foreseen(self._config) or len(self._waiting) >= FEWEST):
            self._start()
        if self._queue is not None:
            plain = [item for item in self._waiting if _is_plain(item.benchmark)]
            self._queue.add(self._tasks(plain))
            self._waiting.clear()

    def settle(self, items: Sequence[BenchmarkItem]) -> None:
        if self._queue is None:
            return
        plain = [item for item in items if _is_plain(item.benchmark)]
        # what a conftest.py of a folder offers is known by now
        if len(plain) < FEWEST or not (may_help(self._config) and _all_ours()):
            self.close()
            return
        if not self._queue.holds([(item.nodeid, item.detailed) for item in plain]):
            self._queue.replace(self._tasks(plain))
        self._queue.complete()

    def take(self, label: str) -> Outcome | None:
        if self._queue is None or os.getpid() != self._process or is_heard(self._config):
            return None
        return self._queue.take(label)

    def close(self) -> None:
        self._over = True
        self._waiting.clear()
        if self._queue is not None and os.getpid() == self._process:
            self._queue.close()
            self._queue = None

    def _start(self) -> None:
        helpers = helpers_of(self._config)
        with suppress(OSError):  # no room for what they tell each other
            self._queue = None if helpers is None else Queue(helpers)
        if self._queue is None:
            self.close()

    def _tasks(self, items: Sequence[BenchmarkItem]) -> list[Task]:
        return [
            Task(
                item.nodeid,
                item.benchmark,
                _baseline(self._config, item.benchmark),
                item.detailed,
            )
            for item in items
        ]


_AHEAD = pytest.StashKey[_Ahead]()


def hand_in(config: pytest.Config, items: Sequence[BenchmarkItem]) -> None:
    """Let helpers begin with what was collected, once that is much.

    Parameters
    ----------
    config
        The run.
    items
        Benchmarks that the run may evaluate.
    """
    _of(config).hand_in(items)


def begin(config: pytest.Config, items: Sequence[BenchmarkItem]) -> None:
    """Settle what is evaluated ahead.

    Parameters
    ----------
    config
        The run.
    items
        The benchmarks that it evaluates, in that order.
    """
    _choose_detailed(items)
    if _AHEAD in config.stash:
        config.stash[_AHEAD].settle(items)


def take(item: pytest.Item) -> Outcome | None:
    """Give what came of an item's benchmark; None where it is to be evaluated now."""
    ahead = item.config.stash.get(_AHEAD, None)
    return None if ahead is None else ahead.take(item.nodeid)


def _of(config: pytest.Config) -> _Ahead:
    if _AHEAD not in config.stash:
        config.stash[_AHEAD] = _Ahead(config)
        config.add_cleanup(config.stash[_AHEAD].close)
    return config.stash[_AHEAD]


def _choose_detailed(items: Sequence[BenchmarkItem], before: int = 0) -> None:
    """Let the first of a run be shown in detail; `before` are in it before these."""
    for at, item in enumerate(items, before):
        item.detailed = at < PICTURED


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


def _baseline(config: pytest.Config, benchmark: Benchmark) -> tuple[Any, str] | None:
    if benchmark.spec.baseline is None:
        return None
    path = baseline_file(benchmark.file, benchmark.spec.name)
    return path, shown_below(path, config.rootpath)
