"""The tasks that a failure shows: whose they are, and how their rewards are written."""

import pytest

from pytest_evalmetrics.reports.flipped_tasks import rewards_text


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ((1.0, 1.0), (0.0, 1.0), "2/2 -> 1/2"),
        ((0.8, 0.6), (0.1, 0.0), "0.8 0.6 -> 0.1 0"),
        ((1.0, 1.0), (2.0, 2.0), "1 1 -> 2 2"),  # seconds, which are no passes
        ((0.5,) * 8, (0.25,) * 8, "mean 0.5000 -> mean 0.2500"),
        ((), (0.0,), "none -> 0/1"),
    ],
)
def test_passes_are_counted_and_other_rewards_listed_or_averaged(before, now, text):
    assert rewards_text(before, now) == text


def test_tasks_that_had_to_pass_come_first_with_the_rewards_of_one_metric(project):
    rows = [
        {"task": f"t{task}", "reward": reward, "latency": latency}
        for task in range(40)
        for reward, latency in [(1.0, 1.0), (1.0, 2.0)]
    ]
    project.rows("old.jsonl", rows)
    for row in rows:
        row["latency"] += 3.0
        row["reward"] = float(row["task"] not in ("t0", "t37", "t38"))
    project.rows("new.jsonl", rows)
    project.write(
        "math.bench.yaml",
        "benchmark:\n"
        "  name: math\n"
        "  rollouts: {path: new.jsonl, fields: {task: task}}\n"
        "  metrics: [mean_reward, mean/latency]\n"
        "  must_pass: [t38]\n"
        "  baseline:\n"
        "    rollouts: old.jsonl\n"
        "    metrics:\n"
        "      mean_reward: {rule: absolute, max_drop: 0.01}\n"
        "      mean/latency: {direction: lower}\n",
    )
    lines = project.run().stdout.lines
    tasks = [line for line in lines if line.startswith("  t")]
    assert tasks == ["  t38  2/2 -> 0/2", "  t0   2/2 -> 0/2", "  t37  2/2 -> 0/2"]
