"""``evalmetrics init``: what is decided about a file, and how a person changes it."""

import json
import os
import pty
import select
import sys

import pytest
from forked import completed

from pytest_evalmetrics.commands import main
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
    shown = on_a_terminal(
        results, ["colour red\n", "max-drop big\n", "task \n", "reward grade\n", "\n"]
    )
    # a name that is none, and a name without a value
    assert shown.count("expected one of rows, task, reward, max-drop, and a value") == 2
    assert "max-drop: expected a number, such as 0.05" in shown
    assert "reward: grade" in written(results)


# -- what is printed, in this process --------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    save_results(tmp_path, ROWS)
    configure(tmp_path)
    return tmp_path


def save_results(folder, rows):
    (folder / "results.json").write_text(json.dumps({"results": rows}))


def configure(folder, *lines):
    # pytest's plugin collects garbage five times at the end of each run
    fast = "addopts = -p no:unraisableexception"
    (folder / "pytest.ini").write_text("\n".join(["[pytest]", fast, *lines, ""]))


def printed(capsys, *arguments):
    """Write a benchmark file; give the exit status and the lines."""
    status = main(["init", "results.json", *arguments])
    return status, capsys.readouterr().out.splitlines()


def test_open_lines_are_named_with_what_comes_then(here, capsys):
    status, lines = printed(capsys)
    assert status == 1
    assert not (here / "__baselines__").exists()
    assert lines[-3:] == [
        "Nothing is recorded yet. Fill in:",
        "  results.bench.yaml:12: reward: ?  # grade (0/1, 50 % are 1) or score (0..0.725)?",
        "Then record the baseline: pytest results.bench.yaml --evalmetrics-update",
    ]


def test_what_is_not_recorded_is_said_with_the_way_to_record_it(here, capsys):
    save_results(here, ROWS[:2])
    status, lines = printed(capsys, "--reward", "grade")
    assert status == 1
    assert lines[-1] == (
        "results.bench.yaml is written, and no baseline is recorded: change what is said "
        "above, then: pytest results.bench.yaml --evalmetrics-update"
    )


@pytest.mark.usefixtures("here")
def test_what_is_recorded_is_said_with_what_the_gates_detect(capsys):
    status, lines = printed(capsys, "--reward", "grade")
    assert status == 0
    start = lines.index("results.bench.yaml:")
    assert lines[start + 1] == "# written by evalmetrics init"
    (detected,) = [line for line in lines if line.startswith("What its gates detect")]
    assert (
        detected == "What its gates detect with 80 % power, over 30 tasks x 1 rollout:"
    )
    assert lines[-2:] == [
        "More of it: evalmetrics power results.bench.yaml",
        "Commit results.bench.yaml and __baselines__. From now on: pytest results.bench.yaml",
    ]


def test_a_file_below_testpaths_is_collected_by_a_bare_pytest(here, capsys):
    configure(here, "testpaths = other .")
    _, lines = printed(capsys, "--reward", "grade")
    assert lines[-2] == "More of it: evalmetrics power results.bench.yaml"


def test_a_file_beside_testpaths_is_said_to_be_passed_over(here, capsys):
    configure(here, "testpaths = tests evals")
    _, lines = printed(capsys, "--reward", "grade")
    assert lines[-2] == (
        "A bare pytest does not collect it: testpaths is tests evals. Add "
        "results.bench.yaml to testpaths of pytest's configuration, or move the file."
    )


def test_a_file_is_added_to_testpaths_on_request_alone(here, capsys):
    configure(here, "testpaths = tests")
    _, lines = printed(capsys, "--reward", "grade", "--add-to-testpaths")
    assert lines[-2] == "results.bench.yaml is among testpaths of pytest.ini now"
    assert "testpaths = tests results.bench.yaml\n" in (here / "pytest.ini").read_text()


def test_rows_that_can_not_be_read_are_an_error(here, capsys):
    (here / "results.json").write_text("[")
    assert main(["init", "results.json"]) == 2
    assert "results.json" in capsys.readouterr().err
    assert not (here / "results.bench.yaml").exists()
