"""Baselines that were recorded long ago: how old they are, who recorded them, and why."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from pytest_evalmetrics.model.results import StaleBaseline

if TYPE_CHECKING:
    from pathlib import Path

_GIT_S = 10.0


def stale_baseline(
    path: Path,
    shown: str,
    *,
    recorded: str,
    reason: str,
    now: datetime,
    limit: int,
) -> StaleBaseline | None:
    """Describe a baseline that is older than so many days; None for a younger one.

    Parameters
    ----------
    path, shown
        The baseline's file, and its name in messages.
    recorded, reason
        When it was recorded, in UTC, and why.
    now
        The time, with a time zone.
    limit
        In days; 0 for no limit.
    """
    if not limit:
        return None
    recorded_at = time_of(recorded)
    if recorded_at is None:
        return None
    age = now - recorded_at
    if age.days < limit:
        return None
    return StaleBaseline(
        file=shown,
        recorded=recorded,
        days=age.days,
        limit=limit,
        reason=reason,
        by=_author(path),
    )


def time_of(recorded: str | None) -> datetime | None:
    """Read the time of a recording; None where a hand or a tool wrote no time with a zone."""
    if not recorded:
        return None
    try:
        time = datetime.fromisoformat(recorded)
    except ValueError:
        return None
    if time.tzinfo is None:
        return None
    return time


def _author(path: Path) -> str:
    """Return who committed the file last; empty if git does not know."""
    import subprocess  # rare

    command = ("git", "log", "-1", "--format=%an", "--", path.name)
    with suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=path.parent, capture_output=True, timeout=_GIT_S, check=False
        )
        return done.stdout.decode().strip()
    return ""
