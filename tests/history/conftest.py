"""A benchmark that is held against its history."""

import shutil

import pytest
from conftest import Project, SharedProject
from own_environment import own_environment

CI = ("CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GITLAB_CI")


@pytest.fixture
def project(pytester, monkeypatch):
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    return Project(pytester)


@pytest.fixture(scope="module")
def new_project(tmp_path_factory):
    """Make projects whose runs serve all tests of a module."""
    folder = tmp_path_factory.mktemp("project")
    with own_environment(folder) as patch:
        patch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
        yield lambda: SharedProject(tmp_path_factory.mktemp("project"))


@pytest.fixture
def copy_of(project):
    """Copy a project with what its runs left, for a test that goes on with it."""

    def copy(shared):
        shutil.copytree(shared.path, project.path, dirs_exist_ok=True)
        return project

    return copy


@pytest.fixture
def passing(project):
    """Write rollouts of ten tasks of which so many pass."""
    return lambda count: project.rollouts([[float(i < count)] for i in range(10)])
