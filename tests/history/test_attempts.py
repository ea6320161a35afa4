"""A further attempt at the same commit, which draws rollouts anew."""

from msgspec.structs import replace

from pytest_evalmetrics.history import failed_attempt
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun

FAILED = HistoryRun(
    schema_version=1,
    benchmark="math.bench.yaml::math",
    time="2026-05-01T10:00:00Z",
    commit="abc",
    branch="main",
    url="https://ci.example/1",
    verdict="FAIL",
    usable=False,
    starts=False,
    agents={"agent": {"pass@1": HistoryPoint(0.5, None, None, 10, 40)}},
)
PASSED = replace(
    FAILED,
    verdict="PASS",
    usable=True,
    agents={"agent": {"pass@1": HistoryPoint(0.7, None, None, 10, 40)}},
)


def test_a_pass_of_a_commit_that_failed_with_other_rollouts_is_recognised():
    assert failed_attempt(PASSED, [FAILED]) is FAILED


def test_the_same_rollouts_are_no_further_attempt():
    same = replace(PASSED, agents=FAILED.agents)
    assert failed_attempt(same, [FAILED]) is None


def test_another_commit_is_no_further_attempt():
    assert failed_attempt(replace(PASSED, commit="abd"), [FAILED]) is None


def test_another_baseline_is_no_further_attempt():
    accepted = replace(PASSED, starts=True)
    assert failed_attempt(PASSED, [FAILED, accepted]) is None


def test_a_run_that_fails_again_says_so_itself():
    assert failed_attempt(replace(PASSED, usable=False), [FAILED]) is None


def test_outside_of_ci_the_files_of_a_commit_may_have_changed():
    assert failed_attempt(replace(PASSED, url=None), [FAILED]) is None


def test_a_further_attempt_is_told_with_the_day_and_the_way_out(project, monkeypatch):
    project.bench(
        "num_samples: 1\nexpect: {tasks: 40}\nmetrics: [pass@1]\n"
        "baseline: {against: best, rule: absolute, max_drop: 0.2}\n"
    )
    monkeypatch.setenv("GITHUB_SHA", "abc")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "a/b")
    monkeypatch.setenv("GITHUB_RUN_ID", "1")
    arguments = ("--evalmetrics-history", "h.jsonl")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777629600")
    for passes, status in ((30, 0), (10, 1), (29, 0)):
        rewards = [[float(task < passes)] for task in range(40)]
        project.rollouts(rewards)
        args = ("--evalmetrics-update",) if passes == 30 else ()
        result = project.run(*arguments, *args)
        assert result.ret == status
    result.stdout.fnmatch_lines(
        ["warning: math: the same commit failed on 2026-05-01 *confirm: true*"]
    )
