"""Whole runs on a simulated Windows: see `sitecustomize`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project
from scoring.generation.running import online

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="its simulation looks into /proc"
)
ODD = 'who? "me": <a|b>* \\ con'  # what no name of a file holds there


def on_windows(folder, *args, module="pytest"):
    path = os.pathsep.join(
        (str(Path(__file__).parent / "simulated"), os.environ.get("PYTHONPATH", ""))
    )
    done = subprocess.run(
        [sys.executable, "-m", module, *args],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "SIMULATED_WINDOWS": str(folder),
            "USERNAME": "me",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout, done.stdout
    assert "INTERNALERROR" not in done.stdout, done.stdout
    return done


def files_of(folder):
    left = (path for path in folder.rglob("*") if path.is_file())
    skipped = ("run.json", "report.html", "history.jsonl")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in left
        if path.name not in skipped
        and "pycache" not in str(path)
        and ".pytest" not in str(path)
    }


@pytest.fixture
def odd(pytester):
    """A benchmark, an agent and a test with names that no file has on Windows."""
    project = Project(pytester)
    now = [[1.0, 0.0]] * 10 + [[1.0, 1.0]] * 20
    project.rollouts(now, agent_ref={"name": ODD})
    name = json.dumps(ODD)
    project.write(
        "odd.bench.yaml",
        "defaults: {rollouts: runs.jsonl, metrics: [pass@1], baseline: true}\nbenchmarks:\n"
        f"  - name: {name}\n  - name: con\n  - {{name: Con, baseline: {{history: 10}}}}\n",
    )
    project.write(
        "test_x.py",
        f"def test_x(evalmetrics):\n    evalmetrics.check([1.0] * 9, name={name}, baseline=True)\n",
    )
    return project


REFUSED = """
import os, pathlib
from pytest_evalmetrics import file_locks
from pytest_evalmetrics.processes import is_running
assert is_running(os.getpid()) and not is_running(2**22 + 1)
gone = os.posix_spawnp("true", ["true"], {})
os.waitid(os.P_PID, gone, os.WEXITED | os.WNOWAIT)
assert not is_running(gone) and os.waitpid(gone, 0)
assert "msvcrt" in vars(file_locks) and "fcntl" not in vars(file_locks)
here = pathlib.Path.cwd()
with (here / "a").open("w"):
    for refused in (lambda: (here / "b?").touch(), lambda: (here / "con.json").mkdir(),
                    lambda: (here / "a").unlink(), lambda: (here / "a").replace(here / "b")):
        try:
            refused()
        except OSError:
            continue
        raise SystemExit("it is no Windows")
(here / "a").replace(here / "b")
"""


def test_the_simulation_refuses_what_windows_refuses(tmp_path):
    code = tmp_path / "code.py"
    code.write_text(REFUSED)
    assert on_windows(tmp_path, module="code").returncode == 0


HISTORY = ("--evalmetrics-history", "history.jsonl")
JOURNAL = ("--evalmetrics-journal", "journal.log")
REPLAY = (*HISTORY, *JOURNAL, "--evalmetrics-replay")


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A folder for the project of the first run and the number of questions that it asked."""
    return tmp_path_factory.mktemp("first_run")


@pytest.fixture
def on_windows_once(odd, model, first_run, monkeypatch):
    """A project that ran on Windows, with three benchmarks that ask the same."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    if not (first_run / "questions").exists():
        run_on_windows_once(odd, model.url)
        shutil.copytree(odd.path, first_run / "project")
        (first_run / "questions").write_text(str(model.posts))
    shutil.copytree(first_run / "project", odd.path, dirs_exist_ok=True)
    return odd


def run_on_windows_once(odd, url):
    for name in "abc":
        rows = ({"id": i, "question": f"{i} + 1", "answer": "1"} for i in range(20))
        odd.rows(f"{name}.jsonl", rows)
        text = online(url).replace("name: a\n", f"name: {name}\n")
        odd.write(f"{name}.bench.yaml", text.replace("data.jsonl", f"{name}.jsonl"))
    budget = ("--evalmetrics-budget=100calls", "-n", "2", "--snapshot-update")
    done = on_windows(odd.path, *HISTORY, *JOURNAL, *budget)
    assert "7 passed" in done.stdout


def test_workers_on_windows_ask_each_question_once(on_windows_once, first_run):
    assert (first_run / "questions").read_text() == "20"
    report = on_windows_once.path / "evalmetrics" / "report.json"
    assert json.loads(report.read_text(encoding="utf-8"))["verdict"] == "PASS"


def test_a_journal_of_windows_is_replayed_there(on_windows_once):
    output = "--evalmetrics-output=out/a"
    done = on_windows(on_windows_once.path, *REPLAY, output)
    assert "7 passed" in done.stdout
    history = on_windows_once.path / "history.jsonl"
    assert len(history.read_text(encoding="utf-8").splitlines()) == 14


def test_linux_reads_what_windows_wrote_and_records_the_same(on_windows_once):
    there = files_of(on_windows_once.path)
    assert on_windows_once.run(*REPLAY, "--evalmetrics-output=out/b").ret == 0
    assert on_windows_once.run(*REPLAY, "--snapshot-update").ret == 0
    here = files_of(on_windows_once.path)
    baselines = [name for name in there if "__baselines__" in name]
    assert len(baselines) >= 3
    for name in baselines:
        assert here[name] == there[name]


def test_a_regression_is_found_on_windows(on_windows_once):
    rewards = [[0.0, 0.0]] * 10 + [[1.0, 1.0]] * 20
    on_windows_once.rollouts(rewards, agent_ref={"name": ODD})
    worse = on_windows(on_windows_once.path, *HISTORY, "odd.bench.yaml")
    assert "pass@1 fell from 0.8333 to 0.6667" in worse.stdout
    assert worse.returncode == 1


def test_files_are_compared_on_windows(odd):
    command = ("compare", "runs.jsonl", "runs.jsonl")
    done = on_windows(odd.path, *command, module="pytest_evalmetrics")
    assert done.returncode == 0
