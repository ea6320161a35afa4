"""Options and settings: the command line wins, and what means nothing is refused at the start."""

import re
from pathlib import Path

import pytest


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


def test_every_option_and_setting_of_the_help_is_documented(project):
    text = project.run("--help").stdout.str()
    options = set(
        re.findall(
            r"^ +(--evalmetrics-[a-z-]+|evalmetrics_[a-z_]+)", text, re.MULTILINE
        )
    )
    assert {
        "--evalmetrics-list",
        "--evalmetrics-history",
        "evalmetrics_journal_path",
    } <= options
    page = Path(__file__).parents[1] / "docs" / "options.md"
    documented = re.findall(
        r"--evalmetrics-[a-z-]+|evalmetrics_[a-z_]+", page.read_text("utf-8")
    )
    assert set(documented) == options


def test_a_run_that_selects_no_benchmark_has_pytests_own_status(project):
    project.rollouts([[1.0]])
    project.bench()
    assert project.run("-k", "none").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.run("gone.bench.yaml").ret == pytest.ExitCode.USAGE_ERROR
