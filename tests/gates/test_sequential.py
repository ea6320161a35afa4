"""Bounds of group-sequential tests against the joint normal distribution and published tables."""

import math
from itertools import accumulate
from types import MappingProxyType

import numpy as np
import pytest
from comparison.making import flips, make_pair, rule
from gates.making import several
from msgspec.structs import replace
from scipy.stats import multivariate_normal, norm

from pytest_evalmetrics.comparison import ComparisonInput
from pytest_evalmetrics.gates import sequential
from pytest_evalmetrics.gates.regression import Gated, check_regression
from pytest_evalmetrics.gates.rules import Decision
from pytest_evalmetrics.model.comparison import LookFacts, TestResult
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.reasons import LowCoverage, ManyMissing, NothingInCommon
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.spec import Threshold

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


def within(times, low, high, drift=0.0):
    """Return the chance to cross no bound, by integrating the joint normal distribution."""
    t = np.array(times)
    correlation = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    shift = drift * np.sqrt(t)
    joint = multivariate_normal(cov=correlation, abseps=1e-5, releps=1e-5, seed=1)
    return joint.cdf(np.array(high) - shift, lower_limit=np.array(low) - shift)


# one-sided .025, of Lan and DeMets 1983: as O'Brien and Fleming's, and as Pocock's
SPENT = MappingProxyType(
    {
        "obrien-fleming": [2 * norm.sf(norm.isf(0.0125) / math.sqrt(t)) for t in FIVE],
        "pocock": [0.025 * math.log(1 + (math.e - 1) * t) for t in FIVE],
    }
)


@pytest.mark.parametrize("name", SPENT)
def test_bounds_are_crossed_by_chance_as_often_as_they_spend(name):
    bounds = sequential.efficacy_bounds(FIVE, SPENT[name])
    for looks in range(1, 6):
        crossed = 1 - within(FIVE[:looks], [-math.inf] * looks, bounds[:looks])
        assert crossed == pytest.approx(SPENT[name][looks - 1], abs=3e-5)


@pytest.mark.parametrize("name", SPENT)
def test_the_chances_to_stop_are_what_the_bounds_spend(name):
    efficacy = sequential.efficacy_bounds(FIVE, SPENT[name])
    bounds = sequential.StopBounds(FIVE, efficacy, futility=(-8.0,) * 5)
    crossed = accumulate(fails for _, fails in sequential.stopping(bounds, drift=0.0))
    assert list(crossed) == pytest.approx(SPENT[name], abs=1e-6)


# Jennison and Turnbull 2000, tables 2.1 to 2.4: two-sided .05, power .9. Four looks are
# as SAS SEQDESIGN prints them: 118.3143 % of the fixed sample
PUBLISHED = [
    (2, 2.178, 0.0, 1.100),
    (4, 2.361, 0.0, 1.183),
    (5, 2.413, 0.0, 1.207),
    (2, 1.977, 0.5, 1.007),
    (5, 2.040, 0.5, 1.026),
]


def published_bounds(looks, constant, shape):
    times = tuple((look + 1) / looks for look in range(looks))
    high = tuple(constant * t**-shape for t in times)
    low = tuple(-z for z in high)
    return sequential.StopBounds(times, high, low)


def chance_to_stop(bounds, drift):
    return sum(map(sum, sequential.stopping(bounds, drift)))


@pytest.mark.parametrize(
    ("looks", "constant", "shape"), [published[:3] for published in PUBLISHED]
)
def test_published_constants_have_their_level(looks, constant, shape):
    bounds = published_bounds(looks, constant, shape)
    assert chance_to_stop(bounds, drift=0.0) == pytest.approx(0.05, rel=2e-3)


@pytest.mark.parametrize(("looks", "constant", "shape", "inflation"), PUBLISHED)
def test_published_constants_have_their_power(looks, constant, shape, inflation):
    bounds = published_bounds(looks, constant, shape)
    drift = math.sqrt(inflation) * (norm.ppf(0.975) + norm.ppf(0.9))
    assert chance_to_stop(bounds, drift) == pytest.approx(0.9, rel=2e-3)


@pytest.mark.parametrize(("looks", "constant", "shape", "inflation"), PUBLISHED)
def test_the_chance_to_stop_is_that_of_the_joint_distribution(
    looks, constant, shape, inflation
):
    bounds = published_bounds(looks, constant, shape)
    drift = math.sqrt(inflation) * (norm.ppf(0.975) + norm.ppf(0.9))
    staying = within(bounds.fractions, bounds.futility, bounds.efficacy, drift)
    assert chance_to_stop(bounds, drift) == pytest.approx(1 - staying, abs=3e-5)


# -- looks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("least", "most", "looks"),
    [(2, 8, (2, 4, 6, 8)), (1, 2, (1, 2)), (1, 8, (1, 3, 6, 8)), (4, 4, (4,))],
)
def test_up_to_four_looks_are_spaced_evenly(least, most, looks):
    assert sequential.looks_between(least, most) == looks


def test_a_look_knows_a_share_of_the_last_ones_information():
    # Var(mean of K_B) + Var(mean of k), at the last look 1/8 + 1/8
    assert sequential.fractions_of((2, 8), 8) == pytest.approx((0.4, 1.0))


def test_information_has_six_digits():
    # 4/3 by 2
    assert sequential.fractions_of((1, 3), 1) == (0.666667, 1.0)


def test_fewer_rollouts_than_looks_are_all_looked_at():
    assert sequential.looks_between(2, 4) == (2, 3, 4)
    assert sequential.looks_between(1, 4) == (1, 2, 3, 4)


@pytest.mark.parametrize(("at", "is_last"), [(0, False), (2, False), (3, True)])
def test_the_last_look_has_all_rollouts(at, is_last):
    assert sequential.Look((2, 4, 6, 8), at).is_last is is_last


def test_the_level_of_a_look_is_the_chance_to_cross_its_bound():
    look = sequential.Look((2, 4, 6, 8), 1)
    bounds = look.bounds(0.01, 8)
    assert bounds == BOUNDS
    assert look.level(bounds) == float(f"{norm.sf(BOUNDS.efficacy[1]):.6g}")


def test_a_single_look_has_the_whole_level():
    look = sequential.Look((8,), 0)
    assert look.level(look.bounds(0.01, 8)) == pytest.approx(0.01, rel=1e-5)


def test_without_noise_in_the_baseline_information_is_of_the_rollouts():
    assert sequential.fractions_of((2, 8), math.inf) == pytest.approx((0.25, 1.0))


FRACTIONS = sequential.fractions_of((2, 4, 6, 8), 8)
BOUNDS = sequential.bounds_of(FRACTIONS, 0.01)
# a drop that the last look alone finds in 95 % of the runs
DRIFT = norm.ppf(0.99) + norm.ppf(0.95)


def test_futility_is_below_efficacy_but_at_the_last_look():
    pairs = list(zip(BOUNDS.futility, BOUNDS.efficacy, strict=True))
    assert all(low < high for low, high in pairs[:-1])
    assert pairs[-1][0] == pairs[-1][1]


def test_the_first_look_gives_up_on_as_many_drops_as_it_may():
    given_up = norm.cdf(BOUNDS.futility[0] - DRIFT * math.sqrt(FRACTIONS[0]))
    assert given_up == pytest.approx(0.05 * FRACTIONS[0] ** 3)


def test_each_look_gives_up_on_as_many_drops_as_it_may_in_all():
    passes = [passed for passed, _ in sequential.stopping(BOUNDS, DRIFT)]
    given_up = list(accumulate(passes[:-1]))
    expected = [0.05 * fraction**3 for fraction in FRACTIONS[:-1]]
    assert given_up == pytest.approx(expected, abs=1e-6)


def test_each_look_proves_as_many_false_drops_as_it_may_in_all():
    # without giving up, which is not counted on
    never = replace(BOUNDS, futility=(-8.0,) * 3 + (BOUNDS.efficacy[-1],))
    proven = accumulate(fails for _, fails in sequential.stopping(never, 0.0))
    expected = [0.01 * fraction**3 for fraction in FRACTIONS]
    assert list(proven) == pytest.approx(expected, abs=1e-6)


def test_a_run_stops_at_the_last_look_at_the_latest():
    assert chance_to_stop(BOUNDS, 0.0) == pytest.approx(1, abs=1e-6)
    assert chance_to_stop(BOUNDS, DRIFT) == pytest.approx(1, abs=1e-6)


def chance_to_fail(drift):
    return sum(fails for _, fails in sequential.stopping(BOUNDS, drift))


def test_futility_never_costs_level():
    assert chance_to_fail(0.0) <= 0.01


def test_futility_costs_little_power():
    assert 0.92 <= chance_to_fail(DRIFT) <= 0.95


# -- the corrected drop ------------------------------------------------------------------


def test_a_run_that_stopped_at_the_first_look_needs_no_correction():
    drift = sequential.corrected_drift(BOUNDS, 0, 3.0)
    root = math.sqrt(FRACTIONS[0])
    assert drift.middle == pytest.approx(3 / root, rel=1e-4)
    assert drift.low == pytest.approx((3 - 1.96) / root, rel=1e-4)
    assert drift.high == pytest.approx((3 + 1.96) / root, rel=1e-4)


@pytest.mark.parametrize(("at", "z"), [(1, 2.8), (2, 2.7), (3, 2.6)])
def test_what_stopped_a_run_is_overstated_and_corrected(at, z):
    naive = z / math.sqrt(FRACTIONS[at])
    drift = sequential.corrected_drift(BOUNDS, at, z)
    assert drift.low < drift.middle < naive < drift.high


# -- a gate at a look --------------------------------------------------------------------

LOOKS = (2, 4, 6, 8)


def look_facts(decision, p=0.4, *, at=1, p_at_worst=None, se=0.02):
    look = sequential.Look(LOOKS, at)
    result = TestResult(name="paired t", p=p, se=se)
    worst = p if p_at_worst is None else p_at_worst
    return look.of_gate(BOUNDS, decision, result, p_at_worst=worst)


def settled(*args, **changed):
    return look_facts(*args, **changed).settled


def test_a_failure_is_sure():
    assert settled(Decision(Verdict.FAIL), p=1e-6) == "fail"


def test_a_futile_pass_is_sure():
    assert settled(Decision(Verdict.PASS), p=0.9) == "pass"


def test_a_pass_that_may_yet_fail_is_unsure():
    assert settled(Decision(Verdict.PASS), p=0.05) is None


def test_a_pass_that_missing_rewards_may_turn_is_unsure():
    assert settled(Decision(Verdict.PASS), p=0.9, p_at_worst=0.05) is None


def test_tasks_that_are_gone_stay_gone():
    nothing = NothingInCommon(metric="mean_reward", excluded=0)
    assert settled(Decision(Verdict.INCONCLUSIVE, (nothing,))) == "fail"


def test_missing_rewards_may_yet_come():
    missing = ManyMissing(metric="mean_reward", share=0.1)
    assert settled(Decision(Verdict.INCONCLUSIVE, (missing,)), p=0.9) is None


def test_a_look_tells_its_number_and_its_rollouts():
    facts = look_facts(Decision(Verdict.PASS), p=0.05)
    assert facts.number == 2
    assert facts.of == 4
    assert facts.rollouts == 4
    assert facts.most == 8


def test_a_look_tells_its_information_and_the_p_from_which_on_it_is_futile():
    facts = look_facts(Decision(Verdict.PASS), p=0.05)
    assert facts.information == FRACTIONS[1]
    assert facts.futile_p == pytest.approx(norm.sf(BOUNDS.futility[1]), rel=1e-5)


def test_the_drop_of_a_gate_that_is_sure_is_corrected():
    facts = look_facts(Decision(Verdict.FAIL), p=0.001)
    drift = sequential.corrected_drift(BOUNDS, 1, norm.isf(0.001))
    unit = 0.02 * math.sqrt(FRACTIONS[1])
    assert facts.drop == pytest.approx(unit * drift.middle, rel=1e-5)
    assert facts.drop_low == pytest.approx(unit * drift.low, rel=1e-5)
    assert facts.drop_high == pytest.approx(unit * drift.high, rel=1e-5)


def test_the_drop_of_a_gate_that_goes_on_is_not_corrected_yet():
    assert look_facts(Decision(Verdict.PASS), p=0.05).drop is None


def test_the_drop_is_corrected_at_the_last_look_in_any_case():
    assert look_facts(Decision(Verdict.PASS), p=0.05, at=3).drop is not None


def test_a_drop_without_an_error_is_not_corrected():
    assert look_facts(Decision(Verdict.FAIL), p=0.001, se=0.0).drop is None


def test_the_drop_of_the_first_look_needs_no_correction():
    assert look_facts(Decision(Verdict.FAIL), p=0.001, at=0).drop is None


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_a_p_at_an_end_of_its_range_is_no_drift(p):
    assert look_facts(Decision(Verdict.FAIL), p=p).drop is None


def test_a_look_tells_numbers_of_six_digits():
    facts = look_facts(Decision(Verdict.FAIL), p=0.001)
    numbers = (facts.futile_p, facts.drop, facts.drop_low, facts.drop_high)
    assert numbers == tuple(float(f"{number:.6g}") for number in numbers)


def test_too_few_tasks_of_the_baseline_stay_too_few():
    few = LowCoverage(
        metric="mean_reward",
        paired=8,
        of=10,
        min_coverage=0.9,
        removed=("a", "b"),
        removed_count=2,
        left_out=(),
        left_out_count=0,
    )
    assert settled(Decision(Verdict.INCONCLUSIVE, (few,))) == "fail"


def test_a_warning_that_is_futile_is_sure():
    assert settled(Decision(Verdict.WARN), p=0.9) == "pass"


def test_a_metric_whose_p_is_unknown_has_no_look():
    pair = make_pair([[1.0]] * 30, [[0.5]] * 30)
    pair.current[3] = math.nan
    (check,) = several([pair], look=sequential.Look(LOOKS, 0))
    assert check.look is None


def test_a_metric_without_tasks_has_no_look():
    (check,) = several([make_pair([], [])], look=sequential.Look(LOOKS, 0))
    assert check.look is None
    assert check.bound.settings == rule()


def test_the_bounds_of_a_look_are_of_the_mean_number_of_rollouts_before():
    before = [[1.0] * 2, [1.0] * 6] * 30
    after = [[1.0, 1.0]] * 60
    look = sequential.Look(LOOKS, 1)
    (check,) = several([make_pair(before, after)], look=look)
    assert check.look.information == sequential.fractions_of(LOOKS, 4)[1]


def test_what_missing_rewards_may_turn_keeps_a_run_going():
    """A pass that is futile as it is, and not with the missing rewards at their worst."""
    same = flips(2, 20, 178)
    compared = ComparisonInput(pair=same, rule=rule(), gate_id="g")
    look = sequential.Look(LOOKS, 2)
    (sure,) = check_regression([Gated(compared=compared)], look=look)
    missing = Gated(compared=compared, worst=flips(10, 2, 188))
    (unsure,) = check_regression([missing], look=look)
    assert sure.look.settled == "pass"
    assert unsure.look.settled is None


def test_a_metric_is_judged_at_the_level_of_the_look():
    look = sequential.Look(LOOKS, 0)
    (check,) = several([flips(9, 1, 100)], look=look)
    baseline_rollouts = 1
    level = look.level(look.bounds(0.01, baseline_rollouts))
    assert check.bound.settings == rule(alpha=level)
    assert level < 0.01


def test_a_rule_without_a_test_keeps_its_level_and_has_no_look():
    look = sequential.Look(LOOKS, 0)
    (check,) = several([flips(9, 1, 100)], [rule("exact")], look=look)
    assert check.bound.settings == rule("exact")
    assert check.look is None


# -- whole runs --------------------------------------------------------------------------


def ragged(rows):
    """Every other task has 2 rollouts in the baseline, the others 8."""
    return [row[:8] if place % 2 == 0 else row[:2] for place, row in enumerate(rows)]


def taken(rows, rollouts):
    """A round's rollouts; every fifth task lacks one."""
    return [
        row[: rollouts - 1] if place % 5 == 4 else row[:rollouts]
        for place, row in enumerate(rows)
    ]


def two_metrics(seed, drop):
    """Rewards of a baseline and of a run, for each of two metrics of 60 tasks."""
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        chance = rng.beta(0.4, 0.4, (60, 1))
        before = (rng.random((60, 8)) < chance).astype(float)
        after = (rng.random((60, 8)) < chance - drop).astype(float)
        sides.append((ragged(before), after))
    return sides


def judged(sides, rollouts, look=None):
    """Judge both metrics, and the first of them under another name."""
    pairs = [make_pair(before, taken(after, rollouts)) for before, after in sides]
    named = [replace(pair, name=f"metric {at}") for at, pair in enumerate(pairs)]
    return several([*named, replace(pairs[0], name="again")], look=look)


def stopped(sides):
    """Take rounds until the run is sure; return its rollouts and its checks."""
    for at, rollouts in enumerate(LOOKS):
        checks = judged(sides, rollouts, sequential.Look(LOOKS, at))
        sure = [check.look.settled for check in checks]
        if "fail" in sure or all(sure):
            return rollouts, checks
    return LOOKS[-1], checks


def is_red(checks):
    return any(check.verdict is Verdict.FAIL for check in checks)


SEEDS = range(6)


@pytest.fixture(scope="module", params=[0.0, 0.15], ids=["unchanged", "worse"])
def six_runs(request):
    """Of each run its rollouts, whether it was red, and whether all rollouts are."""
    runs = []
    for seed in SEEDS:
        sides = two_metrics(seed, request.param)
        rollouts, checks = stopped(sides)
        runs.append((rollouts, is_red(checks), is_red(judged(sides, LOOKS[-1]))))
    return request.param, runs


def test_a_run_that_may_stop_is_red_about_as_often_as_the_whole(six_runs):
    drop, runs = six_runs
    red = sum(early for _, early, _ in runs)
    red_as_a_whole = sum(whole for _, _, whole in runs)
    assert red >= red_as_a_whole - 1
    assert red <= (6 if drop else 1)
    assert red_as_a_whole > 4 or not drop


def test_a_run_that_may_stop_saves_nearly_half_of_the_rollouts(six_runs):
    _, runs = six_runs
    rollouts = sum(rollouts for rollouts, _, _ in runs)
    assert rollouts <= 0.55 * len(SEEDS) * LOOKS[-1]


@pytest.mark.parametrize("drop", [0.0, 0.15])
def test_two_names_of_one_number_have_one_verdict(drop):
    _, checks = stopped(two_metrics(3, drop))
    assert checks[0].verdict is checks[2].verdict


def test_a_run_stops_at_the_same_look_each_time():
    rollouts, checks = stopped(two_metrics(3, 0.15))
    again, checks_again = stopped(two_metrics(3, 0.15))
    assert rollouts == again
    assert [check.look for check in checks] == [check.look for check in checks_again]


# -- thresholds --------------------------------------------------------------------------

INTERVAL = Interval(0.4, 0.6, level=0.95, method="t")


def repeated_half(at):
    """Half the width of the interval of 0.5 that holds at all looks."""
    if at == 0:  # the only look
        look = sequential.Look((8,), 0)
        z = norm.isf(0.01)
    else:
        look = sequential.Look(LOOKS, at)
        z = look.bounds(0.01, math.inf).efficacy[at]
    return look, 0.1 * z / norm.isf(0.025)


@pytest.mark.parametrize("at", [0, 3])
def test_a_threshold_beyond_the_repeated_interval_is_sure(at):
    look, half = repeated_half(at)
    beyond = half + 1e-6
    assert look.settles(0.5, INTERVAL, 0.5 + beyond, None) == "fail"
    assert look.settles(0.5, INTERVAL, 0.5 - beyond, None) == "pass"
    assert look.settles(0.5, INTERVAL, None, 0.5 - beyond) == "fail"
    assert look.settles(0.5, INTERVAL, None, 0.5 + beyond) == "pass"


@pytest.mark.parametrize("at", [0, 3])
def test_a_threshold_within_the_repeated_interval_is_unsure(at):
    look, half = repeated_half(at)
    within_it = half - 1e-6
    assert look.settles(0.5, INTERVAL, 0.5 + within_it, None) is None
    assert look.settles(0.5, INTERVAL, 0.5 - within_it, None) is None


def test_a_number_surely_between_two_bounds_passes():
    look, half = repeated_half(3)
    inside = half + 1e-6
    assert look.settles(0.5, INTERVAL, 0.5 - inside, 0.5 + inside) == "pass"
    assert look.settles(0.5, INTERVAL, 0.5 - inside, 0.51) is None
    assert look.settles(0.5, INTERVAL, 0.49, 0.5 + inside) is None
    assert look.settles(0.5, INTERVAL, None, None) == "pass"


def test_the_repeated_interval_is_as_skewed_as_the_interval():
    look, half = repeated_half(3)
    skewed = Interval(0.45, 0.6, level=0.95, method="wilson")
    assert look.settles(0.5, skewed, 0.5 - half / 2 - 1e-6, None) == "pass"
    assert look.settles(0.5, skewed, 0.5 - half / 2 + 1e-6, None) is None
    assert look.settles(0.5, skewed, None, 0.5 + half + 1e-6) == "pass"


def test_an_interval_of_another_level_is_widened_to_the_same_end():
    look, half = repeated_half(3)
    width = 0.1 * norm.isf(0.05) / norm.isf(0.025)
    narrower = Interval(0.5 - width, 0.5 + width, level=0.9, method="t")
    assert look.settles(0.5, narrower, 0.5 - half - 1e-6, None) == "pass"
    assert look.settles(0.5, narrower, 0.5 - half + 1e-6, None) is None


@pytest.mark.parametrize("interval", [None, Interval(0.5, 0.5, 0.95, "t")])
def test_a_threshold_of_a_number_without_an_interval_is_unsure(interval):
    look = sequential.Look(LOOKS, 1)
    assert look.settles(0.5, interval, 0.6, None) is None


def test_the_check_of_a_threshold_tells_the_look():
    look = sequential.Look(LOOKS, 1)
    estimate = Estimate("pass@1", 0.5, tasks=60, rollouts=240, interval=INTERVAL)
    check = Check(gate=Gate.THRESHOLD, name="pass@1", verdict=Verdict.FAIL)
    looked = look.with_threshold(check, estimate, Threshold(min=0.9))
    expected = LookFacts(number=2, of=4, rollouts=4, most=8, settled="fail")
    assert looked.look == expected


# -- rollouts that repeat each other -----------------------------------------------------


def reds_of_copies(independent):
    """Count the red ones of 60 unchanged runs of two tasks, each of copies of one rollout."""
    rng = np.random.default_rng(11)
    looks = sequential.looks_between(4, 16)
    red = 0
    for _ in range(60):
        chance = rng.uniform(0.1, 0.9, (2, 1))
        sides = [(rng.random((2, 1)) < chance) * 1.0 for _ in range(2)]
        before = np.repeat(sides[0], 16, axis=1)
        settled = None
        for at, taken in enumerate(looks):
            after = np.repeat(sides[1], taken, axis=1)
            pair = make_pair(before.tolist(), after.tolist())
            look = sequential.Look(looks, at)
            (check,) = several([pair], look=look, independent=independent)
            settled = check.look.settled
            if settled is not None:  # a run ends there
                break
        red += settled == "fail"
    return red


def test_copies_of_one_rollout_are_seldom_red_at_an_early_look():
    # of 60 runs at 1.5 %
    assert reds_of_copies(independent=None) <= 4


def test_copies_that_are_declared_independent_are_believed_and_often_red():
    # about one run in ten
    assert reds_of_copies(independent=True) >= 5
