from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.data import RolloutTable
from pytest_evalmetrics.gates import Completeness, check_completeness
from pytest_evalmetrics.results import Verdict
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

PASS, FAIL = Verdict.PASS, Verdict.FAIL


def table(rewards: list[list[float | None]]) -> RolloutTable:
    counts = [len(task) for task in rewards]
    flat = [np.nan if v is None else v for task in rewards for v in task]
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), dtype=np.int32),
        tasks=tuple(range(len(rewards))),
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]) if counts else np.zeros(0, int),
        scores={"reward": np.array(flat, dtype=np.float64)},
    )


def check(rewards: list[list[float | None]], **keys: Any) -> Completeness:
    text = json.dumps({"name": "b", "rollouts": "runs.jsonl", **keys})
    lines = {(): 1, ("expect",): 5, ("expect", "tasks"): 6, ("num_samples",): 4}
    spec = TypeAdapter(BenchmarkSpec).validate_json(text)
    return check_completeness(Benchmark(spec, Path("b.bench.yaml"), lines), "new", table(rewards))


def verdicts(found: Completeness) -> dict[str, Verdict]:
    assert {c.gate for c in found.checks} == {"expect"}
    assert {c.agent for c in found.checks} == {"new"}
    return {c.name: c.verdict for c in found.checks}


def of(found: Completeness, name: str) -> Any:
    return next(c for c in found.checks if c.name == name)


def test_a_complete_run_passes():
    found = check([[1.0, 0.0]] * 3, num_samples=2, expect={"tasks": 3})
    assert verdicts(found) == {"tasks": PASS, "rollouts": PASS, "missing": PASS}
    assert found.missing == 0
    assert found.notes == ()
    assert found.expected.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("wanted", "tasks", "verdict"),
    [(3, 3, PASS), (4, 3, FAIL), (2, 3, FAIL), (">= 2", 3, PASS), (">= 4", 3, FAIL)],
)
def test_the_number_of_tasks(wanted, tasks, verdict):
    found = of(check([[1.0]] * tasks, expect={"tasks": wanted}), "tasks")
    assert found.verdict is verdict
    assert found.line == 6
    assert bool(found.hint) == (verdict is FAIL)


def test_missing_tasks_are_counted():
    assert of(check([[1.0]] * 3, expect={"tasks": 10}), "tasks").reason == (
        "7 of 10 tasks are missing: 3 were found"
    )
    assert (
        "2 more than there should be" in of(check([[1.0]] * 3, expect={"tasks": 1}), "tasks").reason
    )


def test_without_a_number_of_tasks_the_line_to_add_is_told():
    (note,) = check([[1.0, 0.0]] * 3).notes
    assert "add `expect: {tasks: 3}` and `num_samples: 2` below line 1" in note
    assert "num_samples" not in check([[1.0]], num_samples=1).notes[0]


@pytest.mark.parametrize(
    ("rewards", "keys", "verdict"),
    [
        ([[1.0, 1.0], [1.0]], {}, FAIL),  # fewer than the others
        ([[1.0, 1.0], [1.0]], {"num_samples": 2}, FAIL),
        ([[1.0], [1.0]], {"num_samples": 2}, FAIL),
        ([[1.0, 1.0], [1.0]], {"num_samples": 1}, FAIL),  # more than there should be
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": "any"}}, None),
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": ">= 1"}}, PASS),
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": ">= 2"}}, FAIL),
        ([[1.0, 1.0], [1.0]], {"num_samples": 2, "expect": {"max_missing": "25%"}}, PASS),
        ([[1.0, 1.0], [1.0]], {"num_samples": 2, "expect": {"max_missing": "24%"}}, FAIL),
    ],
)
def test_the_number_of_rollouts_of_each_task(rewards, keys, verdict):
    assert verdicts(check(rewards, **keys)).get("rollouts") is verdict


def test_tasks_with_too_few_rollouts_are_named():
    reason = of(check([[1.0, 1.0]] * 2 + [[1.0]] * 12, num_samples=2), "rollouts").reason
    assert reason.startswith("12 of 14 tasks have fewer than 2 rollouts: task 2 has 1 of 2, ")
    assert reason.endswith(" and 2 more")


@pytest.mark.parametrize(
    ("expect", "verdict"),
    [
        ({}, FAIL),
        ({"missing_reward": "error"}, FAIL),
        ({"missing_reward": "error", "max_missing": "50%"}, FAIL),
        ({"missing_reward": "exclude"}, PASS),  # one in twenty
        ({"missing_reward": "exclude", "max_missing": "4%"}, FAIL),
        ({"max_missing": "5%"}, PASS),
        ({"missing_reward": 0.0}, PASS),
        ({"missing_reward": 0.0, "max_missing": "4%"}, FAIL),
    ],
)
def test_a_missing_reward_is_never_nothing(expect, verdict):
    found = check([[None]] + [[1.0]] * 19, expect={"tasks": 20, **expect})
    missing = of(found, "missing")
    assert missing.verdict is verdict
    assert found.missing == 1
    assert "one rollout has no finite reward (task 0)" in missing.reason


def test_more_than_five_percent_left_out_fails():
    expect = {"missing_reward": "exclude"}
    found = of(check([[None]] * 2 + [[1.0]] * 37, expect=expect), "missing")
    assert found.verdict is FAIL
    assert found.value == 2 / 39
    assert "5.13 % of 39 rollouts, more than 5 %" in found.reason


def test_absent_rollouts_are_missing_too():
    found = check([[1.0, 1.0], [1.0]], num_samples=2, expect={"max_missing": "30%"})
    assert (found.missing, of(found, "missing").value) == (1, 0.25)
    assert of(found, "missing").reason == "one rollout is absent, 25 % of 4 rollouts"
    filled = check([[1.0, 1.0], [1.0]], num_samples=2, expect={"missing_reward": 0.0})
    assert of(filled, "missing").verdict is FAIL  # an absent one has no reward to fill in


def test_nothing_at_all_is_not_complete():
    assert verdicts(check([], expect={"tasks": 3}))["tasks"] is FAIL
