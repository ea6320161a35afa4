"""Rows with one task id: attempts at it, copies, or rows of two data sets."""

import pytest

from pytest_evalmetrics.model.rollout_notes import AgreeingAttempts

LONG = "a text of some length, unlike a label"
FIELDS = {"task": "t", "reward": "r"}


def load(folder, *files, **fields):
    for number, rows in enumerate(files, 1):
        folder.rows(rows, f"f{number}.jsonl")
    return folder.load("*.jsonl", fields={**FIELDS, **fields}, scores=["reward"])


def refused(folder, *files, **fields):
    for number, rows in enumerate(files, 1):
        folder.rows(rows, f"f{number}.jsonl")
    return folder.refused("*.jsonl", fields={**FIELDS, **fields}, scores=["reward"])


def row(task, reward=1, **more):
    return {"t": task, "r": reward, **more}


WAY_OUT = (
    "was a run appended to its own file? delete the copy; if they are attempts of their own, "
    "number them: `fields: {sample: KEY}` under rollouts"
)


# -- copies in one file ------------------------------------------------------------------------


def test_a_row_that_is_there_twice_is_refused(folder):
    rows = [row("a", answer=LONG), row("b", answer=LONG), row("a", answer=LONG)]
    error = refused(folder, rows)
    assert error.message == (
        "f1.jsonl:3 is the same row as f1.jsonl:1, which is read twice"
    )
    assert error.hint == WAY_OUT


def test_several_rows_that_are_there_twice_are_counted(folder):
    rows = [row(task, answer=LONG) for task in "abab"]
    assert refused(folder, rows).message == (
        "f1.jsonl:3 is the same row as f1.jsonl:1, which is read twice (2 rows in all)"
    )


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="a number"),
        pytest.param({"s": "x" * 16}, id="a label"),
        pytest.param({"n": 10**9 - 1}, id="a short whole number"),
        pytest.param({"n": 0.12345}, id="a rounded number"),
        pytest.param({"n": {"m": 1, "k": None}}, id="an object of them"),
        pytest.param({"n": [], "m": ""}, id="nothing"),
        pytest.param({"ok": True}, id="a boolean"),
    ],
)
def test_short_rows_may_be_the_same_by_chance(folder, more):
    assert len(load(folder, [row("a", **more), row("a", **more)])) == 2


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"s": "x" * 17}, id="a longer text"),
        pytest.param({"s": "two words"}, id="words"),
        pytest.param({"n": 10**9}, id="a time"),
        pytest.param({"n": 0.123456}, id="a measured number"),
        pytest.param({"n": -0.123456}, id="a measured loss"),
        pytest.param({"n": {"m": LONG}}, id="an object of them"),
        pytest.param({"n": [1]}, id="a list"),
    ],
)
def test_longer_rows_are_copies(folder, more):
    rows = [row("a", **more), row("a", **more)]
    assert "is the same row" in refused(folder, rows).message


def test_the_name_of_a_task_and_an_agent_are_labels_however_long(folder):
    rows = [row(LONG, agent=LONG), row(LONG, agent=LONG)]
    assert len(load(folder, rows, agent="agent")) == 2


@pytest.mark.parametrize(("tasks", "is_copy"), [("abcd", False), ("abcde", True)])
def test_five_short_rows_that_recur_in_their_order_are_a_copy(folder, tasks, is_copy):
    rows = [row(task) for task in tasks] * 2
    if is_copy:
        assert refused(folder, rows).message == (
            "f1.jsonl:6 is the same row as f1.jsonl:1, which is read twice (5 rows in all)"
        )
    else:
        assert len(load(folder, rows)) == 8


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param("abcdeabced", id="in another order"),
        pytest.param("abcdeabcdea", id="one of them three times"),
    ],
)
def test_other_short_rows_that_recur_are_attempts(folder, tasks):
    assert len(load(folder, [row(task) for task in tasks])) == len(tasks)


@pytest.mark.parametrize(
    "key",
    [
        *("attempt_id", "rollout_id", "trial_id", "record_id", "response_id"),
        *("completion_id", "trace_id"),
    ],
)
def test_the_id_of_an_attempt_shows_a_copy(folder, key):
    rows = [row("a", **{key: "x1"}), row("a", **{key: "x1"})]
    assert "is the same row" in refused(folder, rows).message
    rows = [row("a", **{key: "x1"}), row("a", **{key: "x2"})]
    assert len(load(folder, rows)) == 2


@pytest.mark.parametrize("key", ["id", "_id", "uuid"])
def test_the_id_of_a_row_shows_a_copy_unless_it_is_the_task_s(folder, key):
    rows = [row("a", **{key: id_}) for id_ in ("x1", "x1", "x2")]
    assert "f1.jsonl:2 is the same row" in refused(folder, rows).message
    rows = [row("a", **{key: "x1"}), row("a", **{key: "x1"}), row("b", **{key: "x2"})]
    assert len(load(folder, rows)) == 3


# -- ids in several files ----------------------------------------------------------------------


def questions(tasks, reward=1):
    return [row(task, reward, question=f"{LONG} {task}") for task in tasks]


def test_files_that_agree_in_a_text_are_attempts(folder):
    table = load(folder, questions("abc"), questions("abc", 0))
    assert AgreeingAttempts(files=2, tasks=3, key="question") in table.notes
    assert table.sample.tolist() == [0, 1] * 3


def test_one_task_agrees_in_a_question_alone(folder):
    table = load(folder, questions("a"), questions("a", 0))
    assert AgreeingAttempts(files=2, tasks=1, key="question") in table.notes
    files = [[row("a", reward, note=LONG)] for reward in (1, 0)]
    assert "nothing in the rows shows" in refused(folder, *files).message


SAMPLE = "`fields: {sample: KEY}` where attempts are numbered"
CONTENT = "`fields: {content: KEY}` where they share a text"


def test_files_that_share_nothing_but_ids_are_refused(folder):
    first = [row(n, text=f"{LONG} {n}") for n in range(2)]
    second = [row(n, text=f"{LONG} {n + 5}") for n in range(2)]
    error = refused(folder, first, second)
    assert error.message == (
        "f2.jsonl:1: the task id 0 is in f1.jsonl too (2 task ids in all), and nothing in the "
        "rows shows that they are attempts at one task: they have no sample number, and no text "
        "that agrees"
    )
    assert error.hint == f"say under rollouts which it is: {SAMPLE}, or {CONTENT}"


@pytest.mark.parametrize(
    ("fields", "way"),
    [
        ([{"part": "x"}, {"part": "y"}], "[part, t]}` if 'part' tells data sets apart"),
        (
            [{"p": 1, "q": 1, "model": "m"}, {"p": 1, "q": 2, "model": "n"}],
            "[q, t]}` if 'q' tells data sets apart",
        ),
    ],
)
def test_a_label_may_tell_data_sets_apart(folder, fields, way):
    files = [[row(n, **labels) for n in range(2)] for labels in fields]
    assert f"`fields: {{task: {way}, or {SAMPLE}" in refused(folder, *files).hint


def test_two_labels_may_tell_data_sets_apart(folder):
    def rows(p, q):
        return [row(n, p=p, q=q) for n in range(2)]

    error = refused(folder, rows(1, 1), rows(1, 2), rows(2, 1))
    assert "[p, q, t]}` if these fields tell data sets apart" in error.hint


@pytest.mark.parametrize("value", [LONG, 0.5, True, [1]])
def test_what_is_no_label_tells_no_data_sets_apart(folder, value):
    files = [[row(n, part=value)] for n in (0, 0)]
    assert "[part, t]" not in refused(folder, *files).hint


def test_most_tasks_have_a_text_of_their_own(folder):
    def rows(reward, text):
        return [row(n, reward, text=f"{LONG} {text(n)}") for n in range(10)]

    error = refused(folder, rows(1, lambda n: max(n, 2)), rows(0, lambda n: max(n, 2)))
    assert "nothing in the rows shows" in error.message
    table = load(folder, rows(1, lambda n: max(n, 1)), rows(0, lambda n: max(n, 1)))
    assert len(table) == 20
