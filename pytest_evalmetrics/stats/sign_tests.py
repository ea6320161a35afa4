"""The exact sign-flip test.

Under H0 each difference is as likely with the other sign. The distribution of the sum comes
without a random number: of up to 32 differences from all of their signs, of more from convolving
integers, where they are multiples of one step such as 1/K.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.basics import (
    StatResult,
    StatsError,
    alternative_of,
    lattice_step,
    nonzero,
    vector,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.basics import Alternative

_SAME = 1e-11  # relative: a multiple, but for rounding
_WORK = 2_000_000_000  # additions; a few seconds
_ENUMERATED = 32  # differences whose signs are enumerated: two halves of 65,536 sums


def signflip_exact(d: ArrayLike, *, alternative: str = "two-sided") -> StatResult:
    """Test paired differences against a distribution symmetric about 0.

    Parameters
    ----------
    d
        One difference per task, shape (n,); of more than 32 that are not 0 all multiples of
        one step.
    alternative
        ``greater`` for H1: the differences lean to above 0.

    Returns
    -------
    StatResult
        `p` is P(T >= t), T the sum over all signs, two-sided its size. `units` are the
        differences that are not 0; without any, p = 1.

    Raises
    ------
    StatsError
        Where there are many and `lattice_step` finds none, or the distribution is too large
        to compute.

    Notes
    -----
    Fisher 1935, The Design of Experiments, chapter III. Exact to rounding: probabilities
    are halved and added, never subtracted.
    """
    side = alternative_of(alternative)
    values = vector(d, "d")
    moved = nonzero(values)
    if moved.size <= _ENUMERATED:
        p, mid = _all_signs(moved, side)
    else:
        step = lattice_step(values)
        if step is None:
            raise StatsError("the differences are not multiples of one step: take the t test")
        p, mid = convolved_p(np.rint(moved / step).astype(np.int64), side)
    return StatResult(
        name="exact sign flip",
        p=p,
        statistic=float(values.sum()),
        estimate=float(values.mean()) if values.size else math.nan,
        n=values.size,
        units=moved.size,
        mid_p=mid,
    )


def _all_signs(moved: NDArray[np.float64], side: Alternative) -> tuple[float, float]:
    """Return p and mid-p of the sum over all signs: each half's sums, sorted and matched."""
    seen = float(moved.sum()) * (-1 if side == "less" else 1)
    if side == "two-sided":
        seen = abs(seen)
    sums = [np.zeros(1), np.zeros(1)]
    for at, size in enumerate(np.abs(moved).tolist()):
        sums[at % 2] = np.concatenate((sums[at % 2] + size, sums[at % 2] - size))
    sums[1].sort()
    slack = _SAME * max(float(np.abs(moved).sum()), abs(seen))
    above = len(sums[1]) - np.searchsorted(sums[1], seen + slack - sums[0], side="right")
    least = len(sums[1]) - np.searchsorted(sums[1], seen - slack - sums[0], side="left")
    total = 2.0**moved.size
    beyond, reached = float(above.sum()) / total, float((least - above).sum()) / total
    if side == "two-sided":
        beyond *= 2
        reached *= 2 if seen > slack else 1
    return min(beyond + reached, 1.0), min(beyond + reached / 2, 1.0)


def convolved_p(steps: NDArray[np.int64], side: Alternative) -> tuple[float, float]:
    """Return p and mid-p of the sum of integers, over all of their signs."""
    total, up = int(np.abs(steps).sum()), int(steps[steps > 0].sum())
    if total * steps.size > _WORK:
        raise StatsError(
            f"{steps.size} differences of {total} steps in all are too many to convolve:"
            " take the t test"
        )
    # with W the sum of the positive ones, T = 2 W - total, and W is symmetric
    seen = up if side == "greater" else total - up
    if side == "two-sided":
        seen = max(up, total - up)
    chance = _positive_sum(np.sort(np.abs(steps)), total)
    beyond, at = float(chance[seen + 1 :].sum()), float(chance[seen])
    if side == "two-sided":
        at = 2 * at if 2 * seen > total else at
        beyond *= 2
    return min(beyond + at, 1.0), min(beyond + at / 2, 1.0)


def _positive_sum(steps: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """P(W = w) for w = 0 ... total, where each step is in W with chance 1/2."""
    chance: NDArray[np.float64] = np.zeros(total + 1)
    chance[0] = 1.0
    top = 0
    for step in steps.tolist():
        half = chance[: top + 1] / 2
        chance[: top + 1] = half
        chance[step : top + step + 1] += half
        top += step
    return chance
