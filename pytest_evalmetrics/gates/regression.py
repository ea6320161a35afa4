"""The ``baseline`` gate: is a metric worse than its baseline by more than noise explains.

Several metrics that are judged at once are adjusted for each other: the more of them
can fail, the surer each has to be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.comparison import (
    LOSS_SHARE,
    ComparisonInput,
    adjust_jointly,
    compare,
    compare_metric,
    comparison_facts,
    gate_seed,
    loss_test,
    rounded,
)
from pytest_evalmetrics.gates.rules import Decision, GateRule, decide
from pytest_evalmetrics.layout import in_natural_order
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import (
    Comparison,
    ComparisonFacts,
    LookFacts,
    LostRollouts,
    PairedMetric,
    WorstCase,
)
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    LostWhereItFails,
    LowCoverage,
    ManyMissing,
    MissingDecide,
    NothingInCommon,
    Reason,
    TaskListChanged,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.comparison import LossTest, TestedMetric
    from pytest_evalmetrics.gates.sequential import Look, StopBounds
    from pytest_evalmetrics.model.blindness import Blindness
    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.rollout_table import TaskId

_MAX_MISSING = 0.05  # the share of missing rewards above which no verdict is given
_MAX_ALLOWED = 0.5  # the same, where the benchmark file says that some may be missing
_SLACK = 1e-9
_NAMED = 10  # tasks that a reason names


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that is gated against its baseline."""

    compared: ComparisonInput
    agent: str = ""  # where a benchmark has several
    line: int | None = None  # of the benchmark file that asks for it
    estimate: Estimate | None = None  # the metric over all tasks of the run
    # the metric on both sides with missing rewards at their worst
    worst: PairedMetric | None = None
    missing: float = 0.0  # the larger share of missing rewards of both sides
    # what each task lost; None if nothing is lost
    lost: LostRollouts | None = None
    # whether the benchmark file says that some may be missing
    may_lose: bool = False
    own: GateRule | None = None  # a rule that is not built in
    # the share of the baseline's tasks that must be there to compare
    min_coverage: float = 1.0


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A gated metric, and its comparison; the same with missing rewards at worst."""

    metric: Gated
    comparison: Comparison
    p: float  # adjusted for the other metrics
    worst: Comparison | None
    p_at_worst: float
    sharing: float  # the tests that share the level of the rule
    bounds: StopBounds | None  # of a run that may stop early


def check_regression(
    gated: Sequence[Gated],
    *,
    acceptance: Acceptance = Acceptance.SNAPSHOT,
    benchmarks: int = 1,
    look: Look | None = None,
    level_share: float = 1.0,
) -> list[Check]:
    """Judge the metrics of one benchmark, one check each.

    Parameters
    ----------
    gated
        The metrics of all agents.
    acceptance
        How an intended change is accepted.
    benchmarks
        How many benchmarks of the run share the level of a false alarm.
    look
        At a run that may stop early: the level is what this look may spend.
    level_share
        The share of each rule's alpha that is left for these metrics.
    """
    if level_share < 1:
        gated = [_at_share(metric, level_share) for metric in gated]
    judged = _compare_all(gated, benchmarks=benchmarks, look=look)
    return [_check(one, acceptance=acceptance, look=look) for one in judged]


def accepted(check: Check) -> Check:
    """Let a check pass in a run that records a new baseline; a task list is still told."""
    reasons = tuple(
        reason for reason in check.reasons if isinstance(reason, TaskListChanged)
    )
    return structs.replace(check, verdict=Verdict.PASS, reasons=reasons, accepted=True)


# -- the comparisons ---------------------------------------------------------------------


def _compare_all(
    gated: Sequence[Gated], *, benchmarks: int, look: Look | None
) -> list[_Judged]:
    bounds = [_stop_bounds(metric, look) for metric in gated]
    inputs = _at_levels(gated, bounds, look, benchmarks=benchmarks)
    tested = [compare_metric(compared) for compared in inputs]
    comparisons = [metric.comparison for metric in tested]
    at_worst = _compare_at_worst(gated, inputs)
    groups = [metric.compared.gate_id for metric in gated]
    adjustment = adjust_jointly(comparisons, groups)
    p_at_worst = adjustment.p
    if any(worst is not None for worst in at_worst):
        worst_ones = [
            worst or comparison
            for worst, comparison in zip(at_worst, comparisons, strict=True)
        ]
        p_at_worst = adjust_jointly(worst_ones, groups).p
    sharing = adjustment.sharing * benchmarks
    return [
        _Judged(
            metric=metric,
            comparison=_with_power(tested[place], sharing),
            p=adjustment.p[place],
            worst=at_worst[place],
            p_at_worst=p_at_worst[place],
            sharing=sharing,
            bounds=bounds[place],
        )
        for place, metric in enumerate(gated)
    ]


def _at_levels(
    gated: Sequence[Gated],
    bounds: Sequence[StopBounds | None],
    look: Look | None,
    *,
    benchmarks: int,
) -> list[ComparisonInput]:
    """Let metrics be judged at the level of a look, and of all that share it."""
    tests = sum(metric.compared.rule.tests for metric in gated)
    inputs = []
    for metric, of_metric in zip(gated, bounds, strict=True):
        rule = structs.replace(metric.compared.rule, benchmarks=benchmarks)
        if look is not None and of_metric is not None:
            rule = structs.replace(rule, alpha=look.level(of_metric))
        sharing = max(tests * benchmarks, 1)
        inputs.append(structs.replace(metric.compared, rule=rule, sharing=sharing))
    return inputs


def _compare_at_worst(
    gated: Sequence[Gated], inputs: Sequence[ComparisonInput]
) -> list[Comparison | None]:
    """Compare each metric with missing rewards at their worst; None where none may be."""
    at_worst: list[Comparison | None] = []
    for metric, compared in zip(gated, inputs, strict=True):
        worst = None
        if metric.worst is not None:
            worst = compare(structs.replace(compared, pair=metric.worst))
        at_worst.append(worst)
    return at_worst


def _with_power(tested: TestedMetric, sharing: float) -> Comparison:
    """State the power at the level that is left to one of the tests that share it."""
    comparison = tested.comparison
    if not comparison.rule.tests or sharing <= 1 + _SLACK:
        return comparison
    detectable = tested.detectable_at(comparison.rule.alpha / sharing)
    return structs.replace(comparison, detectable=detectable)


def _at_share(metric: Gated, share: float) -> Gated:
    """Leave a part of the level to other gates of the same benchmark."""
    rule = metric.compared.rule
    level = float(f"{rule.alpha * share:.12g}")
    compared = structs.replace(metric.compared, rule=structs.replace(rule, alpha=level))
    return structs.replace(metric, compared=compared)


def _stop_bounds(metric: Gated, look: Look | None) -> StopBounds | None:
    """Return the bounds of a gate that a run may stop at; None where it can't."""
    counts = metric.compared.pair.rewards_baseline.counts
    rule = metric.compared.rule
    if look is None or not rule.tests or not len(counts):
        return None
    return look.bounds(rule.alpha, float(counts.mean()))


# -- the verdict -------------------------------------------------------------------------


def _check(judged: _Judged, *, acceptance: Acceptance, look: Look | None) -> Check:
    metric = judged.metric
    comparison = judged.comparison
    unfit = _unfit(comparison, metric)
    worst_case = None
    if unfit is not None:
        decision = Decision(Verdict.INCONCLUSIVE, (unfit,))
    else:
        decision = decide(comparison, judged.p, metric.own)
        at_worst = _decide_at_worst(judged)
        worst_case = _worst_case(judged, at_worst)
        decision = _with_loss(judged, decision, at_worst)
    return Check(
        gate=Gate.BASELINE,
        name=comparison.pair.name,
        verdict=decision.verdict,
        agent=metric.agent,
        value=rounded(comparison.pair.value_current),
        bound=RuleBound(comparison.rule),
        reasons=decision.reasons,
        estimate=metric.estimate,
        line=metric.line,
        comparison=_facts(judged, decision, worst_case),
        look=_look_facts(judged, decision, look),
        acceptance=acceptance,
    )


def _unfit(comparison: Comparison, metric: Gated) -> Reason | None:
    """Return why two runs can't be compared; None if they can."""
    pair = comparison.pair
    min_coverage = metric.min_coverage
    expected = len(pair.tasks) + len(pair.excluded) + len(pair.removed)
    # tasks that only lack rewards are compared at their worst
    left_out = pair.excluded if metric.worst is None else metric.worst.excluded
    paired = expected - len(left_out) - len(pair.removed)
    if not pair.tasks:
        return NothingInCommon(metric=pair.name, excluded=len(pair.excluded))
    if paired < min_coverage * expected - _SLACK:
        return LowCoverage(
            metric=pair.name,
            paired=paired,
            of=expected,
            min_coverage=min_coverage,
            removed=_first_names(pair.removed),
            removed_count=len(pair.removed),
            left_out=_first_names(left_out),
            left_out_count=len(left_out),
        )
    if metric.missing > (_MAX_ALLOWED if metric.may_lose else _MAX_MISSING):
        return ManyMissing(metric=pair.name, share=metric.missing)
    return None


def _first_names(tasks: Sequence[TaskId]) -> tuple[str, ...]:
    return tuple(map(str, in_natural_order(tasks)[:_NAMED]))


def _decide_at_worst(judged: _Judged) -> Decision | None:
    """Decide with missing rewards at their worst; None if nothing is missing."""
    if judged.worst is None:
        return None
    return decide(judged.worst, judged.p_at_worst, judged.metric.own)


def _with_loss(
    judged: _Judged, decision: Decision, at_worst: Decision | None
) -> Decision:
    """Judge what is missing, unless the verdict is red without it."""
    worst = judged.worst
    if at_worst is None or worst is None or decision.verdict.fails:
        return decision
    if judged.metric.may_lose:
        return _with_allowed_loss(judged, worst, decision, at_worst)
    if at_worst.verdict.fails:
        return Decision(Verdict.INCONCLUSIVE, (_decides(worst),))
    return decision


def _decides(worst: Comparison) -> MissingDecide:
    pair = worst.pair
    return MissingDecide(
        metric=pair.name, baseline=pair.value_baseline, current=pair.value_current
    )


def _with_allowed_loss(
    judged: _Judged, worst: Comparison, decision: Decision, at_worst: Decision
) -> Decision:
    """Judge a loss that the benchmark file allows.

    It is no fault where the run loses no more than its baseline. More than that fails
    only if it is lost in tasks that did otherwise than the rest, and the same rollouts
    at their worst would have failed; it warns if either may be the case.
    """
    test = _loss_test(judged.metric)
    rule = worst.rule
    if test is None or test.p_side >= rule.warn_alpha:
        return decision
    level = rule.alpha * LOSS_SHARE / judged.sharing
    is_surely_elsewhere = test.p_side < rule.alpha and test.p_outcome < level
    if is_surely_elsewhere and at_worst.verdict.fails:
        return Decision(Verdict.FAIL, (_lost_where_it_fails(worst, test),))
    if test.p_outcome < rule.warn_alpha:
        hidden = _lost_where_it_fails(worst, test)
        return Decision(Verdict.WARN, (hidden, *decision.reasons))
    if at_worst.verdict.fails:
        return Decision(Verdict.WARN, (_decides(worst), *decision.reasons))
    return decision


def _lost_where_it_fails(worst: Comparison, test: LossTest) -> LostWhereItFails:
    return LostWhereItFails(
        metric=worst.pair.name,
        baseline=worst.pair.value_baseline,
        current=worst.pair.value_current,
        p_side=test.p_side,
        p_outcome=test.p_outcome,
    )


def _loss_test(metric: Gated) -> LossTest | None:
    if metric.lost is None:
        return None
    return loss_test(metric.lost, seed=gate_seed(metric.compared))


# -- what a report keeps -----------------------------------------------------------------


def _worst_case(judged: _Judged, at_worst: Decision | None) -> WorstCase | None:
    worst = judged.worst
    if worst is None or at_worst is None:
        return None
    return WorstCase(
        baseline=rounded(worst.pair.value_baseline),
        current=rounded(worst.pair.value_current),
        drop=rounded(worst.drop),
        p_adjusted=rounded(judged.p_at_worst),
        verdict=at_worst.verdict,
    )


def _facts(
    judged: _Judged, decision: Decision, worst_case: WorstCase | None
) -> ComparisonFacts:
    return structs.replace(
        comparison_facts(judged.comparison),
        p_adjusted=rounded(judged.p),
        blind=_blindness(decision) or judged.comparison.blind,
        missing=judged.metric.missing,
        worst_case=worst_case,
        min_coverage=judged.metric.min_coverage,
    )


def _blindness(decision: Decision) -> Blindness | None:
    for reason in decision.reasons:
        if isinstance(reason, BlindGate):
            return reason.cause
    return None


def _look_facts(
    judged: _Judged, decision: Decision, look: Look | None
) -> LookFacts | None:
    """Describe an interim look; None where the run can't stop at this gate."""
    if look is None or judged.bounds is None:
        return None
    result = judged.comparison.test
    if math.isnan(result.p):
        return None
    worst = judged.worst or judged.comparison
    return look.of_gate(judged.bounds, decision, result, p_at_worst=worst.test.p)
