"""Benchmarks as pytest items: whatever pytest can do with a test, it can do with them."""

import pytest

TWO = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}
benchmarks:
  - {name: easy, tags: [nightly], thresholds: {mean_reward: ">= 0.1"}}
  - {name: hard, thresholds: {mean_reward: ">= 0.9"}}
"""


@pytest.fixture
def two(project):
    project.rollouts([[1.0], [0.0]])
    project.write("sub/two.bench.yml", TWO.replace("runs.jsonl", "../runs.jsonl"))
    return project


def test_last_failed(two):
    two.pytester.runpytest_subprocess("-p", "cacheprovider")
    two.write("sub/two.bench.yml", TWO.replace("runs.jsonl", "../runs.jsonl").replace("0.9", "0.5"))
    result = two.pytester.runpytest_subprocess("-p", "cacheprovider", "--lf")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*hard*"])


def test_fixtures_of_the_users_conftest_do_no_harm(two):
    two.write(
        "conftest.py",
        """
import pytest

@pytest.fixture(scope="module", autouse=True)
def per_module(): yield

@pytest.fixture(scope="session", autouse=True)
def per_session(): yield

@pytest.fixture(autouse=True)
def per_test(request): yield
""",
    )
    two.write("test_other.py", "def test_other(): pass\n")
    two.run().assert_outcomes(passed=2, failed=1)


def test_verbosity(two):
    quiet = two.run("-q").stdout.str()
    assert "2 benchmarks: 1 PASS, 1 FAIL" in quiet
    normal = two.run().stdout
    normal.fnmatch_lines(
        [
            "*= benchmarks =*",
            "PASS * sub/two.bench.yml::easy * mean_reward 0.5*2 tasks, 2 rollouts",
            "FAIL * sub/two.bench.yml::hard *",
            "artifacts: evalmetrics/aggregate_metrics.json, evalmetrics/report.json, *summary.md*",
        ]
    )
    two.run("-v").stdout.fnmatch_lines(["*PASS * mean_reward * (expected >= 0.1)"])


def test_short_summary_gives_the_reason_with_and_without_xdist(two):
    for args in ((), ("-n", "1")):
        two.run("--force-short-summary", *args).stdout.fnmatch_lines(
            ["FAILED sub/two.bench.yml::hard - *mean_reward is 0.5, below*"]
        )
