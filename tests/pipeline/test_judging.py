"""Which metrics are gated against another run, of which agents and tasks, and by which test."""

import numpy as np
import pytest
from evaluated import evaluated

MEANS = [
    "mean_reward",
    "pass_rate",
    "pass@1",
    "pass@3",
    "pass^2",
    "max@2",
    "mean/reward",
]


def rows(rewards, agent="agent", **fields):
    """Write each task's rewards, and fields of which each has a value per task."""
    written = []
    for task, rewards_of_task in enumerate(rewards):
        of_task = {name: values[task] for name, values in fields.items()}
        for sample, reward in enumerate(rewards_of_task):
            row = {
                "agent_ref": {"name": agent},
                "_ng_task_index": task,
                "_ng_rollout_index": sample,
                "reward": reward,
            }
            written.append(row | of_task)
    return written


def judged(project, before, after, metrics, text="baseline: {rollouts: old.jsonl}"):
    """Compare rows with those of another run; give the checks of the metrics."""
    project.rows("old.jsonl", before)
    project.rows("runs.jsonl", after)
    project.bench(f"metrics: {metrics}\n{text}")
    evaluated(project)
    (entry,) = project.report()["benchmarks"]
    return [
        check
        for check in entry["checks"]
        if check["gate"] == "baseline" and check["name"] != "single_tasks"
    ]


def test_every_metric_can_be_gated(project):
    project.write(
        "total_tokens.py",
        "class Spread:\n"
        "    name = 'spread_of_tasks'\n"
        "    def compute(self, task_rewards):\n"
        "        return max(map(sum, task_rewards)) - min(map(sum, task_rewards))\n",
    )
    project.pytester.syspathinsert()
    before = np.random.default_rng(1).random((40, 4))
    tests = dict.fromkeys(MEANS, "paired t")
    # no task got better, which is surer than t
    tests |= dict.fromkeys(["pass@3", "pass^2"], "sign test")
    tests |= dict.fromkeys(["median", "median/reward", "std/reward"], "swapped sides")
    tests |= dict.fromkeys(
        ["worst_task", "min/reward"], "relabelled rollouts of each task"
    )
    checks = judged(
        project,
        rows(before.tolist()),
        rows((before / 2).tolist()),
        [*tests, "total_tokens:Spread"],
        "pass_threshold: 0.4\nbaseline:\n  rollouts: old.jsonl\n"
        "  metrics:\n"
        "    'total_tokens:Spread': {max_drop: 0.1, direction: higher}\n"
        "    std/reward: {direction: higher}",
    )
    # a metric of one's own once, by whichever name it is asked for
    tests["spread_of_tasks"] = "swapped sides"
    assert {check["name"]: check["comparison"]["test"] for check in checks} == tests
    for check in checks:
        if check["name"] in (
            "worst_task",
            "min/reward",
        ):  # four rollouts prove nothing of a task
            assert check["verdict"] in ("PASS", "INCONCLUSIVE")
        else:
            assert check["verdict"] == "FAIL"
            assert check["comparison"]["p"] < 0.01
    assert checks[-1]["required"]["settings"]["max_drop"] == 0.1


def test_a_collapse_fails_a_median_whose_sides_have_unequal_rollouts(project):
    before, after = [[1, 0, 0]] * 30 + [[1, 1, 0]] * 10, [[0, 0]] * 40
    (check,) = judged(project, rows(before), rows(after), "[median]")
    assert check["verdict"] == "FAIL"
    assert (
        check["comparison"]["p"] < 0.01
    )  # relabellings as low by the median are not by the mean


def test_a_metric_over_many_tasks_is_swapped_in_groups(project):
    rng = np.random.default_rng(0)
    before = rng.random((2_100, 1))
    again = np.clip(before + rng.normal(0, 0.05, before.shape), 0, 1)
    for after, verdict in ((before / 2, "FAIL"), (again, "PASS")):
        both = rows(before.tolist()), rows(after.tolist())
        (check,) = judged(
            project,
            *both,
            "[std/reward]",
            "baseline: {rollouts: old.jsonl, direction: higher}",
        )
        assert check["verdict"] == verdict


def test_hooks_may_name_their_numbers_as_they_like(project):
    project.write(
        "conftest.py",
        "def pytest_evalmetrics_compute_metrics(tasks):\n"
        "    spent = sum(row['reward'] for task in tasks for row in task)\n"
        "    return {\"a hook's cost [usd\": spent, 'cost/': spent}\n",
    )
    kinds = ["x/time/cost"] * 20 + ["y"] * 20
    project.rows("runs.jsonl", rows([[0.0]] * 40, kind=kinds))
    gated = [
        '"pass@1[kind=x/time/cost]"',
        '"pass@1[kind=y]"',
        '"a hook\'s cost [usd"',
        '"cost/"',
    ]
    project.bench(
        f"metrics: [pass@1]\nkey_metrics: [{', '.join(gated)}]\nbaseline:\n  rule: exact\n"
        "  metrics:\n"
        '    "a hook\'s cost [usd": {direction: lower}\n'
        "    cost/: {direction: lower}"
    )
    assert project.run("--snapshot-update").ret == 0
    project.rows("runs.jsonl", rows([[1.0]] * 10 + [[0.0]] * 30, kind=kinds))
    project.run()
    checks = [
        c
        for c in project.report()["benchmarks"][0]["checks"]
        if c["gate"] == "baseline"
    ]
    assert [check["verdict"] for check in checks] == ["PASS", "PASS", "FAIL", "FAIL"]
    # a part is gated on its own tasks
    hard = checks[0]["comparison"]
    assert (hard["tasks"], hard["drop"], hard["better"]) == (20, -0.5, 10)


def test_a_missing_reward_is_never_zero(project):
    # one of 100 tasks has no reward: as 0 it would be a drop of a point, at its worst no proof
    before, after = rows([[1.0]] * 100), rows([[None]] + [[1.0]] * 99)
    (check,) = judged(project, before, after, "[mean_reward]")
    assert check["verdict"] == "PASS"
    facts = check["comparison"]
    assert (facts["current"], facts["tasks"], facts["missing"]) == (1.0, 99, 0.01)
    assert facts["worst_case"]["current"] == 0.99


def test_tasks_with_too_few_rollouts_on_a_side_are_excluded_and_listed(project):
    before, after = rows([[1.0, 1.0]] * 20 + [[1.0]] * 2), rows([[1.0, 1.0]] * 22)
    (check,) = judged(project, before, after, "[pass@2]")
    assert check["verdict"] == "INCONCLUSIVE"
    assert [reason["type"] for reason in check["reasons"]] == ["low_coverage"]
    assert "without a value on one side: 20, 21" in check["reason"]


def test_the_family_is_all_gated_metrics_of_all_agents(project):
    one, other = ([[1.0]] * 110, [[1.0]] * 110)
    before = rows(one, "one") + rows(other, "other")
    after = rows([[0.0]] * 7 + one[7:], "one") + rows(other, "other")
    checks = judged(project, before, after, "[mean_reward, pass@1]")
    names = [
        (agent, name)
        for agent in ("one", "other")
        for name in ("mean_reward", "pass@1")
    ]
    assert [(check["agent"], check["name"]) for check in checks] == names
    assert checks[0]["comparison"]["p"] == 0.5**8
    # two agents; the two metrics are one number
    assert checks[0]["comparison"]["p_adjusted"] == pytest.approx(1 - (1 - 0.5**8) ** 2)
    assert checks[0]["verdict"] == "FAIL"


def test_ids_as_text_and_as_numbers_give_the_same_evidence(project):
    rng = np.random.default_rng(1)
    chance = rng.beta(0.4, 0.4, (120, 1))
    old, new = (
        rows((rng.random((120, 4)) < c).astype(float).tolist())
        for c in (chance, chance / 2)
    )
    text = [row | {"_ng_task_index": str(row["_ng_task_index"])} for row in old]
    checks = [
        judged(project, before, new, "[mean_reward, median]") for before in (old, text)
    ]
    assert checks[0] == checks[1]
