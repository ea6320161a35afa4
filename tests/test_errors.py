"""What errors say: where, what, and the way out."""

import pickle

import pluggy
import pytest

from pytest_evalmetrics.errors import (
    ConfigError,
    EvalMetricsError,
    Problem,
    RowError,
    ShapeError,
    closest,
    did_you_mean,
    place_in_hook,
    raised_in_hook,
    raised_words,
)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "broken"),
        ({"hint": "fix it"}, "broken\n  fix it"),
        ({"file": "a.yaml"}, "a.yaml: broken"),
        ({"file": "a.yaml", "line": 3}, "a.yaml:3: broken"),
        ({"file": "a.yaml", "line": 3, "hint": "fix it"}, "a.yaml:3: broken\n  fix it"),
        ({"line": 3}, "broken"),
    ],
)
def test_an_error_says_where_it_is_and_the_way_out(fields, text):
    assert str(EvalMetricsError("broken", **fields)) == text


def test_all_problems_of_a_file_are_said_each_with_its_line():
    problems = (Problem(3, "a.b", "is odd"), Problem(5, "", "is nothing"))
    error = ConfigError("x.bench.yaml", problems)
    assert str(error) == (
        "x.bench.yaml: 2 problems in this benchmark file\n"
        "x.bench.yaml:3: a.b: is odd\n"
        "x.bench.yaml:5: is nothing"
    )


def test_one_problem_is_one():
    error = ConfigError("x.yaml", (Problem(3, "a", "is odd"),), what="policy")
    assert error.message == "one problem in this policy"


@pytest.mark.parametrize(
    "error",
    [
        EvalMetricsError("a", file="f", line=2, hint="h", about="u"),
        ConfigError("f", (Problem(3, "a", "b"),)),
        ShapeError("a", key=("rows",), hint="h"),
        RowError("no-score", "a", hint="h"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_processes_as_it_is(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ValueError("no number"),
            ("raised-ValueError", "mine raised ValueError: no number"),
        ),
        (KeyError(), ("raised-KeyError", "mine raised KeyError")),
    ],
)
def test_an_error_of_a_users_function_has_a_kind_and_its_words(error, words):
    assert raised_words(error, "mine") == words


def raised(function):
    with pytest.raises(ValueError, match="odd") as error:
        function()
    return error.value


class Implementation:
    """A plugin with the hook that fails."""

    @pluggy.HookimplMarker("test")
    def my_hook(self):
        raise ValueError("odd")


def my_hook():
    """Fail as the hook does, and have its name."""
    raise ValueError("odd")


@pytest.fixture
def hook():
    """The hook as pluggy calls it."""
    manager = pluggy.PluginManager("test")
    manager.register(Implementation())
    return manager.hook.my_hook


def test_an_error_in_a_hook_is_located(hook):
    line = Implementation.my_hook.__code__.co_firstlineno + 2
    error = raised(hook)
    assert place_in_hook(hook, error) == f"test_errors.py:{line}"
    assert raised_in_hook(hook, error) == (
        f"test_errors.py:{line}: the hook my_hook failed: ValueError: odd",
        "fix it in the conftest.py or the plugin that defines it",
    )


def test_an_error_of_a_function_that_is_named_as_a_hook_is_has_no_place_in_it(hook):
    error = raised(my_hook)
    assert place_in_hook(hook, error) == ""
    text, _ = raised_in_hook(hook, error)
    assert text == "the hook my_hook failed: ValueError: odd"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("treshold", "threshold"),
        ("Pass-At", "pass_at"),
        ("xyz", None),
        ("MAX_DROP", "max_drop"),
    ],
)
def test_the_name_that_was_meant_is_guessed(name, meant):
    assert closest(name, ["threshold", "pass_at", "max_drop"]) == meant


def test_names_are_listed_behind_a_guess():
    text = did_you_mean("treshold", ["threshold", "alpha"], what="keys here")
    assert text == "did you mean 'threshold'? keys here: alpha, threshold"


def test_without_a_guess_the_names_are_listed():
    assert did_you_mean("xyz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("xyz", []) == "known: none"


def test_of_many_names_forty_are_listed():
    text = did_you_mean("xyz", [f"name{n:02}" for n in range(43)])
    assert text.endswith(", name39 and 3 more")
