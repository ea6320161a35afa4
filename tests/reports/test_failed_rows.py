"""Rows without a score, told in groups."""

from pytest_evalmetrics.reports.lines import (
    failed_row_cause,
    failed_row_groups,
    failed_row_notes,
)
from pytest_evalmetrics.results import RowFailure, ScorerFailures

FIRST = "a.jsonl:1: nobody answers (is it running?)"
REFUSED = RowFailure(0, "a.jsonl:1", "refused", "nobody answers", "is it running?")
HTML = RowFailure(4, "a.jsonl:5", "html", "a page")


def failures(**kinds):
    examples = {f.kind: f for f in (REFUSED, HTML) if f.kind in kinds}
    return [
        ScorerFailures("remote", ("accuracy",), sum(kinds.values()), kinds, (REFUSED,), 6, examples)
    ]


def test_groups_begin_with_the_sum():
    assert failed_row_groups(failures(refused=4, html=1)) == [
        "5 of 6 rows have no accuracy:",
        f"  4 (refused), such as {FIRST}",
        "  1 (html), at a.jsonl:5: a page",
    ]


def test_a_note_for_each_kind():
    assert list(failed_row_notes(failures(refused=4, html=1))) == [
        f"4 of 6 rows have no accuracy (refused), such as {FIRST}",
        "1 of 6 rows has no accuracy (html), at a.jsonl:5: a page",
    ]


def test_the_cause_is_that_of_the_score_that_is_missing():
    assert failed_row_cause(failures(refused=6), "accuracy") == (
        "6 of 6 rows have no accuracy (refused), such as a.jsonl:1: nobody answers (is it running?)"
    )
    assert "(refused: 4, html: 1), such as a.jsonl:1" in failed_row_cause(
        failures(refused=4, html=1), "accuracy"
    )
    assert failed_row_cause(failures(refused=6), "fluency") == ""
