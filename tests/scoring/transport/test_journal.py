import errno
import os
from contextlib import closing

import pytest
from scoring.transport.fakes import Client, answers_in, failures_in, raw

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.journal_file import JournalFile

LARGE = '"' + "x" * 10_000 + '"'


def run(client, mode="normal", **settings):
    return client(raw(LARGE.encode()), mode=mode, **settings)


def test_replay_without_a_journal_explains_how_to_get_one(client, path):
    with pytest.raises(
        EvalMetricsError, match=r"no journal to replay at .*journal\.log"
    ):
        run(client, "replay").ask()
    assert not path.exists()


def test_an_answer_is_on_disk_while_the_run_still_goes_on(client, path):
    run(client).ask()
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
    assert len(failures_in(path)) < 20
    assert client.transport.warnings == ()
    client.ask_many(range(10, 60), 1)
    assert failures_in(path) == []
    (warning,) = client.transport.warnings
    assert "is too small: this run alone needs more than" in warning
    client()
    assert path.stat().st_size <= 400_000


# what a disk can do


def test_a_full_disk_loses_no_answer_of_this_run_and_gets_them_when_it_has_room(
    client, path, monkeypatch
):
    write = os.write
    room = 200_000

    def write_to_a_small_disk(file, data):
        fits = max(0, room - os.fstat(file).st_size)
        if fits == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:fits])

    run(client).ask_many(range(1), 1)
    monkeypatch.setattr(os, "write", write_to_a_small_disk)
    client.ask_many(range(50), 1)
    assert all(answer.from_journal for answer in client.ask_many(range(50), 1).values())
    (warning,) = client.transport.warnings
    assert f"the journal {path} can't be written: " in warning
    assert "No space left on device" in warning
    assert 0 < answers_in(path) < 50
    monkeypatch.setattr(os, "write", write)
    client()
    assert answers_in(path) == 50
    assert not JournalFile(path, readonly=True).is_damaged


NO_JOURNALS = {
    "another program's": b"SQLite format 3\0" + bytes(4000),
    "a text": b"this is no journal" * 1000,
    "empty": b"",
    "a newer one": b"evalmetrics-journal 4\n",
    "its first bytes": b"evalmet",
}


@pytest.mark.parametrize("content", NO_JOURNALS.values(), ids=NO_JOURNALS)
def test_what_is_no_journal_of_ours_is_left_alone_and_nothing_is_called(
    client, path, content
):
    path.write_bytes(content)
    with pytest.raises(EvalMetricsError, match="nothing was called"):
        run(client).ask()
    assert client.sender.bodies == []
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_refused_before_anything_is_called(client, path):
    path.mkdir()
    with pytest.raises(EvalMetricsError, match=r"it is a folder\. Nothing was called"):
        run(client).ask()
    assert client.sender.bodies == []
    with pytest.raises(EvalMetricsError, match="it is a folder"):
        run(client, "replay").ask()


def test_a_journal_that_can_not_be_made_costs_the_run_nothing_else(tmp_path):
    path = tmp_path / "cache" / "journal.log"
    path.parent.write_text("")
    with Client(path) as client:
        assert not run(client).ask().from_journal
        (warning,) = client.transport.warnings
        assert f"the journal {path} can't be made" in warning
        assert "this run goes on without it" in warning
        with pytest.raises(EvalMetricsError, match=r"journal\.log"):
            run(client, "replay").ask()


def test_a_journal_that_another_process_makes_smaller_keeps_the_answers_of_this_one(
    client, path
):
    run(client).ask(1)
    with closing(JournalFile(path)) as other:
        other.clear()
    client.ask(2)
    assert answers_in(path) == 1  # the one that came later
    assert client.ask(2).from_journal
