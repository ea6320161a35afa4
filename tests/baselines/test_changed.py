"""A benchmark that is no longer the one that was recorded: said, never a traceback."""

import xml.etree.ElementTree as ET

import pytest

UPDATE = "--snapshot-update"
RECORD = "*record a new baseline with --snapshot-update*"


def rows(agents, **scores):
    return [
        {
            "_ng_task_index": task,
            "_ng_rollout_index": 0,
            "agent_ref": {"name": agent},
            "reward": reward,
            "difficulty": "hard" if task % 2 else "easy",
            **scores,
        }
        for agent, rewards in agents.items()
        for task, reward in enumerate(rewards)
    ]


@pytest.fixture
def recorded(quick):
    quick.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0]}))
    quick.bench("metrics: [mean_reward]\nexpect: {tasks: '>= 1'}\nbaseline: true")
    assert quick.run(UPDATE).ret == 0
    return quick


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ("mean_reward, mean_reward/accuracy", "*no rollout has a score named 'accuracy'*"),
        ("mean_reward, cost_per_task", "*cost_per_task*no rollout says what it needs*"),
        ("mean_reward, mean/accuracy", "*no rollout has a score named 'accuracy'*"),
    ],
)
def test_a_metric_that_needs_more_than_was_recorded(recorded, metrics, told):
    recorded.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0]}, accuracy=0.5, cost_usd=0.1))
    recorded.bench(f"metrics: [{metrics}]\nexpect: {{tasks: '>= 1'}}\nbaseline: true")
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"INCONCLUSIVE *can't be compared with the baseline: {told}"])
    result.stdout.fnmatch_lines([f"  -> {RECORD}"])
    assert recorded.checks()["mean_reward"]["verdict"] == "PASS"
    assert recorded.run(UPDATE).ret == 0
    assert recorded.run().ret == 0


def test_a_group_of_tasks_that_was_not_there(recorded):
    changed = rows({"a": [1.0, 0.0, 1.0, 1.0]})
    changed[3]["difficulty"] = "brutal"
    recorded.rows("runs.jsonl", changed)
    recorded.bench(
        "metrics: ['mean_reward[difficulty=brutal]']\nexpect: {tasks: '>= 1'}\nbaseline: true"
    )
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *mean_reward[[]difficulty=brutal]*", "  -> *"])
    assert recorded.run(UPDATE).ret == 0
    assert recorded.run().ret == 0


def test_tasks_that_are_new_and_tasks_that_are_gone(recorded):
    recorded.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0, 0.0, 0.0]}))
    assert recorded.run().ret == 0
    evidence = recorded.checks()["mean_reward"]["evidence"]
    assert (evidence["added"], evidence["removed"]) == (2, 0)
    recorded.rows("runs.jsonl", rows({"a": [1.0, 0.0]}))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *2 of the baseline's 3 tasks*min_coverage*"])
    result = recorded.run(UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *it would drop tasks: 1 of *: 2", "  -> *accept-*"])
    assert recorded.run(UPDATE, "--evalmetrics-accept-tasks").ret == 0
    assert recorded.run().ret == 0


def test_the_only_agent_may_be_renamed(recorded):
    recorded.rows("runs.jsonl", rows({"b": [1.0, 0.0, 1.0]}))
    assert recorded.run().ret == 0
    recorded.run(UPDATE).stdout.fnmatch_lines(["*as before: mean_reward, mean/reward"])


def test_of_several_agents_none_is_missed_or_mistaken(recorded):
    recorded.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0], "b": [1.0, 1.0, 1.0]}))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *the baseline has no agent 'b': it has 'a'"])
    recorded.run(UPDATE).stdout.fnmatch_lines(["*b: mean_reward 1 (new)", "*as before: a: *"])
    assert recorded.run().ret == 0
    for agents, told in (
        ({"a": [1.0, 0.0, 1.0]}, ["*this run has no agent 'b', which the baseline has"]),
        (
            {"a": [1.0, 0.0, 1.0], "c": [1.0, 1.0, 1.0]},
            ["*the baseline has no agent 'c': it has 'a', 'b'", "*this run has no agent 'b'*"],
        ),
    ):
        recorded.rows("runs.jsonl", rows(agents))
        result = recorded.run()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"INCONCLUSIVE {line}" for line in told])
        result.stdout.fnmatch_lines([f"  -> {RECORD}"])


def test_a_number_of_a_hook_is_compared_also_after_a_rename(quick):
    quick.write(
        "conftest.py",
        """
def pytest_evalmetrics_compute_metrics(tasks):
    return {"any_pass": sum(any(r["reward"] >= 1 for r in t) for t in tasks) / len(tasks)}
""",
    )
    quick.bench(
        "expect: {tasks: 3}\nmetrics: [mean_reward]\n"
        "baseline: {metrics: {any_pass: {rule: exact}, mean_reward: {rule: exact}}}"
    )
    quick.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0]}))
    assert quick.run(UPDATE).ret == 0
    quick.rows("runs.jsonl", rows({"b": [1.0, 0.0, 1.0]}))
    assert quick.run().ret == 0
    quick.rows("runs.jsonl", rows({"b": [1.0, 0.0, 0.0]}))
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *any_pass fell from 0.666667 to 0.333333"])


def test_false_cancels_a_default_and_skip_and_xfail_work(quick):
    quick.rollouts([[1.0], [0.0]])
    quick.write(
        "math.bench.yaml",
        """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward], baseline: true}
benchmarks:
  - {name: none, baseline: false}
  - {name: skipped, skip: no GPU}
  - {name: known, xfail: not recorded yet}
  - {name: missing}
""",
    )
    result = quick.run()
    result.assert_outcomes(passed=1, skipped=1, xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *no baseline yet*", "  -> *--snapshot-update*"])
    quick.run(UPDATE).assert_outcomes(passed=2, skipped=1, xfailed=1)
    assert [p.name for p in quick.baseline().parent.iterdir()] == ["missing.json"]
    quick.baseline("math.bench/known.json").write_text("{")
    # what can't be read is no expected failure of a gate
    quick.run().assert_outcomes(passed=2, skipped=1, failed=1)


def test_junit_tells_what_could_not_be_judged_from_what_failed(quick):
    quick.rollouts([[1.0], [1.0]])
    text = "expect: {tasks: 2}\nmetrics: [mean_reward]\nbaseline: {rule: exact}"
    quick.bench(text)
    messages = []
    for rewards in ([[1.0], [1.0]], [[1.0], [0.0]]):
        quick.rollouts(rewards)
        quick.run("--junitxml=junit.xml").assert_outcomes(failed=1)
        tree = ET.parse(quick.path / "junit.xml")  # noqa: S314 - ours
        (failure,) = tree.iter("failure")
        messages.append(failure.get("message"))
        quick.rollouts([[1.0], [1.0]])
        quick.run(UPDATE)
    assert messages[0].startswith("INCONCLUSIVE: there is no baseline yet")
    assert messages[1].startswith("mean_reward fell from 1 to 0.5")
