"""Group-sequential tests, which stop a run as soon as its gates are sure."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.model.comparison import LookFacts
from pytest_evalmetrics.model.reasons import LowCoverage, NothingInCommon
from pytest_evalmetrics.model.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.gates.rules import Decision
    from pytest_evalmetrics.model.comparison import Floats, TestResult
    from pytest_evalmetrics.model.estimates import Estimate, Interval
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.spec import Threshold

Settled = Literal["fail", "pass"]

_LOOKS = 4
# the share of drops that stopping may miss, of power 95 % at the last look
_BETA = 0.05
_POWER = 3.0  # the exponent of the spending functions, near O'Brien and Fleming's
_THRESHOLD_ALPHA = 0.01
_FAR = 8.0  # standard errors, beyond which there is nothing
_NODES = 241

_sf = np.vectorize(stats.normal_sf, otypes=[float])


class StopBounds(msgspec.Struct, frozen=True):
    """The bounds of one gate: tuples of one number for each look."""

    fractions: tuple[float, ...]  # the information, as a share of the last look's
    efficacy: tuple[float, ...]  # the z above which a drop is proven
    futility: tuple[float, ...]  # the one below which none will be


class Look(msgspec.Struct, frozen=True):
    """One interim look at a run whose rollouts come in rounds."""

    rollouts: tuple[int, ...]  # per task, at each look
    at: int  # the number of the look, from 0

    @property
    def is_last(self) -> bool:
        """Whether all rollouts are there."""
        return self.at + 1 == len(self.rollouts)

    def bounds(self, alpha: float, baseline: float) -> StopBounds:
        """Return the bounds against a baseline with so many rollouts of each task."""
        return bounds_of(fractions_of(self.rollouts, baseline), alpha)

    def level(self, bounds: StopBounds) -> float:
        """Return the p below which this look proves a drop."""
        return _six_digits(stats.normal_sf(bounds.efficacy[self.at]))

    def facts(self, *, settled: Settled | None) -> LookFacts:
        """Describe the look; `settled` is what the gate is sure of."""
        return LookFacts(
            number=self.at + 1,
            of=len(self.rollouts),
            rollouts=self.rollouts[self.at],
            most=self.rollouts[-1],
            settled=settled,
        )

    def with_threshold(
        self, check: Check, estimate: Estimate, threshold: Threshold
    ) -> Check:
        """Add to a threshold's check whether it is sure."""
        settled = self.settles(
            estimate.value, estimate.interval, threshold.min, threshold.max
        )
        return structs.replace(check, look=self.facts(settled=settled))

    def settles(
        self,
        value: float,
        interval: Interval | None,
        least: float | None,
        most: float | None,
    ) -> Settled | None:
        """Return on which side of its bounds a number surely is; None if unsure.

        By a repeated confidence interval, whose ends hold at all looks: Jennison and
        Turnbull 1989, J. R. Statist. Soc. B 51.
        """
        if interval is None or not interval.low < interval.high:
            return None
        bounds = self.bounds(_THRESHOLD_ALPHA, math.inf)
        normal = stats.normal_ppf(0.5 + interval.level / 2)
        wider = bounds.efficacy[self.at] / normal
        low = value - wider * (value - interval.low)
        high = value + wider * (interval.high - value)
        least = -math.inf if least is None else least
        most = math.inf if most is None else most
        if high < least or low > most:
            return "fail"
        return "pass" if low >= least and high <= most else None

    def of_gate(
        self,
        bounds: StopBounds,
        decision: Decision,
        result: TestResult,
        *,
        p_at_worst: float,
    ) -> LookFacts:
        """Describe the look at a gate: whether it is sure, and the corrected drop."""
        information = bounds.fractions[self.at]
        futile_p = stats.normal_sf(bounds.futility[self.at])
        settled = _settled(decision, min(result.p, p_at_worst), futile_p)
        facts = structs.replace(
            self.facts(settled=settled),
            information=information,
            futile_p=_six_digits(futile_p),
        )
        is_final = settled is not None or self.is_last
        if not self.at or not is_final or not (result.se > 0 and 0 < result.p < 1):
            return facts
        drift = corrected_drift(bounds, self.at, stats.normal_ppf(1 - result.p))
        unit = result.se * math.sqrt(information)
        return structs.replace(
            facts,
            drop=_six_digits(unit * drift.middle),
            drop_low=_six_digits(unit * drift.low),
            drop_high=_six_digits(unit * drift.high),
        )


def _settled(decision: Decision, p: float, futile_p: float) -> Settled | None:
    """Return what more rollouts can't change; None if they may."""
    for_good = (NothingInCommon, LowCoverage)
    is_for_good = any(isinstance(reason, for_good) for reason in decision.reasons)
    if decision.verdict is Verdict.FAIL or is_for_good:
        return "fail"
    if not decision.verdict.fails and p > futile_p:
        return "pass"
    return None


def looks_between(least: int, most: int) -> tuple[int, ...]:
    """Return the rollouts of each task at up to four looks, evenly spaced."""
    steps = min(_LOOKS, most - least + 1) - 1
    return tuple(
        least + round((most - least) * step / max(steps, 1))
        for step in range(steps + 1)
    )


def fractions_of(rollouts: Sequence[int], baseline: float) -> tuple[float, ...]:
    """Return the information at each look as a share of that at the last.

    The variance of a difference is that of `baseline` rollouts of each task and of the
    run's. What tasks change beyond that only makes the looks more alike, and the bounds
    conservative.
    """
    last = 1 / baseline + 1 / rollouts[-1]
    return tuple(round(last / (1 / baseline + 1 / count), 6) for count in rollouts)


# -- bounds ------------------------------------------------------------------------------


@lru_cache
def bounds_of(fractions: tuple[float, ...], alpha: float) -> StopBounds:
    """Spend `alpha` on efficacy, and 5 % on futility, which does not bind.

    Each look spends a power of its information (Kim and DeMets 1987, Biometrika 74).
    The drop that futility is about is one that the last look alone finds in 95 % of the
    runs.
    """
    spent = [min(fraction, 1.0) ** _POWER for fraction in fractions]
    efficacy = efficacy_bounds(fractions, [alpha * share for share in spent])
    drift = stats.normal_ppf(1 - alpha) + stats.normal_ppf(1 - _BETA)
    futility = _futility_bounds(fractions, efficacy, spent, drift)
    # at the last look both bounds are one: a drop that is not proven there passes
    return StopBounds(fractions, efficacy, (*futility, efficacy[-1]))


def _futility_bounds(
    fractions: Sequence[float],
    efficacy: Sequence[float],
    spent: Sequence[float],
    drift: float,
) -> list[float]:
    """Return the bounds of all looks but the last."""
    walk = start(drift)
    missed = 0.0  # the chance to have given up on a drop of `drift`
    lows: list[float] = []
    for fraction, high, share in zip(
        fractions[:-1], efficacy[:-1], spent[:-1], strict=True
    ):
        staying = walk.chance - (_BETA * share - missed)
        low = stats.falls_to(partial(walk.above, t=fraction), staying, -_FAR, _FAR)
        lows.append(min(low, high))
        walk = walk.between(lows[-1], high, fraction)
        missed = _BETA * share
    return lows


def efficacy_bounds(
    fractions: Sequence[float], spent: Sequence[float]
) -> tuple[float, ...]:
    """Return the z that chance alone crosses with the probability that a look spends.

    `spent` is cumulative. By recursive integration: Armitage, McPherson and Rowe 1969;
    Lan and DeMets 1983; Jennison and Turnbull 2000, chapter 19.
    """
    walk = start(drift=0.0)
    before = 0.0
    highs: list[float] = []
    for fraction, total in zip(fractions, spent, strict=True):
        crossing = partial(walk.above, t=fraction)
        highs.append(stats.falls_to(crossing, total - before, -_FAR, _FAR))
        walk = walk.between(-_FAR, highs[-1], fraction)
        before = total
    return tuple(highs)


def stopping(bounds: StopBounds, drift: float) -> list[tuple[float, float]]:
    """Return the chances to pass and to fail at each look, where `drift` is true."""
    walk = start(drift)
    chances = []
    for fraction, low, high in zip(
        bounds.fractions, bounds.futility, bounds.efficacy, strict=True
    ):
        passes = walk.chance - walk.above(low, fraction)
        chances.append((passes, walk.above(high, fraction)))
        if low < high:
            walk = walk.between(low, high, fraction)
    return chances


# -- what a run that stopped shows -------------------------------------------------------


class CorrectedDrift(msgspec.Struct, frozen=True):
    """A drift in standard errors of the last look, with its 95 % interval."""

    middle: float
    low: float
    high: float


def corrected_drift(bounds: StopBounds, at: int, z: float) -> CorrectedDrift:
    """Return the drift that a run which stopped at a look shows.

    The median-unbiased estimate and the 95 % interval by the stage-wise ordering, in
    which a proof at an earlier look is more extreme: Jennison and Turnbull 2000,
    section 8.4.
    """
    far = abs(z) / math.sqrt(bounds.fractions[at]) + _FAR

    def less_extreme(drift: float) -> float:
        return -_more_extreme(bounds, at, z, drift)

    return CorrectedDrift(
        middle=stats.falls_to(less_extreme, -0.5, -far, far),
        low=stats.falls_to(less_extreme, -0.025, -far, far),
        high=stats.falls_to(less_extreme, -0.975, -far, far),
    )


def _more_extreme(bounds: StopBounds, at: int, z: float, drift: float) -> float:
    """Return the chance of an earlier proof, or of more than `z` at this look."""
    walk = start(drift)
    chance = 0.0
    for look in range(at):
        fraction = bounds.fractions[look]
        high = bounds.efficacy[look]
        chance += walk.above(high, fraction)
        walk = walk.between(bounds.futility[look], high, fraction)
    return chance + walk.above(z, bounds.fractions[at])


# -- the way of z over time --------------------------------------------------------------


class Walk(msgspec.Struct, frozen=True):
    """A Brownian motion with drift that has crossed no bound: its density at a time."""

    drift: float
    t: float
    places: Floats  # shape (nodes,)
    weights: Floats  # the chance to be near each, shape (nodes,)

    @property
    def chance(self) -> float:
        """The chance to have crossed no bound."""
        return float(self.weights.sum())

    def above(self, z: float, t: float) -> float:
        """Return the chance to be above z at a later time t."""
        sd = math.sqrt(t - self.t)
        return float(self.weights @ _sf((z * math.sqrt(t) - self._mean(t)) / sd))

    def between(self, low: float, high: float, t: float) -> Walk:
        """Advance to time t, and keep the paths between two bounds."""
        sd = math.sqrt(t - self.t)
        root = math.sqrt(t)
        centre = self.drift * t
        places, step = np.linspace(
            max(low * root, centre - _FAR * root),
            min(high * root, centre + _FAR * root),
            _NODES,
            retstep=True,
        )
        # Simpson's rule
        weights = np.where(np.arange(_NODES) % 2, 4.0, 2.0) * step / 3
        weights[[0, -1]] /= 2
        gaps = (places[:, None] - self._mean(t)) / sd
        density = np.exp(-0.5 * gaps**2) @ self.weights
        density /= sd * math.sqrt(2 * math.pi)
        return Walk(self.drift, t, places, weights * density)

    def _mean(self, t: float) -> Floats:
        return self.places + self.drift * (t - self.t)


def start(drift: float) -> Walk:
    """Start a walk at 0."""
    return Walk(drift, 0.0, np.zeros(1), np.ones(1))


def _six_digits(value: float) -> float:
    # without -0
    return float(f"{value:.6g}") + 0.0
