"""Bounds of group-sequential tests against the joint normal distribution and published tables."""

import math
from itertools import accumulate

import numpy as np
import pytest
from gates.making import make_pair, several
from scipy.stats import multivariate_normal, norm

from pytest_evalmetrics.gates import sequential
from pytest_evalmetrics.model.results import Interval

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


def within(times, low, high, drift=0.0):
    """Return the chance to cross no bound, by integrating the joint normal distribution."""
    t = np.array(times)
    correlation = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    ends = (np.array(each) - drift * np.sqrt(t) for each in (high, low))
    return multivariate_normal(cov=correlation, abseps=1e-5, releps=1e-5, seed=1).cdf(
        next(ends), lower_limit=next(ends)
    )


@pytest.mark.parametrize(
    "spent",
    [  # one-sided .025, of Lan and DeMets 1983: as O'Brien and Fleming's, and as Pocock's
        [2 * norm.sf(norm.ppf(1 - 0.0125) / math.sqrt(t)) for t in FIVE],
        [0.025 * math.log(1 + (math.e - 1) * t) for t in FIVE],
    ],
    ids=["obrien-fleming", "pocock"],
)
def test_bounds_that_spend_alpha(spent):
    bounds = sequential.efficacy_bounds(FIVE, spent)
    for i in range(1, 6):
        crossed = 1 - within(FIVE[:i], [-math.inf] * i, bounds[:i])
        assert crossed == pytest.approx(spent[i - 1], abs=3e-5)
    never = sequential.StopBounds(FIVE, bounds, (-8.0,) * 5)
    crossed = accumulate(fail for _, fail in sequential.stopping(never, 0.0))
    assert list(crossed) == pytest.approx(spent, abs=1e-6)


@pytest.mark.parametrize(
    ("looks", "constant", "shape", "inflation"),
    [  # Jennison and Turnbull 2000, tables 2.1 to 2.4: two-sided .05, power .9
        (2, 2.178, 0.0, 1.100),
        (
            4,
            2.361,
            0.0,
            1.183,
        ),  # as SAS SEQDESIGN prints: 118.3143 % of the fixed sample
        (5, 2.413, 0.0, 1.207),
        (2, 1.977, 0.5, 1.007),
        (5, 2.040, 0.5, 1.026),
    ],
)
def test_published_constants_have_their_level_and_power(
    looks, constant, shape, inflation
):
    times = tuple((i + 1) / looks for i in range(looks))
    high = tuple(constant * t**-shape for t in times)
    low = tuple(-z for z in high)
    bounds = sequential.StopBounds(times, high, low)
    for drift, expected in (
        (0.0, 0.05),
        (math.sqrt(inflation) * (norm.ppf(0.975) + norm.ppf(0.9)), 0.9),
    ):
        stops = sum(map(sum, sequential.stopping(bounds, drift)))
        assert stops == pytest.approx(1 - within(times, low, high, drift), abs=3e-5)
        assert stops == pytest.approx(expected, rel=2e-3)


def test_looks_and_what_each_knows():
    assert sequential.looks_between(2, 8) == (2, 4, 6, 8)
    assert sequential.looks_between(1, 2) == (1, 2)
    assert sequential.looks_between(1, 8) == (1, 3, 6, 8)
    # Var(mean of K_B) + Var(mean of k), at the last look 1/8 + 1/8
    assert sequential.fractions_of((2, 8), 8) == pytest.approx((0.4, 1.0))
    assert sequential.fractions_of((2, 8), math.inf) == pytest.approx((0.25, 1.0))


def test_futility_never_costs_level_and_little_power():
    fractions = sequential.fractions_of((2, 4, 6, 8), 8)
    bounds = sequential.bounds_of(fractions, 0.01)
    ends = zip(bounds.futility[:-1], bounds.efficacy[:-1], strict=True)
    assert all(low < high for low, high in ends)
    assert bounds.futility[-1] == bounds.efficacy[-1]
    drift = norm.ppf(0.99) + norm.ppf(0.95)
    given_up = norm.cdf(bounds.futility[0] - drift * math.sqrt(fractions[0]))
    assert given_up == pytest.approx(
        0.05 * fractions[0] ** 3
    )  # what the first look spends
    for true, least, most in ((0.0, 0.0, 0.01), (drift, 0.92, 0.95)):
        looks = sequential.stopping(bounds, true)
        assert sum(map(sum, looks)) == pytest.approx(1, abs=1e-6)
        assert least <= sum(fail for _, fail in looks) <= most


def test_what_stopped_a_run_is_overstated_and_corrected():
    fractions = sequential.fractions_of((2, 4, 6, 8), 8)
    bounds = sequential.bounds_of(fractions, 0.01)
    drift, low, high = sequential.adjusted(bounds, 0, 3.0)  # nothing went before
    root = math.sqrt(fractions[0])
    assert (drift, low, high) == pytest.approx(
        [(3 + z) / root for z in (0, -1.96, 1.96)], rel=1e-4
    )
    for at, z in ((1, 2.8), (2, 2.7), (3, 2.6)):
        naive = z / math.sqrt(fractions[at])
        drift, low, high = sequential.adjusted(bounds, at, z)
        assert low < drift < naive < high


def stopped(seed, drop):
    """Take rounds of a run with two metrics, one of them twice, until it is sure.

    Every other task has 2 rollouts in the baseline, the others 8, and some lack one of the run.
    """
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        chance = rng.beta(0.4, 0.4, (60, 1))
        before, after = (
            (rng.random((60, 8)) < p).astype(float) for p in (chance, chance - drop)
        )
        sides.append(([row[: 8 - 6 * (i % 2)] for i, row in enumerate(before)], after))

    def judged(k, **look):
        taken = [
            [row[: k - (i % 5 == 4)] for i, row in enumerate(after)]
            for _, after in sides
        ]
        pairs = [
            make_pair(sides[i][0], taken[i], name=f"metric {i}") for i in (0, 1, 0)
        ]
        return several(pairs, **look)

    for at, k in enumerate((2, 4, 6, 8)):
        checks = judged(k, look=sequential.Look((2, 4, 6, 8), at))
        settled = [check.evidence["look"]["settled"] for check in checks]
        if "fail" in settled or all(settled):
            break
    assert checks[0].verdict is checks[2].verdict  # one number, one verdict
    return k, *(
        any(c.verdict.value == "FAIL" for c in each) for each in (checks, judged(8))
    )


@pytest.mark.parametrize(("drop", "most"), [(0.0, 1), (0.15, 6)])
def test_several_metrics_of_unequal_rollouts_stop_together(drop, most):
    runs = [stopped(seed, drop) for seed in range(6)]
    taken, failed, whole = np.array(runs).sum(axis=0)
    assert whole - 1 <= failed <= most
    assert not drop or whole > 4
    assert 1 - taken / 48 >= 0.45
    assert stopped(3, drop) == runs[3]


@pytest.mark.parametrize("at", [0, 3])
def test_a_threshold_is_settled_by_an_interval_that_holds_at_all_looks(at):
    look = sequential.Look((2, 4, 6, 8) if at else (8,), at)
    z = norm.isf(0.01) if at == 0 else look.bounds(0.01, math.inf).efficacy[-1]
    assert z >= norm.isf(0.01) - 1e-9
    end = 0.1 * z / norm.isf(0.025)
    for gap, settled in ((end - 1e-6, ("", "")), (end + 1e-6, ("fail", "pass"))):
        sides = [(0.5 + gap, None), (0.5 - gap, None)]
        interval = Interval(0.4, 0.6, 0.95, "t")
        assert tuple(look.settles(0.5, interval, *side) for side in sides) == settled
        assert look.settles(0.5, interval, None, 0.5 - gap) == settled[0]
    assert look.settles(0.5, Interval(0.5, 0.5, 0.95, "t"), 0.6, None) == ""
