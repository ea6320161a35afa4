"""Equality once normalised, as SQuAD's evaluation has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorers.offline import made, recorded

from pytest_evalmetrics.scorers.text_scorers import normalised
from pytest_evalmetrics.spec.scorer_keys import ExactMatchSpec

SCORER = made(ExactMatchSpec(type="exact-match"))


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("The  Eiffel\tTower.", "eiffel tower", 1),
        ("an apple a day", "Apple day!", 1),
        ("theatre", "atre", 0),  # an article is a word
        ("42", "43", 0),
        ("4.2", "42", 1),  # what normalising costs
        ("the", "", 1),
        ("«Paris»", "Paris", 0),  # ASCII punctuation only
    ],
)
def test_by_hand(reference: str, candidate: str, expected: float) -> None:
    found = SCORER.score(recorded({"reference": reference, "response": candidate}))
    assert found == {"exact-match": expected}


@given(st.text())
def test_normalising_leaves_single_spaces(text: str) -> None:
    found = normalised(text)
    assert " ".join(found.split()) == found
    assert not set(found.split()) & {"a", "an", "the"}
