"""JSONPath, RFC 9535."""

import pytest

from pytest_evalmetrics.expressions import JsonPath

ANSWER = {
    "result": {
        "score": 0.5,
        "none": None,
        "list": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
    }
}


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ("$.result.score", (True, 0.5)),
        ("$['result']['score']", (True, 0.5)),  # the same, not by the short way
        ("$.result.none", (True, None)),
        ("$['result']['none']", (True, None)),
        ("$.result.list[1].v", (True, 2)),
        ("$.result.list[-1].v", (True, 2)),
        ("$.result.list[?@.k == 'b'].v", (True, 2)),
        ("$..v", (True, 1)),
        ("$.result.nope", (False, None)),
        ("$['result']['nope']", (False, None)),
        ("$.result.score.deeper", (False, None)),
        ("$.result.list.v", (False, None)),
    ],
)
def test_the_first_match(query, match):
    assert JsonPath(query).first(ANSWER) == match


def test_nothing_matches_in_what_is_nested_too_deeply():
    nested = {"v": 1}
    for _ in range(100_000):
        nested = [nested]
    assert JsonPath("$..v").first(nested) == (False, None)


@pytest.mark.parametrize(
    "query", ["result.score", "$.a[", "", "$.a b", "$.*.%", "$[?@.a ==]"]
)
def test_what_is_no_query(query):
    with pytest.raises(ValueError, match="is not JSONPath"):
        JsonPath(query)


def test_a_query_without_a_dollar_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="is not JSONPath") as refused:
        JsonPath("result.score")
    words = str(refused.value)
    assert words.endswith("; it starts with $, such as $.result.score")


def test_a_query_with_a_dollar_is_not_told_to_start_with_one():
    with pytest.raises(ValueError, match="is not JSONPath") as refused:
        JsonPath("$.a[")
    assert "it starts with $" not in str(refused.value)
