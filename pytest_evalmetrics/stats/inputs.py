"""The checks on what comes in: every statistic refuses a number that is none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.stats.outcome import Alternative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["StatsError", "alternative_of", "cluster_codes", "fraction", "integer", "vector"]

ALTERNATIVES = get_args(Alternative)


class StatsError(ValueError):
    """The arguments can't be what the statistic is defined for."""


def vector(x: ArrayLike, name: str = "x") -> NDArray[np.float64]:
    """Return `x` as a one-dimensional float64 array of finite numbers.

    Raises
    ------
    StatsError
        Where it has another shape, or holds NaN or an infinity: a missing value must be
        dealt with before, for a statistic that skips it would be over fewer tasks than
        its reader believes.
    """
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StatsError(f"{name} holds something that is no number: {error}") from None
    if values.ndim != 1:
        raise StatsError(f"{name} has {values.ndim} dimensions, where one is expected")
    if not all_of(np.isfinite(values)):
        bad = np.flatnonzero(~np.isfinite(values))
        raise StatsError(
            f"{name} holds {bad.size} values that are not finite, the first,"
            f" {values[bad[0]]}, at index {bad[0]}"
        )
    return values


def cluster_codes(labels: ArrayLike | Sequence[object], n: int) -> tuple[NDArray[np.intp], int]:
    """Return each observation's cluster as a number, and how many there are.

    Parameters
    ----------
    labels
        One label per observation: integers, text, or anything hashable.
    n
        How many observations there are.

    Returns
    -------
    codes : ndarray of shape (n,)
        Each observation's cluster, from 0.
    count : int
        How many clusters there are.

    Raises
    ------
    StatsError
        Where there is not one label per observation, or a label is NaN.
    """
    given = labels if isinstance(labels, np.ndarray) else None
    if given is not None and given.ndim == 1 and given.dtype.kind in "iub":
        _check_labels(given.size, n)
        found, codes = np.unique(given, return_inverse=True)
        return codes.astype(np.intp, copy=False), found.size
    names = given.tolist() if given is not None else list(labels)  # type: ignore[arg-type]
    _check_labels(len(names), n)
    if any(isinstance(name, float) and math.isnan(name) for name in names):
        raise StatsError("a cluster label is NaN: each observation needs a cluster")
    number: dict[object, int] = {}
    try:
        coded = [number.setdefault(name, len(number)) for name in names]
    except TypeError as error:
        raise StatsError(f"a cluster label can't be compared with others: {error}") from None
    return np.array(coded, dtype=np.intp), len(number)


def _check_labels(found: int, expected: int) -> None:
    if found != expected:
        raise StatsError(f"{found} cluster labels for {expected} observations")


def fraction(value: float, name: str) -> float:
    """Return `value` as a float that lies strictly between 0 and 1."""
    value = float(value)
    if not 0 < value < 1:
        raise StatsError(f"{name} is {value}, where a number between 0 and 1 is expected")
    return value


def integer(value: float, name: str, least: int = 0) -> int:
    """Return `value` as an int that is not under `least`; 3.0 counts as 3."""
    if not (math.isfinite(value) and value == math.floor(value) >= least):
        raise StatsError(f"{name} is {value}, where a whole number from {least} on is expected")
    return int(value)


def alternative_of(value: str) -> Alternative:
    """Return `value` where it names an alternative hypothesis."""
    for known in ALTERNATIVES:
        if value == known:
            return known  # type: ignore[no-any-return]
    raise StatsError(f"alternative is {value!r}, where one of {ALTERNATIVES} is expected")
