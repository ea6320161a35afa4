"""What a check on a baseline says: the loss, the notes, the way out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.gates.comparison import Comparison
    from pytest_evalmetrics.gates.rules import Decision, Rule

__all__ = ["hint_for", "listed", "notes_of", "told"]

_SHOWN = 10
_ACCEPT = "accept it with --snapshot-update"


def told(found: Comparison, p: float) -> str:
    """Tell a change on one line: both values, the loss, how sure it is, the flips."""
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
    )


def notes_of(
    found: Comparison,
    *,
    added: Sequence[object],
    removed: Sequence[object],
    blind_gate: bool = False,
) -> Iterator[str]:
    """Tell what a reader of a check that passes should know."""
    if found.improved:
        better, worse = int((found.damage < 0).sum()), int((found.damage > 0).sum())
        yield f"better than the baseline: {many(better, 'task')} better and {worse} worse"
    excluded = found.pair.excluded
    if excluded:
        yield f"{_tasks(excluded)} left out, without a value on one side: {listed(excluded)}"
    if removed:
        yield f"{_tasks(removed)} only in the baseline: {listed(removed)}"
    if added:
        yield f"{_tasks(added)} only in this run: {listed(added)}"
    if blind_gate and found.blind:
        yield f"this gate is blind: {found.blind}"
    if found.unseen is not None and not any_of(found.damage):
        yield f"no task differs: up to {100 * found.unseen:.2g} % of them may flip unseen"
    elif math.isfinite(found.mde):
        yield f"80 % power to see a loss of {found.mde:.3g} or more"


def listed(tasks: Sequence[object]) -> str:
    """Join the first few, and say how many more there are."""
    more = f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else ""
    return ", ".join(map(str, tasks[:_SHOWN])) + more


def hint_for(decision: Decision, rule: Rule, accept: str) -> str:  # noqa: PLR0911 - a table
    """Say the way out."""
    if not decision.verdict.fails:
        return ""
    accept = accept or _ACCEPT
    match decision.why:
        case "":
            return f"mend it; or, where the change is intended, {accept}"
        case "no_pairs" | "coverage" | "no_value":
            return f"complete the run; or, where the change is intended, {accept}"
        case "untested":
            drop = f"max_drop: {rule.max_drop:g}" if rule.max_drop else "max_drop: ..."
            return (
                "give it a rule that needs no test, below `baseline: metrics:`, such as "
                f"{{rule: absolute, {drop}}}"
            )
        case "blind":
            return (
                "look at the tasks; to be sure add tasks, or record more rollouts of each on both "
                f"sides; where the change is intended, {accept}"
            )
        case "run":
            return f"look at the tasks; where the change is intended, {accept}"
        case "missing" | "missing_decides":
            return "complete the run: score what has no reward"
        case _:
            return "record more rollouts of each task, or more tasks, on both sides"


def _tasks(tasks: Sequence[object]) -> str:
    return "one task is" if len(tasks) == 1 else f"{len(tasks)} tasks are"
