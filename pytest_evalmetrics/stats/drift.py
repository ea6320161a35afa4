"""Drift over the history: a shift of the level between runs, and a slow ratchet of baselines.

Shifts are found by the change-point model of Hawkins, Qiu and Kang 2003 (Journal of Quality
Technology 35, 355): after each run the standardized CUSUM of all runs, the largest t statistic of
any split into earlier and later ones, is held against a limit that an unchanged system exceeds
once in 200 runs, whatever its level and its noise, neither of which has to be known. After a shift
the runs count from it on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.stats.distributions import t_ppf, t_sf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_FEWEST, _LEAST = 8, 3  # runs, and those on each side of a shift
_MOST = 200  # the last runs
_UNSURE = 6.0  # twice the log likelihood that a split may lack to be one where the shift began
_EQUAL = 1e-12  # relative: equal but for rounding


class Shift(msgspec.Struct, frozen=True):
    """A shift of the level, by places of runs."""

    start: int  # of the level before
    first: int  # the earliest run that may have been the first of the new level
    at: int  # the likeliest
    last: int  # the latest


def limit(runs: int, metrics: int = 1) -> float:
    """Return the t statistic that an unchanged system exceeds once in 200 runs, as simulated."""
    # Of several metrics each has its share of the tail, and less (the power is simulated too),
    # because there are more splits to choose from further out.
    alone = 3.1 + 8 / (runs - 4.5)
    return (
        alone
        if metrics <= 1
        else -t_ppf(t_sf(alone, runs - 2) / metrics**1.15, runs - 2)
    )


def levels(values: Sequence[float], metrics: int = 1) -> list[int]:
    """Return the starts of the levels in a sequence of values of one of `metrics` metrics."""
    numbers = np.asarray(values, dtype=np.float64)
    starts = [0]
    for end in range(_FEWEST, len(numbers) + 1):
        part = numbers[starts[-1] : end]
        if len(part) < _FEWEST or np.ptp(part) <= _EQUAL * np.abs(part).max():
            continue
        rest = _rest(part)
        whole = float(((part - part.mean()) ** 2).sum())
        if (whole / rest.min() - 1) * (len(part) - 2) > limit(len(part), metrics) ** 2:
            starts.append(starts[-1] + _LEAST + int(rest.argmin()))
    return starts


def last_shift(values: Sequence[float], metrics: int = 1) -> Shift | None:
    """Find the last shift of the level in a sequence of values, see `levels`."""
    *_, before, start = (-1, *levels(values, metrics))
    if start == 0:
        return None
    numbers = np.asarray(values, dtype=np.float64)
    rest = _rest(numbers[before:])  # by all runs, those since it was seen too
    near = np.flatnonzero(
        rest <= rest.min() * math.exp(_UNSURE / (len(numbers) - before))
    )
    first, at, last = (
        before + _LEAST + int(place) for place in (near[0], rest.argmin(), near[-1])
    )
    return Shift(before, first, at, last)


def _rest(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squares that each split into two levels leaves."""
    n, centred = len(part), part - part.mean()
    cut = np.arange(_LEAST, n - _LEAST + 1)
    cusum = np.cumsum(centred)[cut - 1]
    whole = float(centred @ centred)
    rest: NDArray[np.float64] = np.maximum(
        whole - cusum**2 * n / (cut * (n - cut)), _EQUAL * whole
    )
    return rest


def drift_warnings(
    entry: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Warn of metrics that drift over usable runs; of gated ones only for the worse."""
    since = max((i for i, run in enumerate(runs) if run["starts"]), default=0)
    metrics = sum(map(len, runs[-1]["agents"].values())) if runs else 0
    for agent, points in runs[-1]["agents"].items() if runs else ():
        for metric, now in points.items():
            checks = (check for check in entry["checks"] if check["name"] == metric)
            sign = _sign(check for check in checks if check["agent"] in ("", agent))
            series = [
                (i, run, point)
                for i, run in enumerate(runs)
                if (point := run["agents"].get(agent, {}).get(metric)) is not None
                and point["tasks"] == now["tasks"]
            ]
            name = f"{entry['name']}: {f'{agent}: ' if len(entry['agents']) > 1 else ''}{metric}"
            anew = [(run, point) for i, run, point in series if i >= since]
            accepted = [(run, point) for _, run, point in series if run["starts"]]
            yield from _shifted(name, anew[-_MOST:], sign, metrics)
            yield from _ratchet(name, accepted, anew[-1], sign)


def _sign(checks: Iterable[Mapping[str, Any]]) -> float:
    """Return 1 if higher values are better, -1 if lower ones are, and 0 if unknown."""
    for check in checks:
        if check["gate"] == "baseline" and "direction" in check["evidence"]:
            return 1.0 if check["evidence"]["direction"] == "higher" else -1.0
        if check["gate"] == "threshold":
            return {">": 1.0, "<": -1.0}.get(check["bound"][:1], 0.0)
    return 0.0


_Series = tuple["Mapping[str, Any]", "Mapping[str, Any]"]


def _shifted(
    name: str, series: Sequence[_Series], sign: float, metrics: int
) -> Iterator[str]:
    values = [point["value"] for _, point in series]
    shift = last_shift(values, metrics)
    if shift is None:
        return
    earlier, later = values[shift.start : shift.at], values[shift.at :]
    before, after = sum(earlier) / len(earlier), sum(later) / len(later)
    if sign * (after - before) > 0:
        return
    yield (
        f"{name} {'fell' if after < before else 'rose'} from {before:.4g} (the mean of "
        f"{len(earlier)} runs) to {after:.4g} (of the last {len(later)}): it began between "
        f"{_when(series[shift.first - 1][0])} and {_when(series[shift.last][0])}"
    )


def _ratchet(
    name: str, accepted: Sequence[_Series], now: _Series, sign: float
) -> Iterator[str]:
    """Compare with the first baseline, where others have been accepted since, one by one."""
    if len(accepted) <= 2 or not sign:  # one step is what its gate tests
        return
    (first, before), (_, after) = accepted[0], now
    ends = ("low", "high") if sign > 0 else ("high", "low")
    if not all(end in point for end in ends for point in (before, after)):
        return
    noise = math.hypot(
        before["value"] - before[ends[0]], after[ends[1]] - after["value"]
    )
    if sign * (before["value"] - after["value"]) <= noise:
        return
    reasons = "; ".join(run["reason"] for run, _ in accepted[1:] if run.get("reason"))
    yield (
        f"{name} is {after['value']:.4g}, and was {before['value']:.4g} in the first baseline, of "
        f"{_when(first)}: {len(accepted) - 1} changes have been accepted since "
        f"({reasons or 'none with a reason'})"
    )


def _when(run: Mapping[str, Any]) -> str:
    return (
        f"{run['time'][:10]} ({run['commit'][:7]})"
        if run["commit"]
        else str(run["time"][:10])
    )
