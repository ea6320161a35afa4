"""The distribution of a summed damage, by its first three cumulants."""

import math

import numpy as np
import pytest
from scipy import stats as oracle

from pytest_evalmetrics.stats.summed_damage import Cumulants, DamageOfKinds


def test_the_cumulants_of_tasks_add_up():
    # four tasks lose 1 in half of the deals; two lose 3 in a third of them
    kinds = DamageOfKinds(
        damage=np.array([[0.0, 1.0], [0.0, 3.0]]),
        chance=np.array([[1 / 2, 1 / 2], [2 / 3, 1 / 3]]),
        times=np.array([4.0, 2.0]),
    )
    cumulants = kinds.cumulants()
    assert cumulants.mean == pytest.approx(4 * 0.5 + 2 * 1)
    assert cumulants.variance == pytest.approx(4 * 0.25 + 2 * 2)
    assert cumulants.third == pytest.approx(2 * 2)


@pytest.mark.parametrize("observed", [1.0, 4.0, 9.0])
def test_a_sum_without_skew_is_normal(observed):
    tail = Cumulants(mean=2, variance=4, third=0).log_tail(observed)
    assert tail == pytest.approx(oracle.norm.logsf(observed, 2, 2), rel=1e-9)


@pytest.mark.parametrize("observed", [50.0, 60.0, 75.0])
def test_a_skewed_sum_is_a_gamma_distribution(observed):
    # of shape 50 and scale 1, whose mean and variance are 50 and third cumulant 100
    tail = Cumulants(mean=50, variance=50, third=100).log_tail(observed)
    assert tail == pytest.approx(oracle.gamma.logsf(observed, 50), rel=0.01)


def test_a_sum_skewed_the_other_way_is_its_mirror():
    tail = Cumulants(mean=-50, variance=50, third=-100).log_tail(-45)
    assert tail == pytest.approx(oracle.gamma.logcdf(45, 50), rel=0.01)


def test_what_does_not_vary_has_no_tail():
    assert Cumulants(mean=2, variance=0, third=0).log_tail(3) == 0
    assert math.exp(Cumulants(mean=2, variance=0, third=0).log_tail(1)) == 1
