"""Noise between the runs of a history, some of which are of another system."""

import numpy as np
import pytest

from pytest_evalmetrics.comparison import scatter_of_successive

RNG = np.random.default_rng(3)
STEADY = (0.6 + RNG.normal(0, 0.02, 40)).tolist()


def test_the_variance_is_half_the_mean_square_of_successive_differences():
    values = [0.5, 0.52, 0.49, 0.5, 0.53]
    scatter = scatter_of_successive([values], se=0.01)
    assert scatter.variance == pytest.approx(np.mean(np.diff(values) ** 2) / 2)


def test_four_differences_have_the_degrees_of_freedom_of_von_neumann():
    scatter = scatter_of_successive([[0.5, 0.52, 0.49, 0.5, 0.53]], se=0.01)
    assert scatter.df == pytest.approx(2 * 4**2 / (3 * 4 - 1))


def test_fewer_than_five_runs_show_nothing():
    assert scatter_of_successive([[0.5, 0.52, 0.49, 0.5]], se=0.01) is None


def test_an_accepted_change_between_two_stretches_is_no_noise():
    lower = [value - 0.3 for value in STEADY[20:]]
    scatter = scatter_of_successive([STEADY[:20], lower], se=0.01)
    assert scatter.variance**0.5 == pytest.approx(0.02, rel=0.3)


def test_a_drop_that_nobody_accepted_is_no_noise():
    values = [*STEADY[:20], *(value - 0.3 for value in STEADY[20:])]
    scatter = scatter_of_successive([values], se=0.01)
    assert scatter.variance**0.5 == pytest.approx(0.02, rel=0.3)


def test_a_slow_rise_is_no_noise():
    values = [value + 0.005 * run for run, value in enumerate(STEADY)]
    scatter = scatter_of_successive([values], se=0.01)
    assert scatter.variance**0.5 == pytest.approx(0.02, rel=0.3)


def test_the_degrees_of_freedom_of_several_stretches_add_up():
    stretches = [[0.5, 0.52, 0.49], [0.3, 0.31, 0.3], [0.7]]
    scatter = scatter_of_successive(stretches, se=0.01)
    assert scatter.df == pytest.approx(2 * (2 * 2**2 / (3 * 2 - 1)))


def test_the_error_of_a_run_is_kept_beside_the_scatter():
    assert scatter_of_successive([STEADY], se=0.01).se == 0.01


def test_jumps_are_measured_by_most_differences():
    """Four times one point, and one of 4.4 or 4.5: the bound is 3 * 1.4826 points."""
    within = [0.50, 0.51, 0.50, 0.51, 0.50, 0.544]
    beyond = [0.50, 0.51, 0.50, 0.51, 0.50, 0.545]
    kept = scatter_of_successive([within], se=0.0)
    cut = scatter_of_successive([beyond], se=0.0)
    assert kept.variance == pytest.approx((4 * 0.01**2 + 0.044**2) / 5 / 2)
    assert cut.variance == pytest.approx(0.01**2 / 2)


def test_a_difference_that_tasks_explain_is_no_jump():
    values = [0.50, 0.51, 0.50, 0.51, 0.50, 0.545]
    # 3 * sqrt(2) * .0107 is beyond .045
    scatter = scatter_of_successive([values], se=0.0107)
    assert scatter.variance == pytest.approx((4 * 0.01**2 + 0.045**2) / 5 / 2)


def test_pairs_of_runs_without_a_change_between_them_show_enough():
    scatter = scatter_of_successive([[0.5, 0.52]] * 4, se=0.01)
    assert scatter.df == pytest.approx(4)
