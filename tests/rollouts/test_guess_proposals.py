"""The proposed way to read an unknown file: its keys, its reasons and its open questions."""

import json

import pytest

from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.rollouts.guess import propose
from pytest_evalmetrics.rollouts.guess.pivots import pivot_of
from pytest_evalmetrics.rollouts.guess.rewards import OPEN
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn, seen_columns

RANDOM_IDS = [f"{n:08x}-1111-4222-8333-{n:012x}" for n in range(12)]


def of_rows(folder, rows, named=None):
    folder.rows(rows)
    return propose("runs.jsonl", folder.path, named)


def of_document(folder, document, named=None):
    folder.json(document, "r.json")
    return propose("r.json", folder.path, named)


def answers(**fields):
    """Write 2 rows for each of 4 tasks."""
    return [
        {"task_id": f"q{n // 2}", **{name: value(n) for name, value in fields.items()}}
        for n in range(8)
    ]


# -- reasons and keys --------------------------------------------------------------------------


def test_plain_rows_have_a_reason_for_each_field(folder):
    proposal = of_rows(
        folder,
        answers(
            attempt=lambda n: n % 2,
            model=lambda _: "m",
            question=lambda n: f"Why {n // 2}?",
            score=lambda n: n / 8,
        ),
    )
    assert proposal.reasons == (
        "task: task_id, 4 values in 8 rows; or question",
        "sample: attempt, which tells the rows of a task apart",
        "agent: model, by its name",
        "reward: score (0..0.875), by its name",
    )
    assert proposal.keys == {
        "fields": {
            "task": "task_id",
            "sample": "attempt",
            "reward": "score",
            "agent": "model",
            "content": ["question"],
        }
    }
    assert proposal.questions == {}
    assert proposal.undirected is None
    assert proposal.reward == "score"
    assert proposal.spec.path == ("runs.jsonl",)


def test_what_a_person_has_named_needs_no_reason(folder):
    rows = answers(attempt=lambda n: n % 2, model=lambda _: "m", score=lambda n: n / 8)
    named = FieldMap(task="task_id", sample="attempt", agent="model", reward="score")
    assert of_rows(folder, rows, named).reasons == ()


def test_what_a_person_has_named_wins(folder):
    rows = answers(
        attempt=lambda n: n % 2,
        seed=lambda n: n,
        model=lambda _: "m",
        system=lambda _: "s",
        case=lambda n: f"c{n}",
        rating=lambda n: n / 8,
        score=lambda n: n / 4,
    )
    named = FieldMap(task="case", sample="seed", agent="system", reward="rating")
    fields = of_rows(folder, rows, named).spec.fields
    assert (fields.task, fields.sample, fields.agent, fields.reward) == (
        *("case", "seed", "system", "rating"),
    )


def test_several_named_fields_are_one_task(folder):
    rows = answers(part=lambda n: n % 2, score=lambda n: n / 8)
    proposal = of_rows(folder, rows, FieldMap(task=("task_id", "part")))
    assert proposal.spec.fields.task == ("task_id", "part")
    assert proposal.keys["fields"]["task"] == ["task_id", "part"]


def test_a_question_that_a_person_names_as_the_task_is_no_content(folder):
    rows = answers(question=lambda n: f"Why {n // 2}?", score=lambda n: n / 8)
    assert of_rows(folder, rows).spec.fields.content == ("question",)
    named = FieldMap(task="question")
    assert of_rows(folder, rows, named).spec.fields.content is None
    named = FieldMap(task="task_id")
    assert of_rows(folder, rows, named).spec.fields.content == ("question",)


def test_runs_by_name_are_the_agents(folder):
    runs = {
        run: [{"task_id": f"q{n}", "score": n / 8} for n in range(4)]
        for run in ("ada", "bea")
    }
    proposal = of_document(folder, runs)
    assert proposal.reasons == (
        "rows: those of the runs ada, bea",
        "task: task_id, 4 values in 8 rows",
        "agent: _parent._key, the name of the run",
        "reward: score (0..0.375), by its name",
    )
    assert proposal.keys == {
        "rows": "*",
        "fields": {"task": "task_id", "reward": "score", "agent": "_parent._key"},
    }
    assert proposal.tried == ("*",)


def test_keys_are_the_task_without_a_reason_of_their_own(folder):
    proposal = of_document(folder, {f"q{n}": {"ok": n > 1} for n in range(4)})
    assert proposal.keys == {"keyed": "id", "fields": {"reward": "ok"}}
    assert proposal.reasons == (
        "rows: the 4 objects at the top, by their keys",
        "reward: ok (0/1, 50 % are 1), by its name",
    )


def test_objects_of_attempts_have_the_outer_keys_as_the_task(folder):
    document = {
        f"q{n}": {f"run{k}": {"ok": (n + k) % 2} for k in range(2)} for n in range(4)
    }
    proposal = of_document(folder, document)
    assert proposal.keys == {
        "rows": "*",
        "keyed": "id",
        "fields": {"task": "_parent._key", "reward": "ok"},
    }
    assert proposal.reasons[1] == "task: _parent._key, 4 values; attempts: run0, run1"


def test_lists_of_ids_have_their_rewards(folder):
    document = {"resolved_ids": ["a", "b"], "failed_ids": ["c"], "error_ids": ["d"]}
    proposal = of_document(folder, document)
    assert proposal.keys == {
        "lists": {"resolved_ids": 1, "failed_ids": 0, "error_ids": None}
    }
    assert proposal.reasons == (
        "lists of ids: resolved_ids, failed_ids, error_ids, by their names",
    )


def test_words_are_mapped_and_unknown_ones_are_open(folder):
    words = ("pass", "fail", "tie", "meh")
    rows = answers(verdict=lambda n: words[n % 4])
    proposal = of_rows(folder, rows)
    assert proposal.keys["map"] == {
        "reward": {"fail": 0, "meh": OPEN, "pass": 1, "tie": 0.5}
    }
    assert proposal.questions == {
        "map.reward.meh": "its worth: a number, or null if nobody judged"
    }


def test_words_of_no_verdict_among_words_are_null(folder):
    words = ("pass", "fail", "n/a", "pass")
    proposal = of_rows(folder, answers(verdict=lambda n: words[n % 4]))
    assert proposal.keys["map"] == {"reward": {"fail": 0, "n/a": None, "pass": 1}}


def test_words_of_no_verdict_among_numbers_are_missing(folder):
    proposal = of_rows(folder, answers(score=lambda n: n / 8 if n else "N/A"))
    assert proposal.keys["missing"] == ["N/A"]
    assert proposal.questions == {}


def test_other_words_among_numbers_are_asked_about(folder):
    def score(number):
        return ("N/A", "so so")[number] if number < 2 else number / 16

    rows = [{"task_id": f"q{n}", "score": score(n)} for n in range(12)]
    proposal = of_rows(folder, rows)
    assert proposal.keys["missing"] == OPEN
    assert proposal.questions == {
        "missing": '["N/A", "so so"] if these words mean not judged'
    }


def test_words_in_other_letters_are_asked_about_as_they_are(folder):
    rows = [{"task_id": f"q{n}", "score": n / 16 if n else "größer"} for n in range(12)]
    assert of_rows(folder, rows).questions["missing"].startswith('["größer"]')


def test_a_number_far_from_the_others_is_asked_about(folder):
    proposal = of_rows(folder, answers(score=lambda n: -1 if n < 2 else n / 8))
    assert proposal.keys["missing"] == OPEN
    assert proposal.questions == {
        "missing": "[-1] if -1, in 2 of 8 rows, means not judged, else []"
    }


def test_a_sign_that_may_separate_thousands_is_asked_about(folder):
    rows = [f"q{n};{n + 1}.100" for n in range(6)]
    folder.write("\n".join(["id;score", *rows]), "r.csv")
    proposal = propose("r.csv", folder.path)
    assert proposal.keys["decimal"] == OPEN
    assert proposal.questions == {
        "decimal": '`decimal: "."` if 1.100 is 1.1, `decimal: ","` if it is 1100'
    }


def test_two_rewards_are_asked_about(folder):
    proposal = of_rows(
        folder,
        answers(attempt=lambda n: n % 2, score=lambda n: n / 8, ok=lambda n: n > 3),
    )
    assert proposal.keys["fields"]["reward"] == OPEN
    assert proposal.reward is None
    assert proposal.questions == {
        "fields.reward": "ok (0/1, 50 % are 1) or score (0..0.875)?"
    }
    assert proposal.reasons[-1] == (
        "reward: not clear, ok (0/1, 50 % are 1) or score (0..0.875)?"
    )


def test_a_task_that_is_not_clear_is_asked_about(folder):
    rows = [{"id": id_, "score": n / 16} for n, id_ in enumerate(RANDOM_IDS)]
    proposal = of_rows(folder, rows)
    assert proposal.keys["fields"] == {"reward": "score", "task": OPEN}
    assert proposal.questions == {"fields.task": "id (unique in every row)?"}


def test_random_keys_are_asked_about(folder):
    proposal = of_document(
        folder, {id_: {"score": n / 16} for n, id_ in enumerate(RANDOM_IDS)}
    )
    assert proposal.questions == {
        "fields.task": "id (the keys, which are random ids) if the next run has the same?"
    }


@pytest.mark.parametrize(
    ("name", "question"),
    [("fluency", "higher or lower: which way is better for fluency?"), ("wer", None)],
)
def test_a_direction_that_is_not_known_is_asked_about(folder, name, question):
    proposal = of_rows(folder, answers(**{name: lambda n: n / 8}))
    assert proposal.undirected == name
    assert proposal.questions.get("direction") == question


def test_the_direction_of_a_named_reward_is_not_asked_about(folder):
    rows = answers(fluency=lambda n: n / 8)
    proposal = of_rows(folder, rows, FieldMap(reward="fluency"))
    assert (proposal.undirected, proposal.questions) == (None, {})


def test_a_named_reward_in_words_is_mapped(folder):
    rows = answers(score=lambda n: n / 8, verdict=lambda n: ("pass", "fail")[n % 2])
    proposal = of_rows(folder, rows, FieldMap(reward="verdict"))
    assert proposal.keys["map"] == {"reward": {"fail": 0, "pass": 1}}


def test_rewards_of_one_value_are_named(folder):
    proposal = of_rows(folder, answers(score=lambda _: 1, ok=lambda _: True))
    assert proposal.constant_rewards == ("ok",)


def suites(name, ids):
    """Write lists of tests in each of two objects of a list."""
    return {
        name: [
            {
                "title": title,
                "tests": [{"id": i, "score": n / 8} for n, i in enumerate(ids)],
            }
            for title in ("sums", "roots")
        ]
    }


@pytest.mark.parametrize(
    ("name", "task"),
    [
        pytest.param("suites", ["id", "_parent.title"], id="subsets"),
        pytest.param("runs", "id", id="runs"),
        pytest.param("results", OPEN, id="either"),
    ],
)
def test_lists_of_tests_are_read_by_the_list_around_them(folder, name, task):
    proposal = of_document(folder, suites(name, "abcd"))
    assert proposal.spec.rows == f"{name}.*.tests"
    assert proposal.keys["fields"]["task"] == task


def test_what_is_the_same_around_all_rows_is_no_task(folder):
    rows = [{"id": n, "score": n / 8} for n in range(4)]
    document = {"runs": [{"task_id": "all", "attempts": rows}] * 2}
    proposal = of_document(folder, document)
    assert proposal.spec.fields.task == "id"


# -- which rows --------------------------------------------------------------------------------


def test_lists_of_messages_are_no_rows(folder):
    rows = answers(score=lambda n: n / 8, messages=lambda _: [{"role": "user"}] * 3)
    proposal = of_rows(folder, rows)
    assert proposal.spec.rows is None
    assert proposal.tried == ("messages",)


def test_lists_of_attempts_with_the_reward_are_the_rows(folder):
    tries = [{"reward": 0.5}, {"reward": 1}]
    proposal = of_rows(folder, [{"id": f"q{n}", "attempts": tries} for n in range(4)])
    assert proposal.spec.rows == "attempts"
    assert proposal.spec.fields.task == "_parent.id"


def test_lists_of_attempts_beside_a_number_without_a_telling_name_are_the_rows(folder):
    tries = [{"reward": 0.5}, {"reward": 1}]
    rows = [{"id": f"q{n}", "width": n / 8, "attempts": tries} for n in range(4)]
    assert of_rows(folder, rows).spec.rows == "attempts"


def test_other_lists_beside_such_a_number_are_no_rows(folder):
    parts = [{"reward": 0.5}, {"reward": 1}]
    rows = [{"id": f"q{n}", "width": n / 8, "blocks": parts} for n in range(4)]
    assert of_rows(folder, rows).spec.rows is None


def test_lists_of_attempts_beside_a_reward_are_no_rows(folder):
    tries = [{"reward": 0.5}, {"reward": 1}]
    rows = [{"id": f"q{n}", "score": n / 8, "attempts": tries} for n in range(4)]
    assert of_rows(folder, rows).spec.rows is None


def test_the_only_row_of_a_file_holds_the_rows(folder):
    rows = [{"task_id": f"q{n}", "score": n / 8} for n in range(4)]
    document = {"run": "r1", "score": 0.5, "results": rows}
    assert of_document(folder, document).spec.rows == "results"


def test_rows_with_a_reward_come_before_outer_ones_without(folder):
    rows = [{"task_id": f"q{n}", "score": n / 8} for n in range(4)]
    document = {
        "tasks": [{"name": f"n{n}", "note": "x"} for n in range(4)],
        "run": {"results": rows},
    }
    assert of_document(folder, document).spec.rows == "run.results"


def test_rows_with_a_telling_reward_come_first(folder):
    def rows(name):
        return [{"task_id": f"q{n}", name: n / 8} for n in range(4)]

    document = {"a": rows("width"), "b": {"c": rows("score")}}
    assert of_document(folder, document).spec.rows == "b.c"


def test_lists_beside_the_rows_are_asked_about(folder):
    def rows(start):
        return [{"task_id": f"q{n}", "score": n / 8} for n in range(start, start + 4)]

    document = {"run": 1, "out": {"first": rows(0), "errors": [{"id": 1}]}, "more": {}}
    assert of_document(folder, document).questions == {
        "rows": "out.first, without the 1 object of errors?"
    }


def test_lists_with_the_reward_beside_the_rows_are_asked_about(folder):
    def rows(start, **fields):
        return [
            {"task_id": f"q{n}", "score": n / 8, **fields}
            for n in range(start, start + 4)
        ]

    document = {
        "run": 1,
        "first": rows(0),
        "second": rows(4, note=1)[:3],
        "notes": [{"text": 1}, {"text": 2}],
        "inner": {"third": rows(8)},
    }
    proposal = of_document(folder, document)
    assert proposal.questions == {"rows": "first, without the 3 objects of second?"}
    assert proposal.keys["rows"] == OPEN


def test_json_as_text_is_parsed_where_it_holds_the_reward(folder):
    rows = answers(
        attempt=lambda n: n % 2,
        result=lambda n: json.dumps({"score": n / 8}),
        more=lambda _: '{"x": 1}',
        note=lambda _: "so",
    )
    proposal = of_rows(folder, rows)
    assert proposal.keys == {
        "parse_json": ["result", "more"],
        "fields": {"task": "task_id", "sample": "attempt", "reward": "result.score"},
    }
    assert proposal.reasons[0] == "parse_json: result, more, whose text is JSON"


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            answers(score=lambda n: n / 8, data=lambda _: '{"reward": 1}'),
            id="a reward",
        ),
        pytest.param(answers(data=lambda _: '{"note": "x"}'), id="none in the text"),
        pytest.param(
            answers(data=lambda n: '{"score": 1}' if n else "x"), id="other texts"
        ),
    ],
)
def test_json_as_text_is_left_alone_otherwise(folder, rows):
    assert of_rows(folder, rows).spec.parse_json is None


def test_a_named_reward_keeps_texts_as_they_are(folder):
    rows = answers(data=lambda n: json.dumps({"score": n / 8}))
    proposal = of_rows(folder, rows, FieldMap(reward="data"))
    assert proposal.spec.parse_json is None


def test_several_files_of_one_object_each_are_rows(folder):
    for number in range(4):
        row = {"id": f"q{number}", "score": number / 8, "steps": [{"a": 1}] * 3}
        folder.json(row, f"runs/{number}.json")
    proposal = propose("runs/*.json", folder.path)
    assert proposal.keys == {"fields": {"task": "id", "reward": "score"}}
    assert proposal.tried == ()


def test_files_of_a_known_format_are_not_guessed(folder):
    folder.rows([{"_ng_task_index": n, "reward": 1} for n in range(4)])
    assert propose("runs.jsonl", folder.path) is None


# -- lines with one score each -----------------------------------------------------------------


def lines(names=("acc", "cost"), ids="xyz", **fields):
    return [
        {"run_id": id_, "metric": name, "value": n / 8, **fields}
        for n, id_ in enumerate(ids)
        for name in names
    ]


def test_lines_of_a_name_and_a_value_are_put_together(folder):
    rows = lines(ids=[f"q{n}" for n in range(6)])
    for number, row in enumerate(rows):
        row["task_id"] = f"t{number // 4}"
    proposal = of_rows(folder, rows)
    assert proposal.keys["pivot"] == {
        "by": "run_id",
        "name": "metric",
        "value": "value",
    }
    assert proposal.reasons[0] == "each line is one score: 'metric' has 2 names"
    assert proposal.keys["fields"] == {"task": "_line.task_id", "reward": "acc"}


@pytest.mark.parametrize("value", ["value", "score", "result", "rating", "grade"])
def test_the_value_of_a_line_is_known_by_its_name(value):
    rows = [
        {"id": id_, "scorer": name, f"x.{value}": 1} for id_ in "xy" for name in "ab"
    ]
    assert pivot_of(seen_columns(rows)).value == f"x.{value}"


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(lines(names=["acc"]), id="one name"),
        pytest.param(
            [{"run_id": n, "metric": f"m{n}", "value": 1} for n in range(4)],
            id="each name once",
        ),
        pytest.param(lines(names=[f"m{n}" for n in range(21)]), id="21 names"),
        pytest.param(lines(ids="x"), id="one id"),
        pytest.param([*lines(), *lines()], id="each name twice"),
        pytest.param(
            [{**row, "value": "x"} for row in lines()], id="a text as the value"
        ),
        pytest.param([{**row, "metric": 1} for row in lines()], id="a number as name"),
        pytest.param(
            [*lines(), {"run_id": "w", "value": 1}], id="a line without a name"
        ),
        pytest.param(
            [{**row, "run_id": [row["run_id"]]} for row in lines()], id="no id"
        ),
        pytest.param(
            [{"metric": row["metric"], "value": 1} for row in lines()], id="no field"
        ),
    ],
)
def test_other_lines_are_not_put_together(rows):
    assert pivot_of(seen_columns(rows)) is None


def test_twenty_names_may_be_scores():
    rows = lines(names=[f"m{n}" for n in range(20)])
    assert pivot_of(seen_columns(rows)).by == ("run_id",)


# -- columns -----------------------------------------------------------------------------------


def seen(*values):
    return SeenColumn(path="x", values=values)


@pytest.mark.parametrize(
    ("values", "is_random"),
    [
        (RANDOM_IDS, True),
        (["0123456789abcdef01234567"] * 2, True),
        (["01ARZ3NDEKTSV4RRFFQ69G5FAV"], True),
        (["chatcmpl-9aBcDeFgHiJkLm"], True),
        (["abcdefghijklmnopqrstu"], False),
        (["12345678901234567890"], False),
        (["a1b2c3d4", "0f1e2d3c"], True),
        (["a1b2c3d4", "deadbeef"], False),
        (["a1b2c3d4", "f1e2d3c4", "deadbeef"], True),
        (["a1b2c3d4", "12345678"], False),
        (["a1b2c3d4", "0f1e2d3c4"], False),
        (["a1b2c3d", "0f1e2d3"], False),
        (["q1", RANDOM_IDS[0]], False),
        ([RANDOM_IDS[0], 1], False),
    ],
)
def test_random_ids_are_known_by_their_form(values, is_random):
    assert seen(*values).is_random is is_random


@pytest.mark.parametrize(
    ("values", "are_times"),
    [
        (["2026-05-01", "2026-05-01T10:00:00Z", "2026-05-01 10:00"], True),
        ([1700000000, "1700000000.5", 1700000000000], True),
        (["20260501T100000Z"], True),
        ([2700000000], False),
        (["2026-05"], False),
        (["2026-05-01 noon"], False),
        ([], False),
    ],
)
def test_times_are_known_by_their_form(values, are_times):
    assert seen(*values).are_times is are_times


@pytest.mark.parametrize(
    ("values", "are_prose"),
    [
        (["so it is now", "yes"], False),
        (["so it is now", "no it is not", "yes"], True),
        (["so it is"], False),
        (["x" * 61], True),
        (["x" * 60], False),
        ([1, 2, "so it is now"], False),
    ],
)
def test_prose_has_four_words_or_is_long(values, are_prose):
    assert seen(*values).are_prose is are_prose


@pytest.mark.parametrize(
    ("values", "recurs", "mostly"),
    [
        ("aabb", True, True),
        ("aabbb", False, True),
        ("ab", False, False),
        ("aabbccdde", False, True),
        ("aabbccd", False, False),
    ],
)
def test_values_that_recur(values, recurs, mostly):
    assert seen(*values).recurs is recurs
    assert seen(*values).mostly_recurs is mostly


@pytest.mark.parametrize(
    ("values", "similar"),
    [
        (["q1", "Q1 "], ("q1", "Q1 ")),
        (["a", "b", "B"], ("b", "B")),
        (["\u00e9", "e\u0301"], ("\u00e9", "e\u0301")),
        (["a", "a", "b"], None),
    ],
)
def test_values_that_look_alike(values, similar):
    assert seen(*values).similar == similar


@pytest.mark.parametrize(
    ("values", "strange"),
    [
        ([1, 2, 3, 4, "#REF!"], ("#REF!",)),
        ([1, 2, 3, "#REF!"], ()),
        ([*range(16), "c", "a", "b", "b"], ("a", "b", "c")),
        ([*range(16), "c", "a", "b", "d"], ()),
        ([1, 2, 3, 4, "n/a"], ()),
        ([1, 2, 3, 4, "85 %"], ()),
    ],
)
def test_few_words_among_numbers_are_strange(values, strange):
    assert seen(*values).strange_words == strange


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([1, True, 0.5, None], [1, 1, 0.5]),
        (["85 %", "n/a", "1"], [0.85, 1]),
        (["x", 1], None),
        ([[1]], None),
        (["n/a"], None),
        ([None], None),
    ],
)
def test_the_numbers_of_a_column(values, numbers):
    assert seen(*values).numbers == numbers


@pytest.mark.parametrize(
    ("values", "are_ids", "are_texts", "are_lists"),
    [
        ([1, "a"], True, False, False),
        (["a", None], True, True, False),
        ([True], False, False, False),
        ([0.5], False, False, False),
        ([[1], None], False, False, True),
        ([[1], 1], False, False, False),
        ([None], False, False, False),
    ],
)
def test_the_kind_of_values(values, are_ids, are_texts, are_lists):
    column = seen(*values)
    assert column.are_ids is are_ids
    assert column.are_texts is are_texts
    assert column.are_lists is are_lists


def test_values_are_found_by_their_paths_those_at_the_top_first():
    rows = [
        {"a": {"b": 1, "c": {"d": 2}}, "e": [1, 2]},
        {"e": [float("nan"), "x"], "f": None},
        {"g": [], "h": [{"i": 1}], "e": 3},
    ]
    columns = seen_columns(rows)
    assert {path: column.values for path, column in columns.items()} == {
        "e": [[1, 2], [None, "x"], 3],
        "a.b": [1, None, None],
        "a.c.d": [2, None, None],
        "f": [None, None, None],
    }
    assert list(columns) == ["e", "a.b", "a.c.d", "f"]


def test_values_eight_levels_deep_are_seen():
    row = {"x": 1}
    for _ in range(8):
        row = {"k": row, "y": 1}
    assert list(seen_columns([row])) == [f"{'k.' * depth}y" for depth in range(8)]


def test_two_thousand_columns_are_seen():
    rows = [{f"c{n}": n for n in range(2001)}, {"c1": 5}]
    columns = seen_columns(rows)
    assert len(columns) == 2000
    assert columns["c1"].values == [1, 5]
