"""Which earlier number a run is held against."""

import pytest

from pytest_evalmetrics.history import Anchors


def run(value, *, day=1, usable=True, starts=False, tasks=100, agent="agent", commit="1a2b3c4d5"):
    return {
        "schema_version": 1,
        "benchmark": "x.bench.yaml::x",
        "time": f"2026-05-{day:02}T10:00:00Z",
        "commit": commit,
        "branch": "main",
        "url": None,
        "verdict": "PASS" if usable else "FAIL",
        "usable": usable,
        "starts": starts,
        "agents": {agent: {"pass@1": {"value": value, "tasks": tasks, "rollouts": tasks}}},
    }


def anchors(against, *runs):
    return Anchors(against, runs, "h.jsonl", 0.9)


def found(against, *runs, higher=True, tasks=100, agent="agent", metric="pass@1"):
    known = anchors(against, *runs)
    return known.anchor(agent, metric, tasks, higher_is_better=higher)


def test_the_best_is_the_highest_or_where_less_is_better_the_lowest():
    runs = [run(0.5, day=1), run(0.7, day=2), run(0.6, day=3, commit=None)]
    assert found("best", *runs).value == 0.7
    assert found("best", *runs).told == "the best of 3 runs, of 2026-05-02 (1a2b3c4)"
    assert found("best", *runs, higher=False).value == 0.5
    assert found("best", runs[2]).told == "the only run, of 2026-05-03"


@pytest.mark.parametrize(
    ("against", "value", "told"),
    [
        ("median-of-last-1", 0.9, "the only run"),
        ("median-of-last-3", 0.5, "the median of the last 3 runs"),
        ("median-of-last-4", 0.45, "the median of the last 4 runs"),
        ("median-of-last-9", 0.5, "the median of the last 5 runs"),
    ],
)
def test_the_median_of_the_last_is_of_as_many_as_there_are(against, value, told):
    anchor = found(against, *map(run, (0.6, 0.1, 0.4, 0.5, 0.9)))
    assert anchor.value == pytest.approx(value)
    assert anchor.told == told


def test_what_failed_does_not_count_so_that_failing_often_lowers_nothing():
    failed = [run(0.2, usable=False)] * 9
    assert found("median-of-last-3", run(0.8), *failed).value == 0.8
    assert found("best", run(0.8), run(0.9, usable=False)).value == 0.8


def test_an_accepted_change_starts_anew():
    runs = [run(0.9), run(0.8), run(0.5, starts=True), run(0.6)]
    assert found("best", *runs).value == 0.6
    assert found("median-of-last-5", *runs).value == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ((), "h.jsonl holds no run of this benchmark that counts yet"),
        ((run(0.5, usable=False),), "h.jsonl holds no run of this benchmark that counts yet"),
        ((run(0.5, tasks=80),), "another number of tasks: 80, and now 100"),
        ((run(0.5, tasks=120),), "another number of tasks: 120, and now 100"),
    ],
)
def test_why_there_is_none(runs, told):
    anchor = found("best", *runs)
    assert anchor.value is None
    assert told in anchor.told


def test_numbers_over_about_as_many_tasks_are_compared():
    assert found("best", run(0.9, tasks=50), run(0.5, tasks=92)).value == 0.5


def test_another_metric_and_a_renamed_agent():
    anchor = found("best", run(0.5), metric="pass^2")
    assert anchor.told == "h.jsonl holds no run of this benchmark that counts and has pass^2 yet"
    assert found("best", run(0.5, agent="old"), agent="new").value == 0.5
    assert anchors("best", run(0.5), run(0.5, agent="b")).agents == ("b",)
    assert anchors("best").agents == ()
