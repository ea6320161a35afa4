import gzip
import json

import pytest
from scoring.transport.fakes import Client, ok, raw, records_in, status

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport.journal_copies import (
    clear_journal,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.scoring.transport.journal_file import JournalFile


@pytest.fixture
def journal(client, path):
    """Three answers and two failures."""
    answer, large = raw(b'{"n": 1.00, "e": "\\n"}'), ok({"text": "x" * 10_000})
    client(*[answer] * 3, status(422, "no"), status(422), large, mode="normal")
    client.ask_many(range(5), 1)
    return path


def test_what_is_exported_can_be_imported_elsewhere(journal, tmp_path):
    file, other = tmp_path / "out" / "j.jsonl", tmp_path / "other" / "journal.log"
    assert export_journal(journal, file) == 3
    assert import_journal(other, file) == 3
    assert len(records_in(journal)) == 5
    assert records_in(other) == records_in(journal)
    with Client(other) as client:
        assert client(mode="replay").ask({"row": 2}).body == {"n": 1.0, "e": "\n"}


def test_what_a_journal_has_is_not_imported_again(journal, tmp_path):
    file, other = tmp_path / "j.jsonl", tmp_path / "journal.log"
    export_journal(journal, file)
    import_journal(other, file)
    assert import_journal(other, file) == 0


def test_an_imported_journal_is_exported_to_the_same_bytes(journal, tmp_path):
    file, again, other = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.log"))
    export_journal(journal, file)
    import_journal(other, file)
    export_journal(other, again)
    assert again.read_bytes() == file.read_bytes()


def test_an_answer_is_imported_as_it_was_written(journal, tmp_path):
    export_journal(journal, tmp_path / "j.jsonl")
    import_journal(tmp_path / "other.log", tmp_path / "j.jsonl")
    bodies = {kept.body for kept in records_in(tmp_path / "other.log").values()}
    # of the failures there is none
    assert bodies == {'{"n": 1.00, "e": "\\n"}', None}


def test_the_same_answers_give_the_same_bytes_in_the_order_of_keys(journal, tmp_path):
    for name in ("a/j.jsonl", "a/j.jsonl.gz", "b/j.jsonl.gz"):
        export_journal(journal, tmp_path / name)
    text, data, again = (path.read_bytes() for path in sorted(tmp_path.glob("[ab]/*")))
    assert data == again
    assert data[3:8] == bytes(5)  # no file name, no time
    assert gzip.decompress(data) == text
    head, *lines = (json.loads(line) for line in text.splitlines())
    assert head == {"format": "evalmetrics-journal", "version": 1}
    keys = [("failure" in line, line["key"]) for line in lines]
    assert keys == sorted(keys)
    assert len(list((tmp_path / "a").iterdir())) == 2  # no temporary file


LINE = '{"key": %s, "status": 200, "latency_s": 1, "attempts": 1, "created": 1, "body": %s}'
FAILED = (
    '{"key": "ab", "failure": {"kind": %s, "message": "m", "hint": null, "status": null, '
    '"attempts": %s, "body": null, "created": %s}}'
)


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, '{"format": "other"}', "expected {"),
        (1, "", "expected {"),
        (3, "{broken", "expected an answer"),
        (3, LINE % ('"xyz"', '"1"'), "expected an answer"),
        (3, LINE % ('"ab"', "1"), "expected an answer"),
        (5, FAILED % (3, 2, 1.0), "expected an answer"),
        (5, FAILED % ("null", 2, 1.0), "expected an answer"),
        (5, FAILED % ('"k"', '"2"', 1.0), "expected an answer"),
        (5, FAILED % ('"k"', 2, '""'), "expected an answer"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(
    journal, tmp_path, line, text, expected
):
    file = tmp_path / "j.jsonl"
    export_journal(journal, file)
    lines = file.read_text().splitlines()
    lines[line - 1] = text
    file.write_text("\n".join(lines) + "\n")
    other = tmp_path / "other.log"
    with pytest.raises(EvalMetricsError, match=expected) as error:
        import_journal(other, file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert not other.exists()


def test_what_is_no_file_of_ours_is_refused(journal, tmp_path):
    export_journal(journal, tmp_path / "j.gz")
    (tmp_path / "cut.gz").write_bytes((tmp_path / "j.gz").read_bytes()[:-30])
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "text.gz").write_text("not gzip")
    for name in ("cut.gz", "empty.jsonl", "text.gz", "missing.jsonl"):
        with pytest.raises(EvalMetricsError, match=name.replace(".", r"\.")):
            import_journal(tmp_path / "other.log", tmp_path / name)
    assert not (tmp_path / "other.log").exists()


def test_a_failed_export_leaves_the_old_file(journal, client, tmp_path):
    client()
    old = tmp_path / "j.jsonl"
    old.write_text("old")
    journal.write_text("no journal any more")
    for source in (journal, tmp_path / "missing.log"):
        with pytest.raises(EvalMetricsError, match=r"not a journal|can't be exported"):
            export_journal(source, old)
    assert old.read_text() == "old"
    assert not (tmp_path / "missing.log").exists()
    assert not list(tmp_path.glob(".*"))  # no temporary file


def test_clearing_empties_it_and_gives_the_space_back(journal, client):
    client.ask_many(range(100, 200), 1)
    client()
    assert journal.stat().st_size > 1_000_000
    assert clear_journal(journal) == 103
    assert records_in(journal) == {}
    assert journal.stat().st_size < 100_000


def test_clearing_where_there_is_none(tmp_path):
    missing = tmp_path / "none.log"
    assert clear_journal(missing) == 0
    assert not missing.exists()
    (tmp_path / "text").write_text("no database at all" * 100)
    with pytest.raises(EvalMetricsError, match="is not a journal"):
        clear_journal(tmp_path / "text")


def test_a_folder_in_the_journals_place_is_refused_before_anything_is_called(tmp_path):
    with pytest.raises(EvalMetricsError) as error:
        clear_journal(tmp_path)
    assert error.value.message == (
        f"{tmp_path} can't be the journal: it is a folder. Nothing was called, because its "
        "answers would be paid for again"
    )


def test_a_journal_whose_first_bytes_are_damaged_keeps_its_answers(path, tmp_path):
    with Client(path) as client:
        client(raw(b'{"n": 1}'), mode="normal").ask({"row": 1})
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    assert export_journal(path, tmp_path / "j.jsonl") == 1


def test_a_journal_whose_last_record_is_cut_keeps_the_others(path, tmp_path):
    with Client(path) as client:
        client(*[raw(b'{"n": 1}')] * 2, mode="normal").ask_many(range(2), 1)
    path.write_bytes(path.read_bytes()[:-3])
    assert export_journal(path, tmp_path / "j.jsonl") == 1


def test_a_journal_that_cannot_be_written_is_to_be_deleted(journal, monkeypatch):
    def clear(_self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JournalFile, "clear", clear)
    with pytest.raises(EvalMetricsError, match="No space left") as error:
        clear_journal(journal)
    assert error.value.hint == "delete the file"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (
            b"evalmetrics-journal 99\n",
            "is of version 99, and 3 is known here: nothing was called",
            "update pytest-evalmetrics, or name another file: --evalmetrics-journal=PATH",
        ),
        (
            b"",
            "is empty: nothing was called",
            "restore it; or delete it to start anew",
        ),
        (
            b"SQLite format 3\0" + bytes(100),
            "is not a journal: nothing was called",
            "name another file with --evalmetrics-journal=PATH, or move this one away",
        ),
    ],
    ids=["newer", "empty", "a database"],
)
def test_a_file_that_is_no_journal_says_what_to_do(tmp_path, content, message, hint):
    path = tmp_path / "journal.log"
    path.write_bytes(content)
    with pytest.raises(EvalMetricsError, match=message) as raised:
        JournalFile(path)
    assert raised.value.hint == hint


def test_a_journal_is_imported_into_a_folder_that_exists(journal, tmp_path):
    export_journal(journal, tmp_path / "j.jsonl")
    assert import_journal(tmp_path / "other.log", tmp_path / "j.jsonl") == 3
