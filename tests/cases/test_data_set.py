"""The rows of a data set, what it calls the parts of a task, and one more row."""

import pytest

from pytest_evalmetrics.cases.data_set import Keys, append, keys_of, read_rows
from pytest_evalmetrics.errors import DataError

PARTS = {
    "id": "id task_id task question_id name key",
    "question": "question query user_input prompt input problem",
    "reference": "reference expected expected_output ground_truth target answer",
    "context": "context contexts retrieved_contexts documents",
}


@pytest.mark.parametrize(
    ("part", "name"),
    [(part, name) for part, names in PARTS.items() for name in names.split()],
)
def test_a_part_of_a_task_has_the_name_that_the_data_set_gives_it(part, name):
    assert getattr(keys_of([{"other": 1, name: "x"}, {"id": 1}]), part) == name


def test_a_new_data_set_has_the_usual_names():
    usual = Keys(id="id", question="question", reference="reference", context="context")
    assert keys_of([]) == usual
    assert keys_of([{"other": 1}]) == usual


def test_of_two_names_the_more_usual_one_counts():
    assert keys_of([{"answer": "x", "expected": "y"}]).reference == "expected"


# -- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.ndjson"])
def test_a_data_set_that_does_not_exist_yet_has_no_rows(tmp_path, name):
    assert read_rows(tmp_path / name) == []


def test_empty_lines_are_skipped(tmp_path):
    data = tmp_path / "cases.jsonl"
    data.write_text('{"id": "ä"}\n\n  \n{"id": 2}\n', encoding="utf-8")
    assert read_rows(data) == [{"id": "ä"}, {"id": 2}]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"id": 1}\n\n[1]\n', 3, "this line is no object, expected one task"),
        (
            "{",
            1,
            (
                "this line is not JSON: Expecting property name enclosed in double quotes: "
                "line 1 column 2 (char 1)"
            ),
        ),
    ],
)
def test_a_line_that_is_no_task_is_refused_at_its_place(tmp_path, text, line, message):
    data = tmp_path / "cases.jsonl"
    data.write_text(text)
    with pytest.raises(DataError) as refused:
        read_rows(data)
    assert refused.value.message == message
    assert refused.value.file == str(data)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("name", "shown"), [("cases.csv", "'.csv'"), ("cases", "'no'")]
)
def test_a_data_set_of_another_format_is_refused(tmp_path, name, shown):
    with pytest.raises(DataError) as refused:
        read_rows(tmp_path / name)
    assert refused.value.message == (
        f"a case is appended to a data set of JSON Lines, and this is {shown}"
    )
    assert refused.value.file == str(tmp_path / name)
    assert refused.value.hint == (
        "name a file that ends in .jsonl; a benchmark may list several under dataset:"
    )


# -- appending -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b'{"a": "\xc3\xa4"}\n'),
        (b'{"b":1}', b'{"b":1}\n{"a": "\xc3\xa4"}\n'),
        (b'{"b":1}\n', b'{"b":1}\n{"a": "\xc3\xa4"}\n'),
    ],
)
def test_a_row_is_appended_on_a_line_of_its_own(tmp_path, before, after):
    data = tmp_path / "cases.jsonl"
    data.write_bytes(before)
    append(data, {"a": "ä"})
    assert data.read_bytes() == after


def test_the_folders_of_a_new_data_set_are_made(tmp_path):
    data = tmp_path / "data" / "of" / "support" / "cases.jsonl"
    append(data, {"a": 1})
    append(data, {"a": 2})
    assert data.read_text() == '{"a": 1}\n{"a": 2}\n'
