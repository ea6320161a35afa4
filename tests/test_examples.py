"""The examples that ship with the project do what README says."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_digits(project):
    shutil.copytree(EXAMPLES / "digits", project.path / "examples" / "digits")
    result = project.run("examples/digits")
    result.assert_outcomes(passed=2, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "PASS * examples/digits/digits.bench.yaml::forest  pass@1 0.9600*",
            "PASS * examples/digits/digits.bench.yaml::logistic  pass@1 0.9675*",
            "FAIL * examples/digits/digits.bench.yaml::regressed-forest (xfail)  pass@1 0.8912*",
        ]
    )


def test_digits_shows_what_a_regression_prints(project):
    shutil.copytree(EXAMPLES / "digits", project.path / "examples" / "digits")
    result = project.run("examples/digits", "--runxfail")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["FAIL  examples/digits/*: pass@1 fell from 0.96 to 0.8912: *"])
    assert project.report()["verdict"] == "FAIL"


def test_the_committed_baseline_of_digits_is_what_an_update_writes(project):
    target = project.path / "examples" / "digits"
    shutil.copytree(EXAMPLES / "digits", target)
    (baseline,) = target.glob("__baselines__/*/*.json")
    before = baseline.read_bytes()
    project.run("examples/digits", "--snapshot-update")
    assert baseline.read_bytes() == before
