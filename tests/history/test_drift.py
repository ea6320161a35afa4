"""Drift over the history: what is warned of, where it began, and how often without cause."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.stats.drift import last_shift, limit

GATED = (
    "num_samples: 1\nexpect: {tasks: 10}\nmetrics: [pass@1]\n"
    "baseline: {against: best, rule: absolute, max_drop: 0.9}\n"
)


def runs(values, starts, **keys):
    """Write the lines of a history, a run a day."""
    lines = []
    for day, value in enumerate(values, 1):
        point = {"value": value, "low": value - 0.1, "high": value + 0.1, "tasks": 10}
        line = {
            "schema_version": 1,
            "benchmark": "math.bench.yaml::math",
            "time": f"2026-05-{day:02}T10:00:00Z",
            "commit": f"{day:07}abc",
            "verdict": "PASS",
            "usable": True,
            "starts": day in starts,
            "agents": {"agent": {"pass@1": point | {"rollouts": 10}}},
            "reason": starts.get(day, ""),
        }
        lines.append(json.dumps(line | {"branch": None, "url": None} | keys))
    return "\n".join(lines) + "\n"


STEADY = [0.81, 0.80, 0.79, 0.81, 0.80, 0.82, 0.80, 0.79, 0.81, 0.80, 0.79, 0.80]
FALLEN = [0.71, 0.69, 0.70]
FELL = (
    "math: pass@1 fell from 0.8017 (the mean of 12 runs) to 0.7 (of the last 4): it began between "
    "2026-05-12 (0000012) and 2026-05-13 (0000013)"
)


def test_a_shift_is_warned_of_with_its_commits_everywhere(project, passing):
    project.bench(GATED)
    passing(7)
    project.write("h.jsonl", runs(STEADY + FALLEN, {}))
    result = project.run("--evalmetrics-history", "h.jsonl")
    assert result.ret == 0
    shown = result.stdout.lines
    entry = next(line for line in shown if line.startswith("PASS  math.bench.yaml"))
    assert shown[shown.index(entry) + 1] == f"    warning: drift: {FELL}"
    summary = (project.path / "evalmetrics/summary.md").read_text()
    assert "- ⚠️ drift: math: pass@1 fell from" in summary.replace("<span>@</span>", "@")
    assert "fell from 0.8017" in summary
    assert "fell from 0.8017" in (project.path / "evalmetrics/report.html").read_text()
    assert json.loads((project.path / "h.jsonl").read_text().splitlines()[-1])[
        "drift"
    ] == [FELL]
    assert project.report()["history"]["math.bench.yaml::math"][-1]["drift"] == [FELL]


def test_a_drift_fails_the_build_where_the_benchmark_asks_for_it(project, passing):
    project.bench(GATED.replace("0.9}", "0.9, drift: fail}"))
    for count, values in ((7, STEADY + FALLEN), (8, STEADY), (7, STEADY + FALLEN)):
        passing(count)
        project.write("h.jsonl", runs(values, {}))
        result = project.run("--evalmetrics-history", "h.jsonl")
        assert result.ret == (values != STEADY)
        assert project.report()["verdict"] == ("FAIL" if result.ret else "PASS")
    # a run that fails for its drift alone counts, so that it fails again
    result = project.run("--evalmetrics-history", "h.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAIL  math.bench.yaml:*: math: pass@1 fell from 0.8017 *"]
    )
    assert "drift: fail needs a history" in project.run().stdout.str()


def test_of_several_metrics_any_one_may_raise_a_false_alarm_once_in_two_hundred_runs():
    rng = np.random.default_rng(2)
    false = sum(
        last_shift(list(rng.normal(size=40)), 5) is not None for _ in range(600)
    )
    most = 1 - (1 - 1 / 1000) ** 33
    assert false / 600 < most + 3 * math.sqrt(most / 600)


@pytest.mark.parametrize(
    ("history", "count"),
    [
        (runs(STEADY, {}), 8),  # nothing has changed
        (runs([v - 0.3 for v in STEADY] + [0.7] * 3, {}), 7),  # for the better
        (runs(STEADY + FALLEN, {13: "cheaper"}), 7),  # accepted
        (runs(STEADY + FALLEN, {}, usable=False), 7),  # which don't count
        (runs(STEADY[:3] + FALLEN, {}), 7),  # too few runs to tell
    ],
)
def test_what_is_no_drift_is_not_warned_of(project, passing, history, count):
    project.bench(GATED)
    passing(count)
    project.write("h.jsonl", history)
    assert "warning" not in project.run("--evalmetrics-history", "h.jsonl").stdout.str()


@pytest.mark.parametrize(("step", "warned"), [(0.03, True), (0.005, False)])
def test_a_ratchet_of_accepted_changes_is_held_against_the_first(
    project, passing, step, warned
):
    project.bench(GATED)
    passing(7 if warned else 9)
    starts = {1: "", 5: "cheaper", 9: "", 13: "a new server"}
    project.write("h.jsonl", runs([0.99 - step * (i // 4) for i in range(14)], starts))
    out = project.run("--evalmetrics-history", "h.jsonl").stdout.str()
    note = (
        "math: pass@1 is 0.7, and was 0.99 in the first baseline, of 2026-05-01 (0000001): 3 "
        "changes have been accepted since (cheaper; a new server)"
    )
    assert (note in out) is warned


def shift_by_definition(values):
    """Whether the two-sample t statistic of any split is beyond the limit, split by split."""
    n, best = len(values), 0.0
    for cut in range(3, n - 2):
        one, other = np.array(values[:cut]), np.array(values[cut:])
        pooled = (one.var() * cut + other.var() * (n - cut)) / (n - 2)
        error = math.sqrt(pooled * (1 / cut + 1 / (n - cut)))
        best = max(best, abs(one.mean() - other.mean()) / error)
    return best > limit(n)


@given(
    st.lists(st.integers(0, 10**6), min_size=8, max_size=8, unique=True),
    st.integers(0, 10**6),
)
def test_no_shift_is_seen_below_the_limit_of_the_largest_t_statistic(values, shift):
    numbers = [v + shift * (i >= 5) for i, v in enumerate(values)]
    # above it, runs that resemble each other may still explain one
    assert last_shift(numbers) is None or shift_by_definition(numbers)


def test_a_shift_above_the_limit_is_seen_where_runs_do_not_resemble_each_other():
    before = [1.0, -1.0] * 6
    after = [6.0, 4.0] * 6
    assert shift_by_definition(before + after)
    assert last_shift(before + after).at == 12


def test_a_shift_that_was_repaired_is_the_last_one():
    rng = np.random.default_rng(3)
    values = list(np.repeat([10.0, 4.0, 10.0], 15) + rng.normal(0, 1, 45))
    shift = last_shift(values)
    assert shift is not None
    assert (abs(shift.start - 15) <= 1, shift.at) == (True, 30)
    assert shift.first <= 30 <= shift.last
    assert last_shift([0.5] * 30) is None
    assert last_shift([0.5] * 20 + [0.4] * 3) is not None  # of a system without noise


def test_a_shift_of_two_sd_is_detected_in_ten_runs_at_one_false_alarm_in_two_hundred():
    rng = np.random.default_rng(1)
    false = sum(last_shift(list(rng.normal(size=60))) is not None for _ in range(150))
    assert false < 150 * 0.36  # 1 - .995^53 = .23
    shifts = [
        last_shift([*rng.normal(size=20), *rng.normal(-2, 1, 10)]) for _ in range(100)
    ]
    assert sum(shift is not None and abs(shift.at - 20) <= 3 for shift in shifts) >= 75


@pytest.mark.parametrize("alike", [0.3, 0.5])
def test_runs_that_resemble_their_predecessors_are_seldom_taken_for_a_shift(alike):
    """Of 30 runs of an autoregression 36 and 64 % had an alarm without a correction."""
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(150):
        values = [rng.normal()]
        for _ in range(29):
            step = math.sqrt(1 - alike**2) * rng.normal()
            values.append(alike * values[-1] + step)
        false += last_shift(values) is not None
    assert false / 150 < (0.30 if alike < 0.4 else 0.42)


def autoregression(rng, r, length=30):
    """Draw a series whose values resemble their predecessors."""
    values = rng.normal(size=length) * math.sqrt(1 - r * r)
    values[0] /= math.sqrt(1 - r * r)
    for place in range(1, length):
        values[place] += r * values[place - 1]
    return values


def test_a_shift_among_runs_that_resemble_each_other_is_not_sure():
    rng = np.random.default_rng(3)
    series = [autoregression(rng, 0.8).tolist() for _ in range(100)]
    shifts = [shift for shift in map(last_shift, series) if shift is not None]
    assert len(shifts) > 20
    assert sum(shift.is_sure for shift in shifts) <= 15


def test_a_large_shift_of_independent_runs_is_sure():
    values = np.random.default_rng(3).normal(size=40)
    values[30:] -= 5
    assert last_shift(values.tolist()).is_sure


def test_a_shift_that_is_not_sure_warns_where_drift_fails(project, passing):
    project.bench(GATED.replace("0.9}", "0.9, drift: fail}"))
    passing(7)
    # few runs, of a level that rises and falls
    values = [0.80, 0.83, 0.81, 0.84, 0.82, 0.79, 0.74, 0.73, 0.75, 0.72, 0.71]
    project.write("h.jsonl", runs(values, {}))
    result = project.run("--evalmetrics-history", "h.jsonl")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*runs that resemble their predecessors could*"])
