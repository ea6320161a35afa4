"""Drift over the history: what is warned of, where it began, and how often without cause."""

import json

import pytest

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


def test_a_shift_that_is_not_sure_warns_where_drift_fails(project, passing):
    project.bench(GATED.replace("0.9}", "0.9, drift: fail}"))
    passing(7)
    # few runs, of a level that rises and falls
    values = [0.80, 0.83, 0.81, 0.84, 0.82, 0.79, 0.74, 0.73, 0.75, 0.72, 0.71]
    project.write("h.jsonl", runs(values, {}))
    result = project.run("--evalmetrics-history", "h.jsonl")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*runs that resemble their predecessors could*"])
