"""The F1 of two bags of words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorers.offline import made, recorded

from pytest_evalmetrics.spec.scorer_keys import F1Spec

SCORER = made(F1Spec(type="f1"))
TEXTS = st.lists(st.sampled_from(["red", "green", "blue", "the"]), max_size=6).map(" ".join)


def f1(reference: str, candidate: str) -> float:
    return SCORER.score(recorded({"reference": reference, "response": candidate}))["f1"]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("red green", "red blue", 1 / 2),  # precision 1/2, recall 1/2
        ("red green blue", "red", 1 / 2),  # precision 1, recall 1/3
        ("red red green", "red red red", 2 / 3),  # as often as both have it
        ("red", "blue", 0),
        ("", "red", 0),
        ("red", "", 0),
        ("the", "", 1),
    ],
)
def test_by_hand(reference: str, candidate: str, expected: float) -> None:
    assert f1(reference, candidate) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_it_is_symmetric_and_a_harmonic_mean(one: str, other: str) -> None:
    assert f1(one, other) == f1(other, one)
    words, others = ([w for w in text.split() if w != "the"] for text in (one, other))
    shared = sum(min(words.count(w), others.count(w)) for w in set(words))
    if shared:
        precision, recall = Fraction(shared, len(others)), Fraction(shared, len(words))
        expected = 2 * precision * recall / (precision + recall)
        assert f1(one, other) == pytest.approx(float(expected))


@given(TEXTS, st.randoms(use_true_random=False))
def test_the_order_counts_for_nothing(text: str, chance: object) -> None:
    words = text.split()
    chance.shuffle(words)  # type: ignore[attr-defined]
    assert f1(text, " ".join(words)) == 1
