"""The ``thresholds`` gate: is a metric, or an end of its interval, within bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.config.declarations import counts_passes, range_of
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.gates.completeness import LineOf, lacks_numbers
from pytest_evalmetrics.model.bounds import ThresholdBound
from pytest_evalmetrics.model.gate_notes import (
    BlindThreshold,
    MetricOfPart,
    MisplacedPassThreshold,
    UngroupedRollouts,
)
from pytest_evalmetrics.model.reasons import NoInterval, OutOfBounds, Reason, Undefined
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.spec.metric_names import fields_of, parse
from pytest_evalmetrics.sums import reaches, stays_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.model.estimates import Estimate, Interval
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.spec import BenchmarkSpec, Threshold


def check_thresholds(
    thresholds: Mapping[str, Threshold],
    estimates: Mapping[str, Estimate],
    intervals: Mapping[str, Interval | None],
    *,
    agent: str,
    line_of: LineOf,
    look: Look | None = None,
) -> Iterator[Check]:
    """Compare an agent's metrics, or ends of `intervals`, with the file's thresholds."""
    for name, threshold in thresholds.items():
        estimate = estimates[name]
        check = check_threshold(
            estimate,
            threshold,
            intervals.get(name, estimate.interval),
            agent=agent,
            line=line_of("thresholds", name),
        )
        if look is not None:
            check = look.with_threshold(check, estimate, threshold)
        yield check


def check_threshold(
    estimate: Estimate,
    threshold: Threshold,
    interval: Interval | None,
    *,
    agent: str,
    line: int,
) -> Check:
    """Compare an estimate, or an end of `interval`, with a threshold."""
    verdict, value, reasons = _judged(estimate, threshold, interval)
    return Check(
        gate=Gate.THRESHOLD,
        name=estimate.name,
        verdict=verdict,
        agent=agent,
        value=value,
        bound=ThresholdBound(
            least=threshold.min,
            most=threshold.max,
            end=threshold.bound,
            confidence=threshold.confidence,
        ),
        reasons=reasons,
        estimate=None if value is None else estimate,
        line=line,
    )


def _judged(
    estimate: Estimate, threshold: Threshold, interval: Interval | None
) -> tuple[Verdict, float | None, tuple[Reason, ...]]:
    """Return the verdict, the compared value and the reason."""
    if math.isnan(estimate.value):
        undefined = Undefined(metric=estimate.name, words=estimate.reason)
        return Verdict.INCONCLUSIVE, None, (undefined,)
    if threshold.bound == "point":
        value = estimate.value
    elif interval is None:
        none = NoInterval(metric=estimate.name, words=estimate.reason)
        return Verdict.INCONCLUSIVE, estimate.value, (none,)
    else:
        value = interval.low if threshold.bound == "lower" else interval.high
    broken = _out_of_bounds(estimate, value, threshold)
    if broken is None:
        return Verdict.PASS, value, ()
    return Verdict.FAIL, value, (broken,)


def _out_of_bounds(
    estimate: Estimate, value: float, threshold: Threshold
) -> OutOfBounds | None:
    low = threshold.min
    high = threshold.max
    # a mean of seven passes in ten is not always 0.7 to the last bit
    if low is not None and not reaches(value, low):
        side = "below"
        bound = low
    elif high is not None and not stays_within(value, high):
        side = "above"
        bound = high
    else:
        return None
    return OutOfBounds(
        metric=estimate.name,
        value=value,
        bound=bound,
        side="below" if side == "below" else "above",
        end=threshold.bound,
        confidence=threshold.confidence,
        tasks=estimate.of_tasks,
    )


# -- remarks ---------------------------------------------------------------------------------


def metrics_of_a_part(
    spec: BenchmarkSpec, estimates: Mapping[str, Estimate], *, agent: str
) -> Iterator[MetricOfPart]:
    """Note the other listed metrics that are computed over a part of the rollouts."""
    for name in dict.fromkeys((*spec.metrics, *(spec.key_metrics or ()))):
        estimate = estimates[name]
        if name not in spec.thresholds and lacks_numbers(estimate, spec.reward):
            yield MetricOfPart(
                metric=estimate.name,
                score=estimate.score,
                rollouts=estimate.rollouts,
                missing=estimate.missing,
                agent=agent,
            )


def ungrouped_rollouts(
    spec: BenchmarkSpec, table: RolloutTable, *, agent: str
) -> Iterator[UngroupedRollouts]:
    """Note rollouts that belong to no group of a field by which metrics are gated."""
    for field in sorted(fields_of((*spec.gated, *spec.thresholds))):
        lacking = int(table.lacking((field,)).sum())
        if lacking:
            yield UngroupedRollouts(
                field=field, lacking=lacking, rollouts=len(table), agent=agent
            )


def misplaced_threshold(
    spec: BenchmarkSpec, table: RolloutTable, *, agent: str, line_of: LineOf
) -> MisplacedPassThreshold | None:
    """Note a pass_threshold on another scale than the rewards: all or none pass."""
    rewards = table.scores.get(spec.reward)
    chosen = () if spec.metrics == type(spec).metrics else spec.metrics
    names = dict.fromkeys((*chosen, *(spec.key_metrics or ()), *spec.thresholds))
    rates = tuple(name for name in names if counts_passes(spec, name))
    if rewards is None or not rates or not np.isfinite(rewards).any():
        return None
    least = float(np.nanmin(rewards))
    best = float(np.nanmax(rewards))
    none_pass = best > 0 and not reaches(best, spec.pass_threshold)
    all_pass = spec.pass_threshold <= 0 <= least
    if not (none_pass or all_pass):
        return None
    return MisplacedPassThreshold(
        score=spec.reward,
        threshold=spec.pass_threshold,
        all_pass=not none_pass,
        nearest=best if none_pass else least,
        metrics=rates,
        line=line_of("pass_threshold"),
        agent=agent,
    )


def blind_thresholds(spec: BenchmarkSpec, line_of: LineOf) -> Iterator[BlindThreshold]:
    """Note thresholds at the end of their metric's range, which nothing can break."""
    for text, threshold in spec.thresholds.items():
        try:
            limits = range_of(spec, parse(text))
        except MetricError:  # a hook may name its numbers as it likes
            continue
        never_below = threshold.min is None or threshold.min <= limits.low
        never_above = threshold.max is None or threshold.max >= limits.high
        if never_below and never_above:
            yield BlindThreshold(
                metric=text,
                least=threshold.min,
                most=threshold.max,
                line=line_of("thresholds", text),
                words=limits.why,
            )
