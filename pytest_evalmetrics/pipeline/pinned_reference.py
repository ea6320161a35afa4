"""``reference:``: a pinned system that is measured beside each run, to tell drift from a change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import metrics, rollouts
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import of_many
from pytest_evalmetrics.spec.metric_names import OVER_REFERENCE, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.benchmark import ReferenceSpec


def pinned_benchmark(benchmark: Benchmark) -> Benchmark | None:
    """Give the benchmark as the model of its reference answers it; None where there is no model."""
    asked = benchmark.spec.reference
    if asked is None or asked.model is None:
        return None
    return replace(benchmark, spec=replace(benchmark.spec, model=asked.model, reference=None))


def with_reference(
    benchmark: Benchmark,
    table: RolloutTable,
    asked: ReferenceSpec,
    score: Callable[[Benchmark], RolloutTable],
) -> RolloutTable:
    """Add two scores to each rollout: the reference's mean reward on its task, and what is above.

    Whatever shifts the run and its reference alike, as a judge or a server may, is in the first
    and not in the second: compared with a baseline, that is a difference of differences. `score`
    answers and scores the rows of a benchmark.
    """
    spec, line = benchmark.spec, benchmark.line_of("reference")
    if asked.rollouts is not None:
        files = asked.rollouts.like(spec.rollouts)
        pinned = rollouts.load(files, benchmark.file.parent, scores=(spec.reward,))
    elif (answered := pinned_benchmark(benchmark)) is not None:
        pinned = score(answered)
    if len(pinned.agents) > 1:
        names = ", ".join(pinned.agents)
        raise DataError(f"the reference has to be one system, and holds {names}", line=line)
    if spec.reward not in table.scores:
        raise DataError(f"a reference is compared by the reward {spec.reward!r}", line=line)
    levels = []
    for _, part in table.by_agent():
        aligned, _ = metrics.align(part, pinned)
        rewards = aligned.scores[spec.reward]
        sums = np.bincount(aligned.task, rewards, len(aligned.tasks))
        means = dict(zip(map(str, aligned.tasks), sums / aligned.counts, strict=True))
        of_task = np.array([means.get(str(task), np.nan) for task in part.tasks])
        if lacking := [str(part.tasks[at]) for at in np.flatnonzero(np.isnan(of_task)).tolist()]:
            raise DataError(
                f"{of_many(len(lacking), len(part.tasks), 'task', 'has')} no reward of the "
                f"reference: {', '.join(lacking[:10])}",
                line=line,
                hint="measure the reference on the tasks of this run",
            )
        levels.append(of_task[part.task])
    level = np.concatenate(levels)
    above = table.scores[spec.reward] - level
    return replace(table, scores={**table.scores, REFERENCE: level, OVER_REFERENCE: above})
