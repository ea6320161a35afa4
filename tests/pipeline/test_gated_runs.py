"""From files to verdicts: a run is recorded, and a later one is compared with it."""

import json

import pytest

from pytest_evalmetrics.baselines import render, stamped
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.pipeline import evaluate

PASS, WARN, FAIL, INCONCLUSIVE = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCONCLUSIVE)
ALL = [[1.0, 1.0]] * 60 + [[0.0, 1.0]] * 20


class Runs:
    """One benchmark in a folder, and its committed baseline."""

    def __init__(self, folder):
        self.folder = folder
        self.text = None

    def write(self, rewards, **fields):
        rows = [
            {"agent_ref": {"name": agent}, "_ng_task_index": t, "_ng_rollout_index": s, "reward": r}
            | {name: values[t] for name, values in fields.items()}
            for agent, tasks in rewards.items()
            for t, task in enumerate(tasks)
            for s, r in enumerate(task)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self.folder.joinpath("runs.jsonl").write_text(text, encoding="utf-8")

    def evaluate(self, keys, rewards, *, updates=False, **fields):
        return self.evaluate_agents(keys, {"agent": rewards}, updates=updates, **fields)

    def evaluate_agents(self, keys, rewards, *, updates=False, **fields):
        self.write(rewards, **fields)
        path = self.folder / "b.bench.yaml"
        path.write_text(
            f"benchmark:\n  name: b\n  rollouts: runs.jsonl\n  {keys}\n", encoding="utf-8"
        )
        (benchmark,) = load_benchmarks(path, shown="b.bench.yaml")
        found = evaluate(
            benchmark,
            item_id="b.bench.yaml::b",
            snapshot=lambda: None if self.text is None else (self.text, "b.json"),
            updates=updates,
        )
        if updates:
            assert found.baseline is not None
            self.text = render(stamped(found.baseline))
        return found


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def gated(found):
    return {(c.agent, c.name): c for c in found.result.checks if c.gate == "baseline"}


def test_a_run_is_compared_with_what_was_recorded(runs):
    keys = "metrics: [mean_reward, pass@2]\n  expect: {tasks: 80}\n  baseline: true"
    assert runs.evaluate(keys, ALL).result.verdict is INCONCLUSIVE  # there is none yet
    assert runs.evaluate(keys, ALL, updates=True).result.verdict is PASS
    assert runs.evaluate(keys, ALL).result.verdict is PASS
    worse = [[0.0, 0.0]] * 14 + ALL[14:]
    found = runs.evaluate(keys, worse)
    assert found.result.verdict is FAIL
    check = gated(found)["", "mean_reward"]
    assert check.evidence["worst_tasks"][0] == {
        "task": 0,
        "baseline": [1.0, 1.0],
        "current": [0.0, 0.0],
        "drop": 1.0,
    }
    assert runs.evaluate(keys, worse, updates=True).result.verdict is PASS
    assert runs.evaluate(keys, worse).result.verdict is PASS
    better = runs.evaluate(keys, ALL)
    assert better.result.verdict is PASS
    assert any("better than the baseline" in note for note in better.result.notes)


def test_a_metric_that_is_gated_anew_can_be_recorded(runs):
    runs.evaluate("metrics: [mean_reward]\n  baseline: true", ALL, updates=True)
    keys = "metrics: [mean_reward, mean/tokens]\n  baseline: true"
    tokens = {"tokens": [100] * 80}
    found = runs.evaluate(keys, ALL, **tokens)
    assert gated(found)["", "mean/tokens"].verdict is INCONCLUSIVE
    assert gated(found)["", "mean_reward"].verdict is PASS
    runs.evaluate(keys, ALL, updates=True, **tokens)
    assert runs.evaluate(keys, ALL, **tokens).result.verdict is PASS
    longer = runs.evaluate(keys, ALL, tokens=[120] * 80)
    assert gated(longer)["", "mean/tokens"].verdict is FAIL


def test_p_values_are_adjusted_across_all_agents(runs):
    keys = "metrics: [mean_reward, pass@1]\n  baseline: true"
    both = {"new": [[1.0]] * 110, "old": [[1.0]] * 110}
    runs.evaluate_agents(keys, both, updates=True)
    found = gated(runs.evaluate_agents(keys, both | {"old": [[0.0]] * 7 + [[1.0]] * 103}))
    check = found["old", "mean_reward"]
    assert check.evidence["p"] == 0.5**8
    # two agents; the two metrics are one number
    assert check.evidence["p_adjusted"] == pytest.approx(1 - (1 - 0.5**8) ** 2)
    assert check.verdict is FAIL
