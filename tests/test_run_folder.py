"""A run that ends too early leaves no earlier PASS in its place, and never passes."""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import textwrap
from pathlib import Path

import pytest

VERDICTS = ("report.json", "summary.md", "report.html", "aggregate_metrics.json")


@pytest.fixture
def passed(project, monkeypatch):
    """A project whose last run passed."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # the page says when it was written
    project.rollouts([[1.0], [1.0]])
    project.bench("expect: {tasks: 2}\nnum_samples: 1\nthresholds: {mean_reward: '>= 0.5'}")
    assert project.run().ret == 0
    assert project.report()["verdict"] == "PASS"
    return project


def ledger(project, folder="evalmetrics"):
    return json.loads((project.path / folder / "run.json").read_text())


def verdicts(project):
    return {name for name in VERDICTS if (project.path / "evalmetrics" / name).exists()}


def hooks(project, text):
    project.write("conftest.py", "import os, signal\n" + textwrap.dedent(text))


def test_a_finished_run_names_its_files_by_their_digests(passed):
    found = ledger(passed)
    assert (found["state"], found["verdict"]) == ("finished", "PASS")
    assert set(found["artifacts"]) == set(VERDICTS)
    for name, digest in found["artifacts"].items():
        data = (passed.path / "evalmetrics" / name).read_bytes()
        assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert passed.run("-n", "1").ret == 0
    assert ledger(passed)["run"] != found["run"]
    assert ledger(passed)["artifacts"] == found["artifacts"]  # the same bytes, with xdist too
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
    hooks(passed, f"def {hook}: {how}\n")
    result = passed.run()
    assert result.ret != 0
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "running"
    # its last verdict is there still, and the next run says what became of the one between
    assert (passed.path / "evalmetrics/previous/report.json").exists()
    hooks(passed, "")
    result = passed.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: the run before this one did not finish: process *"])
    assert verdicts(passed) == set(VERDICTS)


def test_a_run_that_only_prints_or_knows_of_no_benchmark_leaves_the_files_alone(passed):
    passed.write("test_other.py", "def test_one(): pass\n")
    before = {name: (passed.path / "evalmetrics" / name).read_bytes() for name in VERDICTS}
    ran = ledger(passed)
    for arg in ("--evalmetrics-plan", "--evalmetrics-delete-unused=list", "test_other.py"):
        assert passed.run(arg).ret == 0
        assert before == {n: (passed.path / "evalmetrics" / n).read_bytes() for n in VERDICTS}
        assert ledger(passed) == ran


@pytest.mark.parametrize("args", [("--co",), ("-k", "nothing"), ("--setup-plan",), ()])
def test_a_run_that_evaluates_nothing(passed, args):
    if not args:
        passed.bench("skip: later")
    passed.run(*args)
    assert not verdicts(passed)
    assert ledger(passed)["state"] == "nothing evaluated"
    shutil.rmtree(passed.path / "evalmetrics")
    if args:
        passed.run(*args)
        assert not (passed.path / "evalmetrics").exists()


def test_a_second_run_under_xdist_is_refused_before_it_evaluates(passed):
    stat = Path("/proc/self/stat")
    began = stat.read_text().rpartition(")")[2].split()[19] if stat.exists() else ""
    process = {"host": socket.gethostname(), "process": os.getpid(), "began": began}
    state = {"run": "other", "state": "running", "started": "now", **process}
    passed.write("evalmetrics/run.json", json.dumps(state))
    result = passed.run("-n", "1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "another run writes here: process" in result.stdout.str() + result.stderr.str()
    assert ledger(passed) == state


def test_rows_stay_for_runs_that_read_them(passed):
    rows = passed.rollouts([[1.0]], name="evalmetrics/rollouts.jsonl")
    passed.write(
        "math.bench.yaml",
        "benchmark: {name: math, rollouts: evalmetrics/rollouts.jsonl, num_samples: 1}\n",
    )
    before = rows.read_bytes()
    assert passed.run().ret == 0
    assert rows.read_bytes() == before


def test_a_second_run_in_one_folder_says_so(passed):
    hooks(
        passed,
        """
        import subprocess, sys
        def pytest_runtest_setup(item):
            if "SECOND" not in os.environ:
                run = subprocess.run(
                    [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
                    env={**os.environ, "SECOND": "1"}, capture_output=True, text=True)
                open("second", "w").write(f"{run.returncode}\\n{run.stdout}{run.stderr}")
        """,
    )
    assert passed.run().ret == 0
    status, _, text = (passed.path / "second").read_text().partition("\n")
    assert status == "4"
    assert "another run writes here: process" in text
    assert "--evalmetrics-output" in text
    assert passed.report()["verdict"] == "PASS"


@pytest.mark.parametrize("args", [(), ("-n", "1")])
def test_a_report_is_a_baseline_if_its_run_finished_and_wrote_it(passed, args):
    path = passed.path / "evalmetrics/report.json"
    passed.bench("expect: {tasks: 2}\nnum_samples: 1\nbaseline: {report: evalmetrics/report.json}")
    assert passed.run(*args).ret == 0
    checks = [c for c in passed.report()["benchmarks"][0]["checks"] if c["gate"] == "baseline"]
    assert {check["verdict"] for check in checks} == {"PASS"}
    report = path.read_bytes()
    path.write_bytes(report.replace(b"1.0", b"0.1"))
    result = passed.run("--evalmetrics-output", "other/", *args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*/report.json: this report is not the one that the run*"])
    hooks(passed, "def pytest_runtest_setup(item): os.kill(os.getpid(), signal.SIGKILL)\n")
    passed.run()
    path.write_bytes(report)  # as if it were current
    hooks(passed, "")
    result = passed.run("--evalmetrics-output", "other/", *args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*evalmetrics/report.json: the run that writes this report died*"])


def test_what_a_dead_run_left_behind_is_removed(passed, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    passed.bench("expect: {tasks: 2}\nnum_samples: 1\nbaseline: true")
    host = os.uname().nodename.replace("-", "_")
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    kept = passed.path / "__baselines__/math.bench"
    gone, alive = (
        f"evalmetrics-{host}-{process}-0123456789abcdef"
        for process in (ended.stdout.strip(), os.getpid())
    )
    places = [f"{tmp_path}/{{}}/x", f"{kept}/.{{}}.tmp", f"{passed.path}/evalmetrics/.{{}}.tmp"]
    removed = [Path(place.format(gone)) for place in places]
    others = [Path(place.format(alive)) for place in places]
    others += [tmp_path / "evalmetrics-mine", kept / ".abc.tmp", tmp_path / gone[:-1]]
    for path in removed + others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert passed.run("--snapshot-update").ret == 0
    assert not any(path.exists() for path in removed)
    assert not removed[0].parent.exists()
    assert all(path.exists() for path in others)


def test_what_is_killed_while_it_writes_a_baseline_is_removed_by_the_next_run(passed):
    passed.bench("expect: {tasks: 2}\nnum_samples: 1\nbaseline: true")
    hooks(
        passed,
        """
        import pathlib
        def replace(self, target): os.kill(os.getpid(), signal.SIGKILL)
        def pytest_runtest_setup(item): pathlib.Path.replace = replace
        """,
    )
    assert passed.run("--snapshot-update").ret == -signal.SIGKILL
    folder = passed.path / "__baselines__/math.bench"
    assert [path.suffix for path in folder.iterdir()] == [".tmp"]
    hooks(passed, "")
    assert passed.run("--snapshot-update").ret == 0
    assert [path.name for path in folder.iterdir()] == ["math.json"]
