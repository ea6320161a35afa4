"""The ``baseline`` gate: did a key metric get worse, beyond noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from pytest_evalmetrics.gates import evidence
from pytest_evalmetrics.gates.comparison import compare
from pytest_evalmetrics.gates.family import adjust
from pytest_evalmetrics.gates.rules import Decision, Rule, decide
from pytest_evalmetrics.gates.wording import hint_for, listed, notes_of, told
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric
    from pytest_evalmetrics.gates.comparison import Comparison
    from pytest_evalmetrics.gates.nonlinear import WeightedCombine
    from pytest_evalmetrics.results import Estimate

__all__ = ["Gated", "accepted", "check_regression"]

_MAX_MISSING = 0.05  # with more than this share of rewards missing nothing can be said
_SLACK = 1e-9
_UNFIT = ("no_pairs", "coverage", "missing")  # there is no comparison to tell of


class Gated(msgspec.Struct, frozen=True):
    """A metric that is held against its baseline.

    Attributes
    ----------
    pair
        It, on both sides.
    rule
        How it is judged.
    line
        The line of the benchmark file that asks for it.
    gate_id
        Names the benchmark and the agent; seeds the bootstrap.
    agent
        The agent's name where a benchmark has several, else empty.
    worst
        It again, with what is missing at its worst; None where nothing is missing.
    missing
        The larger share of missing rewards of both sides.
    clusters, worst_clusters
        Each paired task's cluster, shape (tasks,), of `pair` and of `worst`.
    combine_weighted
        Reduces tasks' values that occur so many times each, where the metric offers that.
    added, removed
        Tasks of one side alone.
    estimate
        The metric over all tasks of the run.
    """

    pair: PairedMetric
    rule: Rule
    line: int | None = None
    gate_id: str = ""
    agent: str = ""
    worst: PairedMetric | None = None
    missing: float = 0.0
    clusters: NDArray[np.int64] | None = None
    worst_clusters: NDArray[np.int64] | None = None
    combine_weighted: WeightedCombine | None = None
    added: tuple[object, ...] = ()
    removed: tuple[object, ...] = ()
    estimate: Estimate | None = None


def check_regression(
    gated: Sequence[Gated],
    *,
    min_coverage: float = 1.0,
    accept: str = "",
    benchmarks: int = 1,
) -> list[Check]:
    """Judge the metrics of one benchmark; the more of them can fail, the surer each has to be.

    Parameters
    ----------
    gated
        The metrics, of all agents.
    min_coverage
        The share of the baseline's tasks that must be there to compare.
    accept
        How an intended change is accepted, for hints; by default with ``--snapshot-update``.
    benchmarks
        How many benchmarks of the run share the level of a false alarm.
    """
    if benchmarks > 1:
        shared = [structs.replace(g.rule, benchmarks=benchmarks) for g in gated]
        gated = [structs.replace(g, rule=rule) for g, rule in zip(gated, shared, strict=True)]
    found = [_compare(g, g.pair, g.clusters) for g in gated]
    worst = [
        f if g.worst is None else _compare(g, g.worst, g.worst_clusters)
        for g, f in zip(gated, found, strict=True)
    ]
    adjusted, adjusted_worst = _adjusted(gated, found), _adjusted(gated, worst)
    return [
        _check(g, f, w, p, accept=accept, min_coverage=min_coverage)
        for g, f, w, *p in zip(gated, found, worst, adjusted, adjusted_worst, strict=True)
    ]


def accepted(check: Check) -> Check:
    """Turn a check into news: the run records a new baseline, whatever it says."""
    reason = check.reason if check.evidence.get("task_list") else ""
    return replace(check, verdict=Verdict.PASS, reason=reason, hint="")


def _compare(gated: Gated, pair: PairedMetric, clusters: NDArray[np.int64] | None) -> Comparison:
    return compare(
        pair,
        direction=gated.rule.direction,
        alpha=gated.rule.alpha,
        gate_id=gated.gate_id,
        clusters=clusters,
        combine_weighted=gated.combine_weighted,
    )


def _adjusted(gated: Sequence[Gated], found: Sequence[Comparison]) -> list[float]:
    """Adjust the p values that verdicts rest on; the others stay as they are."""
    tested = [i for i, g in enumerate(gated) if g.rule.tests]
    adjusted = [f.p for f in found]
    p = adjust([found[i] for i in tested], [gated[i].gate_id for i in tested])
    for i, value in zip(tested, p, strict=True):
        adjusted[i] = value
    return adjusted


def _check(
    gated: Gated,
    found: Comparison,
    worst: Comparison,
    p: list[float],
    *,
    accept: str,
    min_coverage: float,
) -> Check:
    rule = gated.rule
    decision, at_worst = _decide(gated, found, worst, p, min_coverage)
    details: dict[str, Any] = {
        **evidence.of_comparison(found, added=gated.added, removed=gated.removed),
        **evidence.of_rule(rule),
        "allowed_drop": evidence.plain(rule.allowed(found.baseline)),
        "p_adjusted": evidence.plain(p[0]),
        "missing": gated.missing,
        "worst_case": at_worst,
        "min_coverage": min_coverage,
        "why": decision.why,
    }
    return Check(
        "baseline",
        gated.pair.name,
        decision.verdict,
        agent=gated.agent,
        value=evidence.plain(found.current),
        bound=str(rule),
        reason=_reason(gated, found, decision, p[0]),
        hint=hint_for(decision, rule, accept),
        estimate=gated.estimate,
        line=gated.line,
        evidence=details,
    )


def _decide(
    gated: Gated, found: Comparison, worst: Comparison, p: list[float], min_coverage: float
) -> tuple[Decision, dict[str, Any] | None]:
    """Judge, and judge again with what is missing at its worst."""
    unfit = _unfit(gated, found, min_coverage)
    if unfit is not None:
        return unfit, None
    decision = decide(found, gated.rule, p[0])
    if gated.worst is None:
        return decision, None
    feared = decide(worst, gated.rule, p[1])
    at_worst = {
        "baseline": evidence.plain(worst.baseline),
        "current": evidence.plain(worst.current),
        "drop": evidence.plain(worst.drop),
        "p_adjusted": evidence.plain(p[1]),
        "verdict": str(feared.verdict),
    }
    if feared.verdict.fails and not decision.verdict.fails:
        reason = (
            f"missing rewards decide the verdict: at their worst {gated.pair.name} would be "
            f"{worst.current:.4g} against {worst.baseline:.4g}"
        )
        return Decision(Verdict.INCONCLUSIVE, "missing_decides", reason), at_worst
    return decision, at_worst


def _unfit(gated: Gated, found: Comparison, min_coverage: float) -> Decision | None:
    """Say why two runs can't be compared: too little in common, or too much missing."""
    excluded, removed = gated.pair.excluded, gated.removed
    of = found.tasks + len(excluded) + len(removed)
    # what has no value for missing rewards alone is compared at its worst
    left_out = excluded if gated.worst is None else gated.worst.excluded
    paired = of - len(left_out) - len(removed)
    why = ""
    if not found.tasks:
        why, what = "no_pairs", "the run and its baseline have no task in common"
        if excluded:
            what = f"none of its {len(excluded)} common tasks has a value on both sides"
    elif paired < min_coverage * of - _SLACK:
        why = "coverage"
        what = (
            f"{paired} of the baseline's {of} tasks are compared, and min_coverage is "
            f"{100 * min_coverage:.4g} %"
            + (f"; gone: {listed(removed)}" if removed else "")
            + (f"; without a value on one side: {listed(left_out)}" if left_out else "")
        )
    elif gated.missing > _MAX_MISSING:
        why, what = "missing", f"{100 * gated.missing:.3g} % of its rewards are missing"
    if not why:
        return None
    return Decision(Verdict.INCONCLUSIVE, why, f"{gated.pair.name} can't be compared: {what}")


def _reason(gated: Gated, found: Comparison, decision: Decision, p: float) -> str:
    if decision.verdict is Verdict.PASS:
        notes = notes_of(
            found, added=gated.added, removed=gated.removed, blind_gate=gated.rule.tests
        )
        return "; ".join(filter(None, (decision.reason, *notes)))
    if decision.why in _UNFIT:
        return decision.reason
    return "; ".join(filter(None, (told(found, p), decision.reason)))
