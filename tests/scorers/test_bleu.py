"""Sentence BLEU is sacrebleu's."""

from __future__ import annotations

from typing import Any

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from scorers.offline import made, recorded, refusal

from pytest_evalmetrics.spec.scorer_keys import BleuSpec

SCORER = made(BleuSpec(type="bleu"))
WORDS = ["the", "cat", "sat", "on", "a", "mat", "."]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(TEXTS, TEXTS)
def test_it_is_sacrebleus(reference: str, candidate: str) -> None:
    found = SCORER.score(recorded({"reference": reference, "response": candidate}))
    assert found == {"sentence": sacrebleu.sentence_bleu(candidate, [reference]).score}


def test_several_references() -> None:
    references = ["the cat sat on the mat", "a cat was sitting there"]
    expected = sacrebleu.sentence_bleu("the cat was sitting there", references).score
    item = {"all": references, "one": references[0], "two": references[1]}
    found = recorded({**item, "response": "the cat was sitting there"})
    for templates in (("{{ item.all }}",), ("{{ item.one }}", "{{ item.two }}")):
        spec = BleuSpec(type="bleu", references=templates)
        assert made(spec).score(found) == {"sentence": expected}


@pytest.mark.parametrize(
    ("reference", "said"),
    [([], "no-reference: the row has no reference"), ([1], "no-text: the reference is 1, expecte")],
)
def test_failed_rows(reference: Any, said: str) -> None:
    found = recorded({"reference": reference, "response": "x"})
    assert refusal(BleuSpec(type="bleu"), found).startswith(said)
