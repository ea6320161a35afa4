"""The ``baseline`` gate: is a key metric worse than its baseline by more than noise explains."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.gates.comparison import LEVEL, compare
from pytest_evalmetrics.gates.decisions import Decision, Rule, decide
from pytest_evalmetrics.gates.randomization import adjust
from pytest_evalmetrics.gates.task_gates import listed
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, TaskRewards
    from pytest_evalmetrics.gates.comparison import Comparison
    from pytest_evalmetrics.gates.randomization import WeightedCombine
    from pytest_evalmetrics.gates.run_noise import Runs
    from pytest_evalmetrics.gates.sequential import Look, LookBounds
    from pytest_evalmetrics.results import Estimate

_MAX_MISSING = 0.05  # with more than this share of rewards missing nothing can be said
_SLACK = 1e-9
_UNFIT = ("no_pairs", "coverage", "missing")  # there is no comparison to report
_WORST = 10  # tasks of the largest damage in the evidence
_LISTED = 100  # tasks that a report lists


class Gated(msgspec.Struct, frozen=True):
    """A metric that is compared with its baseline."""

    pair: PairedMetric  # it, on both sides
    rule: Rule
    line: int | None = None  # of the benchmark file that asks for it
    gate_id: str = ""  # names the benchmark and the agent; seeds the resampling
    agent: str = ""  # where a benchmark has several
    worst: PairedMetric | None = None  # it again, with what is missing at its worst
    missing: float = 0.0  # the larger share of missing rewards of both sides
    clusters: NDArray[np.int64] | None = None  # each paired task's, of `pair` and of `worst`
    worst_clusters: NDArray[np.int64] | None = None
    # reduces tasks' values that occur so many times each, where the metric offers that
    combine_weighted: WeightedCombine | None = None
    added: tuple[object, ...] = ()  # tasks of one side alone
    removed: tuple[object, ...] = ()
    estimate: Estimate | None = None  # the metric over all tasks of the run
    runs: Runs | None = None  # of a baseline that has several
    stated: tuple[float, float] | None = None  # of aggregates: the drop's error, and its df


def check_regression(
    gated: Sequence[Gated],
    *,
    min_coverage: float = 1.0,
    accept: str = "",
    benchmarks: int = 1,
    look: Look | None = None,
) -> list[Check]:
    """Judge the metrics of one benchmark; the more of them can fail, the surer each has to be.

    `min_coverage` is the share of the baseline's tasks that must be there to compare. `accept` says
    in hints how an intended change is accepted, by default with ``--snapshot-update``. So many
    `benchmarks` of the run share the level of a false alarm. At a `look` at a run that may stop
    early, the level is what that look may spend.
    """
    bounds = [None if look is None or not g.rule.tests else _bounds(g, look) for g in gated]
    alphas = [g.rule.alpha if b is None else b.level for g, b in zip(gated, bounds, strict=True)]
    gated = [
        structs.replace(g, rule=structs.replace(g.rule, alpha=alpha, benchmarks=benchmarks))
        for g, alpha in zip(gated, alphas, strict=True)
    ]
    found = [_compare(g, g.pair, g.clusters) for g in gated]
    worst = [
        f if g.worst is None else _compare(g, g.worst, g.worst_clusters)
        for g, f in zip(gated, found, strict=True)
    ]
    adjusted, adjusted_worst = _adjusted(gated, found), _adjusted(gated, worst)
    checks = []
    for g, f, w, b, *p in zip(gated, found, worst, bounds, adjusted, adjusted_worst, strict=True):
        decision, at_worst = _decide(g, f, w, p, min_coverage)
        details = {
            **_evidence(f, g),
            **g.rule.evidence(),
            "allowed_drop": _plain(g.rule.allowed(f.baseline)),
            "p_adjusted": _plain(p[0]),
            "missing": g.missing,
            "worst_case": at_worst,
            "min_coverage": min_coverage,
            "why": decision.why,
        }
        if b is not None and not math.isnan(f.p):
            p_least = f.p if g.worst is None else min(f.p, w.p)
            details["look"] = b.evidence(
                verdict=decision.verdict, why=decision.why, p=f.p, p_least=p_least, se=f.se
            )
        check = Check(
            "baseline",
            g.pair.name,
            decision.verdict,
            agent=g.agent,
            value=_plain(f.current),
            bound=str(g.rule),
            reason=_reason(g, f, decision, p[0]),
            hint=g.rule.hint(decision, accept),
            estimate=g.estimate,
            line=g.line,
            evidence=details,
        )
        checks.append(check)
    return checks


def _bounds(gated: Gated, look: Look) -> LookBounds | None:
    counts = gated.pair.rewards_baseline.counts
    return look.bounds(gated.rule.alpha, float(counts.mean())) if len(counts) else None


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
        runs=gated.runs,
        stated=gated.stated,
    )


def _adjusted(gated: Sequence[Gated], found: Sequence[Comparison]) -> list[float]:
    """Adjust the p values that verdicts rest on; the others stay as they are."""
    tested = [(f, g.gate_id) for g, f in zip(gated, found, strict=True) if g.rule.tests]
    p = iter(adjust([f for f, _ in tested], [gate_id for _, gate_id in tested]))
    return [next(p) if g.rule.tests else f.p for g, f in zip(gated, found, strict=True)]


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
    at_worst = decide(worst, gated.rule, p[1])
    evidence = {
        "baseline": _plain(worst.baseline),
        "current": _plain(worst.current),
        "drop": _plain(worst.drop),
        "p_adjusted": _plain(p[1]),
        "verdict": str(at_worst.verdict),
    }
    if at_worst.verdict.fails and not decision.verdict.fails:
        reason = (
            f"missing rewards decide the verdict: at their worst {gated.pair.name} would be "
            f"{worst.current:.4g} against {worst.baseline:.4g}"
        )
        return Decision(Verdict.INCONCLUSIVE, "missing_decides", reason), evidence
    return decision, evidence


def _unfit(gated: Gated, found: Comparison, min_coverage: float) -> Decision | None:
    """Say why two runs can't be compared: too little in common, or too much missing."""
    excluded, removed = gated.pair.excluded, gated.removed
    of = found.tasks + len(excluded) + len(removed)
    # what has no value for missing rewards alone is compared at its worst
    left_out = excluded if gated.worst is None else gated.worst.excluded
    paired = of - len(left_out) - len(removed)
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
    else:
        return None
    return Decision(Verdict.INCONCLUSIVE, why, f"{gated.pair.name} can't be compared: {what}")


def _reason(gated: Gated, found: Comparison, decision: Decision, p: float) -> str:
    if decision.verdict is Verdict.PASS:
        return "; ".join(filter(None, (decision.reason, *_notes(gated, found))))
    if decision.why in _UNFIT:
        return decision.reason
    return "; ".join(filter(None, (_change(found, p), decision.reason)))


def _change(found: Comparison, p: float) -> str:
    """Describe a change on one line: both values, the loss, how sure it is, the flips."""
    went = "rose" if found.current > found.baseline else "fell"
    if found.current == found.baseline:
        went = "went"
    what = "a loss" if found.drop >= 0 else "a gain"
    worst = f"; worse by their rollouts: {listed(found.proven)}" if found.proven else ""
    interval = ""
    if math.isfinite(found.low):
        ends = (found.low, found.high) if found.drop >= 0 else (-found.high, -found.low)
        interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]"
    sure = "" if math.isnan(p) else f", p = {p:.2g}"
    how = f"{found.test}, " if found.test else ""
    return (
        f"{found.pair.name} {went} from {found.baseline:.4g} to {found.current:.4g}: "
        f"{what} of {abs(found.drop):.4g}{interval}{sure} ({how}{many(found.tasks, 'task')}), "
        f"{int((found.damage > 0).sum())} worse and {int((found.damage < 0).sum())} better{worst}"
        + (f"; {many(len(found.runs.values), 'run')} of the baseline, " if found.runs else "")
        + (f"sd {found.run_sd:.2g} between them beyond their tasks" if found.runs else "")
    )


def _notes(gated: Gated, found: Comparison) -> Iterator[str]:
    """Yield what a reader of a check that passes should know."""
    if found.improved:
        better, worse = int((found.damage < 0).sum()), int((found.damage > 0).sum())
        yield f"better than the baseline: {many(better, 'task')} better and {worse} worse"
    for tasks, what in (
        (found.pair.excluded, "left out, without a value on one side"),
        (gated.removed, "only in the baseline"),
        (gated.added, "only in this run"),
    ):
        if tasks:
            are = "one task is" if len(tasks) == 1 else f"{len(tasks)} tasks are"
            yield f"{are} {what}: {listed(tasks)}"
    if gated.rule.tests and found.blind:
        yield f"this gate is blind: {found.blind}"
    if found.unseen is not None and not found.damage.any():
        yield f"no task differs: up to {100 * found.unseen:.2g} % of them may flip unseen"
    elif math.isfinite(found.mde):
        yield f"80 % power to see a loss of {found.mde:.3g} or more"


def _evidence(found: Comparison, gated: Gated) -> dict[str, Any]:
    """Return what a comparison rests on, in the metric's unit; what can't be told is None.

    ``drop``, ``drop_low``, ``drop_high`` are mean damage with a two-sided interval. ``p_rollouts``
    is of no change in any task, ``blind`` why no drop could be significant, ``proven_tasks`` those
    worse by their own rollouts, of a metric of one task. ``units`` is what is independent,
    ``samples_*`` of one task, [fewest, most], ``rollouts_*`` of all paired tasks. ``mde`` is the
    smallest drop seen with 80 % power; ``unseen_flips``, where no task differs, the share that may.
    ``run_sd`` is the noise between the baseline's ``runs`` beyond their tasks, unknown of one run.
    """
    pair = found.pair
    unmoved = found.unseen is not None and not found.damage.any()
    evidence: dict[str, Any] = {
        "baseline": found.baseline,
        "current": found.current,
        "drop": found.drop,
        "drop_low": found.low,
        "drop_high": found.high,
        "level": LEVEL,
        "se": found.se,
        "p": found.p,
        "test": found.test,
        "p_rollouts": found.p_rollouts,
        "blind": found.blind or None,
        "proven_tasks": [str(task) for task in found.proven[:_LISTED]],
        "tasks": found.tasks,
        "units": found.units,
        "clusters": found.units if found.clustered else None,
        "rollouts_baseline": len(pair.rewards_baseline.values),
        "rollouts_current": len(pair.rewards_current.values),
        "samples_baseline": _samples(pair.rewards_baseline),
        "samples_current": _samples(pair.rewards_current),
        "worse": int((found.damage > 0).sum()),
        "better": int((found.damage < 0).sum()),
        "worst_tasks": _worst(found),
        "mde": found.mde,
        "unseen_flips": found.unseen if unmoved else None,
        "draws": found.draws or None,
        "seed": str(found.seed) if found.draws else None,
        "improved": found.improved,
        "runs": 1 if found.runs is None else len(found.runs.values),
        "run_sd": found.run_sd,
    }
    for name, tasks in (
        ("excluded", pair.excluded),
        ("added", gated.added),
        ("removed", gated.removed),
    ):
        evidence |= {name: len(tasks), f"{name}_tasks": [str(t) for t in tasks[:_LISTED]]}
    return {key: _plain(value) for key, value in evidence.items()}


def _plain(value: Any) -> Any:
    """Return a number to 14 digits, or None for one that is not finite."""
    if isinstance(value, float):
        # fewer digits than products of vectors agree in, whoever computes them
        return float(f"{value:.14g}") if math.isfinite(value) else None
    return value


def _samples(rewards: TaskRewards) -> list[int] | None:
    counts = rewards.counts
    return [int(counts.min()), int(counts.max())] if len(counts) else None


def _worst(found: Comparison) -> list[dict[str, Any]]:
    """Describe the tasks of the largest damage, ties in their order."""
    pair, damage = found.pair, found.damage
    worse = np.flatnonzero(damage > 0)
    if len(worse) > _WORST:
        least = np.partition(damage[worse], -_WORST)[-_WORST]
        worse = worse[damage[worse] >= least]

    def rewards_of(rewards: TaskRewards, task: int) -> list[float]:
        values: list[float] = rewards.numbers[slice(*rewards.offsets[task : task + 2])].tolist()
        return values

    return [
        {
            "task": pair.tasks[i],
            "baseline": rewards_of(pair.rewards_baseline, i),
            "current": rewards_of(pair.rewards_current, i),
            "drop": float(damage[i]),
        }
        for i in worse[np.argsort(-damage[worse], kind="stable")][:_WORST].tolist()
    ]
