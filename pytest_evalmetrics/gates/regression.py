"""The ``baseline`` gate: did a key metric get worse, beyond noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.gates.comparison import Comparison, compare
from pytest_evalmetrics.gates.rules import Rule, decide
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric
    from pytest_evalmetrics.results import Estimate

__all__ = ["Gated", "accepted", "check_regression", "check_value"]

_MAX_MISSING = 0.05  # with more than this share of rewards missing nothing can be said
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Gated:
    """A metric that is held against its baseline.

    Attributes
    ----------
    pair
        It, on both sides.
    rule
        How it is judged.
    line
        The line of the benchmark file that asks for it.
    worst
        It again, with what is missing at its worst; None where nothing is missing.
    missing
        The larger share of missing rewards of both sides.
    clusters
        Each paired task's cluster, shape (tasks,).
    added, removed
        Tasks of one side alone.
    """

    pair: PairedMetric
    rule: Rule
    line: int
    worst: PairedMetric | None = None
    missing: float = 0.0
    clusters: NDArray[np.int64] | None = None
    added: tuple[object, ...] = ()
    removed: tuple[object, ...] = ()


def check_regression(
    gated: Sequence[Gated], *, gate_id: str, agent: str, min_coverage: float
) -> list[Check]:
    """Judge the metrics of one agent, with Holm's correction across them.

    Parameters
    ----------
    gated
        The metrics.
    gate_id
        Names the benchmark and the agent; seeds the bootstrap.
    agent
        The agent's name where a benchmark has several, else empty.
    min_coverage
        The share of the baseline's tasks that must be there to compare.
    """
    found = [_compare(g, g.pair, gate_id) for g in gated]
    worst = [
        f if g.worst is None else _compare(g, g.worst, gate_id)
        for g, f in zip(gated, found, strict=True)
    ]
    adjusted, adjusted_worst = _holm(found), _holm(worst)
    return [
        _check(g, f, w, (p, p_worst), agent=agent, min_coverage=min_coverage)
        for g, f, w, p, p_worst in zip(gated, found, worst, adjusted, adjusted_worst, strict=True)
    ]


def check_value(
    estimate: Estimate, known: float | None, rule: Rule, *, agent: str, line: int
) -> Check:
    """Judge a number of which no tasks are known, such as a hook's.

    Only the rules that need no test can: exact, absolute and relative.
    """
    sign = 1.0 if rule.direction == "higher" else -1.0
    verdict, reason, hint, drop = Verdict.PASS, "", "", None
    if known is None:
        verdict = Verdict.INCONCLUSIVE
        reason = f"the baseline has no {estimate.name}"
        hint = "record a new baseline with --snapshot-update"
    else:
        drop = sign * (known - estimate.value)
        allowed = rule.allowed(known)
        if allowed is None:
            verdict = Verdict.INCONCLUSIVE
            reason = (
                f"{estimate.name} is computed by a hook, and nothing is known of its tasks: the "
                f"rule {rule.name} can't test it"
            )
            hint = "give it a rule of its own: exact, absolute or relative"
        elif drop > allowed:
            verdict = Verdict.FAIL
            went = "fell" if sign > 0 else "rose"
            reason = f"{estimate.name} {went} from {known:.6g} to {estimate.value:.6g}"
            hint = _hint(verdict)
    return Check(
        "baseline",
        estimate.name,
        verdict,
        agent=agent,
        value=estimate.value,
        bound=str(rule),
        reason=reason,
        hint=hint,
        line=line,
        evidence={"baseline": known, "current": estimate.value, "drop": drop, "rule": rule.name},
    )


def accepted(check: Check) -> Check:
    """Turn a check into news: the run records a new baseline, whatever it says."""
    return replace(check, verdict=Verdict.PASS, reason="", hint="")


def _compare(gated: Gated, pair: PairedMetric, gate_id: str) -> Comparison:
    return compare(
        pair,
        direction=gated.rule.direction,
        alpha=gated.rule.alpha,
        seed=lambda: stats.seed_of(f"{gate_id}::{pair.name}", pair.tasks),
        clusters=gated.clusters,
    )


def _holm(found: Sequence[Comparison]) -> list[float]:
    """Adjust the p values that there are; NaN stays NaN."""
    p = np.array([f.p for f in found], dtype=np.float64)
    tested = ~np.isnan(p)
    p[tested] = stats.holm(p[tested])
    return [float(v) for v in p.tolist()]


def _check(
    gated: Gated,
    found: Comparison,
    worst: Comparison,
    p: tuple[float, float],
    *,
    agent: str,
    min_coverage: float,
) -> Check:
    rule, pair = gated.rule, gated.pair
    verdict, reason = _verdict(gated, found, worst, p, min_coverage)
    evidence: dict[str, Any] = found.evidence | {
        "rule": rule.name,
        "direction": rule.direction,
        "alpha": rule.alpha,
        "warn_alpha": rule.warn_alpha,
        "max_drop": rule.max_drop,
        "p_adjusted": None if np.isnan(p[0]) else p[0],
        "added_tasks": [str(t) for t in gated.added[:_SHOWN]],
        "removed_tasks": [str(t) for t in gated.removed[:_SHOWN]],
        "added": len(gated.added),
        "removed": len(gated.removed),
        "improved": found.high < 0,
    }
    return Check(
        "baseline",
        pair.name,
        verdict,
        agent=agent,
        value=pair.value_current,
        bound=str(rule),
        reason=reason,
        hint=_hint(verdict),
        line=gated.line,
        evidence=evidence,
    )


def _verdict(
    gated: Gated,
    found: Comparison,
    worst: Comparison,
    p: tuple[float, float],
    min_coverage: float,
) -> tuple[Verdict, str]:
    name, paired = gated.pair.name, found.tasks + len(gated.pair.excluded)
    of = paired + len(gated.removed)
    if not found.tasks:
        why = (
            f"none of its {len(gated.pair.excluded)} common tasks has a value on both sides"
            if gated.pair.excluded
            else "the run and its baseline have no task in common"
        )
        return Verdict.INCONCLUSIVE, f"{name} can't be compared: {why}"
    if paired < min_coverage * of:
        gone = ", ".join(map(str, gated.removed[:_SHOWN]))
        return Verdict.INCONCLUSIVE, (
            f"{name} can't be compared: {paired} of the baseline's {of} tasks are there, and "
            f"min_coverage is {min_coverage:.0%}; gone: {gone}"
        )
    if gated.missing > _MAX_MISSING:
        return Verdict.INCONCLUSIVE, (
            f"{name} can't be judged: {gated.missing:.1%} of its rewards are missing"
        )
    verdict, reason = decide(found, gated.rule, p[0])
    if gated.worst is not None and not verdict.fails:
        feared, _ = decide(worst, gated.rule, p[1])
        if feared is Verdict.FAIL:
            return Verdict.INCONCLUSIVE, (
                f"{name}: missing rewards decide the verdict: at their worst it would be "
                f"{worst.evidence['current']:.4g} against {worst.evidence['baseline']:.4g}"
            )
    told = _told(gated, found, p[0])
    if verdict is Verdict.PASS:
        return verdict, reason
    return verdict, f"{told}; {reason}" if reason else told


def _told(gated: Gated, found: Comparison, p: float) -> str:
    pair = gated.pair
    went = "fell" if gated.rule.direction == "higher" else "rose"
    if found.drop <= 0:
        went = "went"
    sure = "" if np.isnan(p) else f", p = {p:.2g}"
    bounds = found.low, found.high
    interval = f" [{bounds[0]:.4g}, {bounds[1]:.4g}]" if np.isfinite(bounds).all() else ""
    return (
        f"{pair.name} {went} from {pair.value_baseline:.4g} to {pair.value_current:.4g}: "
        f"a loss of {found.drop:.4g}{interval}{sure} ({found.test}, {found.tasks} tasks), "
        f"{found.worse} worse and {found.better} better"
    )


def _hint(verdict: Verdict) -> str:
    match verdict:
        case Verdict.FAIL:
            return "mend it; or, where the change is intended, accept it with --snapshot-update"
        case Verdict.INCONCLUSIVE:
            return "complete the run, or record more rollouts"
        case _:
            return ""
