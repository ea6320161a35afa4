"""What a check requires, in words."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.bounds import (
    AllBound,
    Bound,
    CountBound,
    CoverageBound,
    MostBound,
    MoveBound,
    OrderBound,
    RuleBound,
    ShareBound,
    SingleTasksBound,
    SlicesBound,
    ThresholdBound,
    UntilBound,
)
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.verdicts import Direction
from pytest_evalmetrics.reports.sentences.thresholds import end_of_interval

if TYPE_CHECKING:
    from pytest_evalmetrics.model.comparison import RuleSettings
    from pytest_evalmetrics.model.results import Check


# a loss, by the better direction of a metric
_LOSS = {Direction.HIGHER: "drop", Direction.LOWER: "rise"}


def bound_of(check: Check) -> str:
    """Say what a check requires; empty if nothing is."""
    if check.bound is None:
        return ""
    return bound_text(check.bound)


@singledispatch
def bound_text(bound: Bound) -> str:
    """Say what is required."""
    raise TypeError(f"there is no sentence for {type(bound).__name__}")


@bound_text.register(CountBound)
def count_bound(bound: CountBound) -> str:
    """Give the number, or the least one."""
    if bound.most is None:
        return f">= {bound.least}"
    return f"== {bound.least}"


@bound_text.register(ShareBound)
def share_bound(bound: ShareBound) -> str:
    """Give the largest share."""
    return f"<= {bound.most:.12g}"


@bound_text.register(ThresholdBound)
def threshold_bound(bound: ThresholdBound) -> str:
    """Give the sides, and the end of the interval that is compared."""
    text = sides_text(bound.least, bound.most)
    if bound.end == "point":
        return text
    return f"{end_of_interval(bound.end, bound.confidence)} {text}"


def sides_text(least: float | None, most: float | None) -> str:
    """Give the sides of a threshold: ``>= 0.5 and <= 1``."""
    sides = []
    if least is not None:
        sides.append(f">= {least:.12g}")
    if most is not None:
        sides.append(f"<= {most:.12g}")
    return " and ".join(sides)


@bound_text.register(RuleBound)
def rule_bound(bound: RuleBound) -> str:
    """Give what the rule lets pass, and its name."""
    return rule_text(bound.settings)


@bound_text.register(CoverageBound)
def coverage_bound(bound: CoverageBound) -> str:
    """Give the least share, and the number of tasks."""
    return f">= {100 * bound.least:.4g} % of {many(bound.of, 'task')}"


@bound_text.register(MostBound)
def most_bound(bound: MostBound) -> str:
    """Give the largest number."""
    return f"<= {bound.most}"


@bound_text.register(UntilBound)
def until_bound(bound: UntilBound) -> str:
    """Give the day."""
    return f"until {bound.day}"


@bound_text.register(AllBound)
def all_bound(bound: AllBound) -> str:
    """Give the number."""
    return f"== {bound.count}"


@bound_text.register(SingleTasksBound)
def single_tasks_bound(bound: SingleTasksBound) -> str:
    """Give the level."""
    return f"no task worse at p < {bound.alpha:g}"


@bound_text.register(SlicesBound)
def slices_bound(bound: SlicesBound) -> str:
    """Give the level."""
    return f"no slice worse at p < {bound.alpha:g}"


@bound_text.register(MoveBound)
def move_bound(bound: MoveBound) -> str:
    """Give how far a feature may move, and the level."""
    sides = []
    if bound.rise is not None:
        sides.append(f"no rise above {100 * bound.rise:.4g} %")
    if bound.fall is not None:
        sides.append(f"no fall above {100 * bound.fall:.4g} %")
    return f"{' and '.join(sides)} at p < {bound.alpha:g}"


@bound_text.register(OrderBound)
def order_bound(bound: OrderBound) -> str:
    """Give the level."""
    return f"no other order at p < {bound.alpha:g}"


def rule_text(rule: RuleSettings) -> str:
    """Say what a rule lets pass, and its name: ``no drop at p < 0.01 (statistical)``."""
    allowed = allowed_text(rule)
    if not allowed:
        return rule.name
    return f"{allowed} ({rule.name})"


def allowed_text(rule: RuleSettings) -> str:
    """Say what a rule lets pass; empty where a rule of one's own doesn't."""
    if rule.rule is RuleName.OWN:
        return rule.own_bound
    loss = _LOSS[rule.direction]
    most = f"{rule.max_drop:.4g}"
    proven = loss
    if rule.max_drop:
        proven = f"{loss} >= {most}"
    allowed = {
        RuleName.EXACT: f"no {loss}",
        RuleName.ABSOLUTE: f"{loss} <= {most}",
        RuleName.RELATIVE: f"{loss} <= {100 * rule.max_drop:.4g} % of the baseline",
        RuleName.STATISTICAL: f"no {loss} at p < {rule.alpha:g}",
        RuleName.PRACTICAL: f"no {proven} at p < {rule.alpha:g}",
        RuleName.NONINFERIOR: f"{loss} shown to be <= {most}",
    }
    return allowed[rule.rule]
