"""Rows in documents: what `rows`, `keyed`, `lists`, `pivot`, `where`, `map` find, and refuse."""

import pytest

from pytest_evalmetrics.errors import DataError, ShapeError
from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.model.rollout_notes import FilteredRows
from pytest_evalmetrics.rollouts.derived_scores import (
    Join,
    derived_scores,
    value_text,
)
from pytest_evalmetrics.rollouts.file_documents import documents
from pytest_evalmetrics.rollouts.row_filters import row_filters
from pytest_evalmetrics.rollouts.shaped_rows import find_rows
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    explained,
    is_large,
    keys_of,
    not_utf8,
    open_source,
    row_too_long,
    shown_json,
    whole_number_from_env,
)
from pytest_evalmetrics.spec.sources import JointField, PivotSpec, RolloutsSpec


def found(folder, document, **keys):
    """Find the rows of a document."""
    path = folder.json(document, "r.json")
    source = open_source(RolloutFile(path, "r.json"))
    spec = RolloutsSpec(path=("r.json",), **keys)
    return find_rows(source, spec, documents(source))


def rows_in(folder, document, **keys):
    return [row.value for row in found(folder, document, **keys)]


def refused(folder, document, **keys):
    with pytest.raises(ShapeError) as caught:
        found(folder, document, **keys)
    return caught.value


# -- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "path", "rows"),
    [
        pytest.param({"a": [{"x": 1}]}, "a", [{"x": 1}], id="a list"),
        pytest.param({"a": {"x": 1}}, "a", [{"x": 1}], id="an object"),
        pytest.param(
            {"r": "n", "l": [1], "a": [{"x": 1}]},
            "a",
            [{"_parent": {"r": "n"}, "x": 1}],
            id="what encloses them",
        ),
        pytest.param(
            {"r": {"s": 1, "l": [2]}, "o": {"p": 3, "a": [{"x": 1}]}},
            "o.a",
            [{"_parent": {"p": 3, "_parent": {"r": {"s": 1}}}, "x": 1}],
            id="what encloses that",
        ),
        pytest.param({"a.b": [{"x": 1}]}, "a.b", [{"x": 1}], id="a key with a dot"),
        pytest.param(
            {"a": {"b.c": {"d": [{"x": 1}]}}}, "a.b.c.d", [{"x": 1}], id="in the middle"
        ),
        pytest.param([[{"x": 1}], [{"x": 2}]], "*", [{"x": 1}, {"x": 2}], id="lists"),
        pytest.param(
            {"a": [{"n": 1, "t": [{"x": 1}]}, {"n": 2, "t": []}]},
            "a.*.t",
            [{"_parent": {"n": 1}, "x": 1}, {"_parent": {"n": 2}}],
            id="lists in rows",
        ),
        pytest.param(
            {"a": {"k": {"x": 1}, "l": {"x": 2}}},
            "a.*",
            [{"_key": "k", "x": 1}, {"_key": "l", "x": 2}],
            id="objects by key",
        ),
        pytest.param(
            {"k": [{"x": 1}], "l": [{"x": 2}]},
            "*",
            [{"_parent": {"_key": "k"}, "x": 1}, {"_parent": {"_key": "l"}, "x": 2}],
            id="lists by key",
        ),
        pytest.param(
            {"columns": ["i", 2], "data": [["a", 1], ["b", 0]]},
            "data",
            [
                {"i": "a", "2": 1},
                {"i": "b", "2": 0},
            ],
            id="a table",
        ),
        pytest.param(
            {"columns": ["i"], "data": []}, "data", [], id="a table without lines"
        ),
        pytest.param({"a": [1, 0.5, True, None]}, "a", None, id="verdicts"),
    ],
)
def test_rows_are_found_at_a_path(folder, document, path, rows):
    if rows is None:
        rows = [{"value": value} for value in document["a"]]
    assert rows_in(folder, document, rows=path) == rows


@pytest.mark.parametrize(
    ("document", "path", "message", "hint"),
    [
        (
            {"results": []},
            "result",
            "r.json: rows: there is no 'result' here; did you mean 'results'? there is: results",
            None,
        ),
        (
            {"a": 5},
            "a.b",
            "r.json: rows: there is no 'b' in '5'",
            None,
        ),
        (
            {"a": [{"b": 1}]},
            "a.b",
            "r.json: rows: there is no 'b' in a list: write * for each value of it",
            None,
        ),
        (
            {"a": [{}, "x"]},
            "a",
            "r.json: rows: row 2 is 'x'; expected an object",
            "lists of ids are read by lists:, numbers behind ids by keyed:",
        ),
        (
            {"columns": ["i", "j"], "data": [["a", 1], ["b"]]},
            "data",
            "r.json: rows: row 2 has 1 cell, and the table 2 columns",
            None,
        ),
        (
            {"columns": ["i", "i"], "data": [["a", 1]]},
            "data",
            "r.json: rows: two columns of the table have one name",
            None,
        ),
    ],
)
def test_rows_that_are_not_there_are_refused(folder, document, path, message, hint):
    error = refused(folder, document, rows=path)
    assert error.message == message
    assert error.hint == hint
    assert error.key == ("rows",)


# -- keyed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        ({"a": {"x": 1}}, [{"x": 1, "id": "a"}]),
        ({"a": 1, "b": None}, [{"value": 1, "id": "a"}, {"value": None, "id": "b"}]),
        ({"a": [{"x": 1}, 2]}, [{"x": 1, "id": "a"}, {"value": 2, "id": "a"}]),
        ({"a": []}, [{"id": "a"}]),
        ({"1": {"id": 1, "x": 2}}, [{"id": 1, "x": 2}]),
    ],
)
def test_the_keys_of_an_object_become_a_field(folder, document, rows):
    assert rows_in(folder, document, keyed="id") == rows


def test_the_keys_of_several_objects_become_a_field(folder):
    document = {"ada": {"a": 1}, "bea": {"a": 0}}
    assert rows_in(folder, document, rows="*", keyed="id") == [
        {"_parent": {"_key": "ada"}, "value": 1, "id": "a"},
        {"_parent": {"_key": "bea"}, "value": 0, "id": "a"},
    ]


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (
            [{"x": 1}],
            "r.json: keyed: is for an object with ids as its keys; found a list",
            "leave keyed: out; rows: is enough for a list",
        ),
        (
            5,
            "r.json: keyed: is for an object with ids as its keys; found '5'",
            None,
        ),
        (
            {"a": {"id": "b"}},
            "r.json: keyed: what is under 'a' has a field 'id' of its own, 'b'",
            "choose another name for the keys",
        ),
    ],
)
def test_what_has_no_keys_is_refused(folder, value, message, hint):
    error = refused(folder, {"a": value}, rows="a", keyed="id")
    assert (error.message, error.hint) == (message, hint)


# -- lists -------------------------------------------------------------------------------------


def test_lists_of_ids_are_rows(folder):
    document = {
        "passed": ["a", 1],
        "failed": ["b"],
        "seen": ["c"],
        "n": 3,
        "none_ids": [],
    }
    lists = {"passed": 1.0, "failed": 0.0}
    assert rows_in(folder, document, lists=lists) == [
        {"id": "a", "reward": 1.0, "list": "passed"},
        {"id": 1, "reward": 1.0, "list": "passed"},
        {"id": "b", "reward": 0.0, "list": "failed"},
    ]


@pytest.mark.parametrize(
    ("document", "message", "hint"),
    [
        (
            {"passed": ["a"], "failed": ["a"]},
            "r.json: lists: failed: 'a' is in passed and in failed",
            None,
        ),
        (
            {"passed": ["a", "a"], "failed": []},
            "r.json: lists: passed: 'a' is in passed twice",
            None,
        ),
        (
            {"passed": ["a"], "failure": ["b"]},
            (
                "r.json: lists: failed: no list of ids is named 'failed'; did you mean 'failure'? "
                "there are: failure, passed"
            ),
            None,
        ),
        (
            {"passed": ["a"], "failed": [], "error_ids": ["x", "y"]},
            (
                "r.json: lists: error_ids has 2 ids of no list that is named, such as 'x'"
            ),
            "name their list, or say what they are worth: lists: {error_ids: null}",
        ),
        (
            {"passed": ["a"], "failed": [], "seen": ["a", "x"]},
            "r.json: lists: seen has 1 id of no list that is named, such as 'x'",
            "name their list, or say what they are worth: lists: {seen: null}",
        ),
        ([1], "r.json: lists: is for an object; found '[1]'", None),
    ],
)
def test_lists_of_ids_that_do_not_fit_are_refused(folder, document, message, hint):
    error = refused(folder, document, lists={"passed": 1.0, "failed": 0.0})
    assert (error.message, error.hint) == (message, hint)


# -- pivot and JSON as text --------------------------------------------------------------------

PIVOT = PivotSpec(by=("id",), name="metric", value="value")


def lines_of(*entries):
    return [{"id": id_, "metric": name, "value": value} for id_, name, value in entries]


def test_lines_of_a_group_are_put_together(folder):
    lines = lines_of(("a", "x", 1), ("a", "y", 2), ("b", "x", 3))
    assert rows_in(folder, lines, pivot=PIVOT) == [
        {"id": "a", "_line": lines[0], "x": 1, "y": 2},
        {"id": "b", "_line": lines[2], "x": 3},
    ]


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        (
            lines_of(("a", "x", 1), ("a", "x", 2)),
            (
                "r.json, row 2: pivot: 'x' was there before for the same id, at r.json, row 1"
            ),
            "add to by: what tells them apart, or leave one out with where:",
        ),
        (
            lines_of(("a", "id", 1)),
            "r.json, row 1: pivot: 'id' is also a field of by:",
            None,
        ),
        (
            lines_of((None, "x", 1)),
            "r.json, row 1: pivot: by: 'id' is null; expected text or a number",
            "name a field that each row has, or select rows with where:",
        ),
        (
            lines_of(([1], "x", 1)),
            "r.json, row 1: pivot: by: 'id' is '[1]'; expected text or a number",
            None,
        ),
        (
            [{"id": "a", "metrics": "x"}],
            (
                "r.json, row 1: pivot: name: no row has 'metric'; did you mean 'metrics'? a row "
                "has: id, metrics"
            ),
            None,
        ),
        (
            [{"id": "a", "metric": "x", "v": 1}],
            (
                "r.json, row 1: pivot: value: no row has 'value'; a row has: "
                "id, metric, v"
            ),
            None,
        ),
    ],
)
def test_lines_that_can_not_be_put_together_are_refused(folder, lines, message, hint):
    error = refused(folder, lines, pivot=PIVOT)
    assert error.message == message
    assert error.hint == hint


def test_json_as_text_is_parsed(folder):
    rows = [{"a": '{"x": 1}', "b": {"c": "[1]"}, "d.e": "2", "f": 5}]
    paths = ("a", "b.c", "d.e", "f", "g")
    assert rows_in(folder, rows, parse_json=paths) == [
        {"a": {"x": 1}, "b": {"c": [1]}, "d.e": 2, "f": 5}
    ]


def test_text_that_is_no_json_is_refused(folder):
    error = refused(folder, [{"a": "{x"}], parse_json=("a",))
    assert error.message == "r.json, row 1: parse_json: 'a' is not JSON: '{x'"
    assert error.key == ("parse_json",)


# -- where -------------------------------------------------------------------------------------


def filtered(folder, rows, task=(), **where):
    placed = found(folder, rows)
    spec = RolloutsSpec(path=("r.json",), where=where)
    (row_filter,) = row_filters(spec, task=task)
    kept = row_filter.kept(placed)
    return [row.value for row in kept], row_filter


ROWS = [{"id": n, "split": split} for n, split in enumerate(["dev", "test", "test", 1])]


def test_rows_of_other_values_are_left_out(folder):
    kept, row_filter = filtered(folder, ROWS, split=["test", 1.0])
    assert kept == ROWS[1:]
    assert row_filter.finish() == [
        FilteredRows(
            file="r.json",
            path="split",
            accepted=("1", "test"),
            rows=4,
            left_out=1,
            lost_tasks=0,
            lost_example="",
        )
    ]


def test_tasks_that_are_left_out_altogether_are_counted(folder):
    rows = [*ROWS, {"id": 0, "split": "test"}, {"id": 9, "split": "dev"}]
    _, row_filter = filtered(folder, rows, task=("id",), split=["test"])
    (note,) = row_filter.finish()
    assert (note.lost_tasks, note.lost_example) == (2, "'3'")


def test_a_filter_that_keeps_all_says_nothing(folder):
    assert filtered(folder, ROWS[1:3], split=["test"])[1].finish() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "split",
            "r.json: where: split: no row has train at 'split'; there is 'dev', 'test', '1'",
        ),
        (
            "part",
            "r.json: where: no row has 'part'; a row has: id, split",
        ),
    ],
)
def test_a_filter_that_keeps_nothing_is_refused(folder, path, message):
    _, row_filter = filtered(folder, ROWS, **{path: ["train"]})
    with pytest.raises(ShapeError) as caught:
        row_filter.finish()
    assert caught.value.message == message


def test_several_accepted_values_are_named(folder):
    _, row_filter = filtered(folder, ROWS, split=["train", "all"])
    with pytest.raises(ShapeError, match="no row has all or train at 'split'"):
        row_filter.finish()


def test_a_cut_list_of_failures_is_refused(folder):
    header = {"accuracy": 0.5, "correct_count": 1, "total_count": 3}
    with pytest.raises(ShapeError) as caught:
        filtered(folder, [header, {"valid": False}], valid=[False])
    assert caught.value.message == (
        "r.json, row 1: where: valid: this line counts 2 failures, and 1 are listed"
    )
    assert caught.value.hint == (
        "was the evaluation or the copy interrupted? evaluate again"
    )


# -- scores that are made of values ------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (1.0, "1"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        ([1], "[1]"),
        (3, "3"),
    ],
)
def test_a_value_as_a_key_of_map(value, text):
    assert value_text(value) == text


def derived(**keys):
    fields = keys.pop("fields", {})
    spec = RolloutsSpec(path=("r",), fields=FieldMap(**fields), **keys)
    (score,) = derived_scores(spec)
    return score


POINTS = {"pass": 1.0, "fail": 0.0, "skip": None, "1": 0.25}


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("pass", 1.0),
        ("skip", None),
        (1.0, 0.25),
        ("1.000", 0.25),
        (None, None),
        (["pass", "fail"], [1.0, 0.0]),
    ],
)
def test_a_value_is_worth_what_map_says(value, score):
    made = derived(map={"reward": POINTS}, fields={"reward": "v"})
    assert made.of({"v": value}, "at") == score


def test_null_is_worth_what_map_says():
    made = derived(map={"reward": {"null": 0.0}}, fields={"reward": "v"})
    assert made.of({"v": None}, "at") == 0


def test_a_value_that_map_lacks_is_refused():
    made = derived(map={"reward": POINTS}, fields={"reward": "v"})
    with pytest.raises(ShapeError) as caught:
        made.of({"v": "passed"}, "r:1")
    assert caught.value.message == (
        "r:1: map: reward: no number for 'passed'; did you mean 'pass'? it has: 1, fail, pass, "
        "skip"
    )
    assert caught.value.hint == (
        'add it, or null where it is none: map: {reward: {"passed": null}}'
    )
    assert caught.value.key == ("map", "reward")


def test_a_long_value_that_map_lacks_is_cut_short():
    made = derived(map={"reward": POINTS}, fields={"reward": "v"})
    with pytest.raises(ShapeError) as caught:
        made.of({"v": "x" * 80}, "r:1")
    assert caught.value.hint.endswith('map: {reward: {"' + "x" * 59 + ": null}}")


def test_a_number_beside_a_map_of_missing_values_is_refused():
    made = derived(map={"reward": {"-1": None, "N/A": None}}, fields={"reward": "v"})
    with pytest.raises(ShapeError) as caught:
        made.of({"v": 5}, "r:1")
    assert caught.value.hint == "numbers that mean not judged are missing: [-1, N/A]"


def test_missing_values_are_none():
    made = derived(missing={"reward": [-1, "N/A"]}, fields={"reward": "v"})
    values = [made.of({"v": value}, "at") for value in (-1.0, "N/A", 0, "x", [1, -1])]
    assert values == [None, None, 0, "x", [1, None]]


@pytest.mark.parametrize(
    ("joint", "row", "score"),
    [
        ({"all": ("a", "b")}, {"a": 1, "b": 0.5}, 0.5),
        ({"any": ("a", "b")}, {"a": 1, "b": 0.5}, 1),
        ({"all": ("a", "b")}, {"a": 1, "b": None}, None),
        ({"attempts": ("a", "b")}, {"a": 1, "b": None}, [1, None]),
    ],
)
def test_several_values_make_up_a_score(joint, row, score):
    made = derived(fields={"reward": JointField(**joint)})
    assert made.of(row, "at") == score


def test_a_text_among_several_values_is_refused():
    made = derived(fields={"reward": JointField(all=("a", "b"))})
    with pytest.raises(ShapeError) as caught:
        made.of({"a": 1, "b": "x"}, "r:1")
    assert caught.value.message == (
        "r:1: fields: reward: 'b' is 'x'; expected a number"
    )
    assert caught.value.hint == (
        "say what texts are worth: map: {reward: {TEXT: NUMBER}}"
    )


def test_what_a_score_is_made_of_is_part_of_what_measures():
    made = derived(
        fields={"scores": {"tone": JointField(any=("a", "b"))}},
        map={"tone": {"x": 1.0}},
        missing={"tone": [2, 1]},
    )
    assert (made.name, made.join) == ("tone", Join.LARGEST)
    assert made.ruler == [
        ("map tone", "values", '{"x": 1.0}'),
        ("map tone", "scores", "tone"),
        ("missing tone", "values", '["1", "2"]'),
        ("missing tone", "scores", "tone"),
        ("any of", "fields", '["a", "b"]'),
        ("any of", "scores", "tone"),
    ]


@pytest.mark.parametrize(
    ("joint", "label"),
    [
        ({"all": ("a", "b")}, "all of"),
        ({"any": ("a", "b")}, "any of"),
        ({"attempts": ("a", "b")}, "attempts"),
    ],
)
def test_how_values_are_joined_is_part_of_what_measures(joint, label):
    made = derived(fields={"reward": JointField(**joint)})
    assert made.ruler[0] == (label, "fields", '["a", "b"]')


def test_the_path_of_a_derived_score():
    assert derived(map={"tone": POINTS}).paths == ("tone",)
    assert derived(map={"tone": POINTS}, fields={"scores": {"tone": "t"}}).paths == (
        "t",
    )
    assert derived(map={"reward": POINTS}, fields={"reward": "r"}).paths == ("r",)


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keys", "whole"),
    [
        (b'{"a": 1, "b": {"c": 2, "d": {"e": 3}}}', {"a", "b", "b.c", "b.d"}, True),
        (b'{"a": [{"b": 1}, {"c": 2}]}', {"a", "a.b", "a.c"}, True),
        (b'[{"a": "x:y"}, {"b": 1}]', {"a"}, True),
        (b'{"a": "\\"b\\": {"}', {"a"}, True),
        (b'{"a": 1, "b": {"c', {"a", "b"}, False),
        (b'{"a": 1}{"b": 2}', {"a"}, True),
    ],
)
def test_the_keys_of_the_first_object(text, keys, whole):
    assert keys_of(text) == (frozenset(keys), whole)


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (FileNotFoundError(2, "x"), "there is no such file", None),
        (
            PermissionError(13, "x"),
            "no permission to read this file",
            "try: chmod u+r r.json",
        ),
        (
            EOFError("x"),
            "the compressed file ends too early",
            "was its copy or its download interrupted?",
        ),
        (
            OSError(5, "Input/output error"),
            "the file can't be read: Input/output error",
            None,
        ),
        (OSError("odd"), "the file can't be read: odd", None),
    ],
)
def test_an_error_of_the_system_is_explained(error, message, hint):
    with pytest.raises(DataError) as caught, explained("r.json"):
        raise error
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.file == "r.json"


def test_an_error_of_a_row_is_explained(folder):
    source = open_source(RolloutFile(folder.json([{}], "r.json"), "r.json"))
    error = not_utf8(source, 0xE9, 3)
    assert (error.message, error.where) == (
        "this is not UTF-8 text: found the byte 0xe9",
        "r.json:3",
    )
    assert error.hint == "save the file as UTF-8"
    error = row_too_long(source, 1000, 2)
    assert error.where == "r.json:2"
    assert error.message == (
        "a row of more than 1,000 bytes, which EVALMETRICS_MAX_ROW_BYTES allows"
    )
    assert error.hint == (
        "is this a file of rollouts? EVALMETRICS_MAX_ROW_BYTES=4000 in the environment raises the "
        "bound"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", 'text: "a"'),
        ([1], "a list: [1]"),
        ({"a": 1}, 'an object: {"a": 1}'),
        (True, "a boolean: true"),
        (1.5, "1.5"),
        ("x" * 80, 'text: "' + "x" * 59 + "…"),
    ],
)
def test_a_value_is_shown_with_its_kind(value, text):
    assert shown_json(value) == text


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "٣"])
def test_a_number_of_the_environment_is_a_whole_one(monkeypatch, text):
    monkeypatch.setenv("MY_NUMBER", text)
    with pytest.raises(DataError) as caught:
        whole_number_from_env("MY_NUMBER", 7, "the most")
    assert caught.value.message == (
        f"MY_NUMBER is {text!r} in the environment; expected a whole number from 1"
    )
    assert caught.value.hint == "the most: MY_NUMBER=7, or leave it out"


@pytest.mark.parametrize(("text", "number"), [("", 7), (" 5 ", 5), ("1", 1)])
def test_a_number_of_the_environment(monkeypatch, text, number):
    monkeypatch.setenv("MY_NUMBER", text)
    assert whole_number_from_env("MY_NUMBER", 7, "the most") == number


def test_a_file_that_is_not_there_is_not_large(tmp_path):
    files = [RolloutFile(tmp_path / "r", "r", url="u", size=1 << 40)]
    assert is_large(files)
    assert not is_large([*files, RolloutFile(tmp_path / "s", "s")])
    assert not is_large([])
