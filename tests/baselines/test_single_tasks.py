"""Single tasks, as a user meets them: flips, must_pass, max_broken, quarantine."""

from __future__ import annotations

import pytest

UPDATE = "--snapshot-update"
ALL, NONE, HALF = [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]


def test_a_pass_tells_which_tasks_went_from_all_to_none_and_back(quick):
    quick.bench("metrics: [mean_reward]\nbaseline: true")
    quick.rollouts([ALL] * 30 + [NONE] * 30 + [HALF] * 5)
    assert quick.run(UPDATE).ret == 0
    quick.rollouts([*[ALL] * 28, HALF, NONE, ALL, *[NONE] * 29, *[HALF] * 4, ALL])
    result = quick.run()
    result.assert_outcomes(passed=1)
    told = (
        "1 task went from all to none of the rollouts passing: 29; "
        "1 task went from none to all of the rollouts passing: 30"
    )
    result.stdout.fnmatch_lines([f"*changed: {told}"])
    assert told in (quick.path / "evalmetrics/summary.md").read_text(encoding="utf-8")


def test_more_broken_tasks_than_allowed_fail(quick):
    quick.bench("metrics: [mean_reward]\nbaseline: {max_broken: 1}")
    quick.rollouts([ALL] * 40)
    assert quick.run(UPDATE).ret == 0
    quick.rollouts([NONE, *[ALL] * 39])
    assert quick.run().ret == 0
    assert quick.checks()["max_broken"]["value"] == 1
    quick.rollouts([NONE, *[ALL] * 38, NONE])
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *:5: 2 tasks passed all rollouts in the baseline*: 0, 39"])
    assert quick.run(UPDATE).ret == 0
    assert quick.run().ret == 0


def test_tasks_that_must_pass(quick):
    quick.bench("metrics: [mean_reward]\nmust_pass: [1, '2*']")
    quick.rollouts([NONE, ALL, ALL, NONE] + [HALF] * 16 + [ALL, ALL])
    assert quick.run().ret == 0
    quick.rollouts([NONE, HALF, ALL, NONE] + [HALF] * 16 + [ALL, NONE])
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["FAIL *:5: 2 of 4 tasks that must pass do not: 1 (1 of 2 *), 21 (0 of 2 *)"]
    )


def test_an_unknown_task_is_an_error_at_its_line(quick):
    quick.rollouts([ALL] * 3)
    quick.bench(
        "metrics: [mean_reward]\nmust_pass:\n  - 1\n  - 99\n"
        "quarantine:\n  - {task: x-*, reason: flaky, until: 9999-12-31}"
    )
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *:9: quarantine: this run has no task 'x-[*]'*",
            "INCONCLUSIVE *:7: must_pass: this run has no task '99'*",
        ]
    )


def test_a_task_in_quarantine_is_measured_and_not_gated(quick):
    text = (
        'metrics: [mean_reward]\nbaseline: {max_broken: 0}\nthresholds: {mean_reward: ">= 0.99"}\n'
    )
    quick.rollouts([ALL] * 20)
    quick.bench(text)
    assert quick.run(UPDATE).ret == 0
    quick.rollouts([*[ALL] * 18, NONE, NONE])
    assert quick.run().ret == 1
    entry = "quarantine: [{{task: '1[89]', reason: the tool is down, until: {}}}]"
    quick.bench(text + entry.format("9999-12-31"))
    result = quick.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*task 18 is measured and not gated*the tool is down; 0 of 2 *"])
    (agent,) = quick.report()["benchmarks"][0]["agents"]
    assert agent["tasks"] == 20
    assert agent["key_metrics"]["mean/reward"] == 0.9
    assert quick.checks()["mean_reward"]["value"] == 1
    quick.bench(text + entry.format("2001-02-03"))
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["FAIL *the quarantine of task 18 ended on 2001-02-03: the tool is down; 0 of 2 *"]
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quarantine: [{task: 1, until: 2030-01-01}]", "*quarantine*reason*"),
        ("quarantine: [{task: 1, reason: x, until: soon}]", "*a day such as 2026-12-31*"),
        ("baseline: {max_broken: -1}", "*max_broken*"),
        ("baseline: {report: x.json, rescore: true}", "*rescore is for*"),
        ("must_pass: [1, 1]", "*'1' is listed twice*"),
        ("baseline: {against: best, rule: exact, max_broken: 1}", "*max_broken needs*"),
    ],
)
def test_what_means_nothing_is_refused(quick, text, told):
    quick.rollouts([ALL] * 3)
    quick.bench(f"metrics: [mean_reward]\n{text}")
    result = quick.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines([told])
