"""The baseline gate: what can be compared, missing rewards, and what a check keeps."""

import math

import numpy as np
import pytest
from comparison.making import flips, make_combined, make_pair, rule, run
from gates.making import checked, several
from msgspec.structs import replace

from pytest_evalmetrics.comparison import ComparisonInput
from pytest_evalmetrics.gates.regression import Gated, accepted, check_regression
from pytest_evalmetrics.model.blindness import AllLost, FewUnits
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    LowCoverage,
    ManyMissing,
    MissingDecide,
    NothingInCommon,
    TaskListChanged,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

PASS = Verdict.PASS
WARN = Verdict.WARN
FAIL = Verdict.FAIL
INCONCLUSIVE = Verdict.INCONCLUSIVE
RULES = ("exact", "absolute", "relative", "statistical", "practical", "noninferior")


# -- several metrics ---------------------------------------------------------------------


def test_the_metrics_that_are_tested_share_the_level():
    shared, _ = several([flips(9, 1, 100), flips(10, 10, 90)])  # mid-p 0.0059
    assert shared.verdict is WARN
    assert shared.comparison.p_adjusted == pytest.approx(
        2 * shared.comparison.p, rel=0.05
    )


def test_a_metric_beside_rules_without_a_test_keeps_the_level():
    others = ("exact", "absolute", "relative", "noninferior")
    rules = [rule(), *(rule(name, max_drop=0.5) for name in others)]
    check, *_ = several([flips(9, 1, 100)] + [flips(1, 1, 100)] * 4, rules)
    assert check.verdict is FAIL
    assert check.comparison.p_adjusted == check.comparison.p


def test_a_metric_beside_one_that_is_blind_keeps_the_level():
    blind, check = several([make_combined([1.0], [0.5]), flips(12, 1, 100)])
    assert blind.verdict is PASS
    assert check.verdict is FAIL


def test_checks_are_in_the_order_of_the_metrics():
    names = ["a", "b", "c"]
    checks = several([replace(flips(1, 1, 100), name=name) for name in names])
    assert [check.name for check in checks] == names


def test_no_metric_makes_no_check():
    assert several([]) == []


# -- what can be compared ----------------------------------------------------------------

GONE = tuple(f"t{number}" for number in range(10))


def test_a_tenth_of_the_tasks_may_be_gone_if_nine_tenths_are_enough():
    pair = replace(flips(0, 0, 90), removed=GONE)
    assert checked(pair, min_coverage=0.9).verdict is PASS


def test_coverage_is_of_the_baselines_tasks():
    pair = replace(flips(0, 0, 90), removed=(*GONE, "u"))
    check = checked(pair, min_coverage=0.9)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (
        LowCoverage(
            metric="mean_reward",
            paired=90,
            of=101,
            min_coverage=0.9,
            removed=GONE,
            removed_count=11,
            left_out=(),
            left_out_count=0,
        ),
    )


def test_tasks_without_a_value_on_one_side_are_not_covered():
    pair = replace(flips(0, 0, 80), excluded=tuple(range(20)))
    (reason,) = checked(pair, min_coverage=0.9).reasons
    assert reason.paired == 80
    assert reason.left_out == tuple(str(task) for task in range(10))
    assert reason.left_out_count == 20


def test_tasks_that_only_lack_rewards_are_covered():
    pair = replace(flips(0, 0, 80), excluded=tuple(range(20)))
    check = checked(pair, worst=flips(0, 0, 100), min_coverage=0.9)
    assert check.verdict is PASS


def test_coverage_allows_for_rounding():
    # 0.55 * 100 is 55.00000000000001
    pair = replace(flips(0, 0, 55), removed=tuple(range(45)))
    assert checked(pair, min_coverage=0.55).verdict is PASS


@pytest.mark.parametrize("name", RULES)
def test_nothing_in_common_is_no_pass(name):
    pair = replace(make_pair([], []), removed=(1, 2), added=(3,))
    check = checked(pair, rule(name))
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (NothingInCommon(metric="mean_reward", excluded=0),)
    assert check.value is None


def test_common_tasks_without_values_are_counted():
    check = checked(replace(make_pair([], []), excluded=tuple(range(200))))
    assert check.reasons == (NothingInCommon(metric="mean_reward", excluded=200),)


# -- missing rewards ---------------------------------------------------------------------


def test_five_percent_missing_can_be_judged():
    assert checked(flips(30, 10, 160), missing=0.05).verdict is FAIL


def test_more_than_five_percent_missing_cannot_be_judged():
    check = checked(flips(30, 10, 160), missing=0.0501)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (ManyMissing(metric="mean_reward", share=0.0501),)
    assert check.comparison.missing == 0.0501


@pytest.mark.parametrize(
    ("worst", "at_worst", "verdict"),
    [
        (flips(11, 2, 187), "FAIL", INCONCLUSIVE),
        (flips(3, 2, 195), "PASS", PASS),
        (flips(8, 2, 190), "WARN", PASS),
    ],
    ids=["would fail", "would pass", "would warn"],
)
def test_a_pass_that_missing_rewards_would_turn_is_no_verdict(worst, at_worst, verdict):
    check = checked(flips(2, 2, 196), worst=worst, missing=0.035)
    assert check.verdict is verdict
    assert check.comparison.worst_case.verdict == at_worst


def test_a_pass_that_could_not_be_judged_with_missing_rewards_is_no_verdict():
    unsure = rule("noninferior", max_drop=0.03)
    check = checked(flips(2, 2, 196), unsure, worst=flips(5, 2, 193), missing=0.035)
    assert check.verdict is INCONCLUSIVE
    assert check.comparison.worst_case.verdict == "INCONCLUSIVE"


def test_a_failure_stays_one_whatever_is_missing():
    check = checked(flips(30, 10, 160), worst=flips(33, 10, 157), missing=0.035)
    assert check.verdict is FAIL


def test_missing_rewards_that_decide_are_told_with_both_values():
    check = checked(flips(2, 2, 196), worst=flips(11, 2, 187), missing=0.035)
    (reason,) = check.reasons
    assert reason == MissingDecide(
        metric="mean_reward",
        baseline=pytest.approx(0.99),
        current=pytest.approx(0.945),
    )


def test_the_worst_case_is_kept():
    worst = flips(11, 2, 187)
    check = checked(flips(2, 2, 196), worst=worst, missing=0.035)
    kept = check.comparison.worst_case
    assert kept.baseline == pytest.approx(0.99)
    assert kept.current == pytest.approx(0.945)
    assert kept.drop == pytest.approx(0.045)
    assert kept.p_adjusted == pytest.approx(checked(worst).comparison.p)


def test_nothing_missing_has_no_worst_case():
    assert checked(flips(2, 2, 196)).comparison.worst_case is None


# -- laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_identical_runs_never_fail(seed):
    rng = np.random.default_rng(seed)
    tasks = int(rng.integers(1, 80))
    digits = int(rng.integers(0, 3))
    rewards = [rng.random(n).round(digits).tolist() for n in rng.integers(1, 6, tasks)]
    clusters = rng.integers(0, 9, tasks) if seed % 3 == 0 else None
    pair = make_pair(rewards, rewards, clusters=clusters)
    median = make_combined(pair.baseline, pair.baseline, clusters=clusters)
    names = RULES[:-1]
    rules = [*(rule(name) for name in names), rule()]
    checks = several([*[pair] * len(names), median], rules)
    assert {check.verdict for check in checks} == {PASS}


@pytest.mark.parametrize("name", RULES)
def test_a_drop_that_is_no_number_is_never_a_pass(name):
    pair = make_pair([[1.0]] * 30, [[0.5]] * 30)
    pair.current[3] = math.nan
    assert checked(pair, rule(name)).verdict is INCONCLUSIVE


# -- what a check keeps ------------------------------------------------------------------


def whole_check(**changed):
    estimate = Estimate("mean_reward", 0.9, tasks=100, rollouts=100)
    compared = ComparisonInput(pair=flips(9, 1, 90), rule=rule(), gate_id="g")
    gated = Gated(
        compared=compared, agent="blue", line=7, estimate=estimate, min_coverage=0.8
    )
    settings = {"acceptance": Acceptance.OTHER_RUN}
    (check,) = check_regression([gated], **(settings | changed))
    return check


def test_a_check_names_what_was_gated():
    check = whole_check()
    assert check.gate is Gate.BASELINE
    assert check.name == "mean_reward"
    assert check.agent == "blue"
    assert check.line == 7
    assert check.estimate.value == 0.9
    assert check.value == pytest.approx(0.91)


def test_a_check_keeps_how_a_change_is_accepted():
    assert whole_check().acceptance is Acceptance.OTHER_RUN


def test_a_check_keeps_the_rule_with_the_benchmarks_that_share_its_level():
    check = whole_check(benchmarks=12)
    assert check.bound == RuleBound(rule(benchmarks=12))


def test_a_check_keeps_the_coverage_that_was_asked_for():
    assert whole_check().comparison.min_coverage == 0.8


def test_a_failure_by_a_drop_needs_no_reason_beside_the_facts():
    check = checked(flips(30, 1, 69))
    assert check.verdict is FAIL
    assert check.reasons == ()


def test_a_failure_that_two_points_of_noise_between_runs_would_explain_says_so():
    check = whole_check()
    assert check.verdict is FAIL
    (unknown,) = check.reasons
    assert unknown.sd == pytest.approx(0.00935872)


def test_a_blind_gate_that_passes_keeps_that_it_is_blind():
    check = checked(make_pair([[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3))
    assert check.verdict is PASS
    assert check.reasons == ()
    assert check.comparison.blind == FewUnits("task", units=3, needed=7, alpha=0.01)


def test_a_blind_gate_without_a_verdict_says_so():
    check = checked(make_pair([[1.0]] * 3, [[0.0]] * 3))
    blind = FewUnits("task", units=3, needed=7, alpha=0.01)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (BlindGate(cause=blind),)


def test_a_collapse_that_nothing_could_prove_is_kept_as_blindness():
    single = checked(make_pair([[1.0]] * 3 + [[0.0]] * 30, [[0.0]] * 33))
    assert single.verdict is PASS  # three of 33 single rollouts are noise
    assert single.reasons == (BlindGate(cause=AllLost(alpha=0.01)),)
    assert single.comparison.blind == AllLost(alpha=0.01)


def test_a_run_that_cannot_stop_early_has_no_look():
    assert whole_check().look is None


# -- recording a new baseline ------------------------------------------------------------


def test_a_check_passes_in_a_run_that_records_its_baseline():
    check = accepted(whole_check())
    assert check.verdict is PASS
    assert check.reasons == ()


def test_a_changed_task_list_is_still_told_where_it_is_accepted():
    changed = TaskListChanged(
        expected=3,
        lost=("a",),
        lost_count=1,
        edited=(),
        edited_count=0,
        moved=(),
        moved_count=0,
        new=(),
        new_count=0,
        reward="reward",
        is_covered=False,
    )
    check = Check(
        gate=Gate.BASELINE,
        name="tasks",
        verdict=FAIL,
        reasons=(changed, ManyMissing(metric="mean_reward", share=0.1)),
    )
    assert accepted(check).reasons == (changed,)


def test_the_stated_drop_is_that_of_the_level_that_a_benchmark_has_of_the_run():
    pair = run(1, 200, 4)
    alone = checked(pair, rule(max_drop=0.0)).comparison.detectable_drop
    shared = checked(pair, rule(max_drop=0.0), benchmarks=100)
    stricter = checked(pair, rule(max_drop=0.0, alpha=0.0001))
    assert shared.comparison.detectable_drop > 1.3 * alone
    assert shared.comparison.detectable_drop == pytest.approx(
        stricter.comparison.detectable_drop
    )


def test_the_stated_drop_of_one_of_several_metrics_is_larger():
    pairs = [run(seed, 200, 4) for seed in range(3)]
    ids = ["a", "b", "c"]
    alone = checked(pairs[0]).comparison.detectable_drop
    first, *_ = several(pairs, ids=ids)
    assert first.comparison.detectable_drop > 1.05 * alone


def test_another_name_of_a_metric_states_the_same_drop():
    pair = run(1, 200, 4)
    alone = checked(pair).comparison.detectable_drop
    first, *_ = several([pair] * 4)
    assert first.comparison.detectable_drop == pytest.approx(alone)


# -- the level of several gates ----------------------------------------------------------


def level_of(share, alpha=0.01):
    gated = Gated(
        compared=ComparisonInput(
            pair=flips(9, 1, 90), rule=rule(alpha=alpha), gate_id="g"
        )
    )
    (check,) = check_regression([gated], level_share=share)
    return check.bound.settings.alpha


def test_a_share_of_the_level_is_left_to_other_gates():
    assert level_of(0.8) == 0.008
    assert level_of(1.0) == 0.01


def test_the_level_that_is_left_has_twelve_digits():
    # 0.07 * 0.8 is 0.056000000000000005
    assert level_of(0.8, alpha=0.07) == 0.056


def test_a_metric_beside_others_at_their_worst_is_adjusted_for_them():
    pairs = [flips(2, 2, 196), flips(3, 2, 195)]
    worst = [flips(11, 2, 187), None]
    gated = [
        Gated(
            compared=ComparisonInput(
                pair=replace(pair, name=f"m{at}"), rule=rule(), gate_id=f"g{at}"
            ),
            worst=worst[at],
        )
        for at, pair in enumerate(pairs)
    ]
    first, second = check_regression(gated)
    alone = checked(flips(11, 2, 187)).comparison.p
    beside = 1 - (1 - alone) ** 2
    assert first.comparison.worst_case.p_adjusted == pytest.approx(beside)
    assert second.comparison.worst_case is None


def test_a_rule_without_a_test_states_the_power_of_one_test():
    pair = run(1, 200, 4)
    alone = checked(pair, rule("absolute")).comparison.detectable_drop
    shared = checked(pair, rule("absolute"), benchmarks=100)
    assert shared.comparison.detectable_drop == alone


def test_a_run_that_lost_its_tasks_names_them_in_natural_order():
    removed = tuple(f"t{number}" for number in range(12, 0, -1))
    (reason,) = checked(replace(flips(0, 0, 10), removed=removed)).reasons
    assert reason.removed == tuple(f"t{number}" for number in range(1, 11))
    assert (reason.paired, reason.of, reason.removed_count) == (10, 22, 12)
