"""What shows the noise between runs: a baseline's own, earlier ones, and other benchmarks'."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_pair
from msgspec.structs import replace
from scipy import stats

from pytest_evalmetrics.comparison import (
    Runs,
    RunScatter,
    error_of_current,
    largest_shift,
    pool_shows_noise,
    scatter_of,
    with_run_noise,
)
from pytest_evalmetrics.comparison.run_noise import log_tail_of
from pytest_evalmetrics.model.comparison import NoiseSource

SOME = RunScatter(df=3, variance=0.0004, se=0.01)


def lone(**keys):
    defaults = {"pooled": True, "more_rollouts": 1.0, "se": 0.01, "is_rate": True}
    return Runs((0.7,), **(defaults | keys))


def noise_of(runs, *, drop=0.05, se=0.0141):
    log_p = float(stats.norm.logsf(drop / se))
    return with_run_noise(runs, drop=drop, log_p=log_p, se=se, alpha=0.01, level=0.95)


# -- where it comes from -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "source"),
    [
        (Runs((0.7, 0.71), True, 1.0), NoiseSource.BASELINE),
        (Runs((0.7, 0.71), True, 1.0, history=SOME), NoiseSource.BASELINE),
        (lone(history=SOME), NoiseSource.HISTORY),
        (lone(history=SOME, pool=(SOME,)), NoiseSource.HISTORY),
        (lone(pool=(SOME,)), NoiseSource.NEIGHBOURS),
    ],
)
def test_the_source_of_noise_is_the_nearest_to_the_baseline(runs, source):
    assert runs.source is source


# -- how runs scatter --------------------------------------------------------------------


def three_runs():
    """The values of 20 tasks in three runs, which differ as a whole too."""
    shifts = np.array([[0.0], [0.3], [0.1]])
    return np.random.default_rng(0).random((3, 20)) + shifts


def test_runs_scatter_by_their_means():
    values = three_runs()
    scatter = scatter_of(values)
    assert scatter.df == 2
    assert scatter.variance == pytest.approx(stats.tvar(values.mean(axis=1)))


def test_the_error_beside_the_scatter_is_what_tasks_do_beyond_their_run():
    values = three_runs()
    of_runs = values.mean(axis=1, keepdims=True)
    of_tasks = values.mean(axis=0)
    residuals = values - of_runs - of_tasks + values.mean()
    # of an analysis of variance of three runs and 20 tasks
    mean_square = (residuals**2).sum() / (2 * 19)
    assert scatter_of(values).se == pytest.approx(np.sqrt(mean_square / 20))


def test_the_run_has_its_share_of_the_error_by_its_rollouts():
    before = [[1.0] * 8, [0.5] * 8, [0.0] * 8]
    now = [[0.5] * 4, [0.5] * 4, [0.0] * 4]
    of_difference = np.std([0.5, 0.0, 0.0], ddof=1) / np.sqrt(3)
    # four rollouts have two thirds of the variance, eight the rest
    expected = of_difference * np.sqrt(2 / 3)
    assert error_of_current(make_pair(before, now)) == pytest.approx(expected)


def test_the_error_of_a_run_in_clusters_is_that_of_clusters():
    before = [[1.0], [1.0], [0.0], [0.0]]
    now = [[0.0], [0.0], [0.0], [0.0]]
    pair = make_pair(before, now, clusters=np.array([0, 0, 1, 1]))
    # two clusters that moved by 1 and 0: .5 / sqrt(1) by CR2, halved between the sides
    assert error_of_current(pair) == pytest.approx(0.5 * np.sqrt(1 / 2))


@pytest.mark.parametrize(
    "pair",
    [
        make_pair([[1.0]], [[0.0]]),
        make_pair([[1.0]] * 3, [[0.0]] * 3, baseline=None),
        make_pair([[1.0]] * 3, [[0.0]] * 3, current=None),
    ],
    ids=["one task", "no values before", "no values now"],
)
def test_the_error_of_a_run_is_unknown_where_its_tasks_show_none(pair):
    assert math.isnan(error_of_current(pair))


# -- a history, and other benchmarks -----------------------------------------------------


def test_a_history_beside_other_benchmarks_counts_as_the_runs_of_a_baseline():
    values = (0.68, 0.70, 0.71, 0.75)
    own = replace(lone(pool=(SOME,)), values=values, pooled=False)
    history = RunScatter(df=3, variance=float(np.var(values, ddof=1)), se=0.01)
    earlier = lone(pool=(SOME,), history=history)
    assert noise_of(earlier).p == pytest.approx(noise_of(own).p)
    assert noise_of(earlier).sd == pytest.approx(noise_of(own).sd)


def test_a_history_of_unknown_error_has_that_of_the_baseline():
    known = lone(pool=(SOME,), history=SOME)
    unknown = lone(pool=(SOME,), history=replace(SOME, se=math.nan))
    assert noise_of(unknown) == noise_of(known)


@pytest.mark.parametrize(("df", "counted"), [(5, 5), (9, 9), (18, 9), (400, 9)])
def test_other_benchmarks_count_for_ten_runs_at_most(df, counted):
    some = lone(pool=(replace(SOME, df=df),))
    as_many = lone(pool=(replace(SOME, df=counted),))
    assert noise_of(some).p == pytest.approx(noise_of(as_many).p)


def test_more_runs_of_other_benchmarks_show_more_up_to_ten():
    quiet = RunScatter(df=4, variance=0.0001, se=0.01)
    few = lone(pool=(quiet,))
    many = lone(pool=(quiet, quiet))
    assert noise_of(many).p < 0.9 * noise_of(few).p


def test_the_noise_of_several_benchmarks_is_their_mean_by_degrees_of_freedom():
    quiet = RunScatter(df=2, variance=0.0001, se=0.01)
    loud = RunScatter(df=6, variance=0.0013, se=0.01)
    assert noise_of(lone(pool=(quiet, loud))).sd == pytest.approx(0.03)


# chi^2 of ten degrees of freedom exceeds 18.31 in one of twenty cases
@pytest.mark.parametrize(("ratio", "is_shown"), [(1.84, True), (1.82, False)])
def test_other_benchmarks_show_noise_beyond_chi_squared_of_their_tasks(ratio, is_shown):
    assert stats.chi2.isf(0.05, 10) == pytest.approx(18.31, abs=0.01)
    pool = [
        RunScatter(df=4, variance=ratio * 0.01**2, se=0.01),
        RunScatter(df=6, variance=ratio * 0.03**2, se=0.03),
    ]
    assert pool_shows_noise(pool) is is_shown


@pytest.mark.parametrize(("df", "is_shown"), [(3, False), (4, True)])
def test_fewer_than_four_degrees_of_freedom_show_no_noise(df, is_shown):
    assert pool_shows_noise([RunScatter(df=df, variance=1.0, se=0.01)]) is is_shown


def test_benchmarks_whose_tasks_explain_nothing_show_noise():
    assert pool_shows_noise([RunScatter(df=9, variance=1e-6, se=0.0)])


# -- the largest shift -------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, 0.7])
def test_runs_that_are_alike_shift_by_nothing(value):
    runs = Runs((value,) * 3, True, 1.0, se=0.0)
    assert largest_shift(runs, None, alpha=0.01) == 0


def test_where_tasks_explain_nothing_the_shift_is_that_of_a_further_run():
    values = (0.70, 0.72, 0.71, 0.74)
    runs = Runs(values, True, 1.0, se=0.0)
    expected = stats.t.isf(0.01, 3) * np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert largest_shift(runs, None, alpha=0.01) == pytest.approx(expected)


def test_the_largest_shift_is_the_drop_that_noise_alone_explains_as_often():
    runs = Runs((0.68, 0.70, 0.71, 0.75), True, 1.0, se=0.01, is_rate=True)
    shift = largest_shift(runs, None, alpha=0.01)
    noise = with_run_noise(
        runs, drop=shift, log_p=-1e12, se=1e-9, alpha=0.01, level=0.95
    )
    assert noise.p == pytest.approx(0.01, rel=1e-3)


def test_stated_noise_beside_several_runs_is_that_of_their_mean():
    runs = Runs((0.68, 0.70, 0.71, 0.75), True, 1.0, se=0.01)
    expected = stats.norm.isf(0.01) * 0.02 * np.sqrt(1 + 1 / 4)
    assert largest_shift(runs, 0.02, alpha=0.01) == pytest.approx(expected)


# -- without any error -------------------------------------------------------------------


def test_without_any_noise_each_drop_is_beyond_it():
    assert log_tail_of(0.1, np.array([0.0, 0.0]), np.array([0.5, 0.5])) == -math.inf


def test_a_noise_of_0_among_others_has_no_part_in_the_tail():
    expected = math.log(0.5 * stats.norm.sf(2.0))
    tail = log_tail_of(0.1, np.array([0.0, 0.05]), np.array([0.5, 0.5]))
    assert tail == pytest.approx(expected)


def test_a_noise_that_is_impossible_has_no_part_in_the_tail():
    tail = log_tail_of(0.1, np.array([0.05, 9.0]), np.array([1.0, 0.0]))
    assert tail == pytest.approx(stats.norm.logsf(2.0))


def test_exact_aggregates_of_runs_without_noise_are_sure_of_any_drop():
    sure = compared(flips(10, 0, 90), stated=(0.0, 30.0), run_noise=0.0)
    assert sure.test.log_p == -math.inf
