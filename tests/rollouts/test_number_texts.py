"""Numbers that are written as text are read where a whole column is written in one way."""

import json

import pytest

from pytest_evalmetrics.model.rollout_notes import UnclearColumn

FIELDS = {"task": "id", "reward": "score"}


def read_csv(folder, cells, separator=","):
    rows = "".join(
        f'q{number}{separator}"{cell}"\n' for number, cell in enumerate(cells)
    )
    folder.write(f"id{separator}score\n{rows}", "runs.csv")
    return folder.load("runs.csv", fields=FIELDS, scores=["reward"])


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["4,186", "12", "1,234,567"], [4186, 12, 1234567]),
        (["4,186.5", "0.25"], [4186.5, 0.25]),
        (["0,75", "1", "12,5"], [0.75, 1, 12.5]),
        (["1.234,5", "0,5"], [1234.5, 0.5]),
        (["1 234,5", "0,5"], [1234.5, 0.5]),
        (["1'234", "12"], [1234, 12]),
        (["85%", "7.5 %"], [0.85, 0.075]),
        (["\u22125,000", "3"], [-5000, 3]),
        (["0,125", "0,250"], [0.125, 0.25]),
        (["7/10", "3 / 10"], [0.7, 0.3]),
        (["7 of 10", "0 of 10"], [0.7, 0]),
        (["7 out of 10", "2.5 Of 10"], [0.7, 0.25]),
        (["7 von 10", "3 sur 10", "1 de 10"], [0.7, 0.3, 0.1]),
    ],
)
def test_a_column_that_agrees_is_read(folder, cells, numbers):
    table = read_csv(folder, cells)
    assert table.scores["reward"].tolist() == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["4,186", "1,234,567", "0,75"], ("1,234,567", "0,75")),
        (["4,186", "4186"], ("4,186", "4186")),
        (["85%", "0.9"], ("85%", "0.9")),
        (["85%", "0,9"], ("85%", "0,9")),
        (["0,75", "0.5"], ("0,75", "0.5")),
    ],
)
def test_a_column_that_does_not_agree_is_refused_with_its_cells(folder, cells, shown):
    with pytest.raises(Exception, match="score") as caught:
        read_csv(folder, cells)
    for cell in shown:
        assert cell in str(caught.value)


def test_a_comma_between_semicolons_is_not_guessed(folder):
    with pytest.raises(Exception, match="a thousands separator or a decimal sign"):
        read_csv(folder, ["4,186", "5,120"], ";")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_dot_before_three_digits_is_not_guessed(folder, separator):
    with pytest.raises(Exception, match="a thousands separator") as caught:
        read_csv(folder, ["1.100", "950", "2.300"], separator)
    assert "'1.100' at runs.csv:2, '2.300'" in str(caught.value)
    assert '`decimal: "."` if 1.100 is 1.1' in str(caught.value)
    assert '`decimal: ","` if it is 1100' in str(caught.value)


@pytest.mark.parametrize(
    ("decimal", "cells", "numbers"),
    [
        (".", ["1.100", "950", "2.300"], [1.1, 950, 2.3]),
        (",", ["1.100", "950", "2.300"], [1100, 950, 2300]),
        (".", ["1,100", "950", "2,300"], [1100, 950, 2300]),
        (",", ["1,100", "950", "2,300"], [1.1, 950, 2.3]),
        (",", ["1.234,5", "0,5"], [1234.5, 0.5]),
        (".", ["1,234.5", "0.5"], [1234.5, 0.5]),
    ],
)
@pytest.mark.parametrize("shape", [{}, {"where": {"kind": "a"}}])
def test_the_decimal_sign_can_be_declared(folder, decimal, cells, numbers, shape):
    rows = "".join(f"q{number};{cell};a\n" for number, cell in enumerate(cells))
    folder.write(f"id;score;kind\n{rows}", "runs.csv")
    table = folder.load(
        "runs.csv", fields=FIELDS, scores=["reward"], decimal=decimal, **shape
    )
    assert table.scores["reward"].tolist() == pytest.approx(numbers)


def test_a_declared_sign_that_does_not_fit_is_refused_with_the_cell(folder):
    folder.write("id;score\na;0.25\nb;1.100\n", "runs.csv")
    with pytest.raises(Exception, match=r"'0\.25' at runs\.csv:2"):
        folder.load("runs.csv", fields=FIELDS, scores=["reward"], decimal=",")


def test_codes_that_are_mapped_may_have_three_digits(folder):
    folder.write("id;grade\na;1.000\nb;2.000\n", "runs.csv")
    table = folder.load(
        "runs.csv",
        fields={"task": "id", "reward": "grade"},
        scores=["reward"],
        map={"reward": {"1": 1.0, "2": 0.0}},
    )
    assert table.scores["reward"].tolist() == [1, 0]


FURTHER = "id{0}score{0}seconds\na{0}{1}{0}1.100\nb{0}0{0}2.300\n"


def test_a_further_column_between_commas_is_read_as_plain_numbers(folder):
    folder.write(FURTHER.format(",", 1), "runs.csv")
    table = folder.load("runs.csv", fields=FIELDS, scores=["reward"])
    assert table.scores["seconds"].tolist() == [1.1, 2.3]


def test_a_further_column_is_read_where_another_shows_the_decimal_sign(folder):
    folder.write(FURTHER.format(";", 0.75), "runs.csv")
    table = folder.load("runs.csv", fields=FIELDS, scores=["reward"])
    assert table.scores["seconds"].tolist() == [1.1, 2.3]


def test_a_further_column_that_is_not_clear_is_left_out_with_a_note(folder):
    folder.write(FURTHER.format(";", 1), "runs.csv")
    table = folder.load("runs.csv", fields=FIELDS, scores=["reward"])
    assert "seconds" not in table.scores
    assert UnclearColumn("seconds", "1.100", "runs.csv:2") in table.notes


def test_text_that_is_no_number_is_refused(folder):
    with pytest.raises(Exception, match="expected a number"):
        read_csv(folder, ["4,186", "good"])


def test_texts_of_json_are_read_too(folder):
    folder.rows([{"id": "a", "score": "85 %"}, {"id": "b", "score": "7 %"}])
    table = folder.load(fields=FIELDS, scores=["reward"])
    assert table.scores["reward"].tolist() == pytest.approx([0.85, 0.07])


def test_a_text_that_comes_late_is_held_against_the_texts_before(folder):
    rows = [{"id": n, "score": "4,186", "text": "x" * 500} for n in range(3000)]
    folder.rows([*rows, {"id": "x", "score": "0,75"}])
    with pytest.raises(Exception, match="0,75"):
        folder.load(fields=FIELDS, scores=["reward"])


def test_the_parts_of_a_large_file_are_read_as_a_whole(folder):
    folder.write(
        "".join(json.dumps({"id": n, "score": "1,5"}) + "\n" for n in range(9))
    )
    assert folder.shared("runs.jsonl") is None
