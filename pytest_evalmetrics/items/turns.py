"""Benchmarks that stop early, in turns where the run has a budget that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics import settings
from pytest_evalmetrics.items.inputs import (
    AskedOf,
    as_asked,
    input_of,
    names_for,
    store_of,
)
from pytest_evalmetrics.session.workers import place_of
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.items.collecting import BenchmarkItem
    from pytest_evalmetrics.spec import BenchmarkSpec

_IN_TURNS = pytest.StashKey[bool]()


def share_budget(
    config: pytest.Config, items: Sequence[BenchmarkItem], benchmarks: int
) -> None:
    """Let benchmarks that stop early take their rounds in turns, where the run has a budget."""
    if _IN_TURNS in config.stash or not config.getoption("evalmetrics_budget"):
        return
    config.stash[_IN_TURNS] = True
    if not _asks_freely(config):
        return
    from pytest_evalmetrics.rounds import in_turns  # rare
    from pytest_evalmetrics.run_transport import budget_of  # loads asyncio

    asked = AskedOf(benchmarks=benchmarks)
    turns = []
    for item in _of_this_worker(config, items):
        benchmark = as_asked(config, item.benchmark)
        if takes_turns(benchmark.spec):
            store = store_of(item, benchmark.spec, in_test=False)
            given = input_of(item, benchmark, store, asked)
            turns.append((given, names_for(item, benchmark.file)))
    budget = budget_of(config)
    if len(turns) > 1 and budget is not None:
        in_turns(turns, budget)


def _asks_freely(config: pytest.Config) -> bool:
    """Whether all benchmarks of a run will ask, and what they are answered is kept."""
    if settings.updates(config) or config.getoption("maxfail", default=0):
        return False
    return settings.journal_mode(config) == "normal"


def takes_turns(spec: BenchmarkSpec) -> bool:
    """Whether a benchmark draws its rollouts in rounds, which the journal keeps."""
    if not spec.runs or spec.skip is not False or spec.forgets:
        return False
    return isinstance(spec.num_samples, Rounds)


def _of_this_worker(
    config: pytest.Config, items: Sequence[BenchmarkItem]
) -> Sequence[BenchmarkItem]:
    """Return this worker's share of the benchmarks: each has a part of the budget."""
    number, workers = place_of(config)
    return items[number::workers]
