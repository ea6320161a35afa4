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

    from pytest_evalmetrics.data import PairedMetric, TaskRewards
    from pytest_evalmetrics.gates.comparison import Comparison
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
    bounds = [_bounds(metric, look) for metric in gated]
    gated = [
        structs.replace(
            metric,
            rule=structs.replace(
                metric.rule,
                alpha=metric.rule.alpha if bound is None else bound.level,
                benchmarks=benchmarks,
            ),
        )
        for metric, bound in zip(gated, bounds, strict=True)
    ]
    comparisons = [_compare(metric, metric.pair) for metric in gated]
    at_worst = [
        comparison if metric.worst is None else _compare(metric, metric.worst)
        for metric, comparison in zip(gated, comparisons, strict=True)
    ]
    p, p_at_worst = _adjusted(gated, comparisons), _adjusted(gated, at_worst)
    checks = []
    for i, (metric, comparison) in enumerate(zip(gated, comparisons, strict=True)):
        decision, worst_case = _unfit(metric, comparison, min_coverage), None
        if decision is None:
            decision, worst_case = _decide(metric, comparison, p[i], at_worst[i], p_at_worst[i])
        evidence = {
            **_evidence(comparison),
            **metric.rule.evidence(),
            "allowed_drop": _plain(metric.rule.allowed(comparison.baseline)),
            "p_adjusted": _plain(p[i]),
            "missing": metric.missing,
            "worst_case": worst_case,
            "min_coverage": min_coverage,
            "why": decision.why,
        }
        bound = bounds[i]
        if bound is not None and not math.isnan(comparison.p):
            evidence["look"] = bound.evidence(
                verdict=decision.verdict,
                why=decision.why,
                p=comparison.p,
                p_least=min(comparison.p, at_worst[i].p),
                se=comparison.se,
            )
        check = Check(
            "baseline",
            metric.pair.name,
            decision.verdict,
            agent=metric.agent,
            value=_plain(comparison.current),
            bound=str(metric.rule),
            reason=_reason(metric, comparison, decision, p[i]),
            hint=metric.rule.hint(decision, accept),
            estimate=metric.estimate,
            line=metric.line,
            evidence=evidence,
        )
        checks.append(check)
    return checks


def _bounds(gated: Gated, look: Look | None) -> LookBounds | None:
    counts = gated.pair.rewards_baseline.counts
    if look is None or not gated.rule.tests or not len(counts):
        return None
    return look.bounds(gated.rule.alpha, float(counts.mean()))


def accepted(check: Check) -> Check:
    """Turn a check into news: the run records a new baseline, whatever it says."""
    reason = check.reason if check.evidence.get("task_list") else ""
    return replace(check, verdict=Verdict.PASS, reason=reason, hint="")


def _compare(gated: Gated, pair: PairedMetric) -> Comparison:
    return compare(
        pair,
        direction=gated.rule.direction,
        alpha=gated.rule.alpha,
        gate_id=gated.gate_id,
        runs=gated.runs,
        stated=gated.stated,
    )


def _adjusted(gated: Sequence[Gated], comparisons: Sequence[Comparison]) -> list[float]:
    """Adjust the p values that verdicts rest on; the others stay as they are."""
    p = [comparison.p for comparison in comparisons]
    tested = [i for i, metric in enumerate(gated) if metric.rule.tests]
    adjusted = adjust([comparisons[i] for i in tested], [gated[i].gate_id for i in tested])
    for i, value in zip(tested, adjusted, strict=True):
        p[i] = value
    return p


def _decide(
    gated: Gated, comparison: Comparison, p: float, worst: Comparison, p_at_worst: float
) -> tuple[Decision, dict[str, Any] | None]:
    """Judge, and judge again with what is missing at its worst."""
    decision = decide(comparison, gated.rule, p)
    if gated.worst is None:
        return decision, None
    at_worst = decide(worst, gated.rule, p_at_worst)
    evidence = {
        "baseline": _plain(worst.baseline),
        "current": _plain(worst.current),
        "drop": _plain(worst.drop),
        "p_adjusted": _plain(p_at_worst),
        "verdict": str(at_worst.verdict),
    }
    if at_worst.verdict.fails and not decision.verdict.fails:
        reason = (
            f"missing rewards decide the verdict: at their worst {gated.pair.name} would be "
            f"{worst.current:.4g} against {worst.baseline:.4g}"
        )
        return Decision(Verdict.INCONCLUSIVE, "missing_decides", reason), evidence
    return decision, evidence


def _unfit(gated: Gated, comparison: Comparison, min_coverage: float) -> Decision | None:
    """Say why two runs can't be compared: too little in common, or too much missing."""
    excluded, removed = gated.pair.excluded, gated.pair.removed
    of = comparison.tasks + len(excluded) + len(removed)
    # what has no value for missing rewards alone is compared at its worst
    left_out = excluded if gated.worst is None else gated.worst.excluded
    paired = of - len(left_out) - len(removed)
    if not comparison.tasks:
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


def _reason(gated: Gated, comparison: Comparison, decision: Decision, p: float) -> str:
    if decision.verdict is Verdict.PASS:
        return "; ".join(filter(None, (decision.reason, *_notes(gated, comparison))))
    if decision.why in _UNFIT:
        return decision.reason
    return "; ".join(filter(None, (_change(comparison, p), decision.reason)))


def _change(comparison: Comparison, p: float) -> str:
    """Describe a change on one line: both values, the loss, how sure it is, the flips."""
    went = "rose" if comparison.current > comparison.baseline else "fell"
    if comparison.current == comparison.baseline:
        went = "went"
    what = "a loss" if comparison.drop >= 0 else "a gain"
    worst = f"; worse by their rollouts: {listed(comparison.proven)}" if comparison.proven else ""
    interval = ""
    if math.isfinite(comparison.low):
        ends = (
            (comparison.low, comparison.high)
            if comparison.drop >= 0
            else (-comparison.high, -comparison.low)
        )
        interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]"
    sure = "" if math.isnan(p) else f", p = {p:.2g}"
    how = f"{comparison.test}, " if comparison.test else ""
    damage = comparison.damage
    text = (
        f"{comparison.pair.name} {went} from {comparison.baseline:.4g} to "
        f"{comparison.current:.4g}: {what} of {abs(comparison.drop):.4g}{interval}{sure} "
        f"({how}{many(comparison.tasks, 'task')}), {int((damage > 0).sum())} worse and "
        f"{int((damage < 0).sum())} better{worst}"
    )
    if comparison.runs:
        text += f"; {many(len(comparison.runs.values), 'run')} of the baseline, "
        text += f"sd {comparison.run_sd:.2g} between them beyond their tasks"
    return text


def _notes(gated: Gated, comparison: Comparison) -> Iterator[str]:
    """Yield what a reader of a check that passes should know."""
    if comparison.improved:
        better, worse = int((comparison.damage < 0).sum()), int((comparison.damage > 0).sum())
        yield f"better than the baseline: {many(better, 'task')} better and {worse} worse"
    for tasks, what in (
        (comparison.pair.excluded, "left out, without a value on one side"),
        (comparison.pair.removed, "only in the baseline"),
        (comparison.pair.added, "only in this run"),
    ):
        if tasks:
            are = "one task is" if len(tasks) == 1 else f"{len(tasks)} tasks are"
            yield f"{are} {what}: {listed(tasks)}"
    if gated.rule.tests and comparison.blind:
        yield f"this gate is blind: {comparison.blind}"
    if comparison.unseen is not None and not comparison.damage.any():
        yield f"no task differs: up to {100 * comparison.unseen:.2g} % of them may flip unseen"
    elif math.isfinite(comparison.mde):
        yield f"80 % power to see a loss of {comparison.mde:.3g} or more"


def _evidence(comparison: Comparison) -> dict[str, Any]:
    """Return what a comparison rests on, in the metric's unit; what can't be told is None.

    ``drop``, ``drop_low``, ``drop_high`` are mean damage with a two-sided interval. ``p_rollouts``
    is of no change in any task, ``blind`` why no drop could be significant, ``proven_tasks`` those
    worse by their own rollouts, of a metric of one task. ``units`` is what is independent,
    ``samples_*`` of one task, [fewest, most], ``rollouts_*`` of all paired tasks. ``mde`` is the
    smallest drop seen with 80 % power; ``unseen_flips``, where no task differs, the share that may.
    ``run_sd`` is the noise between the baseline's ``runs`` beyond their tasks, unknown of one run.
    """
    pair = comparison.pair
    unmoved = comparison.unseen is not None and not comparison.damage.any()
    evidence: dict[str, Any] = {
        "baseline": comparison.baseline,
        "current": comparison.current,
        "drop": comparison.drop,
        "drop_low": comparison.low,
        "drop_high": comparison.high,
        "level": LEVEL,
        "se": comparison.se,
        "p": comparison.p,
        "test": comparison.test,
        "p_rollouts": comparison.p_rollouts,
        "blind": comparison.blind or None,
        "proven_tasks": [str(task) for task in comparison.proven[:_LISTED]],
        "tasks": comparison.tasks,
        "units": comparison.units,
        "clusters": comparison.units if comparison.clustered else None,
        "rollouts_baseline": len(pair.rewards_baseline.values),
        "rollouts_current": len(pair.rewards_current.values),
        "samples_baseline": _samples(pair.rewards_baseline),
        "samples_current": _samples(pair.rewards_current),
        "worse": int((comparison.damage > 0).sum()),
        "better": int((comparison.damage < 0).sum()),
        "worst_tasks": _worst(comparison),
        "mde": comparison.mde,
        "unseen_flips": comparison.unseen if unmoved else None,
        "draws": comparison.draws or None,
        "seed": str(comparison.seed) if comparison.draws else None,
        "improved": comparison.improved,
        "runs": 1 if comparison.runs is None else len(comparison.runs.values),
        "run_sd": comparison.run_sd,
    }
    for name, tasks in (
        ("excluded", pair.excluded),
        ("added", pair.added),
        ("removed", pair.removed),
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


def _worst(comparison: Comparison) -> list[dict[str, Any]]:
    """Describe the tasks of the largest damage, ties in their order."""
    pair, damage = comparison.pair, comparison.damage
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
