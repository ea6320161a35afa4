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
    rng = np.random.default_rng(7)
    old = rng.integers(0, 201, 2_000) / 200
    new = np.where(rng.random(2_000) < 0.06, np.maximum(old - 0.3, 0), old)
    found = _compared(
        project, [{"reward": x} for x in old], [{"reward": x} for x in new], "[median]"
    )
    evidence = found["median"]["evidence"]
    assert evidence["test"] == "swapped sides"
    drop, reached = np.median(old) - np.median(new), []
    for _ in range(4_000):
        swap = rng.random(2_000) < 0.5
        one = np.median(np.where(swap, new, old)) - np.median(np.where(swap, old, new))
        reached.append(1.0 if one > drop + 1e-9 else 0.5 * (abs(one - drop) <= 1e-9))
    assert evidence["drop"] == pytest.approx(drop)
    assert evidence["p"] == pytest.approx(np.mean(reached), abs=0.03)
    gone = _compared(project, [{"reward": x} for x in old], [{"reward": 0}] * 2_000, "[median]")
    assert 0 < gone["median"]["evidence"]["p"] <= 0.5 / gone["median"]["evidence"]["draws"]


def test_metrics_of_unlike_tasks_are_tested_together(project):
    rng = np.random.default_rng(8)
    noise = rng.random((2, 60)) / 5

    def rows(level):
        for t in range(60):
            x, y = (level * (0.9 + 0.1 * noise[0, t]), level * (0.9 + 0.1 * noise[1, t]))
            yield {"reward": 1} | ({"x": x} if t > 2 else {}) | ({"y": y} if t < 57 else {})

    drops = rng.random(60) < 0.85
    worse = [
        row if keep else {k: v * 0.5 if k != "reward" else v for k, v in row.items()}
        for row, keep in zip(rows(1), drops, strict=True)
    ]
    both = []
    for names in ("[mean_reward/x, mean_reward/y]", "[mean_reward/y, mean_reward/x]"):
        found = _compared(project, list(rows(1)), worse, names, ", rule: statistical")
        both.append({n: c["evidence"]["p_adjusted"] for n, c in found.items()})
        for check in found.values():
            p, adjusted = check["evidence"]["p"], check["evidence"]["p_adjusted"]
            assert p <= adjusted <= 2.01 * p
            assert check["evidence"]["tasks"] == 57
    assert both[0] == pytest.approx(both[1], rel=0.2)


@pytest.mark.parametrize(
    ("before", "after", "asked", "reason"),
    [
        ([1] * 20, 0, "max_drop: 5", "5 can never fail: all rewards of median lie in [0, 1]"),
        ([1] * 11 + [0] * 9, 0, "rule: absolute, max_drop: 0.5", ""),
        ([0.04] * 20, 0, "max_drop: 5%", "was 0.04, and the worst that it can be is 0"),
        ([0.04] * 20, 0, "rule: relative, max_drop: 99%", ""),
        (
            [0.6] * 20,
            1,
            "direction: lower, rule: relative, max_drop: 70%",
            "max_drop 0.7 can never fail: median was 0.6, and the worst that it can be is 1",
        ),
        ([0.6] * 20, 1, "direction: lower, rule: absolute, max_drop: 0.39", ""),
        ([0] * 20, 0, "max_drop: 5%", None),  # nothing to lose
    ],
)
def test_a_drop_that_rates_cannot_show_is_not_judged_even_at_0(
    project, before, after, asked, reason
):
    rows = [{"reward": r} for r in before]
    found = _compared(project, rows, [{"reward": after}] * len(rows), "[median]", f", {asked}")
    check = found["median"]
    assert check["verdict"] == ("PASS" if reason is None else "INCONCLUSIVE" if reason else "FAIL")
    assert (reason or "") in check["reason"]


def test_a_sum_over_other_numbers_of_rollouts_is_not_judged(project):
    rows = [{"_ng_rollout_index": s, "tokens": 10.0, "reward": 1} for s in (0, 1)]
    for name, of in (("old", rows), ("runs", [rows[0] | {"tokens": 20.0}])):
        lines = [{"_ng_task_index": t, **row} for t in range(20) for row in of]
        project.rows(f"{name}.jsonl", lines)
    project.bench("metrics: [sum/tokens]\nbaseline: {rollouts: old.jsonl}")
    project.run()
    check = project.checks()["sum/tokens"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert "it adds up all rollouts, 40 then and 20 now" in check["reason"]
    assert "gate mean/tokens" in check["hint"]
