"""The keys by which a format is recognised."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.rollouts.source import keys_of


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"a": 1, "b": {"c": {"d": 1}}}', {"a", "b", "b.c"}),
        (
            '[{"a": [{"b": 1}, {"c": 2}], "e": [[{"f": 1}]]}, {"g": 1}]',
            {"a", "a.b", "a.c", "e", "e.f"},
        ),
        ('{"a": 1}\n{"b": 2}', {"a"}),
        ('{"a": "}{\\"b\\": 1", "c\\"d": 1}', {"a", 'c\\"d'}),
        ('{"a": {"b": "cut o', {"a", "a.b"}),
        ('{"a": 1, "hal', {"a"}),
        ("", set()),
        ("]]}}", set()),
        ("[1, 2]", set()),
    ],
)
def test_keys_and_those_one_level_below(text, keys):
    assert keys_of(text.encode())[0] == keys


plain = st.text(
    st.characters(
        codec="ascii", exclude_characters='."\\', min_codepoint=32, max_codepoint=126
    )
)
values = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3)
    ),
    max_leaves=12,
)


def expected(value, above="", depth=2):
    keys = set()
    if isinstance(value, list):
        for each in value:
            keys |= expected(each, above, depth)
    elif isinstance(value, dict) and depth:
        for key, inner in value.items():
            name = f"{above}.{key}" if above else key
            keys |= {name} | expected(inner, name, depth - 1)
    return keys


@given(st.dictionaries(plain.filter(bool), values, max_size=4))
def test_it_finds_the_keys_that_json_finds(value):
    assert keys_of(json.dumps(value).encode()) == (expected(value), True)
