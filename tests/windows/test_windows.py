"""Whole runs on a simulated Windows: see `sitecustomize`."""

import json
import os
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
from pytest_evalmetrics import run_folder as files
assert files._is_process(os.getpid()) and not files._is_process(2**22 + 1)
gone = os.posix_spawnp("true", ["true"], {})
os.waitid(os.P_PID, gone, os.WEXITED | os.WNOWAIT)
assert not files._is_process(gone) and os.waitpid(gone, 0)
assert "msvcrt" in vars(files) and "fcntl" not in vars(files)
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


def test_runs_leave_the_files_of_other_systems(odd, model, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in "abc":  # the three ask the same
        rows = ({"id": i, "question": f"{i} + 1", "answer": "1"} for i in range(20))
        odd.rows(f"{name}.jsonl", rows)
        text = online(model.url).replace("name: a\n", f"name: {name}\n")
        odd.write(f"{name}.bench.yaml", text.replace("data.jsonl", f"{name}.jsonl"))
    journal = ("--evalmetrics-journal", "journal.log")
    replay = (
        "--evalmetrics-history",
        "history.jsonl",
        *journal,
        "--evalmetrics-replay",
    )
    paying = (
        *replay[:-1],
        "--evalmetrics-budget=100calls",
        "-n",
        "2",
        "--snapshot-update",
    )
    assert "7 passed" in on_windows(odd.path, *paying).stdout
    assert model.posts == 20
    assert (
        "7 passed" in on_windows(odd.path, *replay, "--evalmetrics-output=out/a").stdout
    )
    assert (
        len((odd.path / "history.jsonl").read_text(encoding="utf-8").splitlines()) == 14
    )
    there = files_of(odd.path)
    assert (
        odd.run(*replay, "--evalmetrics-output=out/b").ret == 0
    )  # Linux reads what it wrote
    assert odd.run(*replay, "--snapshot-update").ret == 0
    here = files_of(odd.path)
    baselines = [name for name in there if "__baselines__" in name]
    assert len(baselines) >= 3
    assert {name: there[name] for name in baselines} == {
        name: here[name] for name in baselines
    }
    assert json.loads(there["evalmetrics/report.json"])["verdict"] == "PASS"

    odd.rollouts([[0.0, 0.0]] * 10 + [[1.0, 1.0]] * 20, agent_ref={"name": ODD})
    worse = on_windows(odd.path, "odd.bench.yaml")
    assert "pass@1 fell from 0.8333 to 0.6667" in worse.stdout
    assert worse.returncode == 1
    compare = ("compare", "runs.jsonl", "runs.jsonl")
    assert on_windows(odd.path, *compare, module="pytest_evalmetrics").returncode == 0
