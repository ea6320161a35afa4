"""Chunks of whatever format to one table, and what a format may tell of its rows."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rollouts.conftest import Folder
from rollouts.reference import plain
from rollouts.small import chunk, load_chunks

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Failure, NotFinite
from pytest_evalmetrics.reports.sentences.notes import note_texts


def of_rows(rows, first=1):
    agent, task, sample, reward = zip(*rows, strict=True)
    return chunk(task, sample, agent, {"reward": reward}, first)


def build(*chunks, scores=("reward",)):
    with tempfile.TemporaryDirectory() as path:
        return load_chunks(Folder(Path(path)), *chunks, scores=scores)


attempts = st.tuples(
    st.sampled_from(["b", "a", None]), st.integers(0, 3), st.integers(0, 3)
)


@given(st.lists(attempts, unique=True, min_size=1), st.integers(1, 5))
def test_rows_are_sorted_by_agent_task_and_sample(keys, size):
    rows = [(*key, float(i)) for i, key in enumerate(keys)]
    table = build(
        *(of_rows(rows[i : i + size], i + 1) for i in range(0, len(rows), size))
    )
    order = list(dict.fromkeys(key[0] or "agent" for key in keys))
    expected = sorted(rows, key=lambda r: (order.index(r[0] or "agent"), r[1], r[2]))
    assert plain(table).rows == [(r[0] or "agent", r[1], r[2]) for r in expected]
    assert table.scores["reward"].tolist() == [r[3] for r in expected]


@given(st.lists(attempts, min_size=1))
def test_rows_without_an_index_are_numbered_as_they_come(keys):
    table = build(
        of_rows([(agent, task, None, i) for i, (agent, task, _) in enumerate(keys)])
    )
    for _, mine in table.by_agent():
        for start, stop in zip(mine.offsets, mine.offsets[1:], strict=False):
            assert mine.sample[start:stop].tolist() == list(range(stop - start))
            assert (np.diff(mine.scores["reward"][start:stop]) > 0).all()
    assert len(table) == len(keys)


@given(st.lists(attempts, min_size=1))
def test_duplicates_are_detected_wherever_they_are(keys):
    keys = [(agent or "agent", task, sample) for agent, task, sample in keys]
    second = next((i for i, key in enumerate(keys) if key in keys[:i]), None)
    rows = [(*key, 0.0) for key in keys]
    if second is None:
        assert len(build(of_rows(rows))) == len(rows)
        return
    with pytest.raises(DataError) as caught:
        build(of_rows(rows))
    assert caught.value.line == second + 1
    assert f"a:{keys.index(keys[second]) + 1}: " in caught.value.message


@pytest.mark.parametrize("tasks", [[1, "1"], ["1", 1]])
def test_a_number_and_its_text_are_refused_as_two_tasks(tasks):
    message = f"a:2: this row's task id is {tasks[1]!r}, and a:1 has {tasks[0]!r}"
    with pytest.raises(DataError, match=re.escape(message)):
        build(chunk(tasks), scores=())


def test_names_stand_in_messages():
    bad = [NotFinite("reward", "NaN", 2)]
    rows = chunk(
        ["x", "y"],
        scores={"reward": [1, np.nan]},
        names=["x.json", "y.json"],
        not_finite=bad,
    )
    assert note_texts(build(rows).notes) == (
        "reward: 1 value is NaN and counts as missing (y.json)",
    )
    with pytest.raises(DataError, match=r"the same attempt as x\.json") as caught:
        build(replace(rows, task=["x", "x"], sample=[0, 0]))
    assert caught.value.file == "y.json"


def test_the_only_score_of_a_format_is_the_reward():
    acc = chunk(["x"], scores={"acc": [1.0]}, rewards=["acc"])
    table = build(chunk(["x"], scores={"acc": [1.0], "n": [3.0]}, rewards=["acc"]))
    assert table.scores["reward"].tolist() == [1]
    assert table.integers == {"acc", "n", "reward"}
    half = chunk(
        ["x"], scores={"acc": [0.5]}, rewards=["acc"], fractional=frozenset({"acc"})
    )
    assert build(half).integers == frozenset()
    with pytest.raises(DataError, match="several scores could be the reward: acc, f1"):
        build(acc, chunk(["y"], scores={"f1": [1.0]}, rewards=["f1"]))
    assert "reward" not in build(acc, scores=()).scores
    declared = chunk(
        ["x"], scores={"wer": [1.0]}, rewards=["wer"], directions={"wer": "lower"}
    )
    with pytest.raises(
        DataError, match="the only score is 'wer', and of a reward more is better"
    ):
        build(declared)


@pytest.mark.parametrize("kind", [int, bool, np.float32, object, list])
def test_columns_of_any_kind_hold_their_numbers(kind):
    values = [1, 0, 1] if kind is list else np.array([1, 0, 1], kind)
    three = chunk(["x", "y", "z"], scores={"reward": [1.0, 0, 1]})
    table = build(replace(three, scores={"reward": values}, task=np.array([3, 4, 5])))
    assert table.scores["reward"].tolist() == [1, 0, 1]
    assert [(task, type(task)) for task in table.tasks] == [
        (3, int),
        (4, int),
        (5, int),
    ]


@pytest.mark.parametrize("name", ["task", "sample", "agent", "scores"])
def test_a_column_of_another_length_is_refused(name):
    three = chunk(["x", "y", "z"], scores={"reward": [1.0, 0, 1]})
    short = (
        {"reward": np.array([1.0])} if name == "scores" else getattr(three, name)[:1]
    )
    named = "reward" if name == "scores" else name
    with pytest.raises(DataError, match=f"a chunk has 3 places, and 1 of {named}"):
        build(replace(three, **{name: short}))


def test_where_all_failed_every_score_is_missing():
    failed = {"failures": [Failure(0, "Error")], "rewards": []}
    table = build(chunk(["x"], **failed), scores=("reward", "acc"))
    assert np.isnan([table.scores["reward"], table.scores["acc"]]).all()
    with pytest.raises(DataError, match="'acc' is in no row"):
        build(chunk(["x"], scores={"reward": [1.0]}, **failed), scores=("acc",))
