"""The journal as a ledger: damaged, old, killed and shared, it loses no paid answer."""

import ctypes
import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from transport.fakes import Client, answers_in, broken, ok, select

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError

SCRIPT = Path(__file__).with_name("crashing.py")
ANSWERS = 400


def body(n):
    """Make a body; one in ten is longer than a page."""
    return {"score": n / 7, "text": "é" * (6000 if n % 10 == 0 else n % 200)}


@pytest.fixture
def ledger(client, path):
    """A journal of 400 answers."""
    client(lambda request: ok(body(json.loads(request.body)["row"])), mode="normal")
    client.ask_many(range(ANSWERS), 1)
    client()
    return path


def answers(path):
    """Count the answers that a run finds; none is another than it was."""
    with Client(path) as client:
        client(broken("gone", fault=None), mode="normal")
        outcomes = client.ask_many(range(ANSWERS), 1)
        bodies = {
            n: o.body for n, o in outcomes.items() if not isinstance(o, CallError)
        }
        assert all(bodies[n] == body(n) for n in bodies)
        return len(bodies), client.transport.warnings


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 1.0])
def test_three_thousand_damaged_bytes_cost_the_answers_they_hit(ledger, at):
    data = bytearray(ledger.read_bytes())
    start = int(at * (len(data) - 3000))
    data[start : start + 3000] = b"\xa5" * 3000
    ledger.write_bytes(data)
    count, warnings = answers(ledger)
    assert count >= ANSWERS - 40
    damaged = ledger.with_name("journal.sqlite3.damaged-1")
    if damaged.exists():  # else only bodies were hit, which their checksums tell
        (warning,) = warnings
        assert f"{count} answers of it are used on" in warning
        assert damaged.read_bytes() == data
        assert stat.S_IMODE(damaged.stat().st_mode) == 0o600
    assert answers(ledger) == (count, ())  # the new one is whole


def test_a_file_that_is_cut_keeps_the_answers_before_the_cut(ledger):
    data = ledger.read_bytes()
    ledger.write_bytes(data[: len(data) // 2])
    count, (warning,) = answers(ledger)
    assert count >= ANSWERS // 2 - 40
    assert "was damaged" in warning


def test_a_stub_is_set_aside_and_another_short_file_is_refused(ledger, client):
    ledger.write_bytes(ledger.read_bytes()[:100])
    client(mode="normal").ask()
    assert client(mode="normal").ask().from_journal
    client()  # closes it
    ledger.write_text("my notes")
    with pytest.raises(EvalMetricsError, match="is not a journal: nothing was called"):
        client(mode="normal").ask()
    assert ledger.read_text() == "my notes"


def test_garbage_behind_the_end_costs_nothing_and_a_changed_digit_is_no_other_answer(
    ledger,
):
    with ledger.open("ab") as file:
        file.write(b"\0garbage" * 400)
    assert answers(ledger)[0] == ANSWERS
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("UPDATE answers SET body = '{\"score\": 0.9}' WHERE rowid = 3")
        db.commit()
    assert answers(ledger) == (ANSWERS - 1, ())


def test_an_older_journal_is_migrated(ledger, client):
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("ALTER TABLE answers DROP COLUMN crc")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    assert client(mode="replay").ask({"row": 5}).from_journal
    assert answers(ledger) == (ANSWERS, ())
    assert select(ledger, "count(*) FROM answers WHERE crc IS NULL") == [(0,)]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_the_owner_alone_reads_it(ledger, client):
    ledger.chmod(0o644)  # as an earlier version left it
    client(mode="normal").ask()
    files = list(ledger.parent.glob("journal.sqlite3*"))
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert len(files) >= 2


# runs in processes of their own


class Runs:
    """Runs of one benchmark."""

    def __init__(self, server, path):
        self._server, self._path = server, path
        self.processes = []

    def start(self, rows, parallelism=64, mode="normal", **more):
        url = self._server.at("/ok?latency=0.02")
        command = [
            sys.executable,
            SCRIPT,
            url,
            self._path,
            str(rows),
            str(parallelism),
            mode,
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
        )
        self.processes.append(process)
        return process

    @property
    def paid(self):
        return self._server.count("/ok")


@pytest.fixture
def runs(server, path):
    runs = Runs(server, path)
    yield runs
    for process in runs.processes:
        process.kill()
        process.communicate()


def answered(process, rows):
    """Read until so many rows are answered, or all that it will answer."""
    for _ in range(rows):
        if not process.stdout.readline():
            break


def report(process):
    """Wait for the end; return what it knows."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_two_processes_pay_once(runs, path):
    both = [runs.start(300), runs.start(300)]
    first, second = (report(process) for process in both)
    assert first["outcomes"] == second["outcomes"]
    assert first["warnings"] == second["warnings"] == []
    assert runs.paid == answers_in(path) == 300


def test_a_claim_ends_with_its_process(runs):
    killed, other = runs.start(300), runs.start(300)
    answered(killed, 40)
    killed.kill()
    assert len(report(other)["outcomes"]) == 300
    assert runs.paid <= 300 + 64  # what the killed one had in flight


def test_six_kills_cost_what_was_in_flight(runs):
    rows = 1_200
    for _ in range(6):
        process = runs.start(rows)
        answered(process, 150)
        process.kill()
        process.communicate()
    whole = report(runs.start(rows))
    assert len(whole["outcomes"]) == rows
    paid = runs.paid
    assert paid <= rows + 6 * 64 * 1.01
    assert report(runs.start(rows, mode="replay"))["outcomes"] == whole["outcomes"]
    assert runs.paid == paid


def test_a_server_that_is_killed_and_comes_back(runs, server):
    process = runs.start(120, 4)
    answered(process, 30)
    server.kill()
    server.start()
    outcomes = report(process)["outcomes"]
    assert [outcome for outcome in outcomes if isinstance(outcome, str)] == []
    assert len(outcomes) == 120


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX's")
def test_a_disk_that_is_full_for_the_journal(runs, path):
    """A real one: the system refuses to let the process's files grow."""
    resource = pytest.importorskip("resource")
    small = (resource.RLIMIT_FSIZE, (40_000, 40_000))
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it would be cut off
    full = report(
        runs.start(400, preexec_fn=lambda: resource.setrlimit(*small), env=env)
    )
    assert (
        sum(isinstance(outcome, dict) for outcome in full["outcomes"])
        == runs.paid
        == 400
    )
    (warning,) = full["warnings"]
    assert f"the journal {path} can't be written" in warning
    written = answers_in(path)
    assert written < 400
    assert report(runs.start(400))["hits"] == written


def obey_permissions():
    """Take from root, in a process that is about to start, the right to write anywhere."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None).prctl
        for capability in (1, 2, 3):  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER
            assert prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.skipif(
    sys.platform != "linux", reason="taking root's rights away is Linux's"
)
def test_a_folder_that_may_only_be_read(runs, path):
    first = report(runs.start(120))
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        replayed = report(runs.start(120, mode="replay", preexec_fn=obey_permissions))
        again = report(runs.start(122, preexec_fn=obey_permissions))
    finally:
        path.parent.chmod(0o700)
    assert (replayed["hits"], replayed["outcomes"]) == (120, first["outcomes"])
    assert (again["hits"], len(again["outcomes"])) == (120, 122)
    (warning,) = again["warnings"]
    assert f"the journal {path} can't be written" in warning
