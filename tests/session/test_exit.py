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
