"""Scorers that compare texts, against their definitions and the libraries they follow."""

from fractions import Fraction

import pytest
import sacrebleu
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from scoring.scorers.offline import entry, make, recorded, refusal


def scored(kind):
    """Make a scorer; give the function that compares a reference with a response."""
    scorer = make(entry(type=kind))
    return lambda reference, response: (
        scorer.score(recorded({"reference": reference, "response": response})).scores
    )


EXACT_MATCH, F1, BLEU, ROUGE = map(scored, ("exact-match", "f1", "bleu", "rouge"))


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
def test_exact_match_by_hand(reference, candidate, expected):
    assert EXACT_MATCH(reference, candidate) == {"exact-match": expected}


@given(st.text())
def test_spaces_and_articles_count_for_nothing(text):
    assert EXACT_MATCH(text, f" the  {text}\ta an ") == {"exact-match": 1}


COLOURS = st.lists(st.sampled_from(["red", "green", "blue", "the"]), max_size=6).map(
    " ".join
)


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
def test_f1_by_hand(reference, candidate, expected):
    assert F1(reference, candidate) == {"f1": pytest.approx(expected)}


@given(COLOURS, COLOURS)
def test_f1_is_symmetric(one, other):
    assert F1(one, other) == F1(other, one)


@given(COLOURS, st.randoms(use_true_random=False))
def test_f1_does_not_depend_on_the_order_of_the_words(text, chance):
    shuffled = text.split()
    chance.shuffle(shuffled)
    assert F1(text, " ".join(shuffled)) == {"f1": 1}


@given(COLOURS, COLOURS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(one, other):
    words = [word for word in one.split() if word != "the"]
    others = [word for word in other.split() if word != "the"]
    shared = sum(min(words.count(w), others.count(w)) for w in set(words))
    assume(shared)
    precision = Fraction(shared, len(others))
    recall = Fraction(shared, len(words))
    expected = 2 * precision * recall / (precision + recall)
    assert F1(one, other) == {"f1": pytest.approx(float(expected))}


BLEU_WORDS = ["the", "cat", "sat", "on", "a", "mat", "."]
BLEU_TEXTS = st.lists(st.sampled_from(BLEU_WORDS), max_size=8).map(" ".join)


@given(BLEU_TEXTS, BLEU_TEXTS)
def test_it_is_sacrebleus(reference, candidate):
    expected = sacrebleu.sentence_bleu(candidate, [reference]).score
    assert BLEU(reference, candidate) == {"sentence": expected}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ([], "no-reference: the row has no reference"),
        ([1], "no-text: the reference is 1, expecte"),
    ],
)
def test_bleu_without_a_reference(reference, message):
    item = recorded({"reference": reference, "response": "x"})
    assert refusal(entry(type="bleu"), item).startswith(message)


ORACLE = rouge_scorer.RougeScorer(
    ["rouge1", "rouge2", "rouge3", "rougeL"], use_stemmer=True
)
ROUGE_WORDS = ["the", "cats", "cat", "sat", "sitting", "on", "mats"]
ROUGE_TEXTS = st.lists(st.sampled_from(ROUGE_WORDS), max_size=8).map(" ".join)


@settings(max_examples=50)
@given(ROUGE_TEXTS, ROUGE_TEXTS)
def test_it_is_rouge_scores(reference, candidate):
    expected = ORACLE.score(reference, candidate)
    assert ROUGE(reference, candidate) == {
        "rouge_1_score": expected["rouge1"].fmeasure,
        "rouge_2_score": expected["rouge2"].fmeasure,
        "rouge_3_score": expected["rouge3"].fmeasure,
        "rouge_L_score": expected["rougeL"].fmeasure,
    }


def string_check(operation):
    sides = {"left_template": "{{ item.left }}", "right_template": "{{ item.right }}"}
    return entry(type="string-check", operation=operation, **sides)


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        ("equals", "a", "a", 1),
        ("==", "a", "a ", 0),
        ("!=", "a", "b", 1),
        ("<>", "a", "a", 0),
        ("not equals", "a", "b", 1),
        ("contains", "abc", "b", 1),
        ("contains", "b", "abc", 0),
        ("not contains", "abc", "d", 1),
        ("startswith", "abc", "ab", 1),
        ("startswith", "abc", "bc", 0),
        ("endswith", "abc", "bc", 1),
        ("endswith", "abc", "ab", 0),
    ],
)
def test_string_operations(operation, left, right, expected):
    result = make(string_check(operation)).score(
        recorded({"left": left, "right": right})
    )
    assert result.scores == {"string-check": expected}


def test_a_side_that_is_no_text_is_a_failed_row():
    assert refusal(string_check("=="), recorded({"left": "5", "right": 5})) == (
        "no-text: the right value is 5, expected text"
    )
