import sqlite3
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest
from transport.fakes import select

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.transport import Journal, JournalMode
from pytest_evalmetrics.transport.journal_store import JournalStore
from pytest_evalmetrics.transport.wire import PaidAnswer

LARGE = '"' + "x" * 10_000 + '"'


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "journal.sqlite3"


def key(n):
    return n.to_bytes(20)


def put(journal, *numbers, text='{"score": 1.0}'):
    for n in numbers:
        journal.put(key(n), PaidAnswer(200, text, latency_s=0.25, attempts=2))
        journal.flush()


def kept(path):
    return [int.from_bytes(found) for (found,) in select(path, "key FROM answers ORDER BY key")]


def test_replay_without_a_journal_says_how_to_get_one(path):
    with (
        closing(Journal(path, JournalMode.REPLAY)) as journal,
        pytest.raises(EvalMetricsError, match=r"no journal to replay at .*journal\.sqlite3"),
    ):
        journal.get(key(1))
    assert not path.parent.exists()


def test_replay_of_what_a_killed_run_left(path):
    """Answers may still be in SQLite's -wal file."""
    with closing(Journal(path)) as killed:
        put(killed, 7)
        assert path.with_name("journal.sqlite3-wal").stat().st_size > 0
        with closing(Journal(path, JournalMode.REPLAY)) as journal:
            assert journal.get(key(7)).body == '{"score": 1.0}'


# the bound


def test_the_least_recently_used_answers_go_first(path):
    now = 1e9
    for used, written in (
        *((range(0), range(n, n + 10)) for n in range(0, 40, 10)),
        (range(5), range(0)),  # used again: they are not the oldest any more
        (range(0), range(40, 50)),
    ):
        now += 10_000
        with closing(Journal(path, max_bytes=500_000, wall=lambda now=now: now)) as journal:
            assert all(journal.get(key(n)) for n in used)
            put(journal, *written, text=LARGE)
    left = kept(path)
    assert set(range(5)) | set(range(40, 50)) <= set(left)
    assert not {5, 6, 7} & set(left)
    assert path.stat().st_size <= 500_000
    assert journal.warnings == []


def test_a_full_journal_drops_failures_before_what_was_paid_for_and_tells_when_it_drops_that(path):
    with closing(Journal(path, max_bytes=300_000)) as journal:
        put(journal, *range(10), text=LARGE)
        for n in range(100, 200):
            journal.put_failure(key(n), CallError("k", LARGE))
        assert kept(path) == list(range(10))
        assert 0 < select(path, "count(*) FROM failures")[0][0] < 20
        assert journal.warnings == []
        put(journal, *range(10, 60), text=LARGE)
        assert select(path, "count(*) FROM failures") == [(0,)]
    assert path.stat().st_size <= 400_000
    (warning,) = journal.warnings
    assert "is too small: this run alone needs more than" in warning


# what a disk can do


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for some pages, until it gets more."""
    disk = SimpleNamespace(room=20)
    write = JournalStore.write

    def write_within(store, *rows, **options):
        store._db.execute(f"PRAGMA max_page_count = {disk.room}")
        write(store, *rows, **options)

    monkeypatch.setattr(JournalStore, "write", write_within)
    return disk


def test_a_full_disk_loses_no_answer_of_this_run_and_gets_them_when_it_has_room(path, disk):
    with closing(Journal(path)) as journal:
        put(journal, *range(50), text=LARGE)
        assert all(journal.get(key(n)) for n in range(50))
        (warning,) = journal.warnings
        assert f"the journal {path} can't be written: database or disk is full" in warning
        assert 0 < len(kept(path)) < 50
        disk.room = 2**30
    assert kept(path) == list(range(50))


@pytest.mark.parametrize("other_program", [True, False])
def test_what_is_no_journal_of_ours_is_left_alone_and_nothing_is_called(path, other_program):
    path.parent.mkdir()
    if other_program:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE precious (x)")
    else:
        path.write_text("this is no database" * 1000)
    before = path.read_bytes()
    with (
        closing(Journal(path)) as journal,
        pytest.raises(EvalMetricsError, match="nothing was called") as error,
    ):
        journal.claim(key(2))
    assert "--evalmetrics-journal" in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_journal_that_can_not_be_opened_costs_the_run_nothing_else(path, is_folder):
    if is_folder:
        path.mkdir(parents=True)
    else:
        path.parent.write_text("")
    with closing(Journal(path)) as journal:
        assert journal.get(key(1)) is None
        put(journal, 1)
    (warning,) = journal.warnings
    assert f"the journal {path} can't be " in warning
    assert "this run goes on without it" in warning
    with (
        closing(Journal(path, JournalMode.REPLAY)) as replay,
        pytest.raises(EvalMetricsError, match=r"journal\.sqlite3"),
    ):
        replay.get(key(1))


def test_a_file_that_is_busy_for_a_while_is_waited_for(path):
    with closing(Journal(path)) as journal:
        put(journal, 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer = threading.Thread(target=put, args=(journal, 2))
            writer.start()
            other.execute("COMMIT")
            writer.join(timeout=30)
        assert kept(path) == [1, 2]
        assert journal.warnings == []
