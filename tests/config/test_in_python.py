"""A benchmark of the keyword arguments of a call is validated as one of a file is."""

from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.config import benchmark_in_python
from pytest_evalmetrics.errors import ConfigError, RenamedKeyWarning
from pytest_evalmetrics.spec import renamed_keys
from pytest_evalmetrics.spec.renamed_keys import RenamedKey

FILE = Path("tests/test_math.py")


def made(**settings):
    return benchmark_in_python(
        settings, name="test_math[a::b]", file=FILE, line=12, shown="tests/test_math.py"
    )


def test_a_call_has_the_name_of_its_test_and_the_line_of_the_call():
    benchmark = made(num_samples=4)
    assert benchmark.spec.name == "test_math[a::b]"
    assert benchmark.spec.num_samples == 4
    assert benchmark.file == FILE
    assert benchmark.lines == {(): 12}
    assert benchmark.in_python


@pytest.mark.parametrize(
    ("value", "share"),
    [(np.float64(0.25), 0.25), (np.array(0.25), 0.25), (0.25, 0.25), ("25%", 0.25)],
)
def test_numbers_of_numpy_are_numbers(value, share):
    benchmark = made(expect={"max_missing": value})
    assert benchmark.spec.expect.max_missing == share


def test_a_tuple_or_an_array_is_a_list():
    assert made(tags=("a", "b")).spec.tags == ("a", "b")
    assert made(tags=np.array(["a", "b"])).spec.tags == ("a", "b")


def test_a_path_is_a_text():
    benchmark = made(rollouts=Path("runs") / "math.jsonl")
    assert benchmark.spec.rollouts.path == ("runs/math.jsonl",)


def refusal(**settings):
    with pytest.raises(ConfigError) as refused:
        made(**settings)
    return str(refused.value).splitlines()


def test_every_problem_of_a_call_is_said_at_its_line():
    assert refusal(num_samples=0, description=3) == [
        "tests/test_math.py: 2 problems in this call of evalmetrics.check",
        "tests/test_math.py:12: description: expected text, found 3; put quotes around it",
        "tests/test_math.py:12: num_samples: expected a number of at least 1, found 0",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"tags": {"a"}},
            "tags: found set; expected text, a number, a list or a dict",
        ),
        (
            {"expect": {"tasks": 3 + 1j}},
            "expect.tasks: found complex; expected text, a number, a list or a dict",
        ),
        (
            {"tags": ["a", b"b"]},
            "tags[1]: found bytes; expected text, a number, a list or a dict",
        ),
        (
            {"thresholds": {1: ">= 1"}},
            (
                "thresholds: found a dict whose keys are not all text; expected text, a "
                "number, a list or a dict"
            ),
        ),
    ],
)
def test_a_value_that_no_file_could_hold_is_refused_once(settings, message):
    assert refusal(**settings)[1:] == [f"tests/test_math.py:12: {message}"]


def test_an_old_name_of_a_key_is_read(monkeypatch):
    old = RenamedKey(("max_regression",), ("baseline", "max_drop"), (0, 1))
    monkeypatch.setattr(renamed_keys, "RENAMED", (old,))
    with pytest.warns(RenamedKeyWarning, match=r"^max_regression: ") as caught:
        benchmark = made(max_regression=0.03)
    assert benchmark.spec.baseline.max_drop == 0.03
    assert (caught[0].filename, caught[0].lineno) == (str(FILE), 12)


def test_a_command_is_named_as_one():
    with pytest.raises(ConfigError, match=r"^culprit: one problem in this command"):
        benchmark_in_python(
            {"num_samples": 0},
            name="run",
            file=FILE,
            line=1,
            shown="culprit",
            what="command",
        )
