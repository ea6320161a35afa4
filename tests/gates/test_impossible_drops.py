"""Drops that no rewards can show, and sums over unequal numbers of rollouts."""

import pytest
from evaluated import evaluated


def median_against(project, before, after, asked):
    """Compare the median of rewards with another run's; return its check."""
    for name, rewards in (("old", before), ("runs", [after] * len(before))):
        rows = [{"_ng_task_index": t, "reward": r} for t, r in enumerate(rewards)]
        project.rows(f"{name}.jsonl", rows)
    project.bench(
        f"metrics: [median]\nbaseline: {{rollouts: old.jsonl, {asked}}}\n"
        "expect: {max_missing: 10%}"
    )
    evaluated(project)
    return project.checks()["median"]


@pytest.mark.parametrize(
    ("before", "after", "asked", "reason"),
    [
        (
            [1] * 20,
            0,
            "max_drop: 5",
            "5 can never fail: all rewards of median lie in [0, 1]",
        ),
        ([0.04] * 20, 0, "max_drop: 5%", "was 0.04, and the worst that it can be is 0"),
        (
            [0.6] * 20,
            1,
            "direction: lower, rule: relative, max_drop: 70%",
            "max_drop 0.7 can never fail: median was 0.6, and the worst that it can be is 1",
        ),
    ],
)
def test_a_drop_that_rates_cannot_show_is_not_judged(
    project, before, after, asked, reason
):
    check = median_against(project, before, after, asked)
    assert check["verdict"] == "INCONCLUSIVE"
    assert reason in check["reason"]


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [
        ([1] * 11 + [0] * 9, 0, "rule: absolute, max_drop: 0.5"),
        ([0.04] * 20, 0, "rule: relative, max_drop: 99%"),
        ([0.6] * 20, 1, "direction: lower, rule: absolute, max_drop: 0.39"),
    ],
)
def test_a_drop_that_rates_can_just_show_fails(project, before, after, asked):
    assert median_against(project, before, after, asked)["verdict"] == "FAIL"


def test_a_baseline_with_nothing_to_lose_passes(project):
    check = median_against(project, [0] * 20, 0, "max_drop: 5%")
    assert check["verdict"] == "PASS"


def rows_of(*tokens):
    """Twenty tasks; one rollout for each of these numbers."""
    rows = []
    for task in range(20):
        for sample, count in enumerate(tokens):
            ids = {"_ng_task_index": task, "_ng_rollout_index": sample}
            rows.append({**ids, "tokens": count, "reward": 1})
    return rows


def test_a_sum_over_other_numbers_of_rollouts_is_not_judged(project):
    project.rows("old.jsonl", rows_of(10.0, 10.0))
    project.rows("runs.jsonl", rows_of(20.0))
    project.bench(
        "metrics: [sum/tokens]\nbaseline: {rollouts: old.jsonl, direction: lower}"
    )
    evaluated(project)
    check = project.checks()["sum/tokens"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert "it adds up all rollouts, 40 then and 20 now" in check["reason"]
    assert "gate mean/tokens" in check["hint"]
