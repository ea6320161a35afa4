"""The exact sign-flip and signed-rank tests, and p values adjusted for several tests.

Under H0 each difference is as likely with the other sign. The distribution of the sum comes
without a random number: of up to 32 differences from all of their signs, of more from convolving
integers, where they are multiples of one step such as 1/K.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.basics import StatResult, StatsError, alternative_of, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.basics import Alternative

_ZERO = 1e-12  # of the largest: rounding, no difference
_SAME = 1e-11  # relative: a multiple, but for rounding
_DENOMINATOR = 10_000  # of a difference over the smallest one
_STEPS = 1_000_000  # in the largest difference
_WORK = 2_000_000_000  # additions; a few seconds
_ENUMERATED = 32  # differences whose signs are enumerated: two halves of 65,536 sums


def lattice_step(d: ArrayLike) -> float | None:
    """Return the largest step that all of `d`, shape (n,), are multiples of.

    None where there is no such step, as with continuous scores, or no difference at all.

    Notes
    -----
    Each difference over the smallest one is a fraction with a small denominator; the step
    is the smallest difference over their least common multiple.
    """
    sizes = np.unique(np.abs(_nonzero(vector(d, "d"))))
    if not sizes.size:
        return None
    smallest, largest = float(sizes[0]), float(sizes[-1])
    common = 1
    for ratio in (sizes / smallest).tolist():
        near = Fraction(ratio).limit_denominator(_DENOMINATOR)
        if abs(float(near) - ratio) > _SAME * ratio:
            return None
        common = math.lcm(common, near.denominator)
        if common * largest / smallest > _STEPS:
            return None
    return smallest / common


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
    moved = _nonzero(values)
    if moved.size <= _ENUMERATED:
        p, mid = _all_signs(moved, side)
    else:
        step = lattice_step(values)
        if step is None:
            raise StatsError("the differences are not multiples of one step: take the t test")
        p, mid = _tail(np.rint(moved / step).astype(np.int64), side)
    return StatResult(
        name="exact sign flip",
        p=p,
        statistic=float(values.sum()),
        estimate=float(values.mean()) if values.size else math.nan,
        n=values.size,
        units=moved.size,
        mid_p=mid,
    )


def wilcoxon_exact(d: ArrayLike, *, alternative: str = "two-sided") -> StatResult:
    """Wilcoxon's signed-rank test of paired differences, exact with ties too.

    Differences of 0 are left out; tied sizes share the mean of their ranks (Wilcoxon
    1945). `statistic` is the sum of the positive ranks. Parameters as of `signflip_exact`,
    but on any differences.
    """
    side = alternative_of(alternative)
    values = vector(d, "d")
    moved = _nonzero(values)
    _, place, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    doubled = 2 * np.cumsum(counts) - counts + 1  # twice the mean rank of each size
    ranks = np.where(moved > 0, 1, -1) * doubled[place]
    p, mid = _tail(ranks, side)
    positive = float(ranks[ranks > 0].sum()) / 2
    return StatResult("Wilcoxon", p, positive, n=values.size, units=moved.size, mid_p=mid)


def _nonzero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.abs(values)
    moved: NDArray[np.float64] = values[size > _ZERO * size.max(initial=0.0)]
    return moved


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


def _tail(steps: NDArray[np.int64], side: Alternative) -> tuple[float, float]:
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


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p values, in the order given, shape (m,).

    p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)): the chance of any false alarm
    among the m stays under alpha, however they hang together (Holm 1979).
    """
    values, back = _sorted(p)
    adjusted = np.maximum.accumulate(values * np.arange(values.size, 0, -1))
    return np.minimum(adjusted, 1)[back]


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return the adjusted p values of Benjamini and Hochberg 1995, shape (m,).

    p_(i) = min over j >= i of min(1, m p_(j) / j): they bound the share of false alarms.
    """
    values, back = _sorted(p)
    scaled = values * values.size / np.arange(1, values.size + 1)
    return np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)[back]


def _sorted(p: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return p values ascending, and the places that put them back in order."""
    values = vector(p, "p")
    if ((values < 0) | (values > 1)).any():
        raise StatsError("p holds a number that is no probability")
    order = np.argsort(values, kind="stable")
    return values[order], np.argsort(order, kind="stable")
