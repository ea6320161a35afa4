"""How much a metric varies between runs of an unchanged system, and what that means."""

import math

import pytest
from msgspec import structs
from scipy import stats as oracle

from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.model.verdicts import Direction
from pytest_evalmetrics.run_series.noise import Noise

STEADY = Noise(values=(0.80, 0.81, 0.79, 0.80, 0.80, 0.80), tasks=0.02, is_rate=True)
RULE = RuleSettings(
    rule=RuleName.ABSOLUTE,
    direction=Direction.HIGHER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.05,
)


def test_a_drop_between_two_runs_has_the_variance_of_both():
    assert STEADY.further == 2


def test_a_drop_from_the_mean_of_six_runs_has_a_sixth_of_its_variance_more():
    assert structs.replace(STEADY, pooled=True).further == pytest.approx(7 / 6)


def test_runs_that_differ_as_their_tasks_explain_have_little_noise():
    assert STEADY.runs < 0.01


def test_runs_that_differ_by_more_than_their_tasks_explain_have_noise():
    values = (0.8, 0.7, 0.9, 0.75, 0.85, 0.8)
    noisy = structs.replace(STEADY, values=values, tasks=0.001)
    assert noisy.runs == pytest.approx(0.0707, rel=0.2)  # their own deviation


def test_a_gain_is_as_likely_as_the_drop_of_its_size():
    assert STEADY.chance(-0.03) == pytest.approx(1 - STEADY.chance(0.03))


def test_no_drop_is_as_likely_as_not():
    assert STEADY.chance(0.0) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("chance", [0.01, 0.05, 0.2])
def test_the_drop_of_a_chance_has_that_chance(chance):
    pooled = structs.replace(STEADY, pooled=True)
    assert pooled.chance(pooled.drop(chance)) == pytest.approx(chance, rel=0.02)


def test_a_value_without_error_and_noise_never_drops():
    exact = Noise(values=(5.0, 5.0, 5.0), tasks=0.0)
    assert exact.chance(1.0) < 1e-6


def test_a_rule_without_a_test_fails_by_the_drop_that_it_allows():
    assert STEADY.alarms(RULE) == STEADY.chance(0.05)


def test_a_relative_rule_allows_a_share_of_the_mean():
    relative = structs.replace(RULE, rule=RuleName.RELATIVE)
    assert STEADY.alarms(relative) == pytest.approx(STEADY.chance(0.05 * 0.8))


def test_an_exact_rule_fails_half_of_the_runs():
    exact = structs.replace(RULE, rule=RuleName.EXACT)
    assert STEADY.alarms(exact) == pytest.approx(0.5, abs=1e-6)


def test_a_rule_that_tests_fails_a_drop_that_tasks_do_not_explain():
    statistical = structs.replace(RULE, rule=RuleName.STATISTICAL)
    proven = oracle.norm.isf(0.01) * 0.02 * math.sqrt(2)
    assert STEADY.alarms(statistical) == pytest.approx(STEADY.chance(proven), rel=1e-9)


def test_a_practical_rule_fails_no_drop_that_does_not_matter():
    practical = structs.replace(RULE, rule=RuleName.PRACTICAL, max_drop=0.2)
    assert STEADY.alarms(practical) == STEADY.chance(0.2)


def test_a_rule_that_tests_against_several_runs_knows_their_noise():
    pooled = structs.replace(STEADY, pooled=True)
    statistical = structs.replace(RULE, rule=RuleName.STATISTICAL)
    assert pooled.alarms(statistical) == pytest.approx(0.01, rel=0.05)


def test_a_rise_of_latencies_that_differ_by_a_factor_is_predicted_by_the_factor():
    """A run is twice as slow as the one before it; tasks explain nothing."""
    slower = Noise(values=(1.0, 2.0, 4.0), tasks=0.0, pooled=True, sign=-1.0)
    mean = 7 / 3
    error = math.log(2) * math.sqrt(1 + 1 / 3)
    expected = oracle.t.sf(math.log(10 / mean) / error, 2)
    assert slower.chance(10 - mean) == pytest.approx(expected, rel=1e-5)
