"""The rules by which a drop is judged, and the gate of a number without tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import MetricError, raised_words
from pytest_evalmetrics.model.results import Check, Estimate, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.gates.comparison import Comparison
    from pytest_evalmetrics.model.metric_facts import Direction

_FEW = 20  # tasks that differ, up to which Student's t does not bound a drop
_SLACK = 1e-9  # a drop of 0.72 to 0.7 is not always 0.02 to the last bit
_HINTS = {  # by a decision's `why`
    "": "fix the regression; or, if the change is intended, {accept}",
    **dict.fromkeys(
        ("no_pairs", "coverage", "no_value"),
        "complete the run; or, if the change is intended, {accept}",
    ),
    "untested": "give it a rule that needs no test, below `baseline: metrics:`, such as "
    "{{rule: absolute, max_drop: {max_drop}}}",
    "blind": "look at the tasks; to be sure add tasks, or record more rollouts of each on both "
    "sides; if the change is intended, {accept}",
    "run": "look at the tasks; if the change is intended, {accept}",
    **dict.fromkeys(
        ("missing", "missing_decides"), "complete the run: score what has no reward"
    ),
}
_MORE = "record more rollouts of each task, or more tasks, on both sides"


class Change(msgspec.Struct, frozen=True):
    """The difference of a metric from its baseline, as a gate rule receives it.

    A positive drop is worse, whatever the metric's direction.

    Attributes
    ----------
    metric, direction
        The metric's name, and which way is better: ``higher`` or ``lower``.
    baseline, current
        Its values.
    drop
        The mean of `differences`, or for a metric that is not a mean over tasks that of the values.
    interval
        The two-sided 95 % interval of the drop; NaN if there is none.
    p
        One-sided, of no drop at all; NaN if nothing can be tested. If the rule has ``tests =
        True``, it is adjusted for the other tested metrics of the benchmark.
    differences
        Each paired task's drop, shape (tasks,).
    max_drop, alpha, warn_alpha
        The settings of the benchmark file, or their defaults.
    """

    metric: str
    direction: Direction
    baseline: float
    current: float
    drop: float
    interval: tuple[float, float]
    p: float
    differences: NDArray[np.float64]
    max_drop: float
    alpha: float
    warn_alpha: float


class GateRule(Protocol):
    """Decides whether a drop fails.

    A class, whose constructor takes the rule's options, or a function in place of `decide`, which
    takes them as further keyword arguments.

    Attributes
    ----------
    tests : bool, optional
        Whether the verdict rests on `Change.p`.
    bound : str, optional
        What passes, for messages: ``drop <= 0.005``.
    """

    def decide(self, change: Change) -> Verdict | tuple[Verdict, str]:
        """Return the verdict, or the verdict and its reason."""
        ...


class Rule(msgspec.Struct, frozen=True):
    """How one metric is compared with its baseline."""

    # exact: any drop fails. absolute: more than max_drop. relative: more than the share max_drop of
    # the baseline. statistical: p < alpha. practical: both p < alpha and at least max_drop.
    # noninferior: passes only where the drop is shown to be at most max_drop
    name: str
    direction: Direction  # the better one
    alpha: float  # the levels at which the statistical rules fail, and warn
    warn_alpha: float
    max_drop: float  # in the metric's unit; a share for relative
    require_mde: float | None = (
        None  # the smallest drop that has to be visible with 80 % power
    )
    benchmarks: int = 1  # of the run that share `alpha`; 1 where each has its own
    own: GateRule | None = None  # a rule that is not built in

    def __str__(self) -> str:
        if self.own is not None:
            bound = getattr(self.own, "bound", "")
            return f"{bound} ({self.name})" if bound else self.name
        drop = f"{self.max_drop:.4g}"
        bounds = {
            "exact": "no drop",
            "absolute": f"drop <= {drop}",
            "relative": f"drop <= {100 * self.max_drop:.4g} % of the baseline",
            "statistical": f"no drop at p < {self.alpha:g}",
            "practical": f"no drop >= {drop} at p < {self.alpha:g}",
            "noninferior": f"drop shown to be <= {drop}",
        }
        return f"{bounds[self.name]} ({self.name})"

    @property
    def sign(self) -> float:
        """1 where a fall is damage, -1 where a rise is."""
        return 1.0 if self.direction == "higher" else -1.0

    @property
    def tests(self) -> bool:
        """Whether its verdict rests on a p value."""
        return self.name in ("statistical", "practical") or getattr(
            self.own, "tests", False
        )

    def allowed(self, baseline: float) -> float | None:
        """Return the drop that a rule without a test allows; None for one that tests."""
        # For ``relative`` the mean over tasks of (1 - share) * baseline - current is above 0 where
        # the mean drop is above share * baseline, by the size of a negative baseline.
        drops = {
            "exact": 0.0,
            "absolute": self.max_drop,
            "relative": self.max_drop * abs(baseline),
        }
        return drops.get(self.name)

    def exceeds(self, drop: float, baseline: float, current: float) -> bool:
        """Whether a drop exceeds the limit of a rule without a test, allowing for rounding."""
        allowed = self.allowed(baseline)
        scale = max(
            abs(baseline), abs(current), 1.0 if self.name == "absolute" else 0.0
        )
        return allowed is not None and drop > allowed + _SLACK * scale

    def hint(self, decision: Decision, accept: str) -> str:
        """Return the way out of a decision; `accept` says how a change is accepted."""
        if not decision.verdict.fails:
            return ""
        max_drop = f"{self.max_drop:g}" if self.max_drop else "..."
        accept = accept or "accept it with --snapshot-update"
        return _HINTS.get(decision.why, _MORE).format(accept=accept, max_drop=max_drop)

    def evidence(self) -> dict[str, Any]:
        """Return how a metric is judged, for a check's evidence."""
        values = structs.asdict(self)
        del values["own"]
        return {"rule": values.pop("name"), **values}


class Decision(msgspec.Struct, frozen=True):
    """The verdict of a rule."""

    verdict: Verdict
    # what kept it from a sure answer: untested, blind, run, require_mde, no_pairs, coverage, ...
    why: str = ""
    reason: str = ""  # the same in words, with remarks


def decide(comparison: Comparison, rule: Rule, p: float) -> Decision:
    """Judge one comparison by its p value, adjusted for the other metrics of the benchmark."""
    if math.isnan(comparison.drop):
        return Decision(Verdict.INCONCLUSIVE, "untested", comparison.untested)
    if rule.own is not None:
        decision = _decided(rule.own, comparison, rule, p)
    elif rule.tests:
        decision = _significant(comparison, rule, p)
    elif rule.name == "noninferior":
        upper, result = math.nan, comparison.result
        if (
            comparison.unseen is not None
        ):  # all tasks moved alike, so that there is no spread
            upper = comparison.drop + comparison.unseen * comparison.span
        elif result.se > 0:
            upper = (
                comparison.drop
                + stats.t_ppf(1 - rule.alpha, max(result.df, 1)) * result.se
            )
            upper = max(upper, _with_unseen(comparison, rule.alpha))
        decision = _noninferior(comparison.drop, upper, rule, "", comparison.untested)
    else:
        pair = comparison.pair
        fails = rule.exceeds(comparison.drop, pair.value_baseline, pair.value_current)
        decision = Decision(Verdict.FAIL if fails else Verdict.PASS)
    if decision.verdict.fails or rule.require_mde is None:
        return decision
    return _powerful(comparison, rule.require_mde) or decision


def _decided(own: GateRule, comparison: Comparison, rule: Rule, p: float) -> Decision:
    """Ask a rule that is not built in."""
    pair = comparison.pair
    change = Change(
        metric=pair.name,
        baseline=pair.value_baseline,
        current=pair.value_current,
        drop=comparison.drop,
        interval=(comparison.result.low, comparison.result.high),
        p=p,
        differences=comparison.damage,
        **{
            name: getattr(rule, name)
            for name in ("direction", "max_drop", "alpha", "warn_alpha")
        },
    )
    answer: Any
    who = f"the gate rule {rule.name}, asked about {pair.name},"
    try:
        answer = own.decide(change)
    except Exception as error:
        raise MetricError(raised_words(error, who)[1]) from error
    verdict, reason = (
        answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, "")
    )
    if not isinstance(verdict, Verdict) or not isinstance(reason, str):
        expected = "expected a Verdict, or a Verdict and its reason"
        raise MetricError(f"{who} returned {answer!r:.80}: {expected}")
    why = "own" if verdict is Verdict.INCONCLUSIVE else ""
    return Decision(verdict, why, reason)


def _significant(comparison: Comparison, rule: Rule, p: float) -> Decision:  # noqa: PLR0911 - a table
    pair, least = comparison.pair, rule.max_drop if rule.name == "practical" else 0.0
    if comparison.drop <= _SLACK * max(
        abs(pair.value_baseline), abs(pair.value_current)
    ):
        return Decision(Verdict.PASS)
    if comparison.drop < least - _SLACK:
        small = f"a real drop (p = {p:.2g}), but under max_drop {least:.4g}"
        return Decision(Verdict.PASS, reason=small if p < rule.alpha else "")
    if p * rule.benchmarks < rule.alpha:
        return Decision(Verdict.FAIL)
    if comparison.blind:
        return Decision(Verdict.INCONCLUSIVE, "blind", comparison.blind)
    if math.isnan(p):
        few = "too few tasks, or clusters, to test a drop: at least two are needed"
        return Decision(Verdict.INCONCLUSIVE, "untested", comparison.untested or few)
    if p < rule.alpha:
        of = f"p < {rule.alpha:g}, but one of {rule.benchmarks} benchmarks may be by chance"
        if (
            0.5**comparison.units * rule.benchmarks >= rule.alpha
            and not comparison.by_rollouts
        ):
            return Decision(
                Verdict.INCONCLUSIVE, "run", f"{of}, and it can't be surer than that"
            )
        return Decision(Verdict.WARN, reason=of)
    worst = 0.0 if rule.sign > 0 else 1.0
    if pair.bounded and pair.current is not None and (pair.current == worst).all():
        verdict = Verdict.INCONCLUSIVE if p < rule.warn_alpha else Verdict.PASS
        few = f"all is lost, but too few tasks had anything to lose for p < {rule.alpha:g}"
        return Decision(verdict, "blind", few)
    return Decision(Verdict.WARN if p < rule.warn_alpha else Verdict.PASS)


def _with_unseen(comparison: Comparison, alpha: float) -> float:
    """Return a drop's upper bound where few tasks differ, and losses skew t; else -infinity."""
    damage = comparison.damage
    if comparison.pair.difference is not None or np.count_nonzero(damage) >= _FEW:
        return -math.inf
    losses = damage.clip(min=0).sum() / comparison.span
    most = stats.zero_flip_bound(
        comparison.units, alpha, losses * comparison.units / len(damage)
    )
    return float(damage.clip(max=0).mean() + comparison.span * most)


def _noninferior(
    drop: float, upper: float, rule: Rule, changed: str, untested: str
) -> Decision:
    """Pass where the drop is shown to be at most the largest allowed one; NaN is no upper bound."""
    if drop > rule.max_drop + _SLACK:
        return Decision(Verdict.FAIL, reason=changed)
    if math.isnan(upper):
        few = "too few tasks to bound the drop"
        return Decision(Verdict.INCONCLUSIVE, "untested", untested or few)
    if upper <= rule.max_drop + _SLACK:
        return Decision(Verdict.PASS)
    reason = f"the drop may be as large as {upper:.3g}, which is more than {rule.max_drop:.4g}: "
    return Decision(
        Verdict.INCONCLUSIVE, "not_shown", f"{reason}not shown to be no worse"
    )


def _powerful(comparison: Comparison, wanted: float) -> Decision | None:
    """Return INCONCLUSIVE if the test could miss a drop of `wanted`, else None."""
    visible = (
        comparison.mde
        if comparison.unseen is None
        else comparison.unseen * comparison.span
    )
    if visible <= wanted:
        return None
    if comparison.unseen is not None:
        limit = (
            f"no two tasks moved differently, but a drop of {visible:.3g} may go unseen"
        )
    elif math.isfinite(visible):
        limit = f"80 % power to see drops of {visible:.3g} or more"
    else:
        limit = "the detectable drop is unknown"
    reason = f"too few tasks or rollouts: {limit}, where require_mde is {wanted:.3g}"
    return Decision(Verdict.INCONCLUSIVE, "require_mde", reason)


def check_value(
    estimate: Estimate,
    recorded: float | None,
    rule: Rule,
    *,
    agent: str,
    line: int | None,
    accept: str = "",
    against: str = "",
) -> Check:
    """Compare a number without tasks, such as a hook's, with its recorded value."""
    # Only exact, absolute and relative can; and noninferior where the estimate has an interval.
    name, value, interval = estimate.name, estimate.value, estimate.interval
    drop: float | None = None
    decision = Decision(Verdict.PASS)
    if recorded is None:
        reason = against or f"the baseline has no {name}"
        decision = Decision(Verdict.INCONCLUSIVE, "no_value", reason)
    else:
        higher = rule.sign > 0
        drop = recorded - value if higher else value - recorded
        changed = (
            f"{name} {'fell' if higher else 'rose'} from {recorded:.6g} to {value:.6g}"
        )
        changed += f" ({against})" if against else ""
        if rule.name == "noninferior" and interval is not None:
            upper = recorded - interval.low if higher else interval.high - recorded
            decision = _noninferior(drop, upper, rule, changed, "")
        elif rule.allowed(recorded) is None:
            reason = f"{name} is computed by a hook, without tasks: rule {rule.name} can't test it"
            if against:
                why = f": {estimate.reason}" if estimate.reason else ""
                reason = (
                    f"{name} has no interval{why}: the rule {rule.name} can't judge it"
                )
            decision = Decision(Verdict.INCONCLUSIVE, "untested", reason)
        elif rule.exceeds(drop, recorded, value):
            decision = Decision(Verdict.FAIL, reason=changed)
    evidence = {"baseline": recorded, "current": value, "drop": drop, **rule.evidence()}
    evidence |= {"why": decision.why, "improved": False}
    return Check(
        "baseline",
        name,
        decision.verdict,
        agent,
        value=value,
        bound=str(rule),
        reason=decision.reason,
        hint=rule.hint(decision, accept),
        estimate=estimate,
        line=line,
        evidence=evidence,
    )
