"""What the commands that run pytest ask of it, and what they say of its answer."""

import pytest

from pytest_evalmetrics.baselines import accepting
from pytest_evalmetrics.commands import in_pytest, main


@pytest.fixture
def asked(monkeypatch):
    """Answer in pytest's place; keep the options and the benchmarks that it is asked for."""
    calls = []
    asked = Asked(calls)

    def run(options, *ids):
        calls.append((list(options), list(ids)))
        return asked.status

    monkeypatch.setattr(in_pytest, "run", run)
    return asked


class Asked:
    """The calls of pytest, and the status that it ends with."""

    def __init__(self, calls):
        self.calls = calls
        self.status = 0


# -- baselines -------------------------------------------------------------------------------


@pytest.mark.parametrize(("action", "what"), [("unused", "list"), ("delete", "delete")])
def test_unused_baselines_are_listed_unless_they_are_to_be_deleted(asked, action, what):
    assert main(["baselines", action]) == 0
    assert asked.calls == [([f"--evalmetrics-delete-unused={what}"], [])]


# -- accept ----------------------------------------------------------------------------------


@pytest.fixture
def failing(monkeypatch):
    """A report in which one benchmark fails."""
    monkeypatch.setattr(accepting, "to_accept", lambda *_: ["math.bench.yaml::math"])


ACCEPT = ("accept", "--reason", "a cheaper model")


@pytest.mark.usefixtures("failing")
def test_what_a_report_shows_is_recorded_by_a_run_that_pays_nothing(
    asked, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main([*ACCEPT]) == 0
    ((options, ids),) = asked.calls
    assert ids == ["math.bench.yaml::math"]
    assert options[:4] == [
        "--evalmetrics-update",
        "--evalmetrics-replay",
        "--evalmetrics-reason=a cheaper model",
        f"--evalmetrics-accept-report={tmp_path / 'evalmetrics' / 'report.json'}",
    ]
    assert "--evalmetrics-accept-tasks" not in options


@pytest.mark.usefixtures("failing")
def test_tasks_that_are_gone_are_accepted_where_asked_for(asked):
    assert main([*ACCEPT, "--accept-tasks"]) == 0
    ((options, _),) = asked.calls
    assert "--evalmetrics-accept-tasks" in options


@pytest.mark.usefixtures("failing")
def test_the_report_that_is_accepted_is_not_written_over(asked):
    main([*ACCEPT])
    ((options, _),) = asked.calls
    assert options[-1].startswith("--evalmetrics-output=")
    assert not options[-1].endswith("=evalmetrics/")


@pytest.mark.usefixtures("failing")
def test_what_was_recorded_is_said(asked, capsys):
    asked.status = 0
    main([*ACCEPT])
    assert capsys.readouterr().out == (
        "accepting math.bench.yaml::math\nrecorded: a cheaper model\n"
    )


@pytest.mark.usefixtures("failing")
def test_what_could_not_be_recorded_is_not_said_to_be(asked, capsys):
    asked.status = 1
    assert main([*ACCEPT]) == 1
    assert capsys.readouterr().out == "accepting math.bench.yaml::math\n"


def test_where_nothing_fails_nothing_is_asked(asked, monkeypatch, capsys):
    monkeypatch.setattr(accepting, "to_accept", lambda *_: [])
    assert main([*ACCEPT]) == 0
    assert asked.calls == []
    assert capsys.readouterr().out == (
        "nothing to accept: every baseline lets its benchmark pass\n"
    )
