"""How old the baselines of a project are, and why they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.baselines import document
from pytest_evalmetrics.baselines.ages import time_of
from pytest_evalmetrics.baselines.files import shown_below
from pytest_evalmetrics.baselines.unused import baseline_files
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import many, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


class _Age(msgspec.Struct, frozen=True):
    """A baseline, and when it was recorded; None where its file does not say."""

    recorded: datetime | None
    path: str
    reason: str


def age_lines(config: pytest.Config) -> Iterator[str]:
    """Describe the baselines of a project, the oldest first; those of unknown age lead."""
    ages = []
    broken = []
    for path in baseline_files(config):
        shown = shown_below(path, config.rootpath)
        try:
            ages.append(_age_of(path, shown))
        except EvalMetricsError as error:
            broken.append(f"{shown}: {error.message}")
    if not ages and not broken:
        yield "there is no baseline yet: pytest --evalmetrics-update records them"
    now = datetime.now(UTC)
    oldest = datetime.min.replace(tzinfo=UTC)
    for age in sorted(ages, key=lambda age: age.recorded or oldest):
        yield visible(_line_of(age, now))
    for line in broken:
        yield visible(line)


def _line_of(age: _Age, now: datetime) -> str:
    reason = ""
    if age.reason:
        reason = f": {age.reason}"
    if age.recorded is None:
        return f"age not known  {age.path}{reason}"
    days = many(max((now - age.recorded).days, 0), "day")
    return f"{days}  {age.path}  {age.recorded:%Y-%m-%d}{reason}"


def _age_of(path: Path, shown: str) -> _Age:
    text = document.text_of(path, shown)
    provenance = document.parse(text or "", file=shown).provenance
    return _Age(
        recorded=time_of(provenance.recorded),
        path=shown,
        reason=provenance.reason or "",
    )
