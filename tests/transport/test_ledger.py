"""The journal as a ledger: damaged, old, and shared by processes, it loses no paid answer."""

import json
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pytest_evalmetrics.transport import Journal, JournalMode

SCRIPT = Path(__file__).with_name("crashing.py")
ANSWERS = 400


def key(n):
    return n.to_bytes(20)


def text(n):
    """Write a body; one in ten is longer than a page."""
    return json.dumps({"score": n / 7, "text": "é" * (6000 if n % 10 == 0 else n % 200)})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "journal.sqlite3"
    with closing(Journal(path)) as journal:
        for n in range(ANSWERS):
            journal.put(key(n), status=200, text=text(n), latency_s=1.0, attempts=1)
    return path


def answers(path):
    """Count the answers that a run finds; none is another than it was."""
    with closing(Journal(path)) as journal:
        entries = [(n, journal.get(key(n))) for n in range(ANSWERS)]
        for n, entry in entries:
            assert entry is None or entry.text == text(n)
        return sum(entry is not None for _, entry in entries), journal.warnings


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 1.0])
def test_three_thousand_damaged_bytes_cost_the_answers_they_hit(path, at):
    data = bytearray(path.read_bytes())
    start = int(at * (len(data) - 3000))
    data[start : start + 3000] = b"\xa5" * 3000
    path.write_bytes(data)
    found, warnings = answers(path)
    assert found >= ANSWERS - 40
    damaged = path.with_name("journal.sqlite3.damaged-1")
    if damaged.exists():  # else only bodies were hit, which their checksums tell
        (warning,) = warnings
        assert f"{found} answers of it are used on" in warning
        assert damaged.read_bytes() == data
        assert stat.S_IMODE(damaged.stat().st_mode) == 0o600
    assert answers(path) == (found, [])  # the new one is whole


def test_a_file_that_is_cut_keeps_the_answers_before_the_cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    found, (warning,) = answers(path)
    assert found >= ANSWERS // 2 - 40
    assert "was damaged" in warning


def test_garbage_behind_the_end_costs_nothing(path):
    with path.open("ab") as file:
        file.write(b"\0garbage" * 400)
    assert answers(path)[0] == ANSWERS


def test_a_changed_digit_is_no_other_answer(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE answers SET body = ? WHERE key = ?", ('{"score": 0.9}', key(3)))
        db.commit()
    assert answers(path) == (ANSWERS - 1, [])


def test_an_older_journal_is_migrated(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE answers DROP COLUMN crc")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    with closing(Journal(path, JournalMode.REPLAY)) as replay:
        assert replay.get(key(5)) is not None
    assert answers(path) == (ANSWERS, [])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM answers WHERE crc IS NULL").fetchone() == (0,)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_the_owner_alone_reads_it(path):
    path.chmod(0o644)  # as an earlier version left it
    with closing(Journal(path)) as journal:
        journal.put(key(1), status=200, text="1", latency_s=1.0, attempts=1)
        journal.flush()
        files = list(path.parent.glob("journal.sqlite3*"))
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert len(files) >= 2


class Runs:
    """Runs of one benchmark in processes of their own."""

    def __init__(self, server, path):
        self._server, self._path = server, path
        self.processes = []

    def start(self, rows, parallelism=64):
        url = self._server.url("/ok?latency=0.02")
        command = [sys.executable, SCRIPT, url, self._path, str(rows), str(parallelism), "normal"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process

    @property
    def paid(self):
        return self._server.count("/ok")


@pytest.fixture
def runs(server, tmp_path):
    runs = Runs(server, tmp_path / "journal.sqlite3")
    yield runs
    for process in runs.processes:
        process.kill()
        process.communicate()


def outcome(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_two_processes_pay_once(runs):
    both = [runs.start(300), runs.start(300)]
    first, second = (outcome(process)["outcomes"] for process in both)
    assert first == second
    assert runs.paid == 300


def test_a_claim_ends_with_its_process(runs):
    killed, other = runs.start(300), runs.start(300)
    for _ in range(40):
        assert killed.stdout is not None
        killed.stdout.readline()
    killed.kill()
    assert len(outcome(other)["outcomes"]) == 300
    assert runs.paid <= 300 + 64  # what the killed one had in flight


def test_twenty_kills_cost_what_was_in_flight(runs):
    rows = 4_000
    for _ in range(20):
        process = runs.start(rows)
        assert process.stdout is not None
        for _ in range(150):
            if not process.stdout.readline():
                break
        process.kill()
        process.communicate()
    assert len(outcome(runs.start(rows))["outcomes"]) == rows
    assert runs.paid <= rows + 20 * 64 * 1.01
