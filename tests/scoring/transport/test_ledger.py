"""The journal as a ledger: damaged, old, killed and shared, it loses no paid answer."""

import ctypes
import json
import os
import signal
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from scoring.transport.fakes import Client, answers_in, broken, ok

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.journal_copies import (
    clear_journal,
    export_journal,
)

SCRIPT = Path(__file__).with_name("crashing.py")
ANSWERS = 120


def body(n):
    """Make a body; one in ten is longer than a page."""
    return {"score": n / 7, "text": "é" * (6000 if n % 10 == 0 else n % 200)}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a journal of 120 answers."""
    path = tmp_path_factory.mktemp("ledger") / "journal.log"
    with Client(path) as client:
        client(lambda request: ok(body(json.loads(request.body)["row"])), mode="normal")
        client.ask_many(range(ANSWERS), 1)
    return path.read_bytes()


@pytest.fixture
def ledger(path, written):
    """A journal of 120 answers."""
    path.write_bytes(written)
    return path


def answers(path):
    """Return what a run finds, and its warnings; no answer is another than it was."""
    with Client(path) as client:
        client(broken("gone", fault=None), mode="normal")
        outcomes = client.ask_many(range(ANSWERS), 1)
        bodies = {
            n: o.body for n, o in outcomes.items() if not isinstance(o, CallError)
        }
        assert all(bodies[n] == body(n) for n in bodies)
        return bodies, client.transport.warnings


def lines_of(data):
    """Return where each record starts and ends; the first line is the head."""
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    return list(pairwise(ends))


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 1.0])
def test_three_thousand_damaged_bytes_cost_the_answers_they_hit(ledger, at):
    data = bytearray(ledger.read_bytes())
    start = int(at * (len(data) - 3000))
    hit = sum(first < start + 3000 and last > start for first, last in lines_of(data))
    data[start : start + 3000] = b"\xa5" * 3000
    ledger.write_bytes(data)
    found, (warning,) = answers(ledger)
    assert len(found) >= ANSWERS - hit
    assert f"{len(found)} answers of it are used on" in warning
    damaged = ledger.with_name("journal.log.damaged-1")
    assert damaged.read_bytes() == data
    assert stat.S_IMODE(damaged.stat().st_mode) == 0o600
    assert answers(ledger) == (found, ())  # the new one is whole


def overwrite(data, random):
    start = random.randrange(len(data))
    noise = random.randbytes(random.choice([1, 1, 8, 300, 3000]))
    return data[:start] + noise + data[start + len(noise) :], start, len(noise)


def flip_a_bit(data, random):
    start = random.randrange(len(data))
    flipped = data[start] ^ (1 << random.randrange(8))
    return data[:start] + bytes([flipped]) + data[start + 1 :], start, 1


def cut_out(data, random):
    start = random.randrange(len(data))
    size = random.choice([1, 100, 5000])
    return data[:start] + data[start + size :], start, size


def put_in(data, random):
    start = random.randrange(len(data))
    noise = random.randbytes(random.choice([1, 100, 5000]))
    return data[:start] + noise + data[start:], start, 0


def cut_off(data, random):
    start = random.randrange(200, len(data))
    return data[:start], start, len(data) - start


def fill_with_zeros(data, random):
    start = random.randrange(len(data))
    size = min(4096, len(data) - start)
    return data[:start] + bytes(size) + data[start + size :], start, size


def repeat(data, random):
    start = random.randrange(len(data))
    return data[: start + 4096] + data[start:], start + 4096, 0


WAYS = [overwrite, flip_a_bit, cut_out, put_in, cut_off, fill_with_zeros, repeat]


# four of each way
@pytest.mark.parametrize("seed", range(28))
def test_random_damage_costs_the_answers_that_it_hits_and_changes_none(ledger, seed):
    random = Random(seed)  # noqa: S311 - no secret
    whole = ledger.read_bytes()
    data, start, size = WAYS[seed % len(WAYS)](whole, random)
    ledger.write_bytes(data)
    hit = sum(
        first <= start + size and last >= start for first, last in lines_of(whole)
    )
    found, warnings = answers(ledger)
    assert len(found) >= ANSWERS - hit
    assert warnings or len(found) == ANSWERS or WAYS[seed % len(WAYS)] is cut_off
    assert answers(ledger) == (found, ())


def test_a_file_that_is_cut_keeps_the_answers_before_the_cut(ledger):
    data = ledger.read_bytes()
    ledger.write_bytes(data[: len(data) // 2])
    found, (warning,) = answers(ledger)
    assert len(found) >= ANSWERS // 2 - 12
    assert "was damaged" in warning


def test_a_damaged_head_costs_no_answer(ledger):
    ledger.write_bytes(b"\x80" + ledger.read_bytes()[1:])
    found, (warning,) = answers(ledger)
    assert len(found) == ANSWERS
    assert "was damaged" in warning


def test_a_damaged_journal_can_be_exported_replayed_and_cleared(ledger, tmp_path):
    data = ledger.read_bytes()
    ledger.write_bytes(data[:5000] + b"\x80" + data[5001:])
    with Client(ledger) as client:
        assert client(mode="replay").ask({"row": ANSWERS - 1}).body == body(ANSWERS - 1)
        (warning,) = client.transport.warnings
    assert "is damaged; 119 answers can be read" in warning
    assert export_journal(ledger, tmp_path / "copy.jsonl") == ANSWERS - 1
    assert clear_journal(ledger) == ANSWERS - 1


def test_a_changed_digit_is_no_other_answer(ledger):
    data = ledger.read_bytes()
    first = str(1 / 7).encode()
    assert data.count(first) == 1
    ledger.write_bytes(data.replace(first, b"9" * len(first)))
    found, _ = answers(ledger)
    assert sorted(found) == [n for n in range(ANSWERS) if n != 1]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_the_owner_alone_reads_it(ledger, client):
    ledger.chmod(0o644)  # as an earlier version left it
    client(mode="normal").ask()
    files = list(ledger.parent.glob("journal.log*"))
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert len(files) >= 2


# runs in processes of their own

IN_FLIGHT = 32  # calls


class Runs:
    """Runs of one benchmark."""

    def __init__(self, server, path):
        self._server, self._path = server, path
        self.processes = []

    def start(self, rows, parallelism=IN_FLIGHT, mode="normal", lease_s=30, **more):
        url = self._server.at("/ok?latency=0.02")
        command = [
            sys.executable,
            SCRIPT,
            url,
            self._path,
            str(rows),
            str(parallelism),
            mode,
            str(lease_s),
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
    both = [runs.start(150), runs.start(150)]
    first, second = (report(process) for process in both)
    assert first["outcomes"] == second["outcomes"]
    assert first["warnings"] == second["warnings"] == []
    assert runs.paid == answers_in(path) == 150


def test_a_claim_ends_with_its_process(runs):
    killed, other = runs.start(150), runs.start(150)
    answered(killed, 40)
    killed.kill()
    assert len(report(other)["outcomes"]) == 150
    assert runs.paid <= 150 + IN_FLIGHT  # what the killed one had in flight


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is suspended there")
def test_a_process_behind_a_suspended_one_goes_on_after_the_lease(runs):
    suspended = runs.start(150)
    answered(suspended, 40)
    suspended.send_signal(signal.SIGSTOP)
    second = report(runs.start(150, lease_s=1))
    assert len(second["outcomes"]) == 150
    (warning,) = second["warnings"]
    assert f"is shared with process {suspended.pid}, which gave no sign of life" in (
        warning
    )
    suspended.send_signal(signal.SIGCONT)
    assert report(suspended)["outcomes"] is not None
    assert runs.paid <= 150 + IN_FLIGHT


def test_three_kills_cost_what_was_in_flight(runs):
    rows = 300
    for _ in range(3):
        process = runs.start(rows)
        answered(process, 75)
        process.kill()
        process.communicate()
    whole = report(runs.start(rows))
    assert len(whole["outcomes"]) == rows
    paid = runs.paid
    assert paid <= rows + 3 * IN_FLIGHT
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
    small = (resource.RLIMIT_FSIZE, (20_000, 20_000))
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it would be cut off
    full = report(
        runs.start(150, preexec_fn=lambda: resource.setrlimit(*small), env=env)
    )
    assert (
        sum(isinstance(outcome, dict) for outcome in full["outcomes"])
        == runs.paid
        == 150
    )
    (warning,) = full["warnings"]
    assert f"the journal {path} can't be written" in warning
    written = answers_in(path)
    assert 0 < written < 150
    assert report(runs.start(150))["hits"] == written


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
