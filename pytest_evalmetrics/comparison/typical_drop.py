"""The drop of most tasks, which a few extreme rollouts can't hide.

A mean of latencies, costs or scores without a range is moved by a single rollout: one
that hung in the baseline makes an improvement of a run in which every other task is
slower. So beside the mean, the order of each task's rollouts is tested: whether those
of the run rank worse than those of the baseline, over tasks as a mean is. A rollout
counts by its rank, however extreme it is. The size of the drop is the mean over tasks
without the tenth that improved most and the tenth that got worse most.

Ranks within tasks: van Elteren 1960; trimmed means: Tukey and McLaughlin 1963.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.intervals import LEVEL
from pytest_evalmetrics.comparison.noise_scale import OF_AMOUNTS, choose_scale
from pytest_evalmetrics.comparison.relabelling import values_are_means
from pytest_evalmetrics.comparison.run_noise import with_run_noise, with_stated_noise
from pytest_evalmetrics.model.comparison import TypicalDrop

if TYPE_CHECKING:
    from pytest_evalmetrics.comparison.inputs import TaskDamage
    from pytest_evalmetrics.comparison.noise_scale import NoiseScale
    from pytest_evalmetrics.comparison.run_noise import Runs
    from pytest_evalmetrics.model.comparison import Floats, PairedMetric

# of a metric's level, that this test takes beside it: both together keep the limit
LEVEL_SHARE = 0.1
_FEWEST = 7  # tasks


def typical_drop(damage: TaskDamage) -> TypicalDrop | None:
    """Test whether most tasks got worse; None where no rollout can be extreme.

    That is for rates, and where a task's value is not the mean of its rewards.
    """
    if not has_extremes(damage):
        return None
    pair = damage.pair
    drop = float(stats.trimmed_mean(damage.values).mean)
    most_hidden = int(damage.values.argmin())
    return TypicalDrop(
        drop=drop,
        p=_with_run_noise(damage, drop, _log_p(damage)) if drop > 0 else 1.0,
        level=LEVEL_SHARE * damage.share,
        task=pair.tasks[most_hidden],
        before=_value(pair.baseline, most_hidden),
        now=_value(pair.current, most_hidden),
    )


def has_extremes(damage: TaskDamage) -> bool:
    """Check whether most tasks are tested beside the mean: not of rates."""
    pair = damage.pair
    given = damage.given
    if pair.bounded or pair.difference is not None or pair.extreme:
        return False
    if given.stated is not None or given.shares_error or not given.rule.tests:
        return False
    if damage.unusable is not None or damage.units < _FEWEST:
        return False
    return values_are_means(pair)


def _value(values: Floats | None, task: int) -> float:
    return math.nan if values is None else float(values[task])


def _log_p(damage: TaskDamage) -> float:
    """Return the log of the one-sided p of ranks that don't depend on the side."""
    worse = rank_damage(damage.pair, damage.sign)
    test = stats.mean_test(worse, damage.clusters, LEVEL)
    if math.isnan(test.mid_p) and test.se > 0 and worse.mean() > 0:
        milder = stats.winsorised_t(worse, damage.clusters)
        test = min(test, milder, key=lambda either: either.p)
    log_p = math.log(test.p) if math.isnan(test.log_tail) else test.log_tail
    if not _is_unequal(damage.pair):
        return log_p
    before, now = _ranks(damage.pair)
    relabelled = stats.relabel_test(
        (before, damage.pair.rewards_baseline.offsets),
        (now, damage.pair.rewards_current.offsets),
        sign=damage.sign,
    )
    return max(log_p, math.log(relabelled.mid_p))


def rank_damage(pair: PairedMetric, sign: float) -> Floats:
    """Return how much worse the run's rollouts rank within each task, shape (tasks,).

    From -1 to 1: the chance that one of the run is worse than one of the baseline, less
    the chance that it is better.
    """
    rewards_before = pair.rewards_baseline
    rewards_now = pair.rewards_current
    if rewards_before.is_one_each and rewards_now.is_one_each:
        # of one rollout on each side the order is the rank
        return np.asarray(sign * np.sign(rewards_before.numbers - rewards_now.numbers))
    before, now = _ranks(pair)
    offsets_before = pair.rewards_baseline.offsets
    offsets_now = pair.rewards_current.offsets
    mean_before = np.add.reduceat(before, offsets_before[:-1]) / np.diff(offsets_before)
    mean_now = np.add.reduceat(now, offsets_now[:-1]) / np.diff(offsets_now)
    return np.asarray(np.round(sign * (mean_before - mean_now), 12))


def _is_unequal(pair: PairedMetric) -> bool:
    unequal = pair.rewards_baseline.counts != pair.rewards_current.counts
    return bool(unequal.any())


def _ranks(pair: PairedMetric) -> tuple[Floats, Floats]:
    """Return the middle rank of each reward within its task, twice the share of all.

    From 0 to 2, whatever the number of rollouts. The baseline's, and the run's.
    """
    before = pair.rewards_baseline
    now = pair.rewards_current
    values = np.concatenate((before.numbers, now.numbers))
    task = np.concatenate((before.task, now.task))
    order = np.lexsort((values, task))
    values = values[order]
    task = task[order]
    sizes = before.counts + now.counts
    starts = np.cumsum(sizes) - sizes
    # runs of equal values within a task share the middle of their ranks
    is_new = np.ones(len(values), dtype=bool)
    is_new[1:] = (np.diff(values) != 0) | (np.diff(task) != 0)
    run = np.cumsum(is_new) - 1
    first = np.flatnonzero(is_new)
    lengths = np.diff(np.append(first, len(values)))
    middle = (first + (lengths - 1) / 2)[run] - starts[task] + 0.5
    ranks = np.empty(len(values))
    ranks[order] = 2 * middle / sizes[task]
    return ranks[: len(before.numbers)], ranks[len(before.numbers) :]


class _Shift(msgspec.Struct, frozen=True, kw_only=True):
    """By how much most tasks moved, and what shows how much runs differ in that."""

    drop: float  # an amount, or the log of a factor
    se: float
    stated_sd: float | None  # of runs, as the file states it
    runs: Runs | None
    scale: NoiseScale


def _with_run_noise(damage: TaskDamage, drop: float, log_p: float) -> float:
    """Return p with noise between runs, where it is known.

    Such noise shifts all tasks by an amount or by a factor: what is less sure counts.
    """
    given = damage.given
    if given.run_noise is None and given.runs is None:
        return stats.p_of_log(log_p)
    of_amounts = _shift_by_an_amount(damage, drop)
    of_factors = _shift_by_a_factor(damage)
    p = _p_with_noise(damage, of_amounts, log_p)
    if of_factors is None:
        return p
    return max(p, _p_with_noise(damage, of_factors, log_p))


def _shift_by_an_amount(damage: TaskDamage, drop: float) -> _Shift:
    """Measure the shift in the unit of the metric."""
    given = damage.given
    stated = given.run_noise
    return _Shift(
        drop=drop,
        se=stats.trimmed_mean(damage.values).se,
        stated_sd=None if stated is None else stated * _usual_value(damage),
        runs=None if given.runs is None else given.runs.typical,
        scale=_scale(damage, drop),
    )


def _shift_by_a_factor(damage: TaskDamage) -> _Shift | None:
    """Measure the shift of tasks that each move in proportion; None where that is not known.

    Of tasks of all sizes, the amounts of such a shift differ as noise of tasks would.
    """
    given = damage.given
    runs = None if given.runs is None else given.runs.typical_logs
    ratios = _log_damage(damage)
    if ratios is None or (given.run_noise is None and runs is None):
        return None
    typical = stats.trimmed_mean(ratios)
    return _Shift(
        drop=typical.mean,
        se=typical.se,
        stated_sd=given.run_noise,
        runs=runs,
        scale=OF_AMOUNTS,
    )


def _p_with_noise(damage: TaskDamage, shift: _Shift, log_p: float) -> float:
    """Return p of a shift beside noise between runs; 1 where nothing shows that noise."""
    if not shift.drop > 0:
        return 1.0
    if shift.stated_sd is not None:
        with_noise = partial(with_stated_noise, shift.stated_sd, shift.runs)
    elif shift.runs is not None:
        with_noise = partial(with_run_noise, shift.runs)
    else:
        return 1.0
    noise = with_noise(
        drop=shift.drop,
        log_p=log_p,
        se=shift.se,
        alpha=damage.alpha,
        level=LEVEL,
        scale=shift.scale,
    )
    return noise.p


def _log_damage(damage: TaskDamage) -> Floats | None:
    """Return the factor by which each task got worse; None where values are not positive."""
    before = damage.pair.baseline
    now = damage.pair.current
    if before is None or now is None:
        return None
    if not (before > 0).all() or not (now > 0).all():
        return None
    return np.asarray(damage.sign * np.log(before / now))


def _scale(damage: TaskDamage, drop: float) -> NoiseScale:
    """Choose the scale of the noise between runs of most tasks."""
    usual = _usual_value(damage)
    runs = None if damage.given.runs is None else damage.given.runs.typical
    return choose_scale(
        usual,
        usual - damage.sign * drop,
        runs,
        sign=damage.sign,
        is_rate=False,
    )


def _usual_value(damage: TaskDamage) -> float:
    """Return the size of the baseline's value over most tasks."""
    if damage.pair.baseline is None:
        return abs(damage.pair.value_baseline)
    return abs(stats.trimmed_mean(damage.pair.baseline).mean)
