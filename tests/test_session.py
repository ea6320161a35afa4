"""What a run did not evaluate: whatever ends it, its reports and the terminal say so."""

import re

import pytest

GOOD = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, thresholds: {mean_reward: ">= 0"}}
benchmarks: [{name: one}, {name: two}]
"""
XDIST = ("-n", "1")
ANYWAY = ("--continue-on-collection-errors",)


@pytest.fixture
def some(project):
    project.rollouts([[1.0], [0.5]])
    project.write("good.bench.yaml", GOOD)
    return project


def _told(project):
    """The verdict, and what was not evaluated; the summary says the same."""
    report = project.report()
    summary = (project.path / "evalmetrics/summary.md").read_text(encoding="utf-8")
    assert f"Benchmarks: {report['verdict']}" in summary
    return report["verdict"], report["not_evaluated"]


@pytest.mark.parametrize("how", [XDIST, ANYWAY, ()])
def test_what_cannot_be_collected_is_not_passed_over(some, how):
    some.write("broken.bench.yaml", "benchmark: {nam: x}")
    some.write("test_x.py", "import nowhere\ndef test_x(evalmetrics): ...")
    some.write("sub/conftest.py", "import nowhere")
    some.write("sub/x.bench.yml", "benchmark: {name: x}")
    result = some.run(*how)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    lost = ["broken.bench.yaml", "sub", "test_x.py"]
    others = [] if how else ["good.bench.yaml::one", "good.bench.yaml::two"]
    assert _told(some) == ("INCONCLUSIVE", sorted([*lost, *others]))
    result.stdout.fnmatch_lines([f"INCONCLUSIVE  {name}  was not evaluated" for name in lost])


def test_what_checks_nothing_and_cannot_be_collected_is_not_ours(some):
    some.write("test_x.py", "import pytest_evalmetrics, nowhere\ndef test_x(): ...")
    assert some.run(*ANYWAY).ret == pytest.ExitCode.TESTS_FAILED
    assert _told(some) == ("PASS", [])


def test_tests_that_a_dead_worker_leaves_are_told(some):
    some.write("test_a.py", "def test_first(): ...")
    some.write("test_b.py", "import os\ndef test_dies(evalmetrics): os._exit(0)")
    some.write("test_c.py", "def test_checks(evalmetrics): evalmetrics.check([1])")
    files = ("good.bench.yaml", "test_a.py", "test_b.py", "test_c.py")
    assert some.run("-n", "1", "--max-worker-restart", "0", *files).ret == 1
    assert _told(some) == ("INCONCLUSIVE", ["test_b.py::test_dies", "test_c.py::test_checks"])


HALF = """
import pytest

@pytest.fixture
def before(evalmetrics):
    evalmetrics.check([1], name="a")

def test_breaks(before):
    raise RuntimeError("after it")

def test_all(evalmetrics):
    evalmetrics.check([1], name="a")

def test_nothing(evalmetrics): pass

def test_breaks_off(evalmetrics):
    evalmetrics.check([1], name="a")
    raise RuntimeError("before the next one")

def test_at_once(evalmetrics):
    raise RuntimeError("before any")

def test_skips(evalmetrics):
    evalmetrics.check([1], name="a")
    pytest.skip("no gpu")
"""


@pytest.mark.parametrize("how", [(), XDIST])
def test_a_test_that_ends_between_its_checks_is_told(some, how):
    some.write("test_x.py", HALF)
    result = some.run("test_x.py", *how)
    result.assert_outcomes(passed=2, failed=3, skipped=1)
    assert [entry["verdict"] for entry in some.report()["benchmarks"]] == ["PASS"] * 4
    lost = [f"test_x.py::test_{name}" for name in ("at_once", "breaks", "breaks_off")]
    assert _told(some) == ("INCONCLUSIVE", lost)
    ends = "was not evaluated", *["was not evaluated to its end"] * 2
    lines = [f"{test}  {end}" for test, end in zip(lost, ends, strict=True)]
    result.stdout.fnmatch_lines([f"INCONCLUSIVE  {line}" for line in lines])
    assert some.report()["skipped"] == [{"id": "test_x.py::test_skips", "reason": "no gpu"}]
    result.stdout.fnmatch_lines(["SKIPPED       test_x.py::test_skips  no gpu"])


STRICT = """
import pytest

@pytest.fixture
def before(evalmetrics):
    evalmetrics.check([1], name="first")

@pytest.mark.xfail(strict=True)
def test_good(evalmetrics, before):
    evalmetrics.check([1])

@pytest.mark.xfail(strict=True)
def test_known(evalmetrics):
    evalmetrics.check([1], thresholds={"mean_reward": ">= 2"})

@pytest.mark.xfail(strict=False)
def test_lenient(evalmetrics):
    evalmetrics.check([1])
"""


@pytest.mark.parametrize("how", [(), XDIST])
def test_what_was_to_fail_and_passes_fails_in_the_reports_too(some, how):
    some.write("good.bench.yaml", GOOD.replace("{name: one}", "{name: one, xfail: weak}"))
    some.write("pytest.ini", "[pytest]\nxfail_strict = true")
    some.write("test_x.py", STRICT)
    result = some.run(*how, "--junitxml", "junit.xml")
    result.assert_outcomes(passed=1, failed=2, xfailed=1, xpassed=1)
    assert _told(some) == ("FAIL", [])
    entries = some.report()["benchmarks"]
    assert [(e["id"], e["verdict"], e["xfail"]) for e in entries] == [
        ("good.bench.yaml::one", "FAIL", False),
        ("good.bench.yaml::two", "PASS", False),
        ("test_x.py::test_good", "FAIL", False),
        ("test_x.py::test_good::first", "FAIL", False),
        ("test_x.py::test_known", "FAIL", True),
        ("test_x.py::test_lenient", "PASS", False),
    ]
    reason = "it passes, and is marked xfail (strict): remove the mark"
    told = [e["id"] for e in entries if e["checks"][-1]["reason"] == reason]
    assert told == [entries[i]["id"] for i in (0, 2, 3)]
    assert entries[0]["checks"][-1].keys() == entries[0]["checks"][0].keys()
    summary = (some.path / "evalmetrics/summary.md").read_text(encoding="utf-8")
    assert "4 FAIL (1 known, by xfail)" in " ".join(summary.split())
    assert "one: it passes, and is marked xfail (strict): remove the mark" in summary
    result.stdout.fnmatch_lines(["FAIL          good.bench.yaml::one  *2 tasks*"])
    junit = (some.path / "junit.xml").read_text(encoding="utf-8")
    assert len(re.findall('evalmetrics.verdict" value="FAIL"', junit)) == len([*told, "known"])


def test_an_xfail_of_a_file_covers_no_failure_that_pytest_shows(some):
    some.write("good.bench.yaml", "benchmark: {name: one, rollouts: nowhere.jsonl, xfail: weak}")
    weak = GOOD.replace(">= 0", ">= 2").replace("{name: one}", "{name: one, xfail: weak}")
    some.write("weak.yaml", weak)
    some.write("test_x.py", "def test_x(evalmetrics): evalmetrics.run('weak.yaml', 'one')")
    some.run("good.bench.yaml").assert_outcomes(failed=1)
    assert _told(some) == ("INCONCLUSIVE", [])
    some.run("test_x.py").assert_outcomes(failed=1)
    assert _told(some) == ("FAIL", [])


@pytest.mark.parametrize("how", [(), XDIST])
def test_a_selection_says_what_it_leaves_out(some, how):
    some.write("test_x.py", "".join(f"def test_{i}(evalmetrics): ...\n" for i in range(9)))
    some.write("test_y.py", "def test_y(): ...")
    result = some.run("-k", "one", *how)
    assert result.ret == 0
    first = "good.bench.yaml::two, test_x.py::test_0, test_x.py::test_1 and 7 more"
    result.stdout.fnmatch_lines([f"note: deselected, and not evaluated: {first}"])
    left_out = ["good.bench.yaml::two", *(f"test_x.py::test_{i}" for i in range(9))]
    assert some.report()["deselected"] == left_out
    summary = (some.path / "evalmetrics/summary.md").read_text(encoding="utf-8")
    assert "\n1 PASS, 10 deselected\n" in summary
    some.run(*how)
    assert some.report()["deselected"] == []


def test_files_that_last_failed_passes_over_are_told(some):
    bad = GOOD.replace(">= 0", ">= 2")
    fine = "{name: fine, thresholds: {mean_reward: '>= 0'}}"
    some.write("bad.bench.yaml", bad.replace("{name: two}", f"{{name: two}}, {fine}"))
    args = ("-p", "cacheprovider")
    assert some.pytester.runpytest_subprocess(*args).ret == 1
    result = some.pytester.runpytest_subprocess(*args, "--lf")
    result.assert_outcomes(failed=2)
    left_out = ["bad.bench.yaml::fine", "good.bench.yaml"]
    result.stdout.fnmatch_lines([f"note: deselected, and not evaluated: {', '.join(left_out)}"])
    assert some.report()["deselected"] == left_out


def test_a_run_that_a_plugin_ends_early_is_not_green(some):
    some.write(
        "conftest.py",
        "import pytest\n\n"
        "def pytest_runtest_logfinish(): pytest.exit('enough for today', returncode=0)\n",
    )
    assert some.run().ret == pytest.ExitCode.TESTS_FAILED
    assert _told(some) == ("INCONCLUSIVE", ["good.bench.yaml::two"])


def test_of_a_benchmark_that_each_worker_evaluates_the_worst_result_counts(some):
    some.write(
        "conftest.py",
        """
import os, time

def bad():
    return os.environ.get("PYTEST_XDIST_WORKER") == "gw0"

def pytest_evalmetrics_compute_metrics(benchmark, tasks):
    while not bad() and not os.path.exists("told"):  # the last result is the good one
        time.sleep(0.01)
    return {"here": float(not bad())}

def pytest_sessionfinish():
    if bad():
        open("told", "w").close()
""",
    )
    some.bench('metrics: [mean_reward]\nthresholds: {here: ">= 1"}\nexpect: {tasks: 2}')
    result = some.run("--dist", "each", "-n", "2", "math.bench.yaml")
    result.assert_outcomes(passed=1, failed=1)
    (entry,) = some.report()["benchmarks"]
    assert entry["verdict"] == "FAIL"
    assert _told(some) == ("FAIL", [])


def test_pytest_may_lack_what_is_not_needed(some):
    result = some.run("-p", "no:setuponly", "-p", "no:setupplan", "-p", "no:skipping")
    result.assert_outcomes(passed=2)
    assert some.report()["verdict"] == "PASS"
