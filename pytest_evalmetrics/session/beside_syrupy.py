"""Unused baselines, reported beside syrupy's unused snapshots and by its option."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


def unused_baselines(config: pytest.Config) -> list[str]:
    """List the baselines that this process finds unused."""
    from pytest_evalmetrics.baselines.unused import unused_of_run  # with benchmarks

    return unused_of_run(config)


def lines_of_unused(unused: Iterable[str]) -> list[str]:
    """Report unused baselines; empty without any."""
    names = sorted(unused)
    if not names:
        return []
    from pytest_evalmetrics.baselines.unused import unused_lines  # rare

    return unused_lines(names)


def only_warns(config: pytest.Config) -> bool:
    """Check whether unused snapshots, and so unused baselines, fail no run."""
    return bool(config.getoption("warn_unused_snapshots", default=False))
