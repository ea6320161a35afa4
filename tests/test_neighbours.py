"""Other plugins beside ours, and pytest without some of its own."""

import os
from pathlib import Path

import pytest

NEIGHBOURS = os.environ.get("EVALMETRICS_NEIGHBOURS", "")


@pytest.fixture
def beside(project, monkeypatch):
    """Let a plugin be loaded in the runs of a test; each in a folder of its own."""

    def load(package, *args):
        plugin = next(Path(NEIGHBOURS or "-").glob(f"**/{package}/__init__.py"), None)
        if plugin is None:
            pytest.skip(f"EVALMETRICS_NEIGHBOURS names no folder with {package}")
        monkeypatch.setenv("PYTHONPATH", str(plugin.parent.parent))
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        plugins = ("-p", "pytest_evalmetrics.plugin", "-p", "syrupy", *args)
        return lambda *more: project.pytester.runpytest_subprocess(*plugins, *more)

    return load


def test_testmon_leaves_no_benchmark_out(project, beside):
    run = beside("testmon", "-p", "testmon.pytest_testmon", "--testmon")
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write("test_plain.py", "def test_plain(): pass\n")
    run().assert_outcomes(passed=2)
    project.rollouts([[0.0]])
    result = run()
    result.assert_outcomes(failed=1)
    assert project.report()["verdict"] == "FAIL"


@pytest.mark.parametrize(("reward", "outcome"), [(1.0, "passed"), (0.0, "failed")])
def test_retry_evaluates_a_benchmark_again(project, beside, reward, outcome):
    run = beside("pytest_retry", "-p", "pytest_retry.retry_plugin", "--retries", "2")
    project.rollouts([[reward]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    result = run()
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert result.parseoutcomes()[outcome] == 1
    assert project.report()["verdict"] == {"passed": "PASS", "failed": "FAIL"}[outcome]


def test_without_a_terminal(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write(
        "test_x.py",
        "def test_x(evalmetrics): evalmetrics.check([0.0], thresholds={'mean_reward': '>= 0.5'})",
    )
    result = project.run("-p", "no:terminal")
    assert result.ret == 1
    assert "Error" not in result.stderr.str()
    assert [b["verdict"] for b in project.report()["benchmarks"]] == ["FAIL", "FAIL"]


@pytest.mark.parametrize("option", ["--fixtures", "--fixtures-per-test"])
def test_information_of_pytest_gives_no_verdict(project, option):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    assert project.run(option).ret == 0
    assert not (project.path / "evalmetrics" / "report.json").exists()
