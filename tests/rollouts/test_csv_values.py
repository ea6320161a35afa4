"""The cells of CSV files as numbers, ids and labels, and what is said of broken files."""

import math

import pytest

from pytest_evalmetrics.model.rollout_notes import UnclearColumn

FIELDS = {"task": "id", "reward": "score"}


def load(folder, *lines, **options):
    folder.write("\n".join(lines) + "\n", "r.csv")
    return folder.load("r.csv", fields=FIELDS, scores=["reward"], **options)


def refused(folder, content):
    folder.write(content, "r.csv")
    error = folder.refused("r.csv", fields=FIELDS, scores=["reward"])
    return error.where, error.message, error.hint


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        *(("1", 1), (" 0.5 ", 0.5), ("1e-3", 0.001), ("-2", -2), ("007", 7)),
        *(("true", 1), ("False", 0), ("1234567890123456", 1234567890123456)),
        *(("", None), ("null", None), ("None", None), ("NA", None), ("n/a", None)),
        *(("nan", None), ("inf", None)),
    ],
)
def test_a_cell_as_a_number(folder, cell, number):
    table = load(folder, "id,score", "a,0.25", f"b,{cell}")
    value = table.scores["reward"].tolist()[1]
    assert (None if math.isnan(value) else value) == number


def test_a_number_with_underscores_is_text(folder):
    _, message, _ = refused(folder, "id,score\na,1\nb,1_000\n")
    assert '"1_000"' in message


@pytest.mark.parametrize(
    ("cells", "tasks"),
    [
        (["1", " 2 "], (1, 2)),
        (["-1", "0"], (-1, 0)),
        (["01", "2"], ("01", "2")),
        (["1.0", "2"], ("1.0", "2")),
        (["a ", "b"], ("a", "b")),
    ],
)
def test_a_cell_as_an_id(folder, cells, tasks):
    table = load(folder, "id,score", *(f"{cell},1" for cell in cells))
    assert table.tasks == tasks


def test_a_cell_as_a_label(folder):
    table = load(folder, "id,score,level", "a,1, x ", "b,0,", categories=["level"])
    assert table.categories["level"].labels == (" x ", "(missing)")


@pytest.mark.parametrize(
    "lines",
    [
        ["id;score", "a;1"],
        ["id\tscore", "a\t1"],
        ["id|score", "a|1"],
        ["sep=;", "id;score", "a;1"],
        ['"sep=|"', "id|score", "a|1"],
        [" id , score ", "a,1"],
        ["id,score", "", "a,1", ""],
        ['"id","score"', '"a","1"'],
    ],
)
def test_the_forms_of_a_table(folder, lines):
    table = load(folder, *lines)
    assert table.tasks == ("a",)
    assert table.scores["reward"].tolist() == [1]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_pandas_is_no_score(folder, name):
    table = load(folder, f"{name},id,score", "0,a,1", "1,b,0")
    assert set(table.scores) == {"reward"}


def test_a_cell_may_span_lines(folder):
    table = load(folder, "id,score,note", 'a,1,"one', 'two"', "b,0,x")
    assert table.tasks == ("a", "b")
    folder.write('id,score,note\na,1,"one\ntwo"\nb,x,x\n', "s.csv")
    assert folder.refused("s.csv", fields=FIELDS, scores=["reward"]).where == "s.csv:4"


@pytest.mark.parametrize(
    ("content", "where", "message", "hint"),
    [
        (
            "id,score\na,1\nb,1,2\n",
            "r.csv:3",
            "this line has 3 cells, and the file 2 columns",
            "was it cut off? text with a separator in it has to stand in quotes",
        ),
        (
            "id,score\na\n",
            "r.csv:2",
            "this line has 1 cell, and the file 2 columns",
            "was it cut off? text with a separator in it has to stand in quotes",
        ),
        ("id,score,id\na,1,b\n", "r.csv:1", "two columns have the name 'id'", None),
        (
            'id,score\na,1\nb,"1\nc,1\n',
            "r.csv:4",
            "the file ends inside of quotes",
            "was the run, its copy or its download interrupted?",
        ),
        (
            'id,score\na,1\n"b"x,1\nc,1\n',
            "r.csv:3",
            "this is not CSV: ',' expected after '\"'",
            "was the run, its copy or its download interrupted?",
        ),
        (
            b"id,score\na,1\n\xff,1\n",
            "r.csv",
            "this is not UTF-8 text: found the byte 0xff",
            "save the file as UTF-8",
        ),
    ],
)
def test_a_broken_table_is_refused(folder, content, where, message, hint):
    assert refused(folder, content) == (where, message, hint)


def test_a_further_column_whose_dots_are_unclear_is_left_out(folder):
    table = load(folder, "id;score;cost", "a;1;5", "b;0;1.100", "c;1;2.300")
    note = UnclearColumn(score="cost", text="1.100", at="r.csv:3")
    assert note in table.notes


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["id,score,cost", "a,1,1.100", "b,0,2.300"], id="commas"),
        pytest.param(["id;score;cost", "a;0.5;1.100", "b;0;2.300"], id="other dots"),
    ],
)
def test_dots_that_are_clear_are_decimal_signs(folder, lines):
    assert load(folder, *lines).scores["cost"].tolist() == [1.1, 2.3]
