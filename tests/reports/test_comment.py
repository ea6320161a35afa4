"""The comment on a pull request: what it may hold, and how much."""

import json
import re

import pytest

from pytest_evalmetrics.reports.pull_request import comment_of

LIMIT = 65_536  # characters of a comment on GitHub
ATTACK = '@octocat <img src=x onerror=alert(1)> [a](javascript:b) `x` $y$ | "'


def places(value, path=()):
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in entries:
            yield from places(inner, (*path, key))
    else:
        yield path


@pytest.fixture
def report(project):
    """The report of a benchmark that fails, with texts of each kind that a report may hold."""
    texts = {"lang": "de", "prompt": "why?", "response": "so", "expected": "thus"}
    project.rollouts([[1.0, 1.0]] * 12, "old.jsonl", **texts)
    project.rollouts([[0.0, 0.0]] * 9 + [[None, 0.0]], **texts)
    project.bench(
        "description: sums\ntags: [nightly]\nmetrics: [pass@1, mean_reward]\nbreakdown: [lang]\n"
        "expect: {tasks: 12}\nthresholds: {pass@1: '>= 0.9'}\nbaseline: {rollouts: old.jsonl}"
    )
    project.write("test_x.py", "def test_x(evalmetrics): 1 / 0\n")
    project.bench("skip: later", "skipped.bench.yaml")
    assert project.run().ret == 1
    return project.report()


def comment(reports):
    """Write the comment about reports, each as JSON."""
    files = {name: json.dumps(report).encode() for name, report in reports.items()}
    return comment_of(files, marker="<!-- m -->", run_url="https://example.org/r")


def texts(report):
    """Yield the place of each text that no reader of the JSON takes for a word of its own."""
    for path in places(report):
        holder = report
        for part in path:
            holder = holder[part]
        if isinstance(holder, str):
            yield path


def test_nothing_that_a_report_holds_becomes_markup(report):
    text = json.dumps(report)
    shown = 0
    for path in texts(report):
        report = json.loads(text)
        holder = report
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = ATTACK
        body = comment({ATTACK: report, "b": report})
        shown += "octocat" in body.replace(f"({ATTACK})", "")
        # within HTML, Markdown is none
        markdown = "\n".join(
            x for x in body.splitlines() if not x.startswith("<summary>")
        )
        assert not re.search(r"(?<!\\)<img", body), path
        assert not re.search(r"(?<![\w\\])@octocat", body), path
        assert not re.search(r"(?<!\\)\]\\?\(javascript", markdown), path
    assert shown > 10  # the names, the reasons, the notes ...


@pytest.mark.parametrize("broken", [None, [], {}, {"verdict": "FAIL"}, "text"])
def test_an_invalid_report_is_reported(broken):
    assert "left no report that can be read" in comment({"evalmetrics": broken})


def test_a_report_of_another_version_is_reported(report):
    report["schema_version"] = 1
    assert "left no report that can be read" in comment({"evalmetrics": report})


def test_a_comment_has_at_most_what_github_takes(report):
    report["benchmarks"] = [{**report["benchmarks"][0], "name": "math" * 40}] * 100
    body = comment({"evalmetrics": report})
    assert LIMIT * 0.9 < len(body.encode("utf-16-le")) / 2 <= LIMIT
    assert body.count("<details>") == body.count("</details>") > 1
    assert "The rest is on the summary page" in body
    several = comment({f"evalmetrics-{i}": report for i in range(9)})
    assert len(several.encode("utf-16-le")) / 2 <= LIMIT
    assert several.count("## ❌ Benchmarks: FAIL (evalmetrics-") == 9
