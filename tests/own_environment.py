"""The environment of a run that several tests look at, which begins before any of them does."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WORKERS = (
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
)
_TERMINAL = ("COLUMNS", "LINES")
_CI_SYSTEM = (
    "CI",
    "BUILD_NUMBER",
    "BUILDKITE_COMMIT",
    "CI_COMMIT_SHA",
    "CI_PROJECT_DIR",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
    "GITLAB_CI",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
)


@contextmanager
def own_environment(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Let a run be no worker of this one, nor tell its CI system anything."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*_WORKERS, *_TERMINAL, *_CI_SYSTEM):
            patch.delenv(name, raising=False)
        # else a run with workers, which need a folder, removes the oldest of all runs' folders
        patch.setenv("PYTEST_DEBUG_TEMPROOT", str(folder))
        yield patch
