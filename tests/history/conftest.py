"""A benchmark that is held against its history."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this folder too

CI = ("CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GITLAB_CI")


@pytest.fixture
def quick(pytester, monkeypatch):
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    return Quick(pytester)


@pytest.fixture
def passing(quick):
    """Write rollouts of ten tasks of which so many pass."""
    return lambda count: quick.rollouts([[float(i < count)] for i in range(10)])
