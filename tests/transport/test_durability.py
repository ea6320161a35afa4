"""Runs that are killed, interrupted or started twice, in processes of their own."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from transport.fakes import answers_in

ROWS = 120
SCRIPT = Path(__file__).with_name("crashing.py")


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal.sqlite3"


@pytest.fixture
def start(server, journal):
    processes = []

    def start(*, path="/ok?latency=0.01", rows=ROWS, parallelism=4, mode="normal", **more):
        process = subprocess.Popen(
            [sys.executable, SCRIPT, server.url(path), journal, str(rows), str(parallelism), mode],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def answered(process, rows):
    """Read until so many rows are answered."""
    for _ in range(rows):
        assert process.stdout.readline().startswith("answered")


def result(process):
    """Wait for the end, and return what it printed last."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_after_kill_9_only_what_is_missing_is_paid_for(server, start, journal):
    process = start()
    answered(process, ROWS // 2)
    process.kill()
    process.communicate()
    kept = answers_in(journal)
    paid = server.count("/ok")
    # answers that were reported some milliseconds before the kill are kept; at most
    # a group that was gathered, and what was in flight, is not
    assert paid - 16 <= kept <= paid
    resumed = result(start())
    assert resumed["hits"] == kept
    assert server.count("/ok") == paid + ROWS - kept
    assert answers_in(journal) == ROWS
    again = result(start())
    assert again["outcomes"] == resumed["outcomes"]
    assert again["hits"] == ROWS
    assert server.count("/ok") == paid + ROWS - kept
    replayed = result(start(mode="replay"))
    assert replayed["outcomes"] == resumed["outcomes"]


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C is sent to a whole console")
def test_ctrl_c_keeps_what_was_answered(server, start, journal):
    process = start()
    answered(process, ROWS // 4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    assert "never retrieved" not in err
    assert "was destroyed" not in err
    seen = ROWS // 4 + out.count("answered")
    assert answers_in(journal) >= seen
    assert answers_in(journal) < ROWS
    paid = server.count("/ok")
    resumed = result(start())
    assert resumed["hits"] >= seen
    assert server.count("/ok") == paid + ROWS - resumed["hits"]


def test_two_runs_at_once_on_one_journal(start, journal):
    results = [result(process) for process in [start(parallelism=8), start(parallelism=8)]]
    for each in results:
        assert len(each["outcomes"]) == ROWS
        assert each["warnings"] == []
    assert answers_in(journal) == ROWS


def test_a_server_that_is_killed_and_comes_back(server, start):
    process = start()
    answered(process, ROWS // 4)
    server.kill()
    server.start()
    outcomes = result(process)["outcomes"]
    assert [outcome for outcome in outcomes if isinstance(outcome, str)] == []
    assert len(outcomes) == ROWS


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX's")
def test_a_disk_that_is_full_for_the_journal(start, journal):
    """A real one: the system refuses to let the process's files grow."""
    resource = pytest.importorskip("resource")
    full = result(
        start(
            path="/echo",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)),
        )
    )
    assert len(full["outcomes"]) == ROWS
    assert all(isinstance(outcome, dict) for outcome in full["outcomes"])
    (warning,) = full["warnings"]
    assert f"the journal {journal} can't be written" in warning
    written = answers_in(journal)
    assert written < ROWS
    resumed = result(start(path="/echo"))
    assert resumed["hits"] == written
    assert resumed["outcomes"] == full["outcomes"]


def obey_permissions():
    """Take from root, in a process that is about to start, the right to write anywhere."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None).prctl
        for capability in (1, 2, 3):  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER
            assert prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="taking root's rights away is Linux's")
def test_a_folder_that_may_only_be_read(start, journal):
    first = result(start())
    journal.chmod(0o400)
    journal.parent.chmod(0o500)
    try:
        replayed = result(start(mode="replay", preexec_fn=obey_permissions))
        assert (replayed["hits"], replayed["outcomes"]) == (ROWS, first["outcomes"])
        again = result(start(rows=ROWS + 2, preexec_fn=obey_permissions))
    finally:
        journal.parent.chmod(0o700)
    assert (again["hits"], len(again["outcomes"])) == (ROWS, ROWS + 2)
    (warning,) = again["warnings"]
    assert f"the journal {journal} can't be written" in warning
