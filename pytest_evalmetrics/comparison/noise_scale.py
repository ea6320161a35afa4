"""The scale on which noise between runs is as likely up as down.

A busy server makes latencies, costs and tokens larger by a factor: what is added to large
values is added to small ones in proportion, and the errors of such quantities multiply
(Limpert, Stahel and Abbt 2001, BioScience 51, 341). In the metric's own unit such noise is
skewed. It goes up farther than it goes down, so that a test that takes it as symmetric is
too sure of a rise, and not sure enough of a fall. On the scale of logarithms it is
symmetric. Where less is better, the noise of positive values is therefore taken there.
Where noise is of amounts after all, a rise of x is no more than log(1 + x), so that the
limit of false alarms holds as well. Where more is better, the metric's unit is the safe
one of both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from pytest_evalmetrics.comparison.inputs import ComparisonInput
    from pytest_evalmetrics.comparison.run_noise import Runs

_LEAST_RATIO = -1 + 2.0**-53
_MOST = 50.0  # a logarithm, beyond which cubes of values are no numbers


class NoiseScale(msgspec.Struct, frozen=True):
    """A scale for a drop, the standard errors of its parts, and the values of runs."""

    # the value that a drop is from, where runs differ by a factor; else 1
    unit: float = 1.0
    is_of_logs: bool = False

    def of_value(self, value: float) -> float:
        """Return the place of a run's value on the scale."""
        return math.log(value) if self.is_of_logs else value

    def of_drop(self, drop: float) -> float:
        """Return the distance on the scale of a drop in the metric's unit."""
        if not self.is_of_logs:
            return drop
        # a value that fell to next to nothing rounds to a loss of all
        return math.log1p(max(drop / self.unit, _LEAST_RATIO))

    def drop_of(self, distance: float) -> float:
        """Return the drop in the metric's unit of a distance on the scale."""
        if not self.is_of_logs:
            return distance
        return self.unit * math.expm1(min(distance, _MOST))

    def of_error(self, se: float, *, at: float = 0.0) -> float:
        """Return the standard error on the scale of a drop of about `at` (delta method)."""
        if self.is_of_logs and at > 0:
            return se * self.of_drop(at) / at
        return se / self.unit


OF_AMOUNTS: Final = NoiseScale()


def choose_scale(
    value_baseline: float,
    value_current: float,
    runs: Runs | None,
    *,
    sign: float,
    is_rate: bool,
) -> NoiseScale:
    """Choose the scale of the noise between runs of a metric.

    That of logarithms where a rise is damage and every value is positive, but not for a
    rate, whose noise is in points.
    """
    if is_rate or sign > 0:
        return OF_AMOUNTS
    values = [value_baseline, value_current]
    if runs is not None:
        values += runs.values
        if runs.history is not None and runs.history_of_logs is None:
            return OF_AMOUNTS
    if all(value > 0 for value in values):
        return NoiseScale(unit=value_baseline, is_of_logs=True)
    return OF_AMOUNTS


def scale_of(given: ComparisonInput) -> NoiseScale:
    """Choose the scale of the noise between runs of what is compared."""
    return choose_scale(
        given.pair.value_baseline,
        given.pair.value_current,
        given.runs,
        sign=given.rule.sign,
        is_rate=given.is_rate,
    )
