from __future__ import annotations

import math

import numpy as np
import pytest
from gates.making import compared, flips, make_combined, run
from scipy import stats as oracle

from pytest_evalmetrics.gates.visible import largest_flip


def factor(df, alpha=0.01):
    t = oracle.t(df)
    return t.ppf(1 - alpha) + t.ppf(0.8)


@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_of_students_t_it_is_so_many_standard_errors(alpha):
    found = compared(run(2, 200, 4), alpha=alpha)
    se = oracle.sem(found.damage)
    assert found.mde == pytest.approx(factor(199, alpha) * se, rel=1e-9)


def test_of_few_flips_it_allows_for_those_that_the_drop_adds():
    found = compared(flips(6, 4, 190))
    assert found.test == "exact sign flip"
    # c sqrt(SE^2 + drop / n) = drop
    under_it = math.sqrt(oracle.sem(found.damage) ** 2 + found.mde / 200)
    assert found.mde == pytest.approx(factor(199) * under_it, rel=1e-9)
    assert found.mde > 1.5 * factor(199) * found.se


def test_few_flips_find_such_a_drop_about_as_often_as_is_said():
    rng = np.random.default_rng(0)
    mde = compared(flips(5, 5, 190)).mde
    found = []
    for _ in range(300):
        worse, better = rng.binomial(200, mde + 0.025), rng.binomial(200, 0.025)
        found.append(compared(flips(worse, better, 200 - worse - better)).p < 0.01)
    assert 0.75 < np.mean(found) < 0.95


def test_a_cluster_flips_as_a_whole():
    damage = np.array([1.0, 1.0, 0.0, -1.0, 0.0, 0.0])
    assert largest_flip(damage, None) == 1
    # two of six tasks, in one of three clusters: as a cluster of two tasks of 1 each
    assert largest_flip(damage, np.array([0, 0, 1, 1, 2, 2])) == 1
    clusters = np.repeat(np.arange(40), 5)
    found = compared(flips(6, 4, 190), clusters=clusters)
    under_it = math.sqrt(found.se**2 + found.mde * largest_flip(found.damage, clusters) / 40)
    assert found.mde == pytest.approx(factor(39) * under_it, rel=1e-9)


def test_of_a_bootstrap_it_is_so_many_of_its_standard_errors():
    rng = np.random.default_rng(1)
    found = compared(make_combined(rng.random(50), rng.random(50)))
    z = oracle.norm.ppf(0.99) + oracle.norm.ppf(0.8)
    assert found.mde == pytest.approx(z * found.se, rel=1e-9)


def test_without_noise_it_is_not_known():
    assert math.isnan(compared(flips(0, 0, 20)).mde)
