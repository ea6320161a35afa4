"""What a row says: NeMo Gym's reading, with nothing to configure."""

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


def test_halves_of_surrogate_pairs_are_spelled_out(folder):
    folder.write(r'{"_ng_task_index": "\ud800", "agent_ref": {"name": "a\udc00"}, "b\ud800": 2}')
    table = folder.load(categories=["agent_ref.name"])
    assert (table.tasks, table.agents) == ((r"\ud800",), (r"a\udc00",))
    assert table.categories["agent_ref.name"].labels == (r"a\udc00",)
    assert column(table, r"b\ud800") == [2]
