"""evalmetrics.check: a test's own numbers, gated, reported, and kept as those of a file are."""

import xml.etree.ElementTree as ET

import pytest

UPDATE = "--snapshot-update"

HOLDING = """
import pytest
from pytest_evalmetrics import EvalMetrics

@pytest.fixture
def checked(evalmetrics):
    evalmetrics.check([1], name="before")
    yield
    evalmetrics.check([1], name="after")

def test_fixture(checked): pass

def test_sums(evalmetrics: EvalMetrics):
    result = evalmetrics.check(
        {"b": [1, 0], "a": [True, None]},
        metrics=["pass_rate"],
        thresholds={"pass_rate": ">= 0.5", "count": ">= 2"},
        expect={"tasks": 2, "missing_reward": "exclude", "max_missing": "50%"},
        description="sums",
    )
    assert result
    assert result.passed
    assert result.name == "test_sums"
    assert result.value("pass_rate") == 2 / 3
    assert [a.tasks for a in result.agents] == [2]
    with pytest.raises(KeyError, match="there is count, mean/reward, pass_rate"):
        result.value("mean_reward")
    with pytest.raises(KeyError, match="there is 'agent'"):
        result.value("pass_rate", "other")
"""


def test_a_check_that_holds_returns_its_result(project):
    project.write(
        "conftest.py",
        "def pytest_evalmetrics_compute_metrics(tasks): return {'count': float(len(tasks))}\n"
        "def pytest_evalmetrics_benchmark_finished(result): print('finished', result.name)\n",
    )
    project.write("test_x.py", HOLDING)
    result = project.run("-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*finished test_sums"])
    *fixed, entry = project.report()["benchmarks"]
    assert [e["name"] for e in fixed] == ["test_fixture-after", "test_fixture-before"]
    assert (entry["id"], entry["file"], entry["line"]) == (
        "test_x.py::test_sums",
        "test_x.py",
        14,
    )
    assert entry["description"] == "sums"
    assert entry["agents"][0]["task_scores"] == {
        "a": {"reward": [1, None]},
        "b": {"reward": [1, 0]},
    }
    assert project.aggregate()[-1]["benchmark"] == "test_x.py::test_sums"


FAILING = """
import helper, pytest

def test_sums(evalmetrics):
    evalmetrics.check([0, 0], name="easy", metrics="pass_rate")
    evalmetrics.check(
        [[1, 0], [1, 1]],
        thresholds={"mean_reward": ">= 0.8"},
        expect={"tasks": 2},
    )

def test_helped(evalmetrics):
    helper.gate(evalmetrics, [0])
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_check_that_fails_shows_the_test_s_own_line_and_no_traceback(
    project, workers
):
    project.write(
        "helper.py", "def gate(e, r): e.check(r, thresholds={'mean_reward': '>= 1'})\n"
    )
    project.write("test_x.py", FAILING)
    more = ("-p", "no:randomly", "--force-short-summary", "--junitxml=junit.xml")
    result = project.run(*workers, *more)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_x.py:6: in test_sums",
            ">     evalmetrics.check(",
            '>         thresholds={"mean_reward": ">= 0.8"},',
            ">     )",
            "",
            "test_sums failed",
            "FAIL  test_x.py:6: mean_reward is 0.75, below 0.8",
            "test_x.py:13: in test_helped",
            ">     helper.gate(evalmetrics, [[]0[]])",
            "FAIL  test_x.py:13: *",
            "FAILED test_x.py::test_sums - mean_reward is 0.75, below 0.8",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")
    assert (project.report()["verdict"], project.report()["not_evaluated"]) == (
        "FAIL",
        [],
    )
    cases = ET.parse(project.path / "junit.xml").iter("testcase")  # noqa: S314 - ours
    (case,) = [case for case in cases if case.get("name") == "test_sums"]
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["test_sums-easy: pass_rate"] == "0.0"
    assert properties["test_sums: evalmetrics.verdict"] == "FAIL"
    (failure,) = case.iter("failure")
    assert failure.get("message") == "mean_reward is 0.75, below 0.8"
    assert (failure.text or "").startswith("test_x.py:6: in test_sums")


XFAIL = """
import pytest

@pytest.mark.xfail(False, reason="elsewhere")
def test_sums(evalmetrics):
    evalmetrics.check([1], baseline=True)

@pytest.mark.xfail
def test_more(evalmetrics):
    evalmetrics.check([1], thresholds={"mean_reward": ">= 2"}, baseline=True)
"""


def test_an_xfailed_check_is_not_recorded_and_no_failure_of_the_report(project):
    project.write("test_x.py", XFAIL)
    project.run(UPDATE).assert_outcomes(passed=1, xfailed=1)
    assert project.baseline("test_x/test_sums.json").exists()
    assert not project.baseline("test_x/test_more.json").exists()
    assert project.report()["verdict"] == "PASS"
    expected, _ = project.report()["benchmarks"]
    assert (expected["verdict"], expected["xfail"]) == ("FAIL", True)


WRONG_CALLS = [
    (
        "evalmetrics.check([1]); evalmetrics.check([1])",
        ["two checks of this test are without a *"],
    ),
    (
        "evalmetrics.check([1], name='a'); evalmetrics.check([1], name='a')",
        ["two checks of this test are named 'a'", "  give each its own: *"],
    ),
    ("evalmetrics.check([1], name='a::b')", ["'a::b' can't name a check: *"]),
    (
        "evalmetrics.check([1], metrics=5, thresholds={'x': 0.5}, expect={'task': 3})",
        [
            "test_x.py: 3 problems in this call of evalmetrics.check",
            "test_x.py:2: metrics: expected a list of names *",
            "test_x.py:2: expect: unknown key 'task': did you mean 'tasks'*",
            "test_x.py:2: thresholds.x: a bare number does not say which side is good: *",
        ],
    ),
    ("evalmetrics.check([1], metrics=['pas_rate'])", ["*did you mean 'pass_rate'*"]),
    (
        "evalmetrics.check([1], thresholds={1: 2})",
        ["*thresholds: found a dict whose keys are *"],
    ),
    (
        "evalmetrics.check([1], metrics=[object])",
        ["*metrics[[]0[]]: found type; expected text*"],
    ),
    (
        "evalmetrics.check([])",
        ["rewards holds no task", "  give one list of numbers per task*"],
    ),
    (
        "evalmetrics.check([10**400, 1])",
        ["rewards[[]0[]] is larger than a number can be here"],
    ),
    (
        "evalmetrics.check([1, float('nan')])",
        ["*one rollout has no finite reward (task 1), 50 %*"],
    ),
    (
        "evalmetrics.check([[1, 1], []])",
        ["*1 of 2 tasks has fewer rollouts*: task 1 has 1 of 2"],
    ),
    (
        "evalmetrics.run('gone.bench.yaml')",
        ["there is no benchmark file gone.bench.yaml"],
    ),
]


def test_invalid_arguments_are_reported_without_a_traceback(project):
    tests = [
        f"def test_{i}(evalmetrics): {call}\n"
        for i, (call, _) in enumerate(WRONG_CALLS)
    ]
    project.write("test_x.py", "".join(tests))
    result = project.run("-p", "no:randomly")
    result.assert_outcomes(failed=len(WRONG_CALLS))
    result.stdout.no_fnmatch_line("*site-packages*")
    for number, (_, messages) in enumerate(WRONG_CALLS):
        lines = (
            line.replace("test_x.py:2", f"test_x.py:{number + 1}") for line in messages
        )
        at = f"test_x.py:{number + 1}: in test_{number}"
        result.stdout.fnmatch_lines([at, "> *evalmetrics.*", *lines])


BENCH = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}
benchmarks:
  - {name: easy, thresholds: {mean_reward: ">= 0.1"}}
  - {name: hard, thresholds: {mean_reward: ">= 0.9"}, baseline: true}
"""


def test_the_benchmarks_of_a_file_run_from_a_test(project):
    project.rollouts([[1.0], [0.0]], "sub/runs.jsonl")
    project.write("sub/two.yaml", BENCH)
    project.write(
        "test_x.py",
        """
def test_all(evalmetrics):
    evalmetrics.run("sub/two.yaml")

def test_quietly(evalmetrics):
    results = evalmetrics.run("sub/two.yaml", fail=False)
    assert {name: r.passed for name, r in results.items()} == {"easy": True, "hard": False}

def test_another(evalmetrics):
    evalmetrics.run("sub/two.yaml", "hards")
""",
    )
    project.run(UPDATE)
    result = project.run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_all-hard failed",
            "FAIL  sub/two.yaml:5: mean_reward is 0.5, below 0.9",
            "sub/two.yaml has no benchmark 'hards': did you mean 'hard'? it has: easy, hard",
        ]
    )
    assert {p.name for p in project.baseline("test_x").iterdir()} == {
        "test_all-hard.json",
        "test_quietly-hard.json",
    }


TOGETHER = """
import pytest
from pytest_evalmetrics.errors import DataError, EvalMetricsError, GateFailed

def raised(evalmetrics, file):
    with pytest.raises(EvalMetricsError) as raised:
        evalmetrics.run(file)
    return raised.value

def test_gates(evalmetrics):
    error = raised(evalmetrics, "gates.yaml")
    assert type(error) is GateFailed
    assert str(error).count("mean_reward is 0.5") == 2

def test_data_first(evalmetrics):
    assert type(raised(evalmetrics, "data_first.yaml")) is DataError

def test_data_last(evalmetrics):
    assert type(raised(evalmetrics, "data_last.yaml")) is DataError
"""


def test_one_benchmark_that_can_t_be_judged_makes_the_error_one_of_data(project):
    gate = "{name: %s, thresholds: {mean_reward: '>= 0.9'}}"
    data = "{name: lost, rollouts: gone.jsonl, thresholds: {mean_reward: '>= 0.1'}}"
    files = {
        "gates": [gate % "a", gate % "b"],
        "data_first": [data, gate % "a"],
        "data_last": [gate % "a", data],
    }
    project.rollouts([[1.0], [0.0]])
    for name, benchmarks in files.items():
        text = f"defaults: {{rollouts: runs.jsonl}}\nbenchmarks: [{', '.join(benchmarks)}]\n"
        project.write(f"{name}.yaml", text)
    project.write("test_x.py", TOGETHER)
    project.run().assert_outcomes(passed=3)


LONG = """\
def test_long(evalmetrics):
    evalmetrics.check(
        [
            0.1,
            0.2,
            0.3,
            0.4,
            0.5,
            0.6,
        ],
        thresholds={"mean_reward": ">= 0.9"},
    )

def test_helped(evalmetrics):
    evalmetrics.check(
        [0.1], thresholds={"mean_reward": ">= 0.9"}
    )
"""


def calls_shown(result):
    """Return the lines of calls, by the test whose call it is."""
    calls = {}
    for line in result.outlines:
        if ": in test_" in line:
            shown = calls.setdefault(line.rpartition(" ")[2], [])
        elif line.startswith("> "):
            shown.append(line[2:].strip())
    return calls


def test_eight_lines_of_a_long_call_are_shown_and_all_of_a_short_one(project):
    project.write("test_x.py", LONG)
    calls = calls_shown(project.run())
    assert calls["test_long"] == [
        "evalmetrics.check(",
        "[",
        "0.1,",
        "0.2,",
        "0.3,",
        "0.4,",
        "0.5,",
        "0.6,",
    ]
    assert calls["test_helped"] == [
        "evalmetrics.check(",
        '[0.1], thresholds={"mean_reward": ">= 0.9"}',
        ")",
    ]
