"""Texts of numbers that can be read in two ways, or in none; and paths that can't be read."""

import numpy as np
import pytest

from pytest_evalmetrics.ext import RolloutFile, open_source
from pytest_evalmetrics.rollouts.file_documents import viewed
from pytest_evalmetrics.rollouts.number_texts import (
    approximate,
    are_unclear,
    separates_by_commas,
)
from pytest_evalmetrics.spec.sources import RolloutsSpec

FIELDS = {"task": "id", "reward": "score"}
PLAIN = "write plain numbers, such as 4186 and 0.75"


def refused(folder, *cells, **options):
    lines = [f"q{n};{cell}" for n, cell in enumerate(cells)]
    folder.write("\n".join(["id;score", *lines]) + "\n", "r.csv")
    error = folder.refused("r.csv", fields=FIELDS, scores=["reward"], **options)
    return error.message, error.hint


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1.2.3,4"],
            (
                "the score 'reward' is '1.2.3,4' at r.csv:2: a number in no way of writing that "
                "is known"
            ),
        ),
        (
            ["1,234.5", "1.234,5"],
            (
                "the score 'reward' is '1,234.5' at r.csv:2 and '1.234,5' at r.csv:3: no one way "
                "of writing numbers fits both"
            ),
        ),
        (
            ["0.5", "85 %"],
            (
                "the score 'reward' is '85 %' at r.csv:3, and 0.5 in another row: no one way of "
                "writing numbers fits both"
            ),
        ),
    ],
)
def test_texts_that_are_no_numbers_together_are_refused(folder, cells, message):
    assert refused(folder, *cells) == (message, PLAIN)


def test_texts_that_may_be_read_in_two_ways_are_asked_about(folder):
    assert refused(folder, "1.100", "2.200", "3.300", "4.400") == (
        (
            "the score 'reward' is '1.100' at r.csv:2, '2.200', '3.300': this may have a "
            "thousands separator or a decimal sign"
        ),
        (
            'say which, under rollouts: `decimal: "."` if 1.100 is 1.1, `decimal: ","` if it is '
            "1100"
        ),
    )


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["1.100", "950"], True),
        (["1.100", "0.5"], False),
        (["1.10"], False),
        (["950"], False),
        (["+12.345", "-1.000"], True),
        (["0.100"], False),
        (["1234.100"], False),
    ],
)
def test_dots_that_may_separate_thousands(cells, says):
    assert are_unclear(cells) is says


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("85 %", 0.85), ("0,75", 0.75), ("1,234.5", 1234.5), ("1.234,5", 1234.5)),
        *(
            ("7/10", 0.7),
            ("7 of 10", 0.7),
            ("1'000", 1000),
            ("-5", -5),
            ("\u22125", -5),
        ),
        ("1e3", 1000),
    ],
)
def test_one_text_is_read_by_itself(text, number):
    assert approximate(text) == pytest.approx(number)


def source_of(folder, content, name="r.txt"):
    return open_source(RolloutFile(folder.write(content, name), name))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        *(("{}", True), ("[1]", True), (b"PAR1", True), (b"ARROW1", True)),
        *(("a,b\n1,2", True), ("a;b\n1;2", False), ("a\tb\n1\t2", False)),
    ],
)
def test_who_separates_cells_by_commas(folder, content, says):
    assert separates_by_commas(source_of(folder, content)) is says


@pytest.mark.parametrize(
    ("content", "keys", "unit"),
    [
        ('{"a": 1}\n{"a": 2}\n', {}, "line"),
        ('{"a": 1}\n{"a": 2}\n', {"rows": "x"}, "row"),
        ('{"a": 1}\n{"a": 2}\n', {"keyed": "id"}, "row"),
        ('{"a": 1}\n{"a": 2}\n', {"where": {"a": [1]}}, "line"),
        ('[{"a": 1}]', {}, "row"),
        ('{"a":\n1}', {}, "row"),
        ("a,b\n1,2\n", {}, "line"),
    ],
)
def test_places_are_lines_where_rows_are_lines(folder, content, keys, unit):
    spec = RolloutsSpec(path=("r.txt",), **keys)
    assert viewed(source_of(folder, content), spec).unit == unit


def test_a_path_of_too_many_parts_is_refused(folder):
    folder.rows([{"id": "a", "score": 1}])
    path = ".".join("abcdefghijklmnopqrstuvwxyz")
    fields = {**FIELDS, "scores": {"x": path}}
    error = folder.refused("runs.jsonl", fields=fields, scores=["reward"])
    assert error.message.startswith(f"the path {path!r} has more than ")
    assert error.hint == "write the rows flatter"


def test_a_content_of_which_parts_are_read_is_refused(folder):
    folder.rows([{"id": "a", "score": 1, "c": {"n": 1}}])
    fields = {**FIELDS, "content": ("c",), "scores": {"x": "c.n"}}
    error = folder.refused("runs.jsonl", fields=fields, scores=["reward"])
    assert error.message == ("the content 'c' holds fields that are read on their own")
    assert error.hint == (
        "name its parts under rollouts: `fields: {content: [PATH, PATH]}`"
    )


def test_the_reward_of_what_was_not_judged_is_taken_away_with_its_object(folder):
    row = {"id": "q1", "grade": {"score": 1}}
    document = {"results": [row], "errors": [{"id": "q2", "grade": {"score": 1}}]}
    folder.json(document, "r.json")
    fields = {"task": "id", "reward": "grade.score"}
    table = folder.load("r.json", rows="results", fields=fields, scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [1, np.nan])
