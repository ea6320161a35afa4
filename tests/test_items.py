"""Benchmarks as pytest items: whatever pytest can do with a test, it can do with them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

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


def test_ids_name_the_file_and_the_benchmark(two):
    result = two.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["sub/two.bench.yml::easy", "sub/two.bench.yml::hard"])
    assert not (two.path / "evalmetrics").exists()


@pytest.mark.parametrize(
    ("args", "outcomes"),
    [
        ((), {"passed": 1, "failed": 1}),
        (("-k", "easy"), {"passed": 1, "deselected": 1}),
        (("-m", "nightly"), {"passed": 1, "deselected": 1}),
        (("-m", "not nightly", "--strict-markers"), {"failed": 1, "deselected": 1}),
        (("--deselect", "sub/two.bench.yml::hard"), {"passed": 1, "deselected": 1}),
        (("sub/two.bench.yml::easy",), {"passed": 1}),
        (("-n", "2"), {"passed": 1, "failed": 1}),
        (("-W", "error"), {"passed": 1, "failed": 1}),
        (("-p", "no:terminal"), {}),
    ],
)
def test_selection(two, args, outcomes):
    result = two.run(*args)
    if outcomes:
        result.assert_outcomes(**outcomes)
    assert result.ret == (0 if "failed" not in outcomes and outcomes else 1)


def test_last_failed(two):
    two.pytester.runpytest_subprocess("-p", "cacheprovider")
    two.write("sub/two.bench.yml", TWO.replace("runs.jsonl", "../runs.jsonl").replace("0.9", "0.5"))
    result = two.pytester.runpytest_subprocess("-p", "cacheprovider", "--lf")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*hard*"])


def test_skip_and_xfail(project):
    project.rollouts([[1.0], [0.0]])
    project.write(
        "x.bench.yaml",
        """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, thresholds: {mean_reward: ">= 0.9"}}
benchmarks:
  - {name: a, skip: true}
  - {name: b, skip: no GPU here}
  - {name: c, xfail: true}
  - {name: d, xfail: known to be weak}
  - {name: e, xfail: {reason: gone, strict: true}, thresholds: {mean_reward: ">= 0.1"}}
  - {name: f, xfail: true, rollouts: nowhere.jsonl}
""",
    )
    result = project.run("-rsxf")
    result.assert_outcomes(skipped=2, xfailed=2, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*no GPU here*",
            "*known to be weak*",
            "FAILED x.bench.yaml::e*",
            "FAILED x.bench.yaml::f*",
        ]
    )


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


def test_other_file_names_by_setting(project):
    project.rollouts([[1.0]])
    project.bench("metrics: [mean_reward]", name="evals/math.eval.yaml")
    project.rollouts([[1.0]], name="evals/runs.jsonl")
    project.write("pytest.ini", "[pytest]\nevalmetrics_files = *.eval.yaml\n")
    project.run().assert_outcomes(passed=1)


def test_junit_carries_the_key_metrics_and_the_verdict(two):
    two.run("--junitxml=junit.xml")
    junit = ET.parse(two.path / "junit.xml")  # noqa: S314 - pytest has just written it
    cases = {c.get("name"): c for c in junit.iter("testcase")}
    properties = {p.get("name"): p.get("value") for p in cases["hard"].iter("property")}
    assert properties["evalmetrics.verdict"] == "FAIL"
    assert properties["mean_reward"] == "0.5"
    (failure,) = cases["hard"].iter("failure")
    assert "mean_reward is 0.5, below 0.9" in failure.get("message")


def test_a_broken_benchmark_file_is_a_collection_error_with_its_lines(project):
    project.write("x.bench.yaml", "benchmark:\n  nam: x\n  rollouts: 5\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["x.bench.yaml:2: *nam*did you mean 'name'*", "x.bench.yaml:3:*"])
    result.stdout.no_fnmatch_line("*Traceback*")


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
    for args in ((), ("-n", "2")):
        two.run("--force-short-summary", *args).stdout.fnmatch_lines(
            ["FAILED sub/two.bench.yml::hard - *mean_reward is 0.5, below*"]
        )


def test_the_setting_register_hook_runs_once_before_the_first_benchmark(two):
    two.write(
        "conftest.py",
        """
def pytest_evalmetrics_register(registry):
    def two(task_rewards): return 2.0
    registry.metrics.register("two")(two)

def pytest_evalmetrics_benchmark_finished(result):
    print("finished", result.name, result.verdict)

def pytest_evalmetrics_report(report):
    print("reported", report["verdict"])
""",
    )
    two.write(
        "sub/two.bench.yml",
        TWO.replace("runs.jsonl", "../runs.jsonl").replace("[mean_reward]", "[mean_reward, two]"),
    )
    result = two.run("-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*finished easy PASS*", "*finished hard FAIL*", "*reported FAIL*"])
