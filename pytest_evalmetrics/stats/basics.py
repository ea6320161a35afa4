"""What all statistics share: result types, and checks that refuse invalid arguments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Labels = ArrayLike | Sequence[object]

Alternative = Literal["two-sided", "greater", "less"]
FEWEST = 2  # independent units that have a spread


class StatsError(ValueError):
    """The arguments are outside the statistic's domain."""


class Bounds(NamedTuple):
    """The ends of an interval, in the unit of the estimate; NaN where there is none."""

    low: float
    high: float


NO_BOUNDS = Bounds(math.nan, math.nan)


class StatResult(msgspec.Struct, frozen=True):
    """Result of a test. A field that has no meaning for the test is NaN."""

    name: str  # as a person calls the test: paired t, exact sign flip
    p: float  # for the alternative that was asked for
    statistic: float = math.nan
    df: float = math.nan
    estimate: float = math.nan  # what is tested against 0: a mean, or a difference
    se: float = math.nan
    low: float = math.nan  # the two-sided interval, whatever the alternative
    high: float = math.nan
    n: int = 0  # observations: differences, discordant pairs, tasks
    units: int = 0  # independent ones: clusters where there are any, else n
    mid_p: float = math.nan  # of an exact test: P(T > t) + P(T = t) / 2


def vector(x: ArrayLike, name: str = "x") -> NDArray[np.float64]:
    """Return `x` as a one-dimensional array of finite floats, or raise `StatsError`."""
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StatsError(f"{name} holds something that is no number: {error}") from None
    if values.ndim != 1:
        raise StatsError(f"{name} has {values.ndim} dimensions, where one is expected")
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))
        raise StatsError(
            f"{name} holds {bad.size} values that are not finite, the first,"
            f" {values[bad[0]]}, at index {bad[0]}"
        )
    return values


def cluster_codes(labels: Labels, n: int) -> tuple[NDArray[np.intp], int]:
    """Return each observation's cluster as a number from 0, shape (n,), and how many there are.

    Labels are integers, text, or anything hashable but NaN.
    """
    array = labels if isinstance(labels, np.ndarray) else None
    names: Sequence[object] = [] if array is not None else list(labels)  # type: ignore[arg-type]
    size = len(names) if array is None else len(array)
    if size != n:
        raise StatsError(f"{size} cluster labels for {n} observations")
    if array is not None:
        if array.ndim == 1 and array.dtype.kind in "iub":
            clusters, codes = np.unique(array, return_inverse=True)
            return codes.astype(np.intp, copy=False), clusters.size
        names = array.tolist()
    if any(isinstance(name, float) and math.isnan(name) for name in names):
        raise StatsError("a cluster label is NaN: each observation needs a cluster")
    number: dict[object, int] = {}
    try:
        coded = [number.setdefault(name, len(number)) for name in names]
    except TypeError as error:
        raise StatsError(f"a cluster label can't be compared with others: {error}") from None
    return np.array(coded, dtype=np.intp), len(number)


def fraction(value: float, name: str) -> float:
    """Return a float strictly between 0 and 1, or raise `StatsError`."""
    value = float(value)
    if not 0 < value < 1:
        raise StatsError(f"{name} is {value}, where a number between 0 and 1 is expected")
    return value


def integer(value: float, name: str, least: int = 0) -> int:
    """Return a whole number of at least `least`, or raise `StatsError`; 3.0 counts as 3."""
    if not (math.isfinite(value) and value == math.floor(value) >= least):
        raise StatsError(f"{name} is {value}, where a whole number from {least} on is expected")
    return int(value)


def alternative_of(value: str) -> Alternative:
    """Return the alternative hypothesis of that name, or raise `StatsError`."""
    choices = get_args(Alternative)
    if value not in choices:
        raise StatsError(f"alternative is {value!r}, where one of {choices} is expected")
    return value  # type: ignore[return-value]


def one_tail(alpha: float, alternative: str) -> float:
    """Return the probability that a test of level `alpha` leaves in each tail it looks at."""
    return fraction(alpha, "alpha") / (2 if alternative_of(alternative) == "two-sided" else 1)
