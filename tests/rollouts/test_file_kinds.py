"""A file of a kind that can't be read is named, with the way out."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from rollouts.odd import lines

from pytest_evalmetrics.rollouts.file_kinds import kind_of

ROWS = [{"id": f"q{n}", "score": n % 2} for n in range(12)]
CSV = "id,score\n" + "".join(f"q{n},{n % 2}\n" for n in range(12))
MARKDOWN = "| id | score |\n|---|---|\n" + "".join(f"| q{n} | 1 |\n" for n in range(9))
TERMINAL = "+----+-------+\n| id | score |\n+----+-------+\n| q0 | 1     |\n"
JOINED = "".join(json.dumps(row) for row in ROWS)


def archive(*members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as written:
        for name in members:
            written.writestr(name, lines(ROWS))
    return content.getvalue()


EXCEL = archive("[Content_Types].xml", "xl/workbook.xml")
KINDS = {
    "Markdown": ("r.md", MARKDOWN, "a Markdown table", "as CSV"),
    "Markdown below a title": (
        "r.txt",
        f"# R\n\n{MARKDOWN}",
        "a Markdown table",
        "CSV",
    ),
    "Markdown in a CSV": ("r.csv", MARKDOWN, "a Markdown table", "as CSV"),
    "a fence": ("r.md", f"```json\n{JOINED}\n```\n", "Markdown", "the fence"),
    "a terminal": ("r.txt", TERMINAL, "a table drawn for a terminal", "as CSV"),
    "a login": (
        "r.json",
        "<!DOCTYPE html><html><title>Sign in</title>",
        "a web page",
        "login",
    ),
    "a login below a comment": (
        "r.json",
        "<!-- x -->\n<HTML lang=en>",
        "a web page",
        "login",
    ),
    "a table of HTML": (
        "r.html",
        "<table><tr><td>1</td></tr>",
        "a web page",
        "raw file",
    ),
    "XML": ("r.json", '<?xml version="1.0"?><Error/>', "XML", "error of a server"),
    "Git LFS": (
        "r.jsonl",
        "version https://git-lfs.github.com/spec/v1\noid sha256:a\n",
        "a Git LFS pointer",
        "git lfs pull",
    ),
    "DVC": ("r.dvc", "outs:\n- md5: a\n  path: r.jsonl\n", "a DVC pointer", "dvc pull"),
    "a conflict": (
        "r.jsonl",
        f"<<<<<<< HEAD\n{lines(ROWS)}",
        "a merge conflict",
        "resolve",
    ),
    "gzip": (
        "r.jsonl.gz",
        gzip.compress(lines(ROWS * 50).encode())[:-9],
        "ends too early",
        "download",
    ),
    "zip": ("r.zip", archive("r.jsonl"), "a zip archive", "unpack it"),
    "zip without its ending": (
        "r.zip",
        archive("r.jsonl")[:-30],
        "its ending is missing",
        "download",
    ),
    "Excel": ("r.xlsx", EXCEL, "an Excel file", "save the table as CSV"),
    "Excel called CSV": ("r.csv", EXCEL, "an Excel file", "save the table as CSV"),
    "old Excel": (
        "r.xls",
        b"\xd0\xcf\x11\xe0\xa1\xb1" + bytes(600),
        "an Excel file",
        "CSV",
    ),
    "UTF-16": ("r.jsonl", lines(ROWS).encode("utf-16"), "UTF-16", "iconv -f UTF-16"),
    "UTF-16 CSV": ("r.csv", CSV.encode("utf-16"), "UTF-16", "iconv -f UTF-16"),
    "UTF-16 without a mark": (
        "r.csv",
        CSV.encode("utf-16-le"),
        "UTF-16",
        "iconv -f UTF-16",
    ),
    "UTF-32": ("r.jsonl", lines(ROWS).encode("utf-32"), "UTF-32", "iconv -f UTF-32"),
    "a pickle": (
        "r.pkl",
        b"\x80\x04\x95\x10" + bytes(9),
        "a Python pickle",
        "df.to_json",
    ),
    "SQLite": ("r.db", b"SQLite format 3\0" + bytes(99), "a SQLite database", "as CSV"),
    "Python": (
        "r.jsonl",
        "".join(f"{row}\n" for row in ROWS),
        "Python's",
        "json.dumps",
    ),
    "comments": (
        "r.json",
        f"// results\n{json.dumps(ROWS)}",
        "with comments",
        "remove",
    ),
    "YAML": ("r.txt", "- id: q0\n  score: 1\n", "YAML", "one JSON object per line"),
    "documents without a line break": (
        "r.jsonl",
        JOINED,
        "two JSON values stand on one line",
        "jq -c .",
    ),
    "two documents": (
        "r.json",
        json.dumps({"results": ROWS}) * 2,
        "two JSON values stand on one line",
        "jq -c .",
    ),
    "arrays below each other": (
        "r.json",
        f"{json.dumps(ROWS, indent=1)}\n" * 2,
        "a second array begins here",
        "jq -c '.[]'",
    ),
    "lines with commas": (
        "r.jsonl",
        ",\n".join(map(json.dumps, ROWS)),
        "a comma follows",
        "without commas",
    ),
    "indented objects with commas": (
        "r.json",
        ",\n".join(json.dumps(row, indent=2) for row in ROWS),
        "',' between two JSON objects",
        "in one array",
    ),
}


LINES = "write one JSON object per line (.jsonl, also .jsonl.gz or .jsonl.zst)"
CELLS = "write its cells as CSV: task,reward"
OF_TABLE = "save the table as CSV (UTF-8)"
IN_PYTHON = "write it in Python: df.to_json('rows.jsonl', orient='records', lines=True)"
UTF_16 = "save it as UTF-8; iconv -f UTF-16 -t UTF-8 FILE does it"
PICKLE = "a Python pickle, which is never loaded"
ZIP = b"PK\x03\x04" + bytes(26)


@pytest.mark.parametrize(
    ("head", "what", "hint"),
    [
        (b"PAR1", "a Parquet file", LINES),
        (b"BZh9", "compressed with bzip2", "compress it with gzip or zstd"),
        (b"\xfd7zXZ\x00", "compressed with xz", "compress it with gzip or zstd"),
        (b"7z\xbc\xaf", "a 7z archive", f"unpack it, or {LINES}"),
        (
            b"\xff\xfe\x00\x00{",
            "UTF-32 text, not UTF-8",
            "save it as UTF-8; iconv -f UTF-32 -t UTF-8 FILE does it",
        ),
        (b"\xff\xfe{\x00", "UTF-16 text, not UTF-8", UTF_16),
        (b"\xfe\xff\x00{", "UTF-16 text, not UTF-8", UTF_16),
        (b"i\x00d\x00\n\x00", "UTF-16 text, not UTF-8", UTF_16),
        (b"\x00i\x00d\x00\n", "UTF-16 text, not UTF-8", UTF_16),
        (b"i\x00d\x00\n\x00x", "UTF-16 text, not UTF-8", UTF_16),
        (b"i\x00\x01\x00", "a binary file, not JSON text", LINES),
        (b"ab\x00cd\x00", "a binary file, not JSON text", LINES),
        (b"\xd0\xcf\x11\xe0", "an Excel file of the old form", OF_TABLE),
        (b"SQLite format 3", "a SQLite database", "export its rows as CSV"),
        (b"\x93NUMPY", "a NumPy array", IN_PYTHON),
        *((b"\x80" + bytes([n]), PICKLE, IN_PYTHON) for n in (2, 3, 4, 5)),
        (bytes(257) + b"ustar", "a tar archive", f"unpack it, or {LINES}"),
        (ZIP + b"xl/workbook.xml", "an Excel file", OF_TABLE),
        (ZIP + b"[Content_Types].xml", "an Excel file", OF_TABLE),
        (ZIP + b"opendocument.spreadsheet", "an OpenDocument table", OF_TABLE),
        (ZIP + b"a.npy", "a file of NumPy arrays", IN_PYTHON),
        (ZIP + b"a.json", "a zip archive", f"unpack it, or {LINES}"),
        (
            b"<<<<<<< HEAD",
            "a file with the marks of a merge conflict",
            "resolve it, or: git checkout",
        ),
        *(
            (
                page,
                "a web page",
                "is it a login page? name a raw file that needs no login",
            )
            for page in (b"<!DOCTYPE html>", b"<HTML>", b"<!-- -->\n<html>", b"<div>")
        ),
        *(
            (xml, "XML", f"an error of a server is often XML; else {LINES}")
            for xml in (b"<?xml version", b"<Error>", b"<!ENTITY")
        ),
        *(
            (b"outs:\n- " + key + b": a", "a DVC pointer", "run: dvc pull")
            for key in (b"md5", b"etag", b"hash")
        ),
        (
            b"../.git/annex/objects/x",
            "a git-annex pointer",
            "run: git annex get FILE",
        ),
        (b"| a | b |\n|---|:---:|\n", "a Markdown table", CELLS),
        (b"a | b\n--- | ---\n", "a Markdown table", CELLS),
        (b"```json\n", "Markdown", "keep what is inside of the fence alone"),
        *(
            (line, "a table drawn for a terminal", CELLS)
            for line in (b"+--+", b"+==+", "┌".encode(), "┏".encode(), "╭".encode())
        ),
        ("╔".encode(), "a table drawn for a terminal", CELLS),
        (
            b"{'a': 1}",
            "Python's form of a dict, not JSON",
            "write rows with json.dumps",
        ),
        (
            b"[{'a': 1}",
            "Python's form of a dict, not JSON",
            "write rows with json.dumps",
        ),
        *(
            (code, "JSON with comments, or code", "remove the comments")
            for code in (b"// a", b"/* a */")
        ),
        *((text, "YAML", LINES) for text in (b"---\na", b"%YAML 1.2", b"- id: 1")),
    ],
)
def test_the_first_bytes_tell_what_a_file_is(head, what, hint):
    kind = kind_of(head, Path("not there"))
    assert (kind.what, kind.hint) == (what, hint)


@pytest.mark.parametrize(
    "head", [b'{"a": 1}', b"id,score\na,1\n", b"words", b"-- x", b"\xff", b""]
)
def test_other_first_bytes_may_be_of_rollouts(head):
    assert kind_of(head, Path("not there")) is None


@pytest.mark.parametrize(
    ("ending", "what", "hint"),
    [
        (
            b"",
            "a zip archive that is not whole: its ending is missing",
            "was its copy or its download interrupted?",
        ),
        (b"PK\x05\x06" + bytes(18), "a zip archive", f"unpack it, or {LINES}"),
        (
            b"PK\x05\x06" + bytes(66_000),
            "a zip archive that is not whole: its ending is missing",
            "was its copy or its download interrupted?",
        ),
    ],
)
def test_a_zip_archive_says_where_it_ends(folder, ending, what, hint):
    path = folder.write(ZIP + b"a.json" + ending, "r.zip")
    kind = kind_of(ZIP + b"a.json", path)
    assert (kind.what, kind.hint) == (what, hint)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_named_with_the_way_out(folder, name):
    file, content, what, hint = KINDS[name]
    folder.write(content, file)
    error = folder.refused(file, fields={"task": "id", "reward": "score"})
    assert what in error.message
    assert hint in error.hint


def test_indented_objects_one_after_the_other_are_read(folder):
    folder.write("".join(json.dumps(row, indent=2) for row in ROWS), "r.json")
    table = folder.load("r.json", fields={"task": "id", "reward": "score"})
    assert len(table) == 12
