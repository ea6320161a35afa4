"""What differs between a run and its reference beside the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import task_group
from pytest_evalmetrics.config.declarations import counts_passes
from pytest_evalmetrics.model.changes import (
    BehaviourChanged,
    RolloutsOfTasks,
    TasksFlipped,
)
from pytest_evalmetrics.pipeline.gate_settings import settings_of
from pytest_evalmetrics.pipeline.sentinels import sentinel_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.behaviour import BehaviourFacts
    from pytest_evalmetrics.model.changes import PerhapsNotJudged, RunChange
    from pytest_evalmetrics.pipeline.comparing import AgentComparison, ComparisonTerms
    from pytest_evalmetrics.spec import Benchmark

_MEAN = "mean_reward"


def agent_changes(
    terms: ComparisonTerms, compared: AgentComparison
) -> Iterator[RunChange]:
    """Yield what differs in an agent's rollouts."""
    agent = compared.run.shown
    sentinel = _sentinel(terms, compared)
    if sentinel is not None:
        yield sentinel
    before, now = compared.rollouts
    if before and now and before != now:
        yield RolloutsOfTasks(before, now, agent)
    flips = compared.flips
    has_flips = flips is not None and (flips.broken or flips.mended)
    if flips is not None and has_flips and _have_passes(terms.benchmark, compared):
        yield TasksFlipped(task_group(flips.broken), task_group(flips.mended), agent)


def _have_passes(benchmark: Benchmark, compared: AgentComparison) -> bool:
    """Check whether rewards are passes and failures: grades and seconds are not."""
    spec = benchmark.spec
    if ("pass_threshold",) in benchmark.lines:
        return True
    names = (*spec.metrics, *(spec.key_metrics or ()), *spec.thresholds)
    if any(counts_passes(spec, name) for name in names):
        return True
    if settings_of(benchmark).gate_of(_MEAN).direction == "lower":
        return False
    rewards = compared.run.table.scores[spec.reward]
    is_pass = (rewards == 0) | (rewards == 1) | np.isnan(rewards)
    return bool(is_pass.all())


def _sentinel(
    terms: ComparisonTerms, compared: AgentComparison
) -> PerhapsNotJudged | None:
    """Find a reward that may mean that nobody judged."""
    run = compared.run
    counterpart = terms.reference.agent_for(run.result.agent, alone=not run.shown)
    recorded = terms.reference.tables.get(counterpart or "")
    if recorded is None:
        return None
    return sentinel_of(terms.benchmark.spec.reward, recorded, run.table)


def behaviour_changes(behaviour: Sequence[BehaviourFacts]) -> Iterator[RunChange]:
    """Yield what each agent does otherwise than before."""
    for facts in behaviour:
        if facts.has_changed:
            significant = structs.replace(facts, changes=facts.significant)
            agent = facts.agent if len(behaviour) > 1 else ""
            yield BehaviourChanged(significant, agent)
