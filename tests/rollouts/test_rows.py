"""What a row says: NeMo Gym's reading, with nothing to configure."""

import gc
import json
import math

import numpy as np
import pytest
from rollouts.reference import plain


def row(task=0, sample=0, **more):
    return {"_ng_task_index": task, "_ng_rollout_index": sample, **more}


def column(table, name):
    return plain(table).scores[name]


def test_numbers_at_the_top_are_scores_and_booleans_are_0_and_1(folder):
    folder.rows([row(reward=0.5, hit=True, n=3, text="x", none=None, box={"a": 1}, more=[1])])
    table = folder.load()
    assert {k: v.tolist() for k, v in table.scores.items()} == {
        "reward": [0.5],
        "hit": [1.0],
        "n": [3.0],
    }


def test_usage_comes_last_and_wins_a_clash(folder):
    folder.rows(
        [
            row(
                response={"usage": {"total": 9, "details": {"cached": 5}, "_x": 1}},
                total=1,
                usage={"total": 4, "cost": 0.25},
                reward=1,
            ),
            row(1, total=2, reward=0),
        ]
    )
    table = folder.load()
    assert list(table.scores) == ["reward", "total", "cost"]
    assert column(table, "total") == [9, 2]
    assert column(table, "cost") == [0.25, None]


def test_scores_stand_in_the_order_of_their_first_number(folder):
    folder.rows(
        [row(late=None, b=1), row(1, c=1, late=2, a="text"), row(2, a=1, first=0)], "a.jsonl"
    )
    folder.rows([row(3, zz=1, b=1)], "b.jsonl")
    assert list(folder.load("*.jsonl").scores) == ["b", "c", "late", "a", "first", "zz"]


def test_keys_that_start_with_an_underscore_are_no_scores(folder):
    folder.rows([row(_ng_seed=3, _private=1.5, reward=1)])
    assert list(folder.load().scores) == ["reward"]


def test_agents_by_name_in_the_order_of_first_appearance(folder):
    folder.rows(
        [
            row(0, agent_ref={"name": "zeta", "type": "t"}, reward=1),
            row(0, agent_ref={"name": "alpha"}, reward=2),
            row(0, reward=3),
            row(1, agent_ref=None, reward=4),
            row(1, agent_ref={"name": "zeta"}, reward=5),
        ]
    )
    table = folder.load()
    assert table.agents == ("zeta", "alpha", "agent")
    assert table.agent.tolist() == [0, 0, 1, 2, 2]
    assert table.scores["reward"].tolist() == [1, 5, 2, 3, 4]


def test_whole_numbers_are_told_from_others(folder):
    folder.rows(
        [
            row(0, n=1, flag=True, x=1, mixed=1, gap=1, late=5),
            row(1, n=2**60, flag=False, x=2.0, mixed="n/a", late=7),
            row(2, n=-3, flag=True, x=3, mixed=3, gap=2, late=1),
        ]
    )
    assert folder.load().integers == {"n", "flag", "late"}


def test_a_number_among_text_is_not_lost(folder):
    rows = [row(i, answer="x" * (300 if i % 2 else 3)) for i in range(200)]
    rows[150]["answer"] = 42
    rows[199]["answer"] = True
    folder.rows(rows)
    table = folder.load()
    expected = [None] * 200
    expected[150], expected[199] = 42, 1
    assert column(table, "answer") == expected
    assert table.notes == (
        "answer: in some rows this is no number and counts as missing, first in runs.jsonl:1",
    )


def test_a_key_that_comes_late_is_not_lost(folder):
    rows = [row(i, reward=1) for i in range(5000)]
    rows[4321]["late"] = 0.5
    rows[4999]["response"] = {"usage": {"tokens": 7}}
    folder.rows(rows)
    table = folder.load()
    assert np.flatnonzero(~np.isnan(table.scores["late"])).tolist() == [4321]
    assert table.scores["late"][4321] == 0.5
    assert np.nansum(table.scores["tokens"]) == table.scores["tokens"][4999] == 7


def test_null_and_absent_are_missing_without_a_note(folder):
    folder.rows([row(0, reward=1), row(1, reward=None), row(2)])
    table = folder.load(scores=["reward"])
    assert column(table, "reward") == [1, None, None]
    assert table.notes == ()


def test_a_score_that_is_always_null_is_there_if_it_is_needed(folder):
    folder.rows([row(0, reward=None, other=None), row(1)])
    assert list(folder.load(scores=["reward"]).scores) == ["reward"]


def test_nan_and_infinity_are_missing_and_are_counted(folder):
    values = ["1", "NaN", "-Infinity", "1e999", "NaN", "9" * 400, "0.5"]
    text = "\n".join(
        f'{{"_ng_task_index": {i}, "reward": {v}, "n": {i}, "s": "NaN"}}'
        for i, v in enumerate(values)
    )
    folder.write(text)
    table = folder.load(scores=["reward"])
    assert column(table, "reward") == [1, None, None, None, None, None, 0.5]
    assert column(table, "n") == [0, 1, 2, 3, 4, 5, 6]
    assert table.notes == (
        "reward: 2 values are NaN and count as missing (runs.jsonl:2)",
        "reward: 3 values are infinite or too large and count as missing (runs.jsonl:3)",
    )


def test_one_nan_is_counted_as_one(folder):
    folder.write('{"_ng_task_index": 0, "response": {"usage": {"t": NaN}}, "reward": 1}\n')
    assert folder.load().notes == ("t: 1 value is NaN and counts as missing (runs.jsonl:1)",)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, -(2**70), 10**300, 1e-320, 5e-324, -0.0])
def test_a_number_is_read_as_python_reads_it(folder, number):
    folder.rows([row(0, reward=1), row(1, reward=number)])
    found = folder.load().scores["reward"][1]
    assert found == float(number)
    assert math.copysign(1, found) == math.copysign(1, number)


def test_rows_without_a_sample_index_are_numbered_per_task_over_all_files(folder):
    one, two = {"agent_ref": {"name": "one"}}, {"agent_ref": {"name": "two"}}
    folder.rows([{"_ng_task_index": t, "r": i, **one} for i, t in enumerate([1, 0, 1])], "a.jsonl")
    folder.rows([{"_ng_task_index": 1, "r": 9, **one}, row(1, 5, r=7, **two)], "b.jsonl")
    table = folder.load("*.jsonl")
    assert plain(table).rows == [
        ("one", 0, 0),
        ("one", 1, 0),
        ("one", 1, 1),
        ("one", 1, 2),
        ("two", 1, 5),
    ]
    assert table.scores["r"].tolist() == [1, 0, 2, 9, 7]


def test_task_ids_are_sorted_as_numbers_or_as_text(folder):
    folder.rows([row(10), row(9), row(-1)], "n.jsonl")
    folder.rows([row("b"), row("10"), row(7), row(7, 1)], "t.jsonl")
    assert folder.load("n.jsonl").tasks == (-1, 9, 10)
    assert folder.load("t.jsonl").tasks == ("10", "7", "b")


def test_categories_are_kept_as_text(folder):
    folder.rows(
        [
            row(0, level="hard", n=1, meta={"lang": "de"}),
            row(1, level="(missing)", n=1.0, meta={}),
            row(2, level=None, n=True, meta=None),
            row(3, n=False, meta={"lang": "de"}),
        ]
    )
    table = folder.load(categories=["level", "n", "meta.lang"])
    assert plain(table).labels == {
        "level": ["hard", "(missing)", "(missing)", "(missing)"],
        "n": ["1", "1.0", "true", "false"],
        "meta.lang": ["de", "(missing)", "(missing)", "de"],
    }
    assert table.categories["n"].codes.dtype == np.int32
    assert "n" in table.scores


def test_sources_say_what_was_read(folder):
    first = folder.rows([row(0), row(1)], "runs/a.jsonl")
    second = folder.write(json.dumps([row(2)]), "runs/deep/b.json")
    table = folder.load("runs/**/*.json*")
    assert [(s.path, s.rows, s.size) for s in table.sources] == [
        ("runs/a.jsonl", 2, first.stat().st_size),
        ("runs/deep/b.json", 1, second.stat().st_size),
    ]


def test_sorted_files_are_not_sorted_again(folder):
    folder.rows([row(t, s, reward=t * 3 + s) for t in range(50) for s in range(3)])
    table = folder.load()
    assert table.scores["reward"].tolist() == list(range(150))
    assert len(table.offsets) == 51
    folder.rows([row(t, s, reward=t * 3 + s) for s in (2, 0, 1) for t in range(49, -1, -1)], "b")
    assert folder.load("b").scores["reward"].tolist() == list(range(150))


def test_the_collector_runs_again_after_a_load(folder):
    folder.rows([row()])
    folder.load()
    folder.refused("nowhere.jsonl")
    assert gc.isenabled()
