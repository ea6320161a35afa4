"""What a session reports when a run ends, and what it refuses before one begins."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalmetrics import run_folder, run_transport
from pytest_evalmetrics.errors import ArtifactError, DataError, RegistryError
from pytest_evalmetrics.reports import reporters
from pytest_evalmetrics.session import beside_syrupy, evaluation_session, workers
from pytest_evalmetrics.session.evaluation_session import EvaluationSession
from pytest_evalmetrics.session.terminal import TerminalHooks

OK = pytest.ExitCode.OK
FAILED = pytest.ExitCode.TESTS_FAILED
NOT_ENDED = [pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR]


class Terminal:
    """Keeps the lines that are printed, each with its colour."""

    def __init__(self):
        self.lines = []

    def add_lines(self, lines, colour=""):
        self.lines += [(line, colour) for line in lines]


@pytest.fixture
def session(pytestconfig):
    """A session of a run of its own, whose terminal keeps what is printed."""
    made = EvaluationSession(pytestconfig)
    made._is_worker = False  # whoever runs these tests
    made._terminal = Terminal()
    return made


def ended(status=OK):
    return SimpleNamespace(exitstatus=status)


# -- unused baselines ------------------------------------------------------------------------


@pytest.fixture
def unused(monkeypatch):
    """Find one unused baseline in this process."""
    monkeypatch.setattr(beside_syrupy, "unused_baselines", lambda _: ["here.json"])
    monkeypatch.setattr(beside_syrupy, "lines_of_unused", sorted)


@pytest.mark.usefixtures("unused")
def test_unused_baselines_of_all_processes_fail_a_run(session):
    session.add_from_worker(["of_worker.json"], {})
    end = ended()
    session._report_unused(end)
    assert session._terminal.lines == [("here.json", "red"), ("of_worker.json", "red")]
    assert end.exitstatus == FAILED


@pytest.mark.usefixtures("unused")
def test_unused_baselines_warn_where_unused_snapshots_do(
    session, monkeypatch, pytestconfig
):
    monkeypatch.setattr(
        beside_syrupy, "only_warns", lambda config: config is pytestconfig
    )
    end = ended()
    session._report_unused(end)
    assert session._terminal.lines == [("here.json", "yellow")]
    assert end.exitstatus == OK


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize("status", NOT_ENDED)
def test_baselines_of_a_run_that_did_not_end_are_not_unused(session, status):
    session._report_unused(ended(status))
    assert session._terminal.lines == []


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        ({"warn_unused_snapshots": True}, True),
        ({"warn_unused_snapshots": False}, False),
        ({}, False),  # without syrupy
    ],
)
def test_an_option_of_syrupy_lets_unused_baselines_warn(options, warns):
    def getoption(name, default):
        return options.get(name, default)

    config = SimpleNamespace(getoption=getoption)
    assert beside_syrupy.only_warns(config) is warns


# -- the policy ------------------------------------------------------------------------------


class Policy:
    """Lacks the benchmarks that were skipped, and has too many results."""

    def missing(self, skipped):
        return [f"skipped: {item}" for item in skipped]

    def too_many(self, results):
        return [f"{len(results)} results"]


def test_what_a_policy_lacks_is_said_in_red_and_fails(session):
    session._policy = Policy()
    session._selection.skip("a.bench.yaml::a", "no key")
    end = ended()
    session._report_policy(end)
    assert session._terminal.lines == [
        ("skipped: a.bench.yaml::a", "red"),
        ("0 results", "red"),
    ]
    assert end.exitstatus == FAILED


@pytest.mark.parametrize("status", NOT_ENDED)
def test_a_run_that_did_not_end_has_no_policy(session, status):
    session._policy = Policy()
    end = ended(status)
    session._report_policy(end)
    assert session._terminal.lines == []
    assert end.exitstatus == status


# -- the journal -----------------------------------------------------------------------------


@pytest.fixture
def moved(monkeypatch):
    """Let an option ask for the journal."""
    monkeypatch.setattr(
        evaluation_session.settings, "moves_journal", lambda _config: True
    )


@pytest.mark.usefixtures("moved")
def test_a_journal_that_is_exported_is_said_so(session, monkeypatch):
    monkeypatch.setattr(run_transport, "export_asked", lambda _: ["3 answers"])
    end = ended()
    session._export_journal(end)
    assert session._terminal.lines == [("3 answers", "")]
    assert end.exitstatus == OK


@pytest.mark.usefixtures("moved")
def test_a_journal_that_can_t_be_exported_fails_the_run(session, monkeypatch):
    def fail(_config):
        raise DataError("no room")

    monkeypatch.setattr(run_transport, "export_asked", fail)
    end = ended()
    session._export_journal(end)
    assert session._terminal.lines == [("no room", "red")]
    assert end.exitstatus == FAILED


# -- the folder ------------------------------------------------------------------------------


class Folder:
    """A folder that another run writes into."""

    def __init__(self, _prefix, *, evaluates, reporters):
        self.evaluates = evaluates
        self.reporters = reporters

    def start(self):
        raise ArtifactError("another run writes here")


@pytest.fixture
def taken(monkeypatch):
    monkeypatch.setattr(run_folder, "RunFolder", Folder)
    monkeypatch.setattr(evaluation_session, "let_register", nullcontext)


@pytest.mark.usefixtures("taken")
def test_a_folder_of_another_run_refuses_what_workers_collect(session):
    assert session.add_collected(["a.bench.yaml::a"]) == "another run writes here"


@pytest.mark.usefixtures("taken")
def test_the_files_of_all_reporters_are_those_of_the_folder(session, monkeypatch):
    monkeypatch.setattr(
        reporters, "chosen_reporters", lambda names: [names, "report.json"]
    )
    assert session._started_folder().reporters == [None, "report.json"]


@pytest.mark.usefixtures("taken")
def test_reporters_that_can_t_be_found_have_no_files(session, monkeypatch):
    def refuse(_names):
        raise RegistryError("no such reporter")

    monkeypatch.setattr(reporters, "chosen_reporters", refuse)
    assert session._started_folder().reporters == []


def test_a_folder_of_workers_that_was_never_made_is_removed_without_an_error(tmp_path):
    folder = tmp_path / "gone"
    workers.remove_shared_folder(SimpleNamespace(stash={workers._FOLDER: folder}))
    assert not Path(folder).exists()


# -- lines -----------------------------------------------------------------------------------


def test_lines_of_the_section_fit_the_terminal(pytestconfig, monkeypatch):
    hooks = TerminalHooks(pytestconfig, list)
    monkeypatch.setattr(hooks, "width", lambda: 20)
    hooks.add_lines(["one two three four five six"], "red")
    assert hooks._lines == [("one two three four", "red"), ("      five six", "red")]


def test_lines_of_a_log_are_as_long_as_they_are(pytestconfig, monkeypatch):
    hooks = TerminalHooks(pytestconfig, list)
    monkeypatch.setattr(hooks, "width", lambda: None)
    hooks.add_lines(["one two three four five six"])
    assert hooks._lines == [("one two three four five six", None)]
