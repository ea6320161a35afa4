"""Scorers of texts give what the NeMo Evaluator SDK gave."""

import json

import pytest
from scoring.scorers.offline import entry, make, recorded, refusal

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
    assert len(cases[section]) == 5
    for case in cases[section]:
        if "error" in case:
            assert (
                refusal(spec, recorded(case))
                == "no-text: the candidate is 5, expected text"
            )
        else:
            assert scorer.score(recorded(case)).scores == pytest.approx(
                case["scores"], abs=1e-12
            )


def test_string_check(cases):
    for case in cases["string_check"]:
        spec = entry(type="string-check", operation=case["op"], **TEMPLATES)
        assert make(spec).score(recorded(case)).scores == case["scores"], case


def test_number_check(cases):
    for case in cases["number_check"]:
        more = {"epsilon": case["epsilon"]} if "epsilon" in case else {}
        spec = entry(type="number-check", operation=case["op"], **TEMPLATES, **more)
        if case["scores"] == {
            "number-check": "NaN"
        }:  # a failed row here, with its reason
            assert refusal(spec, recorded(case)).startswith(
                "no-number: the left value is"
            )
        else:
            assert make(spec).score(recorded(case)).scores == case["scores"], case
