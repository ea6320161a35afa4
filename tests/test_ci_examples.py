"""The workflow files of examples/ci, executed step by step.

What a runner does for a step that ``uses:`` an action is done here by hand; the step that installs
needs a network, and is run where EVALMETRICS_CI_INSTALL says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CI = ROOT / "examples" / "ci"


@pytest.fixture
def checkout(tmp_path):
    """A project as a runner checks it out: one folder of benchmarks with its baselines."""
    folder = tmp_path / "project"
    shutil.copytree(
        ROOT / "examples" / "digits",
        folder / "benchmarks",
        ignore=shutil.ignore_patterns("evalmetrics", "__pycache__"),
    )
    return folder


def step(command, folder, **environment):
    if "pip install" in command and not os.environ.get("EVALMETRICS_CI_INSTALL"):
        return 0
    outside = ("GITHUB_", "GITLAB_", "CI", "PYTEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(outside)}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env=kept | {"CI": "true"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    print(done.stdout)  # noqa: T201 - pytest shows it where the step fails
    return done.returncode


def spoil(folder):
    """Let the regressed forest take the forest's place, as a bad change would."""
    runs = folder / "benchmarks" / "runs"
    shutil.copy(runs / "regressed_forest.jsonl", runs / "forest.jsonl")


def on_github(folder, event, **environment):
    """Run the job as GitHub would; give the code that it ends with."""
    document = yaml.safe_load((CI / "github-actions.yml").read_text(encoding="utf-8"))
    code = 0
    for each in document["jobs"]["benchmarks"]["steps"]:
        condition = each.get("if", "")
        if "pull_request" in condition and event != "pull_request":
            continue
        if code and condition != "always()":
            continue
        if "run" in each:
            found = step(each["run"], folder, GITHUB_ACTIONS="true", **environment)
            code = code or (0 if each.get("continue-on-error") else found)
        elif each["uses"].startswith("actions/upload-artifact@"):
            for path in each["with"]["path"].split():
                assert (folder / path).exists(), path
    return code


@pytest.mark.parametrize("event", ["push", "pull_request"])
def test_the_github_workflow_is_green(checkout, tmp_path, event):
    page = tmp_path / "step-summary.md"
    assert on_github(checkout, event, GITHUB_STEP_SUMMARY=str(page)) == 0
    assert "Benchmarks: PASS" in page.read_text(encoding="utf-8")


def test_the_github_workflow_is_red_and_keeps_its_reports(checkout, tmp_path):
    spoil(checkout)
    page = tmp_path / "step-summary.md"
    assert on_github(checkout, "pull_request", GITHUB_STEP_SUMMARY=str(page)) == 1
    assert "pass@1 fell from 0.96" in page.read_text(encoding="utf-8")


def test_the_journal_is_kept_of_a_job_that_is_red_or_cancelled():
    document = yaml.safe_load((CI / "github-actions.yml").read_text(encoding="utf-8"))
    steps = document["jobs"]["benchmarks"]["steps"]
    names = [each["name"] for each in steps]
    caching = {each["uses"]: each for each in steps if "cache" in each.get("uses", "")}
    restored, saved = caching["actions/cache/restore@v4"], caching["actions/cache/save@v4"]
    assert saved["if"] == "always()"  # which `actions/cache` is not
    assert names.index(restored["name"]) < names.index("Gate") < names.index(saved["name"])
    for key in ("path", "key"):
        assert restored["with"][key] == saved["with"][key]


def on_gitlab(folder):
    document = yaml.safe_load((CI / "gitlab-ci.yml").read_text(encoding="utf-8"))
    job = document["benchmarks"]
    code = 0
    for command in job["before_script"] + job["script"]:
        code = code or step(command, folder, GITLAB_CI="true")
    for path in (*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()):
        assert (folder / path).exists(), path
    return code


def test_the_gitlab_job_is_green(checkout):
    assert on_gitlab(checkout) == 0


def test_the_gitlab_job_is_red_and_keeps_its_reports(checkout):
    spoil(checkout)
    assert on_gitlab(checkout) == 1
