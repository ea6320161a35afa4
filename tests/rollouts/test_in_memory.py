"""Rewards at hand -> the table that files are read into."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pytest_evalmetrics.errors import CheckError
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.rollouts import table_in_memory


def rows(table, score="reward"):
    """Every row as (task, sample, number), NaN as None."""
    column = [None if math.isnan(v) else v for v in table.scores[score].tolist()]
    tasks = [table.tasks[i] for i in table.task.tolist()]
    return list(zip(tasks, table.sample.tolist(), column, strict=True))


class Frame:
    """What can make an array of itself."""

    def to_numpy(self):
        return np.array([[1.0, 0.0], [0.5, 1.0]])


@pytest.mark.parametrize(
    "rewards",
    [
        Frame(),
        [[1, 0], [0.5, True]],
        ([1, 0], (0.5, True)),
        np.array([[1.0, 0.0], [0.5, 1.0]]),
        [np.array([1.0, 0.0]), np.array([0.5, 1.0])],
        {0: [1, 0], 1: [np.float32(0.5), np.int64(1)]},
        {np.int64(1): (0.5, np.True_), np.int64(0): (1, 0)},
        [[1, 0], [Fraction(1, 2), 1]],
    ],
)
def test_the_forms_mean_the_same(rewards):
    table = table_in_memory(rewards)
    assert table.agents == ("agent",)
    assert rows(table) == [(0, 0, 1), (0, 1, 0), (1, 0, 0.5), (1, 1, 1)]


@pytest.mark.parametrize(
    "rewards", [[1, None, 0.5], np.array([1.0, np.nan, 0.5]), range(3)]
)
def test_a_flat_list_is_one_sample_of_each_task(rewards):
    table = table_in_memory(rewards)
    assert [row[:2] for row in rows(table)] == [(0, 0), (1, 0), (2, 0)]


def test_tasks_are_sorted_as_those_of_files_and_keep_their_samples_in_order():
    table = table_in_memory({"b": [3, 1, 2], "a": [None, 5], ("x", 1): 7})
    samples = [("a", 0, None), ("a", 1, 5), ("b", 0, 3), ("b", 1, 1), ("b", 2, 2)]
    assert rows(table) == [("('x', 1)", 0, 7), *samples]
    assert table.offsets.tolist() == [0, 1, 3, 6]
    # a task of which nothing came back is not lost
    assert rows(table_in_memory({"a": [], "b": [1]})) == [("a", 0, None), ("b", 0, 1)]


def test_infinities_count_as_missing_and_are_reported():
    table = table_in_memory([1, math.inf, -math.inf])
    assert [row[2] for row in rows(table)] == [1, None, None]
    assert note_texts(table.notes) == (
        "reward: 2 values are infinite and count as missing",
    )


def test_scores_and_labels_follow_their_tasks():
    table = table_in_memory(
        {"b": [1, 0], "a": [0]},
        scores={"tokens": {"a": [7], "b": [8, 9]}, "listed": [[1, 2], [3]]},
        labels={"level": ["hard", "easy"], "named": {"a": 1, "b": 2}},
    )
    assert [row[2] for row in rows(table, "tokens")] == [7, 8, 9]
    assert [row[2] for row in rows(table, "listed")] == [3, 1, 2]
    labels = {
        n: [c.labels[i] for i in c.codes.tolist()] for n, c in table.categories.items()
    }
    assert labels == {"level": ["easy", "hard", "hard"], "named": ["1", "2", "2"]}


@pytest.mark.parametrize(
    ("rewards", "more", "message"),
    [
        ([], {}, "rewards holds no task"),
        ("text", {}, "rewards is str 'text'; expected one entry per task"),
        (None, {}, "rewards is NoneType"),
        ([[1], 2], {}, r"rewards\[0\] is list \[1\] and rewards\[1\] is int 2"),
        ([[1], ["2"]], {}, r"rewards\[1\]\[0\] is str '2'; expected a number"),
        ({"a": [1], 1: [1]}, {}, "are numbers and text"),
        ({None: [1]}, {}, "the key None of rewards can't be a task's id"),
        ({"(1, 2)": [1], (1, 2): [0]}, {}, "two keys of rewards are the same task"),
        (np.zeros((2, 2, 2)), {}, r"the shape \(2, 2, 2\)"),
        ({"a": np.zeros((2, 2))}, {}, r"rewards\['a'\] has the shape \(2, 2\)"),
        ([1j], {}, "is complex"),
        (
            [1, 2],
            {"scores": {"reward": [2, 3]}},
            "scores holds a 'reward' beside rewards",
        ),
        ([1, 2], {"scores": {"x": [1]}}, r"scores\['x'\] has 1 task, and rewards 2"),
        ([[1, 2]], {"scores": {"x": [[1]]}}, "has 1 value of task 0, and rewards 2"),
        ({"a": 1}, {"scores": {"x": {"b": 1}}}, "'b' is only in scores"),
        ({"a": 1, "b": 1}, {"scores": {"x": {"b": 1}}}, "'a' is only in rewards"),
        ([1, 2], {"labels": {"x": ["a"]}}, r"labels\['x'\] has 1 task, and rewards 2"),
        ({"a": 1}, {"labels": {"x": {}}}, "has none for task 'a'"),
    ],
)
def test_invalid_arguments_are_refused(rewards, more, message):
    with pytest.raises(CheckError, match=message):
        table_in_memory(rewards, **more)


FORMS = (
    "give one list of numbers per task, a dict of task to numbers, a NumPy array (tasks x "
    "samples), or a flat list with one number per task"
)


@pytest.mark.parametrize(
    ("rewards", "more", "message", "hint"),
    [
        ([], {}, "rewards holds no task", FORMS),
        (
            5,
            {},
            "rewards is int 5; expected one entry per task",
            FORMS,
        ),
        (
            np.zeros((1, 1, 1)),
            {},
            "rewards has the shape (1, 1, 1); expected (tasks,) or (tasks, samples)",
            FORMS,
        ),
        (
            [np.zeros((1, 1))],
            {},
            "rewards[0] has the shape (1, 1); expected (samples,)",
            None,
        ),
        (
            [[1], [0], 5],
            {},
            "rewards[0] is list [1] and rewards[2] is int 5",
            FORMS,
        ),
        (
            [[1, "x"]],
            {},
            "rewards[0][1] is str 'x'; expected a number, a boolean, or None",
            FORMS,
        ),
        ([10**400], {}, "rewards[0] is larger than a number can be here", FORMS),
        (
            {"a": 1, 2: 0},
            {},
            "the tasks of rewards are numbers and text",
            "give all as text, or none",
        ),
        (
            {"1.5": 1, 1.5: 0},
            {},
            "two keys of rewards are the same task once they are text",
            None,
        ),
        (
            {None: 1},
            {},
            "the key None of rewards can't be a task's id; expected text or a number",
            None,
        ),
        (
            [1, 0],
            {"scores": {"reward": [1, 0]}},
            "scores holds a 'reward' beside rewards",
            "give it another name",
        ),
        (
            [1, 0],
            {"scores": {"tone": [1]}},
            "scores['tone'] has 1 task, and rewards 2",
            None,
        ),
        (
            [[1, 0]],
            {"scores": {"tone": [[1]]}},
            "scores['tone'] has 1 value of task 0, and rewards 2",
            None,
        ),
        (
            {"a": 1},
            {"scores": {"tone": {"b": 1}}},
            "scores['tone'] has other tasks than rewards: 'b' is only in scores['tone']",
            None,
        ),
        (
            {"a": 1, "b": 1},
            {"scores": {"tone": {"b": 1}}},
            "scores['tone'] has other tasks than rewards: 'a' is only in rewards",
            None,
        ),
        (
            {"a": 1},
            {"labels": {"level": {"b": "x"}}},
            "labels['level'] has none for task 'a'",
            None,
        ),
    ],
)
def test_what_is_no_table_is_refused(rewards, more, message, hint):
    with pytest.raises(CheckError) as caught:
        table_in_memory(rewards, **more)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_large_array_is_shown_cut_short():
    with pytest.raises(CheckError) as caught:
        table_in_memory([["x" * 60]])
    shown = "'" + "x" * 38 + "…"
    assert caught.value.message.startswith(f"rewards[0][0] is str {shown}; ")
