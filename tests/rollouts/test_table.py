"""Chunks of whatever format to one table."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts.reference import plain

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Chunk, FieldMap, Request, Source
from pytest_evalmetrics.rollouts.table import TableBuilder

SOURCE = Source(Path("a"), "a", 1, b"{")


def chunk(rows, first=1):
    agent, task, sample, reward = zip(*rows, strict=True)
    return Chunk(
        places=np.arange(first, first + len(rows)),
        task=task,
        sample=sample,
        agent=agent,
        scores={"reward": np.array(reward, np.float64)},
    )


def build(*chunks):
    table = TableBuilder(Request(FieldMap(), ("reward",)))
    for each in chunks:
        table.add(SOURCE, each)
    return table.build()


attempts = st.tuples(st.sampled_from(["b", "a", None]), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(attempts, unique=True, min_size=1), st.integers(1, 5))
def test_rows_are_sorted_by_agent_task_and_sample(keys, size):
    rows = [(*key, float(i)) for i, key in enumerate(keys)]
    table = build(*(chunk(rows[i : i + size], i + 1) for i in range(0, len(rows), size)))
    order = list(dict.fromkeys(key[0] or "agent" for key in keys))
    expected = sorted(rows, key=lambda r: (order.index(r[0] or "agent"), r[1], r[2]))
    assert plain(table).rows == [(r[0] or "agent", r[1], r[2]) for r in expected]
    assert table.scores["reward"].tolist() == [r[3] for r in expected]


@given(st.lists(attempts, min_size=1))
def test_rows_without_an_index_are_numbered_as_they_come(keys):
    rows = [(agent, task, None, float(i)) for i, (agent, task, _) in enumerate(keys)]
    table = build(chunk(rows))
    for _, mine in table.by_agent():
        for start, stop in zip(mine.offsets, mine.offsets[1:], strict=False):
            assert mine.sample[start:stop].tolist() == list(range(stop - start))
            assert (np.diff(mine.scores["reward"][start:stop]) > 0).all()
    assert len(table) == len(rows)


@given(st.lists(attempts, min_size=1))
def test_duplicates_are_found_wherever_they_are(keys):
    keys = [(agent or "agent", task, sample) for agent, task, sample in keys]
    second = next((i for i, key in enumerate(keys) if key in keys[:i]), None)
    rows = [(*key, 0.0) for key in keys]
    if second is None:
        assert len(build(chunk(rows))) == len(rows)
        return
    with pytest.raises(DataError) as caught:
        build(chunk(rows))
    assert caught.value.line == second + 1
    assert f"a:{keys.index(keys[second]) + 1}: " in caught.value.message


@pytest.mark.parametrize("tasks", [[1, "1"], ["1", 1]])
def test_a_number_and_its_text_are_refused_as_two_tasks(tasks):
    told = f"a:2: this row's task id is {tasks[1]!r}, and a:1 has {tasks[0]!r}"
    with pytest.raises(DataError, match=re.escape(told)):
        build(chunk([("a", task, i, 0.0) for i, task in enumerate(tasks)]))
