"""The test that fits a metric and its tasks."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.coins import coins_of
from pytest_evalmetrics.comparison.collapses import is_all_lost
from pytest_evalmetrics.comparison.independence import independence_of
from pytest_evalmetrics.comparison.inputs import gate_seed
from pytest_evalmetrics.comparison.intervals import LEVEL, TAIL, around, result_of
from pytest_evalmetrics.comparison.relabelling import RelabelTest, relabel_test
from pytest_evalmetrics.comparison.single_tasks import counted_once, single_task_test
from pytest_evalmetrics.comparison.swapped_sides import swap_test
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.blindness import Blindness, FewRollouts, FewUnits
from pytest_evalmetrics.model.comparison import (
    Floats,
    Independence,
    TestResult,
    Untestable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.comparison.inputs import ComparisonInput, TaskDamage
    from pytest_evalmetrics.model.rollout_table import TaskId

_SAME_P = 1 - 1e-9  # relative: no smaller but for rounding
_RARE = 6  # passes, or failures, of one side
_EQUAL = 1e-9  # relative: all units lost the same
_MOST_ROLLOUTS = 64  # of a task that are asked for


_Count: TypeAlias = tuple[float, float]  # passes, and of how many


class TestKind(Enum):
    """How the drop of a metric is tested."""

    STATED = auto()  # aggregates, by the standard errors that they came with
    ONE_TASK = auto()  # a metric that is that of one task alone
    MEAN = auto()  # a mean over tasks
    UNCHANGED = auto()  # no mean over tasks, of the same rollouts on both sides
    SWAPPED = auto()  # no mean over tasks

    __test__ = False  # pytest takes the name for a test's


class DropTest(msgspec.Struct, frozen=True, kw_only=True):
    """What a test shows; the fields are those of `Comparison` by the same names."""

    result: TestResult = TestResult(name="")
    influence: Floats | None = None
    p_rollouts: float = math.nan
    blind: Blindness | None = None
    by_rollouts: bool = False
    proven: tuple[TaskId, ...] = ()
    draws: int = 0
    seed: int = 0  # of these draws
    # of a swapped metric: how many tasks it rests on, the unequal as fewer
    carriers: float = 0.0
    untested: Untestable | None = None
    lost_all: bool = False
    # whether rollouts are independent, where the verdict rests on it
    independence: Independence | None = None


def test_drop(damage: TaskDamage) -> DropTest:
    """Test a drop by the test that fits it; `untested` says where none could be made."""
    if damage.unusable is not None or not len(damage.values):
        return DropTest(untested=damage.unusable)
    kind = kind_of(damage.given)
    try:
        test = _TESTS[kind](damage)
    except (stats.StatsError, EvalMetricsError) as error:
        return DropTest(untested=_untestable(error))
    if kind in (TestKind.STATED, TestKind.ONE_TASK):
        return test
    return _with_rollouts(damage, _with_blindness(damage, test))


def kind_of(given: ComparisonInput) -> TestKind:
    """Choose how a drop is tested."""
    pair = given.pair
    if given.stated is not None:
        return TestKind.STATED
    if pair.extreme:
        return TestKind.ONE_TASK
    if pair.difference is None:
        return TestKind.MEAN
    if pair.rewards_baseline.same_as(pair.rewards_current):
        return TestKind.UNCHANGED
    return TestKind.SWAPPED


def few_units(
    units: int, unit: Literal["task", "cluster"], alpha: float
) -> FewUnits | None:
    """Return how many tasks, or clusters, a significant drop needs; None if so many do.

    All of them have to get worse for the least p, 2^-units.
    """
    if 0.5**units < alpha:
        return None
    needed = math.floor(-math.log2(alpha)) + 1
    return FewUnits(unit=unit, units=units, needed=needed, alpha=alpha)


# -- one kind each -----------------------------------------------------------------------


def _test_stated(damage: TaskDamage) -> DropTest:
    assert damage.given.stated is not None  # noqa: S101 - it is what the kind says
    se, df = damage.given.stated
    drop = damage.drop
    p = float(drop <= 0)
    log_p = -math.inf
    if se > 0:
        p = stats.t_sf(drop / se, df)
        log_p = stats.t_log_sf(drop / se, df)
    half = stats.t_ppf(0.5 + LEVEL / 2, df) * se
    result = TestResult(
        name="Welch's t of the stated standard errors, unpaired",
        p=max(p, stats.LEAST_P),
        df=df,
        se=se,
        log_tail=log_p,
    )
    return DropTest(result=around(result, drop, half))


def _test_one_task(damage: TaskDamage) -> DropTest:
    test = single_task_test(damage.pair, damage.sign)
    return DropTest(
        result=TestResult(
            name="relabelled rollouts of each task", p=test.p, log_tail=test.log_p
        ),
        p_rollouts=test.p,
        by_rollouts=True,
        proven=test.worst,
        independence=_independence_of_one_task(damage),
        lost_all=is_all_lost(damage),
        blind=_few_rollouts(damage.alpha) if test.least >= damage.alpha else None,
    )


def _independence_of_one_task(damage: TaskDamage) -> Independence | None:
    """Judge the rollouts; None where one of each task proves as much as is needed."""
    independence = _independence(damage)
    if independence.is_given:
        return independence
    level = damage.alpha / damage.given.rule.benchmarks
    once = single_task_test(counted_once(damage.pair), damage.sign)
    return None if once.p < level else independence


def _few_rollouts(alpha: float) -> FewRollouts:
    for rollouts in range(1, _MOST_ROLLOUTS):
        if 1 / math.comb(2 * rollouts, rollouts) < alpha:
            return FewRollouts(needed=rollouts, alpha=alpha)
    return FewRollouts(needed=_MOST_ROLLOUTS, alpha=alpha)


def _test_mean(damage: TaskDamage) -> DropTest:
    result = result_of(stats.mean_test(damage.values, damage.clusters, LEVEL))
    if _is_unequal(damage) and damage.clusters is None:
        result = _with_skewed_ends(result, damage)
    is_t = math.isnan(result.mid_p) and result.se > 0
    if is_t and damage.drop > 0 and damage.given.shares_error and _is_unequal(damage):
        return DropTest(result=_without_skew(result, damage), influence=damage.values)
    if is_t and damage.drop > 0 and result.p >= damage.share:
        result = _without_outliers(result, damage)
    return DropTest(result=result, influence=damage.values)


def _with_skewed_ends(result: TestResult, damage: TaskDamage) -> TestResult:
    """Move the ends of the interval by the skew that unequal rollouts give to damage."""
    if not result.se > 0:
        return result
    t = stats.t_ppf(1 - TAIL, result.df)
    below = stats.shift_of_skew(-damage.values, t)
    above = stats.shift_of_skew(damage.values, t)
    low = result.low - below * result.se
    high = result.high + above * result.se
    rates = _rare_passes(damage)
    if rates is not None:
        # where a side lacks its rare failures, its damage shows no skew
        before, now = rates if damage.sign > 0 else rates[::-1]
        low = min(low, -stats.newcombe_upper(now, before, LEVEL))
        high = max(high, stats.newcombe_upper(before, now, LEVEL))
    return structs.replace(result, low=low, high=high)


def _rare_passes(damage: TaskDamage) -> tuple[_Count, _Count] | None:
    """Count the passes of both sides, if few of a side pass, or fail; else None."""
    pair = damage.pair
    values = (pair.rewards_baseline.values, pair.rewards_current.values)
    is_of_passes = all(((side == 0) | (side == 1)).all() for side in values)
    if not pair.bounded or not is_of_passes:
        return None
    fewest = min(min(float(side.sum()), float((1 - side).sum())) for side in values)
    if fewest >= _RARE:
        return None
    # each task weighs the same, however many rollouts it has
    before = (pair.value_baseline * len(values[0]), float(len(values[0])))
    now = (pair.value_current * len(values[1]), float(len(values[1])))
    return before, now


def _without_skew(result: TestResult, damage: TaskDamage) -> TestResult:
    """Let rare gains that a side lacks make no drop, where rollouts can't be relabelled.

    By Johnson's t, see `stats.shift_of_skew`.
    """
    t = damage.drop / result.se
    shifted = t - stats.shift_of_skew(-damage.values, t)
    if shifted >= t:
        return result
    return structs.replace(
        result,
        p=max(stats.t_sf(shifted, result.df), stats.LEAST_P),
        log_tail=stats.t_log_sf(shifted, result.df),
    )


def _without_outliers(result: TestResult, damage: TaskDamage) -> TestResult:
    """Let no extreme damage hide that of the other tasks, see `stats.winsorised_t`."""
    milder = stats.winsorised_t(damage.values, damage.clusters, level=LEVEL)
    if milder.p >= result.p * _SAME_P:
        return result
    return structs.replace(
        result,
        p=milder.p,
        name=milder.name,
        low=max(result.low, milder.low),
        log_tail=milder.log_tail,
    )


def _test_unchanged(damage: TaskDamage) -> DropTest:
    result = TestResult(name="swapped sides", p=1.0, se=0.0)
    return DropTest(result=result, influence=damage.values)


def _test_swapped(damage: TaskDamage) -> DropTest:
    seed = gate_seed(damage.given)
    test = swap_test(damage, seed=seed)
    return DropTest(
        result=test.result,
        influence=test.influence,
        draws=test.draws,
        seed=seed,
        carriers=test.carriers,
    )


_TESTS: Mapping[TestKind, Callable[[TaskDamage], DropTest]] = {
    TestKind.STATED: _test_stated,
    TestKind.ONE_TASK: _test_one_task,
    TestKind.MEAN: _test_mean,
    TestKind.UNCHANGED: _test_unchanged,
    TestKind.SWAPPED: _test_swapped,
}


def _untestable(error: stats.StatsError | EvalMetricsError) -> Untestable:
    if isinstance(error, EvalMetricsError):
        return Untestable(cause="resampled", words=error.message)
    return Untestable(cause="words", words=str(error))


# -- few tasks, and unequal rollouts -----------------------------------------------------


def _with_blindness(damage: TaskDamage, test: DropTest) -> DropTest:
    """Say where too few tasks, or clusters, make every p too large."""
    if damage.clusters is None:
        blind = few_units(damage.units, "task", damage.alpha)
        return structs.replace(test, blind=blind)
    blind = few_units(damage.units, "cluster", damage.alpha)
    if blind is None:
        return test
    # a mid-p may be below the least p that is possible
    p = max(test.result.p, 0.5**damage.units)
    return structs.replace(test, blind=blind, result=structs.replace(test.result, p=p))


def _with_rollouts(damage: TaskDamage, test: DropTest) -> DropTest:
    """Test rollouts too, where sides are unequal, or if there are too few units."""
    test = structs.replace(test, lost_all=is_all_lost(damage))
    if not _needs_rollouts(damage, test):
        return test
    try:
        relabelled = relabel_test(damage, test.influence, seed=gate_seed(damage.given))
    except (stats.StatsError, EvalMetricsError) as error:
        return structs.replace(test, untested=_untestable(error))
    if test.lost_all:
        test = structs.replace(test, independence=_independence(damage))
    if _has_few_units(damage):
        return _by_few_units(damage, test, relabelled)
    if not _is_unequal(damage):
        return structs.replace(test, p_rollouts=relabelled.p)
    p = relabelled.mid_p
    test = structs.replace(test, p_rollouts=p)
    if not p > test.result.p:
        return test
    return structs.replace(test, result=_relabelled_result(test, relabelled, p))


def _needs_rollouts(damage: TaskDamage, test: DropTest) -> bool:
    """Check whether the test over units may err, and rollouts may show it."""
    if damage.given.shares_error or damage.drop <= 0:
        return False
    level = damage.alpha / damage.given.rule.benchmarks
    is_unproven = test.lost_all and test.result.p >= level
    return is_unproven or _has_few_units(damage) or _is_unequal(damage)


def _has_few_units(damage: TaskDamage) -> bool:
    """Check whether too few units could get worse for a significant drop of all."""
    return bool(0.5**damage.units_with_room >= damage.alpha)


def _by_few_units(
    damage: TaskDamage, test: DropTest, relabelled: RelabelTest
) -> DropTest:
    """Judge a few tasks, or clusters, by their rollouts, where all units agree.

    The larger p of relabelled rollouts and of Student's t over the units that could get
    worse: rollouts that repeat each other make the first too small, and not the second.
    A few tasks whose rollouts may all be copies, or clusters that pass or fail as one,
    count as coins: t is too small for
    values that are 0 or 1. A lone task has no t, and rests on independent rollouts; a
    lone cluster shows nothing.
    """
    # the full p, for it decides alone: with few rollouts mid-p would be much lower
    p = relabelled.p
    is_alone = damage.units_with_room < 2
    test = structs.replace(test, p_rollouts=p)
    if is_alone:
        test = structs.replace(test, independence=_independence(damage))
    else:
        p = max(p, _p_of_t(damage))
        if not test.lost_all and _are_few_coins(damage):
            p = max(p, 0.5**damage.units)
    if damage.clusters is not None and is_alone:
        return test
    # blind to single tasks, or of unequal sides, a test over units is of no use
    is_useless = _is_unequal(damage) or (
        test.blind is not None and damage.clusters is None
    )
    if not is_useless and p >= test.result.p:
        return test
    return structs.replace(
        test, by_rollouts=True, result=_relabelled_result(test, relabelled, p)
    )


def _are_few_coins(damage: TaskDamage) -> bool:
    """Check whether there are few tasks, or clusters, that may each be one coin."""
    is_few = 0.5**damage.units >= damage.alpha
    # rollouts that are independent say nothing of the tasks of a cluster
    is_declared = damage.clusters is None and damage.given.independent is True
    return is_few and not is_declared and coins_of(damage) is not None


def _relabelled_result(test: DropTest, relabelled: RelabelTest, p: float) -> TestResult:
    log_tail = relabelled.log_tail if p == relabelled.p else math.nan
    return structs.replace(
        test.result,
        p=p,
        name="relabelled rollouts",
        mid_p=math.nan,
        log_tail=log_tail,
    )


def _p_of_t(damage: TaskDamage) -> float:
    """Return Student's one-sided p over the tasks, or clusters, that could get worse."""
    values = damage.values[damage.has_room]
    if damage.clusters is not None:
        _, codes = np.unique(damage.clusters[damage.has_room], return_inverse=True)
        values = np.bincount(codes, values) / np.bincount(codes)
    mean = float(values.mean())
    se = float(values.std(ddof=1)) / math.sqrt(len(values))
    if se <= _EQUAL * abs(mean):
        return 0.0 if mean > 0 else 1.0
    return stats.t_sf(mean / se, len(values) - 1)


def _independence(damage: TaskDamage) -> Independence:
    return independence_of(damage.pair, damage.sign, declared=damage.given.independent)


def _is_unequal(damage: TaskDamage) -> bool:
    pair = damage.pair
    unequal = pair.rewards_baseline.counts != pair.rewards_current.counts
    return bool(unequal.any())
