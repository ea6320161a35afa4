"""What CI systems read of a run: GitHub's annotations and job summary, GitLab's Code Quality."""

import hashlib
import json
import re

import pytest
from reports.records import above, below, benchmark, broken, compared, run

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.ci_logs import (
    code_quality,
    github_annotations,
    tell_ci,
)
from pytest_evalmetrics.reports.summary import summary

FELL = (
    "pass@1 fell from 0.9 to 0.7: a loss of 0.2 [0.1, 0.3], p = 0.004 "
    "(exact sign flip, 40 tasks), 12 worse and 1 better"
)


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, **fields)


# -- annotations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "line"),
    [
        (compared(), f"::error file=a.yaml,line=5,title=math%3A FAIL::{FELL}"),
        (
            broken(agent="x", line=None),
            "::error file=a.yaml,line=3,title=math%3A INCONCLUSIVE::x: no such file",
        ),
        (
            broken(verdict=Verdict.WARN, tier=Tier.ADVISORY),
            "::warning file=a.yaml,line=3,title=math%3A WARN::advisory: no such file",
        ),
    ],
)
def test_each_check_that_does_not_hold_is_an_annotation_at_its_line(check, line):
    assert github_annotations(run(benchmark(check))) == [line]


@pytest.mark.parametrize(
    "result",
    [
        benchmark(above()),
        benchmark(below(reasons=())),
        benchmark(below(), xfail=True),
    ],
)
def test_what_holds_or_is_known_to_fail_has_no_annotation(result):
    assert github_annotations(run(result)) == []


def test_annotations_are_ordered_by_their_evidence_warnings_last():
    results = [
        named("warns", broken(verdict=Verdict.WARN)),
        named("broken", broken()),
        named("fails", below()),
        named("surer", compared()),
    ]
    lines = github_annotations(run(*results))
    assert [re.search("title=([a-z]+)", line)[1] for line in lines] == [
        "surer",
        "fails",
        "broken",
        "warns",
    ]


def test_ten_errors_and_ten_warnings_are_annotated_and_the_others_counted():
    errors = [named(f"e{number}", broken()) for number in range(12)]
    warnings = [
        named(f"w{number}", broken(verdict=Verdict.WARN)) for number in range(11)
    ]
    lines = github_annotations(run(*errors, *warnings))
    assert [line.partition(" ")[0] for line in lines[:10]] == ["::error"] * 10
    assert lines[10] == "::notice::2 more errors in the summary"
    assert [line.partition(" ")[0] for line in lines[11:21]] == ["::warning"] * 10
    assert lines[21:] == ["::notice::1 more warning in the summary"]


def test_what_was_not_evaluated_is_an_error_at_its_file():
    report = run(not_evaluated=("t%1.py::X::x\ny",))
    assert github_annotations(report) == [
        "::error file=t%251.py::t%251.py::X::x%0Ay was not evaluated"
    ]


def test_a_value_can_t_end_its_property_and_a_message_can_t_begin_a_line():
    result = named("a:b,c", broken("100 %\r\nbad\x1b"), file="a:b.yaml")
    assert github_annotations(run(result)) == [
        (
            "::error file=a%3Ab.yaml,line=3,title=a%3Ab%2Cc%3A INCONCLUSIVE::"
            r"100 %25%0D%0Abad\x1b"
        )
    ]


# -- places ----------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A repository with a project in a folder of it."""
    project = tmp_path / "repository" / "project"
    project.mkdir(parents=True)
    (project / "a.yaml").touch()
    return tmp_path / "repository"


def place(environ, root, report=None):
    """Return the file of the first annotation."""
    report = report or run(benchmark(below()))
    lines = tell_ci(report, {"GITHUB_ACTIONS": "true", **environ}, root)
    return re.search("file=([^,:]*)", lines[0])[1]


def test_a_file_is_named_from_the_root_of_the_checkout(checkout):
    environ = {"GITHUB_WORKSPACE": str(checkout)}
    assert place(environ, checkout / "project") == "project/a.yaml"


def test_a_lost_item_is_named_from_the_root_of_the_checkout(checkout):
    environ = {"GITHUB_WORKSPACE": str(checkout)}
    report = run(not_evaluated=("a.yaml::math",))
    assert place(environ, checkout / "project", report) == "project/a.yaml"


def test_a_file_is_named_as_the_run_does_where_it_is_not_in_the_checkout(checkout):
    project = checkout / "project"
    assert place({}, project) == "a.yaml"
    assert place({"GITHUB_WORKSPACE": str(checkout / "other")}, project) == "a.yaml"
    (project / "a.yaml").unlink()
    assert place({"GITHUB_WORKSPACE": str(checkout)}, project) == "a.yaml"


def test_without_a_root_files_are_those_of_the_folder(checkout, monkeypatch):
    monkeypatch.chdir(checkout / "project")
    assert place({"GITHUB_WORKSPACE": str(checkout)}, None) == "project/a.yaml"


# -- the job summary -------------------------------------------------------------------------


def test_the_summary_is_appended_to_what_a_step_has_written(tmp_path):
    report = run(benchmark(below(), name="\u65e5"))
    target = tmp_path / "step.md"
    target.write_text("earlier\n", encoding="utf-8")
    assert tell_ci(report, {"GITHUB_STEP_SUMMARY": str(target)}) == []
    text = target.read_text(encoding="utf-8")
    assert text == f"earlier\n{summary(report)}\n"


def test_a_run_elsewhere_is_told_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tell_ci(run(benchmark(below())), {"GITHUB_ACTIONS": "false"}) == []
    assert list(tmp_path.iterdir()) == []


def test_a_summary_that_can_t_be_written_names_its_file(tmp_path):
    target = tmp_path / "no" / "where.md"
    with pytest.raises(EvalMetricsError) as refused:
        tell_ci(run(), {"GITHUB_STEP_SUMMARY": str(target)})
    assert str(refused.value) == (
        f"{target}: the job summary can't be written: No such file or directory\n"
        "  GITHUB_STEP_SUMMARY names this file"
    )


# -- GitLab ----------------------------------------------------------------------------------


def violations(*results, root=None, **fields):
    return json.loads(code_quality(run(*results, **fields), root))


def test_a_violation_says_what_where_and_how_severe():
    (violation,) = violations(benchmark(below(agent="x")))
    fingerprint = violation.pop("fingerprint")
    assert re.fullmatch("[0-9a-f]{32}", fingerprint)
    assert violation == {
        "description": "math: x: pass@1 is 0.5, below 0.7",
        "check_name": "evalmetrics-threshold",
        "severity": "critical",
        "location": {"path": "a.yaml", "lines": {"begin": 7}},
    }


@pytest.mark.parametrize(
    ("check", "severity"),
    [
        (broken(verdict=Verdict.WARN), "minor"),
        (broken(), "major"),
        (broken(verdict=Verdict.FAIL), "critical"),
    ],
)
def test_each_verdict_has_its_severity(check, severity):
    assert violations(benchmark(check))[0]["severity"] == severity
    assert violations(benchmark(check, xfail=True))[0]["severity"] == "info"


def test_what_holds_is_no_violation():
    assert violations(benchmark(above())) == []


def test_a_check_without_a_reason_is_described_by_its_name():
    assert violations(benchmark(below(reasons=())))[0]["description"] == "math: pass@1"


def test_what_was_not_evaluated_is_a_violation_at_the_start_of_its_file():
    (violation,) = violations(not_evaluated=("b.yaml::x::y",))
    identity = ["evalmetrics-not-evaluated", "b.yaml::x::y"]
    assert violation.pop("fingerprint") == fingerprint_of(identity)
    assert violation == {
        "description": "b.yaml::x::y was not evaluated",
        "check_name": "evalmetrics-not-evaluated",
        "severity": "major",
        "location": {"path": "b.yaml", "lines": {"begin": 1}},
    }


def prints(*results, **fields):
    return {violation["fingerprint"] for violation in violations(*results, **fields)}


def test_a_fault_keeps_its_fingerprint_though_its_numbers_change():
    now = below(value=0.1, reasons=(), line=99)
    assert prints(benchmark(below())) == prints(benchmark(now, file="b.yaml"))


def test_faults_of_other_benchmarks_gates_metrics_or_agents_have_other_fingerprints():
    checks = [
        below(),
        below("pass@2"),
        below(agent="x"),
        below(gate=Gate.BASELINE),
    ]
    found = prints(benchmark(*checks), named("other", below()))
    assert len(found) == 5
    assert len(prints(not_evaluated=("a", "b"))) == 2


def test_a_fingerprint_is_the_same_with_every_version():
    # GitLab compares with the report of main
    (violation,) = violations(benchmark(below()))
    identity = ["evalmetrics-threshold", "a.yaml::math", "threshold", "pass@1", ""]
    assert violation["fingerprint"] == fingerprint_of(identity)


def fingerprint_of(identity):
    text = json.dumps(identity).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def test_paths_are_relative_to_gitlab_s_checkout(checkout, monkeypatch):
    monkeypatch.setenv("CI_PROJECT_DIR", str(checkout))
    (violation,) = violations(benchmark(below()), root=checkout / "project")
    assert violation["location"]["path"] == "project/a.yaml"
    (lost,) = violations(not_evaluated=("a.yaml::x",), root=checkout / "project")
    assert lost["location"]["path"] == "project/a.yaml"


def test_the_file_is_readable_json_that_ends_with_a_line():
    data = code_quality(run(named("\u65e5", below()))).decode()
    assert data.startswith('[\n  {\n    "description": "\u65e5: pass@1')
    assert data.endswith("\n]\n")
