"""Ids of single rows are no tasks where a field without a known name recurs as attempts do."""

import uuid

import pytest
from rollouts.odd import lines

from pytest_evalmetrics.rollouts.survey import write_benchmark

TASKS = range(12)
ATTEMPTS = range(3)

IDS = {
    "numbers from 0": lambda row: {"id": row},
    "numbers from 1": lambda row: {"id": row + 1},
    "an index": lambda row: {"index": row},
    "a row id": lambda row: {"row_id": row},
    "texts": lambda row: {"id": f"row-{row}"},
    "random ids": lambda row: {"id": str(uuid.UUID(int=(row + 7) ** 25 % 2**128))},
    "names": lambda row: {"name": f"item {row}"},
    "titles": lambda row: {"title": f"Row {row}"},
    "labels": lambda row: {"label": f"Row {row}"},
}
MARKS = {
    "rep": (0, 1, 2),
    "variant": ("a", "b", "c"),
    "draw": (1, 2, 3),
    "round": (0, 1, 2),
    "n": (0, 1, 2),
    "temperature": (0.0, 0.5, 1.0),
}


def passes(task, attempt):
    return (task * 7 + attempt * 5 + task * attempt) % 3 > 0


def in_order_of(kind):
    if kind == "tasks":
        return [(task, attempt) for task in TASKS for attempt in ATTEMPTS]
    return [(task, attempt) for attempt in ATTEMPTS for task in TASKS]


def rows(ids, mark, order):
    return [
        {
            **IDS[ids](row),
            mark: MARKS[mark][attempt],
            "reply": f"I believe that the answer of {task} is {row * 31}",
            "ok": passes(task, attempt),
        }
        for row, (task, attempt) in enumerate(in_order_of(order))
    ]


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("order", ["tasks", "attempts"])
def test_rows_that_may_be_attempts_are_asked_about(tmp_path, ids, mark, order):
    (tmp_path / "r.jsonl").write_text(lines(rows(ids, mark, order)))
    written = write_benchmark("r.jsonl", tmp_path)
    assert any("task: ?" in line for line in written.open_lines)


@pytest.mark.parametrize("name", ["category", "difficulty", "language", "model"])
def test_what_describes_a_task_numbers_no_attempts(tmp_path, name):
    values = ("x", "y", "z")
    content = lines(
        {"id": row, name: values[row % 3], "ok": passes(row, 0)} for row in range(36)
    )
    (tmp_path / "r.jsonl").write_text(content)
    written = write_benchmark("r.jsonl", tmp_path)
    assert written.open_lines == ()


def test_a_question_id_is_a_task_beside_anything(tmp_path):
    content = lines(
        {"question_id": row, "variant": row % 3, "ok": passes(row, 0)}
        for row in range(36)
    )
    (tmp_path / "r.jsonl").write_text(content)
    written = write_benchmark("r.jsonl", tmp_path)
    assert written.open_lines == ()


def test_the_question_names_the_ids_and_the_field_that_recurs(tmp_path):
    (tmp_path / "r.jsonl").write_text(lines(rows("numbers from 0", "rep", "tasks")))
    (line,) = write_benchmark("r.jsonl", tmp_path).open_lines
    assert "id if each row is a task; if rep numbers attempts, add" in line
