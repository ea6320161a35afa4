"""A report of an earlier run as a baseline, read in this process."""

import json

import pytest

from pytest_evalmetrics.baselines.earlier_report import from_report
from pytest_evalmetrics.errors import BaselineError

ENTRY = {
    "name": "math",
    "file": "math.bench.yaml",
    "agents": [
        {
            "agent": "coder",
            "estimates": {"mean_reward": {"value": 0.5}},
            "key_metrics": {"mean_reward": 0.5},
            "task_scores": {"t0": {"reward": [1, 0]}},
            "task_ids": "names",
            "task_content": None,
        }
    ],
    "checks": [],
    "ruler": {"scorer f1": {"scores": ["f1"]}},
}


@pytest.fixture
def baseline(tmp_path):
    """Write a report, and take the benchmark math out of it."""

    def take(*entries, version=2, benchmark="math"):
        path = tmp_path / "report.json"
        report = {"schema_version": version, "benchmarks": entries}
        path.write_text(json.dumps(report), encoding="utf-8")
        file = tmp_path / "math.bench.yaml"
        return from_report(path, benchmark, file=file, shown="main/report.json")

    return take


def refusal(take):
    with pytest.raises(BaselineError) as error:
        take()
    return error.value


def test_its_numbers_tasks_and_ruler_are_taken(baseline):
    document = baseline(ENTRY)
    agent = document.agents["coder"]
    assert agent.key_metrics["mean_reward"].value == 0.5
    assert agent.tasks == {"t0": {"reward": (1, 0)}}
    assert document.provenance.ruler == ENTRY["ruler"]


def test_the_accepted_levels_of_its_run_are_taken(baseline):
    document = baseline({**ENTRY, "accepted_levels": ["a lower level"]})
    assert document.provenance.accepted_levels == ("a lower level",)


def test_a_report_without_a_ruler_and_levels_has_none(baseline):
    provenance = baseline({**ENTRY, "ruler": {}}).provenance
    assert provenance.ruler is None
    assert provenance.accepted_levels is None


def test_a_report_that_is_not_there_is_refused_with_both_ways_out(tmp_path):
    def take():
        from_report(
            tmp_path / "report.json",
            "math",
            file=tmp_path / "math.bench.yaml",
            shown="main/report.json",
        )

    error = refusal(take)
    assert error.file == "main/report.json"
    assert error.message == "there is no such report to compare with"
    assert error.hint == (
        "name the report.json of an earlier run, relative to the benchmark file; on a "
        "first run, pass --evalmetrics-first-run"
    )


def test_a_version_that_is_not_known_is_refused_for_the_file(baseline):
    error = refusal(lambda: baseline(ENTRY, version=3))
    assert error.file == "main/report.json"
    assert error.message.startswith("this report has the schema version 3")


def test_a_benchmark_that_it_lacks_is_refused_for_the_file(baseline):
    error = refusal(lambda: baseline(ENTRY, benchmark="maths"))
    assert error.file == "main/report.json"
    assert "no benchmark named 'maths': did you mean 'math'?" in error.message


def test_of_two_benchmarks_of_a_name_the_one_of_the_same_file_is_taken(baseline):
    other = ENTRY | {"file": "other.bench.yaml", "agents": []}
    assert "coder" in baseline(other, ENTRY).agents


def test_a_run_that_was_not_complete_is_refused_for_the_file(baseline):
    check = {"gate": "expect", "verdict": "FAIL", "reason": "2 tasks are missing"}
    error = refusal(lambda: baseline(ENTRY | {"checks": [check]}))
    assert error.file == "main/report.json"
    assert error.message.endswith("is not complete: 2 tasks are missing")
