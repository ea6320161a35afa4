"""Notes: a sentence for each kind, and one line for notes of one group."""

from typing import get_args

import msgspec
import pytest

from pytest_evalmetrics.model.notes import (
    FailedRollouts,
    Note,
    NumbersCountAsMissing,
    OfReference,
    Remark,
    Topic,
    UnscoredRows,
)
from pytest_evalmetrics.model.scores import RowFailure
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.notes import note_text

FAILURE = RowFailure(
    index=0, row="rows.jsonl:1", kind="http-500", reason="it is down", hint="wait"
)


@pytest.mark.parametrize("kind", get_args(Note))
def test_each_kind_has_a_sentence_of_its_own(kind):
    assert sentence.dispatch(kind) is not sentence.dispatch(object)


def test_numbers_that_count_as_missing_are_counted_with_the_first():
    note = NumbersCountAsMissing(score="f1", what="NaN", values=2, first="a.jsonl:3")
    assert note_text(note) == "f1: 2 values are NaN and count as missing (a.jsonl:3)"


def test_unscored_rows_give_the_first_failure_and_its_way_out():
    note = UnscoredRows(
        scores=("quality",), kind="http-500", count=1, rows=4, example=FAILURE
    )
    expected = (
        "1 of 4 rows has no quality (http-500), at rows.jsonl:1: it is down (wait)"
    )
    assert note_text(note) == expected


def test_a_note_on_the_pinned_system_says_so():
    note = OfReference(Remark("half of its answers are cut off", Topic.ANSWERS))
    assert note_text(note) == "the reference: half of its answers are cut off"


def test_remarks_on_one_topic_are_one_group_whatever_their_words():
    first = Remark("x: one of two", Topic.BREAKDOWN)
    second = Remark("y: two of two", Topic.BREAKDOWN)
    assert first.group == second.group


def test_remarks_without_a_topic_are_one_group_if_they_say_the_same():
    assert Remark("group: a").group != Remark("group: b").group
    assert Remark("group: a").group == Remark("group: a").group


def test_failures_of_rollouts_are_grouped_by_the_word_of_their_tool():
    timeouts = FailedRollouts(
        kind="timeout", is_graded=False, rollouts=2, first="a.jsonl:1"
    )
    crashes = FailedRollouts(
        kind="crash", is_graded=False, rollouts=2, first="a.jsonl:1"
    )
    assert timeouts.group != crashes.group


def test_a_note_crosses_processes_as_builtins():
    note = OfReference(Remark("w", Topic.SECRET))
    assert msgspec.convert(msgspec.to_builtins(note), Note) == note
