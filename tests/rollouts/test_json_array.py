"""A JSON array of rows, in whatever way it is laid out and cut."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.rollouts.row_blocks import _split_array

ROW = '{"_ng_task_index": 0, "reward": 1.0}'
inner = st.recursive(
    st.none() | st.integers() | st.text(alphabet='"\\[]{},a\n'),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.text('"\\{}', max_size=2), each, max_size=2)
    ),
    max_leaves=5,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), inner, max_size=3), max_size=5),
    st.data(),
)
def test_a_text_is_split_at_its_rows_wherever_it_is_cut(rows, data):
    indent = data.draw(st.sampled_from([None, 2]))
    text = json.dumps(rows, indent=indent).encode()
    cut = data.draw(st.integers(0, len(text)))
    starts, stops, end = _split_array(np.frombuffer(text[:cut], np.uint8), inside=False)
    split = [json.loads(text[a:b]) for a, b in zip(starts, stops, strict=True)]
    assert split == rows[: len(split)]
    rest = text[stops[-1] if stops else 0 : cut]
    if end is None:  # what is left holds no whole row
        assert cut < len(text)
        with pytest.raises(json.JSONDecodeError):
            json.loads(rest.strip().removeprefix(b"," if stops else b"[") or b"?")
    else:
        assert split == rows
        assert end == len(text) - 1


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (
            f"[\n{ROW},\n{ROW[:9]}",
            3,
            "the file ends before its array does, after row 1",
        ),
        (f"[\n{ROW},", 2, "was the run interrupted?"),
        ('["', 1, "before the first row"),
        (f"[{ROW},]", 1, "found ',' after row 1"),
        (f"[{ROW}\n{ROW}]", 1, "found none after row 1"),
        (f"[{ROW},,{ROW}]", 1, "found ',,' after row 1"),
        (f"[,{ROW}]", 1, "found ',' before the first row"),
        (f"[{ROW},\n3]", 1, "found ',\\n3' after row 1"),
        (f"[{ROW},\n[3]]", 2, "row 2: this row is not a JSON object: found '[3]'"),
        (f"[{ROW}]\n\nx", 3, "found 'x' after the end of the array"),
        (
            f'[{ROW},\n\n{{"a": tru}}]',
            3,
            "row 2: this row is not JSON: Expecting value at column 7",
        ),
        (f'[{ROW},\n{{"a": [1}}]]', 2, "row 2: this row is not JSON"),
        (f'[{ROW},\n{{"_ng_task_index": "é"}}]'.encode("latin-1"), 2, "not UTF-8 text"),
        (f'[{ROW},\n{{"_ng_task_index": null}}]', 2, "row 2: this row has no task id"),
    ],
)
def test_a_broken_array(folder, content, line, message):
    folder.write(content)
    error = folder.refused()
    assert message in error.message
    assert error.where == f"runs.jsonl:{line}"
