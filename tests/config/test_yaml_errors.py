"""What YAML's scanner refuses, in plain words. Each text is a whole file."""

import pytest

from pytest_evalmetrics.config.yaml_reader import LOADERS, parse_yaml

WORDS = {
    "indented with a tab": (
        "benchmark:\n  name: a\n\trollouts: b",
        "line 3: line 3 is indented with a tab; YAML wants spaces",
    ),
    "indented with spaces and a tab": (
        "benchmark:\n  \tname: a\n",
        "line 2: line 2 is indented with a tab; YAML wants spaces",
    ),
    "a glob that is not quoted": (
        "benchmark:\n  rollouts: *.jsonl",
        "line 2: put quotes around a value that starts with * or &: *.jsonl",
    ),
    "a glob that looks like an alias": (
        "rollouts: *runs",
        (
            "line 1: there is no anchor above for the alias *runs; "
            "put quotes around a text that starts with *"
        ),
    ),
    "a bound that is not quoted": (
        "thresholds:\n  pass@1: >= 0.70",
        "line 2: put quotes around a value that starts with > or |: >= 0.70",
    ),
    "a bound within braces": (
        "thresholds: {pass@1: >= 0.70}",
        "line 1: a value can't start with '>': put quotes around it",
    ),
    "a character that YAML keeps for itself": (
        "name: @home",
        "line 1: a value can't start with '@': put quotes around it",
    ),
    "a stray bracket": ("name: ]", "line 1: a value can't start with ']': put quotes around it"),
    "a colon in a value": (
        "description: note: this",
        "line 1: there is a second ': ' on this line: put quotes around a value that holds one",
    ),
    "indented too far": (
        "name: a\n  rollouts: b",
        (
            "line 2: this key does not fit the line above: check its indentation, "
            "and the ':' after the key of that line"
        ),
    ),
    "indented between two levels": (
        "benchmark:\n    name: a\n  rollouts: b",
        "line 3: the indentation of this line fits none of the lines above",
    ),
    "a list item between two levels": (
        "metrics:\n    - a\n  - b",
        (
            "line 3: this list item fits neither a list above nor the keys that start on line 1: "
            "check its indentation"
        ),
    ),
    "a key among list items": (
        "- a\nb: 1",
        "line 2: expected '- ', because a list starts on line 1",
    ),
    "a list on its key's line": ("metrics: - a", "line 1: a list starts on the line after its key"),
    "a key without a colon": ("name: a\nrollouts", "line 2: there is no ': ' after this key"),
    "a colon without a key": ("a: 1\n: b", "line 2: there is no key before this ':'"),
    "text after a quote": (
        "name: 'it's'",
        "line 1: there is text after the end of a value: put quotes around the whole of it",
    ),
    "an open quote": (
        "a: 1\nname: 'a\nb: 2\n",
        "line 2: the quote that is opened on line 2 is never closed",
    ),
    "an open bracket": (
        "metrics: [a,\n  b\nname: c",
        "line 3: the '[' of line 1 is not closed by ']', or a ',' is missing before this",
    ),
    "an open brace at the end": (
        "expect: {tasks: 1\n\n",
        "line 1: the '{' of line 1 is not closed by '}', or a ',' is missing before this",
    ),
    "nothing in an open bracket": (
        "expect: [",
        "line 1: the file ends where a value was expected: is a '[' or '{' left open?",
    ),
    "a backslash in double quotes": (
        'path: "C:\\data"',
        "line 1: in double quotes a backslash starts an escape: write \\\\ or use single quotes",
    ),
    "one anchor twice": (
        "a: &x 1\nb: &x 2",
        "line 2: this anchor is given to something else on line 1 already",
    ),
    "a second document": (
        "a: 1\n---\nb: 2",
        (
            "line 2: a second document starts here: a benchmark file holds one; "
            "write several benchmarks as a list under benchmarks:"
        ),
    ),
    "text after the end": ("a: 1\n...\nb", "line 3: there is text after the end of the document"),
    "a tag of nobody": (
        "a: !e!x 1",
        "line 1: a word that starts with ! is a tag, which means nothing here: quote a text",
    ),
}


@pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)
@pytest.mark.parametrize(("text", "expected"), WORDS.values(), ids=WORDS)
def test_in_plain_words(text, expected, loader):
    source = parse_yaml(text, loader)
    assert source.root is None
    assert [str(problem) for problem in source.problems] == [expected]


def test_half_a_character_is_refused_by_each_scanner_in_its_own_way():
    for loader in LOADERS:
        (problem,) = parse_yaml('a: "\\ud800"', loader).problems
        assert problem.line == 1
        assert "\\u escape" in problem.message


def test_what_is_not_listed_is_said_as_the_scanner_says_it():
    (problem,) = parse_yaml("%YAML 2.0\n---\na: 1", LOADERS[-1]).problems
    assert problem.message.startswith("this is no YAML: found incompatible YAML document")
