"""Noise between runs by the runs of a history, where the system may change on purpose.

Runs since one accepted change are a stretch. Within it each run is compared with the one
before: half the mean square of these differences is the variance of a run's value, which
neither an accepted change nor a slow trend adds to (von Neumann 1941, Annals of
Mathematical Statistics 12, 367). A difference beyond three standard deviations, by the
median of all, is a change that nobody recorded, and left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.comparison.run_noise import RunScatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.comparison import Floats

_FEWEST = 4  # differences
_SD_OF_MEDIAN = 1.4826  # a normal distribution's, by the median of its sizes
_JUMP = 3.0  # standard deviations of a difference


def scatter_of_successive(
    stretches: Sequence[Sequence[float]], se: float
) -> RunScatter | None:
    """Measure how successive runs scatter; None if there are too few.

    Parameters
    ----------
    stretches
        The values of the runs of each stretch, in their order.
    se
        The standard error of one run's value over its tasks.
    """
    of_stretches: list[Floats] = [np.abs(np.diff(values)) for values in stretches]
    if sum(map(len, of_stretches)) < _FEWEST:
        return None
    largest = _JUMP * _sd_of_differences(np.concatenate(of_stretches), se)
    kept = [sizes[sizes <= largest] for sizes in of_stretches]
    df = math.fsum(_degrees_of_freedom(len(sizes)) for sizes in kept)
    if df < 1:
        return None
    squares = np.concatenate(kept) ** 2
    return RunScatter(df=df, variance=float(squares.mean()) / 2, se=se)


def _sd_of_differences(sizes: Floats, se: float) -> float:
    """Return the standard deviation of most differences, at least that of rollouts."""
    return max(_SD_OF_MEDIAN * float(np.median(sizes)), math.sqrt(2) * se)


def _degrees_of_freedom(differences: int) -> float:
    """Return those of the mean square of successive differences of normal values."""
    if not differences:
        return 0.0
    return 2 * differences**2 / (3 * differences - 1)
