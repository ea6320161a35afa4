"""The state of a run: which items there are, and what came of each."""

from pytest_evalmetrics.session.selection import Selection


def test_an_item_without_an_outcome_is_lost():
    selection = Selection()
    selection.add(["a", "b"])
    selection.finish("a")
    assert selection.lost == {"b"}


def test_a_skipped_item_is_not_lost():
    selection = Selection()
    selection.add(["a"])
    selection.skip("a", "too slow")
    assert selection.lost == set()


def test_an_item_that_broke_off_is_lost_until_it_is_evaluated_again():
    selection = Selection()
    selection.add(["a"])
    selection.break_off("a")
    assert selection.lost == {"a"}
    selection.finish("a")
    assert selection.lost == set()


def test_an_item_that_only_a_worker_knew_is_lost_if_it_broke_off():
    selection = Selection()
    selection.break_off("of a worker that died")
    assert selection.lost == {"of a worker that died"}


def test_what_is_present_and_not_collected_is_deselected_in_order():
    selection = Selection()
    selection.add(["b"], present=["c", "b", "a"])
    assert selection.deselected == ["a", "c"]


def test_reasons_are_reported_for_skipped_items_that_were_collected():
    selection = Selection()
    selection.add(["a"])
    selection.skip("a", "too slow")
    selection.skip("elsewhere", "not here")
    assert selection.skipped_of_collected == {"a": "too slow"}


def test_a_selection_is_empty_until_something_is_there():
    selection = Selection()
    assert selection.is_empty
    selection.add([], present=["a"])
    assert not selection.is_empty
