"""The tasks that changed most, with the texts of their attempts on both sides."""

import json

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError, RowError
from pytest_evalmetrics.model.results import Attempt, Flip
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row, RowScores
from pytest_evalmetrics.pipeline.benchmark_rows import (
    AnswerSide,
    PairedRow,
    flips_of,
    keep,
    texts_alone,
    worst_rows,
)
from pytest_evalmetrics.spec import FieldMap


def table_of(rewards, tasks=None, **fields):
    """Make a table of one agent from each task's rewards; None is a missing one."""
    counts = [len(task) for task in rewards]
    values = [np.nan if r is None else r for task in rewards for r in task]
    return RolloutTable(
        **{
            "agents": ("a",),
            "agent": np.zeros(sum(counts), np.int32),
            "tasks": tuple(tasks or (f"t{at}" for at in range(len(counts)))),
            "task": np.repeat(np.arange(len(counts)), counts),
            "sample": np.concatenate([np.arange(count) for count in counts]),
            "scores": {"reward": np.array(values, dtype=float)},
            "read_as": np.arange(sum(counts)),
            **fields,
        }
    )


def inputs(table, prefix, agent="a", **texts):
    """Make the rows of a table: question, answer, and further texts."""
    return [
        (
            Row(
                index=int(table.read_as[at]),
                agent=agent,
                task=table.tasks[table.task[at]],
                sample=int(table.sample[at]),
                item={
                    "question": f"{table.tasks[table.task[at]]}?",
                    "output": f"{prefix} {table.tasks[table.task[at]]}/{table.sample[at]}",
                    **texts,
                },
            ),
            None,
        )
        for at in range(len(table))
    ]


def side_of(rewards, prefix, tasks=None, texts=None, **fields):
    table = table_of(rewards, tasks)
    rows = inputs(table, prefix, **(texts or {}))
    return AnswerSide(
        table, lambda wanted: [r for r in rows if r[0].index in wanted], **fields
    )


def flips(now, was, at=None, *, lower=False, **settings):
    return flips_of("a", now, was, at, "reward", lower=lower, **settings)


def names(flipped):
    return [task.flip.task for task in flipped]


# -- which tasks -----------------------------------------------------------------------------

BEFORE = [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
NOW = [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]


def test_tasks_that_lost_most_come_first_and_then_those_that_gained():
    flipped = flips(side_of(NOW, "new"), side_of(BEFORE, "old"))
    assert names(flipped) == ["t2", "t0", "t1", "t4"]


def test_where_less_is_better_tasks_that_rose_come_first():
    flipped = flips(side_of(NOW, "new"), side_of(BEFORE, "old"), lower=True)
    assert names(flipped) == ["t1", "t4", "t2", "t0"]


def test_tasks_that_changed_alike_are_in_the_order_that_people_count_in():
    tasks = ["t10", "t9", "t1"]
    now = side_of([[0.0]] * 3, "new", tasks)
    was = side_of([[1.0]] * 3, "old", tasks)
    assert names(flips(now, was)) == ["t1", "t9", "t10"]


def test_a_task_is_paired_by_its_place_in_the_baseline():
    now = side_of([[0.0], [1.0], [0.0]], "new", ["x", "y", "z"])
    was = side_of([[1.0], [1.0]], "old", ["z", "y"])
    flipped = flips(now, was, [-1, 1, 0])
    assert names(flipped) == ["z"]
    assert flipped[0].flip.before[0].text == "old z/0"


def test_a_task_without_a_reward_on_a_side_did_not_change():
    now = side_of([[None], [0.0]], "new")
    was = side_of([[1.0], [1.0]], "old")
    assert names(flips(now, was)) == ["t1"]


def test_a_hundred_tasks_that_lost_and_thirty_that_gained_are_shown():
    before = [[1.0]] * 150 + [[0.0]] * 50
    now = [[0.0]] * 150 + [[1.0]] * 50
    flipped = flips(side_of(now, "new"), side_of(before, "old"))
    lost = [task for task in flipped if task.flip.now[0].reward == 0]
    assert len(lost) == 100
    assert len(flipped) == 130


def test_a_run_without_changes_reads_no_rows():
    def rows(_wanted):
        raise AssertionError("nothing changed")

    side = AnswerSide(table_of(NOW), rows)
    assert flips(side, side) == []


def test_without_the_reward_on_a_side_nothing_is_shown():
    bare = AnswerSide(table_of(NOW).__replace__(scores={}))
    whole = side_of(NOW, "new")
    assert flips(whole, bare) == []
    assert flips(bare, whole) == []


def test_files_that_changed_since_are_not_shown():
    def rows(_wanted):
        raise DataError("it is gone")

    now = AnswerSide(table_of(NOW), rows)
    assert flips(now, side_of(BEFORE, "old")) == []


# -- what is shown of a task -----------------------------------------------------------------


def test_a_flip_has_the_question_and_the_attempts_of_both_sides():
    now = side_of([[0.0, None]], "new", texts={"reference": "42", "reason": "wrong"})
    was = side_of([[1.0]], "old")
    (task,) = flips(now, was)
    assert task.flip == Flip(
        agent="a",
        task="t0",
        prompt="t0?",
        reference="42",
        before=(Attempt(sample=0, reward=1.0, text="old t0/0", reason=""),),
        now=(
            Attempt(sample=0, reward=0.0, text="new t0/0", reason="wrong"),
            Attempt(sample=1, reward=None, text="new t0/1", reason="wrong"),
        ),
    )


def test_a_question_that_only_the_baseline_holds_is_shown():
    now = AnswerSide(table_of([[0.0]]))
    was = side_of([[1.0]], "old", texts={"reference": "42"})
    (task,) = flips(now, was)
    assert task.flip.prompt == "t0?"
    assert task.flip.reference == "42"
    assert task.flip.now == (Attempt(sample=0, reward=0.0),)


def test_tasks_without_any_text_are_left_out():
    assert flips(AnswerSide(table_of(NOW)), AnswerSide(table_of(BEFORE))) == []


def test_of_many_attempts_the_best_the_worst_and_the_first_are_shown():
    now = side_of([[0.5, 0.4, 0.3, 0.2, 0.9, 0.1]], "new")
    was = side_of([[1.0]], "old")
    (task,) = flips(now, was)
    assert [attempt.sample for attempt in task.flip.now] == [0, 1, 4, 5]


def test_of_many_attempts_that_are_alike_the_first_are_shown():
    was = side_of([[1.0, 1.0, 1.0, 1.0, 1.0]], "old")
    (task,) = flips(side_of([[0.0]], "new"), was)
    assert [attempt.sample for attempt in task.flip.before] == [0, 1, 2, 3]


def test_keys_are_hidden_in_every_text():
    texts = {"question": "s3cr3t?", "output": "s3cr3t!", "reference": "s3cr3t"}
    now = side_of([[0.0]], "new", texts={**texts, "reason": "s3cr3t."})
    was = side_of([[1.0]], "old", texts=texts)
    (task,) = flips(now, was, hide=lambda text: text.replace("s3cr3t", "***"))
    assert "s3cr3t" not in str(task)
    assert task.flip.prompt == "***?"
    assert task.flip.now[0].reason == "***."


def test_tasks_whose_texts_are_too_long_together_are_left_out():
    # four texts of 4,000 characters each, and three marks, are 16,000 of 300,000
    texts = {"question": "q" * 4_000, "output": "o" * 4_000, "reason": "r" * 4_000}
    now = side_of([[0.0]] * 40, "new", texts=texts)
    was = side_of([[1.0]] * 40, "old", texts={"output": "o" * 4_000})
    assert len(flips(now, was)) == 18


def test_named_fields_hold_the_texts_of_a_side():
    now = side_of([[0.0]], "new", texts={"said": "so"}, fields=FieldMap(answer="said"))
    was = side_of([[1.0]], "old")
    (task,) = flips(now, was)
    assert task.flip.now[0].text == "so"


def test_the_reasons_of_judges_are_shown():
    def reasons(row):
        return json.dumps([{"scores": ["q"], "reason": f"of row {row}"}]).encode()

    scores = RowScores(table_of([[0.0]]), ("q",), {}, reasons=reasons)
    now = side_of([[0.0]], "new", scores=scores)
    was = side_of([[1.0]], "old")
    (task,) = flips(now, was)
    assert task.flip.now[0].reason == "of row 0"


def test_a_committed_baseline_shows_the_rows_that_it_keeps():
    table = table_of([[1.0]])
    data, _ = keep(inputs(table, "old"), table)
    (task,) = flips(side_of([[0.0]], "new"), AnswerSide(table, kept=data))
    assert task.flip.before[0].text == "old t0/0"


def test_rows_of_another_agent_are_not_shown():
    table = table_of([[1.0]])
    data, _ = keep(inputs(table, "old", agent="b"), table)
    (task,) = flips(side_of([[0.0]], "new"), AnswerSide(table, kept=data))
    assert task.flip.before == (Attempt(sample=0, reward=1.0),)


def test_a_conversation_is_kept_by_the_number_of_its_attempt():
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "Bye"},
    ]
    now = side_of([[1.0, 0.0]], "new", texts={"messages": talk})
    (task,) = flips(now, side_of([[1.0]], "old"))
    assert list(task.conversations.now) == ["0", "1"]
    assert [turn.text for turn in task.conversations.now["1"]] == [
        "Hi",
        "Hi",
        "Bye",
        "Bye",
    ]
    assert task.conversations.before == {}


# -- the worst row of each task --------------------------------------------------------------


def test_the_worst_row_of_each_paired_task_is_read():
    now = side_of([[1.0, 0.0], [0.5, 1.0]], "new", texts={"reason": "why"})
    rows = worst_rows(now, table_of([[1.0], [0.5]]), None, "reward", lower=False)
    assert rows == [
        PairedRow(
            {"question": "t0?", "output": "new t0/1", "reason": "why"},
            "why",
            is_worse=True,
        ),
        PairedRow(
            {"question": "t1?", "output": "new t1/0", "reason": "why"},
            "why",
            is_worse=False,
        ),
    ]


def test_where_less_is_better_the_highest_row_is_the_worst():
    now = side_of([[1.0, 0.0]], "new")
    (row,) = worst_rows(now, table_of([[0.2]]), None, "reward", lower=True)
    assert row.item["output"] == "new t0/0"
    assert row.is_worse


def test_tasks_of_the_run_alone_have_no_worst_row():
    now = side_of([[1.0], [0.0]], "new")
    (row,) = worst_rows(now, table_of([[0.5]]), [-1, 0], "reward", lower=False)
    assert row.item["output"] == "new t1/0"
    assert row.is_worse


def test_tasks_without_a_reward_have_no_worst_row():
    now = side_of([[None], [0.0]], "new")
    rows = worst_rows(now, table_of([[1.0], [0.0]]), None, "reward", lower=False)
    assert [row.item["output"] for row in rows] == ["new t1/0"]
    assert not rows[0].is_worse


@pytest.mark.parametrize(
    ("now", "was"),
    [
        (table_of([[0.0]], read_as=None), table_of([[1.0]])),
        (table_of([[0.0]], scores={}), table_of([[1.0]])),
        (table_of([[0.0]]), table_of([[1.0]], scores={})),
    ],
    ids=["no rows", "no reward", "no reward before"],
)
def test_rows_that_cannot_be_read_again_are_none(now, was):
    assert worst_rows(AnswerSide(now), was, None, "reward", lower=False) == []


# -- the texts that a baseline keeps ---------------------------------------------------------


def test_texts_alone_are_the_texts_of_a_row_and_a_reason():
    row = Row(
        index=3,
        agent="a",
        task="t",
        sample=1,
        item={"question": "q?", "target": "42", "tokens": 7},
        sample_data={"output_text": "s3cr3t", "explanation": "no"},
    )
    ((kept, failure),) = texts_alone(
        [(row, RowError("kind", "words"))],
        None,
        lambda text: text.replace("s3cr3t", "***"),
    )
    assert failure is None
    assert kept.item == {
        "prompt": "q?",
        "response": "***",
        "reference": "42",
        "judge's reason": "no",
    }
    assert kept.sample_data == {}
    assert (kept.index, kept.task, kept.sample) == (3, "t", 1)


def test_a_text_that_a_row_lacks_is_not_kept():
    row = Row(0, "a", "t", 0, {"output": "x"})
    ((kept, _),) = texts_alone([(row, None)], None, str)
    assert kept.item == {"response": "x"}
