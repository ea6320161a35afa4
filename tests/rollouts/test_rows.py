"""What a row says: NeMo Gym's reading, with nothing to configure."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts.conftest import Folder
from rollouts.reference import plain, read

from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.reports.sentences.notes import note_texts

GYM = Path(__file__).parents[3] / "shared" / "acceptance" / "gym"
FILES = sorted(GYM.glob("*/*rollouts.jsonl"))


def row(task=0, sample=0, **more):
    return {"_ng_task_index": task, "_ng_rollout_index": sample, **more}


def column(table, name):
    return plain(table).scores[name]


def test_a_number_among_text_is_not_lost(folder):
    rows = [row(i, answer="x" * (300 if i % 2 else 3)) for i in range(200)]
    rows[150]["answer"] = 42
    rows[199]["answer"] = True
    for i in (7, 9):
        rows[i]["response"] = {"usage": {"total_tokens": "many" if i == 9 else 12}}
    folder.rows(rows)
    table = folder.load()
    expected = [None] * 200
    expected[150], expected[199] = 42, 1
    assert column(table, "answer") == expected
    text = (
        "in some rows this is not a number and counts as missing, first in runs.jsonl"
    )
    assert note_texts(table.notes) == (f"answer: {text}:1", f"total_tokens: {text}:10")


def test_nan_and_infinity_are_missing_and_are_counted(folder):
    values = ["1", "NaN", "-Infinity", "1e999", "NaN", "9" * 400, "0.5"]
    text = "\n".join(
        f'{{"_ng_task_index": {i}, "reward": {v}, "n": {i}, "s": "NaN"}}'
        for i, v in enumerate(values)
    )
    folder.write(text)
    table = folder.load(scores=["reward"])
    assert column(table, "reward") == [1, None, None, None, None, None, 0.5]
    assert column(table, "n") == [0, 1, 2, 3, 4, 5, 6]
    assert note_texts(table.notes) == (
        "reward: 2 values are NaN and count as missing (runs.jsonl:2)",
        "reward: 3 values are infinite or too large and count as missing (runs.jsonl:3)",
    )


def test_halves_of_surrogate_pairs_are_spelled_out(folder):
    folder.write(
        r'{"_ng_task_index": "\ud800", "agent_ref": {"name": "a\udc00"}, "b\ud800": 2}'
    )
    table = folder.load(categories=["agent_ref.name"])
    assert (table.tasks, table.agents) == ((r"\ud800",), (r"a\udc00",))
    assert table.categories["agent_ref.name"].labels == (r"a\udc00",)
    assert column(table, r"b\ud800") == [2]


texts = st.sampled_from(["NaN", "-Infinity", '": NaN}', '\\": [NaN]', "\\"]) | st.text(
    max_size=9
)
numbers = st.floats() | st.integers(-3, 3) | st.none()
lines = st.lists(
    st.fixed_dictionaries(
        {
            "reward": st.floats() | st.none(),
            "other": st.floats(-2, 2) | st.sampled_from([1e999]),
        },
        optional={"note": texts, "usage": st.fixed_dictionaries({"tokens": numbers})},
    ),
    min_size=1,
    max_size=90,
)


@settings(max_examples=60)
@given(lines)
def test_lines_are_read_and_noted_as_rows_of_an_array_are(rows):
    rows = [{"_ng_task_index": i // 2, **row} for i, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.rows(rows, "a.jsonl")
        folder.json(rows, "a.json")
        one, other = (
            folder.load(f"a.{kind}", scores=["reward"]) for kind in ("jsonl", "json")
        )
    assert list(one.scores) == list(other.scores)
    for score, column in one.scores.items():
        np.testing.assert_array_equal(column, other.scores[score])
    assert note_texts(one.notes) == tuple(
        re.sub(r"a\.json, row ", "a.jsonl:", n) for n in note_texts(other.notes)
    )
    assert one.integers == other.integers


def test_a_broken_row_behind_them_is_reported(folder):
    text = (
        '{"_ng_task_index": 0, "reward": NaN}\n' * 3
        + '{"_ng_task_index": 1, "reward": -NaN}\n'
    )
    folder.write(text)
    refused = folder.refused(scores=["reward"])
    assert (refused.line, "this line is not JSON" in refused.message) == (4, True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_real_rollouts_of_nemo_gym(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    table = Folder(path.parent).load(path.name, scores=["reward"])
    assert len(table) == table.sources[0].rows == len(rows)
    assert set(table.tasks) == {row["_ng_task_index"] for row in rows}
    assert table.scores["reward"].sum() == sum(row["reward"] for row in rows)
    tokens = [row["response"]["usage"]["output_tokens"] for row in rows]
    assert table.scores["output_tokens"].sum() == sum(tokens)
    assert plain(table) == read(rows, FieldMap(), [])
