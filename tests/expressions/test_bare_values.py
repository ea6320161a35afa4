"""A prompt that writes a row's text as it is lets that text talk to the judge."""

import pytest

from pytest_evalmetrics.expressions import bare_values


@pytest.mark.parametrize(
    ("prompt", "paths"),
    [
        ("Rate {{ item.answer }}", ["item.answer"]),
        ("Rate {{ answer }} by {{ item.reference }}", ["answer", "item.reference"]),
        ("Rate {{ item.answer | upper }}", ["item"]),
        ("Rate {{ item.answer ~ reference }}", ["item and reference"]),
        ("Rate {{ item.texts[0] }}", ["item"]),
        ("{% for text in item.texts %}{{ text }}{% endfor %}", ["text"]),
        ("{% set text = item.answer %}{{ text }}", ["text"]),
    ],
)
def test_a_text_that_is_written_as_it_is_is_named(prompt, paths):
    assert bare_values(prompt) == paths


@pytest.mark.parametrize(
    "prompt",
    [
        "Rate an answer",
        "Rate {{ item.answer | untrusted }}",
        "Rate {{ item.answer | tojson }}",
        "It has {{ item.answer | length }} characters",
        "{{ item.answer == 'yes' }}",
        "{{ item.answer is defined }}",
        "{{ not item.answer }}",
        "{{ range(3) | list }}",
        "{% for text in item.texts %}{{ loop.index }}{% endfor %}",
        "{% set count = 3 %}{{ count }}",
    ],
)
def test_what_holds_no_words_of_a_row_is_not_named(prompt):
    assert bare_values(prompt) == []


def test_a_trusted_name_is_not_named():
    prompt = "{{ scores }}{% for score in scores %}{{ score.name }}{% endfor %}"
    assert bare_values(prompt, trusted=("scores",)) == []


def test_messages_are_searched_in_their_order():
    prompt = {
        "messages": [
            {"role": "system", "content": "{{ item.rules }}"},
            {"role": "user", "content": "{{ item.answer }}"},
        ],
        "temperature": 0,
    }
    assert bare_values(prompt) == ["item.rules", "item.answer"]
