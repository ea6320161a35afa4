"""Bare NaN and Infinity: parsed as `json.loads` does, and reported."""

import re
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts.conftest import Folder

texts = st.sampled_from(["NaN", "-Infinity", '": NaN}', '\\": [NaN]', "\\"]) | st.text(max_size=9)
numbers = st.floats() | st.integers(-3, 3) | st.none()
rows = st.lists(
    st.fixed_dictionaries(
        {"reward": st.floats() | st.none(), "other": st.floats(-2, 2) | st.sampled_from([1e999])},
        optional={"note": texts, "usage": st.fixed_dictionaries({"tokens": numbers})},
    ),
    min_size=1,
    max_size=90,
)


@settings(max_examples=60)
@given(rows)
def test_lines_are_read_and_noted_as_rows_of_an_array_are(rows):
    rows = [{"_ng_task_index": i // 2, **row} for i, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.rows(rows, "a.jsonl")
        folder.json(rows, "a.json")
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
