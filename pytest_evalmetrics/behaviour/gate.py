"""Judge behaviour: how far features may move, and rules that each rollout has to keep."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.behaviour.changes import (
    ALPHA,
    ComparedFeature,
    PairedFeature,
    Sides,
    are_independent,
    change_of,
    compared_feature,
    least_p,
    paired_features,
)
from pytest_evalmetrics.behaviour.fingerprint import NUMBERS
from pytest_evalmetrics.behaviour.rules import violations
from pytest_evalmetrics.comparison import adjusted_p
from pytest_evalmetrics.model.behaviour import FeatureKind
from pytest_evalmetrics.model.bounds import MoveBound, OrderBound, ShareBound
from pytest_evalmetrics.model.reasons import (
    BehaviourMoved,
    NoBehaviour,
    OrderChanged,
    RuleBroken,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_evalmetrics.behaviour.rules import Violations
    from pytest_evalmetrics.model.behaviour import FeatureChange
    from pytest_evalmetrics.model.comparison import Comparison
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.model.verdicts import Acceptance
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec

_WARN_ALPHA = 0.05
# the kinds of features that a benchmark file can limit
_LIMITED_KINDS = (FeatureKind.NUMBER, FeatureKind.RATE)


class GateTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent's behaviour is judged."""

    spec: BehaviourSpec
    agent: str  # its name where a benchmark has several
    line_of: Callable[..., int]
    acceptance: Acceptance
    alpha: float = ALPHA  # the chance that any of the limits fails by chance


class _Direction(msgspec.Struct, frozen=True):
    """A limit in one direction, and its test."""

    name: str
    limit: float
    other: ComparedFeature
    comparison: Comparison
    is_rise: bool


class _TestedLimit(msgspec.Struct, frozen=True):
    """A limit in one direction, and how likely such a move is by chance."""

    direction: _Direction
    # adjusted for all limits
    p: float


class _TestedOrder(msgspec.Struct, frozen=True):
    """The order of two tools on both sides, and the test of its change."""

    paired: PairedFeature
    # of the smaller of both directions, adjusted for all limits
    p: float


class _Tested(msgspec.Struct, frozen=True):
    """The tests of all that a benchmark file limits."""

    limits: list[_TestedLimit]
    orders: list[_TestedOrder]


def check_rollouts(terms: GateTerms, now: RolloutTable) -> Iterator[Check]:
    """Check the rules that each rollout has to keep."""
    for found in violations(terms.spec, now):
        yield _rollouts_check(terms, found)


def _rollouts_check(terms: GateTerms, found: Violations) -> Check:
    allow = terms.spec.allow
    value: float | None = None
    reasons: tuple[RuleBroken | NoBehaviour, ...] = ()
    verdict = Verdict.PASS
    if found.rollouts:
        share = found.count / found.rollouts
        value = float(f"{share:.6g}")
        if found.count:
            reasons = (_broken(found),)
        if share > allow:
            verdict = Verdict.FAIL
    else:
        verdict = Verdict.INCONCLUSIVE
        reasons = (NoBehaviour(in_baseline=False),)
    return Check(
        gate=Gate.BEHAVIOUR,
        name="behaviour " + " ".join(map(str, found.key)),
        verdict=verdict,
        agent=terms.agent,
        value=value,
        bound=ShareBound(allow),
        reasons=reasons,
        line=terms.line_of("behaviour", *found.key),
    )


def _broken(found: Violations) -> RuleBroken:
    return RuleBroken(
        rule=found.rule,
        count=found.count,
        rollouts=found.rollouts,
        tasks=found.tasks,
        task_count=found.task_count,
    )


def check_changes(terms: GateTerms, sides: Sides | None) -> Iterator[Check]:
    """Check how far features moved; `sides` is None where the baseline has no behaviour.

    All limits of an agent share the level, by the joint distribution of their tests.
    """
    if not terms.spec.needs_baseline:
        return
    unknown = [name for name in _asserted(terms.spec) if not _is_known(sides, name)]
    for name in unknown:
        yield _unknown(terms, name)
    if sides is None:
        return
    tested = _tested(terms.spec, sides)
    for name in _asserted(terms.spec):
        if name in unknown:
            continue
        if name == "order":
            yield _order_check(terms, tested.orders)
        else:
            limits = [one for one in tested.limits if one.direction.name == name]
            yield _change_check(terms, name, limits)


def _tested(spec: BehaviourSpec, sides: Sides) -> _Tested:
    """Test all that a benchmark file limits; the p values are adjusted for each other."""
    sides = structs.replace(sides, independent=are_independent(sides))
    paired = paired_features(sides)
    limited = _limited(spec, sides, paired)
    ordered = _ordered(spec, sides, paired)
    comparisons = [direction.comparison for direction in limited]
    comparisons += [one.rise for one in ordered]
    comparisons += [one.fall for one in ordered]
    adjusted = iter(adjusted_p(comparisons, [sides.gate_id] * len(comparisons)))
    of_limits = list(islice(adjusted, len(limited)))
    of_rises = list(islice(adjusted, len(ordered)))
    of_falls = list(adjusted)
    return _Tested(
        limits=[
            _TestedLimit(direction, p)
            for direction, p in zip(limited, of_limits, strict=True)
        ],
        orders=[
            _TestedOrder(one.paired, least_p(rise, fall))
            for one, rise, fall in zip(ordered, of_rises, of_falls, strict=True)
        ],
    )


def _ordered(
    spec: BehaviourSpec, sides: Sides, paired: Sequence[PairedFeature]
) -> list[ComparedFeature]:
    if spec.order is None:
        return []
    return [
        compared_feature(sides, one)
        for one in paired
        if one.feature.kind is FeatureKind.ORDER
    ]


def _asserted(spec: BehaviourSpec) -> Iterator[str]:
    for name, limit in spec.all_limits.items():
        if limit.is_relative:
            yield name
    if spec.order is not None:
        yield "order"


def _is_known(sides: Sides | None, name: str) -> bool:
    """Check whether both sides hold a feature; of an order, any transcript."""
    if sides is None:
        return False
    column = NUMBERS[0] if name == "order" else name
    for side in (sides.before, sides.now):
        values = side.scores.get(column)
        if values is None or np.isnan(values).all():
            return False
    return True


def _unknown(terms: GateTerms, name: str) -> Check:
    return Check(
        gate=Gate.BEHAVIOUR,
        name=f"behaviour {name}",
        verdict=Verdict.INCONCLUSIVE,
        agent=terms.agent,
        reasons=(NoBehaviour(in_baseline=True),),
        line=terms.line_of("behaviour", *_path(terms.spec, name)),
        acceptance=terms.acceptance,
    )


def _path(spec: BehaviourSpec, name: str) -> tuple[str, ...]:
    return ("order",) if name == "order" else spec.path_of(name)


def _limited(
    spec: BehaviourSpec, sides: Sides, paired: Sequence[PairedFeature]
) -> list[_Direction]:
    limited: list[_Direction] = []
    for one in paired:
        name = one.feature.name
        limit = spec.all_limits.get(name)
        if limit is None or one.feature.kind not in _LIMITED_KINDS:
            continue
        tested = compared_feature(sides, one)
        if limit.max_rise is not None:
            limited.append(
                _Direction(
                    name=name,
                    limit=limit.max_rise,
                    other=tested,
                    comparison=tested.rise,
                    is_rise=True,
                )
            )
        if limit.max_fall is not None:
            limited.append(
                _Direction(
                    name=name,
                    limit=limit.max_fall,
                    other=tested,
                    comparison=tested.fall,
                    is_rise=False,
                )
            )
    return limited


def _change_check(terms: GateTerms, name: str, tested: Sequence[_TestedLimit]) -> Check:
    """Judge one feature; without a test it is the same in all rollouts of both sides."""
    limit = terms.spec.all_limits[name]
    verdict = Verdict.PASS
    value = None
    reasons: list[BehaviourMoved] = []
    for one in tested:
        direction = one.direction
        change = change_of(direction.other.paired, one.p, terms.alpha)
        value = change.now
        by = _moved_by(change, is_rise=direction.is_rise)
        if by <= direction.limit:
            continue
        found = _verdict_of_move(one.p, terms.alpha)
        verdict = max(verdict, found, key=list(Verdict).index)
        reasons.append(
            BehaviourMoved(
                change=change,
                by=by if math.isfinite(by) else None,
                limit=direction.limit,
                is_proven=found is Verdict.FAIL,
            )
        )
    return Check(
        gate=Gate.BEHAVIOUR,
        name=f"behaviour {name}",
        verdict=verdict,
        agent=terms.agent,
        value=value,
        bound=MoveBound(limit.max_rise, limit.max_fall, terms.alpha),
        reasons=tuple(reasons),
        line=terms.line_of("behaviour", *terms.spec.path_of(name)),
        acceptance=terms.acceptance,
    )


def _verdict_of_move(p: float, alpha: float) -> Verdict:
    """Judge a move beyond its limit by how likely it is by chance."""
    if p < alpha:
        return Verdict.FAIL
    return Verdict.WARN if p < _WARN_ALPHA else Verdict.PASS


def _moved_by(change: FeatureChange, *, is_rise: bool) -> float:
    """Return how far a feature moved in a direction: a share, or points of a rate."""
    by = change.now - change.before
    if not is_rise:
        by = -by
    if change.kind is not FeatureKind.NUMBER or by == 0:
        return by
    if change.before == 0:
        return math.copysign(math.inf, by)
    return by / abs(change.before)


def _order_check(terms: GateTerms, tested: Sequence[_TestedOrder]) -> Check:
    changes = [change_of(one.paired, one.p, terms.alpha) for one in tested]
    changed = tuple(change for change in changes if change.is_significant)
    return Check(
        gate=Gate.BEHAVIOUR,
        name="behaviour order",
        verdict=Verdict.FAIL if changed else Verdict.PASS,
        agent=terms.agent,
        bound=OrderBound(terms.alpha),
        reasons=(OrderChanged(changed),) if changed else (),
        line=terms.line_of("behaviour", "order"),
        acceptance=terms.acceptance,
    )


def as_recorded(check: Check) -> Check:
    """Let a change pass in a run that records a new baseline."""
    return structs.replace(check, verdict=Verdict.PASS, reasons=(), accepted=True)
