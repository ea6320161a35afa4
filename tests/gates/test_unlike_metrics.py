"""Metrics that are no mean, and metrics of unlike tasks, against swaps made by hand."""

import numpy as np
import pytest


def _compared(project, before, after, metrics, more=""):
    """Compare rows (a mapping of scores for each task) with another run's; return the checks."""
    for name, rows in (("old", before), ("runs", after)):
        project.rows(f"{name}.jsonl", [{"_ng_task_index": t, **row} for t, row in enumerate(rows)])
    project.bench(
        f"metrics: {metrics}\nbaseline: {{rollouts: old.jsonl{more}}}\nexpect: {{max_missing: 10%}}"
    )
    project.run()
    return {n: c for n, c in project.checks().items() if c["gate"] == "baseline"}


def test_the_median_of_many_tasks_is_tested_by_swapped_sides(project):
    rng = np.random.default_rng(12)
    old = rng.integers(0, 201, 500) / 200
    new = np.where(rng.random(500) < 0.06, np.maximum(old - 0.3, 0), old)
    was, now = ([{"reward": x} for x in side] for side in (old, new))
    evidence = _compared(project, was, now, "[median]")["median"]["evidence"]
    drop, swap = np.median(old) - np.median(new), rng.random((4_000, 500)) < 0.5
    sides = (np.median(np.where(swap, *side), axis=1) for side in ((new, old), (old, new)))
    drops = next(sides) - next(sides)
    p = np.mean(drops > drop + 1e-9) + np.mean(abs(drops - drop) <= 1e-9) / 2
    assert (evidence["test"], evidence["drop"]) == ("swapped sides", pytest.approx(drop))
    assert evidence["p"] == pytest.approx(p, abs=0.03)
    gone = _compared(project, was, [{"reward": 0}] * 500, "[median]")
    assert 0 < gone["median"]["evidence"]["p"] <= 0.5 / gone["median"]["evidence"]["draws"]


def test_metrics_of_unlike_tasks_are_tested_together(project):
    rng = np.random.default_rng(8)
    before, after = [], []
    for task, (x, y, keeps) in enumerate(rng.random((60, 3))):
        scores = {"x": 0.9 + 0.02 * x, "y": 0.9 + 0.02 * y}
        scores.pop("x" if task < 3 else "y" if task >= 57 else "", None)
        before.append({"reward": 1, **scores})
        lost = 1 if keeps < 0.7 else 0.5
        after.append({"reward": 1, **{name: value * lost for name, value in scores.items()}})
    both = []
    for names in ("[mean_reward/x, mean_reward/y]", "[mean_reward/y, mean_reward/x]"):
        checks = _compared(project, before, after, names, ", rule: statistical")
        both.append({n: c["evidence"]["p_adjusted"] for n, c in checks.items()})
        for check in checks.values():
            p, adjusted = check["evidence"]["p"], check["evidence"]["p_adjusted"]
            assert p <= adjusted <= 2.01 * p
            assert check["evidence"]["tasks"] == 57
    assert both[0] == pytest.approx(both[1], rel=0.2)


def test_a_drop_that_rates_cannot_show_is_not_judged_even_at_0(project):
    sides = [{"reward": 1}] * 20, [{"reward": 0}] * 20
    check = _compared(project, *sides, "[median]", ", max_drop: 5")["median"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert "can never fail: all rewards of median lie in [0, 1]" in check["reason"]
