"""Noise between runs: what shifts a run as a whole, which no test over tasks can see.

Another build of the server, other batches or a judge that drifts move all tasks of a
run together. Two runs can't show it. Repeated runs of an unchanged system do, by how
much their values scatter beyond what their tasks explain. The drop is then compared
with what a further run of that system would show. Its error has a part from tasks, as
it is tested today, and a part from runs, tau^2 (1 + 1/m) with m runs in the baseline
(the prediction interval of a further value).

A few runs don't show tau, so p is averaged over its posterior: the scatter S^2 of the
runs' values has (m - 1) S^2 / (s^2 + tau^2) ~ chi^2 with m - 1 degrees of freedom, s
the standard error of one run's value over its tasks (Gelman et al. 2013, Bayesian Data
Analysis, section 5.4). The prior is the same for every number of runs: a half-Cauchy
distribution whose scale is above what is expected (Gelman 2006, Bayesian Analysis 1,
515): 5 points for a rate, 8 s for any other metric. A rate has at most 15 points of it.
So the level holds from two runs on, and what two or three runs can't show costs power.

Runs of latencies, costs and tokens differ by a factor. Where less is better, all of this
is of their logarithms, see `noise_scale`.

Earlier runs of the same benchmark show the noise of a lone baseline, see
`successive_runs`: they scatter as its own further runs would, so that Student's t of their
scatter predicts a drop with no prior. Beside several runs of a baseline, or with other
benchmarks, they count as the baseline's own.
Runs of other benchmarks of the project count as a power prior (Ibrahim and Chen 2000,
Statistical Science 15, 46): for as much as ten runs at most, since each benchmark has a
noise of its own.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison.noise_scale import OF_AMOUNTS
from pytest_evalmetrics.model.comparison import NoiseSource
from pytest_evalmetrics.stats import (
    falls_to,
    mean_se,
    normal_isf_of_log,
    normal_log_sf,
    normal_ppf,
    normal_sf,
    p_of_log,
    t_log_sf,
    t_ppf,
    trimmed_mean,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.comparison.noise_scale import NoiseScale
    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric

_RATE_SCALE = 0.05  # of the half-Cauchy prior of a rate
_LARGEST_OF_RATE = 0.15
_SCALE = 8.0  # of the prior of other metrics, in standard errors of one run
_LARGEST = 60.0  # in standard errors of one run
_LEAST = 0.02  # the same
_GRID = 160
_LOG_HALF = math.log(0.5)
_SHORT = 0.2  # the chance that a drop of the stated size is not found
_MOST_POOLED = 9  # degrees of freedom that other benchmarks count for
_FEWEST_POOLED = 4  # the same, from which on they stand in for runs of one's own
_SHOWN = 0.05  # the p of their noise, below which they do
_ROOT_2 = math.sqrt(2)
_NO_ERROR = 1e-9  # in place of a standard error of 0: all tasks moved alike


class RunScatter(msgspec.Struct, frozen=True):
    """How the runs of one benchmark scatter."""

    df: float  # degrees of freedom of the variance
    variance: float  # of their values, in squared points
    se: float  # of one run's value over its tasks


class Runs(msgspec.Struct, frozen=True):
    """The runs of a baseline: one metric over the compared tasks."""

    # of each run, the newest last; a lone one needs a `history` or a `pool`
    values: tuple[float, ...]
    # whether the drop is from the mean of all runs, or from the newest alone
    pooled: bool
    # of a task in one such run, as a multiple of those in the current run
    more_rollouts: float
    # of one run's value over its tasks; NaN if a task has no value
    se: float = math.nan
    is_rate: bool = False
    history: RunScatter | None = None  # of earlier runs of the same benchmark
    # of their logarithms; None where a value is not positive
    history_of_logs: RunScatter | None = None
    pool: tuple[RunScatter, ...] = ()  # of other benchmarks
    # the same of the tasks' trimmed means, for a metric that is a mean without a range
    typical: Runs | None = None
    # the same of their logarithms; None where a task's value is not positive
    typical_logs: Runs | None = None

    @property
    def source(self) -> NoiseSource:
        """What mainly shows the noise between them."""
        if len(self.values) > 1:
            return NoiseSource.BASELINE
        return NoiseSource.NEIGHBOURS if self.history is None else NoiseSource.HISTORY

    @property
    def variance(self) -> float:
        """The variance of the values; 0 of a lone one, and of equal ones."""
        if len(set(self.values)) == 1:  # else rounding would leave something
            return 0.0
        return float(np.var(self.values, ddof=1))

    @property
    def variance_factor(self) -> float:
        """The variance of a drop, as a multiple of that of one run's value."""
        return 1 + (1 / len(self.values) if self.pooled else 1.0)

    def on(self, scale: NoiseScale) -> Runs:
        """Return the same runs with values and errors on a scale."""
        if not scale.is_of_logs:
            return self
        return structs.replace(
            self,
            values=tuple(map(scale.of_value, self.values)),
            se=scale.of_error(self.se),
            history=self.history_of_logs,
        )


class RunNoise(msgspec.Struct, frozen=True):
    """A drop against the noise of tasks and of runs; quantiles are on `scale`."""

    # the noise between runs beyond that of tasks, in the metric's unit; 0 for none
    sd: float
    log_p: float  # one-sided, of no change
    # half the width of the drop's interval; NaN to keep that of tasks alone
    half: float
    # this noise's quantile at `alpha`, as a multiple of that of tasks alone
    wider: float
    # what noise between runs adds to that quantile, in squares: a drop has to exceed
    # hypot(t se, beyond), with se the standard error over tasks
    beyond: float = 0.0
    # the same of the quantile that four of five drops are not short of. It is of the
    # noise that the runs show, for that is what a drop meets; the test allows for more
    short: float = 0.0
    scale: NoiseScale = OF_AMOUNTS

    @property
    def p(self) -> float:
        """One-sided, of no change; never 0."""
        return _six_digits(p_of_log(self.log_p))

    def interval(self, drop: float) -> tuple[float, float]:
        """Return the ends of the interval around a drop, in the metric's unit."""
        middle = self.scale.of_drop(drop)
        low = self.scale.drop_of(middle - self.half)
        high = self.scale.drop_of(middle + self.half)
        return low, high

    def upper(self, drop: float, se: float, *, alpha: float) -> float:
        """Return the one-sided upper bound of a drop, by its error over tasks."""
        of_tasks = -normal_ppf(alpha) * self.scale.of_error(se)
        distance = math.hypot(of_tasks, self.beyond)
        return self.scale.drop_of(self.scale.of_drop(drop) + distance)


def runs_of(pairs: Sequence[PairedMetric], *, pooled: bool, is_rate: bool) -> Runs:
    """Measure the runs of a baseline, each paired with the current run."""
    last = pairs[-1]
    now = len(last.rewards_current.values)
    runs = Runs(
        values=tuple(pair.value_baseline for pair in pairs),
        pooled=pooled,
        more_rollouts=len(last.rewards_baseline.values) / max(now, 1),
        se=_error_of_one_run(pairs),
        is_rate=is_rate,
    )
    if pairs[-1].bounded or any(_has_no_values(pair) for pair in pairs):
        return runs
    values = np.array([pair.baseline for pair in pairs])
    of_logs = None
    if (values > 0).all():
        of_logs = _typical_runs(runs, np.log(values))
    return structs.replace(
        runs, typical=_typical_runs(runs, values), typical_logs=of_logs
    )


def _typical_runs(runs: Runs, values: Floats) -> Runs:
    """Measure how runs differ in most of their tasks; shape (runs, tasks)."""
    of_all = values.mean(axis=0)
    middle = trimmed_mean(of_all).mean
    shifts = [trimmed_mean(run) for run in values - of_all]
    variance = math.fsum(shift.se**2 for shift in shifts) / (len(shifts) - 1)
    return structs.replace(
        runs,
        values=tuple(middle + shift.mean for shift in shifts),
        se=math.sqrt(variance),
    )


def _has_no_values(pair: PairedMetric) -> bool:
    return pair.baseline is None or pair.difference is not None


def scatter_of(values: Floats) -> RunScatter:
    """Measure how runs scatter by the values of their tasks, shape (runs, tasks)."""
    means = values.mean(axis=1)
    return RunScatter(
        df=len(values) - 1,
        variance=float(np.var(means, ddof=1)),
        se=_error_within(values, clusters=None),
    )


def lone_run(
    pair: PairedMetric,
    *,
    is_rate: bool = True,
    history: RunScatter | None = None,
    history_of_logs: RunScatter | None = None,
    pool: tuple[RunScatter, ...] = (),
) -> Runs:
    """Take the noise of a baseline of one run from earlier runs, or other benchmarks."""
    now = len(pair.rewards_current.values)
    return Runs(
        values=(pair.value_baseline,),
        pooled=True,
        more_rollouts=len(pair.rewards_baseline.values) / max(now, 1),
        se=_error_of_difference(pair) / math.sqrt(2),
        is_rate=is_rate,
        history=history,
        history_of_logs=history_of_logs,
        pool=pool,
    )


def error_of_current(pair: PairedMetric) -> float:
    """Return the standard error of the current run's value over its tasks; NaN if unknown."""
    before = len(pair.rewards_baseline.values)
    now = len(pair.rewards_current.values)
    return _error_of_difference(pair) * math.sqrt(before / max(before + now, 1))


def _error_of_difference(pair: PairedMetric) -> float:
    if pair.baseline is None or pair.current is None or len(pair.tasks) < 2:
        return math.nan
    return mean_se(pair.baseline - pair.current, pair.clusters).se


def _error_of_one_run(pairs: Sequence[PairedMetric]) -> float:
    """Return how much tasks differ between runs, without the shifts that all share.

    0 for runs of the same rollouts, and NaN for a metric whose tasks have no values.
    """
    first = pairs[0].rewards_baseline
    if all(first.same_as(pair.rewards_baseline) for pair in pairs):
        return 0.0
    if any(_has_no_values(pair) for pair in pairs):
        return math.nan
    values = np.array([pair.baseline for pair in pairs])
    return _error_within(values, clusters=pairs[0].clusters)


def _error_within(values: Floats, *, clusters: Ints | None) -> float:
    errors = [mean_se(run, clusters).se for run in values - values.mean(axis=0)]
    return math.sqrt(math.fsum(error**2 for error in errors) / (len(values) - 1))


def with_run_noise(
    runs: Runs,
    drop: float,
    log_p: float,
    se: float,
    *,
    alpha: float,
    level: float,
    scale: NoiseScale = OF_AMOUNTS,
) -> RunNoise:
    """Add noise between runs to a test whose p and `se` cover that of tasks alone."""
    noise = _with_noise_of(
        runs.on(scale),
        drop=scale.of_drop(drop),
        log_p=log_p,
        se=scale.of_error(se),
        alpha=alpha,
        level=level,
    )
    return _on_scale(noise, scale)


def _on_scale(noise: RunNoise, scale: NoiseScale) -> RunNoise:
    """Say of which scale a noise is."""
    if not scale.is_of_logs:
        return noise
    sd = _six_digits(noise.sd * scale.unit)
    return structs.replace(noise, sd=sd, scale=scale)


def _with_noise_of(
    runs: Runs, drop: float, log_p: float, se: float, *, alpha: float, level: float
) -> RunNoise:
    """Add noise between runs, all of it on one scale."""
    factor = runs.variance_factor
    one_run = runs.se
    if not one_run >= 0:
        one_run = se / math.sqrt(factor - 1 + runs.more_rollouts)
    seen = _scatter_of_own(runs)
    if seen is not None:
        # medians, and rates of few tasks, are the same in two runs by chance, too
        may_tie = len(runs.values) > 1 and runs.se != 0 and one_run > 0
        if seen.variance == 0 and not may_tie:
            return RunNoise(sd=0.0, log_p=log_p, half=math.nan, wider=1.0)
        if not one_run * _LARGEST > math.sqrt(seen.variance):
            return _by_runs_alone(seen, factor, drop=drop, log_p=log_p, alpha=alpha)
        if len(runs.values) == 1 and not runs.pool:
            noise = _by_runs_alone(seen, factor, drop=drop, log_p=log_p, alpha=alpha)
            return _beside_tasks(
                noise, seen, factor, se=se or _NO_ERROR, alpha=alpha, level=level
            )
    one_run = max(one_run, _NO_ERROR)
    shown = _shown(runs, one_run)
    return _with_variances(
        _posterior(prior_of(one_run, is_rate=runs.is_rate), shown),
        factor,
        drop=drop,
        log_p=log_p,
        se=se,
        sd=_shown_sd(shown),
        alpha=alpha,
        level=level,
    )


def with_stated_noise(
    sd: float,
    runs: Runs | None,
    drop: float,
    log_p: float,
    se: float,
    *,
    alpha: float,
    level: float,
    scale: NoiseScale = OF_AMOUNTS,
) -> RunNoise:
    """Add noise between runs of a known standard deviation, to one run or several.

    `sd` is in the metric's unit.
    """
    factor = 2.0 if runs is None else runs.variance_factor
    sd_on_scale = scale.of_error(sd)
    noise = _with_variances(
        NoiseWeights(sds=np.array([sd_on_scale]), weights=np.ones(1)),
        factor,
        drop=scale.of_drop(drop),
        log_p=log_p,
        se=scale.of_error(se),
        sd=sd_on_scale,
        alpha=alpha,
        level=level,
    )
    return _on_scale(noise, scale)


def largest_shift(
    runs: Runs | None,
    stated: float | None,
    *,
    alpha: float,
    scale: NoiseScale = OF_AMOUNTS,
) -> float:
    """Return the drop that noise between runs alone exceeds with such a chance.

    Where neither several runs nor the file say how large it is, 0: it is not known.
    """
    if stated is not None:
        factor = 2.0 if runs is None else runs.variance_factor
        sd = scale.of_error(stated)
        return scale.drop_of(-normal_ppf(alpha) * sd * math.sqrt(factor))
    if runs is None:
        return 0.0
    return scale.drop_of(_largest_shift_of(runs.on(scale), alpha=alpha))


def _largest_shift_of(runs: Runs, *, alpha: float) -> float:
    """Return the same of runs, on their scale."""
    factor = runs.variance_factor
    seen = _scatter_of_own(runs)
    if seen is not None:
        sd = math.sqrt(seen.variance)
        if sd == 0:
            return 0.0
        if not runs.se * _LARGEST > sd:
            return t_ppf(1 - alpha, seen.df) * sd * math.sqrt(factor)
    one_run = max(runs.se, _NO_ERROR)
    prior = prior_of(one_run, is_rate=runs.is_rate)
    noise = _posterior(prior, _shown(runs, one_run))
    sds = np.maximum(noise.sds, _NO_ERROR) * math.sqrt(factor)
    return _exceeded(alpha, sds, noise.weights)


def unseen_noise(drop: float, log_p: float, *, alpha: float) -> float:
    """Return the noise between runs that would make a drop from one run no surprise.

    As a standard deviation, in the metric's unit; 0 for a drop that is none.
    """
    if not (drop > 0 and log_p < math.log(alpha)):
        return 0.0
    by_tasks = drop / normal_isf_of_log(log_p)
    needed = drop / -normal_ppf(alpha)
    return _six_digits(math.sqrt((needed**2 - by_tasks**2) / 2))


def _with_variances(
    noise: NoiseWeights,
    factor: float,
    *,
    drop: float,
    log_p: float,
    se: float,
    sd: float,
    alpha: float,
    level: float,
) -> RunNoise:
    """Average over what noise between runs may be; a drop has `factor` its variance."""
    variances = noise.sds**2 * factor
    weights = noise.weights
    if log_p < _LOG_HALF and drop > 0:  # in the half that tests a drop
        by_tasks = drop / normal_isf_of_log(log_p)
        log_p = log_tail_of(drop, np.sqrt(by_tasks**2 + variances), weights)
    se = se or _NO_ERROR
    sds = np.sqrt(se**2 + variances)
    exceeded = _exceeded(alpha, sds, weights)
    of_tasks = -normal_ppf(alpha) * se
    beyond = math.sqrt(max(exceeded**2 - of_tasks**2, 0.0))
    short = -normal_ppf(_SHORT) * sd * math.sqrt(factor)
    return RunNoise(
        sd=_six_digits(sd),
        log_p=log_p,
        half=_six_digits(_exceeded((1 - level) / 2, sds, weights)),
        wider=_six_digits(exceeded / of_tasks),
        beyond=_six_digits(beyond),
        short=_six_digits(short),
    )


def _by_runs_alone(
    seen: RunScatter, factor: float, *, drop: float, log_p: float, alpha: float
) -> RunNoise:
    """Predict a further run by the others, where tasks explain next to nothing."""
    error = math.sqrt(seen.variance * factor)
    return RunNoise(
        sd=math.sqrt(seen.variance),
        log_p=max(log_p, t_log_sf(drop / error, seen.df)),
        half=math.nan,
        wider=1.0,
        beyond=_six_digits(t_ppf(1 - alpha, seen.df) * error),
        short=_six_digits(-normal_ppf(_SHORT) * error),
    )


def _beside_tasks(
    noise: RunNoise,
    seen: RunScatter,
    factor: float,
    *,
    se: float,
    alpha: float,
    level: float,
) -> RunNoise:
    """Let a prediction by earlier runs be no surer than the tasks, whose error is `se`."""
    error = math.sqrt(seen.variance * factor)
    sd = noise.sd
    if seen.se >= 0:
        beyond_tasks = seen.variance - seen.se**2
        sd = math.sqrt(max(beyond_tasks, 0.0))
    of_tasks = -normal_ppf(alpha) * se
    exceeded = max(noise.beyond, of_tasks)
    upper = 0.5 + level / 2
    half_of_runs = t_ppf(upper, seen.df) * error
    half_of_tasks = normal_ppf(upper) * se
    return structs.replace(
        noise,
        sd=_six_digits(sd),
        half=_six_digits(max(half_of_runs, half_of_tasks)),
        wider=_six_digits(exceeded / of_tasks),
        beyond=_six_digits(math.sqrt(max(exceeded**2 - of_tasks**2, 0.0))),
        short=_six_digits(-normal_ppf(_SHORT) * sd * math.sqrt(factor)),
    )


class NoiseWeights(msgspec.Struct, frozen=True):
    """What noise between runs may be; shapes (values,)."""

    sds: Floats  # standard deviations, ascending from 0, in the metric's unit
    weights: Floats  # their chances


def prior_of(one_run: float, *, is_rate: bool) -> NoiseWeights:
    """Return the prior of noise between runs with such a standard error of one run."""
    scale = _SCALE * one_run
    largest = _LARGEST * one_run
    if is_rate:
        scale = _RATE_SCALE
        largest = _LARGEST_OF_RATE
    least = _LEAST * min(one_run, scale)
    sds = np.concatenate(([0.0], np.geomspace(least, largest, _GRID)))
    steps = np.diff(sds)
    # the trapezoidal rule, but for a factor
    widths = np.append(steps, 0.0) + np.append(0.0, steps)
    weights: Floats = widths / (1 + (sds / scale) ** 2)
    weights /= weights.sum()
    return NoiseWeights(sds=sds, weights=weights)


class _Shown(msgspec.Struct, frozen=True):
    """Runs that show noise, and how much they count."""

    scatter: RunScatter
    weight: float  # from 0 to 1


def _scatter_of_own(runs: Runs) -> RunScatter | None:
    """Return how the baseline's runs scatter, or of a lone one those of the history."""
    if len(runs.values) == 1:
        return runs.history
    df = len(runs.values) - 1
    return RunScatter(df=df, variance=runs.variance, se=runs.se)


def _shown(runs: Runs, one_run: float) -> list[_Shown]:
    """Return what a baseline's runs show, and those of other benchmarks."""
    shown = []
    if len(runs.values) > 1:
        df = len(runs.values) - 1
        own = RunScatter(df=df, variance=runs.variance, se=one_run)
        shown.append(_Shown(own, weight=1.0))
    if runs.history is not None:
        shown.append(_Shown(_with_error(runs.history, one_run), weight=1.0))
    pooled_df = math.fsum(scatter.df for scatter in runs.pool)
    weight = min(_MOST_POOLED / pooled_df, 1.0) if pooled_df else 0.0
    shown += [_Shown(scatter, weight=weight) for scatter in runs.pool]
    return shown


def _with_error(scatter: RunScatter, one_run: float) -> RunScatter:
    """Let runs whose standard error is unknown have that of the baseline's."""
    return scatter if scatter.se >= 0 else structs.replace(scatter, se=one_run)


def _shown_sd(shown: Sequence[_Shown]) -> float:
    """Return the noise beyond what tasks explain, as a standard deviation."""
    total = 0.0
    df = 0.0
    for one in shown:
        counted = one.weight * one.scatter.df
        total += counted * (one.scatter.variance - one.scatter.se**2)
        df += counted
    return math.sqrt(max(total / df, 0.0)) if df else 0.0


def _posterior(prior: NoiseWeights, shown: Sequence[_Shown]) -> NoiseWeights:
    """Weigh each standard deviation by what runs show."""
    log_likelihood: Floats = np.zeros(len(prior.sds))
    for one in shown:
        # of a run's value
        variance = np.maximum(one.scatter.se, _NO_ERROR) ** 2 + prior.sds**2
        of_runs = np.log(variance) + one.scatter.variance / variance
        log_likelihood -= one.weight * one.scatter.df / 2 * of_runs
    weights: Floats = prior.weights * np.exp(log_likelihood - log_likelihood.max())
    weights /= weights.sum()
    return NoiseWeights(sds=prior.sds, weights=weights)


def pool_shows_noise(pool: Sequence[RunScatter]) -> bool:
    """Check whether runs of other benchmarks scatter beyond what their tasks explain.

    By chi^2 at 5 %, with the cube root's normal approximation (Wilson and Hilferty
    1931). Noise that is not shown is no reason to doubt a drop of a lone run.
    """
    df = math.fsum(scatter.df for scatter in pool)
    if df < _FEWEST_POOLED:
        return False
    ratios = [
        scatter.df * scatter.variance / max(scatter.se, _NO_ERROR) ** 2
        for scatter in pool
    ]
    spread = 2 / (9 * df)
    z = (math.cbrt(math.fsum(ratios) / df) - (1 - spread)) / math.sqrt(spread)
    return normal_sf(z) < _SHOWN


def tail_of(drop: float, sds: Floats, weights: Floats) -> float:
    """Return the chance of such a drop or more, averaged over standard deviations."""
    # as `normal_sf`, whose calls would take as long again
    tails = [0.5 * math.erfc(drop / sd / _ROOT_2) for sd in sds.tolist()]
    return float(weights @ np.array(tails))


def log_tail_of(drop: float, sds: Floats, weights: Floats) -> float:
    """Return the logarithm of the same, without underflow; `drop` is above 0."""
    is_possible = weights > 0
    logs = np.array(
        [
            normal_log_sf(drop / sd) if sd > 0 else -math.inf
            for sd in sds[is_possible].tolist()
        ]
    )
    logs += np.log(weights[is_possible])
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def _exceeded(chance: float, sds: Floats, weights: Floats) -> float:
    """Return the drop that noise alone exceeds with a chance."""
    tail = partial(tail_of, sds=sds, weights=weights)
    return falls_to(tail, chance, 0.0, 10 * float(sds[-1]))


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
