"""Who writes the files: ours, and reporters of one's own, of which one may fail."""

import json
import re
from functools import cache

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


def violations_of(project, *args):
    """Run a project's benchmarks, and return the violations that GitLab reads."""
    project.run("-Wdefault", *args)
    file = project.path / "evalmetrics/gl-code-quality-report.json"
    return json.loads(file.read_text())


def write_benchmarks(project):
    """Write benchmarks of four outcomes."""
    project.rollouts([[1.0]] * 20, "old.jsonl")
    project.rollouts([[0.0]] * 5 + [[1.0]] * 15)  # p = 1/32
    project.write(
        "a.bench.yaml",
        "defaults: {rollouts: runs.jsonl, metrics: [mean_reward, pass_rate]}\n"
        "benchmarks:\n"
        "- {name: fails, thresholds: {mean_reward: '>= 0.9', pass_rate: '>= 0.9'}}\n"
        "- {name: known, xfail: later, thresholds: {mean_reward: '>= 0.9'}}\n"
        "- {name: warns, metrics: [mean_reward], baseline: {rollouts: old.jsonl}}\n"
        "- {name: gone, rollouts: gone.jsonl}\n",
    )


@pytest.fixture
def in_gitlab(monkeypatch):
    """Let a project run in GitLab's CI."""

    def enter(project):
        monkeypatch.setenv("GITLAB_CI", "true")
        monkeypatch.setenv("CI_PROJECT_DIR", str(project.path.parent))
        return project

    return enter


@pytest.fixture
def gitlab(project, in_gitlab):
    write_benchmarks(project)
    return in_gitlab(project)


@pytest.fixture(scope="module")
def run_once(shared_project):
    """A project whose first run serves all tests."""
    write_benchmarks(shared_project)
    shared_project.run = cache(shared_project.run)
    return shared_project


@pytest.fixture
def violations(run_once, in_gitlab):
    return violations_of(in_gitlab(run_once))


def test_gitlab_s_file_has_the_documented_keys(violations):
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    keys = {"description", "check_name", "fingerprint", "severity", "location"}
    assert [set(violation) for violation in violations] == [keys] * 5


def test_gitlab_s_file_gives_each_verdict_its_severity(violations):
    severities = set()
    for violation in violations:
        benchmark = violation["description"].partition(":")[0]
        severities.add((benchmark, violation["severity"]))
    assert severities == {
        ("fails", "critical"),
        ("gone", "major"),
        ("known", "info"),
        ("warns", "minor"),
    }


def test_gitlab_s_file_points_at_the_line_of_the_gate(violations, run_once):
    first = violations[0]
    assert first["description"] == "fails: mean_reward is 0.75, below 0.9"
    assert first["check_name"] == "evalmetrics-threshold"
    path = f"{run_once.path.name}/a.bench.yaml"
    assert first["location"] == {"path": path, "lines": {"begin": 3}}


def test_gitlab_knows_each_fault_by_a_fingerprint_of_its_own(violations):
    fingerprints = [violation["fingerprint"] for violation in violations]
    for fingerprint in fingerprints:
        assert re.fullmatch("[0-9a-f]{32}", fingerprint)
    assert len(set(fingerprints)) == 5


def test_gitlab_knows_a_fault_again_whose_numbers_changed(gitlab):
    before = violations_of(gitlab)[0]
    gitlab.rollouts([[0.0]] * 6 + [[1.0]] * 14)
    now = violations_of(gitlab)[0]
    assert now["description"] == "fails: mean_reward is 0.7, below 0.9"
    assert now["fingerprint"] == before["fingerprint"]


def test_gitlab_is_told_of_benchmarks_that_a_run_did_not_reach(gitlab):
    lost = violations_of(gitlab, "-x")[-1]
    assert lost["description"] == "a.bench.yaml::warns was not evaluated"
    path = f"{gitlab.path.name}/a.bench.yaml"
    assert lost["location"] == {"path": path, "lines": {"begin": 1}}
