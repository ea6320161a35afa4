"""Answers of a target are kept for as long as its code, and the files it depends on, are the same."""

import pytest

BENCH = """\
benchmark:
  name: a
  dataset: {{rows: [{{id: 1, answer: "2"}}, {{id: 2, answer: "3"}}]}}
  target: {{function: "an_agent:answer"{version}}}
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
  thresholds: {{mean_reward: ">= 1"}}
{rest}"""
VERSIONED = ', version: "1"'
AGENT = """\
from pathlib import Path


def answer(row):
    with Path("called").open("a") as file:
        file.write("x")
    return STEP(row)


STEP = lambda row: str(row["id"] + 1)
"""
BROKEN = AGENT.replace('str(row["id"] + 1)', '"broken"')


class Agent:
    """A project with an agent of its own, and the number of its calls."""

    def __init__(self, project):
        self.project = project
        project.write("pytest.ini", "[pytest]\npythonpath = .\n")
        self.write(AGENT)
        self.bench()

    def write(self, text):
        self.project.write("an_agent.py", text)

    def bench(self, version=VERSIONED, rest=""):
        self.project.write("a.bench.yaml", BENCH.format(version=version, rest=rest))

    def run(self, *args):
        journal = "--evalmetrics-journal=journal.log"
        return self.project.run(journal, *args)

    @property
    def calls(self):
        path = self.project.path / "called"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def agent(project):
    return Agent(project)


def test_answers_are_reused_while_the_code_is_the_same(agent):
    agent.run().assert_outcomes(passed=1)
    agent.run().assert_outcomes(passed=1)
    assert agent.calls == 2


def test_a_broken_agent_with_the_version_of_a_good_one_is_not_answered_by_the_journal(
    agent,
):
    agent.run().assert_outcomes(passed=1)
    agent.write(BROKEN)
    agent.run().assert_outcomes(failed=1)
    assert agent.calls == 4


HELPED = """\
from pathlib import Path

from tools import plus_one


def answer(row):
    with Path("called").open("a") as file:
        file.write("x")
    return plus_one(row["id"])
"""
TOOLS = """\
import json
import inner.sums


def plus_one(number):
    return json.dumps(inner.sums.add(number, 1))


def unused():
    return 1
"""


@pytest.mark.parametrize(
    ("file", "text", "calls"),
    [
        ("tools.py", TOOLS.replace("number, 1", "1, number"), 4),
        ("tools.py", TOOLS.replace("return 1", "return 2"), 2),
    ],
)
def test_code_of_other_modules_counts_where_the_target_uses_it(
    agent, file, text, calls
):
    agent.write(HELPED)
    agent.project.write("tools.py", TOOLS)
    agent.project.write("inner/__init__.py", "")
    agent.project.write(
        "inner/sums.py", "def add(first, second):\n    return first + second\n"
    )
    agent.run().assert_outcomes(passed=1)
    agent.project.write(file, text)
    agent.run().assert_outcomes(passed=1)
    assert agent.calls == calls


INSTANCE = """\
class Agent:
    def __init__(self, bias):
        self.bias = bias

    def __call__(self, row):
        return str(row["id"] + self.bias)


answer = Agent(bias=1)
"""


def test_the_arguments_of_an_agent_that_is_an_object_are_its_code(agent):
    agent.write(INSTANCE)
    agent.run().assert_outcomes(passed=1)
    agent.write(INSTANCE.replace("bias=1", "bias=50"))
    agent.run().assert_outcomes(failed=1)


def test_changed_code_without_a_changed_version_is_told_in_the_verdict(agent):
    agent.bench(rest="  baseline: {}\n")
    agent.run("--snapshot-update")
    agent.write(AGENT.replace('row["id"] + 1', '1 + row["id"]'))
    result = agent.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*the code of the target changed since the baseline, and its version (1) did not*",
        ]
    )


def test_changed_code_with_a_changed_version_is_announced(agent):
    agent.bench(rest="  baseline: {}\n")
    agent.run("--snapshot-update")
    agent.write(AGENT.replace('row["id"] + 1', '1 + row["id"]'))
    agent.bench(version=', version: "2"', rest="  baseline: {}\n")
    result = agent.run()
    assert "the code of the target" not in result.stdout.str()
    (entry,) = agent.project.report()["benchmarks"]
    assert "target version 1 -> 2" in entry["changes"][0]


def test_answers_are_reused_while_the_files_of_depends_are_the_same(agent):
    agent.project.write("prompts/system.txt", "Be kind.")
    agent.project.write("prompts/deep/tool.txt", "Be short.")
    agent.bench(version="", rest="  depends: [prompts]\n")
    agent.run().assert_outcomes(passed=1)
    agent.run().assert_outcomes(passed=1)
    assert agent.calls == 2
    agent.project.write("prompts/deep/tool.txt", "Be long.")
    agent.run().assert_outcomes(passed=1)
    assert agent.calls == 4


def test_a_file_that_is_added_is_a_change(agent):
    agent.project.write("prompts/system.txt", "Be kind.")
    agent.bench(rest='  depends: ["prompts/**/*.txt"]\n')
    agent.run()
    agent.project.write("prompts/deep/tool.txt", "Be short.")
    agent.run()
    assert agent.calls == 4


def test_a_glob_that_matches_nothing_is_an_error_with_its_line(agent):
    agent.bench(rest='  depends: ["promts/*"]\n')
    agent.run().stdout.fnmatch_lines(
        ["*a.bench.yaml:8: *depends*no file matches 'promts/[*]'*"]
    )
    assert agent.calls == 0
