"""Slices of a metric: the tasks of one value of a field, compared beside the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison.metric_comparison import compare
from pytest_evalmetrics.comparison.noise_scale import scale_of
from pytest_evalmetrics.comparison.run_noise import largest_shift
from pytest_evalmetrics.comparison.run_shifts import with_shift
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison.inputs import ComparisonInput
    from pytest_evalmetrics.model.comparison import Comparison, Ints, PairedMetric

_FEWEST = 3  # tasks of a slice: fewer are single tasks


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of one value of a field, and the metric over them on both sides."""

    field: str
    value: str
    compared: ComparisonInput


class SliceTest(msgspec.Struct, frozen=True):
    """A slice that was tested."""

    slice: Slice
    comparison: Comparison
    p: float  # adjusted for the other slices


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
            slices.append(Slice(field=field, value=label, compared=compared))
    return slices


def check_each(slices: Sequence[Slice], alpha: float) -> list[SliceTest]:
    """Test each slice; p is adjusted by closed testing (Holm 1979).

    `alpha` is shared by all slices: so many of them decide how sure each has to be.
    """
    if not slices:
        return []
    level = alpha / len(slices)
    comparisons = [compare(_at(one.compared, level, with_runs=alpha)) for one in slices]
    p_values = np.array([comparison.test.p for comparison in comparisons])
    order = np.argsort(p_values, kind="stable")
    tests = []
    last = 0.0
    for step, place in enumerate(order.tolist()):
        p = float(p_values[place])
        last = max(last, min(p * (len(slices) - step), 1.0))
        tests.append(SliceTest(slices[place], comparisons[place], last))
    return tests


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
