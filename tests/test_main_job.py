"""From a benchmark file and its rollouts to a verdict and the artifacts, run for real."""

from __future__ import annotations

import pytest

GOOD = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_benchmark_that_holds_passes_and_leaves_its_artifacts(project):
    project.rollouts(GOOD)
    project.bench('expect: {tasks: 4}\nthresholds: {pass@1: ">= 0.6"}\nmetrics: [pass@1, pass^2]')
    result = project.run()
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    (entry,) = project.aggregate()
    assert entry["agent_ref"] == {"name": "agent"}
    assert entry["benchmark"] == "math.bench.yaml::math"
    assert entry["agent_metrics"]["mean/reward"] == 0.625
    assert entry["agent_metrics"]["pass@1"] == 0.625
    assert entry["agent_metrics"]["pass^2"] == 0.5
    assert len(entry["group_level_metrics"]) == 4
    (benchmark,) = project.report()["benchmarks"]
    assert benchmark["verdict"] == "PASS"


def test_a_threshold_that_is_not_met_fails_and_says_by_how_much(project):
    project.rollouts(GOOD)
    project.bench('expect: {tasks: 4}\nthresholds: {pass@1: ">= 0.7"}\nmetrics: [pass@1]')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "math failed",
            "verdict * metric * value * expected",
            "FAIL * pass@1 * 0.6250 * >= 0.7",
            "FAIL  math.bench.yaml:*: pass@1 is 0.625, below 0.7",
            "FAILED math.bench.yaml::math*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_evalmetrics/*")


def test_the_value_is_never_rounded_into_its_bound(project):
    project.rollouts([[0.69999999]])
    project.bench('thresholds: {mean_reward: ">= 0.7"}\nmetrics: [mean_reward]')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mean_reward is 0.69999999, below 0.7"])


def test_a_mean_that_misses_its_bound_by_float_noise_passes(project):
    project.rollouts([[0.1 + 0.2]])  # 0.30000000000000004
    project.bench("thresholds: {mean_reward: {min: 0.3, max: 0.3}}\nmetrics: [mean_reward]")
    project.run().assert_outcomes(passed=1)


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


def test_lost_tasks_fail_where_the_file_says_how_many_there_are(project):
    project.rollouts(GOOD[:2])
    project.bench("expect: {tasks: 4}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*2 of 4 tasks are missing: 2 were found"])


def test_unchecked_completeness_is_told_with_the_line_to_add(project):
    project.rollouts(GOOD)
    project.bench('thresholds: {mean_reward: ">= 0.5"}')
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*completeness is unchecked*add `expect: {tasks: 4}`*"])


def test_nothing_gated_is_told(project):
    project.rollouts(GOOD)
    project.bench("expect: {tasks: 4}")
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*nothing is gated*"])


def test_rewards_written_as_text_fail(project):
    project.rows("runs.jsonl", [{"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": "1.0"}])
    project.bench()
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*runs.jsonl:1*reward*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_renamed_reward_fails_with_the_scores_there_are(project):
    project.rows("runs.jsonl", [{"_ng_task_index": 0, "_ng_rollout_index": 0, "rewards": 1.0}])
    project.bench()
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*did you mean 'rewards'*"])


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


def test_a_missing_reward_means_what_the_file_says(project):
    project.rollouts([[1.0, None], [1.0, 1.0]])
    common = "metrics: [mean_reward]\nnum_samples: 2\n"
    for expect, mean in [("0.0", 0.75), ("exclude, max_missing: 50%", 1.0)]:
        project.bench(f"{common}expect: {{tasks: 2, missing_reward: {expect}}}")
        project.run().assert_outcomes(passed=1)
        (entry,) = project.aggregate()
        assert entry["agent_metrics"]["mean_reward"] == mean
        assert entry["group_level_metrics"][0]["missing_num_rollouts"] == 1
    project.bench(f"{common}expect: {{tasks: 2, missing_reward: exclude}}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*25 % of 4 rollouts, more than 5 %"])


def test_several_agents_are_judged_each_for_itself(project):
    rows = [
        {"agent_ref": {"name": agent}, "_ng_task_index": t, "_ng_rollout_index": 0, "reward": r}
        for agent, rewards in (("new", [1.0, 0.0]), ("old", [1.0, 1.0]))
        for t, r in enumerate(rewards)
    ]
    project.rows("runs.jsonl", rows)
    project.bench('thresholds: {mean_reward: ">= 0.9"}\nexpect: {tasks: 2}')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAIL *new*mean_reward*", "*PASS *old*mean_reward*"])
    assert [e["agent_ref"]["name"] for e in project.aggregate()] == ["new", "old"]


def test_the_end_of_the_interval_can_be_gated(project):
    project.rollouts([[1.0]] * 10)
    project.bench(
        "metrics: [pass@1]\nexpect: {tasks: 10}\nthresholds: {pass@1: {min: 0.8, bound: lower}}"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    # Wilson's lower end of 10 in 10: R's prop.test gives 0.7224672
    assert project.checks()["pass@1"]["value"] == pytest.approx(0.7224672, abs=1e-7)
    result.stdout.fnmatch_lines(["*the lower end of pass@1 is 0.7225, below 0.8"])


def test_an_end_that_does_not_exist_is_inconclusive(project):
    project.rollouts([[3.0]])
    project.bench("metrics: [mean_reward]\nthresholds: {mean_reward: {min: 0.8, bound: lower}}")
    result = project.run()
    result.assert_outcomes(failed=1)
    assert project.checks()["mean_reward"]["verdict"] == "INCONCLUSIVE"


def test_hooks_add_metrics_and_choose_the_headline_ones(project):
    project.write(
        "conftest.py",
        """
def pytest_evalmetrics_compute_metrics(benchmark, tasks):
    assert benchmark.name == "math"
    return {"any_pass": sum(any(r["reward"] >= 1 for r in t) for t in tasks) / len(tasks)}

def pytest_evalmetrics_key_metrics(agent_metrics):
    return {"any_pass": agent_metrics["any_pass"]}
""",
    )
    project.rollouts(GOOD)
    project.bench('expect: {tasks: 4}\nthresholds: {any_pass: ">= 0.8"}')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*any_pass is 0.75, below 0.8"])
    assert project.aggregate()[0]["key_metrics"] == {"any_pass": 0.75}


def test_a_metric_of_ones_own(project):
    project.write(
        "conftest.py",
        """
from pytest_evalmetrics import register_metric

@register_metric("best_task")
class BestTask:
    name = "best_task"

    def compute(self, task_rewards):
        return max(sum(t) / len(t) for t in task_rewards)
""",
    )
    project.rollouts(GOOD)
    project.bench('metrics: [best_task]\nexpect: {tasks: 4}\nthresholds: {best_task: "<= 0.5"}')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*best_task is 1, above 0.5"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no')", "*broken*ValueError: no*"),
        ("return 'high'", "*broken*'high'*"),
        ("return float('nan')", "*broken*nan*"),
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


def test_an_unknown_metric_is_named_with_a_guess(project):
    project.rollouts(GOOD)
    project.bench("metrics: [pass_rat]")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no metric 'pass_rat': did you mean 'pass_rate'*"])
