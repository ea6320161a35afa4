"""How the arguments of commands that read recorded runs are taken."""

import pytest

from pytest_evalmetrics import compare
from pytest_evalmetrics.commands import in_pytest, main
from pytest_evalmetrics.commands.testpaths import with_path


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
