"""Who writes the files: ours, and reporters of one's own, of which one may fail."""

import json

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
    return {name for name in names if name != ".gitignore" and not name.endswith("run.json")}


OURS = {"aggregate_metrics.json", "report.json", "summary.md", "report.html"}


def test_ours_and_those_that_are_registered_write(one):
    one.write("conftest.py", OWN)
    result = one.run("--evalmetrics-output", "out/x")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["artifacts: out/x_aggregate_metrics.json, *, out/x_verdicts.json"])
    assert files(one, "out") == {f"x_{n}" for n in (*OURS, "verdicts.json", "counts.txt")}
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


def test_one_that_fails_is_told_and_keeps_no_other_from_writing(one):
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


def test_one_that_is_not_there_is_told_with_a_guess_before_anything_is_paid_for(one):
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


def test_gitlab_s_file_is_written_on_gitlab(one, monkeypatch):
    one.bench('expect: {tasks: 1}\nthresholds: {mean_reward: ">= 2"}')
    one.run("--evalmetrics-reporters", "gl-code-quality-report.json")
    monkeypatch.setenv("GITLAB_CI", "true")
    one.run()
    (found,) = json.loads((one.path / "evalmetrics/gl-code-quality-report.json").read_text())
    assert found["location"] == {"path": "math.bench.yaml", "lines": {"begin": 5}}
    assert found["description"] == "math: mean_reward is 1, below 2"
