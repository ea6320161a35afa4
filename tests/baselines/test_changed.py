"""A benchmark that is no longer the one that was recorded: said, never a traceback."""

import xml.etree.ElementTree as ET

import pytest

UPDATE = "--snapshot-update"
RECORD = "*record a new baseline with `pytest --evalmetrics-update`*"


def rows(agents, **scores):
    return [
        {
            "_ng_task_index": task,
            "agent_ref": {"name": agent},
            "reward": reward,
            **scores,
        }
        | {"difficulty": "hard" if task % 2 else "easy"}
        for agent, rewards in agents.items()
        for task, reward in enumerate(rewards)
    ]


@pytest.fixture
def recorded(project):
    project.rows("runs.jsonl", rows({"a": [1.0, 1.0, 1.0]}))
    project.bench("metrics: [mean_reward]\nexpect: {tasks: '>= 1'}\nbaseline: true")
    assert project.run(UPDATE).ret == 0
    return project


def test_a_metric_that_needs_more_than_was_recorded(recorded):
    changed = rows({"a": [1.0, 1.0, 1.0, 1.0]}, accuracy=0.5, cost_usd=0.1)
    changed[3]["difficulty"] = "brutal"
    recorded.rows("runs.jsonl", changed)
    recorded.bench(
        "metrics: [mean_reward, cost_per_task, mean/accuracy, 'mean_reward[difficulty=brutal]']\n"
        "expect: {tasks: '>= 1'}\n"
        "baseline: {metrics: {mean/accuracy: {direction: higher}}}"
    )
    result = recorded.run()
    result.assert_outcomes(failed=1)
    for reason in (
        "can't be compared with the baseline: *cost_per_task*no rollout says what it needs*",
        "can't be compared with the baseline: *no rollout has a score named 'accuracy'*",
        "mean_reward[[]difficulty=brutal]*",
    ):
        result.stdout.fnmatch_lines([f"INCONCLUSIVE *{reason}", f"  -> {RECORD}"])
    assert recorded.checks()["mean_reward"]["verdict"] == "PASS"
    assert recorded.run(UPDATE).ret == 0
    assert recorded.run().ret == 0


def test_an_update_shows_the_change_of_an_agent_that_was_renamed(recorded):
    recorded.rows("runs.jsonl", rows({"b": [1.0, 1.0, 0.0]}))
    recorded.bench(
        "metrics: [mean_reward]\nexpect: {tasks: '>= 1'}\nbaseline: {rule: exact}"
    )
    recorded.run(UPDATE).stdout.fnmatch_lines(["*mean_reward 1 -> 0.6667*"])


def test_of_several_agents_none_is_missed_or_mistaken(recorded):
    recorded.rows("runs.jsonl", rows({"b": [1.0, 1.0, 1.0]}))
    assert recorded.run().ret == 0  # the only one may be renamed
    both = {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]}
    recorded.rows("runs.jsonl", rows(both))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE *the baseline has no agent 'b': it has 'a'"]
    )
    recorded.run(UPDATE).stdout.fnmatch_lines(
        ["*b: mean_reward 1 (new)", "*as before: a: *"]
    )
    assert recorded.run().ret == 0
    recorded.rows("runs.jsonl", rows({"a": both["a"], "c": both["b"]}))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    for reason in (
        "*the baseline has no agent 'c': it has 'a', 'b'",
        "*this run has no agent 'b'*",
    ):
        result.stdout.fnmatch_lines([f"INCONCLUSIVE {reason}", f"  -> {RECORD}"])
    before = recorded.baseline().read_bytes()
    recorded.rows("runs.jsonl", rows({**both, "a": both["a"][:2]}))
    recorded.run(UPDATE).stdout.fnmatch_lines(
        ["*it would drop tasks: a: 1 of the baseline's 3*"]
    )
    recorded.rows("runs.jsonl", rows({"a": both["a"]}))
    result = recorded.run(UPDATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*it would drop tasks: this run has no agent 'b'"])
    assert recorded.baseline().read_bytes() == before
    assert recorded.run(UPDATE, "--evalmetrics-accept-tasks").ret == 0
    recorded.rows("runs.jsonl", rows({"c": both["a"]}))  # another agent in its place
    assert recorded.run(UPDATE).ret == 0


def test_a_number_of_a_hook_is_compared_also_after_a_rename(project):
    project.write(
        "conftest.py",
        """
def pytest_evalmetrics_compute_metrics(tasks):
    return {"any_pass": sum(any(r["reward"] >= 1 for r in t) for t in tasks) / len(tasks)}
""",
    )
    project.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0]}))
    gated = "expect: {tasks: 3}\nmetrics: [mean_reward]\nbaseline: {rule: exact, metrics: {%s}}"
    project.bench(gated % "")
    assert project.run(UPDATE).ret == 0
    project.bench(gated % "any_pass: {direction: higher}")
    project.run().stdout.fnmatch_lines(["INCONCLUSIVE *the baseline has no any_pass"])
    assert project.run(UPDATE).ret == 0
    project.rows("runs.jsonl", rows({"b": [1.0, 0.0, 1.0]}))
    assert project.run().ret == 0
    project.rows("runs.jsonl", rows({"b": [1.0, 0.0, 0.0]}))
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *any_pass fell from 0.666667 to 0.333333"])


def test_false_cancels_a_default_and_skip_and_xfail_work(project):
    project.rollouts([[1.0], [1.0]])
    project.write(
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
    project.run("--junitxml=junit.xml").assert_outcomes(
        passed=1, skipped=1, xfailed=1, failed=1
    )
    (failure,) = ET.parse(project.path / "junit.xml").iter("failure")  # noqa: S314 - ours
    assert failure.get("message").startswith("INCONCLUSIVE: there is no baseline yet")
    project.run(UPDATE).assert_outcomes(passed=2, skipped=1, xfailed=1)
    assert [p.name for p in project.baseline().parent.iterdir()] == ["missing.json"]
    project.baseline("math.bench/known.json").write_text("{")
    # what can't be read is no expected failure of a gate
    project.run().assert_outcomes(passed=2, skipped=1, failed=1)
