"""Laws of the regression gate, whatever the rollouts."""

import math
import sys

import numpy as np
import pytest
from gates.making import checked, flips, make_combined, make_pair, rule
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.ext import Verdict

PASS, WARN, FAIL, INCONCLUSIVE = (
    Verdict.PASS,
    Verdict.WARN,
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
)
SEVERITY = {PASS: 0, WARN: 1, INCONCLUSIVE: 2, FAIL: 3}


@st.composite
def losses(draw):
    """Rewards of a baseline, and the share of each task's rewards that a run loses."""
    tasks, before, after = (draw(st.integers(1, most)) for most in (30, 6, 6))
    passes = st.integers(0, before)
    baseline = [draw(passes) for _ in range(tasks)]
    lost = [draw(st.floats(0, 1)) for _ in range(tasks)]
    rewards = [[1.0] * c + [0.0] * (before - c) for c in baseline]
    return rewards, after, lost


def run_of(rewards, after, lost):
    """A run of each task's mean less the share that is lost, in every rollout."""
    return [
        [sum(task) / len(task) * (1 - share)] * after
        for task, share in zip(rewards, lost, strict=True)
    ]


@settings(max_examples=50)
@given(losses(), st.floats(0, 1), st.booleans())
def test_verdicts_follow_the_loss(drawn, part, clustered):
    rewards, after, lost = drawn
    means = [sum(task) / len(task) for task in rewards]
    none = [[m + (1 - m) * share] * after for m, share in zip(means, lost, strict=True)]
    clusters = np.arange(len(rewards)) // 3 if clustered else None
    assert checked(make_pair(rewards, none), clusters=clusters).verdict is PASS
    # a larger loss is never judged more mildly; nor is a total collapse, among rewards of 0 and 1
    kept = [int(m * (1 - share) * after) for m, share in zip(means, lost, strict=True)]
    for less, more in (
        (
            run_of(rewards, after, [part * s for s in lost]),
            run_of(rewards, after, lost),
        ),
        (
            [[1.0] * k + [0.0] * (after - k) for k in kept],
            [[0.0] * after for _ in rewards],
        ),
    ):
        milder, harder = (
            checked(make_pair(rewards, run)).verdict for run in (less, more)
        )
        assert SEVERITY[harder] >= SEVERITY[milder]


@pytest.mark.parametrize("tasks", range(1, 12))
@pytest.mark.parametrize("rollouts", [1, 2, 4, 8])
def test_a_total_collapse_never_passes_and_never_warns(tasks, rollouts):
    check = checked(make_pair([[1.0] * rollouts] * tasks, [[0.0] * rollouts] * tasks))
    if tasks >= 7:
        assert check.verdict is FAIL
        return
    # of each task: all the baseline's rollouts are the passing ones of both
    chance = oracle.hypergeom(2 * rollouts, rollouts, rollouts).pmf(rollouts) ** tasks
    assert check.evidence["p"] == pytest.approx(chance, rel=1e-9)
    assert check.verdict is (FAIL if chance < 0.01 else INCONCLUSIVE)
    if check.verdict is INCONCLUSIVE:
        assert "no drop of any size can reach p < 0.01; 7 are needed" in check.reason
        assert check.evidence["why"] == "blind"


@pytest.mark.parametrize("clusters", [2, 4, 6])
def test_few_clusters_are_never_sure_and_never_silent(clusters):
    codes = np.arange(100) % clusters
    for after in (0.0, 0.4):
        check = checked(make_pair([[0.9]] * 100, [[after]] * 100), clusters=codes)
        assert check.verdict is INCONCLUSIVE
        assert f"{clusters} clusters: no drop" in check.reason


def test_a_blind_gate_without_a_drop_passes_with_a_note():
    check = checked(make_pair([[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3))
    assert check.verdict is PASS
    assert "this gate is blind: 3 tasks: no drop of any size" in check.reason
    assert (
        checked(make_pair([[0.5]] * 3, [[0.495]] * 3)).verdict is PASS
    )  # under max_drop
    strict = checked(make_pair([[1.0]] * 8, [[1.0]] * 8), rule(alpha=0.001))
    assert "10 are needed" in strict.reason


def test_few_tasks_that_had_anything_to_lose_are_judged_by_their_rollouts():
    baseline = [[1.0] * 8] * 3 + [[0.0] * 8] * 30
    check = checked(make_pair(baseline, [[0.0] * 8] * 33))
    assert check.verdict is FAIL
    assert check.evidence["test"] == "relabelled rollouts"
    single = checked(make_pair([[1.0]] * 3 + [[0.0]] * 30, [[0.0]] * 33))
    assert single.verdict is PASS  # three of 33 single rollouts are noise


@pytest.mark.parametrize("tasks", [7, 8, 40, 600])
def test_a_median_that_falls_from_1_to_0_in_all_tasks_fails(tasks):
    check = checked(make_combined([1.0] * tasks, [0.0] * tasks))
    assert check.verdict is FAIL
    assert 0 < check.evidence["drop_low"] < check.evidence["drop_high"] == 1
    assert check.evidence["mde"] is None or check.evidence["mde"] <= 1


def worst_task(before, after):
    means = [min(sum(t) / len(t) for t in side) for side in (before, after)]
    values = {"value_baseline": means[0], "value_current": means[1]}
    return make_pair(before, after, name="worst_task", extreme="lowest", **values)


def test_a_broken_task_fails_the_worst_task_where_its_rollouts_prove_it():
    check = checked(worst_task([[1.0] * 8] * 50, [[1.0] * 8] * 49 + [[0.0] * 8]))
    assert check.verdict is FAIL
    assert check.evidence["proven_tasks"] == ["49"]
    # of one rollout each nothing is proven, and that is said
    single = checked(worst_task([[1.0]] * 50, [[1.0]] * 49 + [[0.0]]))
    assert single.verdict is INCONCLUSIVE
    assert "a task has too few rollouts" in single.reason


@pytest.mark.parametrize(
    ("tasks", "before", "after"), [(60, 8, 4), (60, 1, 1), (5, 8, 4)]
)
def test_a_collapse_of_all_tasks_fails_the_worst_task(tasks, before, after):
    check = checked(worst_task([[1.0] * before] * tasks, [[0.0] * after] * tasks))
    assert check.verdict is FAIL
    # each task's rollouts fall like that in one of so many ways to deal them out
    alone = 1 / math.comb(before + after, before)
    assert check.evidence["p"] == pytest.approx(
        oracle.binom(tasks, alone).sf(tasks - 1), rel=1e-9
    )


def test_a_task_that_is_worse_but_not_the_worst_explains_nothing():
    def passing(*counts):
        return [[1.0] * count + [0.0] * (16 - count) for count in counts]

    check = checked(worst_task(passing(4, 16, 16), passing(3, 8, 16)))
    assert check.verdict is PASS
    assert check.evidence["proven_tasks"] == []


def test_the_worst_of_tasks_that_did_not_change_seldom_fails():
    rng = np.random.default_rng(0)
    red = 0
    for _ in range(200):
        chance = rng.uniform(0.3, 1, (30, 1))
        sides = [
            (rng.random((30, 8)) < chance).astype(float).tolist() for _ in range(2)
        ]
        red += checked(worst_task(*sides)).verdict is FAIL
    assert red <= oracle.binom(200, 0.01).ppf(0.999)


def test_a_run_of_many_benchmarks_shares_its_level():
    for benchmarks, verdict in ((1, FAIL), (50, WARN)):
        assert (
            checked(flips(9, 1, 100), benchmarks=benchmarks).verdict is verdict
        )  # mid-p 0.0059
    assert checked(flips(30, 1, 100), benchmarks=50).verdict is FAIL
    # eight tasks can't be surer than 1 / 256
    few = checked(make_pair([[1.0]] * 8, [[0.0]] * 8), benchmarks=50)
    assert (few.verdict, few.evidence["why"]) == (INCONCLUSIVE, "run")


def test_rare_passes_of_many_rollouts_are_no_loss_to_a_single_one():
    baseline = [[1.0] + [0.0] * 15] * 6 + [[0.0] * 16] * 4
    check = checked(make_pair(baseline, [[0.0]] * 10))
    # of 17 rollouts of a task the run's one is the passing one in one of 17
    assert check.evidence["p"] == pytest.approx((16 / 17) ** 6, rel=1e-9)
    assert check.verdict is PASS


# -- the faults that were measured in other tools ----------------------------------------------


def test_rollouts_of_one_task_are_no_independent_observations():
    # 4,000 rollouts of ten tasks, two of which fell: not a significant drop of the mean
    baseline = [[1.0] * 400] * 10
    current = [[0.0] * 400, [0.5] * 400] + [[1.0] * 400] * 8
    check = checked(make_pair(baseline, current))
    assert check.verdict is PASS
    assert check.evidence["units"] == 10
    assert check.evidence["p"] == pytest.approx(1 / 8)


def test_a_drop_is_in_points_never_in_standard_deviations():
    rng = np.random.default_rng(0)
    before = rng.normal(100, 0.001, 200)
    pair = make_pair(
        [[v] for v in before], [[v - 0.002] for v in before], bounded=False
    )
    assert checked(pair, rule(max_drop=0.01)).verdict is PASS


def test_without_scipy_a_drop_of_ten_points_is_a_regression(project):
    project.rollouts([[1, 1, 0, 1]] * 150 + [[0, 0, 1, 0]] * 50, "old.jsonl")
    project.rollouts([[1, 0, 0, 1]] * 80 + [[1, 1, 0, 1]] * 70 + [[0, 0, 1, 0]] * 50)
    project.bench("metrics: [mean_reward]\nbaseline: {rollouts: old.jsonl}")
    without = "import sys; sys.modules['scipy'] = sys.modules['statsmodels'] = None"
    run = f"{without}; import pytest; pytest.main(['-p', 'no:cacheprovider'])"
    project.pytester.run(sys.executable, "-c", run).assert_outcomes(failed=1)
    assert project.checks()["mean_reward"]["verdict"] == "FAIL"
