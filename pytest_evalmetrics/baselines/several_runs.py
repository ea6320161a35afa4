"""Baselines of several runs, whose scatter shows the noise between runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.baselines.document import as_written
from pytest_evalmetrics.model.baseline import MetricDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.model.baseline import (
        AgentDocument,
        BaselineDocument,
        BehaviourDocument,
        Cell,
        Cells,
        Provenance,
    )


def why_not_added(old: BaselineDocument, new: BaselineDocument) -> str:
    """Explain why a run can't be added to a baseline; empty if it repeats its runs."""
    if old.provenance.ruler != new.provenance.ruler:
        return "it was scored otherwise than in the runs before"
    if old.provenance.under_test != new.provenance.under_test:
        return "another system ran than in the runs before"
    if new.provenance.rows is not None:
        return "`rescore:` keeps the rows of one run alone"
    if old.agents.keys() != new.agents.keys():
        now = ", ".join(new.agents)
        return f"its agents are {now}, and were {', '.join(old.agents)}"
    return _other_rows(old, new)


def _other_rows(old: BaselineDocument, new: BaselineDocument) -> str:
    """Explain how the tasks or scores of the same agents differ; empty if they don't."""
    pairs = [(old.agents[name], agent) for name, agent in new.agents.items()]
    if not all(_has_same_tasks(before, now) for before, now in pairs):
        return "it has other tasks than the runs before"
    if not all(_keeps_same_scores(before, now) for before, now in pairs):
        return "it keeps other scores than the runs before"
    return ""


def _has_same_tasks(before: AgentDocument, now: AgentDocument) -> bool:
    same_content = before.content == now.content
    return same_content and before.tasks.keys() == now.tasks.keys()


def _keeps_same_scores(before: AgentDocument, now: AgentDocument) -> bool:
    return all(
        before.tasks[task].keys() == columns.keys()
        for task, columns in now.tasks.items()
    )


def add_run(
    old: BaselineDocument, new: BaselineDocument, *, keep: int
) -> BaselineDocument:
    """Add a run to a baseline, which keeps the newest `keep` runs."""
    agents = {
        name: _agent_with_run(old.agents[name], agent, keep)
        for name, agent in new.agents.items()
    }
    before = old.provenance.runs or [_run_of(old.provenance)]
    runs = [*before, _run_of(new.provenance)][-keep:]
    provenance = structs.replace(new.provenance, runs=runs)
    return structs.replace(new, agents=agents, provenance=provenance)


def _run_of(provenance: Provenance) -> Mapping[str, object]:
    return {"recorded": provenance.recorded, "files": provenance.files}


def _agent_with_run(old: AgentDocument, new: AgentDocument, keep: int) -> AgentDocument:
    before = max(
        (_count_of_runs(metric) for metric in old.key_metrics.values()), default=1
    )
    metrics: dict[str, MetricDocument] = {}
    for name, metric in new.key_metrics.items():
        earlier = _values_of_runs(old.key_metrics.get(name), before)
        metrics[name] = _metric_of_runs(metric, (*earlier, metric.value)[-keep:])
    tasks: dict[str, dict[str, Cells]] = {}
    for task, columns in new.tasks.items():
        tasks[task] = {
            column: (*_apart(old.tasks[task][column]), *_apart(cells))[-keep:]
            for column, cells in columns.items()
        }
    return structs.replace(
        new,
        key_metrics=metrics,
        tasks=tasks,
        behaviour=_behaviour_of_runs(old.behaviour, new.behaviour, keep),
    )


def _behaviour_of_runs(
    old: BehaviourDocument | None, new: BehaviourDocument | None, keep: int
) -> BehaviourDocument | None:
    """Keep what the rollouts of the runs before did, as far as that is known."""
    if old is None or new is None:
        return new
    earlier = (*old.earlier, structs.replace(old, earlier=()))
    return structs.replace(new, earlier=earlier[-(keep - 1) :])


def _count_of_runs(metric: MetricDocument) -> int:
    return 1 if metric.runs is None else len(metric.runs)


def _values_of_runs(
    metric: MetricDocument | None, count: int
) -> tuple[float | None, ...]:
    """Return a metric's value in each earlier run; None where it had none."""
    if metric is None:
        return (None,) * count
    return (metric.value,) if metric.runs is None else metric.runs


def _metric_of_runs(
    metric: MetricDocument, runs: tuple[float | None, ...]
) -> MetricDocument:
    """Describe a metric of several runs; the interval is that of one run and is left out."""
    numbers = [value for value in runs if value is not None]
    mean = None
    if numbers:
        mean = float(f"{math.fsum(numbers) / len(numbers):.15g}")
    return MetricDocument(value=mean, tasks=metric.tasks, runs=runs)


def _apart(cells: Cells) -> tuple[tuple[Cell, ...], ...]:
    """Return one tuple of cells per run."""
    runs = [cell for cell in cells if isinstance(cell, tuple)]
    if not runs:
        runs = [tuple([cell for cell in cells if not isinstance(cell, tuple)])]
    return tuple([tuple([as_written(cell) for cell in run]) for run in runs])
