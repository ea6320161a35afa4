"""What a file lists beside its rows as not judged is missing, or is reported."""

import math

import pytest

from pytest_evalmetrics.model.rollout_notes import UnreadList

ROWS = [{"id": f"q{n}", "score": n % 2} for n in range(4)]
FIELDS = {"task": "id", "reward": "score"}


def load(folder, document, **keys):
    folder.json(document, "r.json")
    keys = {"rows": "results", "fields": FIELDS, **keys}
    return folder.load("r.json", scores=["reward"], **keys)


def missing_tasks(table):
    rewards = zip(table.task.tolist(), table.scores["reward"].tolist(), strict=True)
    return [table.tasks[task] for task, reward in rewards if math.isnan(reward)]


LISTS = {
    "errors": [{"id": "q8", "message": "timeout"}, {"id": "q9"}],
    "failed": [{"id": "q8", "score": 0}, {"id": "q9", "score": 0, "error": "x"}],
    "failures": ["q8", "q9"],
    "exceptions": [{"id": "q8", "exception": "ValueError: no"}, {"id": "q9"}],
    "skipped_ids": ["q8", "q9"],
    "timeouts": {"q8": "after 30 s", "q9": "after 30 s"},
}


@pytest.mark.parametrize("name", LISTS)
def test_tasks_of_a_list_of_failures_are_missing(folder, name):
    table = load(folder, {"results": ROWS, name: LISTS[name]})
    assert len(table.tasks) == 6
    assert missing_tasks(table) == ["q8", "q9"]


def test_a_list_beside_an_object_on_the_way_to_the_rows_counts_too(folder):
    document = {"run": {"results": ROWS}, "errors": [{"id": "q9", "error": "x"}]}
    table = load(folder, document, rows="run.results")
    assert missing_tasks(table) == ["q9"]


def test_failures_beside_rows_with_ids_as_keys_are_missing(folder):
    document = {
        "results": {"q0": {"score": 1}, "q1": {"score": 0}},
        "errors": {"q9": {"message": "timeout"}},
    }
    table = load(folder, document, keyed="id")
    assert missing_tasks(table) == ["q9"]


NUMBERED = {"0": {"score": 1}, "1": {"score": 0}}


def test_a_type_among_rows_by_number_is_no_task(folder):
    document = {"results": {"type": "GEN", **NUMBERED}}
    table = load(folder, document, keyed="id")
    assert table.tasks == ("0", "1")


@pytest.mark.parametrize("key", ["error", "2", "final"])
def test_a_text_in_place_of_a_row_is_a_missing_task(folder, key):
    document = {"results": {key: "timeout", **NUMBERED}}
    table = load(folder, document, keyed="id")
    assert missing_tasks(table) == [key]


def test_a_type_of_which_nothing_is_known_is_a_missing_task(folder):
    document = {"results": {"type": None, **NUMBERED}}
    table = load(folder, document, keyed="id")
    assert missing_tasks(table) == ["type"]


def test_a_name_among_rows_without_numbers_is_a_missing_task(folder):
    document = {"results": {"name": "x", "ada": {"score": 1}, "bea": {"score": 0}}}
    table = load(folder, document, keyed="id")
    assert missing_tasks(table) == ["name"]


def test_the_words_of_the_failure_are_reported(folder):
    table = load(folder, {"results": ROWS, "errors": [{"id": "q9", "message": "slow"}]})
    assert any(getattr(note, "kind", "") == "errors" for note in table.notes)


def test_failures_that_the_rows_hold_themselves_are_nothing_more(folder):
    table = load(folder, {"results": ROWS, "failed": ["q0"], "errors": [{"id": "q1"}]})
    assert table.tasks == ("q0", "q1", "q2", "q3")
    assert missing_tasks(table) == []


def test_a_failed_attempt_at_a_task_with_fewer_attempts_is_missing(folder):
    document = {"results": [*ROWS, *ROWS[:3]], "errors": [{"id": "q3", "error": "x"}]}
    table = load(folder, document)
    assert missing_tasks(table) == ["q3"]
    assert len(table) == 8


def test_failures_that_name_no_task_are_reported(folder):
    table = load(folder, {"results": ROWS, "errors": ["timeout", "timeout"]})
    assert UnreadList("r.json", "errors", 2) in table.notes


def test_failures_beside_selected_rows_are_reported(folder):
    table = load(
        folder,
        {"results": ROWS, "errors": [{"id": "q9"}]},
        where={"score": (0, 1)},
    )
    assert UnreadList("r.json", "errors", 1) in table.notes


def test_numbers_of_failures_are_no_tasks(folder):
    table = load(folder, {"results": ROWS, "errors": {"timeout": 0}, "failed": []})
    assert not [note for note in table.notes if isinstance(note, UnreadList)]


def test_a_run_over_a_file_with_errors_is_not_green(project):
    project.write(
        "a.bench.yaml",
        """\
        benchmark:
          name: a
          rollouts: {path: r.json, rows: results, fields: {task: id, reward: score}}
          metrics: [mean_reward]
          thresholds: {mean_reward: ">= 0.1"}
        """,
    )
    project.write(
        "r.json",
        '{"results": [{"id": "q0", "score": 1}], "errors": [{"id": "q1", "message": "slow"}]}',
    )
    run = project.run()
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*1 rollout*missing*"])
