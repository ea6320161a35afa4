from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.metrics.matching import named, positions

IDS = st.one_of(
    st.lists(st.integers(-50, 50), unique=True),
    st.lists(st.integers(-50, 50).map(str), unique=True),
    st.lists(st.sampled_from(["a", "b", "1", "01", "-1", "", "é", "10", "2"]), unique=True),
)


@given(IDS, IDS, st.booleans())
def test_each_task_is_found_where_its_text_is(tasks, among, ascending):
    if ascending:
        tasks, among = sorted(tasks), sorted(among)
    found = positions(tuple(tasks), tuple(among))
    places = list(range(len(tasks))) if found is None else found.tolist()
    texts = [str(t) for t in among]
    assert places == [texts.index(str(t)) if str(t) in texts else -1 for t in tasks]


@pytest.mark.parametrize(
    ("tasks", "among"),
    [((1, 2, 3), ("1", "2", "3")), (("a", "b"), ("a", "b")), ((), ()), ((5,), (5,))],
)
def test_lists_that_are_alike_need_no_places(tasks, among):
    assert positions(tasks, among) is None


def test_numbers_that_are_written_otherwise_are_other_ids():
    assert positions((7, 8), ("007", "8")).tolist() == [-1, 1]
    assert positions((7,), ("\uff17", "7")).tolist() == [1]
    assert positions((10**30, 1), ("1", str(10**30))).tolist() == [1, 0]


def test_tasks_are_named_by_their_places():
    tasks = ("a", "b", "c")
    assert named(tasks, np.array([0, 2])) == ("a", "c")
    assert named(tasks, np.arange(3)) is tasks
