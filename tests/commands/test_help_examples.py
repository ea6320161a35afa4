"""The example in the help of each command, which runs as it is written."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from forked import completed

from pytest_evalmetrics.cases.command import _EXAMPLE as CASE_EXAMPLE

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "accept",
    "baselines",
    "calibrate",
    "check",
    "compare",
    "culprit",
    "explain",
    "init",
    "inspect",
    "journal",
    "list_names",
    "power",
    "schema",
    "site",
)
BENCHMARK = """
benchmark:
  name: math
  rollouts: {path: ../main.jsonl, fields: {task: id, reward: correct}}
  metrics: [pass@1]
  baseline: true
"""
TRACE = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "a1",
                            "spanId": "b2",
                            "name": "chat",
                            "startTimeUnixNano": "1",
                            "attributes": [
                                {
                                    "key": "gen_ai.input.messages",
                                    "value": {
                                        "stringValue": json.dumps(
                                            [{"role": "user", "content": "The price?"}]
                                        )
                                    },
                                },
                                {
                                    "key": "gen_ai.output.messages",
                                    "value": {
                                        "stringValue": json.dumps(
                                            [{"role": "assistant", "content": "5"}]
                                        )
                                    },
                                },
                            ],
                        }
                    ]
                }
            ]
        }
    ]
}
# examples that show what is worse, or what nobody has recorded yet
NOT_GOOD = {"compare", "culprit", "calibrate"}


def examples(text):
    return [
        line.strip() for line in text.splitlines() if line.startswith("  evalmetrics ")
    ]


def rows(share):
    return [
        {"id": f"q{n}", "correct": int(n % 10 < share), "category": "a"}
        for n in range(60)
    ]


@pytest.fixture
def prepared(project):
    """A project with the files that the examples name."""
    for name, share in {
        "main": 9,
        "branch": 4,
        "monday": 9,
        "tuesday": 9,
        "wednesday": 3,
    }.items():
        project.rows(f"{name}.jsonl", rows(share))
    project.rollouts([[1], [0]] * 10, "runs/one.jsonl", category="a")
    project.write("results.json", json.dumps({"results": rows(9)}))
    cells = "".join(f"q{n},{n % 5 / 4}\n" for n in range(60))
    project.write("grades.csv", f"question_id,grade\n{cells}")
    project.write("evals/math.bench.yaml", BENCHMARK)
    project.write("trace.json", json.dumps(TRACE))
    return project


def typed(project, example):
    """Run an example, whose words a shell would split alike."""
    words, _, file = example.partition(" > ")
    program, *arguments = shlex.split(words)
    assert program == "evalmetrics"
    assert not set("|<>&;$`") & set(words)
    command = [sys.executable, "-m", "pytest_evalmetrics", *arguments]
    done = completed(command, project.path, {**os.environ, "COLUMNS": "80"})
    if file:
        project.write(file, done.stdout)
    return done


def prepare(project, name):
    """Do before an example what it is about."""
    if name == "accept":
        project.run("evals", "--evalmetrics-update")
        project.rows("main.jsonl", rows(4))
        project.run("evals")
    if name == "journal":
        answers = ROOT / "examples/judge/journal.jsonl.gz"
        shutil.copy(answers, project.path / "answers.jsonl.gz")
        typed(project, "evalmetrics journal import answers.jsonl.gz")
    if name == "site":
        project.run("evals", "--evalmetrics-update")
        shutil.copytree(project.path / "evalmetrics", project.path / "artifacts/1")
    if name == "culprit":
        history(project)


def git(project, *words):
    """Run git there as somebody, and return what it prints."""
    person = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    branch = ["-c", "init.defaultBranch=main"]
    command = ["git", *person, *branch, *words]
    return subprocess.check_output(command, cwd=project.path, text=True).strip()


def commit(project, share):
    """Commit with the results of a run."""
    git(project, "commit", "-q", "--allow-empty", "-m", "more")
    name = git(project, "rev-parse", "HEAD")
    project.rows(f"artifacts/{name}/runs.jsonl", rows(share))


def history(project):
    """Commit thrice; the last run is worse."""
    git(project, "init", "-q")
    commit(project, 9)
    git(project, "tag", "v1")
    commit(project, 9)
    commit(project, 3)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_runs_as_it_is_written(prepared, name):
    prepare(prepared, name)
    module = import_module(f"pytest_evalmetrics.commands.{name}")
    written = list(examples(module.EXAMPLE))
    assert written != []
    for example in written:
        done = typed(prepared, example)
        text = done.stdout + done.stderr
        assert "Traceback" not in text, text
        assert done.returncode in ((0, 1) if name in NOT_GOOD else (0,)), text
        if name != "schema":
            shown = done.stdout.replace(str(prepared.path), ".")
            wide = [line for line in shown.splitlines() if len(line) > 80]
            assert wide == [], example


def test_the_example_of_a_case_runs_as_it_is_written(prepared):
    (example,) = examples(CASE_EXAMPLE)
    done = typed(prepared, example)
    assert done.returncode == 0, done.stderr
    (row,) = (prepared.path / "cases.jsonl").read_text().splitlines()
    assert json.loads(row)["reason"] == "quoted the old price"
