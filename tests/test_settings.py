"""Options and settings: the command line wins, and what means nothing is refused at the start."""

import re
from pathlib import Path

import pytest

from pytest_evalmetrics import settings


def test_a_mode_of_the_journal_that_is_none_is_refused(project):
    project.write("pytest.ini", "[pytest]\nevalmetrics_journal = sometimes\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: evalmetrics_journal = sometimes: expected one of normal, replay, refresh, off"
        ]
    )


def test_the_journal_lies_in_the_configured_place(project):
    project.write(
        "pytest.ini", "[pytest]\nevalmetrics_journal_path = kept/journal.log\n"
    )
    project.write("empty.jsonl", "")
    result = project.run("--evalmetrics-journal-import", "empty.jsonl")
    result.stderr.fnmatch_lines(
        [
            f"ERROR: *can't be imported into {project.path}/kept/journal.log: it is empty*"
        ]
    )


def test_every_option_and_setting_is_documented():
    declared = {
        word
        for word in re.findall(
            r"--evalmetrics-[a-z-]+[a-z]|evalmetrics_[a-z_]+", declared_names()
        )
        if word not in SPELLINGS_OF_COMMANDS
    }
    page = Path(__file__).parents[1] / "docs" / "options.md"
    documented = re.findall(
        r"--evalmetrics-[a-z-]+|evalmetrics_[a-z_]+", page.read_text("utf-8")
    )
    assert set(documented) == declared


# what `evalmetrics` asks of a run
SPELLINGS_OF_COMMANDS = {
    f"--evalmetrics-{name}"
    for name in (
        "accept-report",
        "calibrate",
        "check",
        "choices",
        "compare",
        "culprit",
        "delete-unused",
        "explain",
        "init",
        "inspect",
        "label",
        "list",
        "plan",
        "runs",
        "schema",
        "to-parquet",
    )
}


def declared_names():
    """Return the names of all options and settings, which the help does not show."""
    names = []

    class Group:
        def addoption(self, name, **_):
            names.append(name)

    class Parser:
        def getgroup(self, *_):
            return Group()

        def addini(self, name, **_):
            names.append(name)

    settings.declare(Parser())
    return " ".join(names)


def test_a_run_that_selects_no_benchmark_has_pytests_own_status(project):
    project.rollouts([[1.0]])
    project.bench()
    assert project.run("-k", "none").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.run("gone.bench.yaml").ret == pytest.ExitCode.USAGE_ERROR
