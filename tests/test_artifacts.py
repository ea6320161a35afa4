"""The artifacts: where they lie, that they are whole, and that they do not depend on the run."""

import json

import jsonschema
import pytest

PICTURED = 20  # benchmarks that pass with a picture of their tasks, here
FEW_PICTURED = f"""
from pytest_evalmetrics.session import evaluation_session

evaluation_session._PICTURED = {PICTURED}
"""

FEW_GROUPS = """
from pytest_evalmetrics.reports import payload

payload._MOST_GROUPS = 1_000
"""


@pytest.fixture(autouse=True)
def at_one_time(monkeypatch):
    """Let report.html, which shows when it ran, have the same bytes."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def _bytes(project):
    names = ("aggregate_metrics.json", "report.json", "report.html")
    return [(project.path / "evalmetrics" / name).read_bytes() for name in names]


def test_entries_of_very_many_tasks_have_a_file_of_their_own(project):
    tasks = 1_001
    project.write("conftest.py", FEW_GROUPS)
    rows = (f'{{"_ng_task_index":{n},"reward":{n % 2}}}\n' for n in range(tasks))
    project.write("many.jsonl", "".join(rows))
    project.rollouts([[1.0], [0.0]])
    benchmarks = (
        "[{name: many, rollouts: many.jsonl}, {name: few, rollouts: runs.jsonl}]"
    )
    project.write("x.bench.yaml", f"benchmarks: {benchmarks}\n")
    project.run("-n", "1").assert_outcomes(passed=2)
    few, many = project.aggregate()
    (large,) = json.loads(
        (project.path / "evalmetrics/group_level_metrics.json").read_text()
    )
    assert (len(few["group_level_metrics"]), "group_level_metrics_in" in few) == (
        2,
        False,
    )
    assert many["group_level_metrics"] == []
    assert many["group_level_metrics_in"] == "group_level_metrics.json"
    assert large["benchmark"] == many["benchmark"] == "x.bench.yaml::many"
    assert large["group_level_metrics"][-1]["_ng_task_index"] == tasks - 1
    assert len(large["group_level_metrics"]) == tasks
    assert "the entries of 1,001 tasks are in group_level_metrics.json" in str(
        project.report()
    )


def test_a_file_in_place_of_the_folder_fails_the_run(project):
    project.rollouts([[1.0]])
    project.bench()
    project.write("evalmetrics", "a file where the folder should be")
    result = project.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*can't be written*", "*--evalmetrics-output*"])


@pytest.fixture
def skipping(project):
    """Benchmarks and checks that are skipped in each way there is, beside one that is not."""
    project.rollouts([[1.0]])
    project.write(
        "s.bench.yaml",
        "defaults: {rollouts: runs.jsonl}\n"
        "benchmarks:\n  - {name: hooked}\n  - {name: one}\n  - {name: two, skip: true}\n"
        '  - {name: three, skip: "until\\e[31m | `the` server is back"}\n',
    )
    project.write(
        "conftest.py",
        "import pytest\n\ndef pytest_itemcollected(item):\n    if item.name == 'hooked':\n"
        "        item.add_marker(pytest.mark.skip('by a hook'))\n",
    )
    project.write(
        "test_x.py",
        "import pytest\n\ndef test_a(evalmetrics):\n    pytest.skip('no numbers')\n\n"
        "@pytest.mark.skip\ndef test_b(evalmetrics): ...\n\n"
        "@pytest.mark.skip\ndef test_that_checks_nothing(): ...\n\n"
        "@pytest.mark.xfail(reason='known')\ndef test_c(evalmetrics): raise ValueError\n\n"
        "def test_d(evalmetrics):\n    evalmetrics.check([[1.0]])\n    pytest.skip('after it')\n",
    )
    return project


SKIPPED = [
    ("s.bench.yaml::hooked", "by a hook"),
    ("s.bench.yaml::three", "until\x1b[31m | `the` server is back"),
    ("s.bench.yaml::two", "skip: true"),
    ("test_x.py::test_a", "no numbers"),
    ("test_x.py::test_b", "unconditional skip"),
    ("test_x.py::test_c", "xfail: known"),
]


def test_skipped_benchmarks_are_in_the_report_with_their_reasons(skipping):
    skipping.run()
    report = skipping.report()
    assert [(s["id"], s["reason"]) for s in report["skipped"]] == SKIPPED
    assert report["not_evaluated"] == []
    assert report["verdict"] == "PASS"
    evaluated = [entry["id"] for entry in report["benchmarks"]]
    assert evaluated == ["s.bench.yaml::one", "test_x.py::test_d"]


def test_a_report_with_skipped_benchmarks_has_the_schema_that_is_printed(skipping):
    skipping.run()
    schema = json.loads(skipping.run("--evalmetrics-schema=report").stdout.str())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(skipping.report())


def test_skipped_benchmarks_are_shown_and_nothing_in_a_reason_is_a_command(skipping):
    skipping.run().stdout.fnmatch_lines(
        [
            "SKIPPED       s.bench.yaml::hooked  by a hook",
            r"SKIPPED       s.bench.yaml::three  until\x1b[[]31m | `the` server is back",
        ]
    )
    summary = (skipping.path / "evalmetrics/summary.md").read_text()
    assert "2 PASS (2 with nothing gated), 6 skipped" in summary
    assert "- s.bench.yaml::three was skipped: until\\\\x1b" in summary
    assert "\x1b" not in summary


def test_with_q_skipped_benchmarks_are_counted(skipping):
    skipping.run("-q").stdout.fnmatch_lines(
        ["2 benchmarks: 2 PASS (2 with nothing gated), 6 skipped"]
    )


def test_skipped_benchmarks_are_reported_alike_by_workers(skipping):
    skipping.run()
    alone = _bytes(skipping)
    skipping.run("-n", "1")
    assert _bytes(skipping) == alone


def test_the_first_that_pass_are_shown_in_detail_and_all_that_do_not(project):
    project.rollouts([[1.0], [0.0], [1.0]], name="good.jsonl")
    project.rollouts([[0.0], [0.0], [0.0]], name="bad.jsonl")
    names = [f"b{n:03}" for n in range(PICTURED + 10)]
    failing = [names[0], names[PICTURED + 2], names[PICTURED + 5]]
    text = "defaults: {metrics: [mean_reward], thresholds: {mean_reward: '>= 0.1'}}\nbenchmarks:\n"
    for name in names:
        file = "bad.jsonl" if name in failing else "good.jsonl"
        text += f"  - {{name: {name}, rollouts: {file}}}\n"
    project.write("many.bench.yaml", text)
    project.write("conftest.py", FEW_PICTURED)
    project.run()
    expected = _bytes(project)
    page = expected[-1].decode()
    rows = json.loads(_data(page, "overview"))
    shown = [row["name"] for at, row in enumerate(rows) if f'id="tasks-{at}"' in page]
    assert shown == [
        *failing,
        *(name for name in names[:PICTURED] if name not in failing),
    ]
    assert json.loads(_data(page, "run"))["left_out"]["about"] == len(names) - len(
        shown
    )
    reverse = "def pytest_collection_modifyitems(items): items.reverse()\n"
    project.write("conftest.py", FEW_PICTURED + reverse)
    project.run("-n", "1")
    assert _bytes(project) == expected
    project.run("-k", "b01 or b000")  # the first of the selected ones
    assert _bytes(project)[-1].count(b'id="tasks-') == 11


def _data(page, name):
    return page.partition(f'id="{name}">')[2].partition("</script>")[0]
