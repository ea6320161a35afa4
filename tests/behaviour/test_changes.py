"""Features of two runs, tested task by task, in process."""

import pytest
from behaviour.making import CITY, row, run, table_of

from pytest_evalmetrics.behaviour import compare_behaviour
from pytest_evalmetrics.behaviour.changes import Sides
from pytest_evalmetrics.behaviour.columns import STOP, TEXTS, texts_of, with_columns


def compared(before, now):
    then, rewards_then = table_of(before)
    today, rewards_now = table_of(now)
    sides = Sides(before=then, now=today)
    changes, churn = compare_behaviour(sides, (rewards_then, rewards_now))
    return {(one.kind, one.name, one.second): one for one in changes}, churn


def significant(changes):
    return {key for key, change in changes.items() if change.is_significant}


def test_nothing_is_found_in_the_same_run():
    changes, churn = compared(run(1), run(1))
    assert significant(changes) == set()
    assert not churn.is_significant


def test_a_tool_that_is_called_in_twice_as_many_rollouts_is_found():
    changes, _ = compared(
        run(1, tasks=100, searches=0.2), run(2, tasks=100, searches=0.4)
    )
    search = changes["tool", "search", ""]
    assert search.is_significant
    assert search.before == pytest.approx(0.2, abs=0.05)
    assert search.now == pytest.approx(0.4, abs=0.05)
    assert search.tasks == 100


def test_the_tasks_that_moved_most_come_first():
    before = [row(task, 0, [("plan", CITY)]) for task in range(20)]
    now = [row(task, 0, [("plan", CITY)] * (1 + 3 * (task == 7))) for task in range(20)]
    changes, _ = compared(before, now)
    calls = changes["number", "tool_calls", ""]
    assert [(move.task, move.before, move.now) for move in calls.most] == [("7", 1, 4)]
    assert (calls.rose, calls.fell) == (1, 0)


def test_a_tool_that_is_gone_is_found():
    before = [row(task, 0, [("plan", CITY), ("book", CITY)]) for task in range(20)]
    now = [row(task, 0, [("plan", CITY)]) for task in range(20)]
    changes, _ = compared(before, now)
    assert changes["tool", "book", ""].is_significant
    assert changes["tool", "book", ""].now == 0


def test_other_arguments_of_a_tool_are_found():
    before = [row(task, 0, [("search", {"city": "Oslo"})]) for task in range(20)]
    now = [
        row(task, 0, [("search", {"query": "Oslo", "top": 3})]) for task in range(20)
    ]
    changes, _ = compared(before, now)
    assert significant(changes) == {("shape", "search", "")}


def test_other_values_of_the_same_arguments_are_no_change():
    before = [row(task, 0, [("search", {"city": "Oslo"})]) for task in range(20)]
    now = [row(task, 0, [("search", {"city": "Lima"})]) for task in range(20)]
    changes, _ = compared(before, now)
    assert changes == {}


def test_another_language_is_found():
    english = ["the", "flight", "is", "booked", "for", "you", "and", "this", "is", "it"]
    german = [
        "der",
        "flug",
        "ist",
        "gebucht",
        "und",
        "das",
        "ist",
        "auch",
        "die",
        "reise",
    ]
    changes, _ = compared(run(1, answer=english), run(2, answer=german))
    assert ("language", "de", "") in significant(changes)


def test_more_failed_calls_are_found():
    before = [row(task, 0, [("f", {}, "ok")]) for task in range(20)]
    now = [row(task, 0, [("f", {}, "Error: down")]) for task in range(20)]
    changes, _ = compared(before, now)
    assert ("number", "tool_errors", "") in significant(changes)


def test_an_order_is_compared_in_rollouts_that_call_both_tools():
    both = [("search", CITY), ("plan", CITY)]
    before = [row(task, 0, both if task < 10 else both[:1]) for task in range(20)]
    now = [row(task, 0, both[::-1] if task < 10 else both[:1]) for task in range(20)]
    changes, _ = compared(before, now)
    order = changes["order", "plan", "search"]
    assert order.tasks == 10
    assert (order.before, order.now) == (0, 1)


def test_tasks_of_one_side_alone_are_left_out():
    changes, _ = compared(run(1, tasks=30), run(2, tasks=40))
    assert {change.tasks for change in changes.values() if change.kind == "number"} == {
        30
    }


# -- churn -----------------------------------------------------------------------------------


def test_answers_in_other_words_are_churn():
    before = ["the", "flight", "is", "booked", "for", "you", "now"]
    now = ["your", "seat", "has", "been", "reserved", "as", "requested"]
    _, churn = compared(run(1, answer=before), run(2, answer=now))
    assert churn.is_significant
    assert churn.distance > churn.distance_floor
    assert churn.tasks == 40


def test_answers_that_differ_as_two_of_one_run_do_are_none():
    _, churn = compared(run(1), run(2))
    assert not churn.is_significant
    assert churn.changed == pytest.approx(churn.floor, abs=0.05)


def test_only_tasks_with_equal_scores_count():
    before = run(1)
    now = [
        {**one, "reward": 0.0} if one["_ng_task_index"] < 20 else one for one in run(2)
    ]
    _, churn = compared(before, now)
    assert churn.tasks == 20


def test_one_rollout_of_each_task_has_no_floor_and_no_test():
    _, churn = compared(run(1, samples=1), run(2, samples=1))
    assert churn.floor is None
    assert churn.p is None
    assert not churn.is_significant
    assert churn.changed > 0.9


def repeated(rows, samples=4):
    """Let all rollouts of a task repeat the first one, as at temperature 0."""
    firsts = rows[::samples]
    return [
        {**first, "_ng_rollout_index": sample}
        for first in firsts
        for sample in range(samples)
    ]


def test_rollouts_that_repeat_each_other_show_no_floor():
    before = repeated(run(1))
    now = repeated(run(2))
    _, churn = compared(before, now)
    assert churn.changed > 0.9
    assert churn.floor == 0
    assert churn.p is None
    assert not churn.is_significant


def test_a_lone_task_whose_rollouts_repeat_each_other_shows_nothing():
    before = repeated(run(1, tasks=1, samples=8, searches=0), samples=8)
    now = repeated(run(2, tasks=1, samples=8, searches=1), samples=8)
    changes, _ = compared(before, now)
    assert significant(changes) == set()


def test_calls_of_tasks_that_are_left_out_are_no_tool():
    rows = [*run(1, tasks=20), row(20, 0, [("delete", CITY)])]
    table, _ = table_of(rows)
    kept = table.where(table.task < 20)
    changes, _ = compare_behaviour(Sides(before=kept, now=kept), None)
    names = {change.name for change in changes if change.kind == "tool"}
    assert names == {"search"}  # the others are called in each rollout


def test_the_four_most_frequent_reasons_of_an_end_are_compared():
    table, _ = table_of(run(1, tasks=20))
    texts = {name: texts_of(table, name) for name in TEXTS}
    ends = ["a"] * 3 + ["b"] * 4 + ["c"] * 5 + ["d"] * 6 + ["e"] * 7 + ["stop"] * 55
    ended = with_columns(table, table.scores, texts | {STOP: ends})
    changes, _ = compare_behaviour(Sides(before=ended, now=ended), None)
    names = {change.name for change in changes if change.kind == "stop"}
    assert names == {"b", "c", "d", "e"}
