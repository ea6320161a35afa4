"""What a run judges: its commit, branch and job's page, as the CI system or git tells."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _System(msgspec.Struct, frozen=True, kw_only=True):
    """The variables of a CI system."""

    commit: str
    branches: tuple[str, ...]  # the first that is set
    page: str = ""  # of the job; a template of variables


_SYSTEMS = (
    # https://docs.github.com/actions/reference/workflows-and-actions/variables
    _System(
        commit="GITHUB_SHA",
        branches=("GITHUB_HEAD_REF", "GITHUB_REF_NAME"),
        page="{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}",
    ),
    # https://docs.gitlab.com/ci/variables/predefined_variables/
    _System(
        commit="CI_COMMIT_SHA",
        branches=("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"),
        page="{CI_JOB_URL}",
    ),
    _System(
        commit="BUILDKITE_COMMIT",
        branches=("BUILDKITE_BRANCH",),
        page="{BUILDKITE_BUILD_URL}",
    ),
    _System(
        commit="CIRCLE_SHA1", branches=("CIRCLE_BRANCH",), page="{CIRCLE_BUILD_URL}"
    ),
    _System(commit="BITBUCKET_COMMIT", branches=("BITBUCKET_BRANCH",)),
    # Azure Pipelines
    _System(
        commit="BUILD_SOURCEVERSION",
        branches=("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"),
    ),
    _System(
        commit="TRAVIS_COMMIT",
        branches=("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"),
        page="{TRAVIS_JOB_WEB_URL}",
    ),
    _System(
        commit="DRONE_COMMIT_SHA",
        branches=("DRONE_SOURCE_BRANCH", "DRONE_BRANCH"),
        page="{DRONE_BUILD_LINK}",
    ),
    # Jenkins
    _System(
        commit="GIT_COMMIT",
        branches=("CHANGE_BRANCH", "GIT_BRANCH"),
        page="{BUILD_URL}",
    ),
)


class RunOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What a run judges; None is unknown."""

    commit: str | None = None
    branch: str | None = None
    url: str | None = None  # of the CI job's page
    time: str  # UTC, of the judging


def origin_of(environ: Mapping[str, str], folder: Path) -> RunOrigin:
    """Return what a run judges: a CI system says it, elsewhere git.

    Parameters
    ----------
    environ
        The variables of the environment. SOURCE_DATE_EPOCH, in seconds, stands for the time, see
        https://reproducible-builds.org/specs/source-date-epoch/.
    folder
        A folder of the repository that git is asked about.
    """
    time = _time(environ)
    for system in _SYSTEMS:
        commit = environ.get(system.commit)
        if commit:
            return RunOrigin(
                commit=commit,
                branch=_first_set(environ, system.branches),
                url=_page(environ, system.page),
                time=time,
            )
    commit, branch = _head(folder)
    return RunOrigin(commit=commit, branch=branch, time=time)


def _time(environ: Mapping[str, str]) -> str:
    moment = datetime.now(UTC)
    epoch = environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdecimal():
        moment = datetime.fromtimestamp(int(epoch), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _first_set(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    for name in names:
        if environ.get(name):
            return environ[name]
    return None


def _page(environ: Mapping[str, str], template: str) -> str | None:
    """Return the page of a job; None where a variable of its address is not set."""
    try:
        return template.format_map(environ) or None
    except KeyError:
        return None


def _head(folder: Path) -> tuple[str | None, str | None]:
    """Ask git for the commit and branch of a folder; a detached commit has no branch."""
    import subprocess  # takes milliseconds, and CI systems say it themselves

    command = ["git", "rev-parse", "HEAD", "--abbrev-ref", "HEAD"]  # the user's own
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            cwd=folder,
            capture_output=True,
            errors="replace",
            check=True,
            timeout=5.0,
        )
        commit, branch = done.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None, None
    if branch == "HEAD":
        return commit, None
    return commit, branch
