"""Scorers of texts give what the NeMo Evaluator SDK gave."""

import json

import pytest
from scoring.scorers.offline import entry, make, recorded, refusal

NOT_A_NUMBER = {"number-check": "NaN"}
TEMPLATES = {"left_template": "{{ item.left }}", "right_template": "{{ item.right }}"}


@pytest.fixture
def cases(acceptance):
    return json.loads((acceptance / "nemo_sdk/cases.json").read_text())


@pytest.mark.parametrize(
    ("section", "spec"),
    [
        ("exact_match", entry(type="exact-match", candidate="{{ item.candidate }}")),
        ("f1", entry(type="f1", candidate="{{ item.candidate }}")),
        ("bleu", entry(type="bleu", candidate="{{ item.candidate }}")),
        ("rouge", entry(type="rouge", candidate="{{ item.candidate }}")),
    ],
)
def test_reference_and_candidate(cases, section, spec):
    scorer = make(spec)
    scored = [case for case in cases[section] if "error" not in case]
    assert len(scored) == 4
    for case in scored:
        expected = pytest.approx(case["scores"], abs=1e-12)
        assert scorer.score(recorded(case)).scores == expected


@pytest.mark.parametrize("kind", ["exact-match", "f1", "bleu", "rouge"])
def test_a_candidate_that_is_no_text_is_a_failed_row(kind):
    spec = entry(type=kind, candidate="{{ item.candidate }}")
    row = recorded({"candidate": 5, "reference": "5"})
    assert refusal(spec, row) == "no-text: the candidate is 5, expected text"


def test_string_check(cases):
    for case in cases["string_check"]:
        spec = entry(type="string-check", operation=case["op"], **TEMPLATES)
        assert make(spec).score(recorded(case)).scores == case["scores"], case


def number_check(case):
    keys = {key: case[key] for key in ("epsilon",) if key in case}
    return entry(type="number-check", operation=case["op"], **TEMPLATES, **keys)


def test_number_check(cases):
    scored = [case for case in cases["number_check"] if case["scores"] != NOT_A_NUMBER]
    assert scored
    for case in scored:
        scores = make(number_check(case)).score(recorded(case)).scores
        assert scores == case["scores"], case


def test_what_the_sdk_scores_nan_is_a_failed_row(cases):
    failed = [case for case in cases["number_check"] if case["scores"] == NOT_A_NUMBER]
    assert failed
    for case in failed:
        reason = refusal(number_check(case), recorded(case))
        assert reason.startswith("no-number: the left value is")
