"""evalmetrics.check: a test's own numbers, gated, reported, and kept as those of a file are."""

import xml.etree.ElementTree as ET

import pytest

from pytest_evalmetrics import EvalMetrics

UPDATE = "--snapshot-update"
FAILING = """
import pytest

def test_sums(evalmetrics):
    evalmetrics.check(
        [[1, 0], [1, 1]],
        thresholds={"mean_reward": ">= 0.8"},
        expect={"tasks": 2},
    )
"""


def test_a_check_that_holds_returns_its_result(quick):
    quick.write(
        "test_x.py",
        """
def test_sums(evalmetrics):
    result = evalmetrics.check(
        {"b": [1, 0], "a": [True, None]},
        metrics=["pass_rate"],
        thresholds={"pass_rate": ">= 0.5"},
        expect={"tasks": 2, "missing_reward": "exclude", "max_missing": "50%"},
        description="sums",
    )
    assert result
    assert result.passed
    assert result.name == "test_sums"
    assert result.value("pass_rate") == 2 / 3
    assert [a.tasks for a in result.agents] == [2]
""",
    )
    quick.run().assert_outcomes(passed=1)
    (entry,) = quick.report()["benchmarks"]
    assert (entry["id"], entry["file"], entry["line"]) == ("test_x.py::test_sums", "test_x.py", 3)
    assert entry["description"] == "sums"
    assert entry["agents"][0]["task_scores"] == {
        "a": {"reward": [1, None]},
        "b": {"reward": [1, 0]},
    }
    assert quick.aggregate()[0]["benchmark"] == "test_x.py::test_sums"


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_check_that_fails_shows_the_test_s_own_line_and_no_traceback(quick, workers):
    quick.write("test_x.py", FAILING)
    result = quick.run(*workers, "--force-short-summary")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_x.py:5: in test_sums",
            ">     evalmetrics.check(",
            '>         thresholds={"mean_reward": ">= 0.8"},',
            ">     )",
            "",
            "test_sums failed",
            "FAIL * mean_reward * 0.7500 * >= 0.8",
            "FAIL  test_x.py:5: mean_reward is 0.75, below 0.8",
            "FAILED test_x.py::test_sums - mean_reward is 0.75, below 0.8",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")
    assert quick.report()["verdict"] == "FAIL"


def test_a_helper_is_not_where_the_test_is_wrong(quick):
    quick.write("helper.py", "def gate(e, r): e.check(r, thresholds={'mean_reward': '>= 1'})\n")
    quick.write(
        "test_x.py",
        "import helper\ndef test_sums(evalmetrics):\n    helper.gate(evalmetrics, [0])\n",
    )
    result = quick.run("-p", "no:randomly")
    result.stdout.fnmatch_lines(
        [
            "test_x.py:3: in test_sums",
            ">     helper.gate(evalmetrics, [[]0[]])",
            "FAIL  test_x.py:3: *",
        ]
    )


def test_where_failing_is_not_asked_for_the_result_says_it(quick):
    quick.write(
        "test_x.py",
        """
def test_sums(evalmetrics):
    result = evalmetrics.check([0, 1], thresholds={"mean_reward": ">= 0.8"}, fail=False)
    assert not result
    assert result.checks[-1].reason == "mean_reward is 0.5, below 0.8"
""",
    )
    assert quick.run().ret == 0
    assert quick.report()["verdict"] == "FAIL"  # what the gates say


SEVERAL = """
import pytest

@pytest.mark.parametrize("model", ["small", "large v2"])
def test_sums(evalmetrics, model):
    evalmetrics.check([[1, 0], [1, 1]], baseline=True, expect={"tasks": 2})

class TestCode:
    class TestHard:
        def test_sums(self, evalmetrics):
            evalmetrics.check([1, 0], name="easy", baseline=True)
            evalmetrics.check([0, 0], name="hard", baseline=True)
"""
FILES = {
    "TestCode.TestHard.test_sums-easy.json",
    "TestCode.TestHard.test_sums-hard.json",
    "test_sums%5Blarge v2%5D.json",
    "test_sums%5Bsmall%5D.json",
}


def test_each_parameter_set_and_each_name_has_its_own_baseline_and_entry(quick):
    quick.write("evals/test_x.py", SEVERAL)
    quick.run().assert_outcomes(failed=3)  # there are no baselines
    quick.run(UPDATE, "-n", "1").assert_outcomes(passed=3)
    folder = quick.path / "evals" / "__baselines__" / "test_x"
    assert {path.name for path in folder.iterdir()} == FILES
    result = quick.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*4 snapshots passed*"])
    assert [entry["id"].partition("::")[2] for entry in quick.report()["benchmarks"]] == [
        "TestCode::TestHard::test_sums::easy",
        "TestCode::TestHard::test_sums::hard",
        "test_sums[large v2]",
        "test_sums[small]",
    ]


def test_a_regression_against_the_baseline_names_the_tasks_that_flipped(quick):
    text = """
def test_sums(evalmetrics):
    evalmetrics.check({f"t{i}": [i >= BAD] * 2 for i in range(60)}, metrics="pass@1", baseline=True)
"""
    quick.write("test_x.py", "BAD = 0\n" + text)
    assert quick.run(UPDATE).ret == 0
    quick.write("test_x.py", "BAD = 20\n" + text)
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL  test_x.py:4: pass@1 fell from 1 to 0.6667: *20 worse and 0 better",
            "*worse: task t0 *",
        ]
    )


WRONG_CALLS = [
    ("evalmetrics.check([1]); evalmetrics.check([1])", ["two checks of this test are without a *"]),
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
    ("evalmetrics.check([1], thresholds={1: 2})", ["*thresholds: found a dict whose keys are *"]),
    ("evalmetrics.check([1], metrics=[object])", ["*metrics[[]0[]]: found type; expected text*"]),
    ("evalmetrics.check([])", ["rewards holds no task", "  give one list of numbers per task*"]),
    ("evalmetrics.check([1, 'no'])", ["rewards[[]1[]] is str 'no'; expected a number, *"]),
    ("evalmetrics.check([10**400, 1])", ["rewards[[]0[]] is larger than a number can be here"]),
    ("evalmetrics.check([1, float('nan')])", ["*one rollout has no finite reward (task 1), 50 %*"]),
    ("evalmetrics.check([[1, 1], []])", ["*1 of 2 tasks has fewer rollouts*: task 1 has 1 of 2"]),
    ("evalmetrics.run('gone.bench.yaml')", ["there is no benchmark file gone.bench.yaml"]),
]


def test_what_means_nothing_is_told_without_a_traceback(quick):
    tests = [f"def test_{i}(evalmetrics): {call}\n" for i, (call, _) in enumerate(WRONG_CALLS)]
    quick.write("test_x.py", "".join(tests))
    result = quick.run("-p", "no:randomly")
    result.assert_outcomes(failed=len(WRONG_CALLS))
    result.stdout.no_fnmatch_line("*site-packages*")
    for number, (_, told) in enumerate(WRONG_CALLS):
        lines = (line.replace("test_x.py:2", f"test_x.py:{number + 1}") for line in told)
        at = f"test_x.py:{number + 1}: in test_{number}"
        result.stdout.fnmatch_lines([at, "> *evalmetrics.*", *lines])


def test_scores_and_labels_of_one_s_own(quick):
    quick.write(
        "test_x.py",
        """
def test_sums(evalmetrics):
    result = evalmetrics.check(
        [[1, 0], [1, 1]],
        scores={"tokens": [[10, 20], [30, 40]]},
        labels={"level": ["easy", "hard"]},
        breakdown="level",
        metrics=["mean_reward"],
        key_metrics=["mean_reward", "mean/tokens", "mean_reward[level=hard]"],
        thresholds={"mean/tokens": "<= 25"},
        expect={"tasks": 2},
        num_samples=2,
    )
    assert result.value("mean/tokens") == 25
    assert result.value("mean_reward[level=hard]") == 1
""",
    )
    quick.run().assert_outcomes(passed=1)


def test_what_is_known_to_fail_is_no_failure_of_the_report(quick):
    quick.write("test_x.py", FAILING.replace("def test", "@pytest.mark.xfail\ndef test"))
    quick.run().assert_outcomes(xfailed=1)
    assert quick.report()["verdict"] == "PASS"
    (entry,) = quick.report()["benchmarks"]
    assert (entry["verdict"], entry["xfail"]) == ("FAIL", True)


def test_a_mark_that_does_not_apply_keeps_no_baseline_from_being_recorded(quick):
    quick.write(
        "test_x.py",
        """
import pytest

@pytest.mark.xfail(False, reason="elsewhere")
def test_sums(evalmetrics):
    evalmetrics.check([1], baseline=True)

@pytest.mark.xfail
def test_more(evalmetrics):
    evalmetrics.check([1], baseline=True)
""",
    )
    quick.run(UPDATE)
    assert quick.baseline("test_x/test_sums.json").exists()
    assert not quick.baseline("test_x/test_more.json").exists()


def test_junit_tells_the_metrics_of_each_check(quick):
    quick.write(
        "test_x.py",
        """
def test_sums(evalmetrics):
    evalmetrics.check([1, 0], name="easy", metrics="pass_rate")
    evalmetrics.check([0, 0], name="hard", metrics="pass_rate", thresholds={"pass_rate": ">= 1"})
""",
    )
    quick.run("--junitxml=junit.xml")
    (case,) = ET.parse(quick.path / "junit.xml").iter("testcase")  # noqa: S314 - ours
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["test_sums-easy: pass_rate"] == "0.5"
    assert properties["test_sums-hard: evalmetrics.verdict"] == "FAIL"
    (failure,) = case.iter("failure")
    assert failure.get("message") == "pass_rate is 0, below 1"
    assert (failure.text or "").startswith("test_x.py:4: in test_sums")


def test_hooks_and_metrics_of_a_conftest_have_their_say(project):
    project.write(
        "conftest.py",
        """
def pytest_evalmetrics_register(registry):
    registry.metrics.register("best")(lambda tasks: max(map(max, tasks)))

def pytest_evalmetrics_compute_metrics(benchmark, tasks):
    return {"count": float(len(tasks))}

def pytest_evalmetrics_benchmark_finished(result):
    print("finished", result.name)
""",
    )
    project.write(
        "test_x.py",
        """
def test_sums(evalmetrics):
    result = evalmetrics.check([1, 0], metrics="best", thresholds={"count": ">= 2"})
    assert result.value("best") == 1
""",
    )
    result = project.run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*finished test_sums"])


BENCH = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}
benchmarks:
  - {name: easy, thresholds: {mean_reward: ">= 0.1"}}
  - {name: hard, thresholds: {mean_reward: ">= 0.9"}, baseline: true}
"""


def test_the_benchmarks_of_a_file_run_from_a_test(quick):
    quick.rollouts([[1.0], [0.0]], "sub/runs.jsonl")
    quick.write("sub/two.yaml", BENCH)
    quick.write(
        "test_x.py",
        """
def test_one(evalmetrics):
    assert evalmetrics.run("sub/two.yaml", "easy").name == "test_one-easy"

def test_all(evalmetrics):
    evalmetrics.run("sub/two.yaml")

def test_quietly(evalmetrics):
    results = evalmetrics.run("sub/two.yaml", fail=False)
    assert {name: r.passed for name, r in results.items()} == {"easy": True, "hard": False}

def test_another(evalmetrics):
    evalmetrics.run("sub/two.yaml", "hards")
""",
    )
    quick.run(UPDATE)
    result = quick.run()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_all-hard failed",
            "FAIL  sub/two.yaml:5: mean_reward is 0.5, below 0.9",
            "sub/two.yaml has no benchmark 'hards': did you mean 'hard'? it has: easy, hard",
        ]
    )
    assert {p.name for p in quick.baseline("test_x").iterdir()} == {
        "test_all-hard.json",
        "test_quietly-hard.json",
    }


def test_a_value_that_is_not_there_is_told_with_those_that_are(quick):
    quick.write(
        "test_x.py",
        """
import pytest

def test_sums(evalmetrics):
    result = evalmetrics.check([1], metrics="pass_rate")
    with pytest.raises(KeyError, match="there is mean/reward, pass_rate"):
        result.value("mean_reward")
    with pytest.raises(KeyError, match="there is 'agent'"):
        result.value("pass_rate", "other")
""",
    )
    quick.run().assert_outcomes(passed=1)


def test_a_check_in_a_fixture_reaches_the_report(quick):
    quick.write(
        "test_x.py",
        """
import pytest

@pytest.fixture
def checked(evalmetrics):
    evalmetrics.check([1], name="before")
    yield
    evalmetrics.check([1], name="after")

def test_sums(checked): pass
""",
    )
    assert quick.run().ret == 0
    assert [e["name"] for e in quick.report()["benchmarks"]] == [
        "test_sums-after",
        "test_sums-before",
    ]


ENDED = """
import os, pytest

def test_done(evalmetrics): evalmetrics.check([1])
def test_nothing(evalmetrics): pass
def test_skipped(evalmetrics): pytest.skip("here")
def test_broken(evalmetrics): 1 / 0
@pytest.mark.skip
def test_left(evalmetrics): pass
"""


def test_a_test_that_ends_before_its_check_is_told(quick):
    quick.write("test_x.py", ENDED)
    for workers in ((), ("-n", "1")):
        quick.run(*workers).assert_outcomes(passed=2, skipped=2, failed=1)
        assert quick.report()["not_evaluated"] == ["test_x.py::test_broken"]
    quick.run("-k", "broken or done", "-x", "--deselect", "test_x.py::test_done")
    assert quick.report()["verdict"] == "INCONCLUSIVE"


def test_the_type_is_at_hand_for_annotations():
    assert EvalMetrics.check.__doc__
