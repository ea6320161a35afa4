"""The ``baseline`` gate of a lone number, of which no tasks are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.gates import evidence
from pytest_evalmetrics.gates.rules import Decision, Rule
from pytest_evalmetrics.gates.wording import hint_for
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from pytest_evalmetrics.results import Estimate

__all__ = ["check_value"]


def check_value(
    estimate: Estimate,
    known: float | None,
    rule: Rule,
    *,
    agent: str,
    line: int | None,
    accept: str = "",
) -> Check:
    """Judge a number of which no tasks are known, such as a hook's.

    Only the rules that need no test can: exact, absolute and relative.
    """
    name, value = estimate.name, estimate.value
    drop: float | None = None
    decision = Decision(Verdict.PASS)
    if known is None:
        decision = Decision(Verdict.INCONCLUSIVE, "no_value", f"the baseline has no {name}")
    else:
        drop = known - value if rule.direction == "higher" else value - known
        if rule.allowed(known) is None:
            decision = Decision(
                Verdict.INCONCLUSIVE,
                "untested",
                f"{name} is computed by a hook, and nothing is known of its tasks: the rule "
                f"{rule.name} can't test it",
            )
        elif rule.exceeds(drop, known, value):
            went = "fell" if rule.direction == "higher" else "rose"
            reason = f"{name} {went} from {known:.6g} to {value:.6g}"
            decision = Decision(Verdict.FAIL, reason=reason)
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
