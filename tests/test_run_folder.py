"""A run that ends too early leaves no earlier PASS in its place, and never passes."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest
from conftest import Project

VERDICTS = ("report.json", "summary.md", "report.html", "aggregate_metrics.json")


@pytest.fixture(scope="session")
def kept_folder(tmp_path_factory):
    """Hold what the first run left for all tests."""
    return tmp_path_factory.mktemp("passed") / "evalmetrics"


@pytest.fixture
def passed(pytester, monkeypatch, kept_folder):
    """A project whose last run passed."""
    monkeypatch.setenv(
        "SOURCE_DATE_EPOCH", "1700000000"
    )  # the page says when it was written
    project = Project(pytester)
    project.rollouts([[1.0], [1.0]])
    project.bench(
        "expect: {tasks: 2}\nnum_samples: 1\nthresholds: {mean_reward: '>= 0.5'}"
    )
    if not kept_folder.exists():
        assert project.run().ret == 0
        assert project.report()["verdict"] == "PASS"
        (project.path / "evalmetrics").rename(kept_folder)
    shutil.copytree(kept_folder, project.path / "evalmetrics")
    return project


def ledger(project):
    return json.loads((project.path / "evalmetrics/run.json").read_text())


def verdicts(project):
    """Read the artifacts that show a verdict."""
    paths = {name: project.path / "evalmetrics" / name for name in VERDICTS}
    return {name: path.read_bytes() for name, path in paths.items() if path.exists()}


def run_with_hook(project, text, *args):
    """Run pytest, in a process of its own, with a hook that ends it."""
    project.write("conftest.py", "import os, pathlib, signal\n" + textwrap.dedent(text))
    result = project.run(*args)
    (project.path / "conftest.py").unlink()
    return result


def test_a_finished_run_names_its_files_by_their_digests(passed):
    first = ledger(passed)
    assert (first["state"], first["verdict"]) == ("finished", "PASS")
    assert first["artifacts"] == {
        name: f"sha256:{hashlib.sha256(data).hexdigest()}"
        for name, data in verdicts(passed).items()
    }
    assert set(first["artifacts"]) == set(VERDICTS)
    assert passed.run("-n", "1").ret == 0
    assert ledger(passed)["run"] != first["run"]
    assert (
        ledger(passed)["artifacts"] == first["artifacts"]
    )  # the same bytes, with xdist too
    assert not (passed.path / "evalmetrics/previous").exists()


@pytest.mark.parametrize(
    ("how", "hook"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", "pytest_runtest_setup(item)"),
        ("os.kill(os.getpid(), signal.SIGHUP)", "pytest_collection_modifyitems()"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "pytest_runtest_setup(item)"),
        ("os._exit(0)", "pytest_runtest_setup(item)"),
        ("os._exit(0)", "pytest_collection_modifyitems()"),
    ],
)
def test_a_run_that_is_killed(passed, how, hook):
    assert run_with_hook(passed, f"def {hook}: {how}\n").ret != 0
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "running"
    # its last verdict is there still, and the next run says what became of the one between
    assert (passed.path / "evalmetrics/previous/report.json").exists()
    result = passed.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: the run before this one did not finish: process *"]
    )
    assert verdicts(passed).keys() == set(VERDICTS)


def test_a_run_that_only_prints_or_knows_of_no_benchmark_leaves_the_files_alone(passed):
    passed.write("test_other.py", "def test_one(): pass\n")
    before = verdicts(passed), ledger(passed)
    for arg in (
        "--evalmetrics-plan",
        "--evalmetrics-delete-unused=list",
        "test_other.py",
    ):
        assert passed.run_here(arg).ret == 0
        assert (verdicts(passed), ledger(passed)) == before


NOTHING_RUNS = pytest.mark.parametrize(
    "args", [("--co",), ("-k", "nothing"), ("--setup-plan",)]
)


@NOTHING_RUNS
def test_a_run_that_evaluates_nothing_leaves_no_verdict_of_an_earlier_one(passed, args):
    passed.run_here(*args)
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "nothing evaluated"


@NOTHING_RUNS
def test_a_run_that_evaluates_nothing_makes_no_folder(passed, args):
    shutil.rmtree(passed.path / "evalmetrics")
    passed.run_here(*args)
    assert not (passed.path / "evalmetrics").exists()


def test_a_benchmark_that_is_skipped_leaves_no_verdict_of_an_earlier_run(passed):
    passed.bench("skip: later")
    passed.run_here()
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "nothing evaluated"


def test_a_second_run_in_one_folder_is_refused_before_it_evaluates(passed):
    refused = []

    class Second:
        def pytest_runtest_setup(self):
            state = ledger(passed)
            refused.extend(passed.run(*workers) for workers in ((), ("-n", "1")))
            assert ledger(passed) == state

    first = passed.pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", plugins=[Second()]
    )
    first.assert_outcomes(passed=1)
    assert passed.report()["verdict"] == "PASS"
    for result in refused:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        text = result.stdout.str() + result.stderr.str()
        assert f"another run writes here: process {os.getpid()}" in text
        assert "--evalmetrics-output" in text


def test_rows_stay_for_runs_that_read_them(passed):
    rows = passed.rollouts([[1.0]], name="evalmetrics/rollouts.jsonl")
    text = "benchmark: {name: math, rollouts: evalmetrics/rollouts.jsonl, num_samples: 1}\n"
    passed.write("math.bench.yaml", text)
    before = rows.read_bytes()
    assert passed.run_here().ret == 0
    assert rows.read_bytes() == before


def test_a_report_is_a_baseline_if_its_run_finished_and_wrote_it(passed):
    path = passed.path / "evalmetrics/report.json"
    passed.bench(
        "expect: {tasks: 2}\nnum_samples: 1\nbaseline: {report: evalmetrics/report.json}"
    )
    for workers in (
        (),
        ("-n", "1"),
    ):  # the second run's baseline is the first one's report
        assert passed.run(*workers).ret == 0
        checks = [
            c
            for c in passed.report()["benchmarks"][0]["checks"]
            if c["gate"] == "baseline"
        ]
        assert {check["verdict"] for check in checks} == {"PASS"}
    report = path.read_bytes()
    path.write_bytes(report.replace(b"1.0", b"0.1"))
    result = passed.run("--evalmetrics-output", "other/")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*/report.json: this report is not the one that the run*"]
    )
    run_with_hook(
        passed, "def pytest_runtest_setup(item): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path.write_bytes(report)  # as if it were current
    for workers in ((), ("-n", "1")):
        result = passed.run("--evalmetrics-output", "other/", *workers)
        assert result.ret == 1
        message = "*evalmetrics/report.json: the run that writes this report died*"
        result.stdout.fnmatch_lines([message])


def test_what_a_dead_run_left_behind_is_removed(passed, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    passed.bench("expect: {tasks: 2}\nnum_samples: 1\nbaseline: true")
    host = os.uname().nodename.replace("-", "_")
    ended = subprocess.run(
        ["sh", "-c", "echo $$"], capture_output=True, text=True, check=True
    )
    kept = passed.path / "__baselines__/math.bench"
    gone, alive = (
        f"evalmetrics-{host}-{process}-0123456789abcdef"
        for process in (ended.stdout.strip(), os.getpid())
    )
    places = [
        f"{tmp_path}/{{}}/x",
        f"{kept}/.{{}}.tmp",
        f"{passed.path}/evalmetrics/.{{}}.tmp",
    ]
    removed = [Path(place.format(gone)) for place in places]
    others = [Path(place.format(alive)) for place in places]
    others += [tmp_path / "evalmetrics-mine", kept / ".abc.tmp", tmp_path / gone[:-1]]
    for path in removed + others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert passed.run_here("--snapshot-update").ret == 0
    assert not any(path.exists() for path in removed)
    assert not removed[0].parent.exists()
    assert all(path.exists() for path in others)


def test_a_half_written_baseline_is_removed_by_the_next_run(passed):
    passed.bench("expect: {tasks: 2}\nnum_samples: 1\nbaseline: true")
    hook = """
        def replace(self, target): os.kill(os.getpid(), signal.SIGKILL)
        def pytest_runtest_setup(item): pathlib.Path.replace = replace
        """
    assert run_with_hook(passed, hook, "--snapshot-update").ret == -signal.SIGKILL
    folder = passed.path / "__baselines__/math.bench"
    assert [path.suffix for path in folder.iterdir()] == [".tmp"]
    assert passed.run("--snapshot-update").ret == 0
    assert [path.name for path in folder.iterdir()] == ["math.json"]


@pytest.mark.parametrize("text", ['{"run": 1, "state": ["running"]}', "[" * 100_000])
def test_nothing_in_run_json_is_trusted(passed, text):
    file = passed.path / "evalmetrics/run.json"
    file.write_text(text)
    assert passed.run_here().ret == 0
    assert ledger(passed)["state"] == "finished"
    bench = "expect: {tasks: 2}\nnum_samples: 1\nbaseline: {report: old/report.json}"
    passed.bench(bench)
    shutil.copytree(passed.path / "evalmetrics", passed.path / "old")
    (passed.path / "old/run.json").write_text(text)
    passed.run_here()  # without a traceback


def test_run_json_moves_no_file_that_is_no_artifact(passed):
    victim = passed.path / "victim.json"
    victim.write_text("precious")
    state = ledger(passed)
    state["artifacts"]["../victim.json"] = ""
    (passed.path / "evalmetrics/run.json").write_text(json.dumps(state))
    result = passed.run_here()
    assert result.ret == 0
    assert victim.read_text() == "precious"
    result.stdout.fnmatch_lines(
        ["note: *run.json names '../victim.json', which is no artifact*"]
    )


@pytest.mark.parametrize("how", ["removed", "renamed"])
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_benchmark_that_is_gone_leaves_no_pass(passed, how, workers):
    file = passed.path / "math.bench.yaml"
    passed.write("test_other.py", "def test_one(): pass\n")
    if how == "removed":
        file.unlink()
    else:
        file.rename(passed.path / "math.yaml")
    result = passed.run(*workers)
    assert result.ret == 0
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "nothing evaluated"
    result.stdout.fnmatch_lines(["note: no benchmark was found where an earlier run*"])


def test_a_run_that_looks_elsewhere_leaves_the_verdict(passed):
    passed.write("unit/test_other.py", "def test_one(): pass\n")
    (passed.path / "math.bench.yaml").unlink()
    before = verdicts(passed)
    assert passed.run_here("unit").ret == 0
    assert passed.run_here("unit/test_other.py").ret == 0
    assert verdicts(passed) == before


@pytest.mark.parametrize("option", ["--evalmetrics-output", "--evalmetrics-history"])
def test_a_path_that_would_move_pytests_root_is_refused(passed, tmp_path, option):
    place = tmp_path / "elsewhere"
    place.mkdir()
    passed.write("pytest.ini", "[pytest]\nevalmetrics_output = mine/\n")
    result = passed.run(option, str(place))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*write {option}={place}"])
    assert passed.run(f"--evalmetrics-output={place}").ret == 0
    assert (place / "report.json").is_file()
    assert passed.run("--evalmetrics-output", "out/").ret == 0
    assert passed.run("--evalmetrics-output", "out/").ret == 0  # it exists by now
