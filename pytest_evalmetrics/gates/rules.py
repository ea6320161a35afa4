"""The rules by which a drop is judged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_evalmetrics import stats
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from pytest_evalmetrics.gates.comparison import Comparison, Direction

__all__ = ["Decision", "Rule", "RuleName", "decide"]

RuleName = Literal["exact", "absolute", "relative", "statistical", "practical", "noninferior"]
_SLACK = 1e-9  # a drop of 0.72 to 0.7 is not always 0.02 to the last bit


class Rule(msgspec.Struct, frozen=True):
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
    benchmarks
        How many benchmarks of the run share `alpha`; 1 where each has its own.
    """

    name: RuleName
    direction: Direction
    alpha: float
    warn_alpha: float
    max_drop: float
    require_mde: float | None = None
    benchmarks: int = 1

    def __str__(self) -> str:
        drop = f"{self.max_drop:.4g}"
        told = {
            "exact": "no drop",
            "absolute": f"drop <= {drop}",
            "relative": f"drop <= {100 * self.max_drop:.4g} % of the baseline",
            "statistical": f"no drop at p < {self.alpha:g}",
            "practical": f"no drop >= {drop} at p < {self.alpha:g}",
            "noninferior": f"drop shown to be <= {drop}",
        }
        return f"{told[self.name]} ({self.name})"

    @property
    def tests(self) -> bool:
        """Whether its verdict rests on a p value."""
        return self.name in ("statistical", "practical")

    def allowed(self, baseline: float) -> float | None:
        """Return the drop that a rule without a test allows; None for one that tests.

        For ``relative`` the mean over tasks of (1 - share) * baseline - current is above 0
        exactly where the mean drop is above share * baseline; the size of a negative
        baseline is what counts.
        """
        match self.name:
            case "exact":
                return 0.0
            case "absolute":
                return self.max_drop
            case "relative":
                return self.max_drop * abs(baseline)
            case _:
                return None

    def exceeds(self, drop: float, baseline: float, current: float) -> bool:
        """Whether a drop is more than a rule without a test allows, rounding apart."""
        allowed = self.allowed(baseline)
        scale = max(abs(baseline), abs(current), 1.0 if self.name == "absolute" else 0.0)
        return allowed is not None and drop > allowed + _SLACK * scale


class Decision(msgspec.Struct, frozen=True):
    """What a rule says.

    Attributes
    ----------
    verdict
        It.
    why
        Of what can't be judged, the kind, for programs: ``untested``, ``blind``, ``run``,
        ``require_mde``, ``not_shown``. The gate has further ones.
    reason
        The same for people, and what else should be known; may be empty.
    """

    verdict: Verdict
    why: str = ""
    reason: str = ""


def decide(found: Comparison, rule: Rule, p: float) -> Decision:
    """Judge one comparison.

    Parameters
    ----------
    found
        The comparison.
    rule
        The rule.
    p
        Its p value, adjusted for the other metrics of the benchmark.
    """
    if math.isnan(found.drop):
        return Decision(Verdict.INCONCLUSIVE, "untested", found.untested)
    if rule.tests:
        decision = _significant(found, rule, p)
    elif rule.name == "noninferior":
        decision = _noninferior(found, rule)
    else:
        fails = rule.exceeds(found.drop, found.baseline, found.current)
        decision = Decision(Verdict.FAIL if fails else Verdict.PASS)
    if decision.verdict.fails or rule.require_mde is None:
        return decision
    return _powerful(found, rule.require_mde) or decision


def _significant(found: Comparison, rule: Rule, p: float) -> Decision:  # noqa: PLR0911 - a table
    least = rule.max_drop if rule.name == "practical" else 0.0
    if found.drop <= _SLACK * max(abs(found.baseline), abs(found.current)):
        return Decision(Verdict.PASS)
    if found.drop < least - _SLACK:
        small = f"a real drop (p = {p:.2g}), but under max_drop {least:.4g}"
        return Decision(Verdict.PASS, reason=small if p < rule.alpha else "")
    if p * rule.benchmarks < rule.alpha:
        return Decision(Verdict.FAIL)
    if found.blind:
        return Decision(Verdict.INCONCLUSIVE, "blind", found.blind)
    if math.isnan(p):
        few = "too few tasks, or clusters, to test a drop: at least two are needed"
        return Decision(Verdict.INCONCLUSIVE, "untested", found.untested or few)
    if p < rule.alpha:
        of = f"p < {rule.alpha:g}, but one of {rule.benchmarks} benchmarks may be by chance"
        if 0.5**found.units * rule.benchmarks >= rule.alpha and not found.by_rollouts:
            return Decision(Verdict.INCONCLUSIVE, "run", f"{of}, and it can't be surer than that")
        return Decision(Verdict.WARN, reason=of)
    return Decision(Verdict.WARN if p < rule.warn_alpha else Verdict.PASS)


def _noninferior(found: Comparison, rule: Rule) -> Decision:
    if found.drop > rule.max_drop + _SLACK:
        return Decision(Verdict.FAIL)
    if found.unseen is not None:  # all tasks moved alike: what others might do is not seen
        upper = found.drop + found.unseen * found.span
    elif found.se > 0:
        upper = found.drop + stats.t_ppf(1 - rule.alpha, max(found.df, 1)) * found.se
    else:
        few = "too few tasks to bound the drop"
        return Decision(Verdict.INCONCLUSIVE, "untested", found.untested or few)
    if upper <= rule.max_drop + _SLACK:
        return Decision(Verdict.PASS)
    return Decision(
        Verdict.INCONCLUSIVE,
        "not_shown",
        f"the drop may be as large as {upper:.3g}, which is more than {rule.max_drop:.4g}: "
        "not shown to be no worse",
    )


def _powerful(found: Comparison, wanted: float) -> Decision | None:
    """Say that a pass means nothing where a drop of that size would not be seen."""
    seen = found.mde if found.unseen is None else found.unseen * found.span
    if seen <= wanted:
        return None
    if found.unseen is not None:
        told = f"no two tasks moved differently, but a drop of {seen:.3g} may go unseen"
    elif math.isfinite(seen):
        told = f"80 % power to see drops of {seen:.3g} or more"
    else:
        told = "what drop could be seen can't be told"
    reason = f"too few tasks or rollouts: {told}, where require_mde is {wanted:.3g}"
    return Decision(Verdict.INCONCLUSIVE, "require_mde", reason)
