"""What pytest's terminal reporter shows beside our section."""

import pytest

from pytest_evalmetrics.reports.failure import failure_of_words
from pytest_evalmetrics.session.item_reports import failure_text
from pytest_evalmetrics.session.terminal import TerminalHooks


def test_the_section_stands_before_the_short_summary(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.run().stdout.fnmatch_lines(
        ["*= benchmarks =*", "*= short test summary info =*", "FAILED *"]
    )


def test_a_run_without_benchmarks_has_no_section(project):
    project.write("test_plain.py", "def test_plain(): pass\n")
    project.run().stdout.no_fnmatch_line("*= benchmarks =*")


def test_other_warnings_are_still_shown(project):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write(
        "test_plain.py", "import warnings\ndef test_plain(): warnings.warn('of mine')\n"
    )
    result = project.run("-W", "default")
    result.stdout.fnmatch_lines(["*= warnings summary =*", "*of mine*"])


def test_failures_of_ours_are_shown_and_those_of_other_tests_are_not_ours(pytester):
    config = pytester.parseconfigure()
    ours = failure_text(failure_of_words("lost"), config)
    failed = [
        pytest.TestReport("a", ("a", 1, "a"), {}, "failed", ours, "call"),
        pytest.TestReport("b", ("b", 1, "b"), {}, "failed", "assert 0", "call"),
    ]
    config.pluginmanager.get_plugin("terminalreporter").stats["failed"] = failed
    assert TerminalHooks(config, list).shown_failures() == {"a"}
