"""Group-sequential tests, which stop a run as soon as its gates are sure."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.model.results import Interval, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.gates.decisions import Decision
    from pytest_evalmetrics.stats.basics import Floats

_LOOKS = 4
_BETA = (
    0.05  # the share of drops that stopping may miss, of power 95 % at the last look
)
_POWER = 3.0  # the exponent of the spending functions, near O'Brien and Fleming's
_THRESHOLD_ALPHA = 0.01
_FOR_GOOD = ("no_pairs", "coverage")  # reasons that more rollouts can't remove
_FAR = 8.0  # standard errors, beyond which there is nothing
_NODES = 241

_sf = np.vectorize(stats.normal_sf, otypes=[float])


class StopBounds(msgspec.Struct, frozen=True):
    """The bounds of one gate, at each look."""

    fractions: tuple[
        float, ...
    ]  # the information at each look, as a share of the last one's
    efficacy: tuple[float, ...]  # the z above which a drop is proven
    futility: tuple[float, ...]  # the one below which none will be


class Look(msgspec.Struct, frozen=True):
    """One interim look at a run whose rollouts come in rounds."""

    rollouts: tuple[int, ...]  # per task, at each look
    at: int  # the number of the look, from 0

    def bounds(self, alpha: float, baseline: float) -> StopBounds:
        """Return the bounds against a baseline with so many rollouts of each task."""
        return bounds_of(fractions_of(self.rollouts, baseline), alpha)

    def level(self, bounds: StopBounds) -> float:
        """Return the p below which this look proves a drop."""
        return float(f"{stats.normal_sf(bounds.efficacy[self.at]):.6g}")

    def evidence(self, *, settled: str) -> dict[str, Any]:
        """Describe the look for a check's evidence; `settled` is ``fail``, ``pass`` or empty."""
        return {
            "number": self.at + 1,
            "of": len(self.rollouts),
            "rollouts": self.rollouts[self.at],
            "most": self.rollouts[-1],
            "settled": settled or None,
        }

    def settles(
        self,
        value: float,
        interval: Interval | None,
        least: float | None,
        most: float | None,
    ) -> str:
        """Check on which side of its ends a number surely is, by a repeated confidence interval."""
        # Jennison and Turnbull 1989, J. R. Statist. Soc. B 51: its ends hold at all looks.
        if interval is None or not interval.low < interval.high:
            return ""
        wider = self.bounds(_THRESHOLD_ALPHA, math.inf).efficacy[self.at]
        wider /= stats.normal_ppf(0.5 + interval.level / 2)
        low = value - wider * (value - interval.low)
        high = value + wider * (interval.high - value)
        least, most = (
            -math.inf if least is None else least,
            math.inf if most is None else most,
        )
        if high < least or low > most:
            return "fail"
        return "pass" if low >= least and high <= most else ""

    def of_gate(
        self,
        bounds: StopBounds,
        decision: Decision,
        result: stats.StatResult,
        p_worst: float,
    ) -> dict[str, Any]:
        """Return the evidence of a look: whether the gate is sure, and the corrected drop."""
        p, se = result.p, result.se
        information, futile = (
            bounds.fractions[self.at],
            stats.normal_sf(bounds.futility[self.at]),
        )
        fails = decision.verdict is Verdict.FAIL or decision.why in _FOR_GOOD
        settled = "fail" if fails else ""
        if not decision.verdict.fails and min(p, p_worst) > futile:
            settled = "pass"
        evidence = self.evidence(settled=settled)
        evidence |= {"information": information, "futile_p": float(f"{futile:.6g}")}
        last = self.at + 1 == len(self.rollouts)
        if self.at and se > 0 and 0 < p < 1 and (settled or last):
            unit = se * math.sqrt(information)
            drifts = adjusted(bounds, self.at, stats.normal_ppf(1 - p))
            drop, low, high = (float(f"{unit * drift:.6g}") + 0.0 for drift in drifts)
            evidence |= {"drop": drop, "drop_low": low, "drop_high": high}
        return evidence


def looks_between(least: int, most: int) -> tuple[int, ...]:
    """Return the rollouts of each task at up to four looks, evenly spaced."""
    steps = min(_LOOKS, most - least + 1) - 1
    return tuple(
        least + round((most - least) * i / max(steps, 1)) for i in range(steps + 1)
    )


def fractions_of(rollouts: Sequence[int], baseline: float) -> tuple[float, ...]:
    """Return the information at each look as a share of that at the last.

    The variance of a difference is that of `baseline` rollouts of each task and of the run's. What
    tasks change beyond that only makes the looks more alike, and the bounds conservative.
    """
    last = 1 / baseline + 1 / rollouts[-1]
    return tuple(round(last / (1 / baseline + 1 / k), 6) for k in rollouts)


@lru_cache
def bounds_of(fractions: tuple[float, ...], alpha: float) -> StopBounds:
    """Spend `alpha` on efficacy, and 5 % on futility, which does not bind.

    Each look spends a power of its information (Kim and DeMets 1987, Biometrika 74). The drop that
    futility is about is one that the last look alone finds in 95 % of the runs.
    """
    spent = [min(t, 1.0) ** _POWER for t in fractions]
    highs = efficacy_bounds(fractions, [alpha * share for share in spent])
    walk = _Walk(stats.normal_ppf(1 - alpha) + stats.normal_ppf(1 - _BETA))
    before, lows = 0.0, list[float]()
    for t, high, share in zip(fractions[:-1], highs, spent, strict=False):
        staying = walk.mass - (_BETA * share - before)
        low = stats.bisected(partial(walk.above, t=t), staying, -_FAR, _FAR)
        lows.append(min(low, high))
        walk.go_on(lows[-1], high, t)
        before = _BETA * share
    # at the last look both bounds are one: a drop that is not proven there passes
    return StopBounds(fractions, highs, (*lows, highs[-1]))


def efficacy_bounds(
    fractions: Sequence[float], spent: Sequence[float]
) -> tuple[float, ...]:
    """Return the z that is crossed by chance with just the probabilities spent by each look.

    By recursive integration: Armitage, McPherson and Rowe 1969; Lan and DeMets 1983; Jennison and
    Turnbull 2000, chapter 19.
    """
    walk, before, highs = _Walk(0.0), 0.0, list[float]()
    for t, total in zip(fractions, spent, strict=True):
        highs.append(
            stats.bisected(partial(walk.above, t=t), total - before, -_FAR, _FAR)
        )
        walk.go_on(-_FAR, highs[-1], t)
        before = total
    return tuple(highs)


def stopping(bounds: StopBounds, drift: float) -> list[tuple[float, float]]:
    """Return the probabilities to pass and to fail at each look, where `drift` is true."""
    walk, chances = _Walk(drift), []
    for t, low, high in zip(
        bounds.fractions, bounds.futility, bounds.efficacy, strict=True
    ):
        chances.append((walk.mass - walk.above(low, t), walk.above(high, t)))
        if low < high:
            walk.go_on(low, high, t)
    return chances


def adjusted(bounds: StopBounds, at: int, z: float) -> tuple[float, float, float]:
    """Return the drift that a run which stopped at a look shows, and its interval.

    The median-unbiased estimate and the 95 % interval by the stage-wise ordering, in which a proof
    at an earlier look is more extreme: Jennison and Turnbull 2000, section 8.4.
    """
    *before, now = bounds.fractions[: at + 1]

    def tail(drift: float) -> float:
        walk, total = _Walk(drift), 0.0
        for t, low, high in zip(before, bounds.futility, bounds.efficacy, strict=False):
            total += walk.above(high, t)
            walk.go_on(low, high, t)
        return total + walk.above(z, now)

    far = abs(z) / math.sqrt(now) + _FAR
    middle, low, high = (
        stats.bisected(lambda drift: -tail(drift), -p, -far, far)
        for p in (0.5, 0.025, 0.975)
    )
    return middle, low, high


class _Walk:
    """A Brownian motion with drift that has crossed no bound: its density at the last look."""

    def __init__(self, drift: float) -> None:
        self._drift, self._t = drift, 0.0
        self._x, self._mass = np.zeros(1), np.ones(1)

    def _mean(self, t: float) -> Floats:
        return self._x + self._drift * (t - self._t)

    @property
    def mass(self) -> float:
        return float(self._mass.sum())

    def above(self, z: float, t: float) -> float:
        sd = math.sqrt(t - self._t)
        return float(self._mass @ _sf((z * math.sqrt(t) - self._mean(t)) / sd))

    def go_on(self, low: float, high: float, t: float) -> None:
        """Advance to time t, and keep the paths between two bounds."""
        sd, root, centre = math.sqrt(t - self._t), math.sqrt(t), self._drift * t
        ends = (
            max(low * root, centre - _FAR * root),
            min(high * root, centre + _FAR * root),
        )
        x, step = np.linspace(*ends, _NODES, retstep=True)
        weights = np.where(np.arange(_NODES) % 2, 4.0, 2.0) * step / 3  # Simpson's rule
        weights[[0, -1]] /= 2
        gaps = (x[:, None] - self._mean(t)) / sd
        density = np.exp(-0.5 * gaps**2) @ self._mass / (sd * math.sqrt(2 * math.pi))
        self._x, self._mass, self._t = x, weights * density, t
