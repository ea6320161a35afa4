"""``evalmetrics init``: what is decided about a file, and how a person changes it."""

import json
import os
import pty
import select
import sys

import pytest
from forked import completed

from pytest_evalmetrics.commands.testpaths import with_path

ROWS = [
    {"question": f"q{n}", "grade": n % 2, "score": n / 40, "answer": "x"}
    for n in range(30)
]


@pytest.fixture
def results(project):
    text = json.dumps({"results": ROWS}, indent=1)
    project.write("results.json", text)
    return project


def init(project, *args):
    command = [sys.executable, "-m", "pytest_evalmetrics", "init", "results.json"]
    return completed([*command, *args], project.path)


def written(project):
    return (project.path / "results.bench.yaml").read_text(encoding="utf-8")


def test_a_reward_that_is_named_is_recorded(results):
    done = init(results, "--reward", "grade")
    assert done.returncode == 0
    assert "fields: {task: question, reward: grade}" in written(results)
    assert (results.path / "__baselines__/results.bench/results.json").exists()


def test_without_it_nothing_is_recorded(results):
    done = init(results)
    assert done.returncode == 1
    assert "Nothing is recorded yet. Fill in:" in done.stdout
    assert not (results.path / "__baselines__").exists()


def test_a_task_that_is_named_is_taken(results):
    init(results, "--reward", "grade", "--task", "answer")
    assert "task: answer" in written(results)


def test_a_drop_that_matters_is_written(results):
    init(results, "--reward", "grade", "--max-drop", "0.05")
    assert "baseline: {max_drop: 0.05}" in written(results)


def test_a_drop_that_is_none_is_refused(results):
    done = init(results, "--max-drop", "-1")
    assert done.returncode == 2
    assert "--max-drop: expected a number above 0, found -1" in done.stderr


def test_rows_that_are_named_are_read(results):
    done = init(results, "--rows", "results", "--task", "question", "--reward", "grade")
    assert done.returncode == 0
    assert "rows: results" in written(results)


def test_a_field_that_is_not_there_is_said_so(results):
    done = init(results, "--reward", "grades")
    assert done.returncode != 0
    assert "grades" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_one_process_is_enough_whatever_the_configuration_adds(results):
    results.write("pytest.ini", "[pytest]\naddopts = -n 2\n")
    assert init(results, "--reward", "grade").returncode == 0


# -- what a bare pytest collects -------------------------------------------------------------


def test_nothing_is_said_of_a_file_that_a_bare_pytest_collects(results):
    done = init(results, "--reward", "grade")
    assert "testpaths" not in done.stdout
    *_, above, last = done.stdout.splitlines()
    assert above == "More of it: evalmetrics power results.bench.yaml"
    assert last.startswith("Commit results.bench.yaml and __baselines__.")


def test_that_a_bare_pytest_passes_over_the_file_is_said(results):
    results.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    done = init(results, "--reward", "grade")
    assert "A bare pytest does not collect it: testpaths is tests." in done.stdout


def test_the_file_is_added_to_testpaths_on_request(results):
    results.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    (results.path / "tests").mkdir()
    done = init(results, "--reward", "grade", "--add-to-testpaths")
    assert "results.bench.yaml is among testpaths of pytest.ini now" in done.stdout
    results.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('testpaths = ["tests"]\n', 'testpaths = ["tests", "a.bench.yaml"]\n'),
        (
            'testpaths = [\n    "tests",\n]\n',
            'testpaths = [\n    "tests",\n    "a.bench.yaml"\n]\n',
        ),
        ('testpaths = "tests"\n', 'testpaths = "tests a.bench.yaml"\n'),
        ("addopts = '-q'\n", "addopts = '-q'\n"),
    ],
)
def test_a_path_is_added_in_toml(text, changed):
    assert with_path(text, "a.bench.yaml", is_toml=True) == changed


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "testpaths = tests\naddopts = -q\n",
            "testpaths = tests a.bench.yaml\naddopts = -q\n",
        ),
        (
            "testpaths =\n    tests\n    evals\naddopts = -q\n",
            "testpaths =\n    tests\n    evals\n    a.bench.yaml\naddopts = -q\n",
        ),
    ],
)
def test_a_path_is_added_in_an_ini_file(text, changed):
    assert with_path(text, "a.bench.yaml", is_toml=False) == changed


# -- on a terminal ---------------------------------------------------------------------------


def on_a_terminal(project, answers):
    """Run init in a pseudo terminal, and give an answer at each prompt; return what was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        command = [sys.executable, "-m", "pytest_evalmetrics", "init", "results.json"]
        os.execv(sys.executable, command)  # noqa: S606 - the child of a terminal
    shown = b""
    left = list(answers)
    while select.select([terminal], [], [], 60)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # it has ended
            break
        shown += data
        if shown.endswith(b"> ") and left:
            os.write(terminal, left.pop(0).encode())
    os.waitpid(pid, 0)
    return shown.decode()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_decision_is_changed_in_place(results):
    shown = on_a_terminal(results, ["reward score\n", "max-drop 0.1\n", "\n"])
    assert "reward    ?  grade (0/1, 50 % are 1) or score" in shown
    assert "reward    score  mean 0.362, from 0 to 0.725" in shown
    assert "max-drop  0.1" in shown
    assert "reward: score" in written(results)
    assert "baseline: {max_drop: 0.1}" in written(results)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_what_is_no_decision_is_asked_for_again(results):
    shown = on_a_terminal(results, ["colour red\n", "reward grade\n", "\n"])
    assert "expected one of rows, task, reward, max-drop, and a value" in shown
    assert "reward: grade" in written(results)
