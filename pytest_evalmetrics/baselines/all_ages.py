"""How old the baselines of a project are, and why they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.baselines import document
from pytest_evalmetrics.baselines.files import shown_below
from pytest_evalmetrics.baselines.unused import baseline_files
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import many, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


class _Age(msgspec.Struct, frozen=True):
    """A baseline, and when it was recorded."""

    recorded: datetime
    path: str
    reason: str


def age_lines(config: pytest.Config) -> Iterator[str]:
    """Describe the baselines of a project, the oldest first."""
    ages = []
    for path in baseline_files(config):
        shown = shown_below(path, config.rootpath)
        try:
            ages.append(_age_of(path, shown))
        except EvalMetricsError as error:
            yield visible(f"{shown}: {error.message}")
    now = datetime.now(UTC)
    for age in sorted(ages, key=lambda age: age.recorded):
        days = many(max((now - age.recorded).days, 0), "day")
        reason = f": {age.reason}" if age.reason else ""
        yield visible(f"{days}  {age.path}  {age.recorded:%Y-%m-%d}{reason}")
    if not ages:
        yield "there is no baseline yet: pytest --evalmetrics-update records them"


def _age_of(path: Path, shown: str) -> _Age:
    text = document.text_of(path, shown)
    read = document.parse(text or "", file=shown)
    recorded = read.provenance.recorded
    when = datetime.min.replace(tzinfo=UTC)
    if recorded:
        when = datetime.fromisoformat(recorded)
    return _Age(recorded=when, path=shown, reason=read.provenance.reason or "")
