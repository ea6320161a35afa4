"""A benchmark that is no longer the one that was recorded: said, never a traceback."""

import json
import xml.etree.ElementTree as ET

import pytest
from evaluated import evaluated

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
    assert evaluated(project, updates=True).passed
    return project


@pytest.fixture
def needs_more(recorded):
    """The recorded benchmark with metrics of what its baseline does not hold."""
    changed = rows({"a": [1.0, 1.0, 1.0, 1.0]}, accuracy=0.5, cost_usd=0.1)
    changed[3]["difficulty"] = "brutal"
    recorded.rows("runs.jsonl", changed)
    recorded.bench(
        "metrics: [mean_reward, cost_per_task, mean/accuracy, 'mean_reward[difficulty=brutal]']\n"
        "expect: {tasks: '>= 1'}\n"
        "baseline: {metrics: {mean/accuracy: {direction: higher}}}"
    )
    return recorded


NOT_RECORDED = [
    "can't be compared with the baseline: *cost_per_task*no rollout says what it needs*",
    "can't be compared with the baseline: *no rollout has a score named 'accuracy'*",
    "mean_reward[[]difficulty=brutal]*",
]


def test_a_metric_that_needs_more_than_was_recorded_is_inconclusive(needs_more):
    result = evaluated(needs_more)
    assert not result.passed
    for reason in NOT_RECORDED:
        result.says(f"INCONCLUSIVE *{reason}", f"  -> {RECORD}")
    assert needs_more.checks()["mean_reward"]["verdict"] == "PASS"


def test_an_update_records_what_new_metrics_need(needs_more):
    assert evaluated(needs_more, updates=True).passed
    assert evaluated(needs_more).passed


def test_an_update_shows_the_change_of_an_agent_that_was_renamed(recorded):
    recorded.rows("runs.jsonl", rows({"b": [1.0, 1.0, 0.0]}))
    recorded.bench(
        "metrics: [mean_reward]\nexpect: {tasks: '>= 1'}\nbaseline: {rule: exact}"
    )
    recorded.run(UPDATE).stdout.fnmatch_lines(["*mean_reward 1 -> 0.6667*"])


ALL_RIGHT = [1.0, 1.0, 1.0]


def test_the_only_agent_may_be_renamed(recorded):
    recorded.rows("runs.jsonl", rows({"b": ALL_RIGHT}))
    assert evaluated(recorded).passed


def test_an_agent_that_was_not_recorded_is_inconclusive(recorded):
    recorded.rows("runs.jsonl", rows({"a": ALL_RIGHT, "b": ALL_RIGHT}))
    result = evaluated(recorded)
    assert not result.passed
    result.says("INCONCLUSIVE *the baseline has no agent 'b': it has 'a'")


def test_an_update_adds_an_agent(recorded):
    recorded.rows("runs.jsonl", rows({"a": ALL_RIGHT, "b": ALL_RIGHT}))
    recorded.run(UPDATE).stdout.fnmatch_lines(
        ["*b: mean_reward 1 (new)", "*as before: a: *"]
    )
    assert recorded.run().ret == 0


@pytest.fixture
def two_agents(project):
    """A project whose baseline has the agents a and b."""
    project.rows("runs.jsonl", rows({"a": ALL_RIGHT, "b": ALL_RIGHT}))
    project.bench("metrics: [mean_reward]\nexpect: {tasks: '>= 1'}\nbaseline: true")
    assert evaluated(project, updates=True).passed
    return project


def test_one_of_several_agents_is_not_taken_for_another(two_agents):
    two_agents.rows("runs.jsonl", rows({"a": ALL_RIGHT, "c": ALL_RIGHT}))
    result = evaluated(two_agents)
    assert not result.passed
    for reason in (
        "*the baseline has no agent 'c': it has 'a', 'b'",
        "*this run has no agent 'b'*",
    ):
        result.says(f"INCONCLUSIVE {reason}", f"  -> {RECORD}")


@pytest.mark.parametrize(
    ("agents", "dropped"),
    [
        ({"a": ALL_RIGHT[:2], "b": ALL_RIGHT}, "a: 1 of the baseline's 3*"),
        ({"a": ALL_RIGHT}, "this run has no agent 'b'"),
    ],
    ids=["a task", "an agent"],
)
def test_an_update_that_would_drop_tasks_is_refused(two_agents, agents, dropped):
    before = two_agents.baseline().read_bytes()
    two_agents.rows("runs.jsonl", rows(agents))
    result = two_agents.run(UPDATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*it would drop tasks: {dropped}"])
    assert two_agents.baseline().read_bytes() == before


def test_an_update_drops_an_agent_where_that_is_accepted(two_agents):
    two_agents.rows("runs.jsonl", rows({"a": ALL_RIGHT}))
    assert two_agents.run(UPDATE, "--evalmetrics-accept-tasks").ret == 0
    assert two_agents.run().ret == 0


def test_an_update_puts_another_agent_in_the_place_of_the_only_one(recorded):
    recorded.rows("runs.jsonl", rows({"c": ALL_RIGHT}))
    assert evaluated(recorded, updates=True).passed
    assert list(json.loads(recorded.baseline().read_text())["agents"]) == ["c"]


HOOK = """
def pytest_evalmetrics_compute_metrics(tasks):
    return {"any_pass": sum(any(r["reward"] >= 1 for r in t) for t in tasks) / len(tasks)}
"""


def of_hook(project, gates):
    """Write a benchmark with a hook's number, and gates of metrics."""
    project.write("conftest.py", HOOK)
    project.rows("runs.jsonl", rows({"a": [1.0, 0.0, 1.0]}))
    project.bench(
        "expect: {tasks: 3}\nmetrics: [mean_reward]\n"
        f"baseline: {{rule: exact, metrics: {gates}}}"
    )


def test_a_number_of_a_hook_that_was_not_recorded_is_inconclusive(project):
    of_hook(project, "{}")
    assert project.run(UPDATE).ret == 0
    of_hook(project, "{any_pass: {direction: higher}}")
    project.run().stdout.fnmatch_lines(["INCONCLUSIVE *the baseline has no any_pass"])


def test_a_number_of_a_hook_is_compared_also_after_a_rename(project):
    of_hook(project, "{any_pass: {direction: higher}}")
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
