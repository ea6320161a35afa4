"""Behaviour as a baseline keeps it."""

import numpy as np
import pytest
from behaviour.making import CITY, row, run, table_of
from msgspec import structs

from pytest_evalmetrics.behaviour import described, recorded
from pytest_evalmetrics.behaviour.columns import texts_of
from pytest_evalmetrics.errors import BaselineError


def test_what_is_written_is_read_back():
    table, _ = table_of(run(1, tasks=5))
    back = recorded(described(table), table)
    assert texts_of(back, "calls") == texts_of(table, "calls")
    assert texts_of(back, "answer") == texts_of(table, "answer")
    for name, column in table.scores.items():
        np.testing.assert_array_equal(back.scores[name], column)


def test_calls_are_written_by_name_with_a_legend_of_their_arguments():
    table, _ = table_of(
        [
            row(0, 0, [("search", {"city": "Oslo"}), ("book", CITY, "Error: full")]),
            row(0, 1, [("search", {"city": "Oslo"}), ("search", {"query": "x"})]),
        ]
    )
    document = described(table)
    assert [cells[0] for cells in document.tasks["0"]] == [
        "search book!",
        "search search.2",
    ]
    assert document.shapes == {
        "book": "book(city:text)",
        "search": "search(city:text)",
        "search.2": "search(query:text)",
    }


def test_numbers_that_are_zero_everywhere_have_no_cell():
    document = described(table_of([row(0, 0, [("plan", CITY)])])[0])
    assert "refusals" in document.zeros
    assert "refusals" not in document.columns


def test_the_summary_holds_means_and_the_share_that_calls_each_tool():
    table, _ = table_of([row(0, 0, [("plan", CITY)]), row(0, 1, [])])
    summary = described(table).summary
    assert summary["tool_calls"] == 0.5
    assert summary["calls plan"] == 0.5


def test_a_rollout_without_a_transcript_stays_unknown():
    table, _ = table_of(
        [row(0, 0, [("plan", CITY)]), {"_ng_task_index": 0, "reward": 1}]
    )
    back = recorded(described(table), table)
    np.testing.assert_array_equal(back.scores["tool_calls"], [1, np.nan])


def test_one_without_tasks_is_of_no_rollouts():
    table, _ = table_of(run(1, tasks=5))
    empty = structs.replace(described(table), tasks={})
    assert len(recorded(empty, table)) == 0


def only_first_rollouts(document):
    tasks = {task: rows[:1] for task, rows in document.tasks.items()}
    return structs.replace(document, tasks=tasks)


def with_another_task(document):
    tasks = {**document.tasks, "other": document.tasks["0"]}
    return structs.replace(document, tasks=tasks)


def with_a_word_for_a_number(document):
    place = document.columns.index("steps")
    tasks = {
        task: tuple((*row[:place], "many", *row[place + 1 :]) for row in rows)
        for task, rows in document.tasks.items()
    }
    return structs.replace(document, tasks=tasks)


DAMAGES = [
    (
        lambda document: structs.replace(document, shapes={}),
        "its behaviour can't be read: KeyError('plan')",
    ),
    (
        lambda document: structs.replace(document, columns=document.columns[:-1]),
        "its behaviour has rows of different lengths",
    ),
    (
        only_first_rollouts,
        "its behaviour is not of the same tasks and rollouts as its scores",
    ),
    (with_another_task, "its behaviour is of tasks that its scores lack"),
    (
        with_a_word_for_a_number,
        (
            "its behaviour can't be read: "
            "ValueError(\"could not convert string to float: 'many'\")"
        ),
    ),
]


@pytest.mark.parametrize(("damage", "what"), DAMAGES)
def test_a_damaged_one_is_refused_with_the_way_out(damage, what):
    table, _ = table_of(run(1, tasks=5))
    document = damage(described(table))
    with pytest.raises(BaselineError) as refused:
        recorded(document, table)
    assert refused.value.message == f"this baseline is damaged: {what}"
    assert refused.value.hint == "record a new one with `pytest --evalmetrics-update`"


def test_a_sample_of_the_tasks_is_read_for_its_own_rollouts():
    table, _ = table_of(run(1, tasks=5))
    document = described(table)
    kept = {task: document.tasks[task] for task in ("1", "3")}
    part = recorded(structs.replace(document, tasks=kept), table)
    assert part.tasks == (1, 3)


def test_answers_of_another_form_are_left_out():
    table, _ = table_of(run(1, tasks=2))
    sketches = described(table)
    assert not sketches.texts
    assert set(texts_of(recorded(sketches, table, has_texts=True), "answer")) == {""}
    texts = described(table, texts=True)
    assert texts.texts
    assert set(texts_of(recorded(texts, table), "answer")) == {""}
    kept = texts_of(recorded(texts, table, has_texts=True), "answer")
    assert kept == texts_of(table, "answer")


def test_a_feature_of_ones_own_that_a_baseline_lacks_has_no_value():
    table, _ = table_of(run(1, tasks=2))
    read = recorded(described(table), table, own=["own", "steps"])
    assert np.isnan(read.scores["own"]).all()
    assert read.scores["steps"].tolist() == table.scores["steps"].tolist()


def test_calls_have_short_names_that_differ():
    """The usual arguments have the tool's name, others a number; no two are the same."""
    rows = [
        row(0, 0, [("f", {"b": 1}), ("f", {"a": 1}), ("f.2", {})]),
        row(1, 0, [("f", {"b": 1}), ("f", {"c": "x"}, "Error: gone")]),
    ]
    table, _ = table_of(rows)
    document = described(table)
    assert document.shapes == {
        "f": "f(b:number)",
        "f.2": "f(a:number)",
        "f.3": "f(c:text)",
        "f.2_": "f.2()",
    }
    place = document.columns.index("calls")
    written = [document.tasks[task][0][place] for task in ("0", "1")]
    assert written == ["f f.2 f.2_", "f f.3!"]
    assert texts_of(recorded(document, table), "calls") == texts_of(table, "calls")


def test_whole_numbers_are_written_as_such_and_others_with_four_digits():
    table, _ = table_of(run(1, tasks=3))
    own = np.linspace(0, 1, len(table))
    own[1] = np.nan
    table = structs.replace(table, scores={"own": own, "none": own * 0})
    document = described(table)
    place = document.columns.index("own")
    cells = [row[place] for rows in document.tasks.values() for row in rows]
    assert cells[:3] == [0, None, own[2]]
    assert isinstance(cells[0], int)
    assert document.summary["own"] == float(f"{np.nanmean(own):.4g}")
    assert "none" not in document.summary
