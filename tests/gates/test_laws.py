"""Laws of the regression gate, whatever the rollouts."""

import sys

import numpy as np
import pytest
from comparison.making import flips, make_combined, make_pair, rule, worst_task
from gates.making import checked, several
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats as oracle

from pytest_evalmetrics.comparison import Runs, runs_of
from pytest_evalmetrics.model.blindness import FewRollouts, FewRuns, FewUnits
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.reasons import BlindGate, DependentRollouts, HiddenDrop
from pytest_evalmetrics.model.rollout_table import TaskRewards
from pytest_evalmetrics.model.verdicts import Verdict

PASS = Verdict.PASS
WARN = Verdict.WARN
FAIL = Verdict.FAIL
INCONCLUSIVE = Verdict.INCONCLUSIVE
SEVERITY = list(Verdict)


def severity_of(before, after, clusters=None):
    check = checked(make_pair(before, after), clusters=clusters)
    return SEVERITY.index(check.verdict)


# -- a larger loss -----------------------------------------------------------------------


@st.composite
def losses(draw):
    """Rewards of a baseline, rollouts of a run, and the share that each task loses."""
    tasks = draw(st.integers(1, 30))
    before = draw(st.integers(1, 6))
    after = draw(st.integers(1, 6))
    passes = [draw(st.integers(0, before)) for _ in range(tasks)]
    lost = [draw(st.floats(0, 1)) for _ in range(tasks)]
    rewards = [[1.0] * count + [0.0] * (before - count) for count in passes]
    return rewards, after, lost


def run_of(rewards, after, lost):
    """A run of each task's mean less the share that is lost, in every rollout."""
    return [
        [np.mean(task) * (1 - share)] * after
        for task, share in zip(rewards, lost, strict=True)
    ]


@settings(max_examples=50)
@given(losses(), st.booleans())
def test_a_run_without_a_loss_passes(drawn, clustered):
    rewards, after, gained = drawn
    means = [np.mean(task) for task in rewards]
    better = [
        [mean + (1 - mean) * share] * after
        for mean, share in zip(means, gained, strict=True)
    ]
    clusters = np.arange(len(rewards)) // 3 if clustered else None
    check = checked(make_pair(rewards, better), clusters=clusters)
    assert check.verdict is PASS


@settings(max_examples=50)
@given(losses(), st.floats(0, 1))
def test_a_larger_loss_is_never_judged_more_mildly(drawn, part):
    rewards, after, lost = drawn
    less = run_of(rewards, after, [part * share for share in lost])
    more = run_of(rewards, after, lost)
    assert severity_of(rewards, more) >= severity_of(rewards, less)


@settings(max_examples=50)
@given(losses())
def test_a_collapse_of_passes_is_never_judged_more_mildly(drawn):
    rewards, after, lost = drawn
    kept = [
        int(np.mean(task) * (1 - share) * after)
        for task, share in zip(rewards, lost, strict=True)
    ]
    less = [[1.0] * count + [0.0] * (after - count) for count in kept]
    collapse = [[0.0] * after for _ in rewards]
    assert severity_of(rewards, collapse) >= severity_of(rewards, less)


# -- a worse rollout ---------------------------------------------------------------------

KINDS = {
    "rate": lambda rng, shape: (rng.random(shape) < rng.random((shape[0], 1))) * 1.0,
    "share": lambda rng, shape: rng.random(shape),
    "grade": lambda rng, shape: rng.integers(0, 6, shape).astype(float),
    "negative": lambda rng, shape: rng.normal(-2, 1, shape),
    "count": lambda rng, shape: 1.0 * rng.poisson(3 * rng.random((shape[0], 1)), shape),
    "latency": lambda rng, shape: rng.lognormal(0, rng.uniform(0.1, 2), shape),
    "tokens": lambda rng, shape: np.round(
        rng.lognormal(6, 0.7, (shape[0], 1)) * rng.lognormal(0, 0.3, shape)
    ),
    "cost": lambda rng, shape: rng.pareto(1.2, shape),
}
LOWER_IS_BETTER = ("latency", "tokens", "cost")
RATES = ("rate", "share")


@st.composite
def worsened_runs(draw):
    """Two sides, and both again: some rollouts better before, or worse in the run."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tasks = draw(st.integers(7, 60))
    before = KINDS[kind](rng, (tasks, draw(st.integers(1, 4))))
    after = KINDS[kind](rng, (tasks, draw(st.integers(1, 4))))
    better = -1.0 if kind in LOWER_IS_BETTER else 1.0
    spread = float(before.std()) or 1.0
    after = after - better * spread * draw(st.sampled_from([0.1, 0.3, 1.0]))
    size = spread * draw(st.sampled_from([0.1, 1.0, 600.0]))
    improved = before + better * size * hits(draw, rng, before.shape)
    worse = after - better * size * hits(draw, rng, after.shape)
    if draw(st.booleans()):
        for side, changed in ((before, improved), (after, worse)):
            lost = rng.random(side.shape) < 0.05
            lost[:, 0] = False
            side[lost] = np.nan
            changed[lost] = np.nan
    sides = [before, after, improved, worse]
    if kind in RATES:
        sides = [np.clip(side, 0, 1) for side in sides]
    return kind, sides


def hits(draw, rng, shape):
    """Choose the rollouts that change."""
    return rng.random(shape) < draw(st.sampled_from([0.0, 0.02, 0.2, 1.0]))


def verdict_of(kind, before, after):
    """Judge two sides whose missing rollouts are left out."""
    is_rate = kind in RATES
    pair = make_pair(
        [task[~np.isnan(task)].tolist() for task in before],
        [task[~np.isnan(task)].tolist() for task in after],
        bounded=is_rate,
    )
    direction = "lower" if kind in LOWER_IS_BETTER else "higher"
    settings_of_rule = rule(direction=direction, max_drop=0.01 if is_rate else 0.0)
    return checked(pair, settings_of_rule).verdict


# of the draws two in three are rejected: 300 pairs of eight kinds are judged
@settings(max_examples=100, deadline=None)
@given(worsened_runs())
def test_a_failure_stays_one_if_the_run_gets_worse_or_the_baseline_better(drawn):
    kind, (before, after, improved, worse) = drawn
    assume(verdict_of(kind, before, after) is FAIL)
    assert verdict_of(kind, improved, worse) in (FAIL, INCONCLUSIVE)


def slower(*, tasks=200, rollouts=4):
    """Latencies of a baseline, and of a run in which every task is 30 % slower."""
    rng = np.random.default_rng(0)
    before = rng.lognormal(1, 0.5, (tasks, rollouts))
    return before, before * rng.lognormal(0.26, 0.2, (tasks, rollouts))


@pytest.mark.parametrize("rollouts", [1, 4])
@pytest.mark.parametrize("tasks", [15, 50, 200])
def test_a_hang_of_the_baseline_does_not_hide_that_every_task_is_slower(
    tasks, rollouts
):
    before = np.random.default_rng(0).lognormal(1, 0.5, (tasks, rollouts))
    after = 1.3 * before
    before[0, 0] = 600.0
    assert verdict_of("latency", before, after) is FAIL


def test_a_hang_of_the_baseline_that_hides_nine_tasks_warns():
    before = np.random.default_rng(0).lognormal(1, 0.5, (10, 1))
    after = 1.3 * before
    before[0, 0] = 600.0
    assert verdict_of("latency", before, after) is WARN


def test_a_drop_that_a_hang_hides_is_told_with_the_task_that_hides_it():
    before, after = slower()
    before[3, 0] = 600.0
    pair = make_pair(before.tolist(), after.tolist(), bounded=False)
    check = checked(pair, rule(direction="lower", max_drop=0.0))
    (hidden,) = check.reasons
    assert isinstance(hidden, HiddenDrop)
    assert hidden.task == "3"
    assert hidden.drop == pytest.approx(0.9, abs=0.3)


def test_a_hang_in_one_of_several_runs_does_not_hide_that_every_task_is_slower():
    rng = np.random.default_rng(1)
    size = rng.lognormal(1, 0.5, (200, 1))
    runs = [size * rng.lognormal(0, 0.2, (200, 4)) for _ in range(8)]
    after = 1.5 * size * rng.lognormal(0, 0.2, (200, 4))
    runs[2][0, 0] = 6_000.0
    pairs = [make_pair(run.tolist(), after.tolist(), bounded=False) for run in runs]
    whole = np.concatenate(runs, axis=1)
    check = checked(
        make_pair(whole.tolist(), after.tolist(), bounded=False),
        rule(direction="lower", max_drop=0.0),
        runs=runs_of(pairs, pooled=True, is_rate=False),
    )
    assert check.verdict is FAIL


def test_a_hang_and_a_lost_rollout_do_not_hide_that_every_task_is_slower():
    before, after = slower()
    after[0, 0] = 600.0
    before[1, 1] = np.nan
    assert verdict_of("latency", before, after) is FAIL


def test_tasks_that_truly_improve_are_no_hidden_drop():
    before, after = slower(tasks=100)
    after = before * 1.01
    after[:30] = before[:30] / 4
    assert verdict_of("latency", before, after) is PASS


def test_one_hang_does_not_hide_that_every_task_is_slower():
    before, after = slower()
    after[0, 0] = 600.0
    assert verdict_of("latency", before, after) is FAIL


# -- a total collapse --------------------------------------------------------------------


def collapse_of(tasks, rollouts):
    return checked(make_pair([[1.0] * rollouts] * tasks, [[0.0] * rollouts] * tasks))


@pytest.mark.parametrize("tasks", range(7, 12))
@pytest.mark.parametrize("rollouts", [1, 2, 4, 8])
def test_a_collapse_of_seven_tasks_fails(tasks, rollouts):
    assert collapse_of(tasks, rollouts).verdict is FAIL


@pytest.mark.parametrize("tasks", range(1, 7))
@pytest.mark.parametrize("rollouts", [1, 2, 4, 8])
def test_a_collapse_of_fewer_tasks_is_judged_by_their_rollouts(tasks, rollouts):
    # of each task: all the baseline's rollouts are the passing ones of both
    chance = oracle.hypergeom(2 * rollouts, rollouts, rollouts).pmf(rollouts) ** tasks
    check = collapse_of(tasks, rollouts)
    assert check.comparison.p == pytest.approx(chance, rel=1e-9)
    is_proven = chance < 0.01 and tasks >= 3
    assert check.verdict is (FAIL if is_proven else INCONCLUSIVE)


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_collapse_of_two_tasks_whose_rollouts_may_be_copies_is_unproven(tasks):
    check = collapse_of(tasks, 8)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (DependentRollouts(Independence.UNSHOWN),)


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_collapse_of_two_tasks_of_independent_rollouts_fails(tasks):
    pair = make_pair([[1.0] * 8] * tasks, [[0.0] * 8] * tasks)
    assert checked(pair, independent=True).verdict is FAIL


def test_a_collapse_that_cannot_be_proven_says_how_many_tasks_are_needed():
    few = FewUnits(unit="task", units=3, needed=7, alpha=0.01)
    assert collapse_of(3, 1).reasons == (BlindGate(cause=few),)


@pytest.mark.parametrize("clusters", [2, 4, 6])
@pytest.mark.parametrize("after", [0.0, 0.4])
def test_few_clusters_that_all_lost_as_much_are_judged_by_their_rollouts(
    clusters, after
):
    pair = make_pair([[0.9]] * 100, [[after]] * 100)
    check = checked(pair, clusters=np.arange(100) % clusters)
    assert check.verdict is FAIL
    assert check.comparison.blind.unit == "cluster"


def test_a_collapse_is_no_noise_between_runs_however_much_the_file_states():
    pair = make_pair([[1.0, 1.0, 0.0, 1.0]] * 40, [[0.0] * 4] * 40)
    assert checked(pair, run_noise=0.3).verdict is FAIL


def coins(up, tasks):
    """Rewards of tasks whose eight rollouts are copies of one answer."""
    return [[1.0] * 8] * up + [[0.0] * 8] * (tasks - up)


@pytest.mark.parametrize(("up", "tasks"), [(3, 4), (3, 5), (3, 6), (3, 12), (4, 12)])
def test_a_few_of_more_coins_that_lose_all_are_a_chance_of_copies(up, tasks):
    check = checked(make_pair(coins(up, tasks), coins(0, tasks)))
    assert check.verdict is WARN
    assert check.reasons == (DependentRollouts(Independence.UNSHOWN),)


@pytest.mark.parametrize(
    ("up", "tasks"), [(3, 3), (4, 4), (4, 5), (4, 8), (3, 20), (3, 100)]
)
def test_so_many_coins_that_lose_all_are_no_chance(up, tasks):
    assert checked(make_pair(coins(up, tasks), coins(0, tasks))).verdict is FAIL


@pytest.mark.parametrize("tasks", [6, 8, 12, 16])
@pytest.mark.parametrize("chance", [0.05, 0.1, 0.2, 0.3, 0.5])
def test_few_coins_of_any_chance_that_lose_all_fail_in_less_than_1_5_per_cent(
    tasks, chance
):
    failing = [
        up
        for up in range(1, 7)
        if checked(make_pair(coins(up, tasks), coins(0, tasks))).verdict is FAIL
    ]
    # the fewest that fail, or more, and then none
    of_baseline = oracle.binom.sf(min(failing) - 1, tasks, chance)
    of_run = (1 - chance) ** tasks
    assert of_baseline * of_run < 0.015


@pytest.mark.parametrize("rollouts", [2, 4, 8])
@pytest.mark.parametrize("tasks", [3, 4, 6])
def test_one_coin_or_two_of_several_that_lose_all_are_never_red(tasks, rollouts):
    for up in (1, 2):
        before = [[1.0] * rollouts] * up + [[0.0] * rollouts] * (tasks - up)
        check = checked(make_pair(before, [[0.0] * rollouts] * tasks))
        assert not check.verdict.fails


@pytest.mark.parametrize("tasks", [1, 2, 3, 4])
def test_tasks_that_lose_all_of_a_high_reward_are_no_pass(tasks):
    before = [[0.9 + 0.02 * task] for task in range(tasks)]
    check = checked(make_pair(before, [[0.01]] * tasks))
    assert check.verdict is INCONCLUSIVE


def test_three_of_four_tasks_whose_rollouts_differ_fail_if_they_lose_all():
    before = [[1.0] * 7 + [0.0]] * 3 + [[0.0] * 8]
    assert checked(make_pair(before, coins(0, 4))).verdict is FAIL


def test_four_of_five_coins_that_fall_are_no_failure():
    check = checked(make_pair(coins(5, 5), coins(1, 5)))
    assert not check.verdict.fails
    assert check.comparison.p == pytest.approx(0.5**5)


def test_four_of_five_tasks_that_are_said_to_be_independent_fail():
    pair = make_pair(coins(5, 5), coins(1, 5))
    assert checked(pair, independent=True).verdict is FAIL


def test_a_lone_cluster_proves_nothing_but_a_collapse():
    clusters = np.zeros(100, dtype=np.int64)
    drop = make_pair([[0.9]] * 100, [[0.4]] * 100)
    collapse = make_pair([[0.9]] * 100, [[0.0]] * 100)
    assert checked(drop, clusters=clusters).verdict is PASS
    assert checked(collapse, clusters=clusters).verdict is FAIL


def clustered_coins(up, clusters):
    """Return ten tasks a cluster, of which each passes or fails as one."""
    return [[float(cluster < up)] * 2 for cluster in range(clusters) for _ in range(10)]


@pytest.mark.parametrize("clusters", [3, 4, 5, 6])
def test_clusters_that_pass_as_one_are_coins_that_warn_when_few_of_them_lose_all(
    clusters,
):
    pair = make_pair(clustered_coins(2, clusters), clustered_coins(0, clusters))
    places = np.repeat(np.arange(clusters), 10)
    assert checked(pair, clusters=places).verdict is WARN


@pytest.mark.parametrize("clusters", [2, 3, 4, 5, 6])
def test_clusters_that_all_pass_as_one_fail_when_all_of_them_lose_all(clusters):
    pair = make_pair(clustered_coins(clusters, clusters), clustered_coins(0, clusters))
    places = np.repeat(np.arange(clusters), 10)
    assert checked(pair, clusters=places).verdict is FAIL


def test_few_clusters_that_pass_in_part_fail_when_they_lose_all():
    before = [[1.0, 0.0]] * 10 + [[1.0, 1.0]] * 10 + [[0.0, 0.0]] * 10
    pair = make_pair(before, clustered_coins(0, 3))
    places = np.repeat(np.arange(3), 10)
    assert checked(pair, clusters=places).verdict is FAIL


def test_coins_of_clusters_that_fall_but_one_are_no_failure():
    pair = make_pair(clustered_coins(5, 5), clustered_coins(1, 5))
    places = np.repeat(np.arange(5), 10)
    assert not checked(pair, clusters=places).verdict.fails


def test_few_clusters_with_anything_to_lose_that_lose_it_fail():
    # 12 repositories of 20 tasks; three pass, and one rollout of these is left
    repositories = np.repeat(np.arange(12), 20)
    before = [[1.0] * 4] * 60 + [[0.0] * 4] * 180
    after = [[1.0, 0.0, 0.0, 0.0]] + [[0.0] * 4] * 239
    assert checked(make_pair(before, after), clusters=repositories).verdict is FAIL


@pytest.mark.parametrize("solved", [3, 5])
def test_a_score_without_a_range_that_collapses_fails_as_a_rate_does(solved):
    before = [[5.0] * 8] * solved + [[0.0] * 8] * (100 - solved)
    pair = make_pair(before, [[0.0] * 8] * 100, bounded=False)
    assert checked(pair, rule(max_drop=0.0)).verdict is FAIL


@pytest.mark.parametrize("tasks", [3, 6])
def test_a_few_tasks_that_lose_all_against_two_runs_are_no_pass(tasks):
    before = [[1.0, 0.0] * 4] * tasks
    pairs = [make_pair(before, [[0.0] * 8] * tasks) for _ in range(2)]
    values = (0.5, 0.55)
    runs = replace(runs_of(pairs, pooled=True, is_rate=True), values=values)
    assert checked(pairs[-1], runs=runs).verdict.fails


def test_a_collapse_fails_whatever_max_drop_says():
    few = make_pair([[1.0]] * 9 + [[0.0]] * 991, [[0.0]] * 1_000)
    low = make_pair([[0.009]] * 40, [[0.0]] * 40)
    assert checked(few, rule(max_drop=0.01)).verdict is FAIL
    assert checked(low, rule(max_drop=0.01)).verdict is FAIL


def test_eight_tasks_that_lose_all_their_rollouts_fail_among_a_thousand_benchmarks():
    pair = make_pair([[1.0] * 8] * 8, [[0.0] * 8] * 8)
    assert checked(pair, benchmarks=1_000).verdict is FAIL


# -- nothing changed, and few tasks or copies --------------------------------------------


def red_share(draw, runs=300):
    """The share of unchanged runs that are red."""
    red = 0
    for _ in range(runs):
        before, after = draw()
        red += checked(make_pair(before.tolist(), after.tolist())).verdict.fails
    return red / runs


# of 300 runs at 1.5 %
MOST_RED = oracle.binom(300, 0.015).ppf(0.999) / 300


@pytest.mark.parametrize("tasks", [3, 4, 5, 6])
@pytest.mark.parametrize("rollouts", [1, 8])
def test_an_unchanged_run_of_few_tasks_is_seldom_red(tasks, rollouts):
    rng = np.random.default_rng(1)

    def draw():
        chance = rng.beta(0.4, 0.4, (tasks, 1))
        return [(rng.random((tasks, rollouts)) < chance) * 1.0 for _ in range(2)]

    assert red_share(draw) <= MOST_RED


@pytest.mark.parametrize(("tasks", "solvable"), [(3, 3), (5, 5), (100, 5)])
def test_copies_of_one_rollout_are_seldom_red(tasks, solvable):
    rng = np.random.default_rng(2)

    def draw():
        chance = np.zeros((tasks, 1))
        chance[:solvable] = rng.uniform(0.1, 0.9, (solvable, 1))
        return [
            np.repeat((rng.random((tasks, 1)) < chance) * 1.0, 8, axis=1)
            for _ in range(2)
        ]

    assert red_share(draw) <= MOST_RED


def test_a_burst_that_shifts_the_rollouts_of_a_task_is_seldom_red():
    rng = np.random.default_rng(3)

    def draw():
        return [
            0.5 + 0.05 * (rng.normal(size=(5, 1)) + rng.normal(size=(5, 8)))
            for _ in range(2)
        ]

    assert red_share(draw) <= MOST_RED


def test_a_drop_under_max_drop_passes_however_few_tasks():
    assert checked(make_pair([[0.5]] * 3, [[0.495]] * 3)).verdict is PASS


def test_a_stricter_level_needs_more_tasks():
    check = checked(make_pair([[1.0]] * 8, [[1.0]] * 8), rule(alpha=0.001))
    assert check.comparison.blind.needed == 10


def test_few_tasks_that_had_anything_to_lose_are_judged_by_their_rollouts():
    baseline = [[1.0] * 8] * 3 + [[0.0] * 8] * 30
    check = checked(make_pair(baseline, [[0.0] * 8] * 33))
    assert check.verdict is FAIL


@pytest.mark.parametrize("tasks", [7, 8, 40, 600])
def test_a_median_that_falls_from_1_to_0_in_all_tasks_fails(tasks):
    assert checked(make_combined([1.0] * tasks, [0.0] * tasks)).verdict is FAIL


MANY = 1_000  # benchmarks of a run that share the level


def rises_of(before, after):
    """A latency that rises, of one rollout a task."""
    return make_pair([[x] for x in before], [[x] for x in after], bounded=False)


COLLAPSES = {
    "rate": (make_pair([[1.0] * 4] * 40, [[0.0] * 4] * 40), rule()),
    "median": (make_combined([0.9] * 40, [0.0] * 40), rule()),
    "lowest tenth": (
        make_combined(
            np.linspace(0.5, 1, 40), np.zeros(40), combine=lambda x: np.quantile(x, 0.1)
        ),
        rule(),
    ),
    "harmonic mean": (
        make_combined(
            np.linspace(0.5, 1, 600),
            np.zeros(600),
            combine=lambda x: len(x) / (1 / (0.1 + x)).sum(),
        ),
        rule(),
    ),
    "latency": (
        rises_of(np.linspace(1, 2, 2_000), np.linspace(60, 61, 2_000)),
        rule(direction="lower", max_drop=0.0),
    ),
}


@pytest.mark.parametrize("collapse", COLLAPSES)
def test_a_collapse_fails_in_a_run_of_a_thousand_benchmarks(collapse):
    pair, settings_of_rule = COLLAPSES[collapse]
    assert checked(pair, settings_of_rule, benchmarks=MANY).verdict is FAIL


def test_a_collapse_of_fewer_rollouts_than_the_baseline_has_fails_among_a_thousand():
    def combine(rewards):
        return float(np.median([rewards.values[i:j].mean() for i, j in edges(rewards)]))

    def edges(rewards):
        return zip(rewards.offsets[:-1], rewards.offsets[1:], strict=True)

    before = [[1.0] * 8] * 40
    after = [[0.0]] * 40
    pair = replace(
        make_combined([1.0] * 40, [0.0] * 40),
        rewards_baseline=TaskRewards.from_lists(before),
        rewards_current=TaskRewards.from_lists(after),
        reduce=combine,
    )
    assert checked(pair, benchmarks=MANY).verdict is FAIL


def test_a_collapse_of_a_metric_without_values_of_tasks_is_no_warning():
    pair = make_combined([1.0] * 15 + [0.0] * 5, [0.0] * 20, combine=np.mean)
    pair = replace(pair, baseline=None, current=None, bounded=False)
    assert checked(pair, benchmarks=MANY).verdict is INCONCLUSIVE


@pytest.mark.parametrize("metrics", [1, 20])
def test_a_collapse_of_each_of_many_metrics_fails(metrics):
    pairs = [
        replace(make_combined([0.9] * 40, [0.0] * 40), name=f"median[group={group}]")
        for group in range(metrics)
    ]
    assert {check.verdict for check in several(pairs)} == {FAIL}


@pytest.mark.parametrize("runs", [2, 3, 4])
@pytest.mark.parametrize("run_sd", [0.0, 0.8, 2.0])
@pytest.mark.parametrize("worst", [0.0, 1.0])
def test_a_collapse_against_a_few_runs_is_never_passed(runs, run_sd, worst):
    """Grades from 0 to 5 of 20 tasks, of runs that differ as a whole; all become 0."""
    rng = np.random.default_rng(runs)
    skill = rng.uniform(1, 5, 20)
    several = [
        np.clip(skill + shift + rng.normal(0, 0.5, 20), worst, 5)
        for shift in rng.normal(0, run_sd, runs)
    ]
    now = [[0.0]] * 20
    pairs = [make_pair([[x] for x in run], now, bounded=False) for run in several]
    pooled = make_pair([[x] for x in np.mean(several, axis=0)], now, bounded=False)
    check = checked(
        pooled,
        rule(max_drop=0.0),
        runs=runs_of(pairs, pooled=True, is_rate=False),
    )
    assert check.verdict in (FAIL, INCONCLUSIVE)


def test_a_collapse_that_few_runs_hide_says_so():
    values = (4.0, 1.0)
    pair = make_pair([[2.5]] * 20, [[0.0]] * 20, bounded=False)
    shifted = Runs(values, pooled=True, more_rollouts=1.0, se=0.1)
    check = checked(pair, rule(max_drop=0.0), runs=shifted)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (BlindGate(cause=FewRuns(runs=2, alpha=0.01)),)


def test_p_is_never_0():
    p = checked(rises_of([1.0] * 3_000, [2.0] * 3_000), rule(direction="lower"))
    assert p.comparison.p == 1e-300


# -- the worst task ----------------------------------------------------------------------


def test_a_broken_task_fails_the_worst_task_where_its_rollouts_prove_it():
    rest = [[1.0] * 6 + [0.0] * 2] * 49
    check = checked(worst_task([[1.0] * 8, *rest], [[0.0] * 8, *rest]))
    assert check.verdict is FAIL


def test_a_broken_task_warns_where_no_rollouts_differ():
    check = checked(worst_task([[1.0] * 8] * 50, [[1.0] * 8] * 49 + [[0.0] * 8]))
    assert check.verdict is WARN
    assert check.reasons == (DependentRollouts(Independence.UNSHOWN),)


def test_of_one_rollout_nothing_is_proven_of_a_task_and_that_is_said():
    check = checked(worst_task([[1.0]] * 50, [[1.0]] * 49 + [[0.0]]))
    assert check.verdict is PASS
    assert check.comparison.blind == FewRollouts(needed=5, alpha=0.01)


@pytest.mark.parametrize(
    ("tasks", "before", "after"), [(60, 8, 4), (60, 1, 1), (5, 8, 4)]
)
def test_a_collapse_of_all_tasks_fails_the_worst_task(tasks, before, after):
    check = checked(worst_task([[1.0] * before] * tasks, [[0.0] * after] * tasks))
    assert check.verdict is FAIL


def test_a_collapse_of_a_thousand_tasks_fails_the_worst_task():
    check = checked(worst_task([[1.0] * 8] * 1_000, [[0.0] * 8] * 1_000))
    assert check.verdict is FAIL
    assert check.comparison.p == 1e-300


def test_many_tasks_beyond_the_worst_need_no_independent_rollouts():
    before = [[5.0], [6.0], [7.0]] * 4
    after = [[1.0], [2.0], [3.0]] * 4
    check = checked(replace(worst_task(before, after), bounded=False))
    assert check.verdict is FAIL
    assert check.comparison.p == pytest.approx(0.5**12)


def test_a_task_that_is_worse_but_not_the_worst_passes():
    def passing(*counts):
        return [[1.0] * count + [0.0] * (16 - count) for count in counts]

    check = checked(worst_task(passing(4, 16, 16), passing(3, 8, 16)))
    assert check.verdict is PASS


def test_the_worst_of_tasks_that_did_not_change_seldom_fails():
    rng = np.random.default_rng(0)
    red = 0
    for _ in range(200):
        chance = rng.uniform(0.3, 1, (30, 1))
        before = (rng.random((30, 8)) < chance).astype(float)
        after = (rng.random((30, 8)) < chance).astype(float)
        check = checked(worst_task(before.tolist(), after.tolist()))
        red += check.verdict is FAIL
    assert red <= oracle.binom(200, 0.01).ppf(0.999)


def test_rare_passes_of_many_rollouts_are_no_loss_to_a_single_one():
    baseline = [[1.0] + [0.0] * 15] * 6 + [[0.0] * 16] * 4
    assert checked(make_pair(baseline, [[0.0]] * 10)).verdict is PASS


# -- the faults that were measured in other tools ----------------------------------------


def test_rollouts_of_one_task_are_no_independent_observations():
    # 4,000 rollouts of ten tasks, two of which fell: not a significant drop of the mean
    baseline = [[1.0] * 400] * 10
    current = [[0.0] * 400, [0.5] * 400] + [[1.0] * 400] * 8
    check = checked(make_pair(baseline, current))
    assert check.verdict is PASS
    assert check.comparison.units == 10
    assert check.comparison.p == pytest.approx(1 / 8)


def test_a_drop_is_in_points_never_in_standard_deviations():
    before = np.random.default_rng(0).normal(100, 0.001, 200)
    rows_before = [[value] for value in before]
    rows_after = [[value - 0.002] for value in before]
    pair = make_pair(rows_before, rows_after, bounded=False)
    assert checked(pair, rule(max_drop=0.01)).verdict is PASS


def test_a_collapse_of_single_rollouts_that_may_be_noise_passes():
    assert checked(flips(3, 0, 200)).verdict is PASS


def test_without_scipy_a_drop_of_ten_points_is_a_regression(project):
    project.rollouts([[1, 1, 0, 1]] * 150 + [[0, 0, 1, 0]] * 50, "old.jsonl")
    project.rollouts([[1, 0, 0, 1]] * 80 + [[1, 1, 0, 1]] * 70 + [[0, 0, 1, 0]] * 50)
    project.bench("metrics: [mean_reward]\nbaseline: {rollouts: old.jsonl}")
    without = "import sys; sys.modules['scipy'] = sys.modules['statsmodels'] = None"
    run = f"{without}; import pytest; pytest.main(['-p', 'no:cacheprovider'])"
    project.pytester.run(sys.executable, "-c", run).assert_outcomes(failed=1)
    assert project.checks()["mean_reward"]["verdict"] == "FAIL"


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_a_bound_of_unequal_rollouts_is_the_same_in_either_direction(direction):
    before = [[1.0] * 8] * 50
    after = [[1.0]] * 49 + [[0.0]]
    if direction == "lower":
        before = [[1 - reward for reward in task] for task in before]
        after = [[1 - reward for reward in task] for task in after]
    pair = make_pair(before, after)
    check = checked(pair, rule("noninferior", direction=direction, max_drop=0.05))
    # Newcombe's bound of a drop from 400 of 400 to 49 of 50, at 98 %
    assert check.verdict is INCONCLUSIVE
    assert check.reasons[0].upper == pytest.approx(0.1216, abs=0.01)
