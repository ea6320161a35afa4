"""Numbers that are lost fail a benchmark that asks for nothing, and a metric is never left out."""

from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this file too

CONFTEST = """
from pytest_evalmetrics import register_metric

@register_metric("words")
class Words:
    name = "words"

    def compute(self, task_rewards):
        return "x" * 90
"""
BENCH = """
defaults: {metrics: [mean_reward]}
benchmarks:
  - {name: lost-rollout, rollouts: rollout.jsonl}
  - {name: lost-reward, rollouts: reward.jsonl}
  - {name: infinite, rollouts: infinite.jsonl}
  - {name: words, rollouts: infinite.jsonl, metrics: [mean_reward, words]}
"""


def test_lost_rollouts_and_rewards_fail_without_being_asked_for(pytester):
    project = Quick(pytester)
    # the silent faults of other tools: clean mean 0.5 over 4 tasks x 2
    project.rollouts([[1.0, 1.0], [1.0], [1.0, 1.0], [1.0, 1.0]], "rollout.jsonl")
    project.rollouts([[1.0, 1.0], [1.0, None], [0.0, 1.0], [1.0, 1.0]], "reward.jsonl")
    project.rollouts([[float("inf")], [1.0]], "infinite.jsonl")
    project.write("conftest.py", CONFTEST)
    project.write("a.bench.yaml", BENCH)
    result = project.run("-p", "no:randomly")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "*1 of 4 tasks has fewer rollouts*task 1 has 1 of 2*",
            "*no finite reward (task 1)*",
            "*one rollout has no finite reward (task 0)*",
            f"*words*'{'x' * 79}... (str)*",
        ]
    )
