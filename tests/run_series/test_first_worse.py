"""The first run of a series that is worse than those before it."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from pydantic import TypeAdapter

from pytest_evalmetrics import metrics
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.model.rollout_table import RolloutTable
from pytest_evalmetrics.model.verdicts import Direction
from pytest_evalmetrics.run_series.first_worse import (
    first_worse,
    runs_of_commits,
    sure_range,
)
from pytest_evalmetrics.spec import BenchmarkSpec

RULE = RuleSettings(
    rule=RuleName.PRACTICAL,
    direction=Direction.HIGHER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.01,
)
LOWER = RuleSettings(
    rule=RuleName.PRACTICAL,
    direction=Direction.LOWER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.01,
)
TASKS = 40
NAMES = ["mon", "tue", "wed", "thu", "fri"]


def table(rewards, tasks=None):
    count = len(rewards)
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(count, dtype=np.int32),
        tasks=tuple(range(count)) if tasks is None else tuple(tasks),
        task=np.arange(count),
        sample=np.zeros(count, dtype=np.int64),
        scores={"reward": np.asarray(rewards, dtype=np.float64)},
    )


def series(*levels, seed=1):
    """Make a run of each level, with noise in each task."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.7, TASKS)
    return [table(base + level + rng.normal(0, 0.02, TASKS)) for level in levels]


def spread(rewards):
    """Evaluate a metric of all rewards at once."""
    return float(rewards.values.max() - rewards.values.min())


def worse(tables, metric="mean_reward", rule=RULE, names=NAMES, *, may_be_rate=True):
    keys = {"name": "b", "rollouts": "r", "metrics": [metric]}
    spec = TypeAdapter(BenchmarkSpec).validate_json(json.dumps(keys))
    plan = metrics.plan(spec)
    return first_worse(plan, metric, tables, names, rule, may_be_rate=may_be_rate)


def test_the_run_of_a_large_drop_is_named_with_both_levels():
    text, p = worse(series(0.2, 0.2, 0.2, -0.1, -0.1))
    assert text.startswith("thu is the first worse run, 99.9 % sure: from ")
    assert " over 40 tasks (p = " in text
    assert text.endswith(" that nothing changed)")
    assert p < 0.001


def test_the_levels_are_the_means_before_and_after():
    tables = [table([value] * TASKS) for value in (0.8, 0.8, 0.5, 0.5)]
    text, _ = worse(tables)
    assert text.startswith(
        "wed is the first worse run, 99.9 % sure: from 0.8 to 0.5 over 40 tasks"
    )


def test_a_series_that_does_not_change_has_no_worse_run():
    text, p = worse(series(0.1, 0.1, 0.1, 0.1, 0.1))
    assert text == f"no run is worse than those before it (p = {p:.2g})"
    assert p >= 0.01


def test_a_series_that_gets_better_has_no_worse_run():
    text, p = worse([table([value] * TASKS) for value in (0.5, 0.6, 0.8)])
    assert text == "no run is worse than those before it (p = 1)"
    assert p == 1


def test_two_runs_that_are_alike_show_no_change_at_all():
    text, p = worse([table([0.5] * TASKS)] * 2)
    assert text == "no run is worse than those before it (p = 1)"
    assert p == 1


@pytest.mark.parametrize(
    ("levels", "inwards"),
    [((1.0, 1.0, 1.0, 0.5, 0.5), -0.001), ((0.5, 0.5, 0.5, 0.0, 0.0), 0.001)],
    ids=["1", "0"],
)
def test_a_rate_of_0_or_1_is_a_rate_like_one_between(levels, inwards):
    _, p = worse([table([value] * TASKS) for value in levels])
    _, p_between = worse([table([value + inwards] * TASKS) for value in levels])
    assert p == pytest.approx(p_between, rel=1e-6, abs=0)


def test_the_noise_between_runs_of_a_rate_is_5_points_or_so():
    """That of a number is 8 standard errors or so: here it is less."""
    runs = series(0.1, 0.1, 0.1, 0.0, 0.0)
    assert all(table.scores["reward"].max() <= 1 for table in runs)
    _, p_of_rate = worse(runs)
    _, p_of_number = worse(runs, may_be_rate=False)
    assert p_of_rate == pytest.approx(2.8e-4, rel=0.01)
    assert p_of_number == pytest.approx(7.7e-5, rel=0.01)


def test_a_drop_that_is_as_likely_as_the_level_says_is_none():
    slight = series(0.05, 0.05, 0.05, 0.0, 0.0)
    _, p = worse(slight)
    text, _ = worse(slight, rule=structs.replace(RULE, alpha=p))
    assert text == f"no run is worse than those before it (p = {p:.2g})"
    text, _ = worse(slight, rule=structs.replace(RULE, alpha=p * 1.001))
    assert text.startswith("thu is the first worse run")


def test_a_drop_that_each_of_many_runs_may_show_has_a_chance_of_1():
    text, p = worse(series(0.0, 0.0, 0.0, 0.0, 0.0, seed=6))
    assert text == "no run is worse than those before it (p = 1)"
    assert p == 1.0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_long_series_changes_as_surely_in_any_unit(unit):
    """60 runs of 200 seconds, or of as many microseconds or megaseconds."""
    days = [f"day {day}" for day in range(60)]
    runs = 200 + np.random.default_rng(5).normal(0, 1, (60, TASKS))
    runs[30:] -= 2
    text, p = worse([table(run * unit) for run in runs], names=days)
    assert text.startswith("day 30 is the first worse run, 99.9 % sure: ")
    assert p == pytest.approx(worse([table(run) for run in runs], names=days)[1])


def test_a_rise_is_worse_where_less_is_better():
    text, _ = worse(series(-0.1, -0.1, 0.2, 0.2, 0.2), rule=LOWER)
    assert text.startswith("wed is the first worse run")


def test_costs_of_which_some_are_0_have_no_factor():
    costs = [0.0, 0.0, 0.0, 5.0, 5.0]
    text, _ = worse([table(value + np.arange(TASKS)) for value in costs], rule=LOWER)
    assert text.startswith("thu is the first worse run")
    free = [table([value] * TASKS) for value in costs]
    text, _ = worse(free, rule=LOWER)
    assert text.startswith("thu is the first worse run, 99.9 % sure: from 0 to 5 ")


def test_seconds_and_the_seconds_of_their_reciprocals_change_as_surely():
    """Runs that differ by a factor do so whichever way they are read."""
    of_tasks = np.random.default_rng(3).lognormal(0, 0.05, TASKS)
    levels = [2.0, 3.0, 2.0, 3.0, 12.0, 18.0]
    names = ["mon", "tue", "wed", "thu", "fri", "sat"]
    wiggles = np.random.default_rng(4).lognormal(0, 0.05, (6, TASKS))
    seconds = np.array(levels)[:, None] * of_tasks * wiggles
    _, p = worse([table(run) for run in seconds], rule=LOWER, names=names)
    reciprocals = [table(100 / run) for run in seconds[::-1]]
    _, p_of_reciprocals = worse(reciprocals, rule=LOWER, names=names)
    assert np.log(p_of_reciprocals) == pytest.approx(np.log(p), rel=0.05)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_a_latency_rises_as_surely_in_any_unit(unit):
    latencies = np.array([2.0, 2.1, 1.9, 4.0, 4.1])[:, None]
    wiggles = np.random.default_rng(4).lognormal(0, 0.05, (5, TASKS))
    _, p = worse([table(run) for run in latencies * wiggles], rule=LOWER)
    runs = [table(unit * run) for run in latencies * wiggles]
    text, p_in_unit = worse(runs, rule=LOWER, may_be_rate=False)
    assert text.startswith("thu is the first worse run, ")
    assert p_in_unit == pytest.approx(p)


def test_a_change_between_runs_of_unlike_levels_is_within_a_range():
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    text, _ = worse(series(0.3, 0.3, 0.3, 0.15, 0.0, 0.0, 0.0), names=names)
    assert text.endswith("; 95 % sure: one of thu to fri")


def test_a_gradual_change_is_within_a_wide_range():
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    levels = (0.4, 0.38, 0.3, 0.2, 0.1, 0.02, 0.0)
    text, _ = worse(series(*levels), names=names)
    assert text == (
        "fri is the first worse run, 49.1 % sure: from 0.8189 to 0.5372 over 40 tasks "
        "(p = 0.0023 that nothing changed); 95 % sure: one of wed to sat"
    )


@pytest.mark.parametrize(
    ("shares", "likeliest", "places"),
    [
        ([0.01, 0.96, 0.03], 1, (1, 1)),
        ([0.01, 0.94, 0.05], 1, (1, 2)),
        ([0.05, 0.94, 0.01], 1, (0, 1)),
        ([0.05, 0.9, 0.05], 1, (1, 2)),
        ([0.0, 0.2, 0.5, 0.1, 0.2], 2, (1, 4)),
        ([0.3, 0.0, 0.6, 0.06, 0.04], 2, (0, 4)),
        ([0.05, 0.15, 0.8], 2, (1, 2)),
        ([0.9, 0.05, 0.05], 0, (0, 1)),
    ],
)
def test_a_place_is_widened_to_its_likelier_neighbours(shares, likeliest, places):
    assert sure_range(np.array(shares), likeliest) == places


def test_the_last_run_may_be_the_first_worse_one():
    text, _ = worse(series(0.5, 0.5, 0.5, 0.3, 0.0))
    assert text == (
        "fri is the first worse run, 73.5 % sure: from 0.9489 to 0.4963 over 40 tasks (p = "
        "0.0015 that nothing changed); 95 % sure: one of thu to fri"
    )


def test_tasks_that_one_run_lacks_do_not_count():
    long = table([0.8] * TASKS)
    short = table([0.5] * 3, tasks=[0, 1, 2])
    text, _ = worse([long, long, short])
    assert " over 3 tasks " in text


def test_one_task_is_too_few():
    with pytest.raises(DataError) as refused:
        worse([table([0.8]), table([0.5])])
    assert refused.value.message == (
        "1 task in all of these runs: two or more are needed"
    )


@pytest.mark.parametrize("metric", ["worst_task", f"{__name__}:spread"])
def test_a_metric_that_is_no_mean_over_tasks_is_refused(metric):
    with pytest.raises(DataError) as refused:
        worse(series(0.2, 0.1), metric=metric)
    assert refused.value.message == (
        f"{metric} is not a mean over tasks: name one with --metric"
    )


def test_the_artifacts_of_commits_need_a_place_for_the_commit():
    with pytest.raises(EvalMetricsError) as refused:
        runs_of_commits("v1..HEAD=artifacts")
    assert refused.value.message == (
        "v1..HEAD=artifacts: expected {commit} in the pattern of the artifacts"
    )


def test_a_commit_that_is_not_there_is_refused_in_gits_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvalMetricsError, match=r"^git rev-parse v1\^{commit}: fatal"):
        runs_of_commits("v1..HEAD=artifacts/{commit}")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of four commits; gives their names, the oldest first."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    commits = []
    for number in range(4):
        git("commit", "-q", "--allow-empty", "-m", f"change {number}")
        commits.append(git("rev-parse", "HEAD"))
    return commits


def git(*words):
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def leave(name):
    path = Path("artifacts") / name
    path.parent.mkdir(exist_ok=True)
    path.touch()


def test_the_artifacts_of_commits_are_found_the_oldest_first(repository):
    for commit in repository:
        leave(commit)
    names, paths, notes = runs_of_commits(f"{repository[0]}..HEAD=artifacts/{{commit}}")
    assert names == [commit[:7] for commit in repository]
    assert paths == [f"artifacts/{commit}" for commit in repository]
    assert notes == []


def test_commits_before_the_first_and_after_the_last_one_do_not_count(repository):
    for commit in repository:
        leave(commit)
    span = f"{repository[1]}..{repository[2]}"
    names, _, _ = runs_of_commits(f"{span}=artifacts/{{commit}}")
    assert names == [commit[:7] for commit in repository[1:3]]


def test_the_commits_of_a_branch_that_was_merged_do_not_count(repository):
    git("checkout", "-q", "-b", "side")
    git("commit", "-q", "--allow-empty", "-m", "beside")
    git("checkout", "-q", "-")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    last, merge = git("rev-parse", "HEAD^", "HEAD").split()
    leave(last)
    leave(merge)
    names, _, notes = runs_of_commits(f"{repository[0]}..HEAD=artifacts/{{commit}}")
    assert names == [last[:7], merge[:7]]
    assert notes == []


def test_the_pattern_of_artifacts_may_have_an_equals_sign(repository):
    leave(f"commit={repository[0]}")
    _, paths, _ = runs_of_commits(f"{repository[0]}..HEAD=artifacts/commit={{commit}}")
    assert paths == [f"artifacts/commit={repository[0]}"]


def test_neighbouring_commits_with_artifacts_have_no_note(repository):
    leave(repository[0])
    leave(repository[1])
    leave(repository[3])
    _, _, notes = runs_of_commits(f"{repository[0]}..HEAD=artifacts/{{commit}}")
    assert notes == [
        f"1 commit without artifacts between {repository[1][:7]} and {repository[3][:7]}"
    ]


@pytest.mark.parametrize("digits", [40, 12, 10, 8, 7])
def test_artifacts_are_named_by_the_first_digits_of_a_commit(repository, digits):
    leave(repository[0][:digits])
    _, paths, _ = runs_of_commits(f"{repository[0]}..HEAD=artifacts/{{commit}}")
    assert paths == [f"artifacts/{repository[0][:digits]}"]


def test_commits_without_artifacts_are_counted_between_those_with_some(repository):
    leave(repository[0])
    leave(repository[3])
    _, _, notes = runs_of_commits(f"{repository[0]}..HEAD=artifacts/{{commit}}")
    assert notes == [
        f"2 commits without artifacts between {repository[0][:7]} and {repository[3][:7]}"
    ]
