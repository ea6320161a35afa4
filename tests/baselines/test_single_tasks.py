"""Single tasks, as a user meets them: flips, must_pass, max_broken, quarantine."""

import pytest
from evaluated import evaluated

from pytest_evalmetrics.errors import ConfigError

UPDATE = "--snapshot-update"
ALL, NONE, HALF = [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]


def test_a_pass_lists_the_tasks_that_went_from_all_to_none_and_back(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    project.rollouts([ALL] * 30 + [NONE] * 30 + [HALF] * 5)
    assert project.run(UPDATE).ret == 0
    project.rollouts([*[ALL] * 28, HALF, NONE, ALL, *[NONE] * 29, *[HALF] * 4, ALL])
    result = project.run()
    result.assert_outcomes(passed=1)
    changes = (
        "1 task went from all passing to none: 29; "
        "1 task went from none passing to all: 30"
    )
    result.stdout.fnmatch_lines([f"*changed: {changes}"])
    assert changes in (project.path / "evalmetrics/summary.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quarantine: [{task: 1, until: 2030-01-01}]", "quarantine.*reason"),
        (
            "quarantine: [{task: 1, reason: x, until: soon}]",
            "a day such as 2026-12-31",
        ),
        ("baseline: {max_broken: -1}", "max_broken"),
        ("baseline: {report: x.json, rescore: true}", "rescore is for"),
        ("must_pass: [1, 1]", "'1' is listed twice"),
        (
            "baseline: {against: best, rule: exact, max_broken: 1}",
            "max_broken needs",
        ),
    ],
)
def test_what_means_nothing_is_refused(project, text, message):
    project.bench(f"metrics: [mean_reward]\n{text}")
    with pytest.raises(ConfigError, match=rf"math\.bench\.yaml:\d+: .*{message}"):
        evaluated(project)


def test_more_broken_tasks_than_there_are_can_not_fail(project):
    project.rollouts([ALL] * 3)
    project.bench(
        "metrics: [mean_reward]\nbaseline: {rollouts: runs.jsonl, max_broken: 3}"
    )
    evaluated(project).says("*max_broken 3 can never fail: 3 *")


def test_a_baseline_whose_tasks_are_all_in_quarantine_has_nothing_to_compare(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    project.rollouts([ALL])
    assert evaluated(project, updates=True).passed
    gone = "quarantine: [{task: 0, reason: flaky, until: 2100-01-01}]"
    project.bench(f"metrics: [mean_reward]\nbaseline: true\n{gone}")
    project.rollouts([ALL] * 8)
    result = evaluated(project)
    result.says("*mean_reward can't be compared: *have no task in common")


def test_grades_of_which_all_fell_are_no_passes(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    project.rollouts([[5.0, 4.0, 5.0]] * 20)
    assert evaluated(project, updates=True).passed
    project.rollouts([[0.0, 1.0, 0.0], *[[5.0, 4.0, 5.0]] * 19])
    result = evaluated(project)
    assert "went from all passing" not in result.text
