"""The history of a pytest run: appended to at its end, by the process that reports."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.history import append, origin_of, read_history, run_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.history import Run

__all__ = ["Kept", "keep_history"]

_LAST = 20  # runs of a benchmark that reports show


@dataclass
class Kept:
    """What came of it."""

    # by benchmark of this run: its last runs, the oldest first, this one last
    last: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    warnings: Sequence[str] = ()  # what is broken in the file
    errors: Sequence[EvalMetricsError] = ()  # why nothing was appended


def keep_history(
    config: pytest.Config, path: Path, shown: str, entries: Iterable[Mapping[str, Any]]
) -> Kept:
    """Append the benchmarks of this run."""
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    origin = origin_of(os.environ, config.rootpath)
    starts = bool(config.getoption("update_snapshots", default=False))
    runs = [
        run_of(entry, origin, time, starts=starts)
        for entry in sorted(entries, key=lambda entry: entry["id"])
    ]
    try:
        before = read_history(path, shown)
        if runs:
            append(path, runs, shown)
    except EvalMetricsError as error:
        return Kept(errors=[error])
    last = {
        run["benchmark"]: [*before.runs.get(run["benchmark"], ()), run][-_LAST:] for run in runs
    }
    return Kept(last, before.notes())
