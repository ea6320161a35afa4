import gzip
import json
from contextlib import closing

import pytest
from transport.fakes import answers_in

from pytest_evalmetrics.transport import (
    Journal,
    JournalError,
    clear_journal,
    export_journal,
    import_journal,
)


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal.sqlite3"
    with closing(Journal(path, wall=lambda: 1e9)) as opened:
        for n in (3, 1, 2):
            opened.put(
                bytes([n]) * 20,
                status=200,
                text=f'{{"n": {n}.00, "ä": "\\n"}}',
                latency_s=0.5,
                attempts=n,
            )
    return path


@pytest.mark.parametrize("name", ["out/j.jsonl", "j.jsonl.gz"])
def test_what_is_exported_can_be_imported_elsewhere(journal, tmp_path, name):
    file = tmp_path / name
    assert export_journal(journal, file) == 3
    other = tmp_path / "other" / "journal.sqlite3"
    assert import_journal(other, file) == 3
    assert import_journal(other, file) == 0  # what is there stays
    with closing(Journal(journal)) as a, closing(Journal(other)) as b:
        for n in (1, 2, 3):
            assert a.get(bytes([n]) * 20) == b.get(bytes([n]) * 20)
            assert a.get(bytes([n]) * 20).text.startswith(f'{{"n": {n}.00')


@pytest.mark.parametrize("name", ["j.jsonl", "j.jsonl.gz"])
def test_the_same_answers_give_the_same_bytes_in_the_order_of_keys(journal, tmp_path, name):
    for at in ("a", "b"):
        export_journal(journal, tmp_path / at / name)
    data = (tmp_path / "a" / name).read_bytes()
    assert data == (tmp_path / "b" / name).read_bytes()
    if name.endswith("gz"):
        assert data[3:8] == bytes(5)  # no file name, no time
    lines = (gzip.decompress(data) if name.endswith("gz") else data).splitlines()
    assert json.loads(lines[0]) == {"format": "evalmetrics-journal", "version": 1}
    assert [json.loads(line)["attempts"] for line in lines[1:]] == [1, 2, 3]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [name]  # no temporary file


LINE = '{"key": %s, "status": 200, "latency_s": 1, "attempts": 1, "created": 1, "body": %s}'


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, '{"format": "other"}', "expected {"),
        (1, "", "expected {"),
        (3, "{broken", "expected an answer"),
        (3, LINE % ('"xyz"', '"1"'), "expected an answer"),
        (3, LINE % ('"ab"', "1"), "expected an answer"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(journal, tmp_path, line, text, expected):
    file = tmp_path / "j.jsonl"
    export_journal(journal, file)
    lines = file.read_text().splitlines()
    lines[line - 1] = text
    file.write_text("\n".join(lines) + "\n")
    other = tmp_path / "other.sqlite3"
    with pytest.raises(JournalError, match=expected) as error:
        import_journal(other, file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert answers_in(other) == 0


def test_what_is_no_file_of_ours_is_refused(journal, tmp_path):
    export_journal(journal, tmp_path / "j.gz")
    cut = tmp_path / "cut.gz"
    cut.write_bytes((tmp_path / "j.gz").read_bytes()[:-30])
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "text.gz").write_text("not gzip")
    for name in ("cut.gz", "empty.jsonl", "text.gz", "missing.jsonl"):
        with pytest.raises(JournalError, match=name.replace(".", r"\.")):
            import_journal(tmp_path / "other.sqlite3", tmp_path / name)
    assert answers_in(tmp_path / "other.sqlite3") == 0


def test_a_failed_export_leaves_the_old_file(journal, tmp_path):
    old = tmp_path / "j.jsonl"
    old.write_text("old")
    journal.write_bytes(journal.read_bytes()[:5000])
    with pytest.raises(JournalError, match="can't be exported"):
        export_journal(journal, old)
    with pytest.raises(JournalError, match="can't be exported"):
        export_journal(tmp_path / "missing.sqlite3", old)
    assert old.read_text() == "old"
    assert not (tmp_path / "missing.sqlite3").exists()
    assert not list(tmp_path.glob(".*"))  # no temporary file


def test_clearing_empties_it_and_gives_the_space_back(journal):
    with closing(Journal(journal)) as opened:
        for n in range(100, 200):
            opened.put(
                bytes([n]) * 20,
                status=200,
                text='"' + "x" * 10_000 + '"',
                latency_s=0.5,
                attempts=1,
            )
    assert journal.stat().st_size > 1_000_000
    assert clear_journal(journal) == 103
    assert answers_in(journal) == 0
    assert journal.stat().st_size < 100_000


def test_clearing_and_counting_where_there_is_none(tmp_path):
    missing = tmp_path / "none.sqlite3"
    assert clear_journal(missing) == 0
    (tmp_path / "text").write_text("no database at all" * 100)
    with pytest.raises(JournalError, match="can't be emptied"):
        clear_journal(tmp_path / "text")
    assert not missing.exists()
