"""Metrics that are no mean, and metrics of unlike tasks, against swaps made by hand."""

import numpy as np
import pytest


def _compared(project, before, after, metrics, more=""):
    """Compare rows (a mapping of scores for each task) with another run's; return the checks."""
    for name, rows in (("old", before), ("runs", after)):
        project.rows(
            f"{name}.jsonl",
            [{"_ng_task_index": t, **row} for t, row in enumerate(rows)],
        )
    project.bench(
        f"metrics: {metrics}\nbaseline: {{rollouts: old.jsonl{more}}}\nexpect: {{max_missing: 10%}}"
    )
    project.run()
    return {n: c for n, c in project.checks().items() if c["gate"] == "baseline"}


# 500 are swapped one by one, and of 600 the few pairs of values are counted
@pytest.mark.parametrize(("tasks", "worse"), [(500, 0.02), (600, 0.03)])
def test_the_median_of_many_tasks_is_tested_by_swapped_sides(project, tasks, worse):
    rng = np.random.default_rng(12)
    old = rng.integers(0, 201, tasks) / 200
    new = np.where(rng.random(tasks) < worse, np.maximum(old - 0.3, 0), old)
    was, now = ([{"reward": x} for x in side] for side in (old, new))
    evidence = _compared(project, was, now, "[median]")["median"]["evidence"]
    drop, swap = np.median(old) - np.median(new), rng.random((4_000, tasks)) < 0.5
    sides = [np.where(swap, *side) for side in ((new, old), (old, new))]
    drops = np.median(sides[0], axis=1) - np.median(sides[1], axis=1)
    means, mean = (sides[0] - sides[1]).mean(axis=1), (old - new).mean()
    alike = abs(drops - drop) <= 1e-9  # these are ranked by the mean's drop
    p = np.mean((drops > drop + 1e-9) | alike & (means > mean))
    assert (evidence["test"], evidence["drop"]) == (
        "swapped sides",
        pytest.approx(drop),
    )
    assert evidence["p"] == pytest.approx(p, abs=0.03)
    gone = _compared(project, was, [{"reward": 0}] * tasks, "[median]")
    assert (
        0 < gone["median"]["evidence"]["p"] <= 0.5 / gone["median"]["evidence"]["draws"]
    )


def test_metrics_of_unlike_tasks_are_tested_together(project):
    rng = np.random.default_rng(8)
    before, after = [], []
    for task, (x, y, keeps) in enumerate(rng.random((60, 3))):
        scores = {"x": 0.9 + 0.02 * x, "y": 0.9 + 0.02 * y}
        scores.pop("x" if task < 3 else "y" if task >= 57 else "", None)
        before.append({"reward": 1, **scores})
        lost = 1 if keeps < 0.7 else 0.5
        after.append(
            {"reward": 1, **{name: value * lost for name, value in scores.items()}}
        )
    both = []
    for names in ("[mean_reward/x, mean_reward/y]", "[mean_reward/y, mean_reward/x]"):
        checks = _compared(project, before, after, names, ", rule: statistical")
        both.append({n: c["evidence"]["p_adjusted"] for n, c in checks.items()})
        for check in checks.values():
            p, adjusted = check["evidence"]["p"], check["evidence"]["p_adjusted"]
            assert p <= adjusted <= 2.01 * p
            assert check["evidence"]["tasks"] == 57
    assert both[0] == pytest.approx(both[1], rel=0.2)


@pytest.mark.parametrize(
    ("before", "after", "asked", "reason"),
    [
        (
            [1] * 20,
            0,
            "max_drop: 5",
            "5 can never fail: all rewards of median lie in [0, 1]",
        ),
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
    checks = _compared(
        project, rows, [{"reward": after}] * len(rows), "[median]", f", {asked}"
    )
    check = checks["median"]
    assert check["verdict"] == (
        "PASS" if reason is None else "INCONCLUSIVE" if reason else "FAIL"
    )
    assert (reason or "") in check["reason"]


def test_a_sum_over_other_numbers_of_rollouts_is_not_judged(project):
    rows = [{"_ng_rollout_index": s, "tokens": 10.0, "reward": 1} for s in (0, 1)]
    for name, of in (("old", rows), ("runs", [rows[0] | {"tokens": 20.0}])):
        lines = [{"_ng_task_index": t, **row} for t in range(20) for row in of]
        project.rows(f"{name}.jsonl", lines)
    project.bench(
        "metrics: [sum/tokens]\nbaseline: {rollouts: old.jsonl, direction: lower}"
    )
    project.run()
    check = project.checks()["sum/tokens"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert "it adds up all rollouts, 40 then and 20 now" in check["reason"]
    assert "gate mean/tokens" in check["hint"]
