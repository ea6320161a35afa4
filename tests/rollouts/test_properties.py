"""Laws: however rows are written and cut into blocks, the table is the plain reading's."""

import gzip
import json
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts.conftest import Folder
from rollouts.reference import plain, read
from rollouts.small import ARRAY_BLOCKS, BLOCKS, SIZES

from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.reports.sentences.notes import note_texts

text = st.text(max_size=8) | st.sampled_from(
    [
        *["", '"', "\\", "\n", 'a "quoted" {brace} \\', "é", "数", "😀", "\ud800"],
        "1",
        "null",
        "x" * 300,
    ]
)
numbers = (
    st.integers(-3, 3)
    | st.integers()
    | st.integers(min_value=10**300, max_value=10**310)
    | st.floats()
    | st.booleans()
)
anything = st.recursive(
    st.none() | numbers | text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["0", "x", "a.b", "k"]), inner, max_size=3)
    ),
    max_leaves=6,
)
keys = st.sampled_from(
    ["reward", "a", "b.c", "b", "_hidden", "é", 'q"uote', "tokens", "long", "choices"]
)
usage = (
    st.none()
    | text
    | st.dictionaries(
        st.sampled_from(["tokens", "a", "_x", "details", "total"]),
        numbers | anything,
        max_size=3,
    )
)
mostly_numbers = st.one_of(numbers, numbers, anything)


@st.composite
def rows_of(draw, *, many):
    """Rows with a task, and with a sample index or none."""
    shapes = draw(
        st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "response": st.none()
                    | text
                    | st.fixed_dictionaries(
                        {}, optional={"usage": usage, "output": anything}
                    ),
                    "usage": usage,
                    "agent_ref": st.none()
                    | st.fixed_dictionaries(
                        {},
                        optional={
                            "name": st.sampled_from(["one", "two", "\udc00"])
                            | st.none()
                        },
                    ),
                },
            ),
            min_size=1,
            max_size=6,
        )
    )
    rows = []
    task = (
        st.integers(0, 3)
        | st.integers(-(10**20), 10**20)
        | st.sampled_from(["01", "b", "é"])
    )
    if draw(st.booleans()):
        task = st.integers(0, 5)
    numbered = draw(st.booleans())
    for shape in shapes:
        row = {**shape, **draw(st.dictionaries(keys, mostly_numbers, max_size=5))}
        items = list(draw(st.permutations(list(row.items()))))
        items.insert(draw(st.integers(0, len(items))), ("_ng_task_index", draw(task)))
        rows.append(dict(items))
    if many:  # so that something new comes late
        rows = [rows[0]] * draw(st.integers(60, 140)) + rows
    if numbered:
        rows = [{**row, "_ng_rollout_index": i} for i, row in enumerate(rows)]
    return rows


def writable(value):
    """Spell out the halves of surrogate pairs, as text in UTF-8 has to."""
    if isinstance(value, dict):
        return {writable(k): writable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [writable(v) for v in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def written(rows, draw, *, array):
    """Write rows in one of the ways in which tools write them."""
    ascii_only = draw.draw(st.booleans(), label="ascii")
    separators = draw.draw(
        st.sampled_from([None, (",", ":"), (" , ", " : ")]), label="separators"
    )
    if not ascii_only:
        rows = writable(rows)
    if array:
        indent = draw.draw(st.sampled_from([None, 1]), label="indent")
        whole = json.dumps(
            rows, ensure_ascii=ascii_only, separators=separators, indent=indent
        )
    else:
        lines = [
            json.dumps(r, ensure_ascii=ascii_only, separators=separators) for r in rows
        ]
        end = draw.draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n"]), label="end")
        whole = end.join(lines) + draw.draw(st.sampled_from(["", end]), label="last")
    return draw.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + whole.encode()


@settings(max_examples=75, deadline=None)
@given(st.data(), st.booleans(), st.booleans())
def test_the_table_equals_what_json_loads_reads(data, array, many):
    # rows that are the same as written are refused
    drawn = data.draw(rows_of(many=many))
    rows = [{**row, "_serial": n} for n, row in enumerate(drawn)]
    content = written(rows, data, array=array)
    packed = data.draw(st.booleans(), label="gzip")
    decoded = content.decode("utf-8-sig")
    texts = (
        [decoded] if array else [text for text in decoded.split("\n") if text.strip()]
    )
    values = [json.loads(text) for text in texts]
    expected = read(writable(values[0] if array else values), FieldMap(), [])
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        folder.write(gzip.compress(content) if packed else content)
        table = folder.load()
        assert plain(table) == expected
        assert list(table.scores) == list(expected.scores)
        with patch.dict(SIZES, block=data.draw(st.integers(1, 500))):
            small = folder.load(format=ARRAY_BLOCKS if array else BLOCKS)
    assert plain(small) == expected
    assert list(small.scores) == list(table.scores)
    assert note_texts(small.notes) == note_texts(table.notes)
