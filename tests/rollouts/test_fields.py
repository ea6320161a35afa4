"""`fields:` says where a row keeps what we need."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts.conftest import Folder
from rollouts.reference import first, places, plain, read

from pytest_evalmetrics.ext import FieldMap


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reward": "result.f1"}, "the path 'result.f1' of the score 'reward'"),
        ({"scores": {"x": "reslt.acc"}}, "did you mean 'result'?"),
        ({"agent": "modle"}, "did you mean 'model'?"),
        ({"sample": "attempt"}, "the path 'attempt' of the sample"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(folder, fields, message):
    folder.rows([{"id": 1, "model": "m", "result": {"acc": 1}}] * 3)
    error = folder.refused(fields={"task": "id", **fields})
    assert message in error.message
    assert "id, model, result" in error.message
    too_deep = folder.refused(fields={"task": "a" + ".b" * 40})
    assert "more than 10 parts" in too_deep.message


def test_a_task_path_that_leads_nowhere_names_the_row_and_its_keys(folder):
    folder.rows([{"task_id": 1, "reward": 1}, {"task_id": 2, "score": 1}])
    error = folder.refused(fields={"task": "taskid"})
    assert error.where == "runs.jsonl:1"
    assert error.message == (
        "this row has no task id: 'taskid' is not there; did you mean 'task_id'? "
        "the row's keys: reward, task_id"
    )


leaf = st.none() | st.integers(-9, 9) | st.floats() | st.booleans()
nested = st.recursive(
    leaf,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["a", "b", "a.b", "0", "1"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
keys = st.sampled_from(["a", "b", "a.b", "a.0", "usage", "response"])


def refused(row, reward, category):
    """Whether a row holds no number where one is needed, or no label."""
    rewards = [v for v in places(row, reward) if v is not None]
    number = not rewards or any(isinstance(v, int | float) for v in rewards)
    return not number or isinstance(first(row, category), list | dict)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dictionaries(keys, nested, max_size=3), min_size=1, max_size=5),
    st.sampled_from(["a.b", "a", "b.0.a", "a.0", "usage.a", "a.b.a"]),
    st.sampled_from(["b", "a.b.0", "response.usage.b"]),
    st.integers(1, 70),
)
def test_paths_are_read_as_the_plain_way_reads_them(rows, reward, category, repeats):
    rows = [{"id": i, **row} for i, row in enumerate([rows[0]] * repeats + rows)]
    fields = {"task": "id", "reward": reward}
    rows = [row for row in rows if not refused(row, reward, category)]
    rows.append({"id": -1, reward: 1, category: "x"})
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        folder.rows(rows)
        table = folder.load(fields=fields, categories=[category])
    expected = read(rows, FieldMap(**fields), [category])
    values = plain(table)
    assert values.labels == expected.labels
    assert values.scores == expected.scores
    assert values.rows == expected.rows
