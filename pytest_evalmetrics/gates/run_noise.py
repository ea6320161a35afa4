"""Noise between runs: what shifts a run as a whole, which no test over tasks can see.

Another build of the server, other batches or a judge that drifts move all tasks of a run together.
Two runs can't show it; repeated runs of an unchanged system do, by how much their values scatter
beyond what their tasks explain. The drop is then held against a further run of that system: its
error has a part from tasks, as it is tested today, and a part from runs, tau^2 (1 + 1/m) with m
runs in the baseline (the prediction interval of a further value).

tau is not known from a few runs. It is averaged over its posterior: the scatter S^2 of the runs'
values has (m - 1) S^2 / (s^2 + tau^2) ~ chi^2 with m - 1 degrees of freedom, s the standard error
of one run's value over its tasks (Gelman et al. 2013, Bayesian Data Analysis, section 5.4). The
prior puts some weight on no such noise at all, and the rest on a half-Cauchy distribution of scale
4 s (Gelman 2006, Bayesian Analysis 1, 515); for a rate the scale is at most 5 points, and tau at
most 15. The weights are those that give the false alarms and the power of docs/calibration.md. Two
to four runs say little about tau: with them, the gate mostly gains rollouts.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.stats import bisected, mean_se, normal_ppf, normal_sf, t_sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.rollout_table import PairedMetric
    from pytest_evalmetrics.stats.basics import Floats

# the prior weight of no noise between m runs; from 10 runs on .4
_NO_NOISE = {2: 0.98, 3: 0.95, 4: 0.92, 5: 0.35, 6: 0.5, 7: 0.5, 8: 0.5, 9: 0.5}
_SCALE = 4.0  # of the half-Cauchy prior, in standard errors of one run
_LARGEST = (
    0.15  # the most noise of a rate, and three times the largest scale of its prior
)
TAU = np.concatenate(([0.0], np.geomspace(0.02, 60, 160)))  # in the same unit


class Runs(msgspec.Struct, frozen=True):
    """The runs of a baseline: one metric over the compared tasks."""

    values: tuple[float, ...]  # of each run, the newest last
    pooled: (
        bool  # whether the drop is from the mean of all runs, or from the newest alone
    )
    more_rollouts: (
        float  # of a task in one such run, as a multiple of those in the current run
    )
    se: float = (
        math.nan
    )  # of one run's value over its tasks; NaN if a task has no value
    is_rate: bool = False

    @classmethod
    def of(cls, pairs: Sequence[PairedMetric], *, pooled: bool, is_rate: bool) -> Runs:
        """Measure the runs of a baseline, each paired with the current run."""
        last, se = pairs[-1], math.nan
        more = len(last.rewards_baseline.values) / max(
            len(last.rewards_current.values), 1
        )
        if all(pair.baseline is not None and pair.difference is None for pair in pairs):
            # how much tasks differ between runs, without the shifts that all of them share
            values = np.array([pair.baseline for pair in pairs])
            ses = (
                mean_se(run, pairs[0].clusters).se
                for run in values - values.mean(axis=0)
            )
            se = math.sqrt(sum(each**2 for each in ses) / (len(pairs) - 1))
        return cls(
            tuple(each.value_baseline for each in pairs), pooled, more, se, is_rate
        )


class RunNoise(msgspec.Struct, frozen=True):
    """A drop that is held against the noise of tasks and of runs."""

    sd: float  # the noise between runs beyond that of tasks, in the metric's unit; 0 for none
    p: float  # one-sided, of no change
    half: (
        float  # half the width of the drop's interval; NaN to keep that of tasks alone
    )
    wider: (
        float  # this noise's quantile at `alpha`, as a multiple of that of tasks alone
    )


def with_run_noise(
    runs: Runs, drop: float, p: float, se: float, *, alpha: float, level: float
) -> RunNoise:
    """Add noise between runs to a test whose `p` and `se` cover the noise of tasks alone."""
    m = len(runs.values)
    further = 1 + (1 / m if runs.pooled else 1.0)
    scatter = float(np.var(runs.values, ddof=1))
    one_run = (
        runs.se if runs.se >= 0 else se / math.sqrt(further - 1 + runs.more_rollouts)
    )
    if scatter == 0:
        return RunNoise(0.0, p, math.nan, 1.0)
    if not one_run * TAU[-1] > math.sqrt(scatter):  # only the runs predict the next one
        sd = math.sqrt(scatter)
        only = t_sf(drop / math.sqrt(scatter * further), m - 1)
        return RunNoise(sd, max(p, only), math.nan, 1.0)
    sd = math.sqrt(max(scatter - one_run**2, 0.0))
    variance = 1 + TAU**2  # of a run's value, in the unit of the square of `one_run`
    log_likelihood = -(m - 1) / 2 * (np.log(variance) + scatter / one_run**2 / variance)
    most = _LARGEST / one_run if runs.is_rate else math.inf
    weights = prior_of(_NO_NOISE.get(m, 0.4), min(_SCALE, most / 3), most)
    weights *= np.exp(log_likelihood - log_likelihood.max())
    weights /= weights.sum()
    tau = (TAU * one_run) ** 2 * further
    if 0 < p < 0.5 and drop > 0:  # in the half that tests a drop
        by_tasks = drop / -normal_ppf(p)
        p = tail_of(drop, np.sqrt(by_tasks**2 + tau), weights)
    se = se or 1e-9  # all tasks moved alike
    sds = np.sqrt(se**2 + tau)
    chance = partial(tail_of, sds=sds, weights=weights)
    exceeded, half = (  # by noise alone, with these chances
        bisected(chance, tail, 0.0, 10 * float(sds[-1]))
        for tail in (alpha, (1 - level) / 2)
    )
    wider = exceeded / (-normal_ppf(alpha) * se)
    return RunNoise(*(float(f"{x:.6g}") for x in (sd, p, half, wider)))


def prior_of(none: float, scale: float = _SCALE, most: float = math.inf) -> Floats:
    """Return the prior weights of `TAU` up to `most`; `none` is the weight of no noise."""
    prior: Floats = np.gradient(TAU) / (1 + (TAU / scale) ** 2) * (most >= TAU)
    prior[0] = 0.0
    prior *= (1 - none) / prior.sum()
    prior[0] = none
    return prior


def tail_of(drop: float, sds: Floats, weights: Floats) -> float:
    """Return the chance of such a drop or more, averaged over standard deviations."""
    tails = [normal_sf(drop / sd) for sd in sds.tolist()]
    return float(weights @ np.array(tails))
