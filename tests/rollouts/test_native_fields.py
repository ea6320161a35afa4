"""Ids of several fields, lists of verdicts, indented objects, and the unnamed index of pandas."""

import json
import math

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError


def read(folder, rollouts):
    file = folder.write(
        f"benchmark:\n  name: x\n  rollouts: {rollouts}\n", "x.bench.yaml"
    )
    (benchmark,) = load_benchmarks(file, shown="x.bench.yaml")
    table = folder.load(spec=benchmark.spec.rows, scores=["reward"])
    rewards = {}
    for task, value in zip(
        table.task.tolist(), table.scores["reward"].tolist(), strict=True
    ):
        rewards.setdefault(table.tasks[task], []).append(
            None if math.isnan(value) else value
        )
    return rewards


JOINT = "{path: '*.jsonl', fields: {task: [subset, n], reward: ok}}"


def test_an_id_of_two_fields(folder):
    folder.rows([{"subset": s, "n": n, "ok": n} for s in "ab" for n in (0, 1)])
    assert read(folder, JOINT) == {"a/0": [0], "a/1": [1], "b/0": [0], "b/1": [1]}


def test_no_two_ids_of_two_fields_are_alike(folder):
    folder.rows(
        [
            {"subset": "a/b", "n": "c", "ok": 0},
            {"subset": "a", "n": "b/c", "ok": 1},
            {"subset": "a", "n": None, "ok": 0},
            {"subset": "a", "n": "null", "ok": 1},
        ]
    )
    assert read(folder, JOINT) == {
        r"a\/b/c": [0],
        r"a/b\/c": [1],
        "a/null": [0],
        r"a/\null": [1],
    }


def test_a_part_of_an_id_that_is_not_there_is_refused(folder):
    folder.rows([{"subset": "a", "m": 1, "ok": 0}])
    with pytest.raises(DataError, match="no task id: 'n' is not there"):
        read(folder, JOINT)


def test_a_list_of_verdicts_is_the_attempts_of_its_task(folder):
    rows = [{"id": "a", "v": [True, False]}, {"id": "b", "v": [1, None]}]
    folder.rows(rows)
    rollouts = "{path: runs.jsonl, fields: {task: id, reward: v}}"
    assert read(folder, rollouts) == {"a": [1, 0], "b": [1, None]}


def test_an_empty_list_of_verdicts_is_a_missing_attempt(folder):
    folder.rows([{"id": "a", "v": [True]}, {"id": "b", "v": []}])
    rollouts = "{path: runs.jsonl, fields: {task: id, reward: v}}"
    assert read(folder, rollouts) == {"a": [1], "b": [None]}


def test_a_list_of_verdicts_beside_a_sample_index_is_refused(folder):
    folder.rows([{"id": "a", "v": [True], "k": 3}])
    with pytest.raises(DataError, match="the row has a sample index"):
        read(folder, "{path: runs.jsonl, fields: {task: id, sample: k, reward: v}}")


def test_rows_that_are_verdicts(folder):
    folder.json([{"id": "a", "v": [True, False]}, {"id": "b", "v": [False]}], "r.json")
    for rows in ("*.v", "*.v.*"):
        rollouts = f"{{path: r.json, rows: '{rows}', fields: {{task: _parent.id, reward: value}}}}"
        assert read(folder, rollouts) == {"a": [1, 0], "b": [0]}


def test_values_that_mean_not_judged(folder):
    folder.rows([{"id": "a", "s": -1}, {"id": "b", "s": 8}, {"id": "c", "s": "N/A"}])
    rollouts = "{path: runs.jsonl, fields: {task: id, reward: s}, missing: [-1, N/A]}"
    assert read(folder, rollouts) == {"a": [None], "b": [8], "c": [None]}


@pytest.mark.parametrize(("how", "rewards"), [("all", [1, 0, 0]), ("any", [1, 1, 0])])
def test_a_reward_of_two_fields(folder, how, rewards):
    pairs = [("pass", "pass"), ("pass", "fail"), ("fail", "fail")]
    folder.rows([{"id": n, "a": a, "b": b} for n, (a, b) in enumerate(pairs)])
    rollouts = (
        f"{{path: runs.jsonl, fields: {{task: id, reward: {{{how}: [a, b]}}}}, "
        "map: {reward: {pass: 1, fail: 0}}}"
    )
    assert read(folder, rollouts) == {n: [value] for n, value in enumerate(rewards)}


def test_one_indented_object_a_file(folder):
    for n in (0, 1):
        text = json.dumps({"id": f"q{n}", "ok": bool(n), "steps": [{"a": 1}]}, indent=2)
        folder.write(text, f"runs/{n}.json")
    rollouts = "{path: runs/*.json, fields: {task: id, reward: ok}}"
    assert read(folder, rollouts) == {"q0": [0], "q1": [1]}


def test_a_filter_may_leave_out_whole_files(folder):
    for n in (0, 1):
        folder.write(json.dumps({"id": n, "ok": n, "k": n}, indent=2), f"{n}.json")
    rollouts = "{path: '*.json', where: {k: 1}, fields: {task: id, reward: ok}}"
    assert read(folder, rollouts) == {1: [1]}


def test_an_indented_object_that_is_cut_off(folder):
    folder.write('{\n  "id": 1,\n  "ok": 1\n}\n{\n  "id": 2,\n', "r.json")
    refused = folder.refused("r.json", fields={"task": "id"})
    assert (refused.where, "ends in the middle" in refused.message) == (
        "r.json:5",
        True,
    )


def test_a_mistake_in_an_indented_object_has_its_line(folder):
    folder.write('{\n  "id": 1,\n  "ok": 1x\n}\n', "r.json")
    assert folder.refused("r.json", fields={"task": "id"}).where == "r.json:3"


def test_the_unnamed_index_of_pandas_is_no_score(folder):
    folder.write(",id,score\n0,a,1\n1,b,0\n", "r.csv")
    table = folder.load("r.csv", fields={"task": "id", "reward": "score"})
    assert list(table.scores) == ["reward"]


def test_the_unnamed_index_of_pandas_may_be_the_task(folder):
    folder.write(",score\na,1\nb,0\n", "r.csv")
    table = folder.load("r.csv", fields={"task": "_index", "reward": "score"})
    assert table.tasks == ("a", "b")


PAGE = {"data": [{"id": "a", "v": 1}]}
ROWS = "{path: '*.json', rows: data, fields: {task: id, reward: v}}"


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ({"has_more": True}, "has_more says that another page follows"),
        ({"next_cursor": "x"}, "next_cursor says that another page follows"),
        ({"meta": {"page": 1, "totalPages": 2}}, "this is page 1 of 2"),
        ({"meta": {"cursor": "x"}}, "meta.cursor says that another page follows"),
        ({"cursor": "x"}, "cursor says that another page follows"),
    ],
)
def test_a_page_of_several_is_refused(folder, says, words):
    folder.json({**PAGE, **says}, "1.json")
    with pytest.raises(DataError, match=words):
        read(folder, ROWS)


def test_the_last_page_has_no_cursor(folder):
    folder.json({**PAGE, "cursor": "x"}, "1.json")
    folder.json({"data": [{"id": "b", "v": 0}]}, "2.json")
    assert read(folder, ROWS) == {"a": [1], "b": [0]}


def test_all_pages_are_read(folder):
    folder.json({**PAGE, "has_more": True}, "1.json")
    folder.json({"data": [{"id": "b", "v": 0}], "has_more": False}, "2.json")
    assert read(folder, ROWS) == {"a": [1], "b": [0]}
