"""Rows as they are written, and data sets."""

import gzip
import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from pytest_evalmetrics.errors import DataError

ROWS = [
    {
        "_ng_task_index": t,
        "_ng_rollout_index": s,
        "reward": r,
        "text": "ü\n",
        "deep": {"a": [{}]},
    }
    for t, s, r in [(2, 1, 0.5), (0, 0, math.nan), (2, 0, 1), (1, 0, None)]
]


@pytest.fixture
def two(folder):
    lines = [json.dumps(row) for row in ROWS]
    folder.write("\n\n".join(lines[:2]) + "\n", "a.jsonl")
    folder.write(gzip.compress(f"[{lines[2]},\n {lines[3]}]".encode()), "b.json.gz")
    return folder


def test_rows_come_whole_and_in_the_order_of_the_table(two):
    records = list(two.records("a.jsonl", "b.json.gz"))
    places = ["a.jsonl:1", "a.jsonl:3", "b.json.gz, row 1", "b.json.gz, row 2"]
    assert [where for where, _ in records] == places
    assert json.dumps([row for _, row in records]) == json.dumps(ROWS)
    table, rows = two.whole("a.jsonl", "b.json.gz")
    for at, (_, row) in enumerate(rows):
        assert table.tasks[table.task[at]] == row["_ng_task_index"]
        assert table.sample[at] == row["_ng_rollout_index"]
    assert sorted(table.where(table.read_as < 2).read_as.tolist()) == [0, 1]


def test_a_broken_row_is_reported_with_its_line(folder):
    folder.write('{"a": 1}\n{"a": \n{"a": 2}\n')
    records = folder.records()
    assert next(records) == ("runs.jsonl:1", {"a": 1})
    with pytest.raises(DataError) as raised:
        next(records)
    assert raised.value.where == "runs.jsonl:2"
    folder.write('{"a": 1}\n[1]\n')
    with pytest.raises(DataError, match="this row is not a JSON object: found '"):
        list(folder.records())
    folder.write('id,q\n1,"x\n')
    with pytest.raises(DataError, match="ends inside of quotes"):
        list(folder.records(format="csv"))


@pytest.mark.parametrize(
    ("rows", "tasks"),
    [
        ([{"id": "b"}, {"id": "a"}], ("a", "b")),
        ([{"task_id": 7, "x": 1}, {"task_id": 5}], (5, 7)),
        ([{"q": "b"}, {"q": "a"}, {"q": "a", "id": 9}], (0, 1, 2)),
        ([{"id": 1}, {"id": 1}], (1,)),
    ],
)
def test_how_the_tasks_of_a_data_set_are_identified(folder, rows, tasks):
    folder.rows(rows)
    table = folder.dataset()
    assert table.tasks == tasks
    assert len(table) == len(rows)


def test_positions_go_on_from_file_to_file_with_labels_and_numbers(folder):
    for level in ("easy", "hard"):
        folder.rows(({"level": level, "n": i} for i in range(3)), f"{level}.jsonl")
    table = folder.dataset("*.jsonl", scores=("n",), categories=("level",))
    assert table.tasks == tuple(range(6))
    assert table.scores["n"].tolist() == [0, 1, 2, 0, 1, 2]
    level = table.categories["level"]
    assert np.array(level.labels)[level.codes].tolist() == ["easy"] * 3 + ["hard"] * 3


def test_a_row_without_the_key_that_the_first_one_has(folder):
    folder.write('{"id": 1}\n{"ID": 2}\n')
    with pytest.raises(DataError, match="no task id: 'id' is not there") as raised:
        folder.dataset()
    assert raised.value.where == "runs.jsonl:2"


def test_rows_of_tables_come_with_their_text(folder):
    folder.write('id,question,n\nq1,"what, then?",007\n\nq2,ü,1.5\n', "a.csv")
    columns = {
        "id": ["a", "b"],
        "messages": [[{"role": "user", "content": "hi"}], None],
        "at": [datetime(2024, 5, 1, tzinfo=UTC), None],
        "price": [Decimal("1.50"), None],
        "raw": [b"x\xff", b""],
    }
    pq.write_table(pa.table(columns), folder.path / "b.parquet")
    many = pa.table({"id": list(range(600)), "q": [f"text {i}" for i in range(600)]})
    feather.write_feather(many, folder.path / "c.arrow", compression="uncompressed")
    assert list(folder.records("a.csv")) == [
        ("a.csv:2", {"id": "q1", "question": "what, then?", "n": "007"}),
        ("a.csv:4", {"id": "q2", "question": "ü", "n": "1.5"}),
    ]
    first, second = folder.records("b.parquet")
    texts = {"at": "2024-05-01T00:00:00+00:00", "price": 1.5, "raw": "x\\xff"}
    assert first[1] == {"id": "a", "messages": columns["messages"][0], **texts}
    assert second[1]["messages"] is None
    rows = [row for _, row in folder.records("c.arrow")]
    assert rows == [{"id": i, "q": f"text {i}"} for i in range(600)]
    assert folder.dataset("a.csv").tasks == ("q1", "q2")


def test_rows_of_a_file_that_changes_meanwhile_are_refused(two):
    reading = two.records("a.jsonl")
    next(reading)
    two.rows(ROWS, "a.jsonl")
    with pytest.raises(
        DataError, match=r"a\.jsonl: this file was changed while it was read"
    ):
        list(reading)


def test_rows_of_a_data_set_that_are_read_twice_are_refused(folder):
    rows = [{"id": n, "question": f"What is {n}?", "answer": n} for n in range(3)]
    folder.rows([*rows, rows[0]])
    with pytest.raises(
        DataError, match=r"runs.jsonl:4 is the same row as runs.jsonl:1"
    ):
        folder.dataset("runs.jsonl")
