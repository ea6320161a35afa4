"""How a person changes what ``evalmetrics init`` decided, line by line."""

import builtins
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from pytest_evalmetrics.commands import init
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import survey
from pytest_evalmetrics.rollouts.survey import Choices

BASE = Path("/somewhere")
PROMPT = "Press Enter to accept, or change one, for example: reward correct\n> "


@pytest.fixture
def decided(monkeypatch):
    """Give answers in a person's place; return what is decided then."""

    def decide(*answers, choices=None):
        left = iter(answers)

        def answer(prompt):
            assert prompt == PROMPT
            try:
                return next(left)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr(builtins, "input", answer)
        return init._changed_in_place("runs.jsonl", BASE, choices or Choices())

    return decide


@pytest.fixture
def shown(monkeypatch):
    """Describe decisions by the reward alone; keep what is asked for."""
    asked = []

    def lines(rollouts, base, choices):
        asked.append((rollouts, base, choices))
        if choices.reward == "none":
            raise DataError("no row has a field none")
        return [f"  reward    {choices.reward}"]

    monkeypatch.setattr(survey, "decision_lines", lines)
    return asked


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(
    ("answer", "choices"),
    [
        ("rows results", Choices(rows="results")),
        ("task question id", Choices(task="question id")),
        ("  reward   correct  ", Choices(reward="correct")),
        ("reward 5", Choices(reward="5")),
        ("max-drop 0.05", Choices(max_drop=0.05)),
    ],
)
def test_an_answer_changes_one_decision(decided, answer, choices):
    assert decided(answer, "") == choices


@pytest.mark.usefixtures("shown")
def test_an_empty_answer_takes_what_was_decided(decided):
    assert decided("", "reward late") == Choices()


@pytest.mark.usefixtures("shown")
def test_the_end_of_the_input_takes_what_was_decided(decided):
    assert decided("reward correct") == Choices(reward="correct")


@pytest.mark.usefixtures("shown")
def test_a_decision_of_the_command_line_is_kept(decided):
    given = Choices(task="id")
    assert decided("reward correct", "", choices=given) == Choices(
        task="id", reward="correct"
    )


def test_the_decisions_are_shown_before_each_answer(decided, shown, capsys):
    decided("reward correct", "")
    assert capsys.readouterr().out == (
        "runs.jsonl is read as follows:\n  reward    None\n"
        "runs.jsonl is read as follows:\n  reward    correct\n"
    )
    assert shown == [
        ("runs.jsonl", BASE, Choices()),
        ("runs.jsonl", BASE, Choices(reward="correct")),
    ]


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("answer", ["colour red", "task", "task  "])
def test_an_answer_that_is_no_decision_is_refused(decided, capsys, answer):
    assert decided(answer, "") == Choices()
    assert capsys.readouterr().out == (
        "runs.jsonl is read as follows:\n  reward    None\n"
        "expected one of rows, task, reward, max-drop, and a value\n"
        "runs.jsonl is read as follows:\n  reward    None\n"
    )


@pytest.mark.usefixtures("shown")
def test_a_drop_that_is_no_number_is_refused(decided, capsys):
    assert decided("max-drop big", "") == Choices()
    assert "\nmax-drop: expected a number, such as 0.05\n" in capsys.readouterr().out


@pytest.mark.usefixtures("shown")
def test_a_decision_that_can_t_be_read_is_said_and_can_be_changed(decided, capsys):
    assert decided("reward none", "reward correct", "") == Choices(reward="correct")
    assert (
        "runs.jsonl is read as follows:\n  no row has a field none\n"
        in capsys.readouterr().out
    )


# -- below the run ---------------------------------------------------------------------------


@pytest.fixture
def ending(monkeypatch):
    """Make what `evalmetrics init` prints below a run."""
    monkeypatch.setenv("COLUMNS", "200")
    return init._Ending(
        name="a.bench.yaml", detectable="A drop of 0.1.\n", collected="Moved.\n"
    )


def test_a_run_that_passed_has_recorded_the_baseline(ending, capsys):
    ending.pytest_sessionfinish(exitstatus=0)
    ending.pytest_unconfigure()
    assert capsys.readouterr().out == (
        "\nA drop of 0.1.\nMoved.\n"
        "Commit a.bench.yaml and __baselines__. From now on: pytest a.bench.yaml\n"
    )


def test_a_run_that_never_finished_has_recorded_nothing(ending, capsys):
    ending.pytest_unconfigure()
    assert capsys.readouterr().out == (
        "\nA drop of 0.1.\nMoved.\n"
        "a.bench.yaml is written, and no baseline is recorded: change what is said above, "
        "then: pytest a.bench.yaml --evalmetrics-update\n"
    )


# -- the run that records --------------------------------------------------------------------


class Config:
    """The configuration of the run that records the first baseline."""

    def __init__(self, choices=None, **options):
        self.args = ["evals"]
        self.option = SimpleNamespace(evalmetrics_update=False, **options)
        self.invocation_params = SimpleNamespace(dir=BASE)
        self.registered = {}
        self.suspended = []
        self.pluginmanager = self
        self._choices = choices

    def getoption(self, name):
        assert name == "evalmetrics_choices"
        return self._choices

    def get_plugin(self, name):
        return self if name == "capturemanager" else None

    def suspend(self, *, in_):
        self.suspended.append(in_)

    def register(self, plugin, name):
        self.registered[name] = plugin


WRITTEN = survey.WrittenBenchmark(
    path=BASE / "a.bench.yaml", report="3 rollouts\n", open_lines=[], notes=()
)


def test_the_run_records_the_new_benchmark_alone_and_without_workers():
    config = Config(dist="load", tx=["2*popen"], numprocesses=2)
    init._run_alone(config, WRITTEN)
    assert config.args == ["/somewhere/a.bench.yaml"]
    assert config.option == SimpleNamespace(
        evalmetrics_update=True, dist="no", tx=[], numprocesses=0
    )


def test_a_run_without_xdist_gets_no_options_of_it():
    config = Config()
    init._run_alone(config, WRITTEN)
    assert config.option == SimpleNamespace(evalmetrics_update=True)


def test_a_person_can_answer_while_pytest_captures():
    config = Config()
    init._give_back_stdin(config)
    assert config.suspended == [True]


@pytest.mark.parametrize(
    ("choices", "adds"),
    [
        (None, False),
        ('{"reward": "correct"}', False),
        ('{"add_to_testpaths": true}', True),
    ],
)
def test_testpaths_are_changed_where_that_is_asked_for(
    monkeypatch, tmp_path, choices, adds
):
    collected = []
    file = tmp_path / "a.bench.yaml"
    file.write_text("benchmark:\n")
    written = structs.replace(WRITTEN, path=file)
    monkeypatch.setattr(survey, "write_benchmark", lambda *_: written)
    monkeypatch.setattr(init, "_detectable", lambda _: "A drop of 0.1.\n")
    monkeypatch.setattr(
        init, "_collected", lambda *_, adds: collected.append(adds) or ""
    )
    config = Config(choices)
    text, status = init.first_benchmark(config, "runs.jsonl")
    assert collected == [adds]
    assert text == "3 rollouts\n\na.bench.yaml:\nbenchmark:\n\n"
    assert status is None
    assert list(config.registered) == ["evalmetrics-init"]
