"""Single tasks, as a user meets them: flips, must_pass, max_broken, quarantine."""

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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quarantine: [{task: 1, until: 2030-01-01}]", "*quarantine*reason*"),
        ("quarantine: [{task: 1, reason: x, until: soon}]", "*a day such as 2026-12-31*"),
        ("baseline: {max_broken: -1}", "*max_broken*"),
        ("baseline: {report: x.json, rescore: true}", "*rescore is for*"),
        ("must_pass: [1, 1]", "*'1' is listed twice*"),
        ("baseline: {against: best, rule: exact, max_broken: 1}", "*max_broken needs*"),
        ("baseline: {rollouts: runs.jsonl, max_broken: 3}", "*max_broken 3 can never fail: 3 *"),
    ],
)
def test_what_means_nothing_is_refused(quick, text, told):
    quick.rollouts([ALL] * 3)
    quick.bench(f"metrics: [mean_reward]\n{text}")
    result = quick.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines([told])


def test_a_baseline_whose_tasks_are_all_in_quarantine_has_nothing_to_compare(quick):
    quick.bench("metrics: [mean_reward]\nbaseline: true")
    quick.rollouts([ALL])
    assert quick.run(UPDATE).ret == 0
    gone = "quarantine: [{task: 0, reason: flaky, until: 2100-01-01}]"
    quick.bench(f"metrics: [mean_reward]\nbaseline: true\n{gone}")
    quick.rollouts([ALL] * 8)
    result = quick.run()
    result.stdout.fnmatch_lines(["*mean_reward can't be compared: *have no task in common"])
