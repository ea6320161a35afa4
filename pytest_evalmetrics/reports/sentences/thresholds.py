"""Metrics and their thresholds."""

from __future__ import annotations

from typing import Literal

from pytest_evalmetrics.model.reasons import NoInterval, OutOfBounds, Undefined
from pytest_evalmetrics.reports.sentences.dispatch import sentence

End = Literal["point", "lower", "upper"]


@sentence.register(Undefined)
def undefined(reason: Undefined) -> str:
    """Say why a metric has no value."""
    return f"{reason.metric} is undefined: {reason.words}"


@sentence.register(NoInterval)
def no_interval(reason: NoInterval) -> str:
    """Say why a metric has no interval."""
    return f"{reason.metric} has no interval: {reason.words}"


@sentence.register(OutOfBounds)
def out_of_bounds(reason: OutOfBounds) -> str:
    """Name the value and the bound that it misses."""
    subject = reason.metric
    if reason.end != "point":
        subject = f"the {end_of_interval(reason.end, reason.confidence)} of {subject}"
    value = distinct(reason.value, reason.bound)
    text = f"{subject} is {value}, {reason.side} {reason.bound:.12g}"
    if reason.tasks:
        text += f" (of {', '.join(reason.tasks)})"
    return text


def end_of_interval(end: End, confidence: float | None) -> str:
    """Name the compared end: ``lower end``, ``lower 95 % bound``."""
    if confidence is None:
        return f"{end} end"
    return f"{end} {100 * confidence:.6g} % bound"


def distinct(value: float, bound: float) -> str:
    """Write `value` with so many digits that it differs from `bound`."""
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if float(text) != float(f"{bound:.{digits}g}"):
            return text
    return repr(value)
