"""CSV files."""

import csv
import gzip

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

TEXT = """task,attempt,model,reward,passed,note,difficulty
a,0,m1,0.5,true,"one, or
two lines",hard
a,1,m1,,False,,hard
b,0,m1,1e-1,TRUE,x,easy
b,1,m1,nan,null,"said ""no"" twice",
"""
FIELDS = {"task": "task", "sample": "attempt", "agent": "model"}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns(folder, separator, end):
    rows = list(csv.reader(TEXT.splitlines(keepends=True)))
    with (folder.path / "runs.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
    table = folder.load(
        "runs.csv", fields=FIELDS, scores=["reward"], categories=["difficulty"]
    )
    assert (table.tasks, table.agents) == (("a", "b"), ("m1",))
    assert table.sample.tolist() == [0, 1, 0, 1]
    np.testing.assert_equal(table.scores["reward"], [0.5, np.nan, 0.1, np.nan])
    np.testing.assert_equal(table.scores["passed"], [1, 0, 1, np.nan])
    assert set(table.scores) == {"reward", "passed"}
    assert table.categories["difficulty"].labels == ("hard", "easy", "(missing)")
    assert note_texts(table.notes) == (
        "reward: 1 value is NaN and counts as missing (runs.csv:6)",
    )


def test_the_names_of_nemo_gym_and_whole_numbers(folder):
    folder.write(
        "_ng_task_index,_ng_rollout_index,reward,n\n10,1,1,007\n2,0,0,8\n10,0,1,9\n"
    )
    table = folder.load(scores=["reward"])
    assert table.tasks == (2, 10)
    assert table.sample.tolist() == [0, 0, 1]
    assert table.integers == {"reward"}


def test_long_cells_many_rows_and_compression(folder):
    lines = "".join(
        f'{n},{n % 2},"{"x" * (200_000 if n == 5 else 1)}"\n' for n in range(40_000)
    )
    folder.write(gzip.compress(f"id,reward,text\n{lines}".encode(), 1), "runs.csv.gz")
    before = csv.field_size_limit()
    table = folder.load("runs.csv.gz", fields={"task": "id"}, scores=["reward"])
    assert len(table) == 40_000
    assert table.scores["reward"].mean() == 0.5
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("id,reward\na,1\nb\n", 3, "this line has 1 cell, and the file 2 columns"),
        ("id,reward\na,1\nb,1,2\n", 3, "this line has 3 cells"),
        ('id,reward\na,1\n"b,1\n', 3, "the file ends inside of quotes"),
        (
            "id,reward\na,high\n",
            2,
            "the score 'reward' is text: \"high\"; expected a number",
        ),
        (
            "id,reward\na, 1_000 \n",
            2,
            "the score 'reward' is text: \"1_000\"; expected a number",
        ),
        ("id,reward\na,1\n,1\n", 3, "no task id: 'id' is null"),
        ("id,reward,n\na,1,0\nb,1,-1\n", 3, "the sample index is -1"),
        ("name,reward\na,1\n", 2, "'id' is not there; the row's keys: name, reward"),
        ("id,id,reward\na,1\n", 1, "two columns have the name 'id'"),
        ("id,reward\na,1,2\n", 2, "this line has 3 cells, and the file 2 columns"),
        ("id:reward\na:1\n", 2, "'id' is not there; the row's keys: id:reward"),
    ],
)
def test_what_is_refused(folder, text, line, message):
    folder.write(text, "runs.csv")
    fields = {"task": "id", **({"sample": "n"} if ",n\n" in text else {})}
    refused = folder.refused("runs.csv", fields=fields, scores=["reward"])
    assert (refused.file, refused.line) == ("runs.csv", line)
    assert message in refused.message


@pytest.mark.parametrize(
    ("text", "format_", "message"),
    [
        ("id,x,x\n1,2,3\n", "csv", "two columns have the name 'x'"),
        (b"id,reward\na,1\nb,\xff\n", "csv", "found the byte 0xff"),
        ("some words, and more\nthat's it\n", None, "is not JSON"),
        ("plain\n", None, "is not JSON"),
        ('"a": 1,\n"b"\n', None, "is not JSON"),
    ],
)
def test_what_is_no_csv_or_a_damaged_one(folder, text, format_, message):
    folder.write(text)
    assert message in folder.refused(fields={"task": "id"}, format=format_).message
