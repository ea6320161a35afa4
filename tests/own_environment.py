"""The environment of the runs in tests, which are none of the run of these tests."""

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


# what this run, or where it runs, says to what it starts
OF_THIS_RUN = (*_WORKERS, *_TERMINAL, *_CI_SYSTEM)


@contextmanager
def own_environment(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Let a run with workers, which need a folder, not remove the oldest of all runs' folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DEBUG_TEMPROOT", str(folder))
        yield patch
