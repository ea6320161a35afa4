"""The comment on a pull request: what it may hold, and how much."""

import copy
import json
import re

import pytest
from conftest import SharedProject

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


@pytest.fixture(scope="module")
def report_of_all(shared_project):
    """The report of a benchmark that fails, with texts of each kind that a report may hold."""
    texts = {"lang": "de", "prompt": "why?", "response": "so", "expected": "thus"}
    shared_project.rollouts([[1.0, 1.0]] * 12, "old.jsonl", **texts)
    shared_project.rollouts([[0.0, 0.0]] * 9 + [[None, 0.0]], **texts)
    shared_project.bench(
        "description: sums\ntags: [nightly]\nmetrics: [pass@1, mean_reward]\nbreakdown: [lang]\n"
        "expect: {tasks: 12}\nthresholds: {pass@1: '>= 0.9'}\nbaseline: {rollouts: old.jsonl}"
    )
    shared_project.write("test_x.py", "def test_x(evalmetrics): 1 / 0\n")
    shared_project.bench("skip: later", "skipped.bench.yaml")
    assert shared_project.run().ret == 1
    return shared_project.report()


@pytest.fixture
def report(report_of_all):
    return copy.deepcopy(report_of_all)


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
    report["benchmarks"] = [{**report["benchmarks"][0], "name": "math" * 9_000}] * 3
    body = comment({"evalmetrics": report})
    assert len(body.encode("utf-16-le")) / 2 <= LIMIT
    assert "The rest is on the summary page" in body
    several = comment({f"evalmetrics-{i}": report for i in range(9)})
    assert len(several.encode("utf-16-le")) / 2 <= LIMIT
    assert several.count("## ❌ Benchmarks: FAIL (evalmetrics-") == 9


# -- what it shows ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report_of_a_drop(tmp_path_factory):
    """The report of a benchmark that lost 12 of its 40 tasks, with answers."""
    project = SharedProject(tmp_path_factory.mktemp("drop"))
    texts = {"prompt": "why?", "response": "so", "expected": "thus"}
    project.rollouts([[1.0, 1.0]] * 40, "old.jsonl", **texts)
    project.rollouts([[0.0, 0.0]] * 12 + [[1.0, 1.0]] * 28, **texts)
    project.bench("metrics: [pass@1]\nbaseline: {rollouts: old.jsonl}")
    assert project.run().ret == 1
    return project.report()


@pytest.fixture
def regressed(report_of_a_drop):
    return copy.deepcopy(report_of_a_drop)


@pytest.mark.parametrize("benchmarks", [1, 11, 100, 300])
def test_a_comment_has_at_most_60_lines(regressed, benchmarks):
    regressed["benchmarks"] *= benchmarks
    body = comment({"evalmetrics": regressed})
    assert len(body.splitlines()) <= 60
    assert body.count("<details>") == body.count("</details>")
    assert body.count("<pre>") == body.count("</pre>") == 1


def test_several_reports_share_the_lines(regressed):
    regressed["benchmarks"] *= 20
    body = comment({f"evalmetrics-{i}": regressed for i in range(3)})
    assert len(body.splitlines()) <= 60
    assert body.count("<pre>") == body.count("</pre>")


def test_the_gates_that_fail_stand_with_the_tested_change_and_its_interval(regressed):
    lines = comment({"evalmetrics": regressed}).splitlines()
    (row,) = [line for line in lines if line.startswith("| ❌ |")]
    # 12 of 12 worse by sign flips, mid-p: .5 ** 13
    change = "-0.3000 (-0.4484 to -0.1516)"
    assert row == f"| ❌ | math | pass@1 | 0.7000 | was 1 | {change} | 0.00012 |"


def test_three_tasks_that_got_worse_are_shown_with_what_was_said(regressed):
    lines = comment({"evalmetrics": regressed}).splitlines()
    head = lines.index("| task that got worse | rewards | expected | was | now |")
    tasks = lines[head + 2 : head + 5]
    assert all(line.endswith(" | 2/2 -\\> 0/2 | thus | so | so |") for line in tasks)
    assert lines[head + 5] == ""


def test_the_judge_s_reason_stands_beside_the_answer(regressed):
    for flip in regressed["benchmarks"][0]["flips"]:
        for attempt in flip["now"]:
            attempt["reason"] = "it does not say why"
    lines = comment({"evalmetrics": regressed}).splitlines()
    head = "| task that got worse | rewards | expected | was | now | why |"
    assert lines[lines.index(head) + 2].endswith(" | it does not say why |")


def test_the_change_is_drawn_with_0_and_the_drop_that_matters(regressed):
    body = comment({"evalmetrics": regressed})
    drawn = body[body.index("<pre>") : body.index("</pre>")]
    assert "│ 0  ┊ gate: no drop &gt;= 0.01" in drawn


@pytest.fixture
def passed(project):
    """The report of a benchmark that did not change."""
    project.rollouts([[1.0, 1.0], [1.0, 0.0]] * 20, "old.jsonl")
    project.rollouts([[1.0, 1.0], [1.0, 0.0]] * 20)
    project.bench("metrics: [pass@1]\nbaseline: {rollouts: old.jsonl}")
    assert project.run().ret == 0
    return project.report()


def test_what_passes_is_folded_and_says_what_would_be_seen(passed):
    lines = comment({"evalmetrics": passed}).splitlines()
    fold = lines.index("<summary>1 gate passes</summary>")
    assert lines[fold - 1] == "<details>"
    assert lines[fold + 4].startswith("| ✅ | math | pass@1 | 0.7500 | was 0.7500 |")


def test_links_lead_to_the_benchmark_and_the_task_on_the_page(regressed):
    data = {"evalmetrics": json.dumps(regressed).encode()}
    page = "https://example.org/report.html"
    body = comment_of(data, marker="<!-- m -->", run_url="https://r.org", page_url=page)
    assert f"[math]({page}#/math.bench.yaml::math)" in body
    assert re.search(rf"\[math: \d+\]\({page}#/math.bench.yaml::math/a0/\d+\)", body)


def test_a_page_that_is_no_address_is_no_link(regressed):
    data = {"evalmetrics": json.dumps(regressed).encode()}
    page = "javascript:alert(1)"
    body = comment_of(data, marker="<!-- m -->", run_url="https://r.org", page_url=page)
    assert "javascript" not in body


def test_the_commands_evaluate_again_and_never_accept_against_another_run(regressed):
    body = comment({"evalmetrics": regressed})
    assert "- again: <code>pytest math.bench.yaml::math</code>" in body
    assert "accept" not in body


def test_a_comment_says_first_why_whether_it_is_noise_and_what_to_do(regressed):
    text = comment({"a": regressed}).replace("<span>@</span>", "@")
    assert (
        "**math**: pass@1 went from 1 to 0.7000: 12 of 40 tasks worse, 0 better; "
        "unlikely to be noise \\(p = 0.00012\\)."
    ) in text
    assert "What to do: fix the regression; or, if the change is intended" in text


def test_a_fold_is_closed_where_a_comment_is_full(passed):
    (benchmark,) = passed["benchmarks"]
    passed["benchmarks"] = [{**benchmark, "name": f"b{n}"} for n in range(90)]
    lines = comment({"a": passed}).splitlines()
    assert len(lines) <= 60
    assert lines.count("<details>") == lines.count("</details>") == 1
