"""The commit and the branch of a run: from a CI system, else from git, else unknown."""

import json
import os
import subprocess

import pytest

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SHA": "abc",
    "GITHUB_REF_NAME": "12/merge",
    "GITHUB_HEAD_REF": "",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "me/it",
    "GITHUB_RUN_ID": "7",
}
GITLAB = {
    "CI_COMMIT_SHA": "abc",
    "CI_COMMIT_REF_NAME": "main",
    "CI_JOB_URL": "https://x/1",
}
OF_GITHUB = "https://github.com/me/it/actions/runs/7"


@pytest.fixture
def origin(project, passing, monkeypatch):
    """Run a benchmark; give the commit, the branch and the address of its line."""
    for name in list(os.environ):
        if name.startswith(("BUILDKITE_", "CI_", "GITHUB_")):
            monkeypatch.delenv(name)
    passing(7)
    project.bench()

    def run():
        assert project.run("--evalmetrics-history", "h.jsonl").ret == 0
        line = json.loads((project.path / "h.jsonl").read_text().splitlines()[-1])
        return line["commit"], line["branch"], line["url"]

    return run


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (GITHUB, ("abc", "12/merge", OF_GITHUB)),
        (GITHUB | {"GITHUB_HEAD_REF": "topic"}, ("abc", "topic", OF_GITHUB)),
        ({"GITHUB_ACTIONS": "true"}, (None, None, None)),
        (GITLAB, ("abc", "main", "https://x/1")),
        (
            GITLAB | {"CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic"},
            ("abc", "topic", "https://x/1"),
        ),
        (
            {"GIT_COMMIT": "abc", "GIT_BRANCH": "origin/main"},
            ("abc", "origin/main", None),
        ),
        ({"BUILDKITE_COMMIT": "abc"}, ("abc", None, None)),
    ],
)
def test_a_ci_system_comes_first(origin, monkeypatch, environ, expected):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert origin() == expected


def test_git_is_asked_where_no_ci_system_has_the_answer(origin, project, monkeypatch):
    assert origin() == (None, None, None)  # no repository
    for command in (
        ("init", "-q", "-b", "topic"),
        (
            "-c",
            "user.name=me",
            "-c",
            "user.email=me@x",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ),
    ):
        done = subprocess.run(
            ["git", *command], cwd=project.path, check=False, capture_output=True
        )
        if done.returncode:
            pytest.skip("there is no git")
    commit, branch, _ = origin()
    assert branch == "topic"
    assert len(commit) == 40
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=project.path, check=True)
    assert origin() == (commit, None, None)
    monkeypatch.setenv("PATH", "")
    assert origin() == (None, None, None)
