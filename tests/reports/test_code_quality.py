"""GitLab's Code Quality: each documented field, and a fingerprint that outlives a new number."""

import json
import re

import pytest

from pytest_evalmetrics.reports.summary import code_quality

CHECK = {
    "gate": "threshold",
    "name": "pass@1",
    "agent": "",
    "verdict": "FAIL",
    "reason": "pass@1 is 0.5, below 0.7",
    "line": 7,
}
ENTRY = {
    "id": "a.bench.yaml::a",
    "name": "a",
    "file": "a.bench.yaml",
    "line": 1,
    "xfail": False,
    "checks": [CHECK],
}


def written(*changes, entry=None, lost=()):
    checks = [CHECK | change for change in changes]
    entries = [ENTRY | {"checks": checks} | (entry or {})]
    return json.loads(code_quality({"benchmarks": entries, "not_evaluated": list(lost)}))


def test_the_fields_are_those_that_are_documented():
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    (found,) = written({})
    assert set(found) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert found["description"] == "a: pass@1 is 0.5, below 0.7"
    assert found["check_name"] == "evalmetrics-threshold"
    assert found["location"] == {"path": "a.bench.yaml", "lines": {"begin": 7}}
    assert re.fullmatch("[0-9a-f]{32}", found["fingerprint"])


@pytest.mark.parametrize(
    ("verdict", "severity"), [("FAIL", "critical"), ("INCONCLUSIVE", "major"), ("WARN", "minor")]
)
def test_severities(verdict, severity):
    assert written({"verdict": verdict})[0]["severity"] == severity
    assert written({"verdict": verdict}, entry={"xfail": True})[0]["severity"] == "info"


def test_the_fingerprint_is_of_the_fault_and_not_of_its_numbers():
    (one,), (again,) = written({}), written({"reason": "pass@1 is 0.4, below 0.7", "line": 9})
    assert one["fingerprint"] == again["fingerprint"]
    found = written({}, {"name": "pass@2"}, {"agent": "b"}, {"gate": "baseline"})
    assert len({violation["fingerprint"] for violation in found}) == 4


def test_what_was_never_judged_is_one():
    (found,) = written(lost=["b.bench.yaml::b"], entry={"checks": []})
    assert found["description"] == "b.bench.yaml::b was not evaluated"
    assert found["location"] == {"path": "b.bench.yaml", "lines": {"begin": 1}}


def test_paths_are_those_of_the_repository(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.bench.yaml").touch()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    assert written({})[0]["location"]["path"] == "sub/a.bench.yaml"
    assert written({}, entry={"file": "gone.yaml"})[0]["location"]["path"] == "gone.yaml"
