"""Slices of a metric: the tasks of one value of a field, compared beside the whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison.coins import chance_of_coins
from pytest_evalmetrics.comparison.independence import independence_of
from pytest_evalmetrics.comparison.metric_comparison import compare
from pytest_evalmetrics.comparison.noise_scale import scale_of
from pytest_evalmetrics.comparison.run_noise import largest_shift
from pytest_evalmetrics.comparison.run_shifts import with_shift
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison.inputs import ComparisonInput
    from pytest_evalmetrics.model.comparison import (
        Comparison,
        Independence,
        Ints,
        PairedMetric,
    )

_FEWEST = 3  # tasks of a slice: fewer are single tasks
_MANY = 5  # tasks that lost all they had, from which on that is no chance


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of one value of a field, and the metric over them on both sides."""

    field: str
    value: str
    compared: ComparisonInput
    whole: ComparisonInput  # over all tasks


class SliceTest(msgspec.Struct, frozen=True):
    """A slice that was tested."""

    slice: Slice
    comparison: Comparison
    p: float  # adjusted for the other slices
    # what keeps the proof from being one; None for nothing
    doubt: Independence | None = None


def slices_of(
    whole: ComparisonInput,
    field: str,
    labels: Sequence[str],
    codes: NDArray[np.integer],
) -> list[Slice]:
    """Cut a mean over tasks into the tasks of each label.

    Parameters
    ----------
    whole
        The metric over all tasks.
    field
        The field that gives the labels.
    labels
        Its values.
    codes
        The index of each paired task's label, -1 for none, integers of shape (tasks,).

    Returns
    -------
    list of Slice
        Those of three tasks or more; none for a metric that is no mean over tasks, and
        none where one label holds all tasks.
    """
    pair = whole.pair
    if pair.difference is not None or pair.baseline is None or pair.current is None:
        return []
    slices = []
    for code, label in enumerate(labels):
        places = np.flatnonzero(codes == code)
        if _FEWEST <= len(places) < len(pair.tasks):
            name = f"{pair.name}[{field}={label}]"
            compared = structs.replace(
                whole,
                pair=_over(pair, places, name),
                gate_id=f"{whole.gate_id}[{label}]",
            )
            slices.append(
                Slice(field=field, value=label, compared=compared, whole=whole)
            )
    return slices


def check_each(slices: Sequence[Slice], alpha: float) -> list[SliceTest]:
    """Test each slice; p is adjusted by closed testing (Holm 1979).

    `alpha` is shared by all slices: so many of them decide how sure each has to be.
    """
    if not slices:
        return []
    level = alpha / len(slices)
    comparisons = [compare(_at(one.compared, level, with_runs=alpha)) for one in slices]
    proofs = [
        _proof_of(one, comparison, level)
        for one, comparison in zip(slices, comparisons, strict=True)
    ]
    p_values = np.array([proof.p for proof in proofs])
    order = np.argsort(p_values, kind="stable")
    tests = []
    last = 0.0
    for step, place in enumerate(order.tolist()):
        p = float(p_values[place])
        last = max(last, min(p * (len(slices) - step), 1.0))
        tests.append(
            SliceTest(
                slice=slices[place],
                comparison=comparisons[place],
                p=last,
                doubt=proofs[place].doubt,
            )
        )
    return tests


# -- what a slice shows by itself --------------------------------------------------------


class _Proof(msgspec.Struct, frozen=True):
    p: float
    # what keeps it from being a proof; None for nothing
    doubt: Independence | None = None


def _proof_of(tested: Slice, comparison: Comparison, level: float) -> _Proof:
    """Return the surest proof that nothing puts in doubt, or else the surest of all.

    Tasks that lose everything show more than that each of them got worse.
    """
    of_tasks = _Proof(comparison.test.p, _doubt_of_tasks(comparison))
    if not comparison.lost_all or math.isnan(of_tasks.p):
        return of_tasks
    proofs = [of_tasks, _Proof(_p_of_coins(comparison))]
    if comparison.p_rollouts <= of_tasks.p:
        proofs.append(_Proof(comparison.p_rollouts, _doubt_of_rollouts(tested.whole)))
    surest = min(proof.p for proof in proofs if proof.doubt is None)
    if surest < level:
        return _Proof(surest)
    return min(proofs, key=lambda proof: proof.p)


def _doubt_of_tasks(comparison: Comparison) -> Independence | None:
    """Return what keeps a test from being a proof; many tasks that lost all are one."""
    independence = comparison.independence
    if independence is None or independence.is_given:
        return None
    return None if comparison.tasks_with_room >= _MANY else independence


def _p_of_coins(comparison: Comparison) -> float:
    """Return how rarely tasks that are coins come up so often, and then none; 1 if some are left.

    Tasks of which the run has fewer rollouts are at their worst more often than before.
    """
    pair = comparison.pair
    if comparison.clusters is not None or not pair.bounded or pair.current is None:
        return 1.0
    worst = 0.0 if comparison.rule.sign > 0 else 1.0
    is_left = pair.current != worst
    is_fewer = pair.rewards_current.counts < pair.rewards_baseline.counts
    if is_left.any() or is_fewer.any():
        return 1.0
    return chance_of_coins(comparison.units, lost=comparison.tasks_with_room)


def _doubt_of_rollouts(whole: ComparisonInput) -> Independence | None:
    """Return what the rollouts of all tasks lack to prove anything; None for nothing."""
    independence = independence_of(
        whole.pair, whole.rule.sign, declared=whole.independent
    )
    return None if independence.is_given else independence


# -- the tasks and the level of a slice --------------------------------------------------


def _at(
    compared: ComparisonInput, level: float, *, with_runs: float
) -> ComparisonInput:
    """Test a slice at a level, beyond what noise between runs shifts all of them by.

    A shift is one for all slices, so it is at the level that they share.
    """
    rule = structs.replace(compared.rule, alpha=level, warn_alpha=level)
    stated = compared.run_noise
    if stated is not None and not compared.is_rate:
        stated *= abs(compared.pair.value_baseline)
    shift = largest_shift(
        compared.runs, stated, alpha=with_runs, scale=scale_of(compared)
    )
    pair = with_shift(compared.pair, rule.sign, shift)
    return structs.replace(compared, pair=pair, rule=rule, runs=None, run_noise=None)


def _over(pair: PairedMetric, places: Ints, name: str) -> PairedMetric:
    """Restrict a mean over tasks to some of them."""
    assert pair.baseline is not None  # noqa: S101 - `slices_of` has asked
    assert pair.current is not None  # noqa: S101 - `slices_of` has asked
    rewards_before = pair.rewards_baseline.take(places)
    rewards_now = pair.rewards_current.take(places)
    before = pair.baseline[places]
    now = pair.current[places]
    if pair.baseline is pair.rewards_baseline.values:
        before = rewards_before.values  # of one rollout each: no second copy
    if pair.current is pair.rewards_current.values:
        now = rewards_now.values
    return structs.replace(
        pair,
        name=name,
        tasks=tuple(pair.tasks[place] for place in places.tolist()),
        baseline=before,
        current=now,
        value_baseline=mean_of(before),
        value_current=mean_of(now),
        rewards_baseline=rewards_before,
        rewards_current=rewards_now,
        clusters=None if pair.clusters is None else pair.clusters[places],
        excluded=(),
        added=(),
        removed=(),
    )
