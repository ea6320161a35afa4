"""Helpers for a run over many benchmarks, started as soon as it is seen to be one.

They take half a second to start; so nothing heavy is imported before they are.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.settings import engine_name, evaluates_nothing

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.helpers.processes import Helpers

__all__ = ["FEWEST", "foresee", "helpers_of", "is_heard", "may_help", "were_foreseen"]

FEWEST: Final = 100  # benchmarks
_MOST: Final = 4  # what pytest does between two benchmarks takes as long as a third of one
_HELPERS = pytest.StashKey["Helpers | None"]()
_LAST = pytest.StashKey["Path"]()  # the folder that was looked at
_HOOKS = (
    "pytest_evalmetrics_compute_metrics",
    "pytest_evalmetrics_key_metrics",
    "pytest_evalmetrics_benchmark_finished",
)


def foresee(config: pytest.Config, folder: Path) -> None:
    """Start helpers if a folder that is about to be collected holds many benchmark files.

    Parameters
    ----------
    config
        The run.
    folder
        Where a benchmark file was found.
    """
    if _HELPERS in config.stash or config.stash.get(_LAST, None) == folder:
        return
    config.stash[_LAST] = folder
    patterns = config.getini("evalmetrics_files")
    with suppress(OSError), os.scandir(folder) as entries:
        found = sum(any(fnmatch(entry.name, p) for p in patterns) for entry in entries)
        if found >= FEWEST and _all_of_folders(config):
            helpers_of(config)


def helpers_of(config: pytest.Config) -> Helpers | None:
    """Give a run's helpers, started at the first call; None where it has to do without."""
    if _HELPERS not in config.stash:
        config.stash[_HELPERS] = _started(config)
    return config.stash[_HELPERS]


def were_foreseen(config: pytest.Config) -> bool:
    """Whether helpers were started before a benchmark was read."""
    return config.stash.get(_HELPERS, None) is not None


def may_help(config: pytest.Config) -> bool:
    """Whether the run asks for nothing that an item alone can see to."""
    options: Any = config.option
    return not (
        hasattr(config, "workerinput")  # which benchmarks a worker of xdist runs, it hears late
        or engine_name(config) != "local"
        or evaluates_nothing(config)
        or config.getoption("runxfail", default=False)
        or getattr(options, "update_snapshots", False)
        or getattr(options, "update_new_snapshots_only", False)
        or is_heard(config)
    )


def is_heard(config: pytest.Config) -> bool:
    """Whether anybody has a say in evaluations, or hears of each."""
    return any(getattr(config.hook, name).get_hookimpls() for name in _HOOKS)


def _all_of_folders(config: pytest.Config) -> bool:
    """Whether all that lies in some folders is asked for, and not one file of many."""
    here = config.invocation_params.dir
    return all((here / arg).is_dir() for arg in config.args)


def _started(config: pytest.Config) -> Helpers | None:
    from pytest_evalmetrics.helpers.count import processes  # noqa: PLC0415 - there are many
    from pytest_evalmetrics.helpers.processes import Helpers  # noqa: PLC0415 - the same

    try:
        count = min(processes() - 1, _MOST) if may_help(config) else 0
    except EvalMetricsError:  # a setting that means nothing: whoever reads large files says so
        return None
    if count < 1:
        return None
    helpers = Helpers(count, ["pytest_evalmetrics.pipeline.ahead"])
    config.add_cleanup(helpers.close)
    return helpers
