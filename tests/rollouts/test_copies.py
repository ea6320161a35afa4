"""Rows of one task with the same numbers: copies are refused, and others are not read again."""

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import recorded


def attempts(answers):
    return [
        {"task": f"q{n}", "reward": 1, "answer": answer}
        for n in range(6)
        for answer in answers
    ]


def load(folder):
    return folder.load("runs.jsonl", fields={"task": "task"})


@pytest.mark.parametrize(
    "answers",
    [
        ["yes", "certainly"],
        ["a" * 900 + "ends here", "a" * 900 + "ends here, or there"],
        ["a" * 450 + "b" * 450, "b" * 450 + "a" * 450],
    ],
    ids=["short", "of other sizes", "of other middles"],
)
def test_attempts_with_other_answers_are_read_once(folder, monkeypatch, answers):
    monkeypatch.delattr(recorded, "_written")  # reads all rows again
    folder.rows(attempts(answers))
    assert len(load(folder)) == 12


def test_long_answers_that_differ_in_a_letter_are_attempts(folder):
    folder.rows(attempts(["a" * 900 + "x", "a" * 900 + "y"]))
    assert len(load(folder)) == 12


@pytest.mark.parametrize("size", [30, 900])
def test_copies_are_refused_with_both_places(folder, size):
    rows = attempts(["word " * size])
    folder.rows([*rows, rows[2]])
    with pytest.raises(
        DataError, match=r"runs.jsonl:7 is the same row as runs.jsonl:3"
    ):
        load(folder)


def test_copies_in_two_files_of_which_one_is_a_csv_are_refused(folder):
    rows = attempts(["word " * 900])
    folder.rows(rows)
    cells = "".join(f"{r['task']},{r['reward']},{r['answer']}\n" for r in rows[:3])
    folder.write("task,reward,answer\n" + cells, "runs.csv")
    with pytest.raises(DataError, match=r"the task id 'q0' is in runs.csv too"):
        folder.load("runs.csv", "runs.jsonl", fields={"task": "task"})
