"""The commit and the branch: from a CI system, else from git, else unknown."""

import subprocess

import pytest

from pytest_evalmetrics.run_folder import Origin, origin_of

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SHA": "abc",
    "GITHUB_REF_NAME": "12/merge",
    "GITHUB_HEAD_REF": "",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "me/it",
    "GITHUB_RUN_ID": "7",
}


@pytest.mark.parametrize(
    ("environ", "origin"),
    [
        (GITHUB, Origin("abc", "12/merge", "https://github.com/me/it/actions/runs/7")),
        (
            GITHUB | {"GITHUB_HEAD_REF": "topic"},
            Origin("abc", "topic", "https://github.com/me/it/actions/runs/7"),
        ),
        ({"GITHUB_ACTIONS": "true"}, Origin()),
        (
            {"CI_COMMIT_SHA": "abc", "CI_COMMIT_REF_NAME": "main", "CI_JOB_URL": "https://x/1"},
            Origin("abc", "main", "https://x/1"),
        ),
        (
            {
                "CI_COMMIT_SHA": "abc",
                "CI_COMMIT_REF_NAME": "refs/merge",
                "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
            },
            Origin("abc", "topic"),
        ),
        ({"GIT_COMMIT": "abc", "GIT_BRANCH": "origin/main"}, Origin("abc", "origin/main")),
        ({"BUILDKITE_COMMIT": "abc"}, Origin("abc")),
    ],
)
def test_a_ci_system_comes_first(environ, origin, tmp_path):
    assert origin_of(environ, tmp_path) == origin


@pytest.fixture
def repository(tmp_path):
    for command in (
        ("init", "-q", "-b", "topic"),
        ("-c", "user.name=me", "-c", "user.email=me@x", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        done = subprocess.run(["git", *command], cwd=tmp_path, check=False, capture_output=True)
        if done.returncode:
            pytest.skip("there is no git")
    return tmp_path


def test_git_is_asked_where_no_ci_system_says_anything(repository):
    found = origin_of({}, repository)
    assert found.branch == "topic"
    assert len(found.commit or "") == 40
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=repository, check=True)
    assert origin_of({}, repository) == Origin(found.commit)


def test_no_repository_and_no_git_are_fine(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert origin_of({}, tmp_path) == Origin()
    monkeypatch.setenv("PATH", "")
    assert origin_of({}, tmp_path) == Origin()
    assert origin_of({}, tmp_path / "gone") == Origin()
