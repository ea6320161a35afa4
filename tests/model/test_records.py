"""What the records of comparisons, judges, notes and baselines say of themselves."""

import math

import pytest
from msgspec import structs

from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    MetricDocument,
    Provenance,
)
from pytest_evalmetrics.model.comparison import (
    Independence,
    RuleName,
    RuleSettings,
    TestResult,
)
from pytest_evalmetrics.model.notes import OfReference, Remark
from pytest_evalmetrics.model.reasons import JudgeShift, MeasuredBy, MeasurementChange
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.rollout_notes import (
    FailedRollouts,
    NumbersCountAsMissing,
    TextsCountAsMissing,
)
from pytest_evalmetrics.model.run_notes import AllAtOnce, StoppedAtLastLook
from pytest_evalmetrics.model.scoring_notes import KeyInFile, KeyInUrl, UntrustedValues
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict

# -- rules -----------------------------------------------------------------------------------


def rule(name, **settings):
    return RuleSettings(
        **{
            "rule": name,
            "direction": Direction.HIGHER,
            "alpha": 0.01,
            "warn_alpha": 0.05,
            "max_drop": 0.25,
            **settings,
        }
    )


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        (RuleName.EXACT, 0.0),
        (RuleName.ABSOLUTE, 0.25),
        (RuleName.RELATIVE, 0.5),
        (RuleName.STATISTICAL, None),
        (RuleName.PRACTICAL, None),
        (RuleName.NONINFERIOR, None),
    ],
)
def test_a_rule_allows_a_drop_by_the_size_of_the_baseline(name, allowed):
    assert rule(name).allowed(2.0) == allowed
    assert rule(name).allowed(-2.0) == allowed


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        (RuleName.EXACT, False),
        (RuleName.RELATIVE, False),
        (RuleName.STATISTICAL, True),
        (RuleName.PRACTICAL, True),
        (RuleName.NONINFERIOR, False),
    ],
)
def test_two_rules_rest_on_a_p_value(name, tests):
    assert rule(name).tests is tests


@pytest.mark.parametrize("own_tests", [True, False])
def test_a_rule_of_the_user_says_whether_it_rests_on_a_p_value(own_tests):
    own = rule(RuleName.OWN, own_name="mine", own_tests=own_tests)
    assert own.tests is own_tests
    assert own.name == "mine"


def test_a_rule_has_its_name_and_the_sign_of_its_direction():
    assert rule(RuleName.EXACT).name == "exact"
    assert rule(RuleName.EXACT).sign == 1
    assert rule(RuleName.EXACT, direction=Direction.LOWER).sign == -1


# -- tests -----------------------------------------------------------------------------------


def test_the_logarithm_of_p_is_that_of_a_p_that_can_be_written():
    assert TestResult(name="t", p=0.5, log_tail=-900.0).log_p == math.log(0.5)
    assert TestResult(name="t", p=1e-300).log_p == math.log(1e-300)


def test_the_logarithm_of_a_p_too_small_for_a_number_is_that_of_its_tail():
    assert TestResult(name="t", p=1e-300, log_tail=-900.0).log_p == -900.0


def test_the_logarithm_of_p_is_never_above_what_p_says():
    floor = math.log(1e-300)
    assert TestResult(name="t", p=1e-300, log_tail=-1.0).log_p == pytest.approx(floor)


@pytest.mark.parametrize(
    ("independence", "given"),
    [
        (Independence.DECLARED, True),
        (Independence.SHOWN, True),
        (Independence.DENIED, False),
        (Independence.UNSHOWN, False),
        (Independence.CHURNING, False),
    ],
)
def test_rollouts_may_fail_a_run_where_their_independence_is_given(independence, given):
    assert independence.is_given is given


# -- what measures ---------------------------------------------------------------------------


def change(kind, **fields):
    return MeasurementChange(
        kind=kind, entry="e", key="", before="a", now="b", **fields
    )


@pytest.mark.parametrize(
    ("kind", "by_scorer", "by_tool"),
    [
        (MeasuredBy.REWARD, False, False),
        (MeasuredBy.SCORER, True, False),
        (MeasuredBy.METRIC, False, False),
        (MeasuredBy.TOOL, False, True),
        (MeasuredBy.ANSWERS, False, True),
        (MeasuredBy.HOOK, False, False),
    ],
)
def test_a_change_of_what_measures_says_who_scored(kind, by_scorer, by_tool):
    assert change(kind).by_scorer is by_scorer
    assert change(kind).by_tool is by_tool


def test_rewards_that_are_read_elsewhere_are_a_tools():
    assert change(MeasuredBy.REWARD, is_reading=True).by_tool


def shift(low, high):
    return JudgeShift(
        score="s",
        anchors=20,
        shift=(low + high) / 2,
        low=low,
        high=high,
        agreed_before=18,
        agreed_now=17,
    )


@pytest.mark.parametrize(
    ("low", "high", "moved"),
    [
        (0.1, 0.2, True),
        (-0.2, -0.1, True),
        (-0.1, 0.1, False),
        (0.0, 0.1, False),
        (-0.1, 0.0, False),
    ],
)
def test_a_judge_has_moved_where_its_interval_leaves_zero_out(low, high, moved):
    assert shift(low, high).has_moved is moved


@pytest.mark.parametrize(
    ("drop", "explained"), [(0.2, True), (-0.2, True), (0.3, True), (0.31, False)]
)
def test_a_judge_explains_a_drop_within_its_interval(drop, explained):
    assert shift(-0.3, 0.1).explains(drop) is explained
    assert shift(-0.1, 0.3).explains(drop) is explained


# -- notes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (KeyInFile(), KeyInUrl("X"), True),
        (AllAtOnce(forgets=True), StoppedAtLastLook(looks=3), True),
        (KeyInFile(), StoppedAtLastLook(looks=3), False),
        (Remark("a"), Remark("a"), True),
        (Remark("a"), Remark("b"), False),
        (OfReference(Remark("a")), OfReference(Remark("a")), True),
        (OfReference(Remark("a")), Remark("a"), False),
        (UntrustedValues("a", ("x",)), UntrustedValues("b", ("x",)), True),
        (UntrustedValues("a", ("x",)), UntrustedValues("a", ("y",)), False),
    ],
)
def test_notes_of_one_subject_or_kind_are_shown_as_one(one, other, together):
    assert (one.group == other.group) is together


def test_the_group_of_a_note_on_the_reference_is_not_that_of_the_run():
    assert OfReference(Remark("a")).group == ("reference", "a")


def made(record, **fields):
    """Make a note with fields that do not matter here."""
    rest = {
        field.name: fields.get(field.name, 1)
        for field in structs.fields(record)
        if field.required
    }
    return record(**rest)


def test_values_of_a_score_that_count_as_missing_are_one_group():
    numbers = made(NumbersCountAsMissing, score="acc")
    assert numbers.group == made(TextsCountAsMissing, score="acc").group
    assert numbers.group != made(TextsCountAsMissing, score="other").group


def test_failures_of_one_kind_are_one_group():
    timeout = made(FailedRollouts, kind="timeout")
    assert timeout.group == made(FailedRollouts, kind="timeout").group
    assert timeout.group != made(FailedRollouts, kind="crash").group


# -- baselines and results -------------------------------------------------------------------


def test_a_baselines_values_are_those_that_are_defined():
    metrics = {
        "mean_reward": MetricDocument(value=0.5),
        "pass@1": MetricDocument(value=None),
    }
    baseline = BaselineDocument(
        benchmark="b",
        agents={"a": AgentDocument(key_metrics=metrics, tasks={})},
        provenance=Provenance(),
    )
    assert baseline.values("a") == {"mean_reward": 0.5}
    assert baseline.values("other") == {}


def test_an_accepted_level_is_honoured_once_by_its_mark():
    level = AcceptedLevel(
        benchmark="b", metric="mean_reward", level=0.25, reason="a new prompt"
    )
    assert level.mark == "mean_reward 0.25: a new prompt"


@pytest.mark.parametrize(
    ("tier", "fails"), [(Tier.REQUIRED, False), (Tier.ADVISORY, True)]
)
def test_a_result_says_whether_an_advisory_gate_would_fail(tier, fails):
    check = Check(gate=Gate.EXPECT, name="n", verdict=Verdict.WARN, tier=tier)
    result = BenchmarkResult(
        id="a",
        name="a",
        description="",
        file="a.bench.yaml",
        line=1,
        agents=(),
        checks=(check,),
    )
    assert result.fails_advisory is fails
