"""The parts of checks as people read them."""

import pytest
from msgspec import structs
from reports.records import (
    RULE,
    above,
    agent,
    below,
    benchmark,
    broken,
    compared,
    estimate,
    task,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    LookFacts,
    RuleName,
    TaskGroup,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict
from pytest_evalmetrics.reports.check_wording import (
    before_and_now,
    better_way,
    blindness_of,
    brief_reason,
    cause_of,
    change_of,
    change_that_matters,
    changes_task_list,
    checked_agent,
    comparison_details,
    count_in_quarantine,
    estimate_below,
    expected,
    is_by_numbers,
    is_set_against_reference,
    is_tested,
    is_unproven_drop,
    measured,
    of_agent,
    own_reason,
    p_value,
    seen_losses,
    sides_of,
    size_of,
    task_counts,
    word_of,
    word_of_result,
    worse_slices,
)


def passing(metric, detectable_drop, agent=""):
    facts = ComparisonFacts(baseline=0.9, current=0.9, detectable_drop=detectable_drop)
    return Check(
        gate=Gate.BASELINE,
        name=metric,
        verdict=Verdict.PASS,
        agent=agent,
        comparison=facts,
    )


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        ([passing("pass@1", 0.06)], "sees losses from 0.06 on"),
        (
            [passing("pass@1", 0.06), passing("mean_reward", 0.06)],
            "sees losses from 0.06 on",
        ),
        # a rate and seconds
        (
            [passing("pass@1", 0.06), passing("mean/seconds", 2.1)],
            "sees losses from 0.06 of pass@1, 2.1 of mean/seconds on",
        ),
        (
            [passing("pass@1", 0.06, "a"), passing("pass@1", 0.09, "b")],
            "sees losses from 0.06 to 0.09 on",
        ),
        ([passing("pass@1", None)], ""),
    ],
)
def test_each_metric_sees_losses_in_its_own_unit(checks, text):
    assert seen_losses(checks) == text


def basis_of(**fields):
    facts = ComparisonFacts(
        baseline=0.9,
        current=0.7,
        test="exact sign flip",
        tasks=30,
        units=30,
        rollouts_baseline=120,
        rollouts_current=119,
        **fields,
    )
    check = structs.replace(passing("pass@1", None), comparison=facts)
    return next(comparison_details(check))


BASIS = "exact sign flip over 30 tasks, 120 rollouts before and 119 now"


def test_the_basis_of_a_test_names_it_its_tasks_and_the_rollouts_of_both_sides():
    assert basis_of(p=0.002) == BASIS


def test_a_p_that_other_metrics_raise_is_beside_the_basis():
    text = basis_of(p=0.002, p_adjusted=0.0061)
    assert text == f"{BASIS}; p = 0.0061 adjusted for the other metrics"
    text = basis_of(p=0.002, p_adjusted=0.0021)
    assert text == f"{BASIS}; p = 0.0021 adjusted for the other metrics"


def test_a_p_that_no_other_metric_raises_is_not_written_again():
    assert basis_of(p=0.002, p_adjusted=0.002) == BASIS


# -- its verdict in a word -------------------------------------------------------------------


def test_an_advisory_failure_has_a_word_of_its_own():
    check = compared(tier=Tier.ADVISORY, verdict=Verdict.WARN)
    assert word_of(check) == "ADVISORY"
    assert word_of(compared(verdict=Verdict.WARN)) == "WARN"
    assert word_of_result(benchmark(check)) == "ADVISORY"
    assert word_of_result(benchmark(compared(verdict=Verdict.WARN))) == "WARN"
    # another gate fails
    assert word_of_result(benchmark(check, below())) == "FAIL"


def test_the_word_of_a_verdict_is_said_once():
    check = broken("no such file", tier=Tier.ADVISORY)
    assert own_reason(check) == "no such file"


HIDDEN = kinds.HiddenDrop(drop=0.1, p=0.001, task="t3", before=0.0, now=9.0)


@pytest.mark.parametrize(
    ("check", "is_so"),
    [
        (compared(), True),
        (compared(reasons=(kinds.UnknownRunNoise(0.1),)), True),
        (compared(reasons=(HIDDEN,)), False),
        (below(), False),
    ],
)
def test_a_change_decides_by_its_numbers_unless_something_is_behind_them(check, is_so):
    assert is_by_numbers(check) is is_so


DECIDED = kinds.MissingDecide(metric="pass@1", baseline=0.9, current=0.4)
DECIDED_TEXT = (
    "missing rewards decide the verdict: at their worst pass@1 would be 0.4 against 0.9"
)


def test_a_p_that_is_unknown_is_not_beside_the_values():
    check = compared(reasons=(DECIDED,), changes={"p_adjusted": None})
    assert brief_reason(check) == f"pass@1 fell from 0.9 to 0.7; {DECIDED_TEXT}"


def test_noise_that_is_unknown_leaves_the_numbers_their_own_reason():
    noise = kinds.UnknownRunNoise(0.1)
    assert brief_reason(compared(reasons=(noise,))) == own_reason(
        compared(reasons=(noise,))
    )


def test_the_reason_of_a_threshold_stands_as_it_is():
    assert brief_reason(below()) == "pass@1 is 0.5, below 0.7"
    assert cause_of(below()) == ""


def test_a_comparison_without_any_task_has_no_cause_beside_its_numbers():
    assert cause_of(compared(reasons=(DECIDED,))) == DECIDED_TEXT
    assert cause_of(compared(reasons=(DECIDED,), changes={"tasks": 0})) == ""


# -- whose check it is -----------------------------------------------------------------------


def test_a_check_is_of_the_agent_that_it_names():
    check = compared(agent="beta")
    two = benchmark(check, agents=(agent("alpha"), agent("beta")))
    assert of_agent(check) == "beta: "
    assert checked_agent(two, check) == "beta"


def test_a_check_without_a_name_is_of_the_only_agent():
    check = compared()
    assert of_agent(check) == ""
    assert checked_agent(benchmark(check), check) == "agent"
    two = benchmark(check, agents=(agent("alpha"), agent("beta")))
    assert checked_agent(two, check) == ""


def test_the_estimate_of_a_check_s_metric_is_that_of_its_agent():
    check = compared(agent="beta")
    alpha = agent("alpha", {"pass@1": 0.25})
    beta = agent("beta", {"pass@1": 0.75})
    found = estimate_below(benchmark(check, agents=(alpha, beta)), check)
    assert found is beta.estimates["pass@1"]
    assert estimate_below(benchmark(check, agents=(alpha,)), check) is None
    alone = compared()
    assert estimate_below(benchmark(alone, agents=(beta,)), alone) is found
    other = compared("pass@2", agent="beta")
    assert estimate_below(benchmark(other, agents=(beta,)), other) is None


# -- its value -------------------------------------------------------------------------------


def test_a_value_has_its_interval_where_there_is_one():
    check = below(value=0.25)
    assert measured(check, estimate()) == ("0.5000", "[0.4000, 0.6000]")
    assert measured(check, estimate(), "{} to {}") == ("0.5000", "0.4000 to 0.6000")
    assert measured(check, estimate(interval=None)) == ("0.5000", "")
    assert measured(check, None) == ("0.2500", "")


LOWER = structs.replace(RULE, direction=Direction.LOWER)


@pytest.mark.parametrize(
    ("check", "text", "way"),
    [
        (
            compared(),
            "no drop >= 0.02 at p < 0.01 (practical), higher is better",
            "higher is better",
        ),
        (
            compared(bound=RuleBound(LOWER)),
            "no rise >= 0.02 at p < 0.01 (practical), lower is better",
            "lower is better",
        ),
        (below(), ">= 0.7", ""),
        (broken(), "", ""),
    ],
)
def test_a_bound_has_the_better_direction_of_what_is_compared(check, text, way):
    assert expected(check) == text
    assert better_way(check) == way


# -- its comparison --------------------------------------------------------------------------

MOVED = kinds.TaskListChanged(
    expected=4,
    lost=(),
    lost_count=0,
    edited=(),
    edited_count=0,
    moved=(),
    moved_count=0,
    new=(),
    new_count=1,
    reward="reward",
    is_covered=True,
)
SUMS = kinds.UnequalSums(metric="sum/cost", score="cost", before=4, now=6)
LOOK = LookFacts(number=1, of=4, rollouts=2, most=8)


@pytest.mark.parametrize(
    ("check", "belongs"),
    [
        (compared(), True),
        (compared(bound=None), True),
        (compared(comparison=None), True),
        (compared(comparison=None, bound=None, look=LOOK), True),
        (compared(comparison=None, bound=None, reasons=(MOVED,)), True),
        (compared(comparison=None, bound=None, reasons=(SUMS,)), True),
        (below(), False),
    ],
)
def test_what_is_set_against_a_reference_belongs_into_its_table(check, belongs):
    assert is_set_against_reference(check) is belongs


def test_both_sides_are_of_the_compared_tasks_where_there_are_any():
    assert sides_of(compared(value=0.6)) == (0.9, 0.7)
    assert sides_of(compared(value=0.6, changes={"current": None})) == (0.9, 0.6)
    assert sides_of(below()) == (None, 0.5)


def test_a_change_is_now_less_before_whatever_is_better():
    assert change_of(compared()) == (-0.2, -0.3, -0.1)
    assert change_of(compared(bound=RuleBound(LOWER))) == (0.2, 0.1, 0.3)
    assert change_of(compared(changes={"drop_low": None})) == (-0.2, -0.3, None)
    assert change_of(below()) == (None, None, None)


WORSE_SLICE = kinds.WorseSlice(
    name="pass@1[lang=de]",
    before=1.0,
    now=0.25,
    p=0.001,
    tasks=10,
    worse=8,
    worst=("t0",),
)
SLICES = kinds.WorseSlices(slices=(WORSE_SLICE,), count=1, of=3)


def test_the_slices_that_got_worse_are_those_of_the_reasons():
    assert worse_slices(compared(reasons=(MOVED, SLICES))) == [WORSE_SLICE]
    assert worse_slices(compared()) == []


def ruled(rule, direction=Direction.HIGHER, **changes):
    """Make the check of a rule that lets a drop of 0.02 pass."""
    settings = structs.replace(RULE, rule=rule, direction=direction)
    return compared(bound=RuleBound(settings), changes=changes)


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (ruled(RuleName.PRACTICAL), -0.02),
        (ruled(RuleName.NONINFERIOR), -0.02),
        (ruled(RuleName.PRACTICAL, Direction.LOWER), 0.02),
        # any drop that is proven
        (ruled(RuleName.STATISTICAL), None),
        # a share of the baseline
        (ruled(RuleName.RELATIVE, allowed_drop=0.018), -0.018),
        (ruled(RuleName.EXACT, allowed_drop=0.0), None),
        (below(), None),
        (compared(comparison=None), None),
    ],
)
def test_the_change_that_matters_has_the_sign_of_damage(check, change):
    assert change_that_matters(check) == change


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        ((2, 2), (2, 2), "40 tasks x 2"),
        ((4, 4), (2, 2), "40 tasks x 2 against 4"),
        ((3, 5), (2, 2), "40 tasks x 2 against 3 to 5"),
        ((2, 2), (1, 2), "40 tasks, 79 rollouts"),
        (None, (2, 2), "40 tasks, 79 rollouts"),
        ((2, 2), None, "40 tasks, 79 rollouts"),
    ],
)
def test_the_size_of_a_comparison_is_its_tasks_and_their_rollouts(before, now, text):
    sizes = {"samples_baseline": before, "samples_current": now}
    assert size_of(compared(changes={**sizes, "rollouts_current": 79})) == text


def test_what_is_not_compared_has_neither_size_nor_p_nor_counts():
    assert size_of(below()) == ""
    assert p_value(below()) is None
    assert task_counts(below()) is None


def test_the_p_value_is_the_adjusted_one():
    assert p_value(compared()) == 0.004


@pytest.mark.parametrize(
    ("changes", "is_so"),
    [
        ({}, True),
        ({"drop": 0.02}, True),
        # too small to matter
        ({"drop": 0.0199}, False),
        ({"drop": None}, False),
        # as likely by chance
        ({"p_adjusted": 0.25}, True),
        ({"p_adjusted": 0.26}, False),
        ({"p_adjusted": None}, False),
    ],
)
def test_a_drop_is_unproven_where_it_would_matter_and_is_no_mere_chance(changes, is_so):
    assert is_unproven_drop(compared(verdict=Verdict.PASS, changes=changes)) is is_so


@pytest.mark.parametrize(
    "check",
    [
        compared(),  # which fails
        compared(verdict=Verdict.PASS, accepted=True),
        compared(verdict=Verdict.PASS, bound=None),
        compared(verdict=Verdict.PASS, comparison=None),
        structs.replace(ruled(RuleName.ABSOLUTE), verdict=Verdict.PASS),
    ],
)
def test_a_drop_that_a_verdict_speaks_of_is_not_called_unproven(check):
    assert not is_unproven_drop(check)


def test_a_rise_is_no_unproven_drop_where_any_drop_matters():
    rule = RuleBound(structs.replace(RULE, rule=RuleName.STATISTICAL, max_drop=0.0))
    passing = {"verdict": Verdict.PASS, "bound": rule}
    assert is_unproven_drop(compared(changes={"drop": 0.001}, **passing))
    assert not is_unproven_drop(compared(changes={"drop": 0.0}, **passing))


@pytest.mark.parametrize(
    ("changes", "whole", "texts"),
    [
        ({}, 0.7, ["was 0.9000, -0.2000, p 0.004", "drop NOT PROVEN"]),
        # over other tasks than the whole run
        (
            {"p_adjusted": None},
            0.75,
            ["0.7000 in 40 compared tasks, was 0.9000, -0.2000"],
        ),
        ({"p_adjusted": None, "tasks": 0}, 0.75, ["was 0.9000, -0.2000"]),
        # what did not change has no p value
        ({"drop": 0.0, "current": 0.9}, 0.9, ["was 0.9000"]),
        ({"drop": None}, 0.7, ["was 0.9000"]),
        ({"baseline": None}, 0.7, []),
    ],
)
def test_a_metric_says_what_it_was_and_how_likely_its_change_is(changes, whole, texts):
    check = compared(verdict=Verdict.PASS, changes=changes)
    assert list(before_and_now(check, whole)) == texts


def test_a_brief_line_goes_without_the_change():
    assert list(before_and_now(compared(), 0.7, briefly=True)) == [
        "was 0.9000, p 0.004"
    ]


def test_what_is_not_compared_was_nothing():
    assert list(before_and_now(below(), 0.7)) == []


def quarantined(task, *, is_over=False):
    outcome = kinds.PassCount(task, passed=0, rollouts=2)
    reason = kinds.Quarantined(outcome, until="2027-01-01", why="", is_over=is_over)
    return compared(reasons=(reason,))


def test_a_task_in_quarantine_is_counted_once_and_until_its_end():
    checks = [quarantined("a"), quarantined("a"), quarantined("b")]
    assert count_in_quarantine([*checks, quarantined("c", is_over=True), below()]) == 2


def test_what_fails_says_nothing_of_the_losses_that_it_would_see():
    assert seen_losses([compared(changes={"detectable_drop": 0.06})]) == ""
    assert seen_losses([below(), above()]) == ""


def test_of_many_metrics_that_see_other_losses_three_are_named():
    checks = [passing(f"m{number}", number) for number in range(1, 6)]
    assert seen_losses(checks) == (
        "sees losses from 1 of m1, 2 of m2, 3 of m3 and 2 more on"
    )


def test_tasks_are_counted_where_some_are_paired_or_none_could_be():
    assert task_counts(compared()) == (40, 12, 1)
    nothing = kinds.NothingInCommon(metric="pass@1", excluded=0)
    none = {"tasks": 0, "worse": 0, "better": 0}
    assert task_counts(compared(changes=none, reasons=(nothing,))) == (0, 0, 0)
    assert task_counts(compared(changes=none, reasons=(MOVED,))) is None


@pytest.mark.parametrize(
    ("check", "rests_on_test"),
    [
        (ruled(RuleName.PRACTICAL), True),
        (ruled(RuleName.STATISTICAL), True),
        (ruled(RuleName.ABSOLUTE), False),
        (below(), False),
    ],
)
def test_two_of_the_rules_rest_on_a_test(check, rests_on_test):
    assert is_tested(check) is rests_on_test


FEW = FewUnits(unit="task", units=3, needed=7, alpha=0.01)


def test_a_blind_gate_has_a_cause_among_its_reasons_or_in_its_comparison():
    assert blindness_of(compared(reasons=(MOVED, kinds.BlindGate(FEW)))) == FEW
    assert blindness_of(compared(changes={"blind": FEW})) == FEW
    assert blindness_of(compared()) is None
    assert blindness_of(below()) is None


def test_a_changed_task_list_is_known_by_its_reason():
    assert changes_task_list(compared(reasons=(SUMS, MOVED)))
    assert not changes_task_list(compared(reasons=(SUMS,)))


# -- details ---------------------------------------------------------------------------------


def details_of(**changes):
    """Return the details of a comparison without a named test."""
    return list(comparison_details(compared(changes={"test": "", **changes})))


def test_the_worse_tasks_are_listed_with_their_rewards():
    tasks = (task("a"), task("b", (1.0,) * 9, (0.5,) * 9))
    nine = "1 1 1 1 1 1 1 1 ... -> 0.5000 0.5000 0.5000 0.5000 0.5000 0.5000 0.5000 0.5000 ..."
    assert details_of(worst_tasks=tasks) == [
        f"worse tasks: a (1 1 -> 0 0), b ({nine}) and 10 more"
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"detectable_drop": 0.0612}, "80 % power to see a loss of 0.061 or more"),
        (
            {"unseen_flips": 0.0734},
            "no task differs; up to 7.3% of the tasks may flip unseen",
        ),
        ({"added": TaskGroup(1, ("n",))}, "1 task is only in this run: n"),
        (
            {"removed": TaskGroup(2, ("a", "b"))},
            "2 tasks are only in the baseline: a, b",
        ),
        (
            {"excluded": TaskGroup(12, tuple("abcdefghijkl"))},
            (
                "12 tasks are left out, without a value on one side: "
                "a, b, c, d, e, f, g, h, i, j and 2 more"
            ),
        ),
    ],
)
def test_a_fact_of_a_comparison_is_a_line_of_its_details(changes, line):
    assert details_of(**changes) == [line]


def test_what_is_not_compared_has_no_details():
    assert list(comparison_details(below())) == []


@pytest.mark.parametrize(
    ("units", "over"),
    [(40, "40 tasks"), (8, "40 tasks in 8 clusters"), (0, "40 tasks")],
)
def test_the_basis_names_clusters_where_tasks_are_not_independent(units, over):
    (line,) = details_of(test="t", units=units, rollouts_baseline=1, p_adjusted=None)
    assert line == f"t over {over}, 1 rollout before and 80 now"
