"""The ``baseline`` gate of a number without tasks: a hook's, or one of a history."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.gates.rules import Decision, exceeds, noninferior_verdict
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import ComparisonFacts, RuleName
from pytest_evalmetrics.model.reasons import (
    NotShown,
    NoValue,
    Undefined,
    Untested,
    ValueChanged,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict

if TYPE_CHECKING:
    from pytest_evalmetrics.model.comparison import RuleSettings
    from pytest_evalmetrics.model.estimates import Estimate, Interval
    from pytest_evalmetrics.model.verdicts import Acceptance


def check_value(
    estimate: Estimate,
    recorded: float | None,
    settings: RuleSettings,
    *,
    agent: str,
    line: int | None,
    acceptance: Acceptance | None,
    against: str = "",
    anchor: str = "",
    runs: int = 1,
) -> Check:
    """Compare a number without tasks with its recorded value.

    Only the rules exact, absolute and relative can; and noninferior where the estimate
    has an interval.

    Parameters
    ----------
    estimate
        The metric of the run.
    recorded
        Its value in the baseline or the history; None if there is none.
    settings
        How it is compared.
    agent, line
        The agent's name if a benchmark has several, and the line of the benchmark file.
    acceptance
        How a change of the metric is accepted.
    against, anchor, runs
        Of a history: which of its numbers is the reference (``best``), that in words
        (``the best of 7 runs``, or why there is none), and how many runs it has.
    """
    value = estimate.value
    decision = _decide(estimate, recorded, settings, anchor=anchor)
    return Check(
        gate=Gate.BASELINE,
        name=estimate.name,
        verdict=decision.verdict,
        agent=agent,
        value=_defined(value),
        bound=RuleBound(settings),
        reasons=decision.reasons,
        estimate=estimate,
        line=line,
        comparison=ComparisonFacts(
            baseline=recorded,
            current=_defined(value),
            drop=_defined(_drop(recorded, value, settings)),
            runs=runs,
            against=against,
            anchor=anchor,
        ),
        acceptance=acceptance,
    )


def _decide(
    estimate: Estimate, recorded: float | None, settings: RuleSettings, *, anchor: str
) -> Decision:
    name = estimate.name
    value = estimate.value
    if recorded is None:
        no_value = NoValue(metric=name, words=anchor)
        return Decision(Verdict.INCONCLUSIVE, (no_value,))
    if math.isnan(value):
        undefined = Undefined(metric=name, words=estimate.reason)
        return Decision(Verdict.INCONCLUSIVE, (undefined,))
    changed = ValueChanged(metric=name, before=recorded, now=value, against=anchor)
    if settings.rule is RuleName.NONINFERIOR and estimate.interval is not None:
        return _by_interval(estimate.interval, recorded, settings, changed)
    if settings.allowed(recorded) is None:
        untested = Untested(
            cause="no_interval" if anchor else "by_hook",
            words=estimate.reason if anchor else "",
            metric=name,
            rule=settings.name,
            max_drop=settings.max_drop,
        )
        return Decision(Verdict.INCONCLUSIVE, (untested,))
    drop = settings.sign * (recorded - value)
    if exceeds(settings, drop, baseline=recorded, current=value):
        return Decision(Verdict.FAIL, (changed,))
    return Decision(Verdict.PASS)


def _by_interval(
    interval: Interval, recorded: float, settings: RuleSettings, changed: ValueChanged
) -> Decision:
    """Judge by the end of the interval on the bad side."""
    upper = recorded - interval.low
    if settings.sign < 0:
        upper = interval.high - recorded
    drop = settings.sign * (recorded - changed.now)
    verdict = noninferior_verdict(drop, upper, settings.max_drop)
    if verdict is Verdict.FAIL:
        return Decision(verdict, (changed,))
    if verdict is Verdict.PASS:
        return Decision(verdict)
    return Decision(verdict, (NotShown(upper=upper, max_drop=settings.max_drop),))


def _drop(recorded: float | None, value: float, settings: RuleSettings) -> float | None:
    if recorded is None:
        return None
    # without -0
    return settings.sign * (recorded - value) + 0.0


def _defined(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
