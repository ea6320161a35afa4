"""What a run judged: the commit and the branch, from the CI system's variables or from git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Origin", "origin_of"]

_SECONDS = 5.0

# commit, branch (the first that is set), and the job's page
_SYSTEMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # https://docs.gitlab.com/ci/variables/predefined_variables/
    ("CI_COMMIT_SHA", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"), "CI_JOB_URL"),
    ("BUILDKITE_COMMIT", ("BUILDKITE_BRANCH",), "BUILDKITE_BUILD_URL"),
    ("CIRCLE_SHA1", ("CIRCLE_BRANCH",), "CIRCLE_BUILD_URL"),
    ("BITBUCKET_COMMIT", ("BITBUCKET_BRANCH",), ""),
    ("BUILD_SOURCEVERSION", ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"), ""),
    ("TRAVIS_COMMIT", ("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"), "TRAVIS_JOB_WEB_URL"),
    ("DRONE_COMMIT_SHA", ("DRONE_SOURCE_BRANCH", "DRONE_BRANCH"), "DRONE_BUILD_LINK"),
    ("GIT_COMMIT", ("CHANGE_BRANCH", "GIT_BRANCH"), "BUILD_URL"),  # Jenkins
)


@dataclass(frozen=True, slots=True)
class Origin:
    """What was judged; None where it is not known."""

    commit: str | None = None  # as git names them
    branch: str | None = None
    url: str | None = None  # the page of the CI system's job


def origin_of(environ: Mapping[str, str], folder: Path) -> Origin:
    """Find out what is judged."""
    if environ.get("GITHUB_ACTIONS") == "true":
        return _github(environ)
    for commit, branches, url in _SYSTEMS:
        if environ.get(commit):
            branch = next((environ[name] for name in branches if environ.get(name)), None)
            return Origin(environ[commit], branch, environ.get(url) or None)
    commit_of_git = _git(folder, "rev-parse", "HEAD")
    if commit_of_git is None:
        return Origin()
    branch_of_git = _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return Origin(commit_of_git, None if branch_of_git == "HEAD" else branch_of_git)


def _github(environ: Mapping[str, str]) -> Origin:
    """https://docs.github.com/actions/reference/workflows-and-actions/variables."""
    branch = environ.get("GITHUB_HEAD_REF") or environ.get("GITHUB_REF_NAME") or None
    parts = [environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    url = f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}" if all(parts) else None
    return Origin(environ.get("GITHUB_SHA") or None, branch, url)


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - two fixed commands
            ["git", *args],  # noqa: S607 - the user's own git, wherever it is
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
