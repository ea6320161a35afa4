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

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import load, load_dataset
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec import RolloutsSpec

ROWS = [
    {
        "_ng_task_index": t,
        "_ng_rollout_index": s,
        "reward": r,
        "text": "ü\n",
        "deep": {"a": [1, {}]},
    }
    for t, s, r in [(2, 1, 0.5), (0, 0, math.nan), (2, 0, 1), (1, 0, None)]
]


def write(folder):
    lines = [json.dumps(row) for row in ROWS]
    (folder / "a.jsonl").write_text("\n\n".join(lines[:2]) + "\n")
    with gzip.open(folder / "b.json.gz", "wt") as file:
        file.write(f"[{lines[2]},\n {lines[3]}]")
    return RolloutsSpec(path=("a.jsonl", "b.json.gz"))


def test_rows_come_whole_and_in_the_order_of_the_table(tmp_path):
    spec = write(tmp_path)
    found = list(records(spec, tmp_path))
    assert [where for where, _ in found] == [
        "a.jsonl:1",
        "a.jsonl:3",
        "b.json.gz, row 1",
        "b.json.gz, row 2",
    ]
    assert json.dumps([row for _, row in found]) == json.dumps(ROWS)
    table = load(spec, tmp_path, scores=("reward",))
    assert table.read_as is not None
    for at, index in enumerate(table.read_as.tolist()):
        row = found[index][1]
        assert table.tasks[table.task[at]] == row["_ng_task_index"]
        assert table.sample[at] == row["_ng_rollout_index"]
    part = table.where(table.read_as < 2)
    assert part.read_as is not None
    assert sorted(part.read_as.tolist()) == [0, 1]


def test_a_broken_row_is_told_with_its_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n{"a": 2}\n')
    found = records(RolloutsSpec(path=("a.jsonl",)), tmp_path)
    assert next(found) == ("a.jsonl:1", {"a": 1})
    with pytest.raises(DataError) as raised:
        next(found)
    assert raised.value.where == "a.jsonl:2"


@pytest.mark.parametrize(
    ("rows", "tasks"),
    [
        ([{"id": "b"}, {"id": "a"}], ("a", "b")),
        ([{"task_id": 7, "x": 1}, {"task_id": 5}], (5, 7)),
        ([{"q": "b"}, {"q": "a"}, {"q": "a", "id": 9}], (0, 1, 2)),
        ([{"id": 1}, {"id": 1}], (1,)),
    ],
)
def test_how_the_tasks_of_a_data_set_are_known(tmp_path, rows, tasks):
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = load_dataset(RolloutsSpec(path=("d.jsonl",)), tmp_path)
    assert table.tasks == tasks
    assert len(table) == len(rows)


def test_positions_go_on_from_file_to_file_with_labels_and_numbers(tmp_path):
    for name, level in (("a", "easy"), ("b", "hard")):
        lines = "".join(json.dumps({"level": level, "n": i}) + "\n" for i in range(3))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    spec = RolloutsSpec(path=("*.jsonl",))
    table = load_dataset(spec, tmp_path, scores=("n",), categories=("level",))
    assert table.tasks == tuple(range(6))
    assert table.scores["n"].tolist() == [0, 1, 2, 0, 1, 2]
    assert (
        np.array(table.categories["level"].labels)[table.categories["level"].codes].tolist()
        == ["easy"] * 3 + ["hard"] * 3
    )


def test_a_row_without_the_key_that_the_first_one_has(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"id": 1}\n{"ID": 2}\n')
    with pytest.raises(DataError, match="no task id: 'id' is not there") as raised:
        load_dataset(RolloutsSpec(path=("d.jsonl",)), tmp_path)
    assert raised.value.where == "d.jsonl:2"


def test_rows_of_tables_come_with_their_text(tmp_path):
    (tmp_path / "a.csv").write_text('id,question,n\nq1,"what, then?",007\n\nq2,ü,1.5\n')
    pq.write_table(
        pa.table(
            {
                "id": ["a", "b"],
                "messages": [[{"role": "user", "content": "hi"}], None],
                "at": [datetime(2024, 5, 1, tzinfo=UTC), None],
                "price": [Decimal("1.50"), None],
                "raw": [b"x\xff", b""],
            }
        ),
        tmp_path / "b.parquet",
    )
    with pa.OSFile(str(tmp_path / "c.arrow"), "wb") as sink:
        table = pa.table({"id": list(range(600)), "q": [f"text {i}" for i in range(600)]})
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    assert list(records(RolloutsSpec(path=("a.csv",)), tmp_path)) == [
        ("a.csv:2", {"id": "q1", "question": "what, then?", "n": "007"}),
        ("a.csv:4", {"id": "q2", "question": "ü", "n": "1.5"}),
    ]
    first, second = records(RolloutsSpec(path=("b.parquet",)), tmp_path)
    assert first[1] == {
        "id": "a",
        "messages": [{"role": "user", "content": "hi"}],
        "at": "2024-05-01T00:00:00+00:00",
        "price": 1.5,
        "raw": "x\\xff",
    }
    assert second[1]["messages"] is None
    rows = [row for _, row in records(RolloutsSpec(path=("c.arrow",)), tmp_path)]
    assert rows == [{"id": i, "q": f"text {i}"} for i in range(600)]
    loaded = load_dataset(RolloutsSpec(path=("a.csv",)), tmp_path)
    assert loaded.tasks == ("q1", "q2")


def test_a_broken_table_is_told_where_it_breaks(tmp_path):
    (tmp_path / "a.csv").write_text('id,q\n1,"x\n')
    with pytest.raises(DataError, match="ends inside of quotes"):
        list(records(RolloutsSpec(path=("a.csv",), format="csv"), tmp_path))


def test_rows_of_a_file_that_changes_meanwhile_are_refused(tmp_path):
    spec = write(tmp_path)
    reading = records(spec, tmp_path)
    next(reading)
    text = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "a.jsonl").write_text(text + text)
    with pytest.raises(DataError, match=r"a\.jsonl: this file was changed while it was read"):
        list(reading)
