"""Parquet, Arrow and Feather files."""

import gzip
import sys
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

ROWS = [
    {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "agent_ref": {"name": "coder"},
        "reward": reward,
        "passed": reward == 1,
        "turns": 3,
        "_hidden": 7,
        "text": "a long answer",
        "tags": ["x"],
        "result": {"f1": 0.25},
        "response": {"usage": {"input_tokens": 10, "output_tokens": None}},
        "difficulty": "hard",
    }
    for task, sample, reward in [
        (1, 0, 1.0),
        (1, 1, None),
        (0, 0, float("nan")),
        (0, 1, 0.5),
    ]
]


def write(folder, kind, rows=ROWS):
    table = pa.Table.from_pylist(rows)
    path = folder.path / f"runs.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        feather.write_feather(table, path, compression="zstd", chunksize=2)
    return path.name


KINDS = pytest.mark.parametrize("kind", ["parquet", "feather"])


@KINDS
def test_tasks_samples_and_agents_are_read(folder, kind):
    table = folder.load(write(folder, kind), scores=["reward"])
    assert (table.tasks, table.agents) == ((0, 1), ("coder",))
    assert table.sample.tolist() == [0, 1, 0, 1]


@KINDS
def test_columns_of_numbers_are_scores(folder, kind):
    table = folder.load(write(folder, kind), scores=["reward"])
    assert set(table.scores) == {"reward", "passed", "turns", "input_tokens"}
    assert table.scores["passed"].tolist() == [0, 0, 1, 0]
    assert table.scores["input_tokens"].tolist() == [10] * 4
    assert table.integers == {"passed", "turns", "input_tokens"}


@KINDS
def test_a_null_and_a_nan_are_missing_and_the_nan_is_noted(folder, kind):
    name = write(folder, kind)
    table = folder.load(name, scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 0.5, 1, np.nan])
    assert note_texts(table.notes) == (
        f"reward: 1 value is NaN and counts as missing ({name}:3)",
    )


@KINDS
def test_a_column_of_text_is_a_category(folder, kind):
    table = folder.load(write(folder, kind), categories=["difficulty"])
    assert table.categories["difficulty"].labels == ("hard",)


@KINDS
def test_fields_name_columns_and_keys_within_them(folder, kind):
    fields = {"reward": "result.f1", "task": "text", "sample": "_ng_rollout_index"}
    name = write(folder, kind, ROWS[:2])
    table = folder.load(name, scores=["reward"], fields=fields)
    assert table.tasks == ("a long answer",)
    assert table.scores["reward"].tolist() == [0.25, 0.25]


def test_columns_that_are_not_needed_are_not_read(folder):
    name = write(folder, "parquet")
    whole = bytearray((folder.path / name).read_bytes())
    metadata = pq.ParquetFile(folder.path / name).metadata
    for group, index in product(range(2), range(metadata.num_columns)):
        column = metadata.row_group(group).column(index)
        if column.path_in_schema in ("text", "tags.list.element"):
            start = column.dictionary_page_offset or column.data_page_offset
            size = column.total_compressed_size
            whole[start : start + size] = bytes(size)
    folder.write(bytes(whole), name)
    assert len(folder.load(name, scores=["reward"])) == 4
    assert "can't be read" in folder.refused(name, categories=["text"]).message


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_compressed_and_a_truncated_file(folder, kind):
    name = write(folder, kind)
    whole = (folder.path / name).read_bytes()
    folder.write(gzip.compress(whole), "packed.gz")
    assert len(folder.load("packed.gz", scores=["reward"])) == 4
    folder.write(whole[:-200], name)
    refused = folder.refused(name, scores=["reward"])
    assert refused.file == name
    assert "it can't be read" in refused.message


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"reward": "high"},
            {},
            "the score 'reward' is text: \"high\"; expected a number",
        ),
        ({"_ng_task_index": None}, {}, "'_ng_task_index' is null; the row's keys"),
        ({"_ng_rollout_index": -1}, {}, "the sample index is -1"),
        ({}, {"fields": {"task": "problem"}}, "'problem' is not there; the row's keys"),
    ],
)
def test_what_is_refused(folder, change, options, message):
    name = write(folder, "parquet", [{**ROWS[0], **change}])
    assert message in folder.refused(name, scores=["reward"], **options).message


def test_without_pyarrow_the_error_names_what_to_install(folder, monkeypatch):
    name = write(folder, "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused = folder.refused(name)
    assert 'pip install "pytest-evalmetrics[parquet]"' in str(refused.hint)


def test_a_pyarrow_for_another_numpy_says_so(folder, tmp_path, monkeypatch):
    name = write(folder, "parquet")
    other = "raise ImportError('pyarrow requires NumPy 2.0 or newer, found 1.26.4')\n"
    (tmp_path / "pyarrow.py").write_text(other)
    monkeypatch.delitem(sys.modules, "pyarrow")
    monkeypatch.syspath_prepend(tmp_path)
    refused = folder.refused(name)
    assert refused.message == (
        "this is a Parquet file, which takes pyarrow to be read, and it can't be imported: "
        "pyarrow requires NumPy 2.0 or newer, found 1.26.4"
    )
    assert "pyarrow<22 beside NumPy 1.26" in str(refused.hint)


def test_decimals_and_large_numbers(folder, tmp_path):
    columns = {
        "_ng_task_index": [0],
        "reward": pa.array([Decimal("0.25")]),
        "large": pa.array([2**63 + 1], pa.uint64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "runs.parquet")
    scores = folder.load("runs.parquet", scores=["reward"]).scores
    assert (scores["reward"].tolist(), scores["large"].tolist()) == (
        [0.25],
        [float(2**63)],
    )
