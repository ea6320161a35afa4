"""What lists and objects side by side are, and which objects have ids as their keys."""

import pytest

from pytest_evalmetrics.rollouts.guess.groups import GroupKind, kind_of_groups
from pytest_evalmetrics.rollouts.guess.keyed_values import (
    is_error,
    is_number,
    kind_of_values,
)


def rows(ids, name="id", **fields):
    return [{name: id_, **fields} for id_ in ids]


def by_id(ids, **fields):
    return {id_: {"ok": True, **fields} for id_ in ids}


# -- lists side by side ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        pytest.param([rows("xyz"), rows("xyz")], GroupKind.RUNS, id="the same ids"),
        pytest.param([rows("wxyz"), rows("yzab")], GroupKind.RUNS, id="half of them"),
        pytest.param([rows("wxyz"), rows("zabc")], GroupKind.SUBSETS, id="fewer"),
        pytest.param([rows("xyz"), rows("zab")], GroupKind.SUBSETS, id="a third"),
        pytest.param([rows("xy"), rows("vw")], GroupKind.SUBSETS, id="other ids"),
        pytest.param([rows("xy")] * 3, GroupKind.SUBSETS, id="more lists than ids"),
        pytest.param([rows("xyz")] * 3, GroupKind.RUNS, id="as many lists as ids"),
        pytest.param([rows("xyz")], GroupKind.NONE, id="one list"),
        pytest.param([rows("xyz"), []], GroupKind.NONE, id="an empty list"),
        pytest.param([rows("xyz"), 1], GroupKind.NONE, id="a number"),
        pytest.param([rows("xyz"), by_id("xyz")], GroupKind.NONE, id="both kinds"),
    ],
)
def test_what_lists_of_rows_with_ids_are(groups, kind):
    assert kind_of_groups(groups) is kind


@pytest.mark.parametrize(("count", "kind"), [(20, "SUBSETS"), (21, "NONE")])
def test_twenty_lists_may_be_groups(count, kind):
    assert kind_of_groups([rows("xy", ok=1)] * count) is GroupKind[kind]


def test_numbers_that_count_the_rows_of_each_list_show_no_runs():
    assert kind_of_groups([rows([1, 2, 3])] * 2) is GroupKind.SUBSETS


def test_numbers_that_are_said_to_be_a_task_s_show_runs():
    lists = [rows([1, 2, 3], "question_id")] * 2
    assert kind_of_groups(lists) is GroupKind.RUNS


def test_the_likeliest_id_of_rows_tells_runs_and_subsets_apart():
    first = [{"index": n, "question_id": f"a{n}"} for n in "123"]
    second = [{"index": n, "question_id": f"b{n}"} for n in "123"]
    assert kind_of_groups([first, second]) is GroupKind.SUBSETS


def test_lists_whose_rows_share_nothing_but_an_id_are_no_groups():
    lists = [rows("xy", answer=1), rows("xy", price=2)]
    assert kind_of_groups(lists) is GroupKind.NONE


def test_lists_whose_rows_share_two_fields_are_groups():
    lists = [rows("xy", ok=1, answer=1), rows("xy", ok=0)]
    assert kind_of_groups(lists) is GroupKind.RUNS


def test_lists_with_the_same_texts_under_any_name_are_those_of_runs():
    lists = [rows(["tidy", "calm", "kind"], "trait", value=n) for n in range(2)]
    assert kind_of_groups(lists) is GroupKind.RUNS


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param([["tidy", "calm", "kind"], ["tidy", "calm", "odd"]], id="other"),
        pytest.param([["tidy", "calm", "calm"]] * 2, id="twice the same"),
        pytest.param([["tidy", "calm", None]] * 2, id="one without"),
        pytest.param([["tidy", "calm"]] * 2, id="as many lists as texts"),
        pytest.param([[0.5, 0.25, 0.75]] * 2, id="numbers"),
    ],
)
def test_lists_with_other_values_under_any_name_are_not(lists):
    groups = [rows(values, "trait", value=0) for values in lists]
    assert kind_of_groups(groups) is GroupKind.NONE


def test_lists_of_a_row_each_are_no_groups():
    assert kind_of_groups([rows("x"), rows("x")]) is GroupKind.NONE


# -- objects side by side ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        pytest.param([by_id("xyz"), by_id("xyw")], GroupKind.RUNS, id="most ids"),
        pytest.param([by_id("xy"), by_id("xy")], GroupKind.RUNS, id="two of two"),
        pytest.param([by_id("xy")] * 3, GroupKind.UNKNOWN, id="three of two"),
        pytest.param([by_id("xy"), by_id("vw")], GroupKind.SUBSETS, id="other ids"),
        pytest.param([by_id("xy"), {}], GroupKind.NONE, id="an empty object"),
        pytest.param([by_id("x"), by_id("x")], GroupKind.NONE, id="one row each"),
        pytest.param(
            [{"correct": 1, "cost": 2}, {"correct": 0, "cost": 3}],
            GroupKind.NONE,
            id="a row each",
        ),
    ],
)
def test_what_objects_of_rows_are(groups, kind):
    assert kind_of_groups(groups) is kind


def test_objects_whose_rows_share_no_field_are_no_groups():
    groups = [{"x": {"ok": 1}, "y": {"ok": 0}}, {"x": {"price": 1}, "y": {"price": 2}}]
    assert kind_of_groups(groups) is GroupKind.NONE


def test_objects_with_a_reward_are_rows_though_their_values_are_alike():
    group = {"score": {"mean": 1}, "cost": {"mean": 2}}
    assert kind_of_groups([group, group]) is GroupKind.NONE


def test_what_describes_an_object_of_rows_is_left_out():
    group = {"type": "GEN", "0": {"ok": 1}, "1": {"ok": 0}}
    other = {"type": "GEN", "0": {"ok": 0}, "1": {"ok": 0}}
    assert kind_of_groups([group, other]) is GroupKind.SUBSETS


# -- attempts by their names -------------------------------------------------------------------


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([{"run1": {"ok": 1}, "run2": {"ok": 0}}] * 2, id="objects"),
        pytest.param([{"seed7": 0.5, "seed9": 1}] * 30, id="numbers of many tasks"),
        pytest.param([{"run1": 1}, {"run2": None}], id="each with one attempt"),
    ],
)
def test_objects_of_attempts_by_their_names(groups):
    assert kind_of_groups(groups) is GroupKind.TASKS


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([{"run1": 1, "run2": 0}], id="one task"),
        pytest.param([{"run1": 1}, {"run1": 0}], id="one attempt"),
        pytest.param([{"run1": 1, "mean": 1}] * 2, id="a mean among them"),
        pytest.param([{"run1": "a", "run2": "b"}] * 2, id="texts"),
        pytest.param([{"run1": 1, "run2": {"ok": 1}}] * 2, id="both kinds"),
        pytest.param([{"run1": 1, "run2": 0}, {}], id="a task without"),
        pytest.param(
            [{"run1": 1, "run2": 0}, {"run1": 1, "run2": 0}, 3], id="a number"
        ),
    ],
)
def test_what_are_no_objects_of_attempts(groups):
    assert kind_of_groups(groups) is not GroupKind.TASKS


# -- scores by random ids ----------------------------------------------------------------------

RANDOM_IDS = [f"{n:08x}-1111-4222-8333-{n:012x}" for n in range(12)]


def scores(*slices):
    return [dict.fromkeys(RANDOM_IDS[start:end], 1) for start, end in slices]


def test_scores_by_random_ids_are_those_of_subsets():
    assert kind_of_groups(scores((0, 2), (2, 5))) is GroupKind.SUBSETS


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param(scores((0, 2), (2, 4)), id="four ids"),
        pytest.param(scores((0, 3), (2, 5)), id="an id twice"),
        pytest.param([{"p50": 1, "p90": 2}, {"p95": 3, "p99": 4, "m": 5}], id="names"),
        pytest.param([dict.fromkeys(RANDOM_IDS[:5], "a"), {"b": "c"}], id="texts"),
        pytest.param([*scores((0, 2), (2, 5)), [1]], id="a list among them"),
    ],
)
def test_what_are_no_scores_of_subsets(groups):
    assert kind_of_groups(groups) is GroupKind.NONE


# -- objects whose keys are ids ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param([{"ok": 1}, {"ok": 0}], "objects", id="objects"),
        pytest.param([{"ok": 1}] * 4 + [None], "objects", id="an error of five"),
        pytest.param([{"ok": 1}] * 3 + [None], "", id="an error of four"),
        pytest.param([{"ok": 1}], "", id="one object"),
        pytest.param([None, None], "", id="errors"),
        pytest.param([{"ok": 1}, {"price": 0}], "", id="objects with other fields"),
        pytest.param([{}, {}], "", id="empty objects"),
        pytest.param(
            [{"ok": 1}] * 4 + [{"price": 0}], "objects", id="four of five share a field"
        ),
        pytest.param(
            [{"ok": 1}] * 3 + [{"price": 0}], "", id="three of four share a field"
        ),
        pytest.param(
            [{"ok": 1}] * 3 + [{"price": 0}] * 2, "", id="three of five share a field"
        ),
        pytest.param([[{"ok": 1}]] * 5, "lists", id="lists of objects"),
        pytest.param([[{"ok": 1}]] * 4, "", id="four lists of objects"),
        pytest.param([[{}]] * 5, "", id="lists of empty objects"),
        pytest.param(
            [[{"ok": 1}], [{"price": 1}]] * 5, "", id="lists with other fields"
        ),
        pytest.param([0.5, 1, True, None, 0, 1], "numbers", id="numbers"),
        pytest.param([0.5, 1, 0, 1], "", id="four numbers"),
        pytest.param([[1, 0]] * 5, "lists of numbers", id="lists of numbers"),
        pytest.param([[1, 0]] * 4 + [[]], "", id="an empty list of numbers"),
        pytest.param([[1, 0]] * 4 + [1], "", id="a number among lists"),
        pytest.param(["pass", "fail", "n/a", "pass", "fail"], "words", id="words"),
        pytest.param(["A", "B", "C"] * 2, "words", id="words that recur"),
        pytest.param(["A", "B", "C", "A", "B"], "", id="words that hardly recur"),
        pytest.param(["pass"] * 5, "", id="one word"),
        pytest.param(["pass", "fail", 1, "pass", "fail"], "", id="words and a number"),
        pytest.param(
            [["pass", "fail"]] * 5, "lists of words", id="lists of known words"
        ),
        pytest.param([["pass", "fail"]] * 4 + ["pass"], "", id="a word among lists"),
        pytest.param([["pass", 1]] * 5, "", id="lists of words and numbers"),
    ],
)
def test_what_the_values_by_ids_are(values, kind):
    assert kind_of_values(values) == kind


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, True),
        ({"error": "timeout"}, True),
        ({"type": "Timeout", "message": "late", "status": 504}, True),
        ({}, True),
        ({"error": "timeout", "score": 0}, False),
        ("error", False),
        (0, False),
    ],
)
def test_what_is_nothing_but_an_error(value, says):
    assert is_error(value) is says


@pytest.mark.parametrize(
    ("value", "says"),
    [(1, True), (0.5, True), (True, True), (None, True), ("1", False), ([1], False)],
)
def test_what_stands_for_a_number(value, says):
    assert is_number(value) is says
