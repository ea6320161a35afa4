"""report.json says what the standard library would write, only sooner; and its schema."""

import json
from importlib.resources import files

import pytest
from evaluated import evaluated
from hypothesis import given, settings
from hypothesis import strategies as st
from reports.report_schema import report_schema

from pytest_evalmetrics.commands import main
from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.report_json import read_report, report_document
from pytest_evalmetrics.reports.reporters import as_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize("text", ["", 'é 😀 / \\ "x"\n', "half a pair: \ud800"])
@pytest.mark.parametrize("large", [10**30, 10**3])
def test_it_is_what_json_writes(text, large):
    value = {
        text: [],
        "b": {},
        "c": text,
        "d": [1e-05, 1e22, -0.0, large],
        "f": [[], {"a": None}],
    }
    assert json.loads(as_json(value)) == value
    lines = json.dumps(value, indent=2).splitlines()
    assert [line.count(" ") for line in as_json(value).decode().splitlines()] == [
        line.count(" ") for line in lines
    ]


@settings(max_examples=25)
@given(st.dictionaries(st.text(), VALUES))
def test_no_number_is_lost(value):
    try:
        expected = json.dumps(value, allow_nan=False)
    except ValueError:
        with pytest.raises(ValueError, match="not JSON compliant"):
            as_json(value)
    else:
        assert json.loads(as_json(value)) == json.loads(expected)


def test_the_shipped_schema_is_the_one_that_the_types_give():
    shipped = files("pytest_evalmetrics.schemas") / "report.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == report_schema()


@pytest.fixture
def regressed(project):
    """A benchmark that fails against another run."""
    project.rollouts([[1.0]] * 20, "old.jsonl")
    project.rollouts([[0.0]] * 9 + [[1.0]] * 11)
    project.bench(
        "metrics: [pass@1]\nexpect: {tasks: 20}\nbaseline: {rollouts: old.jsonl}"
    )
    assert not evaluated(project).passed
    return project


def of_version_1(report):
    """Give a report the keys that reports of version 1 have."""
    for entry in report["benchmarks"]:
        entry["recorded"] = {}
        for check in entry["checks"]:
            check["evidence"] = check.pop("comparison") or {}
            for key in ("required", "reasons", "look", "acceptance", "accepted"):
                del check[key]
    return report | {"schema_version": 1}


def test_a_report_is_read_as_it_was_written(regressed):
    path = regressed.path / "evalmetrics/report.json"
    document = report_document(read_report(path.read_bytes()))
    written = json.loads(path.read_text(encoding="utf-8"))
    for entry in written["benchmarks"]:
        for agent in entry["agents"]:
            del agent["task_scores"], agent["task_content"]
    assert json.loads(as_json(document)) == written


def test_a_check_has_its_facts_and_their_texts(regressed):
    check = regressed.checks()["pass@1"]
    assert check["bound"] == "no drop >= 0.01 at p < 0.01 (practical)"
    assert check["required"]["type"] == "rule"
    assert check["required"]["settings"]["max_drop"] == 0.01
    assert check["comparison"]["drop"] == 0.45
    assert check["reason"].startswith("pass@1 fell from 1 to 0.55: a loss of 0.45 [")
    assert check["hint"].endswith("compare with a newer run")


def test_a_report_of_version_1_is_a_baseline(regressed):
    report = of_version_1(regressed.report())
    regressed.write("was/report.json", json.dumps(report))
    regressed.bench("metrics: [pass@1]\nbaseline: {report: was/report.json}")
    assert evaluated(regressed).passed
    assert regressed.checks()["pass@1"]["comparison"]["baseline"] == 0.55


def test_a_report_of_an_unknown_version_is_refused_with_the_way_out(regressed):
    report = regressed.report() | {"schema_version": 3}
    regressed.write("was/report.json", json.dumps(report))
    regressed.bench("metrics: [pass@1]\nbaseline: {report: was/report.json}")
    regressed.run().stdout.fnmatch_lines(
        [
            "*this report has the schema version 3, and 1 and 2 are known",
            "*update pytest-evalmetrics, or run the earlier benchmarks again*",
        ]
    )


def test_a_site_shows_runs_of_both_versions(regressed, capsys):
    report = regressed.report()
    regressed.write("runs/b/report.json", json.dumps(report))
    regressed.write("runs/a/report.json", json.dumps(of_version_1(report)))
    site = regressed.path / "site"
    assert main(["site", str(regressed.path / "runs"), "--output", str(site)]) == 0
    assert "no report that can be read" not in capsys.readouterr().err
    page = (site / "index.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="site">')[2].partition("</script>")[0])
    assert sorted(run["name"] for run in data["runs"]) == ["a", "b"]
    assert data["benchmarks"][0]["lines"][0]["values"] == [0.55, 0.55]


def test_a_report_of_another_version_is_not_read_back():
    with pytest.raises(ArtifactError, match="the schema version 1, and 2 is known"):
        read_report(b'{"schema_version": 1}')


def test_what_the_worse_tasks_have_in_common_is_counted(project):
    for file, lost in (("old.jsonl", 0), ("runs.jsonl", 8)):
        project.rows(
            file,
            (
                {
                    "_ng_task_index": number,
                    "reward": float(number >= lost),
                    "kind": "hand" if number < 8 else "print",
                }
                for number in range(24)
            ),
        )
    project.bench("metrics: [pass@1]\nbaseline: {rollouts: old.jsonl}")
    evaluated(project)
    (benchmark,) = project.report()["benchmarks"]
    (found,) = benchmark["separators"]
    assert (found["field"], found["value"]) == ("kind", "hand")
    assert (found["worse_with"], found["tasks_with"]) == (8, 8)
    assert (found["worse_without"], found["tasks_without"]) == (0, 16)
