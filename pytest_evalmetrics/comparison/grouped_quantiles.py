"""Quantiles of values that are chosen group by group, without sorting them anew.

A test by swapped sides asks thousands of times for a median, or a percentile, of some
groups of tasks on one side and of the others on the other side. All values are sorted
once. The quantiles of most choices then lie close together in this order, so that a
window of it holds them, and what lies before the window is only counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import Floats, Ints

# standard deviations of a rank: few quantiles are further from the middle of the window,
# which is widened for them
_FAR = 6
_WIDER = 8  # times
_CELLS = 100_000  # of arrays that a cache holds


class GroupedValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values in ascending order, each of one group."""

    values: Floats  # shape (values,)
    groups: NDArray[np.int32]  # the group of each, from 0, shape (values,)
    sizes: Ints  # how many values each group has, shape (groups,)

    @classmethod
    def of(
        cls, values: Floats, groups: NDArray[np.int32], *, count: int
    ) -> GroupedValues:
        """Sort values of so many groups."""
        order = np.argsort(values, kind="stable")
        sizes = np.bincount(groups, minlength=count)
        return cls(values=values[order], groups=groups[order], sizes=sizes)

    def quantiles(self, times: Floats, share: float) -> Floats:
        """Return a quantile of groups that occur so many times each.

        Linear between order statistics: definition 7 of Hyndman and Fan 1996.

        Parameters
        ----------
        times
            How often each group occurs, whole numbers of shape (draws, groups).
        share
            The quantile, from 0 to 1.

        Returns
        -------
        ndarray
            Of each draw, shape (draws,).
        """
        middle = self._middle(times.sum(axis=0), share)
        half = 1 + int(_FAR * math.sqrt(len(self.values) * share * (1 - share)))
        quantiles = np.full(len(times), np.nan)
        left = np.arange(len(times))
        while len(left):
            window = self._window(middle - half, middle + half + 1)
            for draws in _portions(left, window.width):
                quantiles[draws] = window.quantiles(times[draws], share)
            left = left[np.isnan(quantiles[left])]
            half *= _WIDER
        return quantiles

    def _middle(self, times: Floats, share: float) -> int:
        """Return the place of the quantile of all draws together."""
        reached = np.cumsum(times[self.groups])
        return int(np.searchsorted(reached, share * reached[-1]))

    def _window(self, start: int, end: int) -> _Window:
        start = max(start, 0)
        return _Window(
            values=self.values[start:end],
            groups=self.groups[start:end],
            before=np.bincount(self.groups[:start], minlength=len(self.sizes)),
            in_all=self.sizes,
        )


class _Window(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring values, and how many of each group there are before, and in all."""

    values: Floats
    groups: NDArray[np.int32]
    before: Ints
    in_all: Ints

    @property
    def width(self) -> int:
        """How many values it has."""
        return len(self.values)

    def quantiles(self, times: Floats, share: float) -> Floats:
        """Return a quantile of each draw; NaN where it is not in the window."""
        # no matrix products: their threads would spin for longer than they help
        place = ((times * self.in_all).sum(axis=1) - 1) * share
        before = (times * self.before).sum(axis=1)
        reached = np.cumsum(times[:, self.groups], axis=1) + before[:, None]
        lower = np.floor(place)
        upper = np.ceil(place)
        is_within = (before <= lower) & (upper < reached[:, -1])
        low = self._values_at(lower, reached)
        high = self._values_at(upper, reached)
        quantiles = low + (high - low) * (place - lower)
        return np.where(is_within, quantiles, np.nan)

    def _values_at(self, ranks: Floats, reached: Floats) -> Floats:
        """Return the value of a rank, from 0, in each draw; any value beyond the window."""
        places = np.count_nonzero(reached <= ranks[:, None], axis=1)
        found: Floats = self.values[np.minimum(places, self.width - 1)]
        return found


def _portions(draws: Ints, width: int) -> Iterator[Ints]:
    """Cut draws so that arrays of one row each fit into a cache."""
    rows = max(1, _CELLS // width)
    for start in range(0, len(draws), rows):
        yield draws[start : start + rows]
