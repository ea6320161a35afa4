"""Thresholds with a tolerance or a confidence of their own, and benchmarks without a reward."""

import pytest
from scipy.stats import binomtest, t

FILE = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 40}, metrics: [pass@1, mean/latency_s]}
benchmarks:
- name: near
  thresholds:
    pass@1: {value: 0.85, rtol: 3%}
    pass_rate: {value: 1, rtol: 20%}
    mean/latency_s: {value: 22, rtol: 5%}
- name: ends
  thresholds:
    pass@1: {min: 0.7, bound: lower, confidence: 95%}
    mean/latency_s: {max: 22, bound: upper, confidence: 0.9}
- name: default end
  thresholds: {pass@1: {min: 0.7, bound: lower}}
- {name: without a reward, metrics: [p50/latency_s], thresholds: {p50/latency_s: "<= 20"}}
"""


SECONDS = [float(second) for second in range(40)]


@pytest.fixture
def checks(project):
    """The checks of the file's benchmarks over 40 tasks, of which 34 pass, by both names."""
    rows = [
        {"_ng_task_index": task, "reward": float(task < 34), "latency_s": SECONDS[task]}
        for task in range(40)
    ]
    project.rows("runs.jsonl", rows)
    project.write("a.bench.yaml", FILE)
    project.run()
    return {
        (entry["name"], check["name"]): check
        for entry in project.report()["benchmarks"]
        for check in entry["checks"]
    }


def test_a_tolerance_bounds_a_value_on_both_sides(checks):
    assert checks["near", "pass@1"]["bound"] == ">= 0.8245 and <= 0.8755"
    assert checks["near", "pass@1"]["verdict"] == "PASS"
    reason = "mean/latency_s is 19.5, below 20.9"
    assert checks["near", "mean/latency_s"]["reason"] == reason
    # a benchmark without a reward has its thresholds, too
    assert checks["without a reward", "p50/latency_s"]["verdict"] == "PASS"


# a one-sided bound of 95 % is the end of an interval of 90 %
@pytest.mark.parametrize(("name", "level"), [("ends", 0.90), ("default end", 0.95)])
def test_the_lower_end_of_a_rate_is_clopper_and_pearsons(checks, name, level):
    low = binomtest(34, 40).proportion_ci(level, method="exact").low
    assert checks[name, "pass@1"]["value"] == pytest.approx(low, abs=1e-12)
    assert checks[name, "pass@1"]["verdict"] == "PASS"


def test_the_upper_end_of_a_mean_is_students(checks):
    variance = sum((second - 19.5) ** 2 for second in SECONDS) / 39
    high = 19.5 + t.ppf(0.9, 39) * (variance / 40) ** 0.5
    assert checks["ends", "mean/latency_s"]["value"] == pytest.approx(high, abs=1e-9)
    assert checks["ends", "mean/latency_s"]["bound"] == "upper 90 % bound <= 22"


def test_a_quantile_alone_wants_no_reward_and_its_own_column_in_each_row(project):
    rows = [{"_ng_task_index": i // 2, "x": i / 80, "wide": 1.0} for i in range(80)]
    project.rows("runs.jsonl", rows)
    project.rows(
        "holes.jsonl", [{**row, "x": None} if row["x"] > 0.9 else row for row in rows]
    )
    text = (
        "defaults: {rollouts: runs.jsonl, expect: {tasks: 40}, metrics: [p95/x]}\n"
        "benchmarks:\n- {name: whole, baseline: {direction: lower}}\n"
        "- {name: holes, rollouts: holes.jsonl, thresholds: {p95/x: '<= 1'}}\n"
    )
    project.write(
        "a.bench.yaml", f"{text}- {{name: with, thresholds: {{pass@1: '>= 0'}}}}\n"
    )
    result = project.run("--snapshot-update")
    result.stdout.fnmatch_lines(
        [
            "*7 rollouts have no x (tasks 36, 37, 38 and 1 more)*",
            "*the score 'reward' is in no row*",
        ]
    )
    project.write("a.bench.yaml", text)
    project.rows("runs.jsonl", [{**row, "x": row["x"] + 1} for row in rows])
    result = project.run()
    verdicts = {e["name"]: e["verdict"] for e in project.report()["benchmarks"]}
    assert verdicts == {"whole": "FAIL", "holes": "FAIL"}
    result.stdout.fnmatch_lines(["*p95/x rose from*"])


def test_thresholds_that_mean_nothing(refusals):
    together = "value and rtol belong together, such as {value: 0.72, rtol: 5%}"
    cases = {
        "{value: 1}": together,
        "{rtol: 5%}": together,
        "{value: 1, rtol: 1%, min: 0}": "expected min and max, or value and rtol, not both",
        "{min: 1, confidence: 95%}": "a confidence is that of an interval's end: add bound: ",
        "{min: 1, bound: lower, confidence: 0.5}": "expected a confidence above 50 % and below",
        "{value: 72, rtol: 5%}": "pass@1 is a rate from 0 to 1: value 72 can never pass",
        "{value: 1, rtol: 500%}": "expected a share from 0 to 1, such as 0.02 or 2%",
    }
    head = "benchmark:\n  name: a\n  rollouts: r\n  thresholds:\n    pass@1: "
    for message, lines in zip(
        cases.values(), refusals([head + case for case in cases]), strict=True
    ):
        (line,) = lines
        assert line.startswith("5: ")
        assert message in line


def test_a_pass_threshold_on_another_scale_is_reported(project):
    rows = [{"_ng_task_index": i, "reward": 0.6 + i / 50, "x": 0.0} for i in range(10)]
    project.rows("runs.jsonl", rows)
    file = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 10}, thresholds: {mean_reward: ">= 0"}}
benchmarks:
- {name: none, metrics: [pass_rate, pass@1, mean_reward]}
- {name: some, metrics: [pass_rate], pass_threshold: 0.7}
- {name: all zero, metrics: [pass_rate], reward: x}
- {name: no rate, metrics: [mean_reward]}
- {name: not asked for}
- {name: all, metrics: [pass_rate], pass_threshold: 0}
"""
    project.write("a.bench.yaml", file)
    project.run().assert_outcomes(passed=6)
    entries = project.report()["benchmarks"]
    notes = {
        e["name"]: [note for note in e["notes"] if "reach" in note] for e in entries
    }
    (note,) = notes.pop("none")
    assert note.startswith(
        "no reward reaches pass_threshold 1 (the largest is 0.78), so that "
    )
    assert note.endswith(
        "pass_rate, pass@1 can't be above 0: set pass_threshold, line 4, to what passes"
    )
    (note,) = notes.pop("all")
    assert note.startswith(
        "each reward reaches pass_threshold 0 (the least is 0.6), so that "
    )
    assert note.endswith(
        "pass_rate can't be below 1: set pass_threshold, line 9, to what passes"
    )
    assert set(map(len, notes.values())) == {0}
