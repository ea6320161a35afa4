import sqlite3
import threading
from contextlib import closing
from functools import partial

import pytest

from pytest_evalmetrics.transport import Journal, JournalError, JournalMode
from pytest_evalmetrics.transport.journal_store import Entry, JournalStore

TEXT = '{"score": 1.0}'


class Wall:
    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "journal.sqlite3"


def key(n):
    return n.to_bytes(20)


def put(journal, *numbers, text=TEXT):
    for n in numbers:
        journal.put(key(n), status=200, text=text, latency_s=0.25, attempts=2)


def fill(path, *numbers, wall=None, **settings):
    with closing(Journal(path, wall=wall or Wall(), **settings)) as journal:
        put(journal, *numbers)
    assert journal.warnings == []


def kept(path):
    with closing(JournalStore(path, readonly=True)) as store:
        return [int.from_bytes(k) for k, _ in store.all()]


def test_an_answer_comes_back_as_it_was(path):
    fill(path, 1)
    with closing(Journal(path)) as journal:
        entry = journal.get(key(1))
        assert (entry.status, entry.text, entry.latency_s, entry.attempts, entry.created) == (
            200,
            TEXT,
            0.25,
            2,
            1e9,
        )
        assert journal.get(key(2)) is None


def test_replay_without_a_journal_says_how_to_get_one(path):
    with (
        closing(Journal(path, JournalMode.REPLAY)) as journal,
        pytest.raises(JournalError, match=r"no journal to replay at .*journal\.sqlite3"),
    ):
        journal.get(key(1))
    assert not path.parent.exists()


def test_replay_of_what_a_killed_run_left(path):
    """Answers may still be in SQLite's -wal file."""
    path.parent.mkdir()
    with closing(JournalStore(path)) as killed:
        killed.write({key(7): Entry(200, TEXT, 0.25, 2, 1e9, 1e9)}, {})
        assert path.with_name("journal.sqlite3-wal").stat().st_size > 0
        with closing(Journal(path, JournalMode.REPLAY)) as journal:
            assert journal.get(key(7)).text == TEXT


# the bound


def test_the_least_recently_used_answers_go_first(path):
    wall, big = Wall(), '"' + "x" * 10_000 + '"'
    bound = {"max_bytes": 500_000, "wall": wall}
    for n in range(0, 40, 10):
        wall.now += 10_000
        with closing(Journal(path, **bound)) as journal:
            put(journal, *range(n, n + 10), text=big)
    wall.now += 10_000
    with closing(Journal(path, **bound)) as journal:
        for n in range(5):  # used again: they are not the oldest any more
            assert journal.get(key(n)) is not None
    wall.now += 10_000
    with closing(Journal(path, **bound)) as journal:
        put(journal, *range(40, 50), text=big)
    left = kept(path)
    assert set(range(5)) | set(range(40, 50)) <= set(left)
    assert not {5, 6, 7} & set(left)
    assert path.stat().st_size <= 500_000
    assert journal.warnings == []


def test_a_run_that_needs_more_than_the_bound_is_told(path):
    with closing(Journal(path, max_bytes=300_000)) as journal:
        for n in range(60):
            put(journal, n, text='"' + "x" * 10_000 + '"')
            journal.flush()
    assert path.stat().st_size <= 400_000
    (warning,) = journal.warnings
    assert "is too small: this run alone needs more than" in warning


# what a disk can do


class Full(JournalStore):
    """A store on a disk with room for some pages, until it gets more."""

    room: int | None = 20

    def write(self, *found, **options):
        limit = self.room if self.room is not None else 2**30
        self._db.execute(f"PRAGMA max_page_count = {limit}")
        super().write(*found, **options)


def test_a_full_disk_loses_no_answer_of_this_run_and_is_said_once(path):
    with closing(Journal(path, open_store=Full)) as journal:
        for n in range(100):
            put(journal, n, text='"' + "x" * 4000 + '"')
            journal.flush()
        assert all(journal.get(key(n)) for n in range(100))
        (warning,) = journal.warnings
        assert f"the journal {path} can't be written: database or disk is full" in warning
    assert 0 < len(kept(path)) < 100


def test_a_disk_that_gets_room_again_gets_what_waited(path):
    class Passing(Full):
        room = 20

    with closing(Journal(path, open_store=Passing)) as journal:
        for n in range(50):
            put(journal, n, text='"' + "x" * 4000 + '"')
            journal.flush()
        assert len(kept(path)) < 50
        Passing.room = None
    assert kept(path) == list(range(50))


def test_what_is_held_for_a_full_disk_is_bounded(path, monkeypatch):
    monkeypatch.setattr("pytest_evalmetrics.transport.journal._HELD_BYTES", 50_000)
    with closing(Journal(path, open_store=Full)) as journal:
        for n in range(100):
            put(journal, n, text='"' + "x" * 4000 + '"')
            journal.flush()
        assert sum(len(e.text) for e in journal._waiting.values()) <= 50_000


@pytest.mark.parametrize("damage", ["text", "other-program", "newer"])
def test_what_is_no_journal_of_ours_is_left_alone_and_nothing_is_called(path, damage):
    fill(path, 1)
    match damage:
        case "text":
            path.write_text("this is no database" * 1000)
        case "other-program":
            path.unlink()
            with closing(sqlite3.connect(path)) as db:
                db.execute("CREATE TABLE precious (x)")
        case "newer":
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA user_version = 3")
    before = path.read_bytes()
    with (
        closing(Journal(path)) as journal,
        pytest.raises(JournalError, match="nothing was called") as error,
    ):
        journal.claim(key(2))
    assert "--evalmetrics-journal" in str(error.value)
    assert path.read_bytes() == before


def test_a_journal_that_can_not_be_opened_costs_the_run_nothing_else(path):
    path.mkdir(parents=True)
    with closing(Journal(path)) as journal:
        for n in range(500):
            journal.get(key(n))
            put(journal, n)
        journal.flush()
    (warning,) = journal.warnings
    assert f"the journal {path} can't be " in warning
    assert "this run goes on without it" in warning
    with (
        closing(Journal(path, JournalMode.REPLAY)) as replay,
        pytest.raises(JournalError, match=r"journal\.sqlite3"),
    ):
        [replay.get(key(n)) for n in range(500)]


def test_a_folder_that_can_not_be_made_is_said_and_the_run_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    with closing(Journal(tmp_path / "file" / "journal.sqlite3")) as journal:
        assert journal.get(key(1)) is None
        put(journal, 1)
    assert "can't be opened" in journal.warnings[0]


def test_a_file_that_is_busy_for_a_while_is_waited_for(path):
    fill(path, 1)
    with (
        closing(Journal(path)) as journal,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        put(journal, 2)
        writer = threading.Thread(target=journal.flush)
        writer.start()
        assert journal.get(key(1)) is not None  # readers don't wait
        other.execute("COMMIT")
        writer.join(timeout=30)
        assert kept(path) == [1, 2]
        assert journal.warnings == []


def test_many_threads_and_journals_on_one_file(path):
    start = threading.Barrier(4)

    def run(first):
        with closing(Journal(path)) as journal:
            start.wait()
            for n in range(first, first + 300):
                put(journal, n)
                journal.get(key(n + 300))
        assert journal.warnings == []

    threads = [threading.Thread(target=partial(run, 300 * t)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept(path) == list(range(1200))
