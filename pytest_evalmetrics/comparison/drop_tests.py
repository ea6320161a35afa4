"""The test that fits a metric and its tasks."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.inputs import gate_seed
from pytest_evalmetrics.comparison.intervals import LEVEL, around, result_of
from pytest_evalmetrics.comparison.relabelling import RelabelTest, relabel_test
from pytest_evalmetrics.comparison.single_tasks import single_task_test
from pytest_evalmetrics.comparison.swapped_sides import swap_test
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.comparison import (
    Blindness,
    FewRollouts,
    FewUnits,
    Floats,
    TestResult,
    Untestable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.comparison.inputs import ComparisonInput, TaskDamage
    from pytest_evalmetrics.model.rollout_table import TaskId

_NO_ROOM = 1e-12  # from the end of a rate's range
_MOST_ROLLOUTS = 64  # of a task that are asked for


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
    # of a swapped metric: how many tasks it rests on, the unequal as fewer
    carriers: float = 0.0
    untested: Untestable | None = None


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
        result=TestResult(name="relabelled rollouts of each task", p=test.p),
        p_rollouts=test.p,
        by_rollouts=True,
        proven=test.worst,
        blind=_few_rollouts(damage.alpha) if test.least >= damage.alpha else None,
    )


def _few_rollouts(alpha: float) -> FewRollouts:
    for rollouts in range(1, _MOST_ROLLOUTS):
        if 1 / math.comb(2 * rollouts, rollouts) < alpha:
            return FewRollouts(needed=rollouts, alpha=alpha)
    return FewRollouts(needed=_MOST_ROLLOUTS, alpha=alpha)


def _test_mean(damage: TaskDamage) -> DropTest:
    result = stats.mean_test(damage.values, damage.clusters, LEVEL)
    return DropTest(result=result_of(result), influence=damage.values)


def _test_unchanged(damage: TaskDamage) -> DropTest:
    result = TestResult(name="swapped sides", p=1.0, se=0.0)
    return DropTest(result=result, influence=damage.values)


def _test_swapped(damage: TaskDamage) -> DropTest:
    test = swap_test(damage, seed=gate_seed(damage.given))
    return DropTest(
        result=test.result,
        influence=test.influence,
        draws=test.draws,
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
    is_few = _is_few(damage, test)
    is_unequal = _is_unequal(damage)
    if not (is_unequal or is_few) or damage.drop <= 0:
        return test
    try:
        relabelled = relabel_test(damage, test.influence, seed=gate_seed(damage.given))
    except (stats.StatsError, EvalMetricsError) as error:
        return structs.replace(test, untested=_untestable(error))
    return _combined(test, relabelled, is_few=is_few, is_unequal=is_unequal)


def _combined(
    test: DropTest, relabelled: RelabelTest, *, is_few: bool, is_unequal: bool
) -> DropTest:
    """Choose between the p of tasks and that of rollouts."""
    # the full p if it decides alone: with few rollouts mid-p would be much lower
    p = relabelled.p if is_few else relabelled.mid_p
    is_blind = test.blind is not None
    by_rollouts = is_few and (is_blind or is_unequal or p < test.result.p)
    test = structs.replace(test, p_rollouts=p, by_rollouts=by_rollouts)
    if not (by_rollouts or (is_unequal and p > test.result.p)):
        return test
    result = structs.replace(
        test.result,
        p=p,
        name="relabelled rollouts",
        mid_p=math.nan,
        log_tail=relabelled.log_tail,
    )
    return structs.replace(test, result=result)


def _is_unequal(damage: TaskDamage) -> bool:
    pair = damage.pair
    unequal = pair.rewards_baseline.counts != pair.rewards_current.counts
    return bool(unequal.any())


def _is_few(damage: TaskDamage, test: DropTest) -> bool:
    """Check whether too few tasks can get worse for a test over tasks."""
    pair = damage.pair
    if damage.clusters is not None:
        return False
    if test.blind is not None:
        return True
    if not pair.bounded or pair.baseline is None:
        return False
    # does the baseline leave enough tasks room to fall?
    room = pair.baseline if damage.sign > 0 else 1 - pair.baseline
    return 0.5 ** int(np.count_nonzero(room > _NO_ROOM)) >= damage.alpha
