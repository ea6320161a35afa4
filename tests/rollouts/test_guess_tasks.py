"""Which fields are taken as the task, the attempt and the agent, and what is asked."""

import pytest

from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.layouts import Layout, ListKind
from pytest_evalmetrics.rollouts.guess.seen_columns import seen_columns
from pytest_evalmetrics.rollouts.guess.tasks import (
    choose_task,
    open_task,
    question_of_keys,
    task_of_groups,
)

RANDOM_IDS = [f"{n:08x}-1111-4222-8333-{n:012x}" for n in range(12)]


def task_of(rows, verdicts=(), *, is_nested=False, lists=ListKind.NONE):
    return choose_task(seen_columns(rows), verdicts, is_nested=is_nested, lists=lists)


# -- rows in lists of other rows ---------------------------------------------------------------


def in_lists(ids, field="id"):
    """Write the rows of several lists, each in an object with an id of its own."""
    return [
        {"_parent": {"id": f"run {number}"}, field: id_}
        for number, ids_of_list in enumerate(ids)
        for id_ in ids_of_list
    ]


@pytest.mark.parametrize("ids", [["ab", "ab"], ["ab", "bc"]])
def test_ids_that_recur_in_several_lists_are_tasks(ids):
    assert task_of(in_lists(ids), is_nested=True).paths == ("id",)


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["ab", "cd"], id="each once"),
        pytest.param(["xxy", "xxy"], id="twice in a list"),
        pytest.param(["aa", "bb"], id="in one list alone"),
    ],
)
def test_other_ids_in_lists_are_attempts_at_the_task_around_them(ids):
    assert task_of(in_lists(ids), is_nested=True).paths == ("_parent.id",)


def test_a_question_that_recurs_in_several_lists_is_asked_about():
    choice = task_of(in_lists(["ab", "ab"], "question"), is_nested=True)
    assert choice.question == "_parent.id (not unique) or question?"


# -- which fields may be the task --------------------------------------------------------------


def test_an_id_that_four_of_five_rows_have_is_a_task():
    rows = [{"id": n or None} for n in range(5)]
    assert task_of(rows).paths == ("id",)


def test_an_id_that_fewer_rows_have_is_none():
    rows = [{"id": n if n > 1 else None} for n in range(5)]
    assert task_of(rows).paths == ()


def test_an_id_that_is_the_same_in_all_rows_is_none():
    assert task_of([{"question_id": "q"}] * 3).paths == ()


def test_an_id_that_each_row_has_comes_before_one_that_some_lack():
    rows = [{"question_id": n or None, "id": f"b{n}"} for n in range(5)]
    assert task_of(rows).paths == ("id",)


def test_an_id_comes_before_a_position():
    rows = [{"index": n, "id": f"b{n}"} for n in range(4)]
    assert task_of(rows).reason == "task: id, 4 values in 4 rows; or index"


def test_keys_that_count_objects_are_no_task():
    assert task_of([{"_key": str(n)} for n in range(4)]).paths == ()


def test_keys_that_name_objects_are_the_task():
    assert task_of([{"_key": f"q{n}"} for n in range(4)]).paths == ("_key",)


def test_the_index_of_pandas_is_no_task():
    rows = [{"_index": n, "name": f"b{n}"} for n in range(4)]
    assert task_of(rows).paths == ("name",)


def test_an_index_of_texts_is_a_task():
    assert task_of([{"_index": f"b{n}"} for n in range(4)]).paths == ("_index",)


@pytest.mark.parametrize("beside", ["seed", "model", "_key"])
def test_labels_that_something_beside_them_tells_apart_are_the_task(beside):
    rows = [{"place": ("Bonn", "Oslo")[n % 2], beside: "01"[n // 2]} for n in range(4)]
    assert task_of(rows).paths == ("place",)


def test_labels_that_nothing_tells_apart_are_no_task():
    rows = [{"place": ("Bonn", "Oslo")[n % 2], "price": n // 2} for n in range(4)]
    assert task_of(rows).paths == ()


def test_labels_that_recur_unequally_are_no_task():
    rows = [{"place": "aab"[n % 3], "seed": n} for n in range(6)]
    assert task_of(rows).paths == ()


def test_an_instruction_is_no_task_beside_an_id():
    rows = [{"id": n, "prompt": "Add these", "input": f"{n} + 1"} for n in range(4)]
    assert task_of(rows).paths == ("id",)


def test_of_two_ids_of_tasks_the_one_with_more_values_is_the_task():
    rows = [{"task": "sums", "question_id": f"q{n}"} for n in range(3)]
    rows += [{"task": "roots", "question_id": f"r{n}"} for n in range(3)]
    assert task_of(rows).paths == ("question_id",)


# -- the parts of an id ------------------------------------------------------------------------


def test_the_reason_names_all_parts_of_a_task_and_another_choice():
    rows = [
        {"lang": lang, "id": n, "name": f"{lang}{n}"}
        for lang in ("de", "fr")
        for n in range(3)
    ]
    assert task_of(rows).reason == "task: [lang, id], 6 values in 6 rows; or name"


def test_three_groups_may_be_parts_of_an_id():
    rows = [
        {"lang": lang, "topic": topic, "split": split, "id": n}
        for lang in "ab"
        for topic in "cd"
        for split in "ef"
        for n in range(2)
    ]
    assert task_of(rows).paths == ("lang", "topic", "split", "id")


def test_no_more_groups_than_needed_are_parts_of_an_id():
    rows = [
        {"lang": lang, "topic": "cd"[n % 2], "id": n} for lang in "ab" for n in range(4)
    ]
    assert task_of(rows).paths == ("lang", "id")


def test_a_title_is_a_part_where_lists_are_subsets():
    rows = [{"_parent": {"title": title}, "id": n} for title in "xy" for n in range(2)]
    choice = task_of(rows, lists=ListKind.SUBSETS)
    assert choice.paths == ("id", "_parent.title")


def test_a_title_is_no_part_where_lists_are_runs():
    rows = [{"_parent": {"title": title}, "id": n} for title in "xy" for n in range(2)]
    assert task_of(rows, lists=ListKind.RUNS).paths == ("id",)


# -- attempts, agents and questions ------------------------------------------------------------


def test_the_numbers_of_attempts_are_the_sample():
    rows = [{"question_id": n // 2, "attempt": n % 2} for n in range(8)]
    assert task_of(rows).sample == "attempt"


@pytest.mark.parametrize(
    "attempts",
    [
        pytest.param([-1, 0], id="negative"),
        pytest.param(["a", "b"], id="words"),
        pytest.param([0, 0], id="the same"),
        pytest.param([0, None], id="not all"),
    ],
)
def test_what_does_not_number_the_attempts_is_no_sample(attempts):
    rows = [{"question_id": n // 2, "attempt": attempts[n % 2]} for n in range(8)]
    choice = task_of(rows)
    assert (choice.paths, choice.sample) == (("question_id",), None)


def test_up_to_twenty_models_are_agents():
    rows = [{"model": f"m{n}", "id": n} for n in range(20)]
    assert task_of(rows).agent == "model"


def test_more_models_are_none():
    rows = [{"model": f"m{n}", "id": n} for n in range(21)]
    assert task_of(rows).agent is None


def test_the_question_of_a_task_is_its_content():
    rows = [
        {"question_id": f"q{n // 2}", "question": f"Why {n // 2}?", "seed": n % 2}
        for n in range(8)
    ]
    choice = task_of(rows)
    assert choice.content == "question"
    assert choice.reason == "task: question_id, 4 values in 8 rows; or question"


def test_a_question_that_each_model_words_itself_is_the_content():
    rows = [
        {"question_id": n, "model": model, "question": f"{model}: why {n}?"}
        for n in range(4)
        for model in "ab"
    ]
    assert task_of(rows).content == "question"


def test_the_reason_names_two_other_choices():
    rows = [
        {"question_id": n, "id": f"a{n}", "key": f"b{n}", "name": f"c{n}"}
        for n in range(4)
    ]
    assert task_of(rows).reason.endswith("; or id, key")


def test_the_question_names_two_other_choices():
    rows = [
        {"id": n % 4, "key": n % 4, "question": f"q{n}", "topic_id": n % 4}
        for n in range(8)
    ]
    assert task_of(rows).question == "topic_id (not unique) or id or key?"


def test_four_names_of_attempts_are_shown():
    choice = task_of_groups(
        GroupKind.TASKS, "id", groups([f"run{n}" for n in range(6)])
    )
    assert choice.reason.endswith("attempts: run0, run1, run2, run3 and 2 more")


def test_four_words_that_tell_rows_apart_are_shown():
    choice = task_of(judged("judge", "abcdef"))
    assert "judge (a, b, c, d and 2 more)" in choice.question


def test_four_values_that_recur_are_shown():
    choice = task_of(counted("rep", "abcdef" * 3))
    assert "goes through a, b, c, d and 2 more again and again" in choice.reason


def test_several_questions_of_a_task_are_no_content():
    rows = [
        {"question_id": f"q{n // 2}", "question": f"Why {n}?", "seed": n % 2}
        for n in range(8)
    ]
    assert task_of(rows).content is None


def test_a_question_that_is_the_task_is_no_content():
    rows = [{"question": f"Why {n // 2}?"} for n in range(8)]
    choice = task_of(rows)
    assert (choice.paths, choice.content) == (("question",), None)


# -- what is asked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "question"),
    [
        pytest.param(
            [{"id": id_} for id_ in RANDOM_IDS],
            "id (unique in every row)?",
            id="a random id",
        ),
        pytest.param(
            [{"id": id_, "uid": f"{id_}"} for id_ in RANDOM_IDS],
            "id (unique in every row) or uid (unique in every row)?",
            id="two random ids",
        ),
        pytest.param(
            [{"id": n, "attempt": n % 2} for n in range(4)],
            "attempt numbers attempts, and nothing repeats with them: add the "
            "question's id to the rows",
            id="attempts alone",
        ),
        pytest.param(
            [{"id": n + 0.5} for n in range(4)],
            "id holds 0.5: write whole numbers, or text with a letter",
            id="ids with decimals",
        ),
        pytest.param(
            [{"score": n + 0.5} for n in range(4)],
            "no field looks like a task: name its path, or add the question's id",
            id="scores alone",
        ),
        pytest.param(
            [{"answer": f"a{n}"} for n in range(4)],
            "no field looks like a task: name its path, or add the question's id",
            id="answers alone",
        ),
    ],
)
def test_rows_without_a_task_are_asked_about(rows, question):
    choice = task_of(rows)
    assert choice.paths == ()
    assert (
        choice.reason == "task: not clear, no field repeats or is the question's own id"
    )
    assert choice.question == question
    assert not choice.is_open


def test_ids_that_differ_in_case_alone_are_asked_about():
    choice = task_of([{"question_id": id_} for id_ in ("q1", "Q1", "q2")])
    assert choice.reason == "task: not clear, question_id has 'q1' and 'Q1'"
    assert choice.question == (
        "question_id if 'q1' and 'Q1' are two tasks; else make them one"
    )
    assert choice.is_open


def test_other_ids_are_shown_in_their_letters():
    choice = task_of([{"question_id": id_} for id_ in ("\u00c4", "\u00e4")])
    assert choice.reason == "task: not clear, question_id has '\u00c4' and '\u00e4'"


def test_accents_that_look_the_same_are_shown_by_their_codes():
    choice = task_of([{"question_id": id_} for id_ in ("\u00e9", "e\u0301")])
    assert choice.reason == r"task: not clear, question_id has '\xe9' and 'e\u0301'"


def judged(name, values, **fields):
    """Write a row of each value for each of two questions."""
    return [
        {"question_id": f"q{task}", **fields, name: value}
        for task in range(2)
        for value in values
    ]


def test_words_that_tell_the_rows_of_a_task_apart_are_asked_about():
    choice = task_of(judged("judge", "ab"))
    assert choice.reason == (
        "task: not clear, the rows of each question_id are told apart by judge"
    )
    assert choice.question == (
        "[question_id, judge] if each is a task of its own; question_id if judge (a, b) "
        "names attempts; or select one with where:"
    )
    assert choice.is_open


def test_such_words_are_asked_about_beside_a_model():
    choice = task_of(judged("judge", "ab", model="m"))
    assert (choice.paths, choice.is_open, choice.agent) == ((), True, "model")


def test_sixteen_words_may_tell_the_rows_of_a_task_apart():
    choice = task_of(judged("judge", [f"j{n}" for n in range(16)]))
    assert "by judge" in choice.reason


def test_more_words_are_texts_that_differ():
    choice = task_of(judged("judge", [f"j{n}" for n in range(17)]))
    assert choice.paths == ("question_id",)


def test_any_number_of_steps_tells_the_rows_of_a_task_apart():
    assert "by step" in task_of(judged("step", range(17))).reason


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("seed", "ab", id="attempts"),
        pytest.param("_key", "ab", id="keys"),
        pytest.param("trace", RANDOM_IDS[:2], id="random ids"),
        pytest.param("day", ["2026-05-01", "2026-05-02"], id="times"),
        pytest.param("note", ["It has to be one", "It has to be two"], id="prose"),
        pytest.param("judge", ["a", None], id="words that some rows lack"),
    ],
)
def test_what_names_attempts_makes_no_question(name, values):
    assert task_of(judged(name, values)).paths == ("question_id",)


def test_a_verdict_makes_no_question():
    choice = task_of(judged("verdict", ["pass", "fail"]), ["verdict"])
    assert choice.paths == ("question_id",)


def test_numbers_without_a_telling_name_make_a_question_though_they_may_be_verdicts():
    assert "by dose" in task_of(judged("dose", [1, 2]), ["dose"]).reason


def counted(name, values, field="id"):
    """Write rows with ids of their own."""
    return [{field: n, name: value} for n, value in enumerate(values)]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param("ababab", id="in turns"),
        pytest.param("aaabbb", id="in blocks"),
        pytest.param([f"r{n % 16:02}" for n in range(48)], id="sixteen in turns"),
    ],
)
def test_a_field_that_recurs_as_attempts_do_beside_ids_of_rows_is_asked_about(values):
    choice = task_of(counted("rep", values))
    assert choice.paths == ()
    assert choice.is_open
    assert choice.question == (
        "id if each row is a task; if rep numbers attempts, add the question's id to "
        "the rows"
    )


@pytest.mark.parametrize(
    "values",
    [
        pytest.param("abab", id="two rounds"),
        pytest.param("abbaab", id="in no order"),
        pytest.param("abababa", id="a round that broke off"),
        pytest.param("aaaaaa", id="always the same"),
        pytest.param(["a", None] * 3, id="not in all rows"),
        pytest.param([f"r{n % 17:02}" for n in range(51)], id="seventeen in turns"),
    ],
)
def test_a_field_that_recurs_otherwise_is_not(values):
    assert task_of(counted("rep", values)).paths == ("id",)


@pytest.mark.parametrize("name", ["difficulty", "category", "model", "answer"])
def test_what_describes_a_task_or_an_answer_is_not_asked_about(name):
    assert task_of(counted(name, "ababab")).paths == ("id",)


def test_ids_of_questions_are_not_asked_about():
    choice = task_of(counted("rep", "ababab", field="question_id"))
    assert choice.paths == ("question_id",)


def test_a_verdict_in_turns_is_not_asked_about():
    choice = task_of(counted("verdict", ["pass", "fail"] * 3), ["verdict"])
    assert choice.paths == ("id",)


# -- keys as tasks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "question"),
    [
        pytest.param(
            ["2026-05-01", "2026-05-02"],
            "id (the keys, which are times) if the next run has the same?",
            id="times",
        ),
        pytest.param(
            RANDOM_IDS[:2],
            "id (the keys, which are random ids) if the next run has the same?",
            id="random ids",
        ),
        pytest.param(["q0", "q1"], "", id="names"),
    ],
)
def test_keys_that_may_be_of_one_run_alone_are_asked_about(keys, question):
    layout = Layout(reason="", level=1, keyed="id")
    columns = seen_columns([{"id": key} for key in keys])
    assert question_of_keys(layout, columns) == question


def test_rows_that_have_no_keys_are_not_asked_about_them():
    assert question_of_keys(Layout(reason="", level=1), {}) == ""


def test_a_question_about_the_task_is_left_open():
    choice = open_task("id or name?")
    assert (choice.paths, choice.is_open) == ((), True)
    assert choice.reason == "task: not clear, id or name?"
    assert choice.question == "id or name?"


def groups(names):
    return seen_columns(
        [{"_parent": {"_key": task}, "id": name} for task in "xyz" for name in names]
    )


def test_objects_of_attempts_by_their_names_are_the_tasks():
    choice = task_of_groups(GroupKind.TASKS, "id", groups(["run2", "run1"]))
    assert (choice.paths, choice.is_open) == (("_parent._key",), False)
    assert choice.reason == "task: _parent._key, 3 values; attempts: run1, run2"


def test_objects_with_the_same_few_keys_are_asked_about():
    choice = task_of_groups(GroupKind.UNKNOWN, "id", groups("ba"))
    assert (choice.paths, choice.is_open) == ((), True)
    assert choice.reason == "task: not clear, each of the 3 objects has a, b"
    assert choice.question == (
        "_parent._key if a, b are attempts or agents, or [_parent._key, id] if tasks?"
    )
