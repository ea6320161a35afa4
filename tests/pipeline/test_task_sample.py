"""``sample:``: a stratified subset of the tasks, the same on both sides and in every run."""

import random

import numpy as np

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


def test_a_pull_request_runs_a_part_of_what_the_nightly_run_recorded(project):
    project.write("math.bench.yaml", FILE.format(tasks=160))
    whole = project.rows("runs.jsonl", rows(1))
    project.run("--snapshot-update", "--evalmetrics-all-tasks").assert_outcomes(
        passed=1
    )
    assert len(drawn(project)) == 160
    before = whole.read_text()

    result = project.run()
    result.stdout.fnmatch_lines(
        ["*sample: 40 of 160 tasks, by difficulty: easy 30 of 120, hard 10*"]
    )
    tasks = drawn(project)
    assert len(tasks) == 40
    assert sum(int(task) % 4 == 3 for task in tasks) == 10
    assert (
        check(project)["comparison"]["drop"],
        check(project)["comparison"]["tasks"],
    ) == (0, 40)
    # the interval is that of these tasks' mean
    mine = [
        [r["reward"] for r in rows(1) if str(r["_ng_task_index"]) == task]
        for task in tasks
    ]
    estimate = project.report()["benchmarks"][0]["agents"][0]["estimates"]["pass@1"]
    assert estimate["value"] == np.mean(mine)
    assert estimate["tasks"] == 40

    # neither the order of the rows nor the seed of chance changes which tasks they are
    lines = before.splitlines(keepends=True)
    random.Random(7).shuffle(lines)  # noqa: S311 - no secret
    project.write("runs.jsonl", "".join(lines))
    project.run().assert_outcomes(passed=1)
    assert drawn(project) == tasks

    project.rows("runs.jsonl", rows(2, drop=0.3))
    project.run().assert_outcomes(failed=1)
    assert check(project)["verdict"] == "FAIL"
    assert check(project)["comparison"]["tasks"] == 40

    result = project.run("--snapshot-update")  # would drop 120 tasks
    result.stdout.fnmatch_lines(
        ["*no baseline was recorded, because it would drop tasks*"]
    )
    for all_of, count in (((), 40), (("--evalmetrics-all-tasks",), 160)):
        assert (
            f"pass@1  {count} "
            in project.run("--evalmetrics-plan", *all_of).stdout.str()
        )


def test_tasks_are_drawn_by_content_and_a_lost_one_is_not_overlooked(project):
    project.write("math.bench.yaml", FILE.format(tasks=160))
    project.rows("runs.jsonl", rows(1))
    project.run("--snapshot-update", "--evalmetrics-all-tasks")
    project.run()
    tasks = {int(task) for task in drawn(project)}
    # the first row is gone, so that every id is another's: the questions stay the same ones
    project.write("math.bench.yaml", FILE.format(tasks=159))
    project.rows("runs.jsonl", rows(1, first=1))
    result = project.run()
    assert len({int(task) + 1 for task in drawn(project)} & tasks) >= 38
    lost = project.checks()["tasks"]  # of the baseline, which comes last
    assert lost["verdict"] == "FAIL"
    assert "1 of the baseline's 41 tasks is not in this run: 0" in lost["reason"]
    project.write("math.bench.yaml", FILE.format(tasks=160))
    result = project.run()
    result.stdout.fnmatch_lines(["*there are 159 tasks to sample from, expected 160*"])


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
