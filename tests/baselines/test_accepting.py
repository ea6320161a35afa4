"""Which benchmarks of a report are accepted, and when a run is not what it showed."""

import json

import pytest

from pytest_evalmetrics.baselines.accepting import difference_from, to_accept
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    MetricDocument,
    Provenance,
)


def entry(name, verdict="FAIL", acceptance="snapshot", value=0.5):
    return {
        "id": name,
        "agents": [{"agent": "a", "estimates": {"mean_reward": {"value": value}}}],
        "checks": [{"verdict": verdict, "acceptance": acceptance}],
    }


@pytest.fixture
def report(tmp_path):
    """Write a report of some entries."""

    def write(*entries):
        path = tmp_path / "report.json"
        content = {"schema_version": 2, "benchmarks": entries}
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("verdict", ["FAIL", "INCONCLUSIVE", "WARN"])
def test_what_a_baseline_does_not_let_pass_is_accepted(report, verdict):
    path = report(entry("a", verdict), entry("b", "PASS"))
    assert to_accept(path, []) == ["a"]


@pytest.mark.parametrize("acceptance", [None, "history"])
def test_what_fails_for_another_reason_is_not_accepted(report, acceptance):
    assert to_accept(report(entry("a", acceptance=acceptance)), []) == []


def test_what_is_asked_for_is_accepted(report):
    path = report(entry("a"), entry("b", "PASS"))
    assert to_accept(path, ["b"]) == ["b"]


def test_a_benchmark_that_a_report_does_not_have_is_refused(report):
    path = report(entry("maths"))
    with pytest.raises(BaselineError) as refused:
        to_accept(path, ["math"])
    assert refused.value.message == f"{path} has no benchmark 'math'"
    assert refused.value.hint == "did you mean 'maths'? the report has: maths"


def test_a_report_that_is_not_there_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "report.json"
    with pytest.raises(BaselineError) as refused:
        to_accept(path, [])
    assert refused.value.message == f"{path} can't be read: No such file or directory"
    assert refused.value.hint == "run pytest first, or name its report: --report FILE"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"schema_version": "x"}'])
def test_a_file_that_is_no_report_is_refused(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(BaselineError, match=r"is no report\.json: "):
        to_accept(path, [])


def recorded(value, metric="mean_reward", agent="a"):
    described = AgentDocument(
        key_metrics={metric: MetricDocument(value=value)},
        tasks={"t0": {"reward": (value,)}},
    )
    return BaselineDocument(
        benchmark="math", agents={agent: described}, provenance=Provenance()
    )


def test_a_baseline_of_the_reports_values_does_not_differ(report):
    assert difference_from(report(entry("b")), "b", recorded(0.5)) == ""


def test_a_value_is_as_reported_to_nine_digits(report):
    path = report(entry("b"))
    assert difference_from(path, "b", recorded(0.5 + 4e-10)) == ""
    assert difference_from(path, "b", recorded(0.5 + 1e-8)) != ""


def test_another_value_is_named_with_that_of_the_report(report):
    text = difference_from(report(entry("b")), "b", recorded(0.25))
    assert text == "mean_reward is 0.25, and was 0.5 in the report"


@pytest.mark.parametrize("new", [recorded(0.5, "pass@1"), recorded(0.5, agent="z")])
def test_a_metric_that_a_report_does_not_have_is_named(report, new):
    (metric,) = next(iter(new.agents.values())).key_metrics
    text = difference_from(report(entry("b")), "b", new)
    assert text == f"the report has no {metric}"


def test_an_undefined_metric_is_none_of_the_report(report):
    path = report(entry("b", value=None))
    text = difference_from(path, "b", recorded(0.5))
    assert text == "the report has no mean_reward"


def test_a_benchmark_of_another_report_differs(report):
    path = report(entry("other"))
    assert difference_from(path, "b", recorded(0.5)) == f"{path} does not have it"
