"""What the owner of a score or metric states of its values: direction, range, rollouts."""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec

from pytest_evalmetrics.errors import MetricError

DirectionName = Literal["higher", "lower"]
# the direction or the range of the score that a metric reduces
AsScore = Literal["as_score"]
AS_SCORE: Final[AsScore] = "as_score"
MetricDirection = DirectionName | AsScore
MetricLimits = tuple[float, float] | AsScore
_UNIT: Final = (0.0, 1.0)

# The columns of usage that the project defines: what a rollout spent.
USAGE_SCORES: Final = frozenset(
    (
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "prompt_tokens",
        "completion_tokens",
        "latency_s",
        "latency_seconds",
        "duration_s",
        "duration_seconds",
        "elapsed_s",
        "wall_time_s",
        "cost",
        "cost_usd",
        "total_cost",
        "total_cost_usd",
        "truncated",
    )
)


class Range(msgspec.Struct, frozen=True):
    """The closed range of a metric or score.

    Attributes
    ----------
    low, high
        The ends; infinite where there is none, or none is known.
    why
        The range in words for messages, such as "a rate from 0 to 1"; empty where
        nothing is known.
    """

    low: float = -math.inf
    high: float = math.inf
    why: str = ""

    @property
    def width(self) -> float:
        """The largest possible change."""
        return self.high - self.low


class ScoreFacts(msgspec.Struct, frozen=True):
    """What a scorer states of one of its scores.

    Attributes
    ----------
    direction
        Which way is better; None if the scorer doesn't say.
    low, high
        The ends of its range; None where there is none.
    """

    direction: DirectionName | None = None
    low: float | None = None
    high: float | None = None


class MetricFacts(msgspec.Struct, frozen=True):
    """What a metric's class states of its values.

    Attributes
    ----------
    direction
        Which way is better: "higher", "lower", or "as_score", the way of the score that
        it reduces; None if the class doesn't say.
    limits
        The ends of its range, infinite where there is none, or "as_score", that of its
        score; None if the class doesn't say.
    rollouts
        The rollouts that each task needs; 0 for any number.
    counts_passes
        Whether it counts the rollouts that reach ``pass_threshold``.
    has_interval
        Whether it can have a confidence interval.
    """

    direction: MetricDirection | None = None
    limits: MetricLimits | None = None
    rollouts: int = 0
    counts_passes: bool = False
    has_interval: bool = True

    def range(self, named: str = "") -> Range:
        """Return the range that the class states; `named` is the metric's kind, if any."""
        if self.limits is None or self.limits == AS_SCORE:
            return Range()
        low, high = self.limits
        if (low, high) == _UNIT:
            return Range(low, high, "a rate from 0 to 1")
        if math.isinf(low) and math.isinf(high):
            return Range()
        ends = " ".join(_ends(low, high))
        if named:
            return Range(low, high, f"{named}, which is {ends}")
        return Range(low, high, "never below 0" if ends == "from 0" else ends)


# the base statistics of a score, such as mean/wer
STATISTIC_FACTS: Final = {
    "mean": MetricFacts(direction=AS_SCORE, limits=AS_SCORE),
    "max": MetricFacts(direction=AS_SCORE, limits=AS_SCORE, has_interval=False),
    "min": MetricFacts(direction=AS_SCORE, limits=AS_SCORE, has_interval=False),
    "median": MetricFacts(direction=AS_SCORE, limits=AS_SCORE, has_interval=False),
    "std": MetricFacts(limits=(0.0, math.inf), has_interval=False),
}


def facts_of(target: object) -> MetricFacts:
    """Read what a metric's class, or the metric itself, states in its attributes."""
    direction = getattr(target, "direction", None)
    if direction not in (None, "higher", "lower", AS_SCORE):
        raise MetricError(
            f"the direction of {_name_of(target)} is {direction!r}, "
            "expected 'higher', 'lower' or 'as_score'"
        )
    needed = getattr(target, "samples_needed", 0)
    return MetricFacts(
        direction=direction,
        limits=_limits_of(target),
        # a property of the class, where the number is known of its objects alone
        rollouts=needed if isinstance(needed, int) else 0,
        counts_passes=getattr(target, "counts_passes", False) is True,
        has_interval=not getattr(target, "no_interval", ""),
    )


def _limits_of(target: object) -> MetricLimits | None:
    if getattr(target, "bounded", False) is True:
        return _UNIT
    limits = getattr(target, "limits", None)
    if limits is None or limits == AS_SCORE:
        return limits
    if isinstance(limits, tuple | list) and len(limits) == len(_UNIT):
        low, high = limits
        if _is_number(low) and _is_number(high) and low < high:
            return float(low), float(high)
    raise MetricError(
        f"the limits of {_name_of(target)} are {limits!r:.60}, "
        "expected two numbers, the lower first, or 'as_score'"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name_of(target: object) -> str:
    return str(getattr(target, "__qualname__", type(target).__qualname__))


def score_range(score: str, facts: ScoreFacts) -> Range:
    """Return the range of a score, as its scorer states it."""
    if facts.low is None and facts.high is None:
        return Range()
    low = -math.inf if facts.low is None else facts.low
    high = math.inf if facts.high is None else facts.high
    ends = " ".join(_ends(low, high))
    return Range(low, high, f"of {score}, which is a score {ends}")


def _ends(low: float, high: float) -> list[str]:
    """Name the finite ends of a range: ``from 0``, ``to 5``."""
    ends = []
    if math.isfinite(low):
        ends.append(f"from {low:.12g}")
    if math.isfinite(high):
        ends.append(f"to {high:.12g}")
    return ends
