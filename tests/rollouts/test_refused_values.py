"""What is said, word by word, of rows and tables whose values can't be used."""

import numpy as np
import pytest
from msgspec.structs import replace
from rollouts.small import chunk, load_chunks

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Failure, NotFinite
from pytest_evalmetrics.model.rollout_notes import (
    EditedTask,
    FailedRollouts,
    MixedQuestions,
    NumbersCountAsMissing,
    TextsCountAsMissing,
)

NAME_IT = (
    "write it as a number, or name what holds the number: `reward: NAME`, or `fields: {reward: "
    "PATH}` under rollouts"
)


def which(role):
    return f"say which key holds it, under rollouts: `fields: {{{role}: KEY}}`"


def gym(**more):
    return {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1, **more}


def refused(folder, rows, **options):
    folder.rows(rows)
    error = folder.refused("runs.jsonl", **{"scores": ["reward"], **options})
    return error.where, error.message, error.hint


# -- a row -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message", "hint"),
    [
        (
            gym(_ng_task_index=1.5),
            "the task id is 1.5; expected a whole number or text",
            which("task"),
        ),
        (
            gym(_ng_rollout_index=-1),
            "the sample index is -1; expected a whole number from 0",
            which("sample"),
        ),
        (
            gym(_ng_rollout_index="a"),
            'the sample index is text: "a"; expected a whole number from 0',
            which("sample"),
        ),
        (
            gym(agent_ref={"name": 5}),
            "the agent's name is 5; expected text",
            which("agent"),
        ),
        (
            gym(reward="x"),
            "the score 'reward' is text: \"x\"; expected a number, true, false or null",
            NAME_IT,
        ),
        (
            gym(reward=[1]),
            "the score 'reward' is a list: [1]; expected a number, true, false or null",
            NAME_IT,
        ),
    ],
)
def test_a_value_of_another_kind_is_refused(folder, row, message, hint):
    assert refused(folder, [row]) == ("runs.jsonl:1", message, hint)


def test_a_label_of_several_values_is_refused(folder):
    rows = [gym(level={"a": 1})]
    assert refused(folder, rows, categories=["level"]) == (
        "runs.jsonl:1",
        "'level' is an object: {\"a\": 1}; expected text, a number or a boolean",
        "name what holds a single value, such as level.KEY",
    )


FIELDS = {"task": "id", "reward": "v"}


def test_a_task_id_that_is_null_is_refused(folder):
    rows = [{"id": "a", "v": 1}, {"id": None, "v": 1, "b": 2}]
    assert refused(folder, rows, fields=FIELDS) == (
        "runs.jsonl:2",
        "this row has no task id: 'id' is null; the row's keys: b, id, v",
        which("task"),
    )


def test_a_part_of_a_task_id_may_be_null_but_not_all(folder):
    fields = {**FIELDS, "task": ("id", "lang")}
    rows = [{"id": "a", "lang": None, "v": 1}, {"id": None, "lang": None, "v": 1}]
    assert refused(folder, rows, fields=fields) == (
        "runs.jsonl:2",
        "this row has no task id: 'id' is null; the row's keys: id, lang, v",
        which("task"),
    )


def test_a_task_id_that_no_row_has_is_refused_with_a_guess(folder):
    where, message, hint = refused(
        folder, [{"id": "a", "idd": 1, "v": 1}], fields={**FIELDS, "task": "id2"}
    )
    assert where == "runs.jsonl:1"
    assert message == (
        "this row has no task id: 'id2' is not there; did you mean 'id'? the row's keys: id, "
        "idd, v"
    )
    assert hint == which("task")


def test_a_list_of_verdicts_beside_a_sample_index_is_refused(folder):
    rows = [{"id": "a", "v": [1, 0], "n": 1}]
    assert refused(folder, rows, fields={**FIELDS, "sample": "n"}) == (
        "runs.jsonl:1",
        (
            "'reward' is a list of verdicts, which are a task's attempts, and the row has a "
            "sample index"
        ),
        "leave sample: out of fields:; the list numbers the attempts",
    )


def test_lists_of_verdicts_of_several_lengths_are_refused(folder):
    rows = [{"id": "a", "v": [1, 0], "w": [1]}]
    fields = {**FIELDS, "scores": {"tone": "w"}}
    where, message, hint = refused(folder, rows, fields=fields)
    assert where == "runs.jsonl:1"
    assert message == "the lists of verdicts differ in length: tone 1, reward 2"
    assert hint == "each score needs a verdict for each attempt"


# -- a table -----------------------------------------------------------------------------------


def built(folder, *chunks, scores=("reward",), **options):
    return load_chunks(folder, *chunks, scores=scores, **options)


def refused_chunks(folder, *chunks, scores=("reward",), **options):
    with pytest.raises(DataError) as caught:
        built(folder, *chunks, scores=scores, **options)
    error = caught.value
    return error.where, error.message, error.hint


def of(tasks, reward=None, **more):
    values = reward or [1.0] * len(tasks)
    return chunk(list(tasks), scores={"reward": values}, **more)


TEXT_OR_NUMBER = "write the ids of all rows as numbers, or all as text"


@pytest.mark.parametrize(
    ("chunks", "where", "message", "hint"),
    [
        pytest.param(
            [of(["1", 1])],
            "a:2",
            "this row's task id is 1, and a:1 has '1': one is a number and the other is text",
            TEXT_OR_NUMBER,
            id="a number and a text",
        ),
        pytest.param(
            [of("xx", sample=[0, 0])],
            "a:2",
            "this row is the same attempt as a:1: task 'x', sample 0, agent 'agent'",
            (
                "was a run recorded twice, or does the path match two runs? if each row has "
                "another key for it: `fields: {sample: KEY}` under rollouts"
            ),
            id="an attempt twice",
        ),
        pytest.param(
            [of("xxy", sample=[0, None, 0])],
            "a:2",
            (
                "this row has no sample index, and a:1 has one; both are of the agent 'agent'"
            ),
            "write it into every row or into none (then they are numbered)",
            id="a sample index in some rows",
        ),
        pytest.param(
            [of("xy", record_ids=["r", "r"])],
            "a:2",
            "this record has the id 'r', which a:1 has: it is read twice",
            ("was a run appended to its own file, or is a copy of it among the files?"),
            id="a record twice",
        ),
        pytest.param(
            [
                of("x", content={(None, "x"): "h1"}),
                of("x", first=2, content={(None, "x"): "h2"}),
            ],
            "a",
            "the task 'x' has rollouts of different questions",
            (
                "does the path match runs of two data sets? give each its own benchmark; or name "
                "what tells the tasks apart: `fields: {task: KEY}` under rollouts"
            ),
            id="two questions",
        ),
    ],
)
def test_rows_that_make_no_table_are_refused(folder, chunks, where, message, hint):
    assert refused_chunks(folder, *chunks) == (where, message, hint)


def test_two_questions_of_a_task_of_one_of_several_agents_are_refused(folder):
    chunks = [
        of(
            "xx", agent=["ada", "bea"], content={("ada", "x"): "h1", ("bea", "x"): "h1"}
        ),
        of("x", agent=["bea"], first=3, content={("bea", "x"): "h2"}),
    ]
    _, message, _ = refused_chunks(folder, *chunks)
    assert (
        message == "the task 'x' of the agent 'bea' has rollouts of different questions"
    )


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            {"scores": ["acc"]},
            "the score 'acc' is in no row; the scores there are: reward, tone",
            (
                "name one of these with `reward: NAME`, or say where the rows keep it with "
                "`fields: {reward: PATH}` under rollouts"
            ),
        ),
        (
            {"fields": {"scores": {"f1": "a.b"}}},
            (
                "the path 'a.b' of the score 'f1' is in no row; the rows' keys: reward, tone"
            ),
            "a path goes through objects by key and lists by index: result.metrics.f1",
        ),
        (
            {"fields": {"agent": "who"}},
            "the path 'who' of the agent is in no row; the rows' keys: reward, tone",
            "a path goes through objects by key and lists by index: result.metrics.f1",
        ),
        (
            {"fields": {"sample": "n"}},
            "the path 'n' of the sample is in no row; the rows' keys: reward, tone",
            "a path goes through objects by key and lists by index: result.metrics.f1",
        ),
        (
            {"fields": {"content": ("q",)}},
            "the path 'q' of the content is in no row; the rows' keys: reward, tone",
            "a path goes through objects by key and lists by index: result.metrics.f1",
        ),
        (
            {"categories": ["level"]},
            "the field 'level' is in no row; the rows' keys: reward, tone",
            "a path goes through objects by key and lists by index: result.metrics.f1",
        ),
    ],
)
def test_what_the_benchmark_names_and_no_row_has_is_refused(
    folder, options, message, hint
):
    rows = chunk(
        ["x"], scores={"reward": [1.0], "tone": [0.5]}, keys=("reward", "tone")
    )
    _, found, way = refused_chunks(folder, rows, **options)
    assert (found, way) == (message, hint)


def test_a_chunk_of_uneven_columns_is_refused(folder):
    rows = replace(of("xy"), sample=[0])
    error = refused_chunks(folder, rows)
    assert error == (
        "a",
        "its loader can't read this: ValueError: a chunk has 2 places, and 1 of sample",
        "is it whole, and of the format it is taken for? `format:` forces another",
    )


def test_a_file_without_rows_is_refused(folder):
    assert refused_chunks(folder) == (
        "a",
        "the file holds no row",
        "did the run that writes it fail?",
    )


def test_several_scores_that_may_be_the_reward_are_refused(folder):
    rows = chunk(["x"], scores={"acc": [1.0], "f1": [0.5]}, rewards=["acc", "f1"])
    assert refused_chunks(folder, rows) == (
        "a",
        "several scores could be the reward: acc, f1",
        "say which: `reward: acc`, beside rollouts",
    )


def test_an_only_score_that_should_be_low_is_no_reward(folder):
    rows = chunk(["x"], scores={"wer": [1.0]}, rewards=["wer"])
    rows = replace(rows, directions={"wer": "lower"})
    assert refused_chunks(folder, rows) == (
        "a",
        "the only score is 'wer', and of a reward more is better",
        "write `reward: wer` beside rollouts, and a baseline's `direction:`",
    )


def test_an_only_score_is_the_reward_with_what_measures_it(folder):
    ruler = (("judge", "scores", "acc"), ("judge", "k", "acc"))
    rows = chunk(
        ["x"], scores={"acc": [0.5]}, rewards=["acc"], fractional=frozenset(["acc"])
    )
    table = built(folder, replace(rows, ruler=ruler))
    assert table.scores["reward"].tolist() == [0.5]
    assert table.integers == frozenset()
    assert table.ruler == {"judge": {"k": ["acc"], "scores": ["acc", "reward"]}}


def test_whole_numbers_without_a_gap_are_integers(folder):
    rows = chunk(["x", "y"], scores={"reward": [1, 2], "n": [1, np.nan], "m": [0.5, 1]})
    table = built(folder, replace(rows, fractional=frozenset(["m"])))
    assert table.integers == {"reward"}


def test_usage_wins_over_a_score_of_its_name_where_it_is_known(folder):
    rows = of("xy")
    rows = replace(
        rows,
        scores={**rows.scores, "cost_usd": np.array([5.0, 6.0])},
        usage={"cost_usd": np.array([np.nan, 2.0])},
    )
    table = built(folder, rows)
    assert table.scores["cost_usd"].tolist() == [5, 2]
    assert list(table.scores) == ["reward", "cost_usd"]


def test_a_zero_beside_an_error_is_missing_and_other_numbers_are_not(folder):
    rows = [
        {"id": "a", "v": 0, "steps": 5, "error": "E: x"},
        {"id": "b", "v": 0, "steps": 0},
    ]
    folder.rows(rows)
    table = folder.load("runs.jsonl", fields=FIELDS, scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 0])
    assert table.scores["steps"].tolist() == [5, 0]
    assert [note for note in table.notes if isinstance(note, FailedRollouts)] == [
        FailedRollouts(
            kind="E", is_graded=False, rollouts=1, first="runs.jsonl:1: E: x"
        )
    ]


def test_an_attempt_that_failed_and_was_made_again_counts_once(folder):
    failed = gym(reward=0, _ng_failure_class="timeout")
    folder.rows([failed, gym(reward=1), {**failed, "_ng_task_index": 1}])
    table = folder.load("runs.jsonl", scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [1, np.nan])
    (note,) = [note for note in table.notes if isinstance(note, FailedRollouts)]
    assert (note.kind, note.rollouts, note.first) == ("timeout", 1, "runs.jsonl:3")


# -- notes -------------------------------------------------------------------------------------


def test_numbers_that_are_not_finite_are_noted(folder):
    bad = [NotFinite("reward", "NaN", 1), NotFinite("reward", "NaN", 2)]
    table = built(folder, of("xy", [np.nan, np.nan], not_finite=bad))
    note = NumbersCountAsMissing(score="reward", what="NaN", values=2, first="a:1")
    assert table.score_notes["reward"] == (note,)


def test_texts_of_a_score_are_noted(folder):
    table = built(folder, of("xy", [1.0, np.nan], not_numbers={"reward": "a:2"}))
    note = TextsCountAsMissing(score="reward", first="a:2")
    assert table.score_notes["reward"] == (note,)


def test_failures_are_noted_by_their_kinds(folder):
    failures = [
        Failure(row=0, kind="E", message="no", graded=False),
        Failure(row=1, kind="E", message="later", graded=False),
        Failure(row=2, kind="E", message="", graded=True),
    ]
    table = built(folder, of("xyz", failures=failures))
    assert [note for note in table.notes if isinstance(note, FailedRollouts)] == [
        FailedRollouts(kind="E", is_graded=False, rollouts=2, first="a:1: no"),
        FailedRollouts(kind="E", is_graded=True, rollouts=1, first="a:3"),
    ]


def test_versions_of_a_task_are_noted(folder):
    chunks = [
        of("x", content={(None, "x"): "h1"}, versioned=True),
        of("x", first=2, content={(None, "x"): "h2"}, versioned=True),
    ]
    assert EditedTask(task="x", versions=2, agent="") in built(folder, *chunks).notes


def test_questions_that_are_dealt_anew_are_noted(folder):
    chunks = [
        of("x", content={(None, "x"): "h1"}, dealt=True),
        of("x", first=2, content={(None, "x"): "h2"}, dealt=True),
    ]
    assert MixedQuestions(tasks=1, example="x") in built(folder, *chunks).notes
