"""What run.json says of a report, where a run comes from, and the locks of its files."""

import json
import os
import socket
import subprocess
import sys

import pytest

from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.file_locks import lock_byte, release_byte
from pytest_evalmetrics.run_folder import finished_report
from pytest_evalmetrics.run_origin import RunOrigin, origin_of

HINT = "compare with the report of a finished run"


@pytest.fixture
def report(tmp_path):
    """A report, and what its run says of the folder."""

    def write(state, **settings):
        path = tmp_path / "report.json"
        path.write_text("{}")
        told = {"run": "r1", "state": state, "started": "2026-01-01", "process": 7}
        (tmp_path / "run.json").write_text(json.dumps(told | settings))
        return path

    return write


# -- finished reports ------------------------------------------------------------------------


def test_a_report_of_another_name_is_taken_as_it_is(report):
    other = report("running").with_name("other.json")
    assert finished_report(other, "other.json") == other


def test_a_report_without_the_state_of_a_run_is_taken_as_it_is(tmp_path):
    assert finished_report(tmp_path / "report.json", "r") == tmp_path / "report.json"


def test_the_report_of_a_finished_run_is_taken(report):
    path = report("finished")
    assert finished_report(path, "report.json") == path


def test_a_run_that_died_gives_no_report(report):
    with pytest.raises(BaselineError) as error:
        finished_report(report("running", host="elsewhere"), "main/report.json")
    assert error.value.message == (
        "the run that writes this report died before it finished: process 7, started "
        "2026-01-01"
    )
    assert (error.value.file, error.value.hint) == ("main/report.json", HINT)


def test_the_run_itself_compares_with_the_report_before_it(report, tmp_path):
    path = report("running", host=socket.gethostname(), process=os.getpid())
    assert finished_report(path, "report.json") == path
    before = tmp_path / "previous" / "report.json"
    before.parent.mkdir()
    before.write_text("{}")
    assert finished_report(path, "report.json") == before


def test_a_run_that_could_not_write_its_files_gives_no_report(report):
    with pytest.raises(BaselineError, match="could not write all of its files"):
        finished_report(report("unfinished"), "report.json")


def test_a_report_of_other_bytes_is_refused_with_the_way_out(report):
    path = report("finished", artifacts={"report.json": "sha256:0"})
    with pytest.raises(BaselineError, match="the bytes differ") as error:
        finished_report(path, "report.json")
    assert (
        error.value.hint == "restore it, or take the whole folder of one finished run"
    )


def test_a_report_that_is_gone_is_reported_by_whoever_reads_it(report):
    path = report("finished", artifacts={"report.json": "sha256:0"})
    path.unlink()
    assert finished_report(path, "report.json") == path


# -- where a run comes from ------------------------------------------------------------------


def test_the_commit_branch_and_page_of_a_job_on_github(tmp_path):
    environ = {
        "GITHUB_SHA": "abc",
        "GITHUB_HEAD_REF": "",
        "GITHUB_REF_NAME": "main",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_RUN_ID": "7",
        "SOURCE_DATE_EPOCH": "0",
    }
    assert origin_of(environ, tmp_path) == RunOrigin(
        commit="abc",
        branch="main",
        url="https://github.com/a/b/actions/runs/7",
        time="1970-01-01T00:00:00Z",
    )


def test_a_job_without_a_page_has_none(tmp_path):
    environ = {"BITBUCKET_COMMIT": "abc", "BITBUCKET_BRANCH": "main"}
    origin = origin_of(environ, tmp_path)
    assert (origin.commit, origin.url) == ("abc", None)


def test_outside_of_ci_git_names_the_commit_and_branch_of_the_folder(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q", "-b", "work")
    git("commit", "-q", "--allow-empty", "-m", "first")
    origin = origin_of({}, tmp_path)
    assert origin.commit == git("rev-parse", "HEAD")
    assert origin.branch == "work"


def test_a_detached_commit_has_no_branch(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("checkout", "-q", "--detach")
    assert origin_of({}, tmp_path).branch is None


def test_a_folder_without_git_has_neither(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    origin = origin_of({}, tmp_path)
    assert (origin.commit, origin.branch, origin.url) == (None, None, None)


# -- locks -----------------------------------------------------------------------------------

HOLDER = """
import sys
from pytest_evalmetrics.file_locks import lock_byte
with open(sys.argv[1], "r+b") as file:
    print(lock_byte(file.fileno(), 3), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A file of which another process holds a byte."""
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "True\n"
    yield path
    holder.communicate("")


def test_a_byte_that_another_process_holds_is_not_locked(held):
    with held.open("r+b") as file:
        assert not lock_byte(file.fileno(), 3)
        assert lock_byte(file.fileno(), 4)


def test_a_byte_that_was_released_can_be_locked(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with path.open("r+b") as file:
        assert lock_byte(file.fileno(), 3)
        release_byte(file.fileno(), 3)
        run = subprocess.run(
            [sys.executable, "-c", HOLDER, str(path)],
            input="",
            capture_output=True,
            text=True,
            check=True,
        )
    assert run.stdout == "True\n"
