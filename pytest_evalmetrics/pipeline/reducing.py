"""Reduce: the rollouts of each agent to estimates, and what its baseline would keep."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import baselines, gates, metrics
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.model.scoring_notes import JudgeAgainstItself

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.gates import Completeness
    from pytest_evalmetrics.model.baseline import AgentDocument
    from pytest_evalmetrics.model.estimates import Interval
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import AgentResult
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.model.scores import ScoreSummary
    from pytest_evalmetrics.pipeline.judges import Labels
    from pytest_evalmetrics.pipeline.loading import Loaded, Rows
    from pytest_evalmetrics.scoring.door import About


class Hooks(msgspec.Struct, frozen=True):
    """The user's hooks that take part in reducing; None without an implementation."""

    compute_metrics: Callable[..., Any] | None = None
    key_metrics: Callable[..., Any] | None = None
    source: str = ""  # the hash of those that compute metrics


class AgentRun(msgspec.Struct, frozen=True):
    """The result and the rollouts of one agent, as gates receive them."""

    result: AgentResult
    table: RolloutTable
    # rollouts that each task should have, shape (tasks,)
    expected: NDArray[np.int64]
    shown: str = ""  # its name where a benchmark has several agents


class ReducedAgent(msgspec.Struct, frozen=True):
    """One agent's numbers, or as many of them as could be computed."""

    agent: str
    shown: str  # its name where a benchmark has several agents
    table: RolloutTable  # of all its tasks
    completeness: Completeness
    result: AgentResult | None = None  # None if they can't be computed
    document: AgentDocument | None = None  # what its baseline would keep
    gated: AgentRun | None = None  # without tasks in quarantine
    # by metric: the intervals at the confidence of its threshold
    intervals: Mapping[str, Interval | None] = {}
    notes: tuple[Note, ...] = ()


class Reduced(msgspec.Struct, frozen=True):
    """The numbers of all agents, up to one that can't be reduced."""

    agents: tuple[ReducedAgent, ...]
    # of the first agent that can't be reduced
    error: EvalMetricsError | None = None

    @property
    def results(self) -> tuple[AgentResult, ...]:
        """The results of the agents that have one."""
        return tuple(agent.result for agent in self.agents if agent.result is not None)

    @property
    def gated(self) -> tuple[AgentRun, ...]:
        """The agents as gates receive them."""
        return tuple(agent.gated for agent in self.agents if agent.gated is not None)


class _Work(msgspec.Struct, frozen=True):
    """What each agent is reduced with."""

    loaded: Loaded
    rows: Rows
    hooks: Hooks


def reduce_agents(
    loaded: Loaded,
    rows: Rows,
    hooks: Hooks,
    *,
    quarantined: Collection[str],
    names_tasks: bool,
) -> Reduced:
    """Reduce one agent after the other; an error ends it, and what was reduced stays.

    The completeness of the agents behind it is known all the same.
    `quarantined` are the ids of tasks that are not gated, and `names_tasks` says whether
    the benchmark names single tasks at all.
    """
    work = _Work(loaded, rows, hooks)
    several = len(loaded.table.agents) > 1
    waiting = [
        ReducedAgent(
            agent=agent,
            shown=agent if several else "",
            table=table,
            completeness=gates.completeness_of(loaded.benchmark.spec, table),
        )
        for agent, table in loaded.table.by_agent()
    ]
    reduced: list[ReducedAgent] = []
    while waiting:
        counted = waiting.pop(0)
        try:
            whole = _with_result(counted, work)
        except EvalMetricsError as error:
            return Reduced((*reduced, counted, *waiting), error)
        try:
            gated = _with_gated(
                whole, work, quarantined=quarantined, names_tasks=names_tasks
            )
        except EvalMetricsError as error:
            ungated = structs.replace(whole, gated=None)
            return Reduced((*reduced, ungated, *waiting), error)
        reduced.append(gated)
    return Reduced(tuple(reduced))


def _with_result(counted: ReducedAgent, work: _Work) -> ReducedAgent:
    """Compute an agent's numbers over all its tasks."""
    loaded = work.loaded
    result, notes = _reduce(counted, counted.table, counted.completeness, work)
    gated = loaded.benchmark.spec.gated
    reward = loaded.plan.spec.reward
    # the reward first; the order in a table is the one in which rows happen to name them
    columns = sorted(
        loaded.plan.columns(gated, counted.table),
        key=lambda name: (name != reward, name),
    )
    document = baselines.agent_document(result, counted.table, columns, gated=gated)
    return structs.replace(
        counted,
        result=_with_summaries(_with_defined(result), counted.table, work.rows),
        document=document,
        gated=AgentRun(
            result, counted.table, counted.completeness.expected, counted.shown
        ),
        notes=(*notes, *_agreement_notes(counted.table, work.rows)),
    )


def _with_defined(result: AgentResult) -> AgentResult:
    """Drop undefined numbers, which are a check's reason and have no place in JSON."""
    defined = {
        name: estimate
        for name, estimate in result.estimates.items()
        if not math.isnan(estimate.value)
    }
    return structs.replace(result, estimates=defined)


def _with_gated(
    whole: ReducedAgent,
    work: _Work,
    *,
    quarantined: Collection[str],
    names_tasks: bool,
) -> ReducedAgent:
    """Compute what is gated: the same numbers without the tasks in quarantine."""
    run = whole.gated
    if run is None:
        return whole
    benchmark = work.loaded.benchmark
    notes: Sequence[Note] = whole.notes
    completeness = whole.completeness
    rest = without(whole.table, quarantined)
    if names_tasks and not len(rest):
        raise DataError(
            "every task is in quarantine: nothing is left to gate",
            line=benchmark.line_of("quarantine"),
            hint="take one of them out, or skip the benchmark",
        )
    if rest is not whole.table:
        completeness = gates.completeness_of(benchmark.spec, rest)
        result, notes = _reduce(whole, rest, completeness, work)
        # a hook's numbers are of all tasks, in the baseline too
        of_hooks = {
            name: estimate
            for name, estimate in run.result.estimates.items()
            if estimate.by_hook
        }
        result = structs.replace(result, estimates={**result.estimates, **of_hooks})
        notes = (*notes, *_agreement_notes(whole.table, work.rows))
        run = AgentRun(result, rest, completeness.expected, whole.shown)
    return structs.replace(
        whole,
        gated=run,
        intervals=metrics.threshold_intervals(work.loaded.plan, run.table),
        notes=tuple(notes),
    )


def _reduce(
    agent: ReducedAgent,
    table: RolloutTable,
    completeness: Completeness,
    work: _Work,
) -> tuple[AgentResult, list[Note]]:
    """Reduce one agent's rollouts; return its numbers, and notes on them."""
    notes: list[Note] = []
    result = metrics.reduce_agent(
        work.loaded.plan,
        agent.agent,
        table,
        expected=completeness.expected,
        compute_metrics=_computing(work.hooks, agent.agent),
        key_metrics=_choosing(work.hooks, agent.agent),
        notes=notes,
    )
    labels = work.rows.prepared.labels
    if labels is not None:
        result, note = _corrected(result, table, work.loaded, labels, shown=agent.shown)
        notes.append(note)
    return result, notes


def _computing(hooks: Hooks, agent: str) -> metrics.ComputeMetrics | None:
    """Bind the hooks that compute metrics to an agent."""
    compute = hooks.compute_metrics
    if compute is None:
        return None
    return lambda tasks: compute(agent=agent, tasks=tasks)


def _choosing(hooks: Hooks, agent: str) -> metrics.KeyMetrics | None:
    """Bind the hook that chooses key metrics to an agent."""
    choose = hooks.key_metrics
    if choose is None:
        return None
    return lambda values: choose(agent=agent, agent_metrics=values)


def _corrected(
    result: AgentResult,
    table: RolloutTable,
    loaded: Loaded,
    labels: Labels,
    *,
    shown: str,
) -> tuple[AgentResult, Note]:
    """Correct the mean by people's labels."""
    from pytest_evalmetrics.pipeline.judges import with_corrected_mean  # rare

    return with_corrected_mean(
        result, table, loaded.benchmark.spec, labels, shown=shown
    )


# -- scores ----------------------------------------------------------------------------------


def _with_summaries(
    result: AgentResult, table: RolloutTable, rows: Rows
) -> AgentResult:
    """Add the statistics of the scores that scorers gave."""
    return structs.replace(result, scores=_summaries(table, rows))


def _summaries(table: RolloutTable, rows: Rows) -> tuple[ScoreSummary, ...]:
    scoring = rows.prepared.scoring
    scored = rows.scored
    if scored is None or scoring is None:
        return ()
    from pytest_evalmetrics.scoring.door import summarise_all  # loaded by now

    return tuple(summarise_all(scored.rows.names, table.scores, scoring.about))


def _agreement_notes(table: RolloutTable, rows: Rows) -> list[Note]:
    """Note how far a judge that is asked several times agrees with itself."""
    scoring = rows.prepared.scoring
    if scoring is None:
        return []
    notes: list[Note] = []
    for score in _summaries(table, rows):
        agreement = score.agreement
        if agreement is None or not _is_repeated(scoring.about[score.name], score.name):
            continue
        note = JudgeAgainstItself(
            score=score.name,
            alpha=agreement.alpha,
            answers=agreement.judges,
            rows=agreement.rows,
            words=agreement.reason,
        )
        notes.append(note)
    return notes


def _is_repeated(about: About, score: str) -> bool:
    """Whether the scores of the several judges are one judge's repeated answers."""
    return about.judges[0] == f"{score}@1"


def without(table: RolloutTable, tasks: Collection[str]) -> RolloutTable:
    """Leave tasks out of a table."""
    if not tasks:
        return table
    kept = np.array([str(task) not in tasks for task in table.tasks], dtype=bool)
    return table if kept.all() else table.where(kept[table.task])
