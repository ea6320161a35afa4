"""From a benchmark file and its rollouts to a verdict and the artifacts, run for real."""

import pytest

GOOD = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("rewards", "told"),
    [
        # the silent faults of other tools: clean mean 0.5 over 4 tasks x 2
        (
            [[1.0, 1.0], [1.0], [1.0, 1.0], [1.0, 1.0]],
            "*1 of 4 tasks has fewer rollouts*task 1 has 1 of 2*",
        ),
        ([[1.0, 1.0], [1.0, None], [0.0, 1.0], [1.0, 1.0]], "*no finite reward (task 1)*"),
    ],
)
def test_lost_rollouts_and_rewards_fail_without_being_asked_for(project, rewards, told):
    project.rollouts(rewards)
    project.bench()
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([told])


def test_unchecked_completeness_is_told_with_the_line_to_add(project):
    project.rollouts(GOOD)
    project.bench('thresholds: {mean_reward: ">= 0.5"}')
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*completeness is unchecked*add `expect: {tasks: 4}`*"])


def test_infinite_rewards_are_missing_not_a_crash(project):
    project.write(
        "runs.jsonl",
        '{"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": Infinity}\n'
        '{"_ng_task_index": 1, "_ng_rollout_index": 0, "reward": 1.0}\n',
    )
    project.bench()
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*one rollout has no finite reward (task 0)*"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no')", "*broken*ValueError: no*"),
        ("return 'high'", "*broken*'high'*"),
        ("return float('nan')", "*broken*nan*"),
        ("return 'x' * 90", f"*broken*'{'x' * 79}... (str)*"),
    ],
)
def test_a_metric_that_fails_is_named_and_never_left_out(project, body, told):
    project.write(
        "conftest.py",
        f"""
from pytest_evalmetrics import register_metric

@register_metric("broken")
class Broken:
    name = "broken"

    def compute(self, task_rewards):
        {body}
""",
    )
    project.rollouts(GOOD)
    project.bench("metrics: [mean_reward, broken]\nexpect: {tasks: 4}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*Traceback*")
