"""``thresholds``: absolute gates on a metric, or on an end of its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec.metric_facts import range_of
from pytest_evalmetrics.spec.metric_names import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.results import AgentResult, Estimate
    from pytest_evalmetrics.spec import Benchmark, Threshold

__all__ = ["blind_thresholds", "check_threshold", "check_thresholds"]

_SLACK = 1e-9  # a mean of seven passes in ten is not always 0.7 to the last bit


def check_thresholds(benchmark: Benchmark, agent: str, result: AgentResult) -> Iterator[Check]:
    """Hold an agent's metrics against the thresholds of the benchmark file.

    Parameters
    ----------
    benchmark
        The benchmark.
    agent
        The agent's name where a benchmark has several, else empty.
    result
        What was computed for it; has an estimate for each name under ``thresholds``.
    """
    for name, threshold in benchmark.spec.thresholds.items():
        yield check_threshold(
            result.estimates[name], threshold, agent, benchmark.line_of("thresholds", name)
        )


def blind_thresholds(benchmark: Benchmark) -> Iterator[str]:
    """Say which thresholds stand at the end of their metric's range, where nothing breaks them.

    What is outside of the range is refused when the file is read.
    """
    for text, threshold in benchmark.spec.thresholds.items():
        try:
            known = range_of(benchmark.spec, parse(text))
        except MetricError:  # a hook may name its numbers as it likes
            continue
        low, high = threshold.min, threshold.max
        if (low is None or low <= known.low) and (high is None or high >= known.high):
            line = benchmark.line_of("thresholds", text)
            yield f"the threshold {threshold} of line {line} can't fail: {text} is {known.why}"


def check_threshold(estimate: Estimate, threshold: Threshold, agent: str, line: int) -> Check:
    """Hold one estimate against a threshold; what is undefined can't be judged.

    Parameters
    ----------
    estimate
        The estimate.
    threshold
        What was asked for.
    agent
        The agent's name where a benchmark has several, else empty.
    line
        The line that asks for it.
    """
    bound = str(threshold)
    if math.isnan(estimate.value):
        return Check(
            "threshold",
            estimate.name,
            Verdict.INCONCLUSIVE,
            agent=agent,
            bound=bound,
            reason=f"{estimate.name} is undefined: {estimate.reason}",
            line=line,
        )
    if threshold.bound == "point":
        value, subject = estimate.value, estimate.name
    elif estimate.interval is None:
        return Check(
            "threshold",
            estimate.name,
            Verdict.INCONCLUSIVE,
            agent=agent,
            value=estimate.value,
            bound=f"{threshold.bound} end {bound}",
            reason=f"{estimate.name} has no interval: {estimate.reason}",
            hint="drop `bound:`, or gate a metric that has an interval",
            estimate=estimate,
            line=line,
        )
    else:
        interval = estimate.interval
        value = interval.low if threshold.bound == "lower" else interval.high
        subject = f"the {threshold.bound} end of {estimate.name}"
        bound = f"{threshold.bound} end {bound}"
    reason = _broken(subject, value, threshold)
    if reason and estimate.of_tasks:
        reason += f" (of {', '.join(estimate.of_tasks)})"
    return Check(
        "threshold",
        estimate.name,
        Verdict.FAIL if reason else Verdict.PASS,
        agent=agent,
        value=value,
        bound=bound,
        reason=reason,
        estimate=estimate,
        line=line,
    )


def _broken(subject: str, value: float, threshold: Threshold) -> str:
    low, high = threshold.min, threshold.max
    if low is not None and value < low - _SLACK * max(1.0, abs(low)):
        return f"{subject} is {distinct(value, low)}, below {low:.12g}"
    if high is not None and value > high + _SLACK * max(1.0, abs(high)):
        return f"{subject} is {distinct(value, high)}, above {high:.12g}"
    return ""


def distinct(value: float, bound: float) -> str:
    """Write `value` with so many digits that it differs from `bound`.

    Examples
    --------
    >>> distinct(0.69996, 0.7)
    '0.69996'
    """
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if float(text) != float(f"{bound:.{digits}g}"):
            return text
    return repr(value)
