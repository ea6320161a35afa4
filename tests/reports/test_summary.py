"""The page for a pull request, and what GitHub is told."""

from __future__ import annotations

import json
import re

import pytest

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports import tell_ci
from pytest_evalmetrics.reports.ci import github_annotations
from pytest_evalmetrics.reports.summary import summary


@pytest.fixture
def failing(project):
    project.rollouts([[1.0], [0.0]])
    project.bench(
        "description: x\nexpect: {tasks: 2}\nmetrics: [mean_reward]\n"
        'thresholds: {mean_reward: ">= 0.9"}'
    )
    return project


def test_a_run_leaves_it_and_github_gets_it(failing, monkeypatch):
    target = failing.path / "step.md"
    target.write_text("earlier\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = failing.run("-q")
    text = (failing.path / "evalmetrics" / "summary.md").read_text()
    assert target.read_text() == f"earlier\n{text}\n"
    assert text.startswith("## ❌ Benchmarks: FAIL\n\n1 FAIL\n")
    assert "| ❌ | math | mean\\_reward | 0.5000 | -5.8531 to 6.8531 |" in text
    result.stdout.fnmatch_lines(
        ["::error file=math.bench.yaml,line=7,title=math%3A FAIL::mean_reward is 0.5, below 0.9"]
    )


def _entry(name, reason, verdict="FAIL"):
    check = {
        "gate": "threshold",
        "name": name,
        "verdict": verdict,
        "agent": "",
        "value": 0.5,
        "bound": ">= 1",
        "reason": reason,
        "hint": "",
        "estimate": None,
        "line": 3,
        "evidence": {},
    }
    return {
        "id": f"a::{name}",
        "name": name,
        "file": "a,b:c.yaml",
        "line": 1,
        "verdict": verdict,
        "xfail": False,
        "agents": [],
        "checks": [check],
    }


def _report(*entries):
    return {"verdict": "FAIL", "benchmarks": list(entries), "not_evaluated": ["z"]}


def test_nothing_that_a_file_says_is_interpreted():
    text = summary(_report(_entry("<img src=x>|`a`", "**x** <script>\n| # y")))
    assert re.findall(r"(?<!\\)<(?!/?(?:details|summary)>)", text) == []
    assert "\\|\\`a\\`" in text
    assert "z was not evaluated" in text


def test_annotations_are_escaped_and_errors_come_first():
    lines = github_annotations(_report(_entry("w", "odd", "WARN"), _entry("f", "100 %\nbad")))
    assert lines[0] == "::error file=a%2Cb%3Ac.yaml,line=3,title=f%3A FAIL::100 %25%0Abad"
    assert lines[1].startswith("::warning ")


def test_a_summary_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(ArtifactError, match="job summary"):
        tell_ci(_report(), {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "where")})


def test_without_github_nothing_is_told():
    assert tell_ci(_report(_entry("x", "y")), {}) == []
    assert json.dumps(github_annotations(_report(_entry("x", "y"))))
