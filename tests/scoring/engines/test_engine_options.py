"""What is refused before anything is done, and what the choice of an engine costs otherwise."""

import subprocess
import sys

import pytest

from pytest_evalmetrics.errors import ConfigError, DataError, Problem, RowError
from pytest_evalmetrics.ext import CallError

NO_RAY = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "ray" else find(name, *more)
"""


def test_an_engine_that_is_not_installed_is_refused(project, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    project.write("early.py", NO_RAY)
    project.bench()
    result = project.run("-p", "early", "--evalmetrics-engine", "ray")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pip install 'pytest-evalmetrics[ray]'" in result.stderr.str()


def test_the_command_line_wins(project):
    project.write("pytest.ini", "[pytest]\nevalmetrics_engine = ray\n")
    project.rollouts([[1, 0], [1, 1]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write("early.py", NO_RAY)
    assert project.run("-p", "early", "--evalmetrics-engine", "local").ret == 0


def test_an_engine_of_ones_own_reads_and_scores(project):
    project.write(
        "mine.py",
        "from pytest_evalmetrics import ext\n"
        "class Engine:\n"
        "    def read(self, files, format_, request): print('reads', files[0].shown)\n"
        "    def prepare(self): print('prepares')\n"
        "    async def score(self, work): await ext.score_here(work)\n"
        "    def close(self): open('closed', 'x').close()\n",
    )
    project.write("pytest.ini", "[pytest]\npythonpath = .\naddopts = -rP\n")
    row = {"response": "a", "reference": "a"}
    project.rows("runs.jsonl", [{"_ng_task_index": n, **row} for n in range(3)])
    project.bench("scorers: [{type: exact-match}]\nthresholds: {mean_reward: '>= 1'}")
    result = project.run("--evalmetrics-engine", "mine:Engine")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["reads runs.jsonl"])
    assert (project.path / "closed").exists()
    result = project.run("--evalmetrics-engine", "mine:Engines")
    result.stdout.fnmatch_lines(
        ["*the engine 'mine:Engines' can't be found: * did you mean *"]
    )


def test_ray_is_imported_by_nobody_but_its_own_module():
    code = (
        "import sys, pytest_evalmetrics.scoring.engines.ray_engine, pytest_evalmetrics.scoring.engines.ray_scoring;"
        "sys.exit('ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "error",
    [
        DataError("no row", file="a.jsonl", line=3, hint="write one"),
        RowError("no-score", "none", hint="give one"),
        CallError("http-500", "broken", status=500, attempts=2, hint="wait"),
        ConfigError("a.bench.yaml", (Problem(1, "x", "wrong"),)),
    ],
)
def test_errors_cross_processes_as_what_they_are(error):
    import pickle  # what is tested

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))
