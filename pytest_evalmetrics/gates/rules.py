"""The rules by which a drop is judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_evalmetrics import stats
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from pytest_evalmetrics.gates.comparison import Comparison, Direction

__all__ = ["Rule", "RuleName", "decide"]

RuleName = Literal["exact", "absolute", "relative", "statistical", "practical", "noninferior"]
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Rule:
    """How one metric is held against its baseline.

    Attributes
    ----------
    name
        ``exact``: any drop fails. ``absolute``: more than `max_drop`. ``relative``: more
        than the share `max_drop` of the baseline. ``statistical``: p < `alpha`.
        ``practical``: both p < `alpha` and at least `max_drop`. ``noninferior``: passes only
        where the drop is shown to be at most `max_drop`.
    direction
        Which way is good.
    alpha, warn_alpha
        The levels at which the statistical rules fail, and warn.
    max_drop
        In the metric's unit; a share for ``relative``.
    require_mde
        The smallest drop that has to be visible with 80 % power, or None.
    """

    name: RuleName
    direction: Direction
    alpha: float
    warn_alpha: float
    max_drop: float
    require_mde: float | None = None

    def __str__(self) -> str:
        drop = f"{self.max_drop:.4g}"
        told = {
            "exact": "no drop",
            "absolute": f"drop <= {drop}",
            "relative": f"drop <= {self.max_drop:.4g} of the baseline",
            "statistical": f"no drop at p < {self.alpha:g}",
            "practical": f"no drop >= {drop} at p < {self.alpha:g}",
            "noninferior": f"drop shown to be <= {drop}",
        }
        return f"{told[self.name]} ({self.name})"

    def allowed(self, baseline: float) -> float | None:
        """Return the drop that a rule without a test allows; None for one that tests."""
        match self.name:
            case "exact":
                return _SLACK
            case "absolute":
                return self.max_drop + _SLACK
            case "relative":
                return self.max_drop * abs(baseline) + _SLACK
            case _:
                return None


def decide(found: Comparison, rule: Rule, p: float) -> tuple[Verdict, str]:
    """Judge one comparison.

    Parameters
    ----------
    found
        The comparison.
    rule
        The rule.
    p
        Its p value, adjusted for the other metrics of the benchmark.

    Returns
    -------
    verdict, reason
        The reason is empty where the verdict needs none.
    """
    if rule.require_mde is not None and not found.mde <= rule.require_mde:
        seen = f"{found.mde:.3g}" if math.isfinite(found.mde) else "nothing that can be told"
        return Verdict.INCONCLUSIVE, (
            f"too few rollouts: 80 % power to see {seen} or more, where require_mde is "
            f"{rule.require_mde:.3g}"
        )
    allowed = rule.allowed(found.baseline)
    if allowed is not None:
        return (Verdict.FAIL if found.drop > allowed else Verdict.PASS), ""
    if rule.name == "noninferior":
        return _noninferior(found, rule)
    return _significant(found, rule, p, rule.max_drop if rule.name == "practical" else 0.0)


def _significant(found: Comparison, rule: Rule, p: float, least: float) -> tuple[Verdict, str]:
    if found.drop <= _SLACK:
        return Verdict.PASS, ""
    if math.isnan(p):
        return Verdict.INCONCLUSIVE, "too few tasks to test a drop: at least two are needed"
    if found.drop < least - _SLACK:
        small = p < rule.alpha
        return Verdict.PASS, f"a real drop, but under max_drop {least:.4g}" if small else ""
    if p < rule.alpha:
        return Verdict.FAIL, ""
    return (Verdict.WARN if p < rule.warn_alpha else Verdict.PASS), ""


def _noninferior(found: Comparison, rule: Rule) -> tuple[Verdict, str]:
    if found.drop > rule.max_drop + _SLACK:
        return Verdict.FAIL, ""
    unseen = found.evidence.get("unseen_flips")
    if unseen is not None:  # no task differs: its share may still be that large
        upper = unseen
    elif found.se > 0:
        upper = found.drop + stats.t_ppf(1 - rule.alpha, max(found.units - 1, 1)) * found.se
    else:
        return Verdict.INCONCLUSIVE, "too few tasks to bound the drop"
    if upper <= rule.max_drop + _SLACK:
        return Verdict.PASS, ""
    return Verdict.INCONCLUSIVE, (
        f"the drop may be as large as {upper:.3g}, which is more than {rule.max_drop:.4g}: "
        "not shown to be no worse"
    )
