"""Where scorers of texts find what they compare, and what they refuse."""

import subprocess
import sys

import pytest
from scoring.scorers.offline import entry, make, recorded, refusal, row

from pytest_evalmetrics.errors import EvalMetricsError, RowError
from pytest_evalmetrics.scoring.scorers.row_reading import as_text

SPEC = entry(type="exact-match")


def value(item, **keys):
    return make(entry(type="exact_match", **keys)).score(item).scores["exact-match"]


@pytest.mark.parametrize(
    "response",
    [
        "Paris",
        {"role": "assistant", "content": "Paris"},
        {"choices": [{"message": {"content": "Paris"}}]},
        {
            "choices": [
                {
                    "message": {
                        "content": [{"type": "text", "text": "Pa"}, {"text": "ris"}]
                    }
                }
            ]
        },
        {
            "output": [
                {"type": "reasoning", "content": None},
                {
                    "type": "message",
                    "content": [{"type": "output_text", "text": "Paris"}],
                },
            ]
        },
    ],
)
def test_the_text_of_a_response(response):
    assert value(recorded({"reference": "Paris", "response": response})) == 1
    assert value(row({"reference": "Paris", "response": response})) == 1
    assert value(recorded({"reference": "Rome", "response": response})) == 0


def test_templates_replace_the_default_fields():
    item = recorded({"want": {"text": "Paris"}, "got": ["x", "Paris"]})
    assert value(item, reference="{{ item.want.text }}", candidate="{{ got[1] }}") == 1
    assert (
        value(item, reference="{{ item.want.text }}", candidate="in {{ got[0] }}") == 0
    )
    assert value(item, reference="Paris", candidate="{{ sample.got[1] }}") == 1


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"response": "x"},
            "template: '{{ item.reference }}': 'dict object' has no attribute",
        ),
        (
            {"reference": "x"},
            "no-response: the row has no response, and nothing was generated",
        ),
        (
            {"reference": 5, "response": "5"},
            "no-text: the reference is 5, expected text",
        ),
        (
            {"reference": "5", "output_text": 5},
            "no-text: the candidate is 5, expected text",
        ),
        (
            {"reference": "5", "response": 5},
            "bad-response: the response is 5, expected choices",
        ),
        (
            {"reference": "5", "response": {"role": "assistant", "content": None}},
            "bad-response: the content of a message is null, expected text",
        ),
    ],
)
def test_failed_rows(item, message):
    assert refusal(SPEC, recorded(item)).startswith(message)


def test_a_null_is_not_turned_into_the_word_none():
    with pytest.raises(RowError) as refused:
        as_text(None, "the reference")
    assert refused.value.hint == (
        "where that is meant, a template says so: {{ ... | default('none') }}"
    )


@pytest.mark.parametrize(
    ("spec", "module", "extra"),
    [
        (SPEC, "jinja2", "remote"),
        (entry(type="tool-calling", reference="{{ x }}"), "jinja2", "remote"),
        (entry(type="bleu"), "sacrebleu", "text"),
        (entry(type="rouge"), "rouge_score", "text"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_command(
    spec, module, extra, monkeypatch
):
    for name in list(sys.modules):
        if name.split(".")[0] == module or name == "pytest_evalmetrics.expressions":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        EvalMetricsError, match=f"the scorer {spec.type} needs {module}"
    ) as raised:
        make(spec)
    assert raised.value.hint == f"pip install 'pytest-evalmetrics[{extra}]'"


def test_knowing_the_scorers_imports_nothing_of_an_extra():
    code = "import sys; from pytest_evalmetrics.registry import scorers; "
    code += "from pytest_evalmetrics.scoring.scorer_types import offer_scorers; "
    code += "offer_scorers(); scorers.names(); print(sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "'pytest_evalmetrics.scoring.scorers.text_scorers'" in run.stdout
    for name in ("jinja2", "jsonpath", "sacrebleu", "rouge_score", "nltk", "aiohttp"):
        assert f"'{name}'" not in run.stdout
