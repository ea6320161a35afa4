"""Where the rows of an unknown file may be."""

import pytest

from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.layouts import (
    Layout,
    ListKind,
    is_table_by_columns,
    layouts,
)


def found(document):
    """Find the layouts of a document, without that of a row by itself."""
    first, *others = layouts(document, is_row=False)
    assert first == Layout(reason="", level=0)
    return others


# -- one list, or one object of rows -----------------------------------------------------------


def test_a_list_of_objects_may_be_the_rows():
    assert found({"model": "m", "results": [{"id": 1}, {"id": 2}]}) == [
        Layout(
            reason="rows: the 2 objects of the list 'results'", level=1, rows="results"
        )
    ]


def test_a_list_in_an_object_is_named_by_its_path():
    assert found({"run": {"results": [{"id": 1}]}}) == [
        Layout(
            reason="rows: the 1 object of the list 'run.results'",
            level=2,
            rows="run.results",
        )
    ]


def test_each_of_several_lists_may_be_the_rows():
    document = {"results": [{"id": 1}], "run": {"results": [{"id": 2}]}}
    assert [layout.rows for layout in found(document)] == ["results", "run.results"]


def test_the_lines_of_a_table_may_be_the_rows():
    assert found({"columns": ["id", "score"], "data": [["a", 1], ["b", 0]]}) == [
        Layout(reason="rows: the 2 lines of the table 'data'", level=1, rows="data")
    ]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"results": []}, id="an empty list"),
        pytest.param({"results": [{"id": 1}, 2]}, id="a list of other values"),
        pytest.param({"columns": ["id"], "data": []}, id="a table without lines"),
        pytest.param({"columns": "id", "data": [["a"]]}, id="no columns"),
        pytest.param({"a.b": [{"id": 1}]}, id="a name with a dot"),
        pytest.param({"results": {"id": 1}}, id="one object"),
        pytest.param("results", id="a text"),
    ],
)
def test_what_holds_no_rows(document):
    assert found(document) == []


def deep(levels, value):
    for level in reversed(range(levels)):
        value = {f"k{level}": value}
    return value


def test_lists_are_looked_for_four_levels_deep():
    assert [layout.rows for layout in found(deep(4, [{"id": 1}]))] == ["k0.k1.k2.k3"]
    assert found(deep(5, [{"id": 1}])) == []


# -- objects by their ids ----------------------------------------------------------------------


def test_objects_by_their_ids_may_be_the_rows():
    assert found({"q0": {"ok": True}, "q1": {"ok": False}}) == [
        Layout(
            reason="rows: the 2 objects at the top, by their keys", level=1, keyed="id"
        )
    ]


def test_objects_by_their_ids_are_named_by_their_path():
    assert found({"model": "m", "by_id": {"a": {"ok": 1}, "b": {"ok": 0}}}) == [
        Layout(
            reason="rows: the 2 objects in 'by_id', by their keys",
            level=2,
            rows="by_id",
            keyed="id",
        )
    ]


def test_numbers_by_their_ids_may_be_the_rows():
    (layout,) = found({f"q{n}": n / 8 for n in range(5)})
    assert layout.reason == "rows: the 5 numbers at the top, by their keys"


@pytest.mark.parametrize(
    ("fields", "keyed"),
    [
        ("ok", "id"),
        ("id", "task"),
        ("id task", "key"),
        ("id task key", "_key"),
    ],
)
def test_the_keys_get_a_name_that_no_row_has(fields, keyed):
    row = dict.fromkeys(fields.split(), 1)
    assert [layout.keyed for layout in found({"q0": row, "q1": row})] == [keyed]


def test_the_keys_of_lists_get_a_name_that_no_row_has():
    document = {f"q{n}": [{"id": n}] for n in range(30)}
    assert [layout.keyed for layout in found(document)] == ["task"]


def test_numbered_objects_with_ids_of_their_own_are_rows():
    document = {str(n): {"task_id": f"q{n}", "ok": True} for n in range(3)}
    assert found(document) == [
        Layout(
            reason="rows: the 3 objects at the top, whose keys count them",
            level=1,
            rows="*",
        )
    ]


def test_a_plain_id_is_enough_of_an_id():
    (layout,) = found({"0": {"id": "a"}, "1": {"id": "b"}})
    assert (layout.rows, layout.keyed) == ("*", None)


def test_numbered_objects_are_named_by_their_path():
    rows = {str(n): {"task_id": f"q{n}", "ok": True} for n in range(3)}
    (layout,) = found({"run": "r", "rows": rows})
    assert layout.reason == "rows: the 3 objects in 'rows', whose keys count them"
    assert (layout.rows, layout.level) == ("rows.*", 2)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"1": {"id": "a"}, "2": {"id": "b"}}, id="numbers from one"),
        pytest.param({"0": {"ok": 1}, "1": {"ok": 0}}, id="without ids"),
        pytest.param(
            {"0": {"id": "a", "ok": 1}, "1": {"ok": 0}}, id="an id that some rows lack"
        ),
        pytest.param({"0": {"name": "a"}, "1": {"name": "b"}}, id="titles"),
    ],
)
def test_other_numbered_objects_are_rows_by_their_keys(document):
    (layout,) = found(document)
    assert layout.keyed is not None
    assert layout.rows is None


def test_numbered_values_that_are_no_objects_all_are_rows_by_their_keys():
    document = {str(n): {"id": f"q{n}"} for n in range(9)}
    (layout,) = found({**document, "9": None})
    assert layout.keyed == "task"


# -- groups ------------------------------------------------------------------------------------


def rows(ids):
    return [{"id": id_, "ok": True} for id_ in ids]


def test_lists_of_the_same_tasks_are_those_of_runs():
    assert found({"ada": rows("xy"), "bea": rows("xy")}) == [
        Layout(
            reason="rows: those of the runs ada, bea",
            level=1,
            rows="*",
            kind=GroupKind.RUNS,
        )
    ]


def test_lists_in_an_object_are_named_by_its_path():
    (layout,) = found({"date": 1, "scores": {"ada": rows("xy"), "bea": rows("xy")}})
    assert (layout.rows, layout.level) == ("scores.*", 2)


def test_lists_of_other_tasks_are_those_of_subsets():
    (layout,) = found({"sums": rows("xy"), "roots": rows("vw")})
    assert layout.reason == "rows: those of the subsets sums, roots"


def test_lists_of_the_same_tasks_by_subject_are_those_of_subsets():
    (layout,) = found({"by_subject": {"sums": rows("xy"), "roots": rows("xy")}})
    assert layout.kind is GroupKind.SUBSETS


def test_objects_of_attempts_by_their_names_are_those_of_tasks():
    attempts = {"run_1": {"ok": True}, "run_2": {"ok": False}}
    assert found({"q0": attempts, "q1": attempts}) == [
        Layout(
            reason="rows: those of the tasks q0, q1",
            level=1,
            rows="*",
            keyed="id",
            kind=GroupKind.TASKS,
        )
    ]


def test_objects_with_the_same_few_keys_are_groups():
    few = {"a": {"ok": True}, "b": {"ok": False}}
    (layout,) = found({"x": few, "y": few, "z": few})
    assert layout.reason == "rows: those of the groups x, y, z"
    assert layout.kind is GroupKind.UNKNOWN


def test_six_groups_are_named():
    (layout,) = found({f"run {n}": rows("vwxyzabc") for n in range(8)})
    assert layout.reason == (
        "rows: those of the runs run 0, run 1, run 2, run 3, run 4, run 5 and 2 more"
    )


def test_a_field_of_several_runs_holds_the_rows_of_each():
    document = {
        "ada": {"mean": 0.5, "results": rows("xy")},
        "bea": {"mean": 0.25, "results": rows("xy")},
    }
    assert found(document) == [
        Layout(
            reason="rows: those of the runs ada, bea",
            level=2,
            rows="*.results",
            kind=GroupKind.RUNS,
        )
    ]


def test_a_field_of_several_runs_may_hold_rows_by_their_ids():
    results = {"x": {"ok": 1}, "y": {"ok": 0}}
    (layout,) = found({"ada": {"results": results}, "bea": {"results": results}})
    assert (layout.rows, layout.keyed) == ("*.results", "id")


def test_a_field_of_several_runs_with_a_dot_in_its_name_is_left_out():
    run = {"all.results": rows("xy"), "seed": 1}
    assert {layout.kind for layout in found({"ada": run, "bea": run})} == {
        GroupKind.NONE
    }


# -- lists inside of rows ----------------------------------------------------------------------


def inner(rows_):
    return [layout for layout in found({"rows": rows_}) if layout.is_inner]


def test_the_objects_of_lists_in_rows_may_be_the_rows():
    assert inner([{"id": n, "tries": [{"ok": True}]} for n in range(3)]) == [
        Layout(
            reason="rows: the objects of the lists at 'rows.*.tries'",
            level=2,
            rows="rows.*.tries",
            inner_list="tries",
            outer=("rows", None),
        )
    ]


@pytest.mark.parametrize(("lacking", "count"), [(1, 1), (2, 0)])
def test_four_of_five_rows_have_such_a_list(lacking, count):
    of_rows = [{"id": n, "tries": [{"ok": True}] * (n >= lacking)} for n in range(5)]
    assert len(inner(of_rows)) == count


def test_lists_in_an_object_of_a_row_are_named_by_their_path():
    (layout,) = inner([{"run": {"tries": [{"ok": True}]}}] * 2)
    assert layout.inner_list == "run.tries"
    assert layout.rows == "rows.*.run.tries"


def test_lists_deeper_in_rows_are_left_out():
    assert inner([{"a": {"b": {"tries": [{"ok": True}]}}}] * 2) == []


def test_lists_in_rows_after_a_name_with_a_dot_are_found():
    (layout,) = inner([{"a.b": [{"ok": True}], "tries": [{"ok": True}]}] * 2)
    assert layout.inner_list == "tries"


def test_the_first_thousand_rows_are_examined():
    of_rows = [{"tries": [{"ok": True}]}] * 800
    assert len(inner([*of_rows, *[{"id": 1}] * 300])) == 1


def test_lists_in_rows_by_their_ids():
    row = {"ok": True, "tries": [{"ok": True}]}
    layout = found({"q0": row, "q1": row})[-1]
    assert layout == Layout(
        reason="rows: the objects of the lists at '*.tries'",
        level=2,
        rows="*.tries",
        inner_list="tries",
        outer=(None, "id"),
    )


def test_lists_in_the_lines_of_a_file():
    lines = [{"id": n, "tries": [{"ok": True}]} for n in range(3)]
    layout = list(layouts(lines, is_row=True))[-1]
    assert (layout.rows, layout.level, layout.outer) == ("tries", 1, (None, None))


def test_lists_in_the_objects_of_a_list():
    lines = [{"id": n, "tries": [{"ok": True}]} for n in range(3)]
    assert found(lines)[-1].rows == "*.tries"


# -- what rows are -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows_path", "inner_list", "kind"),
    [
        ("suites", "tests", ListKind.SUBSETS),
        ("all.suites", "tests", ListKind.SUBSETS),
        ("runs", "tests", ListKind.RUNS),
        ("results", "tests", ListKind.UNKNOWN),
        (None, "tests", ListKind.UNKNOWN),
        ("runs", "messages", ListKind.NONE),
        ("runs", "", ListKind.NONE),
    ],
)
def test_what_lists_of_tasks_are(rows_path, inner_list, kind):
    layout = Layout(reason="", level=1, inner_list=inner_list, outer=(rows_path, None))
    assert layout.of_lists is kind


@pytest.mark.parametrize(
    ("keyed", "kind", "needs"),
    [
        (None, GroupKind.NONE, True),
        (None, GroupKind.RUNS, True),
        ("id", GroupKind.NONE, False),
        ("id", GroupKind.RUNS, False),
        ("id", GroupKind.SUBSETS, True),
        ("id", GroupKind.TASKS, True),
        ("id", GroupKind.UNKNOWN, True),
    ],
)
def test_the_keys_of_rows_are_their_task_but_in_groups_of_tasks(keyed, kind, needs):
    assert Layout(reason="", level=1, keyed=keyed, kind=kind).needs_task is needs


@pytest.mark.parametrize(
    ("fields", "is_list"),
    [
        ({"rows": "results"}, True),
        ({}, False),
        ({"rows": "results", "keyed": "id"}, False),
        ({"rows": "*", "kind": GroupKind.RUNS}, False),
        ({"rows": "results.*.tries", "inner_list": "tries"}, False),
    ],
)
def test_a_list_in_an_object_that_is_no_row(fields, is_list):
    assert Layout(reason="", level=1, **fields).is_list is is_list


# -- a table by its columns --------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"id": {"0": "a"}, "ok": 1}, id="a value that is no column"),
        pytest.param({"id": {"1": "a"}, "ok": {"1": 1}}, id="numbers from one"),
        pytest.param(
            {"q0": {"0": {"ok": 1}}, "q1": {"0": {"ok": 0}}}, id="numbered objects"
        ),
    ],
)
def test_what_is_no_table_by_columns(document):
    assert not is_table_by_columns(document)


def test_a_cell_of_a_table_by_columns_may_be_an_object():
    columns = {"id": {"0": "a"}, "note": {"0": {"by": "me"}}}
    assert is_table_by_columns(columns)


# -- lists of ids ------------------------------------------------------------------------------


def lists_of(document):
    return [layout for layout in found(document) if layout.lists is not None]


def test_lists_of_ids_are_worth_what_their_names_say():
    assert lists_of({"resolved_ids": ["a"], "unresolved_ids": ["b"]}) == [
        Layout(
            reason="lists of ids: resolved_ids, unresolved_ids, by their names",
            level=1,
            lists={"resolved_ids": 1, "unresolved_ids": 0},
        )
    ]


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("error_ids", None),
        ("timed_out", None),
        ("empty_patch_ids", 0),
        ("EMPTY", 0),
        ("NOT_RUN", None),
    ],
)
def test_lists_beside_passes_and_failures(name, points):
    document = {"passed": ["a"], "failed": ["b"], name: ["c"]}
    (layout,) = lists_of(document)
    assert layout.lists == {"passed": 1, "failed": 0, name: points}


def test_lists_of_other_names_and_other_values_are_left_out():
    document = {"error": "none", "passed": ["a"], "failed": [1], "seen": ["c"]}
    (layout,) = lists_of(document)
    assert layout.lists == {"passed": 1, "failed": 0}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"passed": ["a"], "error_ids": ["b"]}, id="no failures"),
        pytest.param({"failed": ["a"], "error_ids": ["b"]}, id="no passes"),
        pytest.param({"passed": [True], "failed": [0.5]}, id="no ids"),
    ],
)
def test_lists_that_do_not_hold_passes_and_failures(document):
    assert lists_of(document) == []
