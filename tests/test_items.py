"""Benchmarks as pytest items, beside tests and their fixtures."""

from conftest import Project

CONFTEST = """
import pytest

@pytest.fixture(scope="module", autouse=True)
def per_module(): yield

@pytest.fixture(scope="session", autouse=True)
def per_session(): yield

@pytest.fixture(autouse=True)
def per_test(request): yield
"""


def test_fixtures_of_the_users_conftest_do_no_harm_and_verbosity_adds_lines(pytester):
    project = Project(pytester)
    project.rollouts([[1.0], [0.0]])
    project.write(
        "sub/two.bench.yml",
        "defaults: {rollouts: ../runs.jsonl, metrics: [mean_reward]}\nbenchmarks:\n"
        '  - {name: easy, thresholds: {mean_reward: ">= 0.1"}}\n'
        '  - {name: hard, thresholds: {mean_reward: ">= 0.9"}}\n',
    )
    project.write("conftest.py", CONFTEST)
    project.write("test_other.py", "def test_other(): pass\n")
    assert "2 benchmarks: 1 PASS, 1 FAIL" in project.run("-q").stdout.str()
    lines = [
        "*= benchmarks =*",
        "FAIL *sub/two.bench.yml::hard *",
        "PASS *sub/two.bench.yml::easy * mean_reward 0.5*2 tasks, 2 rollouts",
        "artifacts: evalmetrics/aggregate_metrics.json, evalmetrics/report.json, *summary.md*",
        "FAILED sub/two.bench.yml::hard - *mean_reward is 0.5, below*",
    ]
    result = project.run("--force-short-summary", "-n", "1")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(lines)
    project.run("-v").stdout.fnmatch_lines(["*PASS * mean_reward * (expected >= 0.1)"])
