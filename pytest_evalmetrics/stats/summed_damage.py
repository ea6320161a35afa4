"""The distribution of a damage that is summed over tasks, each of which has its own.

Exact where it is convolved on a lattice, else a Pearson type III with the same mean, variance
and skew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.stats.basics import lattice_step
from pytest_evalmetrics.stats.distributions import normal_log_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.stats.basics import Floats

_GRID = 1 << 12  # points of the convolution, where the damages are on no lattice
_LATTICE = 1 << 17  # the most points of one on a lattice
_SAME = 1e-9  # relative: equal but for rounding
_SKEWED = 1e-6  # the skew below which a distribution is normal
_DIGITS = 11  # of a p value; more are rounding of the transform
_LEAST = 1e-11
_LEAST_LOG = -700.0  # of a number that is not 0
_NO_WAVE = 1e-30  # stands for 0 where a logarithm is taken


class DamageOfKinds(msgspec.Struct, frozen=True):
    """The damages that tasks may have: one row per kind of task, padded by chance 0."""

    damage: Floats  # shape (kinds, damages)
    chance: Floats  # of each, shape (kinds, damages)
    times: Floats  # how many tasks are of the kind, shape (kinds,)

    def cumulants(self) -> Cumulants:
        """Return the cumulants of the sum over all tasks."""
        mean = (self.chance * self.damage).sum(axis=1)
        rest = self.damage - mean[:, None]
        second = (self.chance * rest**2).sum(axis=1)
        third = (self.chance * rest**3).sum(axis=1)
        return Cumulants(
            mean=float(self.times @ mean),
            variance=float(self.times @ second),
            third=float(self.times @ third),
        )


class Cumulants(msgspec.Struct, frozen=True):
    """The mean, the variance and the third cumulant of a summed damage."""

    mean: float
    variance: float
    third: float

    def log_tail(self, observed: float) -> float:
        """Return the log of the upper tail of a Pearson type III distribution; 0 for none.

        By the cube root of Wilson and Hilferty 1931, which makes it nearly normal.
        """
        if self.variance <= 0:
            return 0.0
        z = (observed - self.mean) / math.sqrt(self.variance)
        skew = self.third / self.variance**1.5
        if abs(skew) > _SKEWED:
            shape = 4 / skew**2
            # the distance from the end of the distribution, in that of the mean
            scaled = 1 + math.copysign(z / math.sqrt(shape), z * skew)
            root = 0.0
            if scaled > 0:
                root = math.cbrt(scaled)
            normal = root - 1 + 1 / (9 * shape)
            z = math.copysign(3 * math.sqrt(shape), skew) * normal
        return normal_log_sf(z)


class Tail(msgspec.Struct, frozen=True):
    """The upper tail at an observed damage: with what is observed, and with half of it."""

    p: float
    mid_p: float


class _Grid(msgspec.Struct, frozen=True):
    """The damages that a sum is convolved on."""

    step: float  # between two of them
    points: int  # from the lowest sum to the highest
    size: int  # of the transform
    is_lattice: bool  # whether each damage is on it


def convolved(observed: float, kinds: DamageOfKinds) -> Tail:
    """Convolve the tasks' distributions, and read the upper tail off."""
    is_possible = kinds.chance > 0
    lowest = np.where(is_possible, kinds.damage, math.inf).min(axis=1)
    highest = np.where(is_possible, kinds.damage, -math.inf).max(axis=1)
    above_lowest = np.where(is_possible, kinds.damage - lowest[:, None], 0.0)
    span = float(kinds.times @ (highest - lowest))
    if span <= 0:
        return Tail(p=1.0, mid_p=1.0)
    grid = _grid(above_lowest, span, kinds.times)
    density = _density(kinds, above_lowest, grid)
    place = round((observed - float(kinds.times @ lowest)) / grid.step, 6)
    slack = _SAME * grid.points
    if grid.is_lattice:
        slack = 0.25
    cells = np.arange(grid.size)
    equal = float(density[np.abs(cells - place) <= slack].sum())
    beyond = float(density[cells > place + slack].sum())
    is_farthest = above_lowest >= (highest - lowest)[:, None] - _SAME * span
    farthest = _chance_of_farthest(kinds, is_farthest)
    if place + slack >= grid.points - 2:
        # the farthest sum itself was observed
        return Tail(p=min(farthest, 1.0), mid_p=min(farthest / 2, 1.0))
    p = max(round(beyond + equal, _DIGITS), farthest, _LEAST)
    mid_p = max(round(beyond + equal / 2, _DIGITS), farthest, _LEAST)
    return Tail(p=min(p, 1.0), mid_p=min(mid_p, 1.0))


def _grid(above_lowest: Floats, span: float, times: Floats) -> _Grid:
    lattice = lattice_step(np.unique(np.round(above_lowest, 12)))
    if lattice is not None and span / lattice < _LATTICE:
        points = round(span / lattice) + 2
        size = 1 << points.bit_length()
        return _Grid(step=lattice, points=points, size=size, is_lattice=True)
    step = span / _GRID
    points = round(span / step) + 2
    # off a lattice each task takes a cell more
    size = 1 << (points + int(times.sum())).bit_length()
    return _Grid(step=step, points=points, size=size, is_lattice=False)


def _density(kinds: DamageOfKinds, above_lowest: Floats, grid: _Grid) -> Floats:
    """Convolve damages, in cells above the lowest, by multiplying their transforms."""
    log_wave = np.zeros(grid.size // 2 + 1, dtype=np.complex128)
    places = np.round(above_lowest / grid.step, 6)
    if grid.is_lattice:
        places = np.rint(places)
    for place, chance, times in zip(
        places, kinds.chance, kinds.times.tolist(), strict=True
    ):
        # off a lattice, a damage is shared by the two cells beside it
        cell = np.floor(place).astype(np.int64)
        share_above = place - cell
        cells = np.zeros(grid.size)
        np.add.at(cells, cell, chance * (1 - share_above))
        np.add.at(cells, cell + 1, chance * share_above)
        wave = np.fft.rfft(cells)
        log_wave += times * np.log(np.where(wave == 0, _NO_WAVE, wave))
    return np.fft.irfft(np.exp(log_wave), grid.size)


def _chance_of_farthest(kinds: DamageOfKinds, is_farthest: NDArray[np.bool_]) -> float:
    """Return the chance of the highest sum, which is exact: a product."""
    chance = np.where(is_farthest, kinds.chance, 0.0).sum(axis=1)
    log_chance = float(kinds.times @ np.log(chance))
    return float(f"{math.exp(max(log_chance, _LEAST_LOG)):.10g}")
