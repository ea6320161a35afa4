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


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: structs.replace(document, shapes={}),
        lambda document: structs.replace(document, columns=document.columns[:-1]),
        lambda document: structs.replace(
            document, tasks={task: rows[:1] for task, rows in document.tasks.items()}
        ),
        lambda document: structs.replace(
            document, tasks={**document.tasks, "other": document.tasks["0"]}
        ),
    ],
)
def test_a_damaged_one_is_refused_with_the_way_out(damage):
    table, _ = table_of(run(1, tasks=5))
    document = damage(described(table))
    with pytest.raises(BaselineError, match="this baseline is damaged"):
        recorded(document, table)
