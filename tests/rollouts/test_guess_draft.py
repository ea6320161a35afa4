"""The text of a proposed benchmark file."""

import pytest

from pytest_evalmetrics.rollouts.guess.draft import draft_lines
from pytest_evalmetrics.rollouts.guess.rewards import OPEN


def test_a_file_is_written_with_its_comments_and_its_open_lines():
    content = {
        "benchmark": {
            "name": "math",
            "rollouts": {"path": "r.jsonl", "fields": {"task": "id", "reward": OPEN}},
            "metrics": ["pass@1"],
            "baseline": {"max_drop": OPEN},
        }
    }
    comments = {"metrics": "of each task", "name": "of the file"}
    questions = {"reward": "score or ok?"}
    assert draft_lines(content, comments, questions, ["written by init", "twice"]) == [
        "# written by init",
        "# twice",
        "benchmark:",
        "  name: math  # of the file",
        "  rollouts:",
        "    path: r.jsonl",
        "    fields:",
        "      task: id",
        "      reward: ?  # score or ok?",
        "  metrics: [pass@1]  # of each task",
        "  baseline:",
        "    max_drop: ?  # a value",
    ]


def first_line(content, comments):
    """Write a mapping line by line, because it holds an open value."""
    return draft_lines({**content, "last": OPEN}, comments, {})[0]


def test_nothing_stands_above_a_file_by_default():
    assert first_line({"name": "math"}, {}) == "name: math"


def test_a_mapping_without_an_open_value_is_written_on_a_line():
    content = {"map": {"fail": 0, "pass": 1}}
    assert first_line(content, {}) == "map: {fail: 0, pass: 1}"


def test_long_lines_and_all_letters_are_kept():
    words = " ".join(["größer"] * 40)
    assert first_line({"note": words}, {}) == f"note: {words}"


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("a: b", "'a: b': 1  # why"),
        ("it's", "it's: 1  # why"),
        ("#", "'#': 1  # why"),
        ("- x", "'- x': 1  # why"),
        ("a: it's", "'a: it''s': 1  # why"),
        ("it's: a", "'it''s: a': 1  # why"),
        ("a\tb", '"a\\tb": 1  # why'),
        ('a\t"b', '"a\\t\\"b": 1  # why'),
    ],
)
def test_the_comment_of_a_key_in_quotes(key, line):
    assert first_line({key: 1}, {key: "why"}) == line


def test_an_open_word_in_quotes_has_its_question():
    content = {"map": {"#": OPEN, "it's": OPEN, "yes": OPEN}}
    questions = {"#": "one", "it's": "two", "yes": "three"}
    assert draft_lines(content, {}, questions) == [
        "map:",
        "  '#': ?  # one",
        "  it's: ?  # two",
        "  'yes': ?  # three",
    ]
