"""Who writes the files: ours, and reporters of one's own, of which one may fail."""

import json
import re

import pytest

OWN = """
import json
from pathlib import Path
from pytest_evalmetrics import register_reporter

@register_reporter("verdicts")
def verdicts(report, prefix):
    "The verdict of each benchmark."
    path = Path(f"{prefix}verdicts.json")
    path.write_text(json.dumps({b["id"]: b["verdict"] for b in report["benchmarks"]}))
    return path

@register_reporter("counts")
class Counts:
    def write(self, report, prefix):
        Path(f"{prefix}counts.txt").write_text(str(len(report["benchmarks"])))
"""
BROKEN = """
from pytest_evalmetrics import register_reporter

@register_reporter("broken")
def broken(report, prefix):
    raise ValueError("no such channel")

@register_reporter("leaving")
def leaving(report, prefix):
    raise SystemExit("that is all")
"""


@pytest.fixture
def one(project):
    project.rollouts([[1.0]])
    project.bench("expect: {tasks: 1}")
    return project


def files(project, folder="evalmetrics"):
    """All that is there but for run.json, see test_run_folder."""
    names = {path.name for path in (project.path / folder).iterdir()}
    return {
        name for name in names if name != ".gitignore" and not name.endswith("run.json")
    }


OURS = {"aggregate_metrics.json", "report.json", "summary.md", "report.html"}


def test_ours_and_those_that_are_registered_write(one):
    one.write("conftest.py", OWN)
    result = one.run("--evalmetrics-output", "out/x")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["artifacts: out/x_aggregate_metrics.json, *, out/x_verdicts.json"]
    )
    assert files(one, "out") == {
        f"x_{n}" for n in (*OURS, "verdicts.json", "counts.txt")
    }
    assert json.loads((one.path / "out/x_verdicts.json").read_text()) == {
        "math.bench.yaml::math": "PASS"
    }


def test_those_that_are_chosen_write_alone(one):
    one.write("conftest.py", OWN)
    one.write("pytest.ini", "[pytest]\nevalmetrics_reporters = summary.md verdicts\n")
    assert one.run("-n", "1").ret == 0
    assert files(one) == {"summary.md", "verdicts.json"}
    assert one.run("--evalmetrics-reporters", "counts, report.json").ret == 0
    assert files(one) == {"counts.txt", "report.json"}  # none of an earlier run


def test_a_failing_reporter_is_reported_and_the_others_write(one):
    one.write("conftest.py", OWN + BROKEN)
    result = one.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "the reporter 'broken' failed: ValueError: no such channel",
            "  fix conftest.broken (*conftest.py:*), or skip it with --evalmetrics-reporters",
            "the reporter 'leaving' failed: SystemExit: that is all",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert files(one) == {*OURS, "verdicts.json", "counts.txt"}


def test_a_missing_reporter_is_reported_with_a_guess_before_anything_is_paid_for(one):
    result = one.run("--evalmetrics-reporters", "sumary.md")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: there is no reporter 'sumary.md': did you mean 'summary.md'*"]
    )
    result.stdout.no_fnmatch_line("*no reporter*")  # once is enough
    assert not (one.path / "evalmetrics").exists()


def test_a_file_that_can_t_be_written_keeps_no_other_from_it(one):
    (one.path / "evalmetrics" / "report.json").mkdir(parents=True)
    (one.path / "evalmetrics" / "report.json" / "x").touch()
    result = one.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*report.json: can't be written: *"])
    assert files(one) == OURS


def test_gitlab_s_file_lists_each_fault_as_documented(project, monkeypatch):
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_PROJECT_DIR", str(project.path.parent))
    output = project.path / "evalmetrics/gl-code-quality-report.json"
    bad = "thresholds: {mean_reward: '>= 0.9'}"
    project.rollouts([[1.0]] * 20, "old.jsonl")
    project.rollouts([[0.0]] * 5 + [[1.0]] * 15)  # p = 1/32
    project.write(
        "a.bench.yaml",
        "defaults: {rollouts: runs.jsonl, metrics: [mean_reward, pass_rate]}\nbenchmarks:\n"
        f"- {{name: fails, {bad[:-1]}, pass_rate: '>= 0.9'}}}}\n"
        f"- {{name: known, xfail: later, {bad}}}\n"
        "- {name: warns, metrics: [mean_reward], baseline: {rollouts: old.jsonl}}\n"
        "- {name: gone, rollouts: gone.jsonl}\n",
    )
    project.run("-Wdefault")
    violations = json.loads(output.read_text())
    keys = {"description", "check_name", "fingerprint", "severity", "location"}
    assert all(set(violation) == keys for violation in violations)
    assert all(
        re.fullmatch("[0-9a-f]{32}", violation["fingerprint"])
        for violation in violations
    )
    assert len({violation["fingerprint"] for violation in violations}) == 5
    severities = {
        (v["description"].partition(":")[0], v["severity"]) for v in violations
    }
    assert severities == {
        ("fails", "critical"),
        ("gone", "major"),
        ("known", "info"),
        ("warns", "minor"),
    }
    path = f"{project.path.name}/a.bench.yaml"
    assert violations[0]["description"] == "fails: mean_reward is 0.75, below 0.9"
    assert violations[0]["check_name"] == "evalmetrics-threshold"
    assert violations[0]["location"] == {"path": path, "lines": {"begin": 3}}

    project.rollouts([[0.0]] * 6 + [[1.0]] * 14)
    project.run("-x", "-Wdefault")
    first, *_, lost = json.loads(output.read_text())
    assert first["description"] == "fails: mean_reward is 0.7, below 0.9"
    assert (
        first["fingerprint"] == violations[0]["fingerprint"]
    )  # of the fault, not of its numbers
    assert lost["description"] == "a.bench.yaml::warns was not evaluated"
    assert lost["location"] == {"path": path, "lines": {"begin": 1}}
