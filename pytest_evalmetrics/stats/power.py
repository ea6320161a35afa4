"""What a comparison could have seen: detectable differences, and tasks or rollouts needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.stats.inputs import StatsError, alternative_of, fraction, integer, vector
from pytest_evalmetrics.stats.means import se_clt
from pytest_evalmetrics.stats.tails import normal_ppf, t_ppf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "VarianceComponents",
    "mde",
    "mde_from_se",
    "required_n",
    "variance_components",
    "variance_ratio_uniform",
    "zero_flip_bound",
]


def mde_from_se(
    se: float,
    df: float = math.inf,
    *,
    alpha: float = 0.01,
    power: float = 0.8,
    alternative: str = "greater",
) -> float:
    """Return the smallest true difference that a t test sees with the given power.

    (t_{1-alpha} + t_{power}) * se, with alpha / 2 where two-sided; NaN where `se` is NaN.
    It spares the noncentral t, and is within 1.2 % of its value from df = 9 on.

    Parameters
    ----------
    se
        The standard error of the paired difference.
    df
        Its degrees of freedom.
    alpha, power
        The test's level, and the chance to see the difference.
    alternative
        One-sided (``greater``, ``less``) or ``two-sided``.
    """
    quantile = 1 - _one_tail(alpha, alternative)
    fraction(power, "power")
    if math.isnan(se) or not df > 0:
        return math.nan
    return (t_ppf(quantile, df) + t_ppf(power, df)) * se


def mde(
    n: float,
    omega2: float,
    s2a: float = 0.0,
    s2b: float = 0.0,
    *,
    ka: float = 1,
    kb: float = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> float:
    """Return the smallest detectable difference of two models on n tasks.

    Parameters
    ----------
    n
        Tasks.
    omega2
        The variance over tasks of the difference of the two expected scores.
    s2a, s2b
        The mean variance within a task, of the one model and the other.
    ka, kb
        Rollouts per task, of the one and the other.
    alpha, power, alternative
        As of `mde_from_se`, but two-sided at .05 by default, as in the paper.

    Notes
    -----
    (z_{1-alpha/2} + z_{power}) sqrt((omega2 + s2a / ka + s2b / kb) / n): Miller 2024,
    Adding Error Bars to Evals (arXiv 2411.00640), section 5.
    """
    variance = _difference_variance(omega2, s2a, s2b, ka, kb)
    if not n > 0:
        raise StatsError(f"n is {n}, where at least one task is expected")
    return _z_sum(alpha, power, alternative) * math.sqrt(variance / n)


def required_n(
    delta: float,
    omega2: float,
    s2a: float = 0.0,
    s2b: float = 0.0,
    *,
    ka: float = 1,
    kb: float = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> int:
    """Return how many tasks it takes to see a difference of `delta`.

    The inverse of `mde`, rounded up: Miller 2024 (arXiv 2411.00640), section 5. The
    other parameters are those of `mde`.
    """
    variance = _difference_variance(omega2, s2a, s2b, ka, kb)
    if delta == 0 or not math.isfinite(delta):
        raise StatsError(f"delta is {delta}, where a difference is expected")
    return math.ceil(_z_sum(alpha, power, alternative) ** 2 * variance / delta**2)


class VarianceComponents(msgspec.Struct, frozen=True):
    """Where the variance of a per-task difference comes from.

    Attributes
    ----------
    omega2
        Over tasks, of the true differences; never under 0.
    sigma2_b, sigma2_c
        Within a task over its rollouts, of the baseline and of the current side; NaN
        where no task of a side has two rollouts.
    n
        Tasks.
    """

    omega2: float
    sigma2_b: float
    sigma2_c: float
    n: int

    def se(self, k_b: float, k_c: float) -> float:
        """Return the standard error of the mean difference with other rollouts per task."""
        variance = self.omega2 + self.sigma2_b / k_b + self.sigma2_c / k_c
        return math.sqrt(variance / self.n)

    def mde(
        self,
        k_b: float,
        k_c: float,
        *,
        alpha: float = 0.01,
        power: float = 0.8,
        alternative: str = "greater",
    ) -> float:
        """Return what the paired t test would see with other rollouts per task.

        Var(d) = omega^2 + sigma_B^2 / K_B + sigma_C^2 / K_C (Miller 2024, section 5).

        Parameters
        ----------
        k_b, k_c
            Rollouts per task, of the baseline and of the current side.
        alpha, power, alternative
            As of `mde_from_se`.
        """
        if not (k_b > 0 and k_c > 0):
            raise StatsError(f"{k_b} and {k_c} rollouts per task can't be")
        se = self.se(k_b, k_c)
        return mde_from_se(se, self.n - 1, alpha=alpha, power=power, alternative=alternative)


def variance_components(
    d: ArrayLike, var_b: ArrayLike, k_b: ArrayLike, var_c: ArrayLike, k_c: ArrayLike
) -> VarianceComponents:
    """Split the variance of per-task differences into tasks' and rollouts' share.

    Parameters
    ----------
    d
        The difference of the two means of each task, shape (n,).
    var_b, var_c
        The unbiased variance (ddof=1) of each task's rollouts, of the baseline and of the
        current side, shape (n,); NaN where a task has a single rollout.
    k_b, k_c
        Each task's number of rollouts: shape (n,), or one number.

    Notes
    -----
    By moments: Var(d) less mean(sigma^2 / K) of either side, clamped at 0, for a variance
    is never negative though its estimate may be.
    """
    values = vector(d, "d")
    sigma2_b, noise_b = _within(var_b, k_b, values.size)
    sigma2_c, noise_c = _within(var_c, k_c, values.size)
    rest = se_clt(values) ** 2 * values.size - noise_b - noise_c
    omega2 = rest if math.isnan(rest) else max(rest, 0.0)
    return VarianceComponents(omega2, sigma2_b, sigma2_c, values.size)


def _within(variances: ArrayLike, k: ArrayLike, n: int) -> tuple[float, float]:
    """Return sigma^2, and its share in Var(d)."""
    found = np.asarray(variances, dtype=np.float64)
    counts = np.broadcast_to(np.asarray(k, dtype=np.float64), found.shape)
    if found.shape != (n,) or not all_of(counts > 0):
        raise StatsError(f"a variance and a number of rollouts for each of {n} tasks is expected")
    known = found[~np.isnan(found)]
    if not known.size:
        return math.nan, math.nan
    sigma2 = float(known.mean())
    return sigma2, sigma2 * float((1 / counts).mean())


def variance_ratio_uniform(k: int) -> float:
    """Return what k rollouts leave of the variance of one, for p uniform on [0, 1].

    (1 + 2 / k) / 3: Miller 2024 (arXiv 2411.00640), section 3.1.
    """
    return (1 + 2 / integer(k, "k", 1)) / 3


def zero_flip_bound(n: int, alpha: float = 0.05) -> float:
    """Return the upper bound U = 1 - alpha^(1/n) on the chance to flip, after none in n.

    Clopper and Pearson's one-sided bound at 0 of n; 1 where n = 0.
    """
    n = integer(n, "n")
    return -math.expm1(math.log(fraction(alpha, "alpha")) / n) if n else 1.0


def _difference_variance(omega2: float, s2a: float, s2b: float, ka: float, kb: float) -> float:
    if not (min(omega2, s2a, s2b) >= 0 and ka > 0 and kb > 0):
        raise StatsError("variances under 0, or no rollouts, can't be")
    return omega2 + s2a / ka + s2b / kb


def _one_tail(alpha: float, alternative: str) -> float:
    half = alternative_of(alternative) == "two-sided"
    return fraction(alpha, "alpha") / (2 if half else 1)


def _z_sum(alpha: float, power: float, alternative: str) -> float:
    return normal_ppf(1 - _one_tail(alpha, alternative)) + normal_ppf(fraction(power, "power"))
