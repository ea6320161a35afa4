import sqlite3
import threading
from contextlib import closing

import pytest
from transport.fakes import Client, answers_in, raw, select

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError

LARGE = '"' + "x" * 10_000 + '"'


def run(client, mode="normal", **settings):
    return client(raw(LARGE.encode()), mode=mode, **settings)


def test_replay_without_a_journal_explains_how_to_get_one(client, path):
    with pytest.raises(
        EvalMetricsError, match=r"no journal to replay at .*journal\.sqlite3"
    ):
        run(client, "replay").ask()
    assert not path.exists()


def test_replay_of_what_a_killed_run_left(client, path):
    """Answers may still be in SQLite's -wal file."""
    run(client).ask()
    assert path.with_name("journal.sqlite3-wal").stat().st_size > 0
    with Client(path) as another:
        assert run(another, "replay").ask().from_journal


# the bound


def test_the_least_recently_used_answers_go_first(client, path):
    for used, written in (
        *((range(0), range(n, n + 10)) for n in range(0, 40, 10)),
        (range(5), range(0)),  # used again: they are not the oldest any more
        (range(0), range(40, 50)),
    ):
        client.time.now += 10_000
        run(client, max_bytes=500_000)
        assert all(answer.from_journal for answer in client.ask_many(used, 1).values())
        client.ask_many(written, 1)
        assert client.transport.warnings == ()
    outcomes = run(client, "replay").ask_many(range(50), 1)
    left = {
        row for row, outcome in outcomes.items() if not isinstance(outcome, CallError)
    }
    assert {*range(5), *range(40, 50)} <= left
    assert not {5, 6, 7} & left
    client()
    assert path.stat().st_size <= 500_000


def test_a_full_journal_drops_failures_before_paid_answers_and_warns_when_it_drops_those(
    client, path
):
    def refuse(_body):
        raise CallError("k", LARGE)

    run(client, max_bytes=300_000).ask_many(range(10), 1)
    for n in range(100, 200):
        with pytest.raises(CallError):
            client.ask(n, check=refuse)
    assert answers_in(path) == 10
    assert 0 < select(path, "count(*) FROM failures")[0][0] < 20
    assert client.transport.warnings == ()
    client.ask_many(range(10, 60), 1)
    assert select(path, "count(*) FROM failures") == [(0,)]
    (warning,) = client.transport.warnings
    assert "is too small: this run alone needs more than" in warning
    client()
    assert path.stat().st_size <= 400_000


# what a disk can do


def test_a_full_disk_loses_no_answer_of_this_run_and_gets_them_when_it_has_room(
    client, path
):
    run(client).ask_many(range(1), 1)
    disk = client.transport._journal._store._db
    disk.execute("PRAGMA max_page_count = 20")
    client.ask_many(range(50), 1)
    assert all(answer.from_journal for answer in client.ask_many(range(50), 1).values())
    (warning,) = client.transport.warnings
    assert f"the journal {path} can't be written: database or disk is full" in warning
    assert 0 < answers_in(path) < 50
    disk.execute("PRAGMA max_page_count = 1000000")
    client()
    assert answers_in(path) == 50


@pytest.mark.parametrize("other_program", [True, False])
def test_what_is_no_journal_of_ours_is_left_alone_and_nothing_is_called(
    client, path, other_program
):
    if other_program:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE precious (x)")
    else:
        path.write_text("this is no database" * 1000)
    before = path.read_bytes()
    with pytest.raises(EvalMetricsError, match="nothing was called") as error:
        run(client).ask()
    assert "--evalmetrics-journal" in str(error.value)
    assert client.sender.bodies == []
    assert path.read_bytes() == before


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_journal_that_can_not_be_opened_costs_the_run_nothing_else(
    tmp_path, is_folder
):
    path = tmp_path / "cache" / "journal.sqlite3"
    if is_folder:
        path.mkdir(parents=True)
    else:
        path.parent.write_text("")
    with Client(path) as client:
        assert not run(client).ask().from_journal
        (warning,) = client.transport.warnings
        assert f"the journal {path} can't be " in warning
        assert "this run goes on without it" in warning
        with pytest.raises(EvalMetricsError, match=r"journal\.sqlite3"):
            run(client, "replay").ask()


def test_a_file_that_is_busy_for_a_while_is_waited_for(client, path):
    run(client).ask(1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writer = threading.Thread(target=client.ask, args=(2,))
        writer.start()
        other.execute("COMMIT")
        writer.join(timeout=30)
    assert answers_in(path) == 2
    assert client.transport.warnings == ()
