"""A benchmark that is held against its history."""

import pytest
from conftest import Project

CI = ("CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GITLAB_CI")


@pytest.fixture
def project(pytester, monkeypatch):
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    return Project(pytester)


@pytest.fixture
def passing(project):
    """Write rollouts of ten tasks of which so many pass."""
    return lambda count: project.rollouts([[float(i < count)] for i in range(10)])
