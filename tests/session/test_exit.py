"""What fails a run beside its benchmarks, and what JUnit reads of it."""

import pytest

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
