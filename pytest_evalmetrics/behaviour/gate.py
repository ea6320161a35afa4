"""Judge behaviour: how far features may move, and rules that each rollout has to keep."""

from __future__ import annotations

import math
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
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec, LimitSpec

_WARN_ALPHA = 0.05


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


def check_rollouts(terms: GateTerms, now: RolloutTable) -> Iterator[Check]:
    """Check the rules that each rollout has to keep."""
    for found in violations(terms.spec, now):
        yield _rollouts_check(terms, found)


def _rollouts_check(terms: GateTerms, found: Violations) -> Check:
    allow = terms.spec.allow
    share = found.count / found.rollouts if found.rollouts else math.nan
    reasons: tuple[RuleBroken | NoBehaviour, ...] = ()
    verdict = Verdict.PASS
    if not found.rollouts:
        verdict = Verdict.INCONCLUSIVE
        reasons = (NoBehaviour(in_baseline=False),)
    elif found.count:
        broken = RuleBroken(
            rule=found.rule,
            count=found.count,
            rollouts=found.rollouts,
            tasks=found.tasks,
            task_count=found.task_count,
        )
        reasons = (broken,)
        verdict = Verdict.FAIL if share > allow else Verdict.PASS
    return Check(
        gate=Gate.BEHAVIOUR,
        name="behaviour " + " ".join(map(str, found.key)),
        verdict=verdict,
        agent=terms.agent,
        value=None if math.isnan(share) else float(f"{share:.6g}"),
        bound=ShareBound(allow),
        reasons=reasons,
        line=terms.line_of("behaviour", *found.key),
    )


def check_changes(terms: GateTerms, sides: Sides | None) -> Iterator[Check]:
    """Check how far features moved; `sides` is None where the baseline has no behaviour.

    All limits of an agent share the level, by the joint distribution of their tests.
    """
    if not terms.spec.needs_baseline:
        return
    if sides is None:
        for name in _asserted(terms.spec):
            yield _unknown(terms, name)
        return
    unknown = [name for name in _asserted(terms.spec) if not _is_known(sides, name)]
    for name in unknown:
        yield _unknown(terms, name)
    sides = structs.replace(sides, independent=are_independent(sides))
    paired = paired_features(sides)
    limited = _limited(terms.spec, sides, paired)
    ordered = _ordered(terms.spec, sides, paired)
    comparisons = [direction.comparison for direction in limited]
    comparisons += [one.rise for one in ordered]
    comparisons += [one.fall for one in ordered]
    p_values = adjusted_p(comparisons, [sides.gate_id] * len(comparisons))
    of_limits = list(zip(limited, p_values[: len(limited)], strict=True))
    for name, limit in terms.spec.all_limits.items():
        if limit.is_relative and name not in unknown:
            of_name = [(one, p) for one, p in of_limits if one.name == name]
            yield _change_check(terms, name, limit, of_name)
    if terms.spec.order is not None and "order" not in unknown:
        rises = p_values[len(limited) : len(limited) + len(ordered)]
        falls = p_values[len(limited) + len(ordered) :]
        changes = [
            change_of(one.paired, least_p(rise, fall), terms.alpha)
            for one, rise, fall in zip(ordered, rises, falls, strict=True)
        ]
        yield _order_check(terms, changes)


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


def _is_known(sides: Sides, name: str) -> bool:
    """Check whether both sides hold a feature; of an order, any transcript."""
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
        kinds = (FeatureKind.NUMBER, FeatureKind.RATE)
        if limit is None or one.feature.kind not in kinds:
            continue
        tested = compared_feature(sides, one)
        if limit.max_rise is not None:
            limited.append(
                _Direction(name, limit.max_rise, tested, tested.rise, is_rise=True)
            )
        if limit.max_fall is not None:
            limited.append(
                _Direction(name, limit.max_fall, tested, tested.fall, is_rise=False)
            )
    return limited


def _change_check(
    terms: GateTerms,
    name: str,
    limit: LimitSpec,
    tested: Sequence[tuple[_Direction, float]],
) -> Check:
    """Judge one feature; without a test it is the same in all rollouts of both sides."""
    verdict = Verdict.PASS
    value = None
    reasons: list[BehaviourMoved] = []
    for direction, p in tested:
        change = change_of(direction.other.paired, p, terms.alpha)
        value = change.now
        by = _moved_by(change, is_rise=direction.is_rise)
        if by <= direction.limit:
            continue
        found = Verdict.PASS
        if p < _WARN_ALPHA:
            found = Verdict.FAIL if p < terms.alpha else Verdict.WARN
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


def _order_check(terms: GateTerms, changes: Sequence[FeatureChange]) -> Check:
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
