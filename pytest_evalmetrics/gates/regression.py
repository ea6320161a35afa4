"""The ``baseline`` gate: is a key metric worse than its baseline by more than noise explains.

Several metrics judged at once are adjusted for each other by their joint distribution. Flipping the
signs of tasks' damages at random, the same for all metrics, shows how the metrics hang together:
four names of one number cost nothing, independent metrics as much as Holm's correction.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from pytest_evalmetrics.gates.comparison import LEVEL, Comparison, Gated, compare
from pytest_evalmetrics.gates.decisions import Decision, decide
from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.model.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.gates.sequential import Look, StopBounds
    from pytest_evalmetrics.model.rollout_table import TaskRewards
    from pytest_evalmetrics.stats.basics import Floats

_MAX_MISSING = 0.05  # the share of missing rewards above which no verdict is given
_SLACK = 1e-9
_UNFIT = ("no_pairs", "coverage", "missing")  # there is no comparison to report
_WORST = 10  # tasks of the largest damage in the evidence
_LISTED = 100  # tasks that a report lists
# products of so many numbers are left to one thread: others would spin for longer than they help
_ALONE = 200_000
_FLIPS = 8_192  # with their opposites 16,384
_UNITS = 1_024  # more are flipped in random blocks
_SURE = 40  # flips behind a p value that is read off; below it, Bonferroni's bound
_ALIKE = 1 - 1e-9  # the correlation of two names of one number


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
    comparisons, at_worst = [], []
    bounds: list[StopBounds | None] = []
    for metric in gated:
        alpha, counts, bound = (
            metric.rule.alpha,
            metric.pair.rewards_baseline.counts,
            None,
        )
        if look is not None and metric.rule.tests and len(counts):
            bound = look.bounds(alpha, float(counts.mean()))
            alpha = look.level(bound)
        bounds.append(bound)
        rule = structs.replace(metric.rule, alpha=alpha, benchmarks=benchmarks)
        comparison = compare(structs.replace(metric, rule=rule))
        comparisons.append(comparison)
        if metric.worst is not None:
            comparison = compare(structs.replace(comparison.gated, pair=metric.worst))
        at_worst.append(comparison)
    adjusted = _adjusted(comparisons)
    any_missing = any(metric.worst is not None for metric in gated)
    adjusted_at_worst = _adjusted(at_worst) if any_missing else adjusted
    checks = []
    for comparison, p, worst, p_at_worst, bound in zip(
        comparisons, adjusted, at_worst, adjusted_at_worst, bounds, strict=True
    ):
        metric, rule = comparison.gated, comparison.gated.rule
        decision, worst_case = _decide(comparison, p, worst, p_at_worst, min_coverage)
        evidence = {
            **_evidence(comparison),
            **rule.evidence(),
            "allowed_drop": _plain(rule.allowed(comparison.pair.value_baseline)),
            "p_adjusted": _plain(p),
            "missing": metric.missing,
            "worst_case": worst_case,
            "min_coverage": min_coverage,
            "why": decision.why,
        }
        if decision.why == "blind":
            evidence["blind"] = decision.reason
        if (
            look is not None
            and bound is not None
            and not math.isnan(comparison.result.p)
        ):
            evidence["look"] = look.of_gate(
                bound, decision, comparison.result, worst.result.p
            )
        check = Check(
            "baseline",
            metric.pair.name,
            decision.verdict,
            agent=metric.agent,
            value=_plain(comparison.pair.value_current),
            bound=str(rule),
            reason=_reason(comparison, decision, p),
            hint=rule.hint(decision, accept),
            estimate=metric.estimate,
            line=metric.line,
            evidence=evidence,
        )
        checks.append(check)
    return checks


def accepted(check: Check) -> Check:
    """Let a check pass in a run that records a new baseline."""
    reason = check.reason if check.evidence.get("task_list") else ""
    return structs.replace(check, verdict=Verdict.PASS, reason=reason, hint="")


def _decide(
    comparison: Comparison,
    p: float,
    worst: Comparison,
    p_at_worst: float,
    min_coverage: float,
) -> tuple[Decision, dict[str, Any] | None]:
    """Decide with and without missing rewards at their worst values."""
    rule, name = comparison.gated.rule, comparison.pair.name
    unfit = _unfit(comparison, min_coverage)
    if unfit is not None:
        return unfit, None
    decision = decide(comparison, rule, p)
    if worst is comparison:
        return decision, None
    at_worst = decide(worst, rule, p_at_worst)
    evidence = {
        "baseline": _plain(worst.pair.value_baseline),
        "current": _plain(worst.pair.value_current),
        "drop": _plain(worst.drop),
        "p_adjusted": _plain(p_at_worst),
        "verdict": str(at_worst.verdict),
    }
    if at_worst.verdict.fails and not decision.verdict.fails:
        reason = (
            f"missing rewards decide the verdict: at their worst {name} would be "
            f"{worst.pair.value_current:.4g} against {worst.pair.value_baseline:.4g}"
        )
        return Decision(Verdict.INCONCLUSIVE, "missing_decides", reason), evidence
    return decision, evidence


def _unfit(comparison: Comparison, min_coverage: float) -> Decision | None:
    """Explain why two runs can't be compared: too few common tasks, or too many missing."""
    gated, pair = comparison.gated, comparison.pair
    of = len(pair.tasks) + len(pair.excluded) + len(pair.removed)
    # tasks that only lack rewards are compared at their worst
    left_out = pair.excluded if gated.worst is None else gated.worst.excluded
    paired = of - len(left_out) - len(pair.removed)
    if not pair.tasks:
        why, what = "no_pairs", "the run and its baseline have no task in common"
        if pair.excluded:
            what = f"none of its {len(pair.excluded)} common tasks has a value on both sides"
    elif paired < min_coverage * of - _SLACK:
        why = "coverage"
        what = (
            f"{paired} of the baseline's {of} tasks are compared, and min_coverage is "
        )
        what += f"{100 * min_coverage:.4g} %"
        if pair.removed:
            what += f"; gone: {listed(pair.removed)}"
        if left_out:
            what += f"; without a value on one side: {listed(left_out)}"
    elif gated.missing > _MAX_MISSING:
        why, what = "missing", f"{100 * gated.missing:.3g} % of its rewards are missing"
    else:
        return None
    return Decision(Verdict.INCONCLUSIVE, why, f"{pair.name} can't be compared: {what}")


def _reason(comparison: Comparison, decision: Decision, p: float) -> str:
    if decision.why in _UNFIT:
        return decision.reason
    if decision.verdict is Verdict.PASS:
        return "; ".join(filter(None, (decision.reason, *_notes(comparison))))
    return "; ".join(filter(None, (_change(comparison, p), decision.reason)))


def _change(comparison: Comparison, p: float) -> str:
    """Describe a change on one line: both values, the loss, how sure it is, the flips."""
    pair, drop = comparison.pair, comparison.drop
    baseline, current = pair.value_baseline, pair.value_current
    went = "went" if current == baseline else "rose" if current > baseline else "fell"
    text = f"{pair.name} {went} from {baseline:.4g} to {current:.4g}: "
    text += f"{'a loss' if drop >= 0 else 'a gain'} of {abs(drop):.4g}"
    if math.isfinite(comparison.result.low):
        low, high = comparison.result.low, comparison.result.high
        low, high = (low, high) if drop >= 0 else (-high, -low)
        text += f" [{low:.4g}, {high:.4g}]"
    text += "" if math.isnan(p) else f", p = {p:.2g}"
    how = f"{comparison.result.name}, " if comparison.result.name else ""
    worse, better = comparison.worse_and_better
    text += f" ({how}{many(len(comparison.damage), 'task')}), {worse} worse and {better} better"
    if comparison.proven:
        text += f"; worse by their rollouts: {listed(comparison.proven)}"
    if (runs := comparison.gated.runs) is not None:
        text += f"; {many(len(runs.values), 'run')} of the baseline, "
        text += f"sd {comparison.run_sd:.2g} between them beyond their tasks"
    return text


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield remarks on a check that passes."""
    pair, (worse, better) = comparison.pair, comparison.worse_and_better
    if comparison.improved:
        yield f"better than the baseline: {many(better, 'task')} better and {worse} worse"
    for tasks, what in (
        (pair.excluded, "left out, without a value on one side"),
        (pair.removed, "only in the baseline"),
        (pair.added, "only in this run"),
    ):
        if tasks:
            yield f"{many(len(tasks), 'task', 'is')} {what}: {listed(tasks)}"
    if comparison.gated.rule.tests and comparison.blind:
        yield f"this gate is blind: {comparison.blind}"
    if comparison.unseen is not None and not worse + better:
        yield f"no task differs: up to {100 * comparison.unseen:.2g} % of them may flip unseen"
    elif math.isfinite(comparison.mde):
        yield f"80 % power to see a loss of {comparison.mde:.3g} or more"


def _evidence(comparison: Comparison) -> dict[str, Any]:
    """Return the evidence of a comparison in the metric's unit; undefined values are None.

    ``drop``, ``drop_low``, ``drop_high`` are mean damage with a two-sided interval. ``p_rollouts``
    is of no change in any task, ``blind`` why no drop could be significant, ``proven_tasks`` those
    worse by their own rollouts, of a metric of one task. ``units`` is what is independent,
    ``samples_*`` of one task, [fewest, most], ``rollouts_*`` of all paired tasks. ``mde`` is the
    smallest drop seen with 80 % power; ``unseen_flips``, where no task differs, the share that may.
    ``run_sd`` is the noise between the baseline's ``runs`` beyond their tasks, unknown of one run.
    """
    pair, runs, result = comparison.pair, comparison.gated.runs, comparison.result
    worse, better = comparison.worse_and_better
    sides = {"baseline": pair.rewards_baseline, "current": pair.rewards_current}
    counts = [(side, rewards.counts) for side, rewards in sides.items()]
    evidence: dict[str, Any] = {
        "baseline": pair.value_baseline,
        "current": pair.value_current,
        "drop": comparison.drop,
        "drop_low": result.low,
        "drop_high": result.high,
        "level": LEVEL,
        "se": result.se,
        "p": result.p,
        "test": result.name,
        "p_rollouts": comparison.p_rollouts,
        "blind": comparison.blind or None,
        "proven_tasks": [str(task) for task in comparison.proven[:_LISTED]],
        "tasks": len(pair.tasks),
        "units": comparison.units,
        "clusters": None if comparison.clusters is None else comparison.units,
        **{f"rollouts_{side}": len(rewards.values) for side, rewards in sides.items()},
        **{
            f"samples_{s}": [int(c.min()), int(c.max())] if len(c) else None
            for s, c in counts
        },
        "worse": worse,
        "better": better,
        "worst_tasks": _worst(comparison, sides),
        "mde": comparison.mde,
        "unseen_flips": None if worse or better else comparison.unseen,
        "draws": comparison.draws or None,
        "seed": str(comparison.seed) if comparison.draws else None,
        "improved": comparison.improved,
        "runs": 1 if runs is None else len(runs.values),
        "run_sd": comparison.run_sd,
    }
    for name in ("excluded", "added", "removed"):
        tasks = getattr(pair, name)
        evidence |= {
            name: len(tasks),
            f"{name}_tasks": [str(t) for t in tasks[:_LISTED]],
        }
    return {key: _plain(value) for key, value in evidence.items()}


def _plain(value: Any) -> Any:
    """Return a number to 14 digits, or None for one that is not finite."""
    if isinstance(value, float):
        # fewer digits than products of vectors agree in, whoever computes them
        return float(f"{value:.14g}") if math.isfinite(value) else None
    return value


def _worst(
    comparison: Comparison, sides: Mapping[str, TaskRewards]
) -> list[dict[str, Any]]:
    """Describe the tasks of the largest damage, ties in their order."""
    damage = comparison.damage
    worse = np.flatnonzero(damage > 0)
    if len(worse) > _WORST:
        least = np.partition(damage[worse], -_WORST)[-_WORST]
        worse = worse[damage[worse] >= least]
    rewards = {side: (of.numbers, of.offsets) for side, of in sides.items()}
    return [
        {
            "task": comparison.pair.tasks[i],
            **{side: v[o[i] : o[i + 1]].tolist() for side, (v, o) in rewards.items()},
            "drop": float(damage[i]),
        }
        for i in worse[np.argsort(-damage[worse], kind="stable")][:_WORST].tolist()
    ]


# -- p values adjusted for each other --------------------------------------------------------


def _adjusted(comparisons: Sequence[Comparison]) -> list[float]:
    """Adjust p values by step-down minimum p (Westfall and Young 1993, algorithm 2.8)."""
    # A metric without damage by task (a swapped median, the worst task) counts as independent,
    # and so do those of different agents.
    p = [float(comparison.result.p) for comparison in comparisons]
    tested = [
        i
        for i, f in enumerate(comparisons)
        if f.gated.rule.tests and not math.isnan(p[i])
    ]
    if len(tested) < 2:  # nothing to adjust for
        return p
    numbers, ranks = _distinct_numbers([comparisons[i] for i in tested])
    order = sorted(range(len(tested)), key=lambda at: p[tested[at]])
    adjusted, last = p.copy(), 0.0
    for step, at in enumerate(order):
        rest = [numbers[j] for j in order[step:]]
        last = max(last, _any_below(p[tested[at]], dict.fromkeys(rest), ranks))
        adjusted[tested[at]] = last
    return adjusted


# the group of dependent metrics, and the index of the first metric with these values
_Number = tuple["Hashable", int]


def _any_below(
    p: float, numbers: Iterable[_Number], ranks: Mapping[_Number, Floats]
) -> float:
    """Return the chance that any of the numbers has a p value of at most `p`."""
    none = 1.0
    by_group: dict[Hashable, list[_Number]] = {}
    for number in numbers:
        by_group.setdefault(number[0], []).append(number)
    for several in by_group.values():
        count = len(several)
        bound = 1 - (1 - p) ** count
        if count > 1:
            least = np.minimum.reduce([ranks[number] for number in several])
            level = max(p, _SURE / len(least))
            ratio = float((least <= level).sum()) / (level * len(least))
            # rare events are nearly independent: below the resolution of the flips the bound holds
            bound = min(bound, level * min(max(ratio, 1.0), count))
        none *= 1 - bound
    return min(max(1 - none, p), 1.0)


def _distinct_numbers(
    comparisons: Sequence[Comparison],
) -> tuple[list[_Number], dict[_Number, Floats]]:
    """Enumerate the comparisons; compute p values of several numbers of a group by flips."""
    numbers: list[_Number] = [
        ((f.gated.gate_id, i), i) for i, f in enumerate(comparisons)
    ]
    ranks: dict[_Number, Floats] = {}
    for group in dict.fromkeys(f.gated.gate_id for f in comparisons):
        # p of these is of the `influence` of independent units
        linear = [
            i
            for i, f in enumerate(comparisons)
            if f.gated.gate_id == group
            and f.influence is not None
            and not f.by_rollouts
        ]
        scaled = _unit_damages([comparisons[i] for i in linear])
        if scaled is None:
            continue
        firsts: list[int] = []  # of each number, by place in `linear`
        for at, i in enumerate(linear):
            first = next(
                (f for f in firsts if float(scaled[f] @ scaled[at]) > _ALIKE), at
            )
            p_of_first = comparisons[linear[first]].result.p
            if not math.isclose(p_of_first, comparisons[i].result.p, rel_tol=1e-6):
                first = at
            numbers[i] = group, linear[first]
            if first == at:
                firsts.append(at)
        if len(firsts) > 1:
            of_firsts = [numbers[linear[first]] for first in firsts]
            ranks |= zip(of_firsts, _ranks(scaled[firsts], group), strict=True)
    return numbers, ranks


def _unit_damages(comparisons: Sequence[Comparison]) -> Floats | None:
    """Return the damage of each task or cluster, scaled to length 1, shape (comparisons, units)."""
    if not comparisons:
        return None
    rows = [f.influence for f in comparisons if f.influence is not None]
    largest = max(comparisons, key=lambda f: len(f.pair.tasks))
    clusters, tasks = largest.clusters, largest.pair.tasks
    each = [f.pair.tasks for f in comparisons]
    if any(own is not tasks and own != tasks for own in each):
        place = {task: at for at, task in enumerate(dict.fromkeys(chain(tasks, *each)))}
        if len(place) > len(tasks) and any(f.clusters is not None for f in comparisons):
            return None
        spread = np.zeros((len(rows), len(place)))
        for at, own in enumerate(each):
            spread[at, [place[task] for task in own]] = rows[at]
        rows = list(spread)
    if clusters is not None:
        rows = [np.bincount(clusters, weights=row).astype(np.float64) for row in rows]
    matrix = np.array(rows)
    length = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    scaled: Floats = matrix / np.where(length > 0, length, 1.0)
    return scaled


def _ranks(scaled: Floats, group: str) -> Floats:
    """Return the p value of each random flip, shape (classes, flips)."""
    seed = int.from_bytes(blake2b(group.encode(), digest_size=8).digest(), "little")
    rng = np.random.Generator(np.random.PCG64(seed))
    count, units = scaled.shape
    if (
        units > _UNITS
    ):  # a block's signs are drawn together, its tasks' signs beforehand
        signs = rng.integers(0, 2, units) * 2.0 - 1
        starts = np.linspace(0, units, _UNITS, endpoint=False).astype(np.intp)
        scaled = np.add.reduceat(
            (scaled * signs)[:, rng.permutation(units)], starts, axis=1
        )
        units = _UNITS
    coins = rng.integers(0, 256, (_FLIPS, math.ceil(units / 8)), dtype=np.uint8)
    bits = np.unpackbits(coins, axis=1)
    scaled = scaled.T.astype(np.float32)
    rows = max(1, _ALONE // scaled.size)
    parts = [
        bits[at : at + rows, :units].astype(np.float32) for at in range(0, _FLIPS, rows)
    ]
    totals = np.concatenate([(part * 2 - 1) @ scaled for part in parts])
    flips = len(totals)
    places = np.empty((count, 2 * flips))
    for row, each in enumerate(np.round(totals.T, 5)):  # sums on a lattice tie
        sizes = np.abs(each)
        order = np.argsort(sizes)[::-1]
        last = np.flatnonzero(np.diff(sizes[order], append=-1))
        first = np.concatenate(([0], last[:-1] + 1))
        # tied sums share the middle of their ranks, as mid-p does; each flip counts reversed too
        middle = np.where(sizes[order][last] > 0, (first + last + 1) / 2, flips)
        places[row, order] = np.repeat(middle, last - first + 1)
        places[row, np.flatnonzero(each < 0)] *= -1  # counted from the other end
    places[:, :flips] %= 2 * flips
    places[:, flips:] = 2 * flips - places[:, :flips]
    places /= 2 * flips
    return places
