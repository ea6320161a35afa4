"""``sample:``: a stratified subset of the tasks, the same on both sides and in every run."""

import random

import numpy as np
import pytest
from evaluated import evaluated

LEVELS = ("easy", "easy", "easy", "hard")
FILE = """
benchmark:
  name: math
  rollouts: runs.jsonl
  expect: {{tasks: {tasks}}}
  metrics: [pass@1]
  sample: {{tasks: 40, by: difficulty}}
  baseline: true
"""
SAMPLE = "  sample: {tasks: 40, by: difficulty}\n"


def rows(seed, drop=0.0, tasks=160, first=0):
    """Rollouts whose ids are positions and whose question tells what the task is."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    return [
        {
            "_ng_task_index": number - first,
            "_ng_rollout_index": k,
            "difficulty": LEVELS[number % 4],
            "responses_create_params": {"input": f"question {number}"},
            "reward": float(draw.random() < 0.3 + number / 400 - drop),
        }
        for number in range(first, tasks)
        for k in range(2)
    ]


def drawn(project):
    (agent,) = project.report()["benchmarks"][0]["agents"]
    return set(agent["task_scores"])


def check(project):
    return project.checks()["pass@1"]


@pytest.fixture
def recorded(project):
    """A project whose nightly run recorded all of its 160 tasks."""
    text = FILE.format(tasks=160)
    project.write("math.bench.yaml", text.replace(SAMPLE, ""))
    project.rows("runs.jsonl", rows(1))
    assert evaluated(project, updates=True).passed
    project.write("math.bench.yaml", text)
    return project


def test_a_nightly_run_records_all_tasks(project):
    project.write("math.bench.yaml", FILE.format(tasks=160))
    project.rows("runs.jsonl", rows(1))
    result = project.run("--snapshot-update", "--evalmetrics-all-tasks")
    result.assert_outcomes(passed=1)
    assert len(drawn(project)) == 160
    assert '"tasks": 160' in project.baseline().read_text(encoding="utf-8")


def test_a_pull_request_runs_a_part_of_what_the_nightly_run_recorded(recorded):
    result = recorded.run()
    result.stdout.fnmatch_lines(
        ["*sample: 40 of 160 tasks, by difficulty: easy 30 of 120, hard 10*"]
    )
    tasks = drawn(recorded)
    assert len(tasks) == 40
    assert sum(int(task) % 4 == 3 for task in tasks) == 10
    comparison = check(recorded)["comparison"]
    assert comparison["tasks"] == 40
    assert comparison["drop"] == 0


def test_the_estimate_of_a_sample_is_that_of_its_tasks(recorded):
    evaluated(recorded)
    tasks = drawn(recorded)
    rewards = [row["reward"] for row in rows(1) if str(row["_ng_task_index"]) in tasks]
    agent = recorded.report()["benchmarks"][0]["agents"][0]
    estimate = agent["estimates"]["pass@1"]
    assert estimate["value"] == pytest.approx(np.mean(rewards))
    assert estimate["tasks"] == 40


def test_the_order_of_the_rows_does_not_change_which_tasks_are_drawn(recorded):
    evaluated(recorded)
    tasks = drawn(recorded)
    lines = (recorded.path / "runs.jsonl").read_text().splitlines(keepends=True)
    random.Random(7).shuffle(lines)  # noqa: S311 - no secret
    recorded.write("runs.jsonl", "".join(lines))
    assert evaluated(recorded).passed
    assert drawn(recorded) == tasks


def test_a_drop_is_found_on_the_drawn_tasks(recorded):
    recorded.rows("runs.jsonl", rows(2, drop=0.3))
    assert not evaluated(recorded).passed
    assert check(recorded)["verdict"] == "FAIL"
    assert check(recorded)["comparison"]["tasks"] == 40


def test_a_sample_is_not_recorded_over_the_baseline_of_all_tasks(recorded):
    result = recorded.run("--snapshot-update")
    result.stdout.fnmatch_lines(
        ["*no baseline was recorded, because it would drop tasks*"]
    )


def test_the_plan_is_that_of_the_tasks_that_the_run_would_draw(recorded):
    assert "pass@1  40 " in recorded.run("--evalmetrics-plan").stdout.str()
    plan_of_all = recorded.run("--evalmetrics-plan", "--evalmetrics-all-tasks")
    assert "pass@1  160 " in plan_of_all.stdout.str()


def test_tasks_are_drawn_by_content_and_a_lost_one_is_not_overlooked(recorded):
    project = recorded
    evaluated(project)
    tasks = {int(task) for task in drawn(project)}
    # the first row is gone, so that every id is another's: the questions stay the same ones
    project.write("math.bench.yaml", FILE.format(tasks=159))
    project.rows("runs.jsonl", rows(1, first=1))
    result = evaluated(project)
    assert len({int(task) + 1 for task in drawn(project)} & tasks) >= 38
    lost = project.checks()["tasks"]  # of the baseline, which comes last
    assert lost["verdict"] == "FAIL"
    assert "1 of the baseline's 41 tasks is not in this run: 0" in lost["reason"]
    project.write("math.bench.yaml", FILE.format(tasks=160))
    result = evaluated(project)
    result.says("*there are 159 tasks to sample from, expected 160*")


ONLINE = """
benchmark:
  name: answers
  dataset: data.jsonl
  target: answering:answer
  scorers: [{python: "answering:right"}]
  reward: right
  metrics: [pass@1]
  must_pass: [q3]
  sample: {tasks: 8, by: level, seed: 5}
  baseline: true
"""
TARGET = """
from pathlib import Path

def answer(row):
    with Path("asked.txt").open("a") as file:
        file.write(row["id"] + "\\n")
    return str(row["n"])

def right(row):
    return 1.0
"""


def test_only_the_sampled_rows_of_a_data_set_are_asked(project):
    project.write("answering.py", TARGET)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.write("answers.bench.yaml", ONLINE)
    data = [{"id": f"q{i}", "n": i, "level": LEVELS[i % 4]} for i in range(32)]
    project.rows("data.jsonl", data)
    project.run("--snapshot-update", "--evalmetrics-all-tasks").assert_outcomes(
        passed=1
    )
    asked = project.path / "asked.txt"
    assert len(asked.read_text().split()) == 32
    chosen = []
    for order in (data, data[::-1]):
        asked.unlink()
        project.rows("data.jsonl", order)
        project.run().assert_outcomes(passed=1)
        chosen.append(set(asked.read_text().split()))
        assert chosen[-1] == drawn(project)
    assert len(chosen[0]) == 8
    assert chosen[0] == chosen[1]
    assert sum(int(task[1:]) % 4 == 3 for task in chosen[0]) == 2
    assert check(project)["comparison"]["tasks"] == 8
