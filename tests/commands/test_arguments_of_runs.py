"""How the arguments of commands that read recorded runs are taken."""

import sys

import pytest

from pytest_evalmetrics import commands, compare
from pytest_evalmetrics.commands import in_pytest, main
from pytest_evalmetrics.commands.testpaths import add_to_testpaths, with_path


@pytest.fixture
def taken(monkeypatch):
    """Compare two runs with further arguments; give what the comparison is given."""
    given = []
    monkeypatch.setattr(in_pytest, "answer", lambda _, answer_with: answer_with(None))
    monkeypatch.setattr(
        compare, "compare_runs", lambda one: given.append(one) or ("", False)
    )

    def compared(*arguments):
        assert main(["compare", "a.jsonl", "b.jsonl", *arguments]) == 0
        return given[-1]

    return compared


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--metric", "pass@1", "--metric=mean/x"], "metrics", ["pass@1", "mean/x"]),
        (["--missing", "", "--missing=none"], "missing", ["", "none"]),
        (["--task", "id"], "task", "id"),
        (["--sample", "try"], "sample", "try"),
        (["--agent", "model"], "agent", "model"),
        (["--reward", "grade"], "reward", "grade"),
        (["--direction", "lower"], "direction", "lower"),
        (["--pass-threshold", "0.5"], "pass_threshold", 0.5),
        (["--alpha", "0.05"], "alpha", 0.05),
        (["--max-drop", "0.02"], "max_drop", 0.02),
        (["--margin", "0.1"], "margin", 0.1),
        (["--answer", "said"], "answer", "said"),
        (["--behaviour"], "behaviour", True),
        (["--format", "json"], "format", "json"),
    ],
)
def test_an_argument_is_taken_by_its_name(taken, arguments, name, value):
    assert vars(taken(*arguments))[name] == value


@pytest.mark.parametrize(
    "name",
    ["metrics", "missing", "task", "reward", "direction", "pass_threshold", "alpha"],
)
def test_what_is_not_said_is_left_to_the_comparison(taken, name):
    assert vars(taken())[name] is None


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "[pytest]\ntestpaths = 'tests'\n",
            "[pytest]\ntestpaths = 'tests a.bench.yaml'\n",
        ),
        (
            '[pytest]\ntestpaths = ["tests",]\n',
            '[pytest]\ntestpaths = ["tests", "a.bench.yaml"]\n',
        ),
        ("[pytest]\ntestpaths = []\n", '[pytest]\ntestpaths = ["a.bench.yaml"]\n'),
        ("# testpaths = 'tests'\n", "# testpaths = 'tests'\n"),
    ],
)
def test_a_path_is_added_to_the_line_of_the_setting_alone(text, changed):
    assert with_path(text, "a.bench.yaml", is_toml=True) == changed


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("pytest.ini", "testpaths = tests\n", "testpaths = tests a.bench.yaml\n"),
        ("tox.ini", "testpaths = 'x'\n", "testpaths = 'x' a.bench.yaml\n"),
        (
            "pyproject.toml",
            "testpaths = 'tests'\n",
            "testpaths = 'tests a.bench.yaml'\n",
        ),
    ],
)
def test_a_configuration_file_is_changed_in_its_form(tmp_path, name, text, changed):
    file = tmp_path / name
    file.write_text(text)
    assert add_to_testpaths(file, "a.bench.yaml")
    assert file.read_text() == changed


def test_a_configuration_file_without_the_setting_stays(tmp_path):
    file = tmp_path / "pytest.ini"
    file.write_text("addopts = -q\n")
    assert not add_to_testpaths(file, "a.bench.yaml")
    assert file.read_text() == "addopts = -q\n"


# -- what commands say of their arguments ----------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["compare", "a.jsonl"], "name two runs or more"),
        (["inspect", "a", "--label", "x"], "--label needs --to-parquet"),
        (
            ["compare", "a", "b", "--margin", "0"],
            "--margin: expected a number above 0, found 0",
        ),
        (
            ["init", "a", "--max-drop", "0"],
            "--max-drop: expected a number above 0, found 0",
        ),
        (["journal", "export"], "export needs FILE"),
        (["journal", "show", "a.jsonl"], "show takes no FILE"),
    ],
)
def test_a_problem_is_all_that_is_said_of_arguments(capsys, arguments, problem):
    with pytest.raises(SystemExit):
        main(arguments)
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert last_line == f"evalmetrics {arguments[0]}: error: {problem}"


def test_a_command_takes_the_arguments_of_the_program(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evalmetrics", "chekc", "more"])
    assert main() == 2
    assert "there is no command 'chekc'" in capsys.readouterr().err


def test_a_command_is_answered_in_a_run_that_has_begun(monkeypatch):
    answered = []

    def answer_in(config, name, answer_with):
        answered.append((config, name))
        return answer_with(config)

    monkeypatch.setattr(in_pytest, "answer_in", answer_in)
    monkeypatch.setattr(
        compare, "compare_runs", lambda given: ("", given.runs == ["a", "b"])
    )
    assert commands.answer_here("config", ["compare", "a", "b"]) == 1
    assert answered == [("config", "compare")]
