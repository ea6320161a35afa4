"""What a check requires, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from pytest_evalmetrics.model.comparison import RuleSettings


class CountBound(msgspec.Struct, frozen=True, tag="count"):
    """So many tasks or rollouts."""

    least: int
    most: int | None = None  # None for any number from `least` on


class ShareBound(msgspec.Struct, frozen=True, tag="share"):
    """At most this share."""

    most: float


class ThresholdBound(msgspec.Struct, frozen=True, tag="threshold"):
    """A metric, or an end of its interval, within bounds."""

    least: float | None
    most: float | None
    end: Literal["point", "lower", "upper"] = "point"
    # one-sided, of the end; None for that of the 95 % interval
    confidence: float | None = None


class RuleBound(msgspec.Struct, frozen=True, tag="rule"):
    """No worse than the reference, by a rule."""

    settings: RuleSettings


class CoverageBound(msgspec.Struct, frozen=True, tag="coverage"):
    """At least this share of the reference's tasks."""

    least: float
    of: int


class MostBound(msgspec.Struct, frozen=True, tag="most"):
    """At most so many tasks."""

    most: int


class UntilBound(msgspec.Struct, frozen=True, tag="until"):
    """Not after a day."""

    day: str


class AllBound(msgspec.Struct, frozen=True, tag="all"):
    """All of so many."""

    count: int


class SingleTasksBound(msgspec.Struct, frozen=True, tag="single_tasks"):
    """No task worse beyond what its rollouts explain."""

    alpha: float  # the chance to name any task where none changed


class SlicesBound(msgspec.Struct, frozen=True, tag="slices"):
    """No slice worse beyond what its tasks explain."""

    alpha: float  # the chance to name any slice where none changed


class MoveBound(msgspec.Struct, frozen=True, tag="move"):
    """A feature of behaviour may move so far: a share, or points of a rate."""

    rise: float | None
    fall: float | None
    alpha: float


class OrderBound(msgspec.Struct, frozen=True, tag="order"):
    """Tools are called in the order of the baseline."""

    alpha: float


Bound = (
    CountBound
    | ShareBound
    | ThresholdBound
    | RuleBound
    | CoverageBound
    | MostBound
    | UntilBound
    | AllBound
    | SingleTasksBound
    | SlicesBound
    | MoveBound
    | OrderBound
)
