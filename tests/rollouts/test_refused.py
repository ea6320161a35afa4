"""What is refused, and what the message says: file, line, what was found, the way out."""

import json
from itertools import product

import pytest
from rollouts.small import BLOCKS

ROW = '{"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0}\n'
NEXT = ROW.replace('rollout_index": 0', 'rollout_index": 1')
INTERRUPTED = "the file ends in the middle of a row: was the run interrupted?"
DEEP = "[" * 1_000_000 + "]" * 1_000_000  # deeper than any version of Python reads


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (ROW + '{"_ng_task_index": 1, "rew', 2, INTERRUPTED),
        (ROW + '{"_ng_task_index": 1, "box": {"a": 1}', 2, INTERRUPTED),
        (ROW + '{"_ng_task_index": 1, "rew\n\n', 2, INTERRUPTED),
        (ROW + "{\n", 2, INTERRUPTED),
        (
            ROW + '{"_ng_task_index": 1, "r\n' + NEXT,
            2,
            "Unterminated string starting at column 23",
        ),
        (ROW + "\nhello\n", 3, "Expecting value at column 1, near 'hello'"),
        (ROW.strip() + NEXT, 1, "two JSON values stand on one line"),
        (ROW + '{"a": 01}\n' + NEXT, 2, "Expecting ',' delimiter at column 8"),
        (ROW + '{"a": "b\tc"}\n' + NEXT, 2, "Invalid control character at column 9"),
        (ROW + "[1, 2]\n", 2, "this row is not a JSON object: found '[1, 2]'"),
        (ROW + "null\n" + NEXT, 2, "this row is not a JSON object: found 'null'"),
        ("reward = 1\n", 1, "near 'reward = 1'"),
        (ROW + '{"x": ' + DEEP + "}", 2, "nested too deeply"),
        (ROW.encode() + b'{"x": "caf\xe9"}', 2, "not UTF-8 text: found the byte 0xe9"),
    ],
)
def test_a_broken_line(folder, content, line, message):
    content = content if isinstance(content, bytes) else content.encode()
    for before, form in product((0, 50), (None, BLOCKS)):
        rows = "".join(
            ROW.replace("0,", f"{-1 - i},", 1) for i in range(before)
        ).encode()
        folder.write(rows + content)
        error = folder.refused(scores=["reward"], format=form)
        assert error.where == f"runs.jsonl:{before + line}"
        assert message in error.message


@pytest.mark.parametrize(
    ("row", "message", "hint"),
    [
        ({"_ng_task_index": None}, "'_ng_task_index' is null", "{task: KEY}"),
        (
            {"_ng_task_index": 1.0},
            "the task id is 1.0; expected a whole number",
            "{task: KEY}",
        ),
        ({"_ng_task_index": True}, "the task id is a boolean: true", "{task: KEY}"),
        ({"_ng_task_index": [1]}, "the task id is a list: [1]", "{task: KEY}"),
        ({"_ng_rollout_index": -1}, "the sample index is -1", "{sample: KEY}"),
        (
            {"_ng_rollout_index": 2**63},
            "the sample index is 9223372036854775808",
            "{sample: KEY}",
        ),
        ({"_ng_rollout_index": 1.0}, "the sample index is 1.0", "{sample: KEY}"),
        (
            {"_ng_rollout_index": False},
            "the sample index is a boolean: false",
            "{sample: KEY}",
        ),
        ({"_ng_rollout_index": "1"}, 'the sample index is text: "1"', "{sample: KEY}"),
        (
            {"agent_ref": {"name": 3}},
            "the agent's name is 3; expected text",
            "{agent: KEY}",
        ),
        (
            {"reward": "0"},
            "the score 'reward' is text: \"0\"; expected a number",
            "reward: NAME",
        ),
        ({"reward": [1, 2]}, "the score 'reward' is a list: [1, 2]", "{reward: PATH}"),
        (
            {"reward": {"a": 1}},
            "the score 'reward' is an object: {\"a\": 1}",
            "{reward: PATH}",
        ),
        ({"level": ["a"]}, "'level' is a list: [\"a\"]", "level.KEY"),
    ],
)
def test_a_row_that_does_not_fit(folder, row, message, hint):
    base = {"_ng_task_index": -1, "_ng_rollout_index": 0, "level": "x"}
    good = [{**base, "_ng_task_index": i, "reward": 1} for i in range(500)]
    for before, form in product((0, 1, 500), (None, BLOCKS)):
        folder.rows([*good[:before], {**base, **row}])
        error = folder.refused(scores=["reward"], categories=["level"], format=form)
        assert error.where == f"runs.jsonl:{before + 1}"
        assert message in error.message
        assert hint in str(error.hint)


def test_a_row_of_nemo_gym_without_its_index(folder):
    folder.write(ROW + '{"task_id": 1}\n')
    error = folder.refused(scores=["reward"])
    assert error.where == "runs.jsonl:2"
    assert "this row has no task id: '_ng_task_index' is not there" in error.message
    assert "{task: KEY}" in str(error.hint)


def test_the_example_of_a_row_is_nemo_gyms_only_in_its_files(folder):
    folder.write('{"task": "a", "reward": 1}\n[1]\n')
    assert "_ng_task_index" not in str(folder.refused(fields={"task": "task"}))
    folder.write(ROW + "[1]\n")
    assert "_ng_task_index" in str(folder.refused())


def test_rows_of_others_get_keys_that_are_filled_in(folder):
    folder.rows([{"task": f"q{n}", "sample": 0, "reward": n % 2} for n in range(4)])
    error = folder.refused(scores=["reward"])
    assert error.message == (
        "the rows name no task; the file holds {task, sample, reward}; "
        "tried as rows: its own rows"
    )
    assert error.hint == "write under rollouts: fields: {task: task, reward: reward}"


def test_a_document_without_rows_of_its_own_shows_its_first_levels(folder):
    answers = {f"q{n}": {"score": n / 4, "text": "x"} for n in range(9)}
    folder.json({"meta": {"model": "m"}, "by_question": answers}, "r.json")
    error = folder.refused("r.json", scores=["reward"])
    assert (
        "the file holds {meta: {model}, by_question: {q0: {score, text}"
        in error.message
    )
    assert error.hint == (
        "write under rollouts: rows: by_question, keyed: id, fields: {reward: score}"
    )


def test_words_and_what_is_not_clear_are_said(folder):
    rows = [{"id": f"q{n}", "verdict": "hyvä" if n % 2 else "huono"} for n in range(8)]
    folder.rows(rows)
    error = folder.refused(scores=["reward"])
    assert "map: {reward: {huono: ?, hyvä: ?}}" in str(error.hint)
    assert "_ng_task_index" not in str(error)


def test_words_of_a_named_reward_get_a_map(folder):
    folder.rows([{"id": n, "verdict": "ja" if n % 2 else "nein"} for n in range(4)])
    fields = {"task": "id", "reward": "verdict"}
    error = folder.refused(fields=fields, scores=["reward"])
    assert error.message.startswith("the score 'reward' is text: \"nein\"")
    assert error.hint == (
        "say what its words are worth, under rollouts: map: {reward: {ja: 1, nein: 0}}"
    )


def test_words_of_a_score_get_its_map(folder):
    tones = ("kind", "rude")
    folder.rows([{"id": n, "reward": 1, "tone": tones[n % 2]} for n in range(4)])
    error = folder.refused(fields={"task": "id"}, scores=["tone"])
    assert error.hint == (
        "say what its words are worth, under rollouts: map: {tone: {kind: ?, rude: ?}}"
    )


def test_words_of_the_default_reward_get_a_map(folder):
    words = ("no", "yes")
    folder.rows([{"id": n, "reward": words[n % 2]} for n in range(4)])
    error = folder.refused(fields={"task": "id"}, scores=["reward"])
    assert error.hint == (
        "say what its words are worth, under rollouts: map: {reward: {'no': 0, 'yes': 1}}"
    )


def test_answers_in_place_of_a_score_get_no_map(folder):
    folder.rows([{"id": n, "answer": f"it is {n}"} for n in range(20)])
    fields = {"task": "id", "reward": "answer"}
    error = folder.refused(fields=fields, scores=["reward"])
    assert str(error.hint).startswith("write it as a number")


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("${RUNS}/r.jsonl", "${RUNS}"),
        ("$RUNS/r.jsonl", "$RUNS"),
        ("r{1,2}.jsonl", "{1,2}"),
        ("runs/{{ model }}.jsonl", "{{ model }}"),
        ("%RUNS%/r.jsonl", "%RUNS%"),
    ],
)
def test_what_a_shell_would_fill_into_a_path_is_said_not_to_be(folder, path, part):
    error = folder.refused(path, scores=["reward"])
    assert error.message == f"there is no file {path!r}"
    assert str(error.hint).startswith(f"{part} is not filled in: ")


def test_a_named_task_of_rows_that_are_elsewhere(folder):
    rows = [{"id": f"q{n}", "score": n / 4} for n in range(4)]
    folder.json({"model": "m", "results": rows}, "r.json")
    error = folder.refused("r.json", fields={"task": "id"}, scores=["reward"])
    assert error.hint == (
        "write under rollouts: rows: results, fields: {task: id, reward: score}"
    )


def test_a_score_or_a_category_that_is_in_no_row(folder):
    folder.rows(
        [{"_ng_task_index": 0, "rewards": 1, "acc": 0.5, "text": "x", "level": None}]
    )
    error = folder.refused(scores=["reward"])
    start = "the score 'reward' is in no row; did you mean 'rewards'? the scores there are: acc, re"
    assert error.message.startswith(start)
    assert "`reward: NAME`" in str(error.hint)
    assert "`fields: {reward: PATH}`" in str(error.hint)
    assert folder.load(categories=["level"]).categories["level"].labels == (
        "(missing)",
    )
    assert "did you mean 'level'?" in folder.refused(categories=["lvel"]).message


def test_a_long_value_is_shown_shortly(folder):
    folder.rows([{"_ng_task_index": 0, "reward": list(range(1000))}])
    error = folder.refused(scores=["reward"])
    assert len(error.message) < 150
    assert "[0, 1, 2" in error.message
    assert "…" in error.message


def test_a_list_of_tokens_does_not_hide_their_number(folder):
    row = {"_ng_task_index": 0, "tokens": [1, 2], "response": {"usage": {"tokens": 2}}}
    folder.rows([row, {**row, "_ng_task_index": 1}])
    assert folder.load(scores=["tokens"]).scores["tokens"].tolist() == [2, 2]
    rows = [{**row, "_ng_task_index": i} for i in range(99)]
    folder.rows([*rows, {"_ng_task_index": 99, "tokens": [1, 2]}])
    assert folder.refused(scores=["tokens"]).where == "runs.jsonl:100"


def test_the_same_attempt_twice(folder):
    folder.write(ROW + NEXT, "a.jsonl")
    folder.write("\n" + NEXT.replace("0,", "1,", 1) + NEXT, "b.jsonl")
    folder.write(
        json.dumps([json.loads(ROW), json.loads(NEXT), json.loads(ROW)]), "c.json"
    )
    message = (
        "c.json: row 3: this row is the same attempt as c.json, row 1: task 0, sample 0"
    )
    assert str(folder.refused("c.json")).startswith(message)
    error = folder.refused("*.jsonl")
    assert error.where == "b.jsonl:3"
    twice = "this row is the same attempt as a.jsonl:2: task 0, sample 1, agent 'agent'"
    assert error.message == twice


def test_some_rows_with_and_some_without_a_sample_index(folder):
    folder.write(ROW + NEXT + '{"_ng_task_index": 7}\n')
    error = folder.refused()
    assert error.where == "runs.jsonl:3"
    assert "this row has no sample index, and runs.jsonl:1 has one" in error.message


@pytest.mark.parametrize(
    ("content", "form", "message"),
    [(ROW, "json", "not a JSON array"), (f"[{ROW}]", "jsonl", "this is a JSON array")],
)
def test_a_format_that_is_not_the_files(folder, content, form, message):
    folder.write(content)
    assert message in folder.refused(format=form).message
    assert len(folder.load(format="json" if form == "jsonl" else "jsonl")) == 1
