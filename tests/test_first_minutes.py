"""Five people with an eval: from an empty folder to a red pull request, by README's words.

The environment of three has the built wheel and what it depends on, and nothing else. Two more
people, whose results are JSON as well, have that of the tests.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from forked import completed
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

PERSON = {
    "GIT_AUTHOR_NAME": "me",
    "GIT_AUTHOR_EMAIL": "me@example.org",
    "GIT_COMMITTER_NAME": "me",
    "GIT_COMMITTER_EMAIL": "me@example.org",
    "COLUMNS": "80",
}
# Each eval writes 60 results: a third of what the changed bot answers is wrong.
MADE = """
import csv, json, os
from bot import is_right

ids = [f"order-{n:02}" for n in range(60)]
"""
BOT = """
def is_right(question):
    return question != "order-07"
"""
CHANGED_BOT = """
def is_right(question):
    return question != "order-07" and int(question[-2:]) % 3 > 0
"""
NESTED_JSON = """
results = [
    {"question": {"id": id, "text": f"Where is {id}?"}, "attempt": attempt,
     "grade": {"correct": is_right(id)}, "latency_ms": 100 + len(id)}
    for id in ids
    for attempt in range(2)
]
run = {"run": {"model": "m1"}, "suites": [{"name": "orders", "results": results}]}
with open("results.json", "w") as file:
    json.dump(run, file)
"""
CSV = """
with open("results.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["question", "answer", "score", "seconds"])
    for id in ids:
        writer.writerow([id, "on its way", int(is_right(id)), 1.5])
"""
CHAT_LOGS = """
with open("results.jsonl", "w") as file:
    for id in ids:
        call = {"name": "find", "arguments": json.dumps({"order": id})}
        messages = [
            {"role": "user", "content": f"Where is {id}?"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "1", "content": "on its way"},
            {"role": "assistant", "content": "It is on its way."},
        ]
        row = {"task": id, "success": is_right(id), "messages": messages}
        file.write(json.dumps(row) + "\\n")
"""
FOLDER = """
os.makedirs("results", exist_ok=True)
for id in ids:
    for trial in range(2):
        result = {"task_id": id, "trial": trial, "score": float(is_right(id))}
        with open(f"results/{id}-{trial}.json", "w") as file:
            json.dump(result, file)
"""
LOST = ["order-00", "order-03", "order-06"]
# names in README's commands, which people replace by their own
STATED = {"results": "results.json", "gate": "results.bench.yaml"}
PROGRAMS = {"pytest": "pytest", "evalmetrics": "pytest_evalmetrics"}
INSTALL = "pip install pytest-evalmetrics"
INIT = "evalmetrics init results.json"
COMMIT = 'git add results.bench.yaml __baselines__ && git commit -m "Gate the eval"'


class Newcomer:
    """Somebody in an empty folder with the package installed, who types commands."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment
        self.typed = [INSTALL]  # by who comes first, for all

    def runs_their_eval(self):
        """Run the eval, which is theirs and needs no words of README."""
        return self._type("python eval.py")

    def types(self, command, **names):
        """Type a command that README states, with names of their own in it."""
        assert command in commands_of_readme()
        for name, own in names.items():
            command = command.replace(STATED[name], own)
        return self._type(command)

    def commits(self, name, text):
        """Commit a file of their own project, which is no step of README's."""
        (self.folder / name).write_text(text, encoding="utf-8")
        self._run(f"git add {name} && git commit -q -m change")

    def opens_a_pull_request(self):
        """Let CI check out what is committed."""
        checkout = self.folder.with_name("checkout")
        self._run(f"git clone -q . {checkout}")
        self.folder = checkout

    def _type(self, command):
        self.typed.append(command)
        return self._run(command)

    def _run(self, command):
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


class Colleague(Newcomer):
    """Somebody whose runs are forked: they start no Python of their own."""

    def _type(self, command):
        program, *arguments = command.split()
        if program not in PROGRAMS:
            return super()._type(command)
        self.typed.append(command)
        run = [sys.executable, "-m", PROGRAMS[program], *arguments]
        return completed(run, self.folder, self.environment)


def commands_of_readme():
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel once."""
    pytest.importorskip("hatchling", reason="the extra `test` has it")
    folder = tmp_path_factory.mktemp("wheel")
    build = (
        "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", build, folder], cwd=ROOT, check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def fresh_environment(tmp_path_factory, wheel):
    """The variables of an environment without a network, after the package is installed."""
    pytest.importorskip("pip", reason="the extra `test` has it")
    venv = tmp_path_factory.mktemp("venv")
    tools = tmp_path_factory.mktemp("tools")
    create = [sys.executable, "-m", "venv", "--without-pip", venv]
    subprocess.run(create, check=True)
    link_dependencies(venv)
    pip = tools / "pip"
    pip.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pip "$@"\n')
    pip.chmod(0o755)
    (tools / "git").symlink_to(shutil.which("git"))
    variables = PERSON | {
        "PATH": os.pathsep.join([str(venv / "bin"), str(tools), os.defpath]),
        "PIP_PYTHON": str(venv / "bin" / "python"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheel.parent),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    assert INSTALL in commands_of_readme()
    subprocess.run(["bash", "-c", INSTALL], env=variables, check=True)
    return variables


@pytest.fixture
def repository(tmp_path):
    """An empty repository."""
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.fixture
def home(tmp_path):
    """An empty home."""
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home)}


@pytest.fixture
def newcomer(repository, fresh_environment, home):
    return Newcomer(repository, fresh_environment | home)


@pytest.fixture
def colleague(repository, home):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return Colleague(repository, os.environ | PERSON | home | {"PATH": path})


def link_dependencies(venv):
    """Link what the package depends on, as this environment has it, and nothing else."""
    site_packages = next(venv.glob("lib/python*/site-packages"))
    for name in dependencies():
        distribution = metadata.distribution(name)
        for part in {file.parts[0] for file in distribution.files}:
            target = site_packages / part
            if part not in ("..", "__pycache__") and not target.exists():
                target.symlink_to(distribution.locate_file(part))
        for command in distribution.entry_points.select(group="console_scripts"):
            script = venv / "bin" / command.name
            module, _, function = command.value.partition(":")
            script.write_text(
                f"#!{venv}/bin/python\nfrom {module} import {function}\n"
                f"raise SystemExit({function}())\n"
            )
            script.chmod(0o755)


def dependencies():
    """List what the package needs without any extra, with what that needs in turn."""
    needed = ["pytest-evalmetrics"]
    for name in needed:
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate(
                {"extra": ""}
            )
            if applies and requirement.name not in needed:
                needed.append(requirement.name)
    return needed[1:]


def goes_to_a_red_pull_request(newcomer, results, writer):
    """Gate the results, commit, change the bot for the worse, and run what CI runs."""
    newcomer.commits("bot.py", BOT)
    newcomer.commits("eval.py", MADE + writer)
    newcomer.runs_their_eval()
    begun = newcomer.types(INIT, results=results)
    assert begun.returncode == 0, begun.stdout
    assert newcomer.types(COMMIT).returncode == 0
    newcomer.commits("bot.py", CHANGED_BOT)
    newcomer.opens_a_pull_request()
    newcomer.runs_their_eval()
    return newcomer.types("pytest")


def assert_red(newcomer, done):
    """The build is red, and the log names the metric, the drop and tasks that flipped."""
    assert done.returncode == 1, done.stdout
    assert "pass@1 fell from 0.9833 to 0.65" in done.stdout
    flips = re.findall(r"^  (order-\d\d)  ", done.stdout, re.MULTILINE)
    assert flips == LOST
    assert len(newcomer.typed) <= 8


def test_somebody_with_nested_json(newcomer):
    done = goes_to_a_red_pull_request(newcomer, "results.json", NESTED_JSON)
    assert_red(newcomer, done)


def test_somebody_with_csv(newcomer):
    done = goes_to_a_red_pull_request(newcomer, "results.csv", CSV)
    assert_red(newcomer, done)


def test_somebody_with_chat_logs(colleague):
    done = goes_to_a_red_pull_request(colleague, "results.jsonl", CHAT_LOGS)
    assert_red(colleague, done)


def test_somebody_with_a_folder_of_json_files(colleague):
    done = goes_to_a_red_pull_request(colleague, "results", FOLDER)
    assert_red(colleague, done)


def test_somebody_with_a_python_test(newcomer):
    (written,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    questions = 'QUESTIONS = [f"order-{n:02}" for n in range(60)]\n'
    newcomer.commits("my_eval.py", questions + BOT)
    newcomer.commits("test_answers.py", written)
    assert newcomer.types("pytest --evalmetrics-update").returncode == 0
    assert newcomer.types(COMMIT, gate="test_answers.py").returncode == 0
    newcomer.commits("my_eval.py", questions + CHANGED_BOT)
    newcomer.opens_a_pull_request()
    done = newcomer.types("pytest")
    assert done.returncode == 1, done.stdout
    assert "mean_reward fell from 0.9833 to 0.65" in done.stdout
    flips = re.findall(r"^  (order-\d\d)  ", done.stdout, re.MULTILINE)
    assert flips == LOST[:2]
    assert len(newcomer.typed) <= 8
