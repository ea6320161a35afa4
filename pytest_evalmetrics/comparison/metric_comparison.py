"""The comparison of a metric with its reference: change, significance, detectable drop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.coins import coins_of
from pytest_evalmetrics.comparison.collapses import had_most_to_lose, tasks_with_room
from pytest_evalmetrics.comparison.detectable_drop import detectable_drop
from pytest_evalmetrics.comparison.drop_tests import test_drop
from pytest_evalmetrics.comparison.inputs import measure_damage
from pytest_evalmetrics.comparison.intervals import LEVEL, TAIL
from pytest_evalmetrics.comparison.noise_scale import scale_of
from pytest_evalmetrics.comparison.run_noise import (
    unseen_noise,
    with_run_noise,
    with_stated_noise,
)
from pytest_evalmetrics.comparison.typical_drop import typical_drop
from pytest_evalmetrics.model.comparison import Comparison

if TYPE_CHECKING:
    from pytest_evalmetrics.comparison.drop_tests import DropTest
    from pytest_evalmetrics.comparison.inputs import ComparisonInput, TaskDamage
    from pytest_evalmetrics.comparison.run_noise import RunNoise
    from pytest_evalmetrics.model.comparison import TestResult


class TestedMetric(msgspec.Struct, frozen=True):
    """A metric, its test, and the comparison that is judged."""

    damage: TaskDamage
    test: DropTest
    comparison: Comparison

    def detectable_at(self, alpha: float) -> float:
        """Return the drop that is found with 80 % power at such a level; NaN for none."""
        return _detectable(self.damage, self.test, alpha=alpha)


def compare(given: ComparisonInput) -> Comparison:
    """Test one metric against its baseline, see `compare_metric`."""
    return compare_metric(given).comparison


def compare_metric(given: ComparisonInput) -> TestedMetric:
    """Test one metric against its baseline; p will be judged at the level of its rule.

    ==================================  ================================================
    the metric and its tasks            p is
    ==================================  ================================================
    a mean, fewer than 20 differ        exact sign flips, mid-p (Fisher 1935)
    a mean, 20 or more differ           the paired t test (Miller 2024, arXiv 2411.00640),
                                        or of damage that is clipped from above
    clusters, fewer than 25 differ      exact sign flips of clusters
    clusters, 25 or more differ         t with CR2 errors (Imbens and Kolesar 2016)
    no mean over tasks                  swapped sides, see `swapped_sides.swap_test`
    of one task alone                   see `single_tasks.single_task_test`
    unequal numbers of rollouts         the larger of it and of relabelled rollouts
    too few tasks for any of these      the larger of relabelled rollouts and t
    aggregates with standard errors     Welch's t (Welch 1947)
    ==================================  ================================================
    """
    damage = measure_damage(given)
    test = test_drop(damage)
    return TestedMetric(damage, test, _comparison(damage, test))


def _comparison(damage: TaskDamage, test: DropTest) -> Comparison:
    given = damage.given
    noise = _run_noise(damage, test.result, damage.alpha)
    result = _on_its_range(_with_noise(test.result, noise, damage.drop), damage)
    return Comparison(
        pair=given.pair,
        rule=given.rule,
        damage=damage.values,
        influence=test.influence,
        clusters=damage.clusters,
        units=damage.units,
        span=damage.span,
        drop=damage.drop,
        test=result,
        p_rollouts=test.p_rollouts,
        blind=test.blind,
        by_rollouts=test.by_rollouts,
        independence=test.independence,
        lost_all=test.lost_all,
        had_most_to_lose=had_most_to_lose(damage),
        tasks_with_room=tasks_with_room(damage),
        coins=coins_of(damage) if test.lost_all else None,
        detectable=_detectable(damage, test, alpha=damage.alpha),
        unseen=_unseen(damage, test.result),
        draws=test.draws,
        untested=test.untested,
        proven=test.proven,
        runs=1 if given.runs is None else len(given.runs.values),
        run_sd=math.nan if noise is None else noise.sd,
        upper_by_factors=_upper_by_factors(damage, test.result, noise),
        noise_source=given.noise_source,
        p_tasks=test.result.p,
        unseen_run_sd=_unseen_run_noise(damage, test.result, noise),
        improved=_is_improved(result, damage),
        seed=test.seed if test.draws else 0,
        typical=typical_drop(damage),
    )


def _detectable(damage: TaskDamage, test: DropTest, *, alpha: float) -> float:
    """Return the drop that is found with 80 % power; NaN for one that no rate can show."""
    noise = _run_noise(damage, test.result, alpha)
    drop = detectable_drop(damage, test, alpha=alpha, noise=noise)
    if damage.pair.bounded and drop > damage.span:
        return math.nan
    return drop


def _run_noise(damage: TaskDamage, result: TestResult, alpha: float) -> RunNoise | None:
    """Measure the noise between runs; None where there is one and nothing states it."""
    runs = damage.given.runs
    stated = damage.given.run_noise
    scale = scale_of(damage.given)
    if math.isnan(result.p):
        return None
    if stated is not None:
        return with_stated_noise(
            stated * _unit_of_noise(damage),
            runs,
            drop=damage.drop,
            log_p=result.log_p,
            se=result.se,
            alpha=alpha,
            level=LEVEL,
            scale=scale,
        )
    if runs is None:
        return None
    return with_run_noise(
        runs,
        drop=damage.drop,
        log_p=result.log_p,
        se=result.se,
        alpha=alpha,
        level=LEVEL,
        scale=scale,
    )


def _upper_by_factors(
    damage: TaskDamage, result: TestResult, noise: RunNoise | None
) -> float:
    """Bound a drop from above where runs differ by a factor; NaN where they don't."""
    if noise is None or not noise.scale.is_of_logs:
        return math.nan
    return noise.upper(damage.drop, result.se, alpha=damage.alpha)


def _unit_of_noise(damage: TaskDamage) -> float:
    """Return the unit of stated noise: points of a rate, or the baseline's value."""
    if damage.given.is_rate:
        return 1.0
    return abs(damage.pair.value_baseline)


def _unseen_run_noise(
    damage: TaskDamage, result: TestResult, noise: RunNoise | None
) -> float:
    """Return the unknown noise that would explain a drop; NaN if noise is known."""
    if noise is not None or math.isnan(result.p):
        return math.nan
    return unseen_noise(damage.drop, result.log_p, alpha=damage.alpha)


def _with_noise(result: TestResult, noise: RunNoise | None, drop: float) -> TestResult:
    """Let p and the interval cover noise between runs."""
    if noise is None:
        return result
    if noise.log_p != result.log_p:
        result = structs.replace(result, p=noise.p, log_tail=noise.log_p)
    if math.isnan(noise.half):
        return result
    low, high = noise.interval(drop)
    return structs.replace(
        result, mid_p=math.nan, se=result.se * noise.wider, low=low, high=high
    )


def _on_its_range(result: TestResult, damage: TaskDamage) -> TestResult:
    """Cut the interval of a difference of rates to [-1, 1]."""
    if not damage.pair.bounded or math.isnan(result.low):
        return result
    return structs.replace(
        result, low=max(result.low, -1.0), high=min(result.high, 1.0)
    )


def _unseen(damage: TaskDamage, result: TestResult) -> float | None:
    """Bound the share of tasks that may move, where all moved alike; else None."""
    if result.se != 0 or damage.given.stated is not None:
        return None
    return stats.zero_flip_bound(damage.units, damage.alpha)


def _is_improved(result: TestResult, damage: TaskDamage) -> bool:
    """Check whether an improvement is significant at the interval's one-sided level."""
    if not damage.drop < 0:
        return False
    if not math.isnan(result.mid_p):
        return 1 - result.p < TAIL
    if math.isnan(result.high):  # all tasks moved alike
        return result.se == 0 and 0.5**damage.units < TAIL
    return result.high < 0
