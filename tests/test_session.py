"""Whatever ends a run or keeps it from a benchmark, its reports and the terminal say so."""

import re

import pytest
from conftest import Project

GOOD = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, thresholds: {mean_reward: ">= 0"}}
benchmarks: [{name: one}, {name: two}]
"""
ANYWAY = "--continue-on-collection-errors"


@pytest.fixture
def some(pytester):
    project = Project(pytester)
    project.rollouts([[1.0], [0.5]])
    project.write("good.bench.yaml", GOOD)
    return project


def summary_of(project):
    return (project.path / "evalmetrics/summary.md").read_text(encoding="utf-8")


def outcome(project):
    """Return the verdict, which the summary shows too, and what was not evaluated."""
    report = project.report()
    assert f"Benchmarks: {report['verdict']}" in summary_of(project)
    return report["verdict"], report["not_evaluated"]


def write_broken(some):
    some.write("broken.bench.yaml", "benchmark: {nam: x}")
    some.write("test_broken.py", "import nowhere\ndef test_x(evalmetrics): ...")
    some.write("sub/conftest.py", "import nowhere")
    some.write("sub/x.bench.yml", "benchmark: {name: x}")
    return ["broken.bench.yaml", "sub", "test_broken.py"]


def test_files_that_cannot_be_collected(some):
    broken = write_broken(some)
    good = ["good.bench.yaml::one", "good.bench.yaml::two"]
    for how, status, lost in (([ANYWAY], 1, broken), ([], 2, sorted([*broken, *good]))):
        result = some.run("--tb=no", *how)
        assert result.ret == status
        assert outcome(some) == ("INCONCLUSIVE", lost)
        result.stdout.fnmatch_lines(
            [f"INCONCLUSIVE  {name}  was not evaluated" for name in lost]
        )


def test_a_test_file_that_checks_nothing_is_not_reported(some):
    some.write("test_x.py", "import pytest_evalmetrics, nowhere\ndef test_x(): ...")
    assert some.run(ANYWAY, "--tb=no").ret == pytest.ExitCode.TESTS_FAILED
    assert outcome(some) == ("PASS", [])


DIES = """
import os

def pytest_evalmetrics_compute_metrics(benchmark):
    if benchmark.name == "dies":
        os._exit(0)
"""


@pytest.mark.parametrize(
    ("restarts", "lost"), [(0, ["test_x.py::test_checks"]), (1, [])]
)
def test_what_a_dead_worker_leaves(some, restarts, lost):
    some.write("conftest.py", DIES)
    some.write(
        "dies.bench.yaml", GOOD.replace("{name: one}, {name: two}", "{name: dies}")
    )
    some.write(
        "test_x.py",
        "def test_x(): ...\ndef test_checks(evalmetrics): evalmetrics.check([1])",
    )
    files = ("good.bench.yaml", "dies.bench.yaml", "test_x.py")
    assert some.run("-n", "1", "--max-worker-restart", str(restarts), *files).ret == 1
    assert outcome(some) == ("INCONCLUSIVE", ["dies.bench.yaml::dies", *lost])
    assert len(some.report()["benchmarks"]) == 2 + restarts


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


def test_a_test_that_ends_between_its_checks(some):
    some.write("test_x.py", HALF)
    result = some.run("test_x.py")
    result.assert_outcomes(passed=2, failed=3, skipped=1)
    assert [entry["verdict"] for entry in some.report()["benchmarks"]] == ["PASS"] * 4
    lost = [f"test_x.py::test_{name}" for name in ("at_once", "breaks", "breaks_off")]
    assert outcome(some) == ("INCONCLUSIVE", lost)
    ends = "was not evaluated", *["was not evaluated to its end"] * 2
    lines = [f"{test}  {end}" for test, end in zip(lost, ends, strict=True)]
    result.stdout.fnmatch_lines([f"INCONCLUSIVE  {line}" for line in lines])
    assert some.report()["skipped"] == [
        {"id": "test_x.py::test_skips", "reason": "no gpu"}
    ]
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


def write_strict(some):
    some.write(
        "good.bench.yaml", GOOD.replace("{name: one}", "{name: one, xfail: weak}")
    )
    some.write("pytest.ini", "[pytest]\nxfail_strict = true")
    some.write("test_strict.py", STRICT)


def test_a_strict_xfail_that_passes_fails_in_the_reports_too(some):
    write_strict(some)
    result = some.run("--junitxml", "junit.xml")
    result.assert_outcomes(passed=1, failed=2, xfailed=1, xpassed=1)
    assert outcome(some) == ("FAIL", [])
    entries = some.report()["benchmarks"]
    assert [(e["id"], e["verdict"], e["xfail"]) for e in entries] == [
        ("good.bench.yaml::one", "FAIL", False),
        ("good.bench.yaml::two", "PASS", False),
        ("test_strict.py::test_good", "FAIL", False),
        ("test_strict.py::test_good::first", "FAIL", False),
        ("test_strict.py::test_known", "FAIL", True),
        ("test_strict.py::test_lenient", "PASS", False),
    ]
    reason = "it passes, and is marked xfail (strict): remove the mark"
    passing = [e["id"] for e in entries if e["checks"][-1]["reason"] == reason]
    assert passing == [entries[i]["id"] for i in (0, 2, 3)]
    assert entries[0]["checks"][-1].keys() == entries[0]["checks"][0].keys()
    assert "4 FAIL (1 known, by xfail)" in " ".join(summary_of(some).split())
    assert f"one: {reason}" in summary_of(some)
    result.stdout.fnmatch_lines(["FAIL  good.bench.yaml::one  *2 tasks*"])
    junit = (some.path / "junit.xml").read_text(encoding="utf-8")
    assert len(re.findall('evalmetrics.verdict" value="FAIL"', junit)) == len(
        [*passing, "known"]
    )


def test_a_strict_xfail_that_passes_keeps_the_properties_of_others(some):
    test = """
import pytest

@pytest.mark.xfail(strict=True)
def test_good(evalmetrics, record_property):
    record_property("my.evalmetrics.verdict", "PASS")
    evalmetrics.check([1])
"""
    some.write("test_strict.py", test)
    some.run("--junitxml", "junit.xml", "test_strict.py")
    junit = (some.path / "junit.xml").read_text(encoding="utf-8")
    assert 'name="my.evalmetrics.verdict" value="PASS"' in junit
    assert 'evalmetrics.verdict" value="FAIL"' in junit


def test_an_xfail_of_a_file_covers_no_failure_that_pytest_shows(some):
    some.write(
        "good.bench.yaml",
        "benchmark: {name: one, rollouts: nowhere.jsonl, xfail: weak}",
    )
    weak = GOOD.replace(">= 0", ">= 2").replace(
        "{name: one}", "{name: one, xfail: weak}"
    )
    some.write("weak.yaml", weak)
    some.write(
        "test_x.py", "def test_x(evalmetrics): evalmetrics.run('weak.yaml', 'one')"
    )
    some.run("good.bench.yaml").assert_outcomes(failed=1)
    assert outcome(some) == ("INCONCLUSIVE", [])
    some.run("test_x.py").assert_outcomes(failed=1)
    assert outcome(some) == ("FAIL", [])


def test_a_selection_lists_what_is_deselected(some):
    some.write(
        "test_x.py", "".join(f"def test_{i}(evalmetrics): ...\n" for i in range(9))
    )
    some.write("test_y.py", "def test_y(): ...")
    result = some.run("-k", "one")
    assert result.ret == 0
    first = "good.bench.yaml::two, test_x.py::test_0, test_x.py::test_1 and 7 more"
    result.stdout.fnmatch_lines([f"note: deselected, and not evaluated: {first}"])
    deselected = ["good.bench.yaml::two", *(f"test_x.py::test_{i}" for i in range(9))]
    assert some.report()["deselected"] == deselected
    assert "\n1 PASS, 10 deselected\n" in summary_of(some)
    some.run()
    assert some.report()["deselected"] == []


def test_with_xdist_all_of_this_is_reported_alike(some):
    write_broken(some)
    write_strict(some)
    some.write("test_half.py", HALF)
    some.write("test_deselected.py", "def test_two(evalmetrics): ...")
    args = (ANYWAY, "--tb=no", "-k", "not two", "--junitxml=junit.xml")
    runs = []
    for workers in ([], ["-n", "1"]):
        result = some.run(*args, *workers)
        report = some.report()
        assert report["deselected"] == [
            "good.bench.yaml::two",
            "test_deselected.py::test_two",
        ]
        lines = (
            result.stdout.str().partition("= benchmarks =")[2].partition("= short")[0]
        )
        junit = (some.path / "junit.xml").read_text(encoding="utf-8")
        verdicts = re.findall(r'evalmetrics.verdict" value="(\w+)"', junit)
        runs.append((result.ret, report, lines, summary_of(some), verdicts))
    assert runs[0] == runs[1]


def test_files_that_last_failed_leaves_out_are_reported(some):
    bad = GOOD.replace(">= 0", ">= 2")
    fine = "{name: fine, thresholds: {mean_reward: '>= 0'}}"
    some.write("bad.bench.yaml", bad.replace("{name: two}", f"{{name: two}}, {fine}"))
    args = ("-p", "cacheprovider")
    assert some.run(*args).ret == 1
    result = some.run(*args, "--lf")
    result.assert_outcomes(failed=2)
    left_out = ["bad.bench.yaml::fine", "good.bench.yaml"]
    result.stdout.fnmatch_lines(
        [f"note: deselected, and not evaluated: {', '.join(left_out)}"]
    )
    assert some.report()["deselected"] == left_out


def test_a_run_that_a_plugin_ends_early_is_not_green(some):
    some.write(
        "conftest.py",
        "import pytest\n\n"
        "def pytest_runtest_logfinish(): pytest.exit('enough for today', returncode=0)\n",
    )
    assert some.run().ret == pytest.ExitCode.TESTS_FAILED
    assert outcome(some) == ("INCONCLUSIVE", ["good.bench.yaml::two"])


EACH = """
import os, time

def bad():
    return os.environ.get("PYTEST_XDIST_WORKER") == "gw0"

def pytest_evalmetrics_compute_metrics(benchmark, tasks):
    while not bad() and not os.path.exists("failed"):  # the last result is the good one
        time.sleep(0.01)
    return {"here": float(not bad())}

def pytest_sessionfinish():
    if bad():
        open("failed", "w").close()
"""


def test_of_a_benchmark_that_each_worker_evaluates_the_worst_result_counts(some):
    some.write("conftest.py", EACH)
    some.bench('metrics: [mean_reward]\nthresholds: {here: ">= 1"}\nexpect: {tasks: 2}')
    result = some.run("--dist", "each", "-n", "2", "math.bench.yaml")
    result.assert_outcomes(passed=1, failed=1)
    (entry,) = some.report()["benchmarks"]
    assert entry["verdict"] == "FAIL"
    assert outcome(some) == ("FAIL", [])


def test_pytest_may_lack_what_is_not_needed(some):
    some.run("-pno:setuponly", "-pno:setupplan", "-pno:skipping").assert_outcomes(
        passed=2
    )
    assert outcome(some) == ("PASS", [])
