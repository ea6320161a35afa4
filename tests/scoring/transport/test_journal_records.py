"""The file of the journal, record by record, as its documentation describes it."""

import errno
import os
from zlib import crc32

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport import journal_file
from pytest_evalmetrics.scoring.transport.journal_file import (
    JournalFile,
    KeptFailure,
    create_journal,
    record_of,
    refuse_other_things,
)
from pytest_evalmetrics.scoring.transport.wire import JournalError, PaidAnswer

HEAD = b"evalmetrics-journal 3\n"
KEY = bytes(range(20))
OTHER = bytes(range(1, 21))
THIRD = bytes(range(2, 22))
ANSWER = PaidAnswer(200, '{"score": 1}', 0.5, 2, 100.0)
FAILURE = KeptFailure("timeout", "too slow", None, None, 4, None, 50.0)


def line(payload):
    """Write a record by hand: its checksum, its length, itself."""
    return b"%08x %08x %s\n" % (crc32(payload), len(payload), payload)


def answer_line(key=KEY, body='"x"', created=1.0):
    return record_of(key, PaidAnswer(200, body, 0.5, 1, created))


def used_line(key, at):
    return line(b"u %s %s" % (key.hex().encode(), at))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.log"


@pytest.fixture
def opened(path):
    """Open the file with some content; all are closed at the end."""
    files = []

    def opened(content=b"", *, head=HEAD, readonly=False):
        path.write_bytes(head + content)
        path.chmod(0o600)
        files.append(JournalFile(path, readonly=readonly))
        return files[-1]

    yield opened
    for file in files:
        file.close()


# -- records -------------------------------------------------------------------------------------


def test_an_answer_is_a_line_of_its_checksum_its_length_and_its_json():
    payload = (
        b"a 000102030405060708090a0b0c0d0e0f10111213 "
        b'{"status":200,"body":"{\\"score\\": 1}","latency_s":0.5,"attempts":2,"created":100.0}'
    )
    assert record_of(KEY, ANSWER) == line(payload)


def test_a_failure_is_a_line_too():
    payload = (
        b"f 000102030405060708090a0b0c0d0e0f10111213 "
        b'{"kind":"timeout","message":"too slow","hint":null,"status":null,"attempts":4,'
        b'"body":null,"created":50.0}'
    )
    assert record_of(KEY, FAILURE) == line(payload)


@pytest.mark.parametrize("field", ["kind", "message", "hint"])
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * 16_384, "x" * 16_384),
        ("x" * 16_385, "x" * 16_383 + "\u2026"),
        ("\xe9\ud800", "\xe9\\ud800"),
    ],
    ids=["short", "long", "half a pair"],
)
def test_the_texts_of_a_failure_are_cut_and_can_be_written(opened, field, text, kept):
    failure = KeptFailure(**{"kind": "k", "message": "m", "hint": "h"} | {field: text},
        status=None, attempts=1, body=None)  # fmt: skip
    journal = opened(record_of(KEY, failure))
    assert getattr(journal.get(KEY, failures=True), field) == kept


def test_what_is_appended_is_found_and_on_disk(opened, path):
    journal = opened()
    journal.append(KEY, ANSWER)
    assert journal.get(KEY) == ANSWER
    assert path.read_bytes() == HEAD + record_of(KEY, ANSWER)


def test_a_later_answer_replaces_an_earlier_one(opened):
    journal = opened(answer_line(body='"old"') + answer_line(body='"new"'))
    assert journal.get(KEY).body == '"new"'
    assert len(journal) == 1
    journal.append(KEY, ANSWER)
    assert journal.get(KEY) == ANSWER


def test_a_failure_is_found_only_where_it_is_asked_for(opened):
    journal = opened(record_of(KEY, FAILURE))
    assert journal.get(KEY) is None
    assert journal.get(KEY, failures=True) == FAILURE
    assert len(journal) == 0


def test_an_answer_replaces_a_failure_and_a_failure_no_answer(opened):
    journal = opened()
    journal.append(KEY, FAILURE)
    journal.append(KEY, ANSWER)
    assert list(journal.all()) == [(KEY, ANSWER)]
    journal.append(KEY, FAILURE)
    assert journal.get(KEY, failures=True) == ANSWER
    assert list(journal.all()) == [(KEY, ANSWER)]


def test_all_are_the_answers_then_the_failures_in_the_order_of_their_keys(opened):
    journal = opened()
    for key, kept in (
        (THIRD, FAILURE),
        (OTHER, ANSWER),
        (KEY, FAILURE),
        (bytes(20), ANSWER),
    ):
        journal.append(key, kept)
    assert [key for key, _ in journal.all()] == [bytes(20), OTHER, KEY, THIRD]


def test_what_another_process_appends_is_found(opened, path):
    journal = opened()
    with path.open("ab") as other:
        other.write(answer_line())
    assert journal.get(KEY).body == '"x"'


def test_records_of_others_before_an_own_one_are_found(opened, path):
    journal = opened()
    with path.open("ab") as other:
        other.write(answer_line(OTHER))
    journal.append(KEY, ANSWER)
    assert journal.get(KEY) == ANSWER
    assert journal.get(OTHER).body == '"x"'


# -- when an answer was used -----------------------------------------------------------------------


def test_the_time_of_a_use_is_noted_to_the_millisecond(opened, path):
    journal = opened(answer_line())
    assert journal.used(KEY) == 0.0
    journal.note_used({KEY: 12.3456})
    assert journal.used(KEY) == 12.3456
    assert path.read_bytes().endswith(used_line(KEY, b"12.346"))
    assert JournalFile(path, readonly=True).used(KEY) == 12.346


def test_a_use_that_is_no_number_is_passed_over(opened):
    journal = opened(used_line(KEY, b"soon") + answer_line())
    assert journal.used(KEY) == 0.0
    assert journal.get(KEY) is not None
    assert not journal.is_damaged


def test_no_use_writes_nothing(opened, path):
    opened().note_used({})
    assert path.read_bytes() == HEAD


# -- damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damaged",
    [
        answer_line()[:-9] + b"garbage!\n",
        b"x" + answer_line(),
        b"garbage\n",
        line(b"a " + b"zz" * 20 + b" {}"),
        b"%08x %08x %s\n" % (1, 60, b"a" * 60),
    ],
)
def test_a_damaged_record_costs_itself_alone(opened, damaged):
    journal = opened(answer_line(OTHER) + damaged + answer_line(THIRD))
    assert journal.is_damaged
    assert journal.get(KEY) is None
    assert journal.get(OTHER) is not None
    assert journal.get(THIRD) is not None


@pytest.mark.parametrize("kind", [b"a", b"f"])
def test_a_record_whose_json_is_another_is_passed_over(opened, kind):
    journal = opened(line(kind + b" " + KEY.hex().encode() + b' {"a": 1}'))
    assert journal.get(KEY, failures=True) is None
    assert list(journal.all()) == []


def test_a_record_of_a_kind_that_a_later_version_has_is_no_damage(opened):
    journal = opened(line(b"z " + KEY.hex().encode() + b" {}") + answer_line(OTHER))
    assert not journal.is_damaged
    assert journal.get(OTHER) is not None


def test_a_record_that_was_cut_and_marked_is_no_damage(opened):
    cut = answer_line(KEY)[:30] + b"\n~\n"
    journal = opened(cut + answer_line(OTHER))
    assert not journal.is_damaged
    assert journal.get(OTHER) is not None


def test_two_records_on_one_line_are_both_read(opened):
    journal = opened(answer_line(KEY)[:-1] + answer_line(OTHER))
    assert journal.get(KEY) is not None
    assert journal.get(OTHER) is not None


def test_empty_lines_are_no_damage(opened):
    journal = opened(b"\n\n" + answer_line() + b"\n")
    assert not journal.is_damaged
    assert journal.get(KEY) is not None


@pytest.fixture
def looks(monkeypatch):
    """The waits for the end of a record that another process may be writing."""
    looks = []
    monkeypatch.setattr(journal_file.time, "sleep", looks.append)
    return looks


def test_a_file_that_ends_within_a_record_is_damaged_after_a_tenth_of_a_second(
    opened, looks
):
    journal = opened(answer_line(OTHER) + answer_line(KEY)[:-5])
    assert journal.is_damaged
    assert looks == [0.02] * 5
    assert journal.get(OTHER) is not None


def test_the_next_record_after_a_cut_one_begins_on_a_line_of_its_own(
    opened, path, looks
):
    journal = opened(answer_line(KEY)[:-5])
    assert looks
    journal.append(OTHER, ANSWER)
    journal.append(THIRD, ANSWER)
    ours = record_of(OTHER, ANSWER) + record_of(THIRD, ANSWER)
    assert path.read_bytes() == HEAD + answer_line(KEY)[:-5] + b"\n~\n" + ours
    again = JournalFile(path, readonly=True)
    assert len(again) == 2
    assert not again.is_damaged


def test_a_record_that_another_process_ends_meanwhile_is_whole(
    opened, path, monkeypatch
):
    whole = answer_line()

    def the_other_writes(_seconds):
        path.write_bytes(HEAD + whole)

    monkeypatch.setattr(journal_file.time, "sleep", the_other_writes)
    journal = opened(whole[:-5])
    assert not journal.is_damaged
    assert journal.get(KEY) is not None


def test_a_damaged_file_is_set_aside_and_its_records_go_on(opened, path):
    damaged = answer_line(KEY) + b"garbage\n" + record_of(OTHER, FAILURE)
    journal = opened(damaged + used_line(KEY, b"7.000"))
    aside, count = journal.repair()
    assert aside == path.with_name("journal.log.damaged-1")
    assert aside.read_bytes() == HEAD + damaged + used_line(KEY, b"7.000")
    assert count == 1
    assert path.read_bytes() == (
        HEAD + answer_line(KEY) + record_of(OTHER, FAILURE) + used_line(KEY, b"7.000")
    )
    assert not journal.is_damaged
    assert journal.used(KEY) == 7.0


@pytest.mark.parametrize("earlier", [1, 2])
def test_damaged_files_have_numbers(opened, path, earlier):
    for number in range(1, earlier + 1):
        path.with_name(f"journal.log.damaged-{number}").write_text("")
    aside, _ = opened(b"garbage\n").repair()
    assert aside.name == f"journal.log.damaged-{earlier + 1}"


def test_a_file_system_without_links_gets_a_copy_of_the_damaged_file(
    opened, monkeypatch
):
    def no_links(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    aside, _ = opened(b"garbage\n").repair()
    assert aside.read_bytes() == HEAD + b"garbage\n"


# -- the bound ---------------------------------------------------------------------------------------


def test_a_file_within_its_bound_stays(opened, path):
    journal = opened(answer_line())
    assert journal.evict(path.stat().st_size) is None
    assert path.read_bytes() == HEAD + answer_line()


def test_the_least_recently_used_answers_are_dropped_down_to_nine_tenths(opened, path):
    keys = [bytes([number]) * 20 for number in range(10)]
    lines = [answer_line(key, created=float(at)) for at, key in enumerate(keys)]
    size = len(lines[0])
    journal = opened(b"".join(lines) + used_line(keys[0], b"50.000"))
    # room for six: 0.9 of 7 is 6.3
    assert journal.evict(7 * size) == 4.0
    assert sorted(key[0] for key, _ in journal.all()) == [0, 5, 6, 7, 8, 9]
    assert path.read_bytes() == (
        HEAD + lines[0] + b"".join(lines[5:]) + used_line(keys[0], b"50.000")
    )


def test_answers_that_fill_the_room_to_the_last_byte_are_kept(opened):
    keys = [bytes([number]) * 20 for number in range(11)]
    lines = [answer_line(key, created=1.0) for key in keys]
    journal = opened(b"".join(lines))
    journal.evict(10 * len(lines[0]))
    assert len(journal) == 9


def test_failures_are_dropped_before_answers(opened):
    journal = opened(answer_line(KEY) + record_of(OTHER, FAILURE) * 3)
    assert journal.evict(len(answer_line(KEY)) * 2) is None
    assert [key for key, _ in journal.all()] == [KEY]


def test_clearing_drops_all_and_counts_the_answers(opened, path):
    journal = opened(answer_line(KEY) + answer_line(OTHER) + record_of(THIRD, FAILURE))
    assert journal.clear() == 2
    assert path.read_bytes() == HEAD
    assert journal.get(KEY) is None


def test_what_others_append_while_it_is_rewritten_is_kept(opened, path, monkeypatch):
    journal = opened(answer_line(KEY))
    replacing = journal_file.replacing

    def replacing_slowly(target):
        with path.open("ab") as other:
            other.write(answer_line(OTHER))
        return replacing(target)

    monkeypatch.setattr(journal_file, "replacing", replacing_slowly)
    journal.clear()
    assert path.read_bytes() == HEAD + answer_line(OTHER)
    assert journal.get(OTHER) is not None
    assert journal.get(KEY) is None


# -- writing -----------------------------------------------------------------------------------------


def test_a_record_that_a_full_disk_cuts_is_taken_back(opened, path, monkeypatch):
    journal = opened(answer_line(KEY))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(OSError, match="No space left") as raised:
        journal.append(OTHER, ANSWER)
    assert raised.value.errno == errno.ENOSPC
    assert path.read_bytes() == HEAD + answer_line(KEY)
    monkeypatch.setattr(os, "write", write)
    journal.append(OTHER, ANSWER)
    assert path.read_bytes() == HEAD + answer_line(KEY) + record_of(OTHER, ANSWER)


def test_a_cut_record_that_another_wrote_behind_is_marked(opened, path, monkeypatch):
    journal = opened()
    write = os.write

    def write_a_part(file, data):
        written = write(file, data[:10])
        with path.open("ab") as other:
            other.write(b"\n" + answer_line(KEY))
        return written

    monkeypatch.setattr(os, "write", write_a_part)
    with pytest.raises(OSError, match="No space left"):
        journal.append(OTHER, ANSWER)
    monkeypatch.setattr(os, "write", write)
    journal.append(OTHER, ANSWER)
    assert journal.get(OTHER) == ANSWER
    assert journal.get(KEY) is not None


def test_an_answer_goes_into_the_file_that_another_process_put_in_its_place(
    opened, path
):
    journal = opened(answer_line(KEY))
    new = path.with_name("new")
    new.write_bytes(HEAD + answer_line(THIRD))
    new.replace(path)
    journal.append(OTHER, ANSWER)
    assert path.read_bytes() == HEAD + answer_line(THIRD) + record_of(OTHER, ANSWER)
    assert journal.get(OTHER) == ANSWER
    assert journal.get(THIRD) is not None


def test_a_file_that_was_deleted_by_hand_is_not_made_again(opened, path):
    journal = opened()
    path.unlink()
    journal.append(KEY, ANSWER)
    assert journal.get(KEY) == ANSWER
    assert not path.exists()


def test_a_file_that_is_only_read_is_not_written(opened):
    journal = opened(answer_line(), readonly=True)
    assert journal.get(KEY) is not None
    with pytest.raises(OSError, match="Bad file descriptor"):
        journal.append(OTHER, ANSWER)


def test_closing_twice_does_nothing(opened):
    journal = opened()
    journal.close()
    journal.close()


# -- what is no journal --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            (
                "the journal {path} is empty: nothing was called, because its answers "
                "would be paid for again"
            ),
        ),
        (
            b"evalmetrics-journal 4\n",
            (
                "the journal {path} is of version 4, and 3 is known here: nothing was "
                "called, because its answers would be paid for again"
            ),
        ),
        (
            b"SQLite format 3\0" + answer_line(),
            "{path} is not a journal: nothing was called, because no answer could be kept",
        ),
        (
            b"a text\n",
            "{path} is not a journal: nothing was called, because no answer could be kept",
        ),
        (
            b"evalmetrics-journal x\n",
            "{path} is not a journal: nothing was called, because no answer could be kept",
        ),
    ],
)
def test_a_file_that_is_no_journal_says_what_it_is(path, content, message):
    path.write_bytes(content)
    with pytest.raises(JournalError) as raised:
        JournalFile(path)
    assert raised.value.message == message.format(path=path)


@pytest.mark.parametrize("kept", [ANSWER, FAILURE])
def test_a_file_with_records_is_a_journal_whose_head_is_damaged(opened, kept):
    journal = opened(record_of(KEY, kept), head=b"Xvalmetrics-journal 3\n")
    assert journal.is_damaged
    assert journal.get(KEY, failures=True) == kept


def test_a_new_journal_has_a_head_and_is_the_owners(path):
    create_journal(path)
    assert path.read_bytes() == HEAD
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_journal_that_is_there_is_not_made_anew(path):
    path.write_bytes(HEAD + answer_line())
    create_journal(path)
    assert path.read_bytes() == HEAD + answer_line()


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_journal_that_others_may_read_becomes_the_owners(path, mode):
    path.write_bytes(HEAD)
    path.chmod(mode)
    JournalFile(path, readonly=True).close()
    assert path.stat().st_mode & 0o777 == mode
    JournalFile(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def refused(path):
    with pytest.raises(EvalMetricsError) as raised:
        refuse_other_things(path)
    assert raised.value.hint == (
        "name another file with --evalmetrics-journal=PATH, or move this one away"
    )
    return raised.value.message


def test_a_folder_a_pipe_and_an_unreadable_file_are_no_journals(path, monkeypatch):
    end = "Nothing was called, because its answers would be paid for again"
    path.mkdir()
    assert refused(path) == f"{path} can't be the journal: it is a folder. {end}"
    path.rmdir()
    os.mkfifo(path)
    assert refused(path) == f"{path} can't be the journal: it is not a file. {end}"
    path.unlink()
    path.write_bytes(HEAD)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refused(path) == f"{path} can't be the journal: it can't be read. {end}"


def test_a_file_and_a_place_without_one_are_fine(path):
    refuse_other_things(path)
    path.write_bytes(HEAD)
    refuse_other_things(path)
