from __future__ import annotations

import numpy as np
import pytest
from gates.making import make_pair
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.gates.comparison import in_order, seed_of


def test_whole_numbers_ascend_and_text_ascends_as_text():
    rewards = [[1.0], [2.0, 2.5], [3.0]]
    pair, clusters = in_order(make_pair(rewards, rewards, tasks=(10, 9, 100)), np.array([5, 3, 5]))
    assert pair.tasks == (9, 10, 100)
    assert pair.baseline.tolist() == [2.25, 1, 3]
    assert pair.rewards_current.to_lists() == [[2, 2.5], [1], [3]]
    assert clusters.tolist() == [0, 1, 1]  # as they appear
    assert in_order(make_pair(rewards, rewards, tasks=("10", "9", "100")), None)[0].tasks == (
        "10",
        "100",
        "9",
    )
    assert in_order(make_pair(rewards, rewards, tasks=("b", 9, 10)), None)[0].tasks == (10, 9, "b")


def test_what_is_in_order_is_not_copied():
    pair = make_pair([[1.0], [2.0]], [[1.0], [2.0]])
    assert in_order(pair, None) == (pair, None)
    assert in_order(make_pair([], []), None)[0].tasks == ()


def test_the_difference_follows_the_order():
    values = np.array([3.0, 1.0, 2.0])
    pair = make_pair(
        [[v] for v in values],
        [[0.0]] * 3,
        tasks=("c", "a", "b"),
        difference=lambda first, second: float(values[first % 3].sum() + 0 * len(second)),
    )
    ordered, _ = in_order(pair, None)
    assert ordered.tasks == ("a", "b", "c")
    assert [ordered.difference(np.array([i]), np.array([i + 3])) for i in range(3)] == [1, 2, 3]


@given(st.lists(st.text(), min_size=1, max_size=5), st.lists(st.text(), min_size=1, max_size=5))
def test_a_seed_is_of_the_gate_and_its_tasks(tasks, others):
    assert seed_of("g", tasks) == seed_of("g", list(tasks))
    assert seed_of("g", tasks) != seed_of("h", tasks)
    if tasks != others:
        assert seed_of("g", tasks) != seed_of("g", others)


@pytest.mark.parametrize("n", [1, 4_096, 4_097, 10_000])
def test_a_seed_is_of_all_tasks(n):
    tasks = list(range(n))
    assert seed_of("g", tasks) != seed_of("g", tasks[:-1])
    assert seed_of("g", tasks) == seed_of("g", [str(t) for t in tasks])
    assert 0 <= seed_of("g", tasks) < 2**128
