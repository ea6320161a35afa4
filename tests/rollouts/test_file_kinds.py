"""A file of a kind that can't be read is named, with the way out."""

import gzip
import io
import json
import zipfile

import pytest
from rollouts.odd import lines

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
