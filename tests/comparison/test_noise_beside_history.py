"""Noise between runs of a lone baseline beside the runs of a history, against scipy."""

import numpy as np
import pytest
from scipy import stats

from pytest_evalmetrics.comparison import Runs, RunScatter, with_run_noise


def beside_history(drop, *, variance=0.0004, df=3.0, se=0.0141):
    """The noise of a lone run whose earlier runs scatter by 2 points."""
    history = RunScatter(df=df, variance=variance, se=0.01)
    runs = Runs((0.7,), pooled=True, more_rollouts=1.0, is_rate=True, history=history)
    log_p = float(stats.norm.logsf(drop / max(se, 1e-3)))
    return with_run_noise(runs, drop=drop, log_p=log_p, se=se, alpha=0.01, level=0.95)


def test_a_drop_beside_a_history_has_the_p_of_a_prediction_of_one_more_run():
    error = 0.02 * np.sqrt(2)
    expected = stats.t.sf(0.1 / error, 3)
    assert beside_history(0.1).p == pytest.approx(expected, rel=1e-5)


def test_a_history_that_hardly_scatters_makes_a_drop_no_surer_than_its_tasks():
    quiet = beside_history(0.05, variance=1e-6)
    assert quiet.p == pytest.approx(stats.norm.sf(0.05 / 0.0141), rel=1e-5)
    assert quiet.sd == 0


def test_the_interval_beside_a_history_is_that_of_a_prediction_of_one_more_run():
    expected = stats.t.ppf(0.975, 3) * 0.02 * np.sqrt(2)
    assert beside_history(0.1).half == pytest.approx(expected, rel=1e-5)


def test_what_a_drop_has_to_exceed_beside_a_history_is_that_of_a_further_run():
    noise = beside_history(0.1)
    exceeded = stats.t.isf(0.01, 3) * 0.02 * np.sqrt(2)
    of_tasks = stats.norm.isf(0.01) * 0.0141
    assert noise.wider == pytest.approx(exceeded / of_tasks, rel=1e-5)
    assert noise.beyond == pytest.approx(np.sqrt(exceeded**2 - of_tasks**2), rel=1e-5)


def test_what_four_of_five_drops_are_not_short_of_is_of_the_noise_that_is_shown():
    noise = beside_history(0.1)
    sd = np.sqrt(0.02**2 - 0.01**2)
    assert noise.sd == pytest.approx(sd, rel=1e-5)
    assert noise.short == pytest.approx(stats.norm.isf(0.2) * sd * np.sqrt(2), rel=1e-5)


def test_beside_a_quiet_history_a_drop_has_to_exceed_what_tasks_explain():
    quiet = beside_history(0.05, variance=1e-6)
    assert quiet.wider == 1
    assert quiet.beyond == 0
    assert quiet.half == pytest.approx(stats.norm.isf(0.025) * 0.0141, rel=1e-5)


def test_tasks_that_all_moved_alike_leave_the_prediction_of_a_further_run():
    noise = beside_history(0.1, se=0.0)
    error = 0.02 * np.sqrt(2)
    assert noise.p == pytest.approx(stats.t.sf(0.1 / error, 3), rel=1e-5)
    assert noise.beyond == pytest.approx(stats.t.isf(0.01, 3) * error, rel=1e-5)
