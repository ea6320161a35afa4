"""Baselines of several runs: recorded one after the other, or named as files."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from pytest_evalmetrics.gates import Runs
from pytest_evalmetrics.gates.run_noise import with_run_noise

ADD = ("--snapshot-update", "--evalmetrics-add-run")
SKILL = np.random.default_rng(7).beta(0.4, 0.4, 300)


def write(project, name, seed, shift=0.0):
    """Record 300 tasks x 4; `shift` moves the chances of all of them."""
    rng = np.random.default_rng(seed)
    chance = np.clip(0.1 + 0.8 * SKILL + shift, 0, 1)
    project.rollouts(
        (rng.random((300, 4)) < chance[:, None]).astype(float).tolist(), name
    )


def bench(project, keys="baseline: true"):
    project.bench(f"metrics: [mean_reward]\nexpect: {{tasks: 300}}\n{keys}")


def check(project, metric="mean_reward"):
    return project.checks()[metric]


def baseline(project):
    return json.loads(project.baseline().read_text())


def record(project, shifts):
    bench(project)
    for seed, shift in enumerate(shifts):
        write(project, "runs.jsonl", seed, shift)
        assert project.run(*ADD).ret == 0


def test_runs_are_kept_side_by_side(project):
    record(project, [0.0] * 3)
    doc = baseline(project)
    agent = doc["agents"]["agent"]
    assert [len(run) for run in agent["tasks"]["0"]["reward"]] == [4, 4, 4]
    metric = agent["key_metrics"]["mean_reward"]
    assert metric["value"] == pytest.approx(np.mean(metric["runs"]))
    every = np.array([row["reward"] for row in agent["tasks"].values()])
    assert metric["runs"] == pytest.approx(every.mean(axis=(0, 2)).tolist())
    assert "interval" not in metric
    assert all(type(x) is int for run in agent["tasks"]["0"]["reward"] for x in run)
    assert len(doc["provenance"]["runs"]) == 3
    text = project.baseline().read_text()
    assert sum('"reward": [[' in line for line in text.splitlines()) == 300
    assert project.run().ret == 0
    evidence = check(project)["evidence"]
    assert evidence["runs"] == 3
    assert evidence["rollouts_baseline"] == 3600
    assert evidence["baseline"] == pytest.approx(every.mean())
    agent["tasks"]["7"]["reward"].pop()
    project.baseline().write_text(json.dumps(doc))
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*task '7' of agent has not the numbers of 3 runs*"])


def test_the_oldest_run_leaves_and_an_update_alone_starts_again_with_one(project):
    bench(project, "baseline: {runs: 2}")
    means = []
    for seed in range(3):
        write(project, "runs.jsonl", seed)
        assert project.run(*ADD).ret == 0
        means.append(
            project.report()["benchmarks"][0]["agents"][0]["key_metrics"]["mean_reward"]
        )
    assert (
        baseline(project)["agents"]["agent"]["key_metrics"]["mean_reward"]["runs"]
        == means[1:]
    )
    assert len(baseline(project)["provenance"]["runs"]) == 2
    assert project.run("--snapshot-update").ret == 0
    agent = baseline(project)["agents"]["agent"]
    assert agent["tasks"]["0"]["reward"][0] in (0, 1)
    assert "runs" not in agent["key_metrics"]["mean_reward"]
    assert project.run().ret == 0
    evidence = check(project)["evidence"]
    assert (evidence["runs"], evidence["run_sd"]) == (1, None)


def test_a_shift_within_the_spread_of_runs_is_no_regression(project):
    record(project, [0.03, -0.02, 0.04, -0.04, 0.0])
    write(project, "runs.jsonl", 99, -0.04)
    assert project.run().ret == 0
    noisy = check(project)["evidence"]
    assert 0.02 < noisy["run_sd"] < 0.05
    record(project, [0.03])  # one run among them: how runs differ is not known
    assert project.run("--snapshot-update").ret == 0
    write(project, "runs.jsonl", 99, -0.04)
    result = project.run()
    assert result.ret == 1
    assert noisy["p"] > 10 * check(project)["evidence"]["p"]


def test_several_quiet_runs_find_a_drop_and_report_their_spread(project):
    record(project, [0.0] * 4)
    write(project, "runs.jsonl", 99, -0.06)
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*4 runs of the baseline, sd * between them beyond their tasks*"]
    )


def test_files_of_several_runs(project):
    for seed in range(3):
        write(project, f"run{seed}/a.jsonl", seed)
    project.rollouts([[1.0] * 4] * 200, "other/a.jsonl")
    write(project, "runs.jsonl", 9)
    bench(
        project,
        "baseline: {rollouts: [[run0/*.jsonl], [run1/*.jsonl], [run2/a.jsonl]]}",
    )
    assert project.run().ret == 0
    evidence = check(project)["evidence"]
    assert (evidence["runs"], evidence["rollouts_baseline"]) == (3, 3600)
    for files, reason in (
        (
            "[run0/*.jsonl], run1/a.jsonl",
            "*either paths, or one list of paths for each run*",
        ),
        # runs of other tasks are not pooled
        (
            "[run0/*.jsonl], [other/*.jsonl]",
            "INCONCLUSIVE*its runs hold 300, 200 of the 300 compared tasks*",
        ),
    ):
        bench(project, f"baseline: {{rollouts: [{files}]}}")
        result = project.run()
        assert result.ret != 0
        result.stdout.fnmatch_lines([reason])


def test_a_metric_that_needs_equal_rollouts_is_compared_with_the_newest_run(project):
    project.bench("metrics: [worst_task, median]\nbaseline: true")
    for seed in range(3):
        write(project, "runs.jsonl", seed)
        assert project.run(*ADD).ret == 0
    assert project.run().ret == 0  # the newest run is the current one
    for metric in ("worst_task", "median"):
        evidence = check(project, metric)["evidence"]
        assert evidence["rollouts_baseline"] == 1200
        assert evidence["drop"] == 0


def test_no_run_is_added_to_a_baseline_that_was_edited_by_hand(project):
    record(project, [0.0])
    recorded = project.baseline().read_text()
    edited = recorded.replace(
        '"rollouts": 1200, "interval"', '"rollouts": 1, "interval"'
    )
    assert edited != recorded
    project.baseline().write_text(edited)
    write(project, "runs.jsonl", 1)
    result = project.run(*ADD)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE *was not added to the baseline: its file was edited by hand*"]
    )
    assert project.baseline().read_text() == edited


def test_what_repeats_no_run_is_not_added(project):
    record(project, [0.0])
    before = baseline(project)
    for tasks, scores, why in (
        (301, {}, "it has other tasks than the runs before"),
        (300, {"cost": 1.0}, "it keeps other scores than the runs before"),
    ):
        project.rollouts([[1.0] * 4] * tasks, **scores)
        names = ", ".join(["mean_reward", *(f"mean/{name}" for name in scores)])
        project.bench(f"metrics: [{names}]\nexpect: {{tasks: {tasks}}}\nbaseline: true")
        result = project.run(*ADD)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [f"*this run was not added to the baseline: {why}*"]
        )
        assert baseline(project) == before


@pytest.mark.parametrize("m", [2, 3, 5, 10])
@pytest.mark.parametrize("drop", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("times", [1, 10])  # fewer tasks: all errors are larger
def test_p_is_the_predictive_tail(m, drop, times):
    """Integrate the posterior of the sd between runs with scipy."""
    none = {2: 0.98, 3: 0.95, 5: 0.35, 10: 0.4}[m]
    values = 0.7 + 0.02 * times * np.linspace(-1, 1, m) ** 3
    drop, se, level = drop * times, 0.015 * times, 0.95
    s = se / np.sqrt(1 / m + 1)
    scale = min(4 * s, 0.05)
    scatter = values.var(ddof=1)

    def weight(tau):
        return float(
            stats.chi2.pdf((m - 1) * scatter / (s**2 + tau**2), m - 1) / (s**2 + tau**2)
        )

    def tail(tau):
        return float(stats.norm.sf(drop / np.hypot(se, tau * np.sqrt(1 + 1 / m))))

    def slab(f):
        def over(x):  # tau = scale tan(x): a half-Cauchy prior, up to 15 points
            tau = scale * np.tan(x)
            return f(tau) * weight(tau) / end

        end = np.arctan(min(60 * s, 0.15) / scale)
        return float(integrate.quad(over, 0, end, limit=400)[0])

    mass = none * weight(0) + (1 - none) * slab(lambda _: 1.0)
    p = (none * weight(0) * tail(0) + (1 - none) * slab(tail)) / mass
    noisy = with_run_noise(
        Runs(tuple(values.tolist()), pooled=True, more_rollouts=1.0, is_rate=True),
        drop=drop,
        p=float(stats.norm.sf(drop / se)),
        se=se,
        alpha=0.01,
        level=level,
    )
    assert noisy.p == pytest.approx(p, rel=0.05)
    assert noisy.p >= stats.norm.sf(drop / se) * 0.999
    assert noisy.sd == pytest.approx(np.sqrt(max(scatter - s**2, 0)), rel=1e-5)


def test_the_error_of_a_run_is_what_its_tasks_do_beyond_the_run():
    """The residual of an analysis of variance of tasks and runs."""
    values = np.random.default_rng(0).random((3, 20)) + np.array([[0.0], [0.3], [0.1]])
    rewards = SimpleNamespace(values=values[0])
    sides = {"rewards_baseline": rewards, "rewards_current": rewards}
    means = {"difference": None, "clusters": None, **sides}
    pairs = [
        SimpleNamespace(baseline=v, value_baseline=v.mean(), **means) for v in values
    ]
    run, task = np.indices(values.shape).reshape(2, -1)
    design = np.hstack([run[:, None] == range(3), task[:, None] == range(20)]).astype(
        float
    )
    effects, _, rank, _ = np.linalg.lstsq(design, values.ravel())
    mean_square = ((values.ravel() - design @ effects) ** 2).sum() / (
        values.size - rank
    )
    assert Runs.of(pairs, pooled=True, is_rate=False).se == pytest.approx(
        np.sqrt(mean_square / 20)
    )


def test_a_collapse_fails_however_runs_scatter(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    for misses in (2, 10):
        project.rollouts(
            np.array([0.0] * misses + [1.0] * (40 - misses)).reshape(4, 10).T.tolist()
        )
        assert project.run(*ADD).ret == 0
    project.rollouts([[0.0] * 4] * 10)
    assert project.run().ret == 1
    assert check(project)["evidence"]["run_sd"] > 0.1


def test_runs_that_do_not_scatter_change_nothing():
    runs = Runs((0.5,) * 4, pooled=True, more_rollouts=1.0)
    noisy = with_run_noise(runs, drop=0.02, p=0.003, se=0.01, alpha=0.01, level=0.95)
    assert (noisy.sd, noisy.p, noisy.wider) == (0.0, 0.003, 1.0)


def test_where_tasks_explain_nothing_runs_alone_decide():
    """The prediction interval of a further value: t with m - 1 degrees of freedom."""
    values = (0.70, 0.72, 0.71, 0.74)
    runs = Runs(values, pooled=True, more_rollouts=1.0)
    noisy = with_run_noise(runs, drop=0.1, p=1e-9, se=0.0, alpha=0.01, level=0.95)
    expected = stats.t.sf(0.1 / (np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)), 3)
    assert noisy.p == pytest.approx(expected)
