"""What a row says: NeMo Gym's reading, with nothing to configure."""

import numpy as np
from rollouts.reference import plain


def row(task=0, sample=0, **more):
    return {"_ng_task_index": task, "_ng_rollout_index": sample, **more}


def column(table, name):
    return plain(table).scores[name]


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
