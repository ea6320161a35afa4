"""Bare NaN and Infinity: parsed as `json.loads` does, and reported."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from rollouts.conftest import Folder

words = st.sampled_from(["NaN", "Infinity", "-Infinity", ": NaN,", '": NaN}', '\\": [NaN]', "\\"])
texts = st.lists(words | st.text(max_size=3), max_size=4).map("".join)
numbers = st.floats() | st.integers(-3, 3) | st.none()
values = st.recursive(
    numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(texts, values, max_size=4), min_size=1, max_size=5)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])


@given(objects, separators, st.booleans())
@example([{": NaN, ": ": NaN,", "a\\": float("nan")}], (",", ":"), False)
@example([{"a": [float("-inf"), "NaN", float("inf")]}], (", ", ": "), True)
def test_labels_and_numbers_beside_them_are_what_json_reads(found, by, escaped):
    rows = [
        {"task": i, "reward": float("nan"), "other": json.dumps(value)}
        for i, value in enumerate(found)
    ]
    lines = [json.dumps(row, separators=by, ensure_ascii=escaped) for row in rows]
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.write("\n".join(lines).encode("utf-8", "backslashreplace"))
        table = folder.load(scores=["reward"], categories=["other"], fields={"task": "task"})
    labels = table.categories["other"]
    plain = [json.loads(line.encode("utf-8", "backslashreplace"))["other"] for line in lines]
    assert [labels.labels[code] for code in labels.codes] == plain
    assert np.isnan(table.scores["reward"]).all()


rows = st.lists(
    st.fixed_dictionaries(
        {"reward": st.floats() | st.none(), "other": st.floats(-2, 2) | st.sampled_from([1e999])},
        optional={"note": texts, "usage": st.fixed_dictionaries({"tokens": numbers})},
    ),
    min_size=1,
    max_size=90,
)


@given(rows)
def test_lines_are_read_and_told_as_rows_are_one_by_one(found):
    given_ = [{"_ng_task_index": i // 2, **row} for i, row in enumerate(found)]
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.rows(given_, "a.jsonl")
        folder.json(given_, "a.json")
        one, other = (folder.load(f"a.{kind}", scores=["reward"]) for kind in ("jsonl", "json"))
    assert list(one.scores) == list(other.scores)
    for score, column in one.scores.items():
        np.testing.assert_array_equal(column, other.scores[score])
    assert one.notes == tuple(re.sub(r"a\.json, row ", "a.jsonl:", n) for n in other.notes)
    assert one.integers == other.integers


def test_a_broken_row_behind_them_is_told(folder):
    text = '{"_ng_task_index": 0, "reward": NaN}\n' * 3 + '{"_ng_task_index": 1, "reward": -NaN}\n'
    folder.write(text)
    refused = folder.refused(scores=["reward"])
    assert (refused.line, "this line is no JSON" in refused.message) == (4, True)
