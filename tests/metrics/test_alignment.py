"""Which tasks of a run and of its baseline belong together: by their ids and contents."""

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.metrics.alignment import align, are_all, positions


@pytest.fixture
def of_tasks(table):
    """Make a run of one rollout of each task, with the content of its question."""

    def make(contents, **fields):
        made = table([[1.0]] * len(contents), tasks=list(contents))
        if any(contents.values()):
            hashes = [text or "" for text in contents.values()]
            fields["content"] = np.array(hashes, dtype="S8")
        return structs.replace(made, **fields)

    return make


# -- places ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "among", "places"),
    [
        (("a", "b"), ("a", "b"), [0, 1]),
        (("b", "c"), ("a", "b", "c"), [1, 2]),
        (("c", "a", "b"), ("a", "b", "c"), [2, 0, 1]),
        (("c", "b", "a"), ("a", "b", "c"), [2, 1, 0]),
        (("a", "x", "b"), ("a", "b"), [0, -1, 1]),
        ((1, 2), ("2", "1"), [1, 0]),
        (("a",), (), [-1]),
        ((), ("a",), []),
    ],
)
def test_places_of_tasks_among_others_are_found_by_their_text(tasks, among, places):
    assert positions(tasks, among).tolist() == places


@pytest.mark.parametrize(
    ("places", "count", "is_so"),
    [([0, 1, 2], 3, True), ([0, 1], 3, False), ([1, 0], 2, False), ([], 0, True)],
)
def test_places_are_those_of_all_tasks_in_their_order(places, count, is_so):
    assert are_all(np.array(places, dtype=np.int64), count) is is_so


# -- ids alone -------------------------------------------------------------------------------


def test_the_same_tasks_have_the_same_names(of_tasks):
    baseline, drift = align(of_tasks({1: "", 2: ""}), of_tasks({"1": "", "2": ""}))
    assert baseline.tasks == (1, 2)
    assert (drift.new, drift.lost, drift.edited, drift.moved) == ((), (), (), ())


def test_tasks_of_one_side_are_new_or_lost(of_tasks):
    current = of_tasks({"a": "", "c": ""})
    baseline, drift = align(current, of_tasks({"a": "", "b": ""}))
    assert baseline.tasks == ("a", "b")
    assert (drift.new, drift.lost) == (("c",), ("b",))
    assert drift.expected == 2


# -- contents --------------------------------------------------------------------------------


def test_a_task_of_another_content_is_edited(of_tasks):
    current = of_tasks({"a": "one", "b": "new"})
    baseline, drift = align(current, of_tasks({"a": "one", "b": "old"}))
    assert baseline.tasks == ("a", "b (as recorded)")
    assert drift.edited == ("b",)
    assert (drift.new, drift.lost) == ((), ())


def test_a_task_of_the_same_content_under_another_id_has_moved(of_tasks):
    current = of_tasks({"a": "one", "z": "two"})
    baseline, drift = align(current, of_tasks({"a": "one", "b": "two"}))
    assert baseline.tasks == ("a", "z")
    assert drift.moved == (("b", "z"),)
    assert (drift.new, drift.lost) == ((), ())


def test_tasks_that_have_changed_places_are_found_again(of_tasks):
    current = of_tasks({"a": "two", "b": "one"})
    baseline, drift = align(current, of_tasks({"a": "one", "b": "two"}))
    assert baseline.tasks == ("b", "a")
    assert set(drift.moved) == {("a", "b"), ("b", "a")}


def test_a_task_that_took_the_id_of_one_that_is_gone(of_tasks):
    current = of_tasks({"b": "one"})
    baseline, drift = align(current, of_tasks({"a": "one", "b": "two"}))
    assert baseline.tasks == ("b", "b (as recorded)")
    assert drift.moved == (("a", "b"),)
    assert drift.lost == ("b",)


def test_tasks_of_equal_content_are_matched_in_their_order(of_tasks):
    current = of_tasks({"x": "one", "y": "one"})
    baseline, _ = align(current, of_tasks({"a": "one", "b": "one"}))
    assert baseline.tasks == ("x", "y")


def test_an_unknown_content_may_be_any(of_tasks):
    current = of_tasks({"a": "one", "b": ""})
    baseline, drift = align(current, of_tasks({"a": "one", "b": "two"}))
    assert baseline.tasks == ("a", "b")
    assert drift.edited == ()


def test_an_unknown_content_is_found_under_no_other_id(of_tasks):
    current = of_tasks({"a": "one", "x": ""})
    _, drift = align(current, of_tasks({"a": "one", "b": ""}))
    assert drift.moved == ()
    assert (drift.new, drift.lost) == (("x",), ("b",))


# -- what can't be known ---------------------------------------------------------------------


def test_numbered_tasks_without_contents_can_not_be_told_apart(of_tasks):
    current = of_tasks({"0": "", "1": ""}, positional=True)
    _, drift = align(current, of_tasks({"0": "", "1": ""}))
    assert drift.blind


def test_numbered_tasks_are_told_apart_by_their_contents(of_tasks):
    current = of_tasks({"0": "one", "1": "two"}, positional=True)
    _, drift = align(current, of_tasks({"0": "one", "1": "two"}))
    assert not drift.blind


def test_contents_that_are_alike_tell_nothing_apart(of_tasks):
    tasks = {"0": "one", "1": "one", "2": "one", "3": "one"}
    _, drift = align(of_tasks(tasks, positional=True), of_tasks(tasks))
    assert drift.blind


def test_contents_that_the_baseline_does_not_hold_are_unknown(of_tasks):
    _, drift = align(of_tasks({"a": "one"}), of_tasks({"a": ""}))
    assert drift.unknown


@pytest.mark.parametrize(("ours", "theirs"), [("one", "one"), ("", "one"), ("", "")])
def test_contents_that_both_or_the_baseline_hold_are_known(of_tasks, ours, theirs):
    _, drift = align(of_tasks({"a": ours}), of_tasks({"a": theirs}))
    assert not drift.unknown
