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


def test_another_metric_and_a_renamed_agent():
    anchor = found("best", run(0.5), metric="pass^2")
    assert anchor.told == "h.jsonl holds no run of this benchmark that counts and has pass^2 yet"
    assert found("best", run(0.5, agent="old"), agent="new").value == 0.5
    assert anchors("best", run(0.5), run(0.5, agent="b")).agents == ("b",)
    assert anchors("best").agents == ()
