"""What fails a run beside its benchmarks, and what JUnit reads of it."""

import pytest

from pytest_evalmetrics.run_transport import ItemRuntime
from pytest_evalmetrics.session.evaluation_session import EvaluationSession

HOLDS = "thresholds: {mean_reward: '>= 0.5'}"


@pytest.fixture
def holding(project):
    """A benchmark that holds."""
    project.rollouts([[1.0]])
    project.bench(HOLDS)
    return project


def test_a_run_without_a_required_benchmark_fails(holding):
    result = holding.run("-o", "evalmetrics_policy=required=safety")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_unused_baseline_fails_a_run(holding):
    holding.bench(f"{HOLDS}\nbaseline: true")
    holding.run("--snapshot-update")
    baseline = holding.baseline()
    baseline.with_name("gone.json").write_bytes(baseline.read_bytes())
    assert holding.run().ret == pytest.ExitCode.TESTS_FAILED


def test_the_verdict_of_a_strict_expected_failure_that_passes_is_fail(project):
    project.write(
        "test_mine.py",
        "import pytest\n"
        "@pytest.mark.xfail(strict=True)\n"
        "def test_mine(evalmetrics):\n"
        "    evalmetrics.check([1.0], thresholds={'mean_reward': '>= 1'})\n",
    )
    project.run("--junitxml", "junit.xml")
    text = (project.path / "junit.xml").read_text(encoding="utf-8")
    assert 'evalmetrics.verdict" value="FAIL"' in text


EXPECTED = """
import pytest

@pytest.mark.xfail(reason="weak")
def test_named(evalmetrics):
    evalmetrics.check([0.0], name="hard", thresholds={"mean_reward": ">= 1"})

@pytest.mark.xfail(reason="weak too")
def test_unnamed(evalmetrics):
    evalmetrics.check([0.0], thresholds={"mean_reward": ">= 1"})

@pytest.mark.xfail(reason="broken")
def test_before_any(evalmetrics):
    raise RuntimeError
"""


def test_an_expected_failure_is_a_skip_only_where_nothing_was_evaluated(project):
    project.write("test_mine.py", EXPECTED)
    project.run()
    assert project.report()["skipped"] == [
        {"id": "test_mine.py::test_before_any", "reason": "xfail: broken"}
    ]


def test_a_journal_is_emptied_once_in_a_run(holding):
    result = holding.run("--evalmetrics-journal-clear")
    lines = [line for line in result.outlines if line.startswith("journal: ")]
    assert lines == ["journal: emptied, 0 answers dropped"]


def test_a_shared_journal_that_can_t_be_written_fails_the_run(holding):
    # a folder stands in the place of the file
    (holding.path / "shared").mkdir()
    result = holding.run("--evalmetrics-journal-export=shared")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_unknown_reporter_is_refused_before_a_benchmark_is_evaluated(holding):
    result = holding.run("--evalmetrics-reporters", "report.jsn")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "passed" not in result.parseoutcomes()
    assert "report.json" in result.stderr.str()


def test_an_unknown_reporter_does_not_matter_without_a_benchmark(project):
    project.write("test_plain.py", "def test_plain(): pass\n")
    result = project.run("--evalmetrics-reporters", "report.jsn")
    assert result.ret == pytest.ExitCode.OK


BREAKS = """
def test_breaks(evalmetrics):
    evalmetrics.check([1.0], thresholds={"mean_reward": ">= 1"})
    raise RuntimeError("before a further check")
"""


def test_a_test_that_breaks_behind_a_check_was_not_evaluated_to_its_end(project):
    project.write("test_mine.py", BREAKS)
    project.run()
    assert project.report()["not_evaluated"] == ["test_mine.py::test_breaks"]


def test_a_benchmark_that_only_warns_is_whole_where_warnings_are_errors(project):
    project.rollouts([[1.0], [0.0]])
    project.bench("thresholds: {mean_reward: {min: 0.9, tier: advisory}}")
    result = project.run("-W", "error")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.report()["not_evaluated"] == []


class Item:
    """An item, as far as its client looks at it."""

    name = "math"

    def __init__(self, config):
        self.config = config


def test_the_connections_of_a_run_are_closed_at_its_end(pytester):
    config = pytester.parseconfigure()
    of_run = ItemRuntime(Item(config), "math").transport()
    session = pytest.Session.from_config(config)
    session.exitstatus = pytest.ExitCode.OK
    EvaluationSession(config).pytest_sessionfinish(session)
    later = ItemRuntime(Item(config), "math").transport()
    assert later is not of_run
    later.close()
