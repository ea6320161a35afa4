"""ROUGE is rouge-score's."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from scorers.offline import made, recorded

from pytest_evalmetrics.spec.scorer_keys import RougeSpec

SCORER = made(RougeSpec(type="rouge"))
ORACLE = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"], use_stemmer=True)
WORDS = ["the", "cats", "cat", "sat", "sitting", "on", "mats"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@settings(max_examples=50)
@given(TEXTS, TEXTS)
def test_it_is_rouge_scores(reference: str, candidate: str) -> None:
    found = SCORER.score(recorded({"reference": reference, "response": candidate}))
    expected = ORACLE.score(reference, candidate)
    assert found == {
        "rouge_1_score": expected["rouge1"].fmeasure,
        "rouge_2_score": expected["rouge2"].fmeasure,
        "rouge_3_score": expected["rouge3"].fmeasure,
        "rouge_L_score": expected["rougeL"].fmeasure,
    }


def test_words_are_stemmed() -> None:
    found = SCORER.score(recorded({"reference": "cats sitting", "response": "cat sit"}))
    assert found["rouge_L_score"] == 1
