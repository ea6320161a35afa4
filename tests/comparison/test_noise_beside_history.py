"""Noise between runs of a lone baseline beside the runs of a history, against scipy."""

import numpy as np
import pytest
from scipy import stats

from pytest_evalmetrics.comparison import Runs, RunScatter, with_run_noise


def beside_history(drop, *, variance=0.0004, df=3.0, se=0.0141):
    """The noise of a lone run whose earlier runs scatter by 2 points."""
    history = RunScatter(df=df, variance=variance, se=0.01)
    runs = Runs((0.7,), pooled=True, more_rollouts=1.0, is_rate=True, history=history)
    log_p = float(stats.norm.logsf(drop / se))
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
