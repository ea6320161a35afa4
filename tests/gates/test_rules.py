"""The verdict of each rule on a comparison with numbers made by hand."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_pair, rule, run
from gates.making import checked
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats as oracle

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.gates.rules import (
    Change,
    Decision,
    RegisteredRule,
    decide,
    exceeds,
    registered_rule,
)
from pytest_evalmetrics.listing import listed
from pytest_evalmetrics.model.blindness import AllLost, FewRuns, FewUnits
from pytest_evalmetrics.model.comparison import (
    Coins,
    Independence,
    NoiseSource,
    RuleName,
    TestResult,
    TypicalDrop,
    Untestable,
)
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    DependentRollouts,
    Failed,
    HiddenDrop,
    LowPower,
    NotShown,
    OwnRule,
    SharedLevel,
    SmallDrop,
    Untested,
)
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.registry import register_gate_rule
from pytest_evalmetrics.spec.gate_keys import RULES
from pytest_evalmetrics.stats import paired_score_upper

PASS = Verdict.PASS
WARN = Verdict.WARN
FAIL = Verdict.FAIL
INCONCLUSIVE = Verdict.INCONCLUSIVE
# the upper end of a drop of 0.05 of 100 tasks
UPPER = 0.05 + oracle.t(99).ppf(0.99) * 0.01


def comparison(settings, drop=0.05, *, baseline=0.7, se=0.01, **changed):
    """A comparison of 100 tasks with these numbers."""
    current = baseline - settings.sign * drop
    pair = make_pair([[0.5]], [[0.5]], value_baseline=baseline, value_current=current)
    result = TestResult(
        name="paired t", p=0.001, df=99, se=se, low=drop - 2 * se, high=drop + 2 * se
    )
    values = {
        "pair": pair,
        "rule": settings,
        "damage": np.full(100, drop),
        "drop": drop,
        "test": result,
        "units": 100,
        "detectable": 3.2 * se,
        "span": 1.0,
        "unseen": None,
        "blind": None,
    }
    return structs.replace(compared(pair), **(values | changed))


def verdict_of(settings, drop, p, **changed):
    return decide(comparison(settings, drop, **changed), p).verdict


def test_a_drop_that_is_undefined_without_a_reason_is_one_of_few_units():
    decision = decide(comparison(rule(), math.nan, untested=None), math.nan)
    (reason,) = decision.reasons
    assert decision.verdict is INCONCLUSIVE
    assert reason.cause == "few_units"


# -- the size of a drop ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drop", "verdict"),
    [
        (0.001, FAIL),
        (1e-12, PASS),  # what additions round off
        (0.0, PASS),
        (-0.1, PASS),
    ],
)
def test_exact_fails_any_drop_at_all_whatever_p(drop, verdict):
    assert verdict_of(rule("exact"), drop, p=0.4) is verdict


@pytest.mark.parametrize(
    ("drop", "verdict"), [(0.02 + 5e-10, PASS), (0.02 + 2e-9, FAIL)]
)
def test_absolute_fails_a_drop_of_more_than_max_drop(drop, verdict):
    assert verdict_of(rule("absolute", max_drop=0.02), drop, p=0.001) is verdict


@pytest.mark.parametrize(("drop", "verdict"), [(0.07, PASS), (0.0701, FAIL)])
def test_relative_fails_a_drop_of_more_than_a_share_of_the_baseline(drop, verdict):
    # 10 % of a baseline of 0.7
    assert verdict_of(rule("relative", max_drop=0.1), drop, p=0.001) is verdict


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000)),
        min_size=1,
        max_size=30,
    ),
    st.floats(0, 0.9),
    st.sampled_from(["higher", "lower"]),
)
def test_relative_is_a_share_of_the_size_of_the_baseline(tasks, share, direction):
    baseline = [[before] for before, _ in tasks]
    current = [[after] for _, after in tasks]
    drop = np.mean(baseline) - np.mean(current)
    damage = drop if direction == "higher" else -drop
    # (1 - share) b - c alone would call a negative number worse that is the same
    beyond = damage - share * abs(np.mean(baseline))
    if abs(beyond) < 1e-6:
        return
    relative = rule("relative", direction=direction, max_drop=share)
    check = checked(make_pair(baseline, current), relative)
    assert (check.verdict is FAIL) == (beyond > 0)


def test_relative_to_a_baseline_of_0_is_any_drop_at_all():
    relative = rule("relative", direction="lower", max_drop=0.1)
    assert verdict_of(relative, 1e-6, p=0.5, baseline=0.0) is FAIL


def test_no_drop_from_a_negative_baseline_passes():
    assert verdict_of(rule("relative", max_drop=0.1), 0.0, 0.5, baseline=-10.0) is PASS


@pytest.mark.parametrize("name", ["exact", "practical"])
def test_small_numbers_are_judged_by_their_own_size(name):
    cost = make_pair([[2e-7]] * 30, [[3e-7]] * 30)
    check = checked(cost, rule(name, direction="lower", max_drop=0.0))
    assert check.verdict is FAIL


def test_large_numbers_are_judged_by_their_own_size():
    size = make_pair([[1e9 + 0.25]] * 3, [[1e9]] * 3)
    assert checked(size, rule("exact")).verdict is PASS  # a billionth of it


def test_a_drop_fails_without_a_reason_of_its_own():
    assert decide(comparison(rule("exact")), 0.4) == Decision(FAIL)


# -- its significance --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "verdict"),
    [(0.0099, FAIL), (0.01, WARN), (0.0499, WARN), (0.05, PASS)],
)
def test_statistical_fails_below_alpha_and_warns_below_warn_alpha(p, verdict):
    assert verdict_of(rule("statistical"), 0.001, p) is verdict


@pytest.mark.parametrize("name", ["statistical", "practical"])
def test_a_gain_passes_whatever_p(name):
    assert verdict_of(rule(name), -0.001, p=0.001) is PASS


@pytest.mark.parametrize(
    ("drop", "p", "verdict"),
    [
        (0.01 - 5e-10, 0.0099, FAIL),
        (0.0099, 0.0099, PASS),
        (0.01, 0.02, WARN),
        (0.0099, 0.02, PASS),
        (0.01, 0.05, PASS),
    ],
)
def test_practical_fails_a_significant_drop_of_at_least_max_drop(drop, p, verdict):
    assert verdict_of(rule("practical"), drop, p) is verdict


def test_practical_without_a_max_drop_fails_any_significant_drop():
    assert verdict_of(rule("practical", max_drop=0.0), 0.0001, p=0.0099) is FAIL


def test_a_real_drop_under_max_drop_is_remarked():
    decision = decide(comparison(rule("practical"), 0.0099), 0.002)
    assert decision == Decision(PASS, (SmallDrop(p=0.002, max_drop=0.01),))


@pytest.mark.parametrize("name", ["statistical", "practical"])
def test_a_drop_without_a_p_is_not_judged(name):
    decision = decide(comparison(rule(name), 0.1), math.nan)
    untested = Untested(
        cause="few_units", metric="mean_reward", rule=name, max_drop=0.01
    )
    assert decision == Decision(INCONCLUSIVE, (untested,))


def test_no_drop_passes_without_a_p():
    assert verdict_of(rule("statistical"), 0.0, p=math.nan) is PASS


def test_a_drop_that_the_statistic_refused_is_told_in_its_words():
    refused = Untestable(cause="words", words="a task has no value")
    decision = decide(
        comparison(rule("exact"), drop=math.nan, untested=refused), math.nan
    )
    untested = Untested(
        cause="words",
        words="a task has no value",
        metric="mean_reward",
        rule="exact",
        max_drop=0.01,
    )
    assert decision == Decision(INCONCLUSIVE, (untested,))


def test_a_metric_that_is_undefined_on_resampled_tasks_is_told_in_its_words():
    refused = Untestable(cause="resampled", words="too few for it")
    decision = decide(comparison(rule(), 0.1, untested=refused), math.nan)
    (untested,) = decision.reasons
    assert untested.cause == "resampled"
    assert untested.words == "too few for it"


@pytest.mark.parametrize(("p", "verdict"), [(0.125, PASS), (0.04, WARN)])
def test_a_blind_gate_is_not_red_by_a_drop_that_nothing_proves(p, verdict):
    blind = FewUnits(unit="task", units=3, needed=7, alpha=0.01)
    decision = decide(comparison(rule(), 0.1, blind=blind), p)
    assert decision == Decision(verdict)


def test_a_proof_by_rollouts_that_may_repeat_each_other_warns():
    drop = comparison(rule(), 0.1, independence=Independence.UNSHOWN)
    decision = decide(drop, 0.001)
    assert decision == Decision(WARN, (DependentRollouts(Independence.UNSHOWN),))


def test_a_proof_by_independent_rollouts_fails():
    drop = comparison(rule(), 0.1, independence=Independence.SHOWN)
    assert decide(drop, 0.001) == Decision(FAIL)


def test_a_blind_gate_passes_where_there_is_no_drop():
    blind = FewUnits(unit="task", units=3, needed=7, alpha=0.01)
    assert verdict_of(rule(), 0.0, p=1.0, blind=blind) is PASS


def lost_all(p):
    """A collapse of three tasks that had anything to lose, of 33."""
    pair = make_pair([[1.0]] * 3 + [[0.0]] * 30, [[0.0]] * 33)
    return decide(structs.replace(compared(pair), blind=None), p)


def test_a_collapse_of_what_there_was_is_never_a_warning():
    all_lost = BlindGate(cause=AllLost(alpha=0.01))
    assert lost_all(0.02) == Decision(INCONCLUSIVE, (all_lost,))


def test_a_collapse_that_may_be_noise_passes_with_a_remark():
    all_lost = BlindGate(cause=AllLost(alpha=0.01))
    assert lost_all(0.06) == Decision(PASS, (all_lost,))


# -- many benchmarks ---------------------------------------------------------------------


def test_benchmarks_of_a_run_share_the_level():
    # 9 worse and 1 better have a mid-p of 0.0059
    assert checked(flips(9, 1, 100), benchmarks=1).verdict is FAIL
    assert checked(flips(9, 1, 100), benchmarks=50).verdict is WARN


def test_a_drop_that_is_surprising_alone_says_among_how_many():
    check = checked(flips(9, 1, 100), benchmarks=50)
    shared = SharedLevel(alpha=0.01, benchmarks=50, is_surest=False)
    assert check.reasons == (shared,)


def test_a_drop_that_is_sure_among_all_fails():
    assert checked(flips(30, 1, 100), benchmarks=50).verdict is FAIL


def test_a_collapse_of_tasks_that_cannot_be_surer_gives_no_verdict():
    # eight tasks can't be surer than 1 / 256
    check = checked(make_pair([[1.0]] * 8, [[0.0]] * 8), benchmarks=50)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (SharedLevel(alpha=0.01, benchmarks=50, is_surest=True),)


def test_a_drop_that_so_few_tasks_cant_show_among_many_benchmarks_warns():
    # eight unchanged tasks all get worse in one of 256 runs: of 50, that is one in five
    check = checked(make_pair([[0.9]] * 8, [[0.4]] * 8), benchmarks=50)
    assert check.verdict is WARN
    assert check.reasons == (SharedLevel(alpha=0.01, benchmarks=50, is_surest=True),)


# -- its upper bound ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_drop", "drop", "verdict"),
    [
        # D + t SE <= delta
        (UPPER + 1e-6, 0.05, PASS),
        (UPPER - 1e-6, 0.05, INCONCLUSIVE),
        (0.04, 0.05, FAIL),
        (0.02, -0.05, PASS),
    ],
)
def test_noninferior_passes_where_the_upper_bound_is_at_most_max_drop(
    max_drop, drop, verdict
):
    assert verdict_of(rule("noninferior", max_drop=max_drop), drop, p=0.5) is verdict


def test_a_drop_that_is_not_shown_to_be_small_tells_its_upper_bound():
    noninferior = rule("noninferior", max_drop=0.06)
    decision = decide(comparison(noninferior, 0.05), 0.5)
    (reason,) = decision.reasons
    assert reason == NotShown(upper=pytest.approx(UPPER), max_drop=0.06)


@pytest.mark.parametrize(("more", "verdict"), [(1e-6, PASS), (-1e-6, INCONCLUSIVE)])
def test_noninferior_where_nothing_differs_rests_on_unseen_flips(more, verdict):
    unseen = 1 - 0.01 ** (1 / 200)
    pair = make_pair([[1.0]] * 200, [[1.0]] * 200)
    check = checked(pair, rule("noninferior", max_drop=unseen + more))
    assert check.verdict is verdict


def test_where_no_task_moved_others_may_by_as_much_as_rewards_range():
    scores = [[value] for value in (0, 2, 3, 5, 9, 9, 4, 1, 2, 7)]
    unseen = 1 - 0.01 ** (1 / 10)
    pair = make_pair(scores, scores, bounded=False)
    check = checked(pair, rule("noninferior", max_drop=0.5))
    assert check.reasons == (NotShown(upper=pytest.approx(9 * unseen), max_drop=0.5),)


def test_noninferior_of_one_task_is_not_judged():
    one = make_pair([[1.0, 1.0]], [[1.0]])
    check = checked(one, rule("noninferior", max_drop=0.5))
    assert check.verdict is INCONCLUSIVE


def test_noninferior_without_an_upper_bound_is_not_judged():
    pair = make_pair([[1.0, 0.5]], [[1.0]], bounded=False)
    check = checked(pair, rule("noninferior", max_drop=0.5))
    (untested,) = check.reasons
    assert untested.cause == "no_bound"


@pytest.mark.parametrize(("more", "verdict"), [(1e-6, PASS), (-1e-6, INCONCLUSIVE)])
@pytest.mark.parametrize(("worse", "better"), [(0, 1), (1, 0), (2, 3)])
def test_noninferior_where_few_tasks_differ_is_not_as_sure_as_t(
    worse, better, more, verdict
):
    # with a true drop of 5 points t would pass 3 % of such runs
    upper = paired_score_upper(worse, better, 100, 0.01)
    pair = flips(worse, better, 100 - worse - better)
    check = checked(pair, rule("noninferior", max_drop=upper + more))
    assert check.verdict is verdict


# -- whether it would have been seen -----------------------------------------------------

TESTED_OR_NOT = ["practical", "statistical", "absolute", "exact"]


@pytest.mark.parametrize("name", TESTED_OR_NOT)
@pytest.mark.parametrize(
    ("wanted", "verdict"), [(None, PASS), (0.06, INCONCLUSIVE), (0.065, PASS)]
)
def test_a_pass_that_could_not_have_failed_is_red(name, wanted, verdict):
    # it sees 0.064
    assert verdict_of(rule(name, require_mde=wanted), 0.0, 0.5, se=0.02) is verdict


def test_low_power_tells_the_drop_that_is_visible():
    decision = decide(comparison(rule(require_mde=0.06), 0.0, se=0.02), 0.5)
    reason = LowPower(wanted=0.06, visible=0.064, none_differs=False)
    assert decision == Decision(INCONCLUSIVE, (reason,))


def test_a_warning_that_could_not_have_failed_is_red():
    assert verdict_of(rule(require_mde=0.06), 0.05, 0.02, se=0.02) is INCONCLUSIVE


def test_an_unknown_power_is_red():
    unknown = comparison(rule(require_mde=0.5), 0.0, detectable=math.nan)
    reason = LowPower(wanted=0.5, visible=None, none_differs=False)
    assert decide(unknown, 0.5) == Decision(INCONCLUSIVE, (reason,))


def test_low_power_never_hides_a_regression():
    assert verdict_of(rule(require_mde=0.01), 0.3, 0.001, se=0.05) is FAIL
    collapse = make_pair([[0.9]] * 200, [[0.6]] * 200)
    assert checked(collapse, rule(require_mde=0.01)).verdict is FAIL


@pytest.mark.parametrize(("wanted", "verdict"), [(0.03, PASS), (0.02, INCONCLUSIVE)])
def test_where_nothing_differs_power_is_of_unseen_flips(wanted, verdict):
    # 1 - .01^(1/200) = 0.0228 may go unseen
    alike = make_pair([[1.0]] * 200, [[1.0]] * 200)
    assert checked(alike, rule(require_mde=wanted)).verdict is verdict


def test_low_power_tells_that_nothing_differs():
    alike = make_pair([[1.0]] * 200, [[1.0]] * 200)
    (reason,) = checked(alike, rule(require_mde=0.02)).reasons
    unseen = 1 - 0.01 ** (1 / 200)
    assert reason.none_differs
    assert reason.visible == pytest.approx(unseen)


# -- rules beside each other -------------------------------------------------------------


def all_verdicts(seed, loss):
    pair = run(seed, 30, 2, loss)
    names = ("exact", "absolute", "statistical", "practical", "noninferior")
    return {name: checked(pair, rule(name, max_drop=0.05)).verdict for name in names}


@pytest.mark.parametrize(
    ("stricter", "laxer"),
    [
        ("statistical", "practical"),
        ("exact", "statistical"),
        ("exact", "absolute"),
        ("noninferior", "absolute"),
    ],
)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), loss=st.sampled_from([0.1, 0.5]))
def test_a_stricter_rule_never_passes_what_a_laxer_one_fails(
    stricter, laxer, seed, loss
):
    verdicts = all_verdicts(seed, loss)
    assume(verdicts[laxer] is FAIL)
    assert verdicts[stricter] is FAIL


# -- the user's rules --------------------------------------------------------------------


def own_settings(**changed):
    return structs.replace(rule(), rule=RuleName.OWN, own_name="steps", **changed)


def decided_by(function, **changed):
    own = RegisteredRule(decide=function, tests=True, bound="")
    return decide(comparison(own_settings(own_tests=True), **changed), 0.02, own)


def change_given_to_an_own_rule(**changed):
    changes = []

    def decide_change(change):
        changes.append(change)
        return PASS

    decided_by(decide_change, **changed)
    (change,) = changes
    return change


def test_an_own_rule_receives_what_is_compared():
    change = change_given_to_an_own_rule(drop=0.05)
    assert isinstance(change, Change)
    assert change.metric == "mean_reward"
    assert change.direction is Direction.HIGHER


def test_an_own_rule_receives_the_values_and_their_differences():
    change = change_given_to_an_own_rule(drop=0.05)
    assert change.baseline == 0.7
    assert change.current == pytest.approx(0.65)
    assert change.differences.tolist() == [0.05] * 100


def test_an_own_rule_receives_the_drop_and_how_sure_it_is():
    change = change_given_to_an_own_rule(drop=0.05)
    assert change.drop == 0.05
    assert change.interval == pytest.approx((0.03, 0.07))
    assert change.p == 0.02


def test_an_own_rule_receives_the_settings_of_the_file():
    change = change_given_to_an_own_rule()
    assert change.max_drop == 0.01
    assert change.alpha == 0.01
    assert change.warn_alpha == 0.05


def test_the_words_of_an_own_rule_are_kept():
    decision = decided_by(lambda _: (FAIL, "three steps down"))
    assert decision == Decision(FAIL, (OwnRule(words="three steps down"),))


def test_an_own_rule_may_give_a_verdict_alone():
    assert decided_by(lambda _: WARN) == Decision(WARN)


def test_an_own_rule_without_a_verdict_is_the_reason_itself():
    assert decided_by(lambda _: INCONCLUSIVE) == Decision(
        INCONCLUSIVE, (OwnRule(words=""),)
    )


@pytest.mark.parametrize("answer", ["fail", (FAIL, "worse", "far"), (FAIL, 3), None])
def test_an_own_rule_that_answers_otherwise_gives_no_verdict(answer):
    decision = decided_by(lambda _: answer)
    failed = Failed(
        words=f"the gate rule steps, asked about mean_reward, returned {answer!r}: "
        "expected a Verdict, or a Verdict and its reason",
        hint="fix the gate rule",
    )
    assert decision == Decision(INCONCLUSIVE, (failed,))


def test_an_own_rule_that_raises_gives_no_verdict_but_its_words():
    def decide_change(_):
        raise ValueError("no such step")

    failed = Failed(
        words="the gate rule steps, asked about mean_reward, raised ValueError: "
        "no such step",
        hint="fix the gate rule",
    )
    assert decided_by(decide_change) == Decision(INCONCLUSIVE, (failed,))


class Steps:
    """A rule as users write it."""

    tests = True

    def __init__(self, *, most=0.25):
        self.most = most
        self.bound = f"drop <= {most}"

    def decide(self, change):
        return FAIL if change.drop > self.most else PASS


def steps_down(change, *, most=0.25):
    """A rule as a function."""
    return FAIL if change.drop > most else PASS


def test_a_class_is_made_with_its_options():
    made = registered_rule("steps", Steps, {"most": 0.01})
    assert made.tests
    assert made.bound == "drop <= 0.01"
    assert decide(comparison(own_settings()), 0.5, made).verdict is FAIL


def test_a_function_takes_its_options_with_the_change():
    made = registered_rule("steps", steps_down, {"most": 0.01})
    assert not made.tests
    assert made.bound == ""
    assert decide(comparison(own_settings()), 0.5, made).verdict is FAIL


@pytest.mark.parametrize("target", [Steps, steps_down])
def test_options_that_a_rule_does_not_take_are_an_error(target):
    with pytest.raises(RegistryError, match=r"gate rule steps can't be made.*least"):
        registered_rule("steps", target, {"least": 1})


BUILT_IN_RULES = [rule.value for rule in RuleName if rule is not RuleName.OWN]


def test_a_benchmark_file_and_the_list_name_the_built_in_rules():
    _, _, rest = listed().partition("gate rules (")
    section, _, _ = rest.partition("\n\n")
    assert [line.split()[0] for line in section.splitlines()[1:]] == BUILT_IN_RULES
    assert list(RULES) == BUILT_IN_RULES


@pytest.mark.parametrize("name", BUILT_IN_RULES)
def test_no_rule_has_the_name_of_a_built_in_one(name):
    with pytest.raises(RegistryError, match=f"the gate rule '{name}' is built in"):
        register_gate_rule(name)


def collapsed(p, **changed):
    """A collapse of ten tasks, with these numbers."""
    pair = make_pair([[1.0]] * 10, [[0.0]] * 10)
    return decide(structs.replace(compared(pair), blind=None, **changed), p)


@pytest.mark.parametrize(
    ("source", "runs", "fails"),
    [
        (NoiseSource.DECLARED, 1, True),
        (NoiseSource.DECLARED, 2, False),
        (NoiseSource.HISTORY, 1, False),
    ],
)
def test_noise_that_only_the_file_states_excuses_no_collapse(source, runs, fails):
    decision = collapsed(
        0.5, noise_source=source, runs=runs, p_tasks=0.001, p_rollouts=math.nan
    )
    assert (decision.verdict is FAIL) is fails


def test_rollouts_prove_a_collapse_against_one_run_alone():
    assert collapsed(0.5, p_rollouts=0.001, runs=1).verdict is FAIL
    assert collapsed(0.5, p_rollouts=0.001, runs=3).verdict is not FAIL


# -- a drop that extreme rollouts hide ---------------------------------------------------


def hidden(p, *, drop=0.05, by_mean=0.5, settings=None, **changed):
    """Judge a mean whose p is `by_mean` beside the drop of most tasks."""
    typical = TypicalDrop(drop=drop, p=p, level=0.001, task=7, before=90.0, now=1.0)
    settings = settings or rule()
    return decide(comparison(settings, typical=typical, **changed), by_mean)


@pytest.mark.parametrize(
    ("p", "verdict"), [(0.0009, FAIL), (0.001, WARN), (0.0099, WARN), (0.01, PASS)]
)
def test_a_drop_of_most_tasks_fails_at_its_level_and_warns_at_alpha(p, verdict):
    decision = hidden(p)
    reason = HiddenDrop(drop=0.05, p=p, task="7", before=90.0, now=1.0)
    assert decision.verdict is verdict
    assert decision.reasons == (() if verdict is PASS else (reason,))


def test_a_drop_of_most_tasks_warns_at_the_level_of_all_benchmarks():
    settings = rule(benchmarks=10)
    assert hidden(0.002, settings=settings).verdict is PASS
    assert hidden(0.00099, settings=rule(benchmarks=10)).verdict is FAIL


def test_a_warning_by_the_mean_stays_what_it_is():
    assert hidden(0.005, by_mean=0.02) == Decision(WARN)


def test_a_failure_by_the_mean_stays_what_it_is():
    decision = hidden(0.0001, by_mean=0.001)
    assert decision.verdict is FAIL
    assert not any(isinstance(reason, HiddenDrop) for reason in decision.reasons)


@pytest.mark.parametrize(
    ("settings", "drop", "verdict"),
    [
        (rule("practical"), 0.01 - 5e-10, FAIL),
        (rule("practical"), 0.0099, PASS),
        (rule("statistical"), 0.0001, FAIL),
        (rule("statistical"), 0.0, PASS),
        (rule("practical", max_drop=0.0), 0.0, PASS),
    ],
)
def test_a_drop_of_most_tasks_has_to_matter_to_the_rule(settings, drop, verdict):
    assert hidden(0.0001, drop=drop, settings=settings).verdict is verdict


# -- noise between runs that hides a drop ------------------------------------------------


def against_runs(now, *, before=None, settings=None, **changed):
    """Judge a drop that tasks prove, and a few runs don't."""
    rows = [[value] for value in now]
    rows_before = [[value] for value in (before or [1.0] * len(now))]
    bounded = changed.pop("bounded", True)
    pair = make_pair(rows_before, rows, bounded=bounded)
    numbers = {"runs": 3, "p_tasks": 0.001, "lost_all": False, "pair": pair}
    return decide(comparison(settings or rule(), **(numbers | changed)), 0.5)


HIDDEN = Decision(INCONCLUSIVE, (BlindGate(cause=FewRuns(runs=3, alpha=0.01)),))
LOWER = rule(direction="lower")


@pytest.mark.parametrize(
    ("now", "settings"), [([0.0, 0.0], rule()), ([1.0, 1.0], LOWER)]
)
def test_a_rate_at_its_worst_end_is_no_pass_where_few_runs_hide_the_drop(now, settings):
    assert against_runs(now, settings=settings) == HIDDEN


@pytest.mark.parametrize(
    ("now", "settings"), [([2.0, 2.0], rule()), ([9.0, 9.0], LOWER)]
)
def test_values_at_the_worst_that_was_seen_are_no_pass_either(now, settings):
    before = [5.0, 2.5]
    decision = against_runs(now, before=before, settings=settings, bounded=False)
    assert decision == HIDDEN


@pytest.mark.parametrize(
    "changed",
    [
        {"now": [0.0, 0.1]},
        {"now": [1.0, 1.0]},
        {"now": [2.0, 3.0], "before": [5.0, 4.0], "bounded": False},
        {"now": [2.0, 2.0], "before": [1.0, 4.0], "bounded": False},
        {"now": [0.0, 0.0], "runs": 1},
        {"now": [0.0, 0.0], "p_tasks": 0.02},
    ],
    ids=["a rest", "the best", "not one value", "not the worst", "one run", "no proof"],
)
def test_a_drop_that_runs_explain_passes_where_anything_is_left(changed):
    assert against_runs(**changed) == Decision(PASS)


def test_a_metric_without_values_of_tasks_has_no_worst_end():
    pair = make_pair([[1.0]], [[0.0]], current=None)
    assert against_runs([0.0], pair=pair) == Decision(PASS)


def test_rollouts_prove_what_runs_hide_as_tasks_do():
    decision = against_runs([0.0, 0.0], p_tasks=0.5, p_rollouts=0.001)
    assert decision == HIDDEN


# -- what proves a loss of everything ----------------------------------------------------


def proven(**changed):
    """A loss of everything by ten tasks of which three had anything to lose."""
    numbers = {
        "independence": Independence.UNSHOWN,
        "had_most_to_lose": False,
        "tasks_with_room": 3,
        "coins": None,
        "p_rollouts": math.nan,
    }
    return collapsed(0.001, **(numbers | changed))


COPIED = (DependentRollouts(Independence.UNSHOWN),)


def test_three_tasks_that_lost_all_are_no_chance_whatever_their_rollouts():
    assert proven() == Decision(FAIL)


def test_two_tasks_that_lost_all_may_be_copies():
    assert proven(tasks_with_room=2) == Decision(WARN, COPIED)
    most = proven(tasks_with_room=2, had_most_to_lose=True)
    assert most == Decision(INCONCLUSIVE, COPIED)


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        # of five coins of which three come up, and then none
        (5, WARN),
        # all three come up, and go down: 1 / 64 at most, with a chance of a half
        (3, WARN),
        # of 40 coins of a chance of .2 or more none stays up in .8^40
        (40, FAIL),
    ],
)
def test_coins_are_a_chance_where_they_come_up_so_often(count, verdict):
    assert proven(coins=Coins(count=count, up=3)).verdict is verdict


def test_seven_coins_that_all_fall_are_no_chance():
    coins = Coins(count=7, up=7)
    assert proven(coins=coins, tasks_with_room=7) == Decision(FAIL)


def test_tasks_that_had_most_to_lose_are_no_coins():
    coins = Coins(count=5, up=3)
    assert proven(coins=coins, had_most_to_lose=True) == Decision(FAIL)


@pytest.mark.parametrize(
    "independence", [None, Independence.SHOWN, Independence.DECLARED]
)
def test_a_loss_that_needs_no_independence_or_has_it_fails(independence):
    assert proven(independence=independence, tasks_with_room=1) == Decision(FAIL)


FEW = FewUnits(unit="cluster", units=4, needed=7, alpha=0.01)
IN_CLUSTERS = {"clusters": np.arange(10) % 4, "blind": FEW}


def in_clusters(**changed):
    pair = make_pair([[1.0]] * 10, [[0.0]] * 10)
    numbers = {"p_rollouts": math.nan, "independence": None} | IN_CLUSTERS | changed
    return decide(structs.replace(compared(pair), **numbers), 0.001)


def test_few_clusters_that_pass_as_one_may_explain_a_loss():
    warned = Decision(WARN, (BlindGate(cause=FEW),))
    assert in_clusters(coins=Coins(count=4, up=2)) == warned


@pytest.mark.parametrize(
    "changed",
    [
        {"coins": Coins(count=4, up=4)},
        {"coins": None},
        {"coins": Coins(count=4, up=2), "blind": None},
        {"coins": Coins(count=4, up=2), "clusters": None},
    ],
    ids=["all were up", "no coins", "not blind", "no clusters"],
)
def test_other_clusters_that_lost_all_fail(changed):
    assert in_clusters(**changed) == Decision(FAIL)


# -- bounds, rule by rule ----------------------------------------------------------------


def test_a_rule_that_tests_allows_no_drop_of_its_own():
    assert not exceeds(rule("practical"), 0.9, baseline=1.0, current=0.1)


def test_an_upper_bound_by_factors_counts_where_it_is_the_larger():
    noninferior = rule("noninferior", max_drop=0.08)
    decision = decide(comparison(noninferior, upper_by_factors=0.09), 0.5)
    assert decision.reasons == (NotShown(upper=0.09, max_drop=0.08),)
    decision = decide(comparison(noninferior, upper_by_factors=0.01), 0.5)
    assert decision == Decision(PASS)


SKEWED = np.array([3.0] * 4 + [-0.1] * 96)


@pytest.mark.parametrize("cause", ["no mean", "clusters"])
def test_skew_moves_the_bound_of_independent_tasks_alone(cause):
    noninferior = rule("noninferior", max_drop=0.06)
    plain = {"damage": SKEWED, "span": 4.0}
    skewed = decide(comparison(noninferior, **plain), 0.5)
    pair = comparison(noninferior).pair
    changed = {"clusters": np.arange(100) // 2}
    if cause == "no mean":
        changed = {"pair": structs.replace(pair, difference=np.subtract)}
    other = decide(comparison(noninferior, **(plain | changed)), 0.5)
    (more,) = skewed.reasons
    (less,) = other.reasons
    assert more.upper > 1.001 * less.upper


def test_a_drop_of_aggregates_without_an_error_has_no_upper_bound():
    decision = decide(comparison(rule("noninferior", max_drop=0.06), se=0.0), 0.5)
    untested = Untested(
        cause="no_bound", metric="mean_reward", rule="noninferior", max_drop=0.06
    )
    assert decision == Decision(INCONCLUSIVE, (untested,))
