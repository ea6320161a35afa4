"""The ``baseline`` gate of a lone number, of which no tasks are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.gates import evidence
from pytest_evalmetrics.gates.rules import Decision, Rule
from pytest_evalmetrics.gates.wording import hint_for
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from pytest_evalmetrics.results import Estimate, Interval

__all__ = ["check_value"]

_SLACK = 1e-9


def check_value(
    estimate: Estimate,
    known: float | None,
    rule: Rule,
    *,
    agent: str,
    line: int | None,
    accept: str = "",
    against: str = "",
) -> Check:
    """Judge a number of which no tasks are known, such as a hook's.

    Only the rules that need no test can: exact, absolute and relative; and noninferior
    where the estimate has an interval, the other number taken as certain.
    """
    name, value = estimate.name, estimate.value
    drop: float | None = None
    decision = Decision(Verdict.PASS)
    if known is None:
        decision = Decision(
            Verdict.INCONCLUSIVE, "no_value", against or f"the baseline has no {name}"
        )
    else:
        drop = known - value if rule.direction == "higher" else value - known
        went = "fell" if rule.direction == "higher" else "rose"
        changed = f"{name} {went} from {known:.6g} to {value:.6g}"
        changed += f" ({against})" if against else ""
        if rule.name == "noninferior" and estimate.interval is not None:
            decision = _noninferior(estimate.interval, known, drop, rule, changed)
        elif rule.allowed(known) is None:
            decision = Decision(
                Verdict.INCONCLUSIVE,
                "untested",
                f"{name} has no interval{f': {estimate.reason}' if estimate.reason else ''}: the "
                f"rule {rule.name} can't judge it"
                if against
                else f"{name} is computed by a hook, and nothing is known of its tasks: the rule "
                f"{rule.name} can't test it",
            )
        elif rule.exceeds(drop, known, value):
            decision = Decision(Verdict.FAIL, reason=changed)
    details = {"baseline": known, "current": value, "drop": drop, **evidence.of_rule(rule)}
    return Check(
        "baseline",
        name,
        decision.verdict,
        agent=agent,
        value=value,
        bound=str(rule),
        reason=decision.reason,
        hint=hint_for(decision, rule, accept),
        estimate=estimate,
        line=line,
        evidence={**details, "why": decision.why, "improved": False},
    )


def _noninferior(
    interval: Interval, known: float, drop: float, rule: Rule, changed: str
) -> Decision:
    """Pass where the interval shows that the drop is at most the largest allowed one."""
    if drop > rule.max_drop + _SLACK:
        return Decision(Verdict.FAIL, reason=changed)
    largest = known - interval.low if rule.direction == "higher" else interval.high - known
    if largest <= rule.max_drop + _SLACK:
        return Decision(Verdict.PASS)
    return Decision(
        Verdict.INCONCLUSIVE,
        "not_shown",
        f"the drop may be as large as {largest:.3g}, which is more than {rule.max_drop:.4g}: "
        "not shown to be no worse",
    )
